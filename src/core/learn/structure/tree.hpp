// Prim's algorithm on a dense matrix.
#pragma once
#include "base/numbers.hpp"
#include "base/pulse.hpp"

namespace cp::networks {

// Fill `parents` of the heaviest forest whose edges are above `threshold`, from `root` on.
//
// Roots keep what `parents` holds. Of equal edges the one to the lowest node is taken, and of a node's
// equal edges the first that reached it.
inline void grow_forest(Matrix<const double> weights, Int root, double threshold, Vector<Int> parents) {
  const Int n = parents.size();
  Array<double, 1> best = filled<double>(-INF, n);
  Array<bool, 1> outside = filled<bool>(true, n);
  Pulse pulse;
  Int node = root;
  for (Int step = 0; step < n; ++step) {
    outside[node] = false;
    const Floats row = weights[node];
    Int following = -1, lowest = -1;
    for (Int v = 0; v < n; ++v) {
      if (!outside[v]) continue;
      if (row[v] > best[v]) {
        best[v] = row[v];
        parents[v] = node;
      }
      if (following < 0 || best[v] > best[following]) following = v;
      if (lowest < 0) lowest = v;
    }
    if (following < 0) return;
    node = following;
    if (!(best[node] > threshold)) {
      node = lowest;
      parents[node] = -1;
    }
    pulse(2 * n);
  }
}

}  // namespace cp::networks
