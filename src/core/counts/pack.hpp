// Bit sets of columns from their codes.
#pragma once
#include <bit>
#include <cstring>

#include "base/bits.hpp"
#include "base/pulse.hpp"

namespace cp::counts {

// Which of 64 codes are `state`.
template <class Code>
Word equal_codes(const Code* codes, Code state) {
  Word word = 0;
  if constexpr (sizeof(Code) == 1 && std::endian::native == std::endian::little) {
    constexpr Word LOW = 0x7f7f7f7f7f7f7f7f, EACH = 0x0101010101010101, GATHER = 0x0102040810204080;
    for (Int k = 0; k < 8; ++k) {
      Word eight;
      std::memcpy(&eight, codes + 8 * k, 8);
      eight ^= EACH * state;                                               // bytes of the state are 0
      const Word equal = ~(((eight & LOW) + LOW) | eight | LOW) >> 7;      // 1 in each such byte
      word |= (equal * GATHER >> 56) << (8 * k);
    }
  } else {
    for (Int k = 0; k < 64; ++k) word |= Word(codes[k] == state) << k;
  }
  return word;
}

// Fill the sets first[v] + s of some columns, and total[first[v] + s] with their sizes. Words behind the rows stay as they are.
template <class Code>
void pack_states(Matrix<const Code> codes, Ints columns, Ints cards, Ints first, Matrix<Word> words, Vector<Int> total) {
  const Int rows = codes.shape(1), whole = rows / 64;
  Pulse pulse;
  for (Int k = 0; k < columns.size(); ++k) {
    const Int v = columns[k];
    const Code* own = codes[v].data;
    for (Int s = 0; s < cards[v]; ++s) {
      Word* set = words[first[v] + s].data;
      Int size = 0;
      for (Int w = 0; w < whole; ++w) {
        set[w] = equal_codes(own + 64 * w, Code(s));
        size += std::popcount(set[w]);
      }
      Word rest = 0;
      for (Int row = 64 * whole; row < rows; ++row) rest |= Word(own[row] == Code(s)) << (row - 64 * whole);
      if (rows > 64 * whole) set[whole] = rest;
      total[first[v] + s] = size + std::popcount(rest);
      pulse(rows / 2 + 10);
    }
  }
}

// Fill a hash of each column, and whether all of its codes are equal. Equal columns have equal hashes.
template <class Code>
void hash_columns(Matrix<const Code> codes, Vector<Word> hashes, Vector<bool> constant) {
  constexpr Word FACTOR = 0x9e3779b97f4a7c15;
  const Int rows = codes.shape(1), bytes = rows * Int(sizeof(Code));
  Pulse pulse;
  for (Int v = 0; v < hashes.size(); ++v) {
    const Code* own = codes[v].data;
    const auto* data = reinterpret_cast<const unsigned char*>(own);
    Word hash = FACTOR;
    const auto mix = [&](Word word) {
      hash = (hash ^ word) * FACTOR;
      hash ^= hash >> 29;
    };
    Int at = 0;
    for (; at + 8 <= bytes; at += 8) {
      Word word;
      std::memcpy(&word, data + at, 8);
      mix(word);
    }
    for (; at < bytes; ++at) mix(data[at]);
    hashes[v] = hash;
    Int row = 1;
    while (row < rows && own[row] == own[0]) ++row;
    constant[v] = row >= rows;
    pulse(bytes / 4 + 10);
  }
}

}  // namespace cp::counts
