// Sets as bit rows: bit i is in word i / 64. A mask is one row.
//
// A graph has one row a node: in parent rows bit p of row v says p → v, in child rows bit c of row v says v → c; in
// those of an undirected graph bit u of row v says u – v.
#pragma once
#include "base/numbers.hpp"

namespace cp {

// The word of a row that holds only bit i, at word i >> 6.
inline Word bit(Int i) { return Word(1) << (i & 63); }

inline bool has(Words row, Int i) { return (row[i >> 6] >> (i & 63)) & 1; }

// The first set bit at or after `start`, or −1.
inline Int lowest(Words row, Int start) {
  const Int w = start >> 6;
  if (w >= row.size()) return -1;
  const Word word = row[w] >> (start & 63);
  if (word != 0) return start + lowest_bit(word);
  for (Int k = w + 1; k < row.size(); ++k)
    if (row[k] != 0) return 64 * k + lowest_bit(row[k]);
  return -1;
}

// Call visit(i) for each set bit of a row, in order. A bit set or cleared on the way counts if it lies ahead.
template <class Visit>
void for_each_bit(Words row, Visit visit) {
  for (Int i = lowest(row, 0); i >= 0; i = lowest(row, i + 1)) visit(i);
}

// Call visit(i) for each set bit of one word, in order; in a row, bits from `first` on.
template <class Visit>
void for_each_bit(Word word, Visit visit, Int first = 0) {
  for (; word != 0; word &= word - 1) visit(first + lowest_bit(word));
}

// Call visit(row) for each member of a large set, which does not change meanwhile.
template <class Visit>
void for_each_row(Words set, Visit visit) {
  for (Int w = 0; w < set.size(); ++w) for_each_bit(set[w], visit, 64 * w);
}

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
  for_each_row(chosen, [&](Int v) { unite(out, rows[v]); });
}

// Set bit i of row j of `out` wherever bit j of row i is set.
inline void transpose(Matrix<const Word> rows, Matrix<Word> out) {
  for (Int i = 0; i < rows.shape(0); ++i) for_each_bit(rows[i], [&](Int j) { out(j, i >> 6) |= bit(i); });
}

}  // namespace cp
