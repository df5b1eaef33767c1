// Sets of nodes as bit rows: bit i is in word i / 64.
#pragma once
#include "base/numbers.hpp"

namespace cp::graphs {

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

// Call visit(i) for each set bit, in order. A bit set or cleared on the way counts if it lies ahead.
template <class Visit>
void for_each_bit(Words row, Visit visit) {
  for (Int i = lowest(row, 0); i >= 0; i = lowest(row, i + 1)) visit(i);
}

}  // namespace cp::graphs
