// The best network of a few variables, by dynamic programming over sets (Silander & Myllymäki 2006).
#pragma once
#include "learn/bayesian/network_sums.hpp"

namespace cp::bayesian {

// Raise best[U] to the largest entry of any subset of U.
inline void best_subsets(Vector<double> best) {
  for (Int bit = 1; bit < best.size(); bit <<= 1)
    for (Int m = 0; m < best.size(); ++m)
      if (m & bit && best[m ^ bit] > best[m]) best[m] = best[m ^ bit];
}

// Fill the best score of a network of each set, and a sink of one that has it.
//
// score[S] = max_{i ∈ S} score[S∖i] + best[i, S∖i], with bit i squeezed out of S∖i.
inline void best_sinks(Matrix<const double> best, Vector<double> score, Vector<Int> sink) {
  Pulse pulse;
  score[0] = 0.0;
  for (Int members = 1; members < score.size(); ++members) {
    pulse(2 * best.shape(0));
    score[members] = -INF;
    for (Word left = Word(members); left != 0; left &= left - 1) {
      const Int i = lowest_bit(left), rest = members ^ Int(1) << i;
      const double total = score[rest] + best(i, squeeze(rest, i));
      if (total > score[members]) {
        score[members] = total;
        sink[members] = i;
      }
    }
  }
}

}  // namespace cp::bayesian
