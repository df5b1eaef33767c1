// Where the tables of a batch of queries begin.
#pragma once
#include "base/view.hpp"

namespace cp::counts {

// Fill `out_from` for the queries; a table above `max_cells` gets no cells.
//
// Returns −1, or the first query that names a column out of range or twice.
inline Int lay_out(Ints cards, Ints scopes, Ints scope_from, Int max_cells, Vector<Int> out_from) {
  const Ragged<const Int> lists{scopes, scope_from};
  Array<Int, 1> seen = filled<Int>(-1, cards.size());
  out_from[0] = 0;
  for (Int q = 0; q < lists.size(); ++q) {
    double cells = 1.0;  // the product of many cards overflows an integer, not a float
    for (Int column : lists[q]) {
      if (column < 0 || column >= cards.size() || seen[column] == q) return q;
      seen[column] = q;
      cells *= double(cards[column]);
    }
    const double end = double(out_from[q]) + (cells <= double(max_cells) ? cells : 0.0);
    out_from[q + 1] = Int(std::min(end, 0x1p62));
  }
  return -1;
}

}  // namespace cp::counts
