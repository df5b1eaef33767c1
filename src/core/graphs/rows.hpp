// A graph as bit rows, one set of nodes a node.
//
// In parent rows bit p of row v says p → v, in child rows bit c of row v says v → c; in the rows of an
// undirected graph bit u of row v says u – v. A mask is one row.
#pragma once
#include "graphs/bits.hpp"

namespace cp::graphs {

inline void unite(Vector<Word> mask, Words other) {
  for (Int w = 0; w < mask.size(); ++w) mask[w] |= other[w];
}

inline Int size_of(Words mask) {
  Int total = 0;
  for (Word word : mask) total += popcount(word);
  return total;
}

// The size of the intersection of two masks.
inline Int shared(Words a, Words b) {
  Int total = 0;
  for (Int w = 0; w < a.size(); ++w) total += popcount(a[w] & b[w]);
  return total;
}

// Add to the mask `out` the rows of the nodes in the mask `chosen`.
inline void gather(Matrix<const Word> rows, Words chosen, Vector<Word> out) {
  for_each_bit(chosen, [&](Int v) { unite(out, rows[v]); });
}

// Set bit i of row j of `out` wherever bit j of row i is set.
inline void transpose(Matrix<const Word> rows, Matrix<Word> out) {
  for (Int i = 0; i < rows.shape(0); ++i) for_each_bit(rows[i], [&](Int j) { out(j, i >> 6) |= bit(i); });
}

}  // namespace cp::graphs
