// For each node, tables over masks of its k candidate parents, and draws from them.
#pragma once
#include <tuple>

#include "base/numbers.hpp"
#include "base/pulse.hpp"

namespace cp::bayesian {

struct Tables {
  Matrix<const Int> candidates;  // (n, k): rise by position; bit c of a mask is candidates[i, c]
  Matrix<const Int> bits;        // (n, n): the bit of j among the candidates of i, 0 where it is none
  Ints sets;                     // the masks that are allowed
  Matrix<const double> scores;   // (n, 2ᵏ): log-score of i given a mask, less the largest
  Matrix<const double> sums;     // (n, 2ᵏ): log of the sum over all subsets of a mask

  static constexpr const char* fields = "candidates[n,k] bits[n,n] sets[] scores[n,masks] sums[n,masks]";
  auto members() { return std::tie(candidates, bits, sets, scores, sums); }
  Int n() const { return candidates.shape(0); }
  Int k() const { return candidates.shape(1); }
};

// Turn log-scores of parent sets into the logs of the sums over all subsets, in place.
inline void log_sum_subsets(Vector<double> sums) {
  Pulse pulse;
  for (Int bit = 1; bit < sums.size(); bit <<= 1)
    for (Int m = 0; m < sums.size(); ++m) {
      if (!(m & bit)) continue;
      pulse(20);
      const auto [low, high] = std::minmax(sums[m], sums[m ^ bit]);
      sums[m] = low > -INF ? high + std::log1p(std::exp(low - high)) : high;
    }
}

// The index drawn with probability ∝ exp(logs). Overwrites `logs`.
inline Int choose(Vector<double> logs, double uniform) {
  double largest = -INF, total = 0.0;
  for (double value : logs) largest = std::max(value, largest);
  for (double& value : logs) {
    value = std::exp(value - largest);
    total += value;
  }
  double left = uniform * total;
  Int drawn = 0;
  for (Int i = 0; i < logs.size(); ++i) {
    if (!(logs[i] > 0.0)) continue;
    drawn = i;
    left -= logs[i];
    if (left < 0.0) break;
  }
  return drawn;
}

// Draws parent sets of a node.
class SetDraw {
 public:
  explicit SetDraw(const Tables& tables) : tables_(tables), sets_(tables.sets.size()), shares_(tables.sets.size()) {}

  // A set inside `before`, drawn ∝ exp(scores); touching `needed` unless that is 0.
  Int operator()(Int node, Int before, Int needed, double uniform) {
    const Floats scores = tables_.scores[node];
    Int size = 0;
    double largest = -INF, total = 0.0;
    for (Int m : tables_.sets)
      if ((m & ~before) == 0 && (needed == 0 || (m & needed) != 0) && scores[m] > -INF) {
        largest = std::max(largest, scores[m]);
        sets_[size++] = m;
      }
    for (Int c = 0; c < size; ++c) {
      shares_[c] = std::exp(scores[sets_[c]] - largest);
      total += shares_[c];
    }
    double left = uniform * total;
    for (Int c = 0; c < size; ++c) {
      left -= shares_[c];
      if (left < 0.0) return sets_[c];
    }
    return size > 0 ? sets_[size - 1] : 0;
  }

 private:
  const Tables& tables_;
  Array<Int, 1> sets_;
  Array<double, 1> shares_;
};

// The probability of an edge, added up over samples.
struct EdgeSums {
  Matrix<double> edges, squares;
  void add(Int node, Int candidate, double share) const {
    edges(node, candidate) += share;
    squares(node, candidate) += share * share;
  }
};

}  // namespace cp::bayesian
