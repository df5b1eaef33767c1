// Maximum spanning forests by Prim's algorithm.
#pragma once
#include <numeric>

#include "base/bits.hpp"
#include "base/pulse.hpp"

namespace cp::graphs {

// Fill `parents` of the heaviest forest whose edges are above `threshold`, from `root` on; call visit(node) for each.
//
// weight(u, v) is that of an edge, `work` what a row of weights costs. The first root keeps what `parents` holds, the
// others get −1. Of equal edges the one to the lowest node is taken, and of a node's equal edges the first that
// reached it.
template <class Value, class Weight, class Visit>
void span(Int root, Value threshold, Value least, Weight weight, Int work, Vector<Int> parents, Visit visit) {
  const Int n = parents.size();
  Array<Value, 1> best = filled<Value>(least, n);
  Array<Int, 1> outside(n);  // the nodes not reached yet, rising
  std::iota(outside.begin(), outside.end(), Int(0));
  Pulse pulse;
  Int place = root;  // of the next node among those outside
  for (Int left = n - 1; left >= 0; --left) {
    const Int node = outside[place];
    visit(node);
    std::copy(outside.begin() + place + 1, outside.begin() + left + 1, outside.begin() + place);
    Value most = least;
    place = 0;
    for (Int k = 0; k < left; ++k) {
      const Int v = outside[k];
      const Value here = weight(node, v);
      if (here > best[v]) {
        best[v] = here;
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
    pulse(left * work);
  }
}

// Fill `parents` of the heaviest forest whose edges are above `threshold`; roots keep what `parents` holds.
inline void grow_forest(Matrix<const double> weights, Int root, double threshold, Vector<Int> parents) {
  span(root, threshold, -INF, [&](Int u, Int v) { return weights(u, v); }, 2, parents, [](Int) {});
}

// The maximum spanning tree of cliques by shared nodes: `order` from clique 0 on, `nearest` its links.
//
// Ties go to the smaller index; cliques that share nothing are linked too.
inline void spanning_tree(Matrix<const Word> cliques, Vector<Int> nearest, Vector<Int> order) {
  const auto common = [&](Int u, Int v) { return shared(cliques[u], cliques[v]); };
  Int step = 0;
  span<Int>(0, -1, -1, common, 1 + cliques.shape(1), nearest, [&](Int clique) { order[step++] = clique; });
}

}  // namespace cp::graphs
