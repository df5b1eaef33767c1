// Prim's algorithm on a dense matrix.
#pragma once
#include <numeric>

#include "base/numbers.hpp"
#include "base/pulse.hpp"

namespace cp::bayesian {

// Fill `parents` of the heaviest forest whose edges are above `threshold`, from `root` on.
//
// Roots keep what `parents` holds. Of equal edges the one to the lowest node is taken, and of a node's
// equal edges the first that reached it.
inline void grow_forest(Matrix<const double> weights, Int root, double threshold, Vector<Int> parents) {
  const Int n = parents.size();
  Array<double, 1> best = filled<double>(-INF, n);
  Array<Int, 1> outside(n);  // the nodes not reached yet, rising
  std::iota(outside.begin(), outside.end(), Int(0));
  Pulse pulse;
  Int place = root;  // of the next node among those outside
  for (Int left = n - 1; left >= 0; --left) {
    const Int node = outside[place];
    const Floats row = weights[node];
    std::copy(outside.begin() + place + 1, outside.begin() + left + 1, outside.begin() + place);
    double most = -INF;
    place = 0;
    for (Int k = 0; k < left; ++k) {
      const Int v = outside[k];
      if (row[v] > best[v]) {
        best[v] = row[v];
        parents[v] = node;
      }
      if (best[v] > most) {
        most = best[v];
        place = k;
      }
    }
    if (left > 0 && !(most > threshold)) {
      place = 0;
      parents[outside[0]] = -1;
    }
    pulse(2 * n);
  }
}

}  // namespace cp::bayesian
