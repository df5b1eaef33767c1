// Contingency counts by bit sets: bit set first[v] + s holds the rows in which column v has state s.
//
// Queries come flat: query q counts the columns scopes[q] into out[out_from[q] … out_from[q + 1] − 1],
// the last column fastest. `queries` says which q to count. Counts are added to `out`.
#pragma once
#include "base/bits.hpp"
#include "base/pulse.hpp"
#include "levels/loops.hpp"

namespace cp::counts {

constexpr Int CHUNK_WORDS = 512;  // 32,768 rows: the masks of a prefix stay in the first-level cache

// Add the counts of the last column's states within `mask`, which holds `total` rows; one by subtraction.
inline void count_last(Words mask, Int total, Matrix<const Word> bits, Int first, Int from, Vector<Int> out) {
  const Int to = from + mask.size(), last = out.size() - 1;
  for (Int state = 0; state < last; ++state) {
    if (total == 0) return;
    const Int common = count_common(mask, bits[first + state].part(from, to));
    out[state] += common;
    total -= common;
  }
  out[last] += total;
}

// Count one query of two or more columns over words from … to − 1, walking its prefixes in order:
// masks[d] holds the rows that match the present states of the first d + 1 columns.
inline void count_prefixes(Matrix<const Word> bits, Ints first, Ints scope, Ints cards, Int from, Int to,
                           Matrix<Word> masks, Vector<Int> state, Vector<Int> out) {
  const Int depth = scope.size() - 1, last = scope[depth], card = cards[last], width = to - from;
  Int level = 0;
  state.part(0, depth).fill(0);
  for (Int cell = 0; cell < out.size(); cell += card) {
    Int total = 0;
    for (; level < depth; ++level) {
      const Words own = bits[first[scope[level]] + state[level]].part(from, to);
      const Vector<Word> mask = masks[level].part(0, width);
      total = intersect(level == 0 ? own : Words(masks[level - 1].part(0, width)), own, mask);
    }
    count_last(masks[depth - 1].part(0, width), total, bits, first[last], from, out.part(cell, cell + card));
    level = depth - 1;
    state[level] += 1;
    while (level > 0 && state[level] == cards[scope[level]]) {
      state[level] = 0;
      state[--level] += 1;
    }
  }
}

// Count queries over words word_from … word_to − 1.
inline void count_bits(Matrix<const Word> bits, Ints first, Ints cards, Ints scopes, Ints scope_from, Ints out_from,
                       Ints queries, Int word_from, Int word_to, Vector<Int> out) {
  const Ragged<const Int> lists{scopes, scope_from};
  const Ragged<Int> tables{out, out_from};
  Int longest = 1;
  for (Int q : queries) longest = std::max(longest, lists.length(q));
  Array<Word, 2> masks(longest, CHUNK_WORDS);
  Array<Int, 1> state(longest);
  Pulse pulse;
  for (Int from = word_from; from < word_to; from += CHUNK_WORDS) {
    const Int to = std::min(from + CHUNK_WORDS, word_to);
    for (Int q : queries) {
      const Ints scope = lists[q];
      const Vector<Int> table = tables[q];
      pulse(1 + table.size() * (to - from) / 4);
      if (scope.size() == 1) {
        for (Int s = 0; s < table.size(); ++s) table[s] += count_ones(bits[first[scope[0]] + s].part(from, to));
      } else {
        count_prefixes(bits, first, scope, cards, from, to, masks, state, table);
      }
    }
  }
}

// Add value(i) to `out` at cell(i), for the rows of a bit set.
template <class CellOf, class ValueOf, class Count>
void add_set_rows(Words set, CellOf cell, ValueOf value, Vector<Count> out) {
  for_each_row(set, [&](Int i) { out[cell(i)] += value(i); });
}

}  // namespace cp::counts
