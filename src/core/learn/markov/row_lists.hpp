// Lists of the rows where conjunctions of conditions hold, by intersection of bit sets.
#pragma once
#include "base/bits.hpp"
#include "base/pulse.hpp"
#include "levels/loops.hpp"

namespace cp::markov {

// Conjunction c is about the rows of words word_from[c] … word_to[c] − 1. It has the conditions
// first[c] … last[c] − 1, but for those on the variable skipped[c]. Condition k is the bit set literals[k], or
// its complement.
struct Conjunctions {
  Ints word_from;
  Ints word_to;
  Ints first;
  Ints last;
  Ints skipped;
  Ints variables;
  Ints literals;
  Flags negated;

  static constexpr const char* fields =
      "word_from[c] word_to[c] first[c] last[c] skipped[c] variables[k] literals[k] negated[k]";

  Int size() const { return first.size(); }
};

// The rows that entry e of the rules reads: those of list of_entry[e].
struct RowLists {
  Ints of_entry;
  Ints offsets;
  Flags opposite;                         // whether a list holds all rows but those that are read
  Vector<const u16> positions;  // from the first row of the entry's variable

  static constexpr const char* fields = "of_entry[] offsets[l+1] opposite[l] positions[]";

  Vector<const u16> rows(Int list) const { return positions.part(offsets[list], offsets[list + 1]); }
};

// Call visit(c, mask, valid) for each conjunction: `mask` holds the rows of `valid` where it holds.
template <class Visit>
void for_each_conjunction(Matrix<const Word> words, Words valid, const Conjunctions& conjunctions, Visit visit) {
  const Array<Word, 1> masks(valid.size());
  Pulse pulse;
  for (Int c = 0; c < conjunctions.size(); ++c) {
    const Int from = conjunctions.word_from[c], to = conjunctions.word_to[c];
    const Vector<Word> mask = masks.part(0, to - from);
    mask.copy_from(valid.part(from, to));
    for (Int k = conjunctions.first[c]; k < conjunctions.last[c]; ++k) {
      if (conjunctions.variables[k] == conjunctions.skipped[c]) continue;
      const Words holds = words[conjunctions.literals[k]].part(from, to);
      const Word flip = conjunctions.negated[k] ? ~Word(0) : Word(0);
      for (Int w = 0; w < mask.size(); ++w) mask[w] &= holds[w] ^ flip;
      pulse(mask.size());
    }
    visit(c, Words(mask), valid.part(from, to));
    pulse(20 * mask.size());
  }
}

// Fill `sizes` and `opposite`: no list has more than half of the valid rows.
inline void count_rows(Matrix<const Word> words, Words valid, const Conjunctions& conjunctions, Vector<Int> sizes, Vector<bool> opposite) {
  for_each_conjunction(words, valid, conjunctions, [&](Int c, Words mask, Words rows) {
    const Int size = count_ones(mask), whole = count_ones(rows);
    opposite[c] = 2 * size > whole;
    sizes[c] = opposite[c] ? whole - size : size;
  });
}

// Write the positions of each list from starts[c] on.
inline void list_rows(Matrix<const Word> words, Words valid, const Conjunctions& conjunctions, Flags opposite, Ints starts,
                      Vector<u16> positions) {
  for_each_conjunction(words, valid, conjunctions, [&](Int c, Words mask, Words rows) {
    Int end = starts[c];
    for (Int w = 0; w < mask.size(); ++w)
      for_each_bit(opposite[c] ? rows[w] & ~mask[w] : mask[w], [&](Int row) { positions[end++] = u16(row); }, 64 * w);
  });
}

}  // namespace cp::markov
