// Lists of a column's partners from pairs of columns.
#pragma once
#include "learn/wide/lanes.hpp"

namespace cp::wide {

// Fill the lists of each node: its partners of pairs (node, partner), then those of pairs (partner, node), each in the order of pairs.
//
// The lists stand end to end in `partners` and `theirs`, whose shape means nothing else.
inline void list_partners(Matrix<const Int> pairs, Floats gains, Vector<Int> from, Matrix<Node> partners, Matrix<double> theirs) {
  const Int n = from.size() - 1, m = gains.size();
  from.fill(0);
  for (Int k = 0; k < m; ++k)
    for (Int side = 0; side < 2; ++side) ++from[pairs(k, side) + 1];
  for (Int v = 0; v < n; ++v) from[v + 1] += from[v];
  std::vector<Int> next(from.data, from.data + n);
  for (Int side = 0; side < 2; ++side)
    for (Int k = 0; k < m; ++k) {
      const Int place = next[pairs(k, side)]++;
      partners.data[place] = Node(pairs(k, 1 - side));
      theirs.data[place] = gains[k];
    }
}

}  // namespace cp::wide
