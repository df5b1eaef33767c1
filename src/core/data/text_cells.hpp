// The distinct cells of columns of text, and columns of numbers.
#pragma once
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "base/numbers.hpp"
#include "base/pulse.hpp"
#include "base/view.hpp"
#include "data/text_rows.hpp"

namespace cp::data {

using Bounds = View<const Place, 3>;
using Text = Vector<const u8>;

struct Cell {
  const u8* data;
  Int size;
};

inline Cell cell_of(Text text, Bounds bounds, Int row, Int column) {
  const Int begin = bounds(row, column, 0), end = bounds(row, column, 1);
  check_part(begin, end, text.size());
  return {text.data + begin, end - begin};
}

// The distinct cells of one column, numbered in the order of their first rows.
class CellIndex {
 public:
  // The number of a cell; `row` is kept for a new one, unless there are `limit` already: then −1.
  Place find(Cell cell, Vector<Place> rows, Int limit) {
    const Word hash = hash_of(cell);
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = std::size_t(hash >> 20) & mask;
    for (; slots_[slot] >= 0; slot = (slot + 1) & mask) {
      const Entry& known = entries_[slots_[slot]];
      if (known.hash == hash && known.size == cell.size && !std::memcmp(known.data, cell.data, cell.size)) return slots_[slot];
    }
    const Int number = size();
    if (number == limit || number == rows.size()) return -1;
    slots_[slot] = Place(number);
    entries_.push_back({hash, cell.data, cell.size});
    if (2 * entries_.size() > slots_.size()) grow();
    return Place(number);
  }
  Int size() const { return Int(entries_.size()); }

 private:
  struct Entry {
    Word hash;
    const u8* data;
    Int size;
  };

  static Word hash_of(Cell cell) {
    Word hash = Word(cell.size) * SPLITMIX_STEP, word = 0;
    const u8* at = cell.data;
    for (Int left = cell.size; left > 0; left -= 8, at += 8) {
      word = 0;
      if (left >= 8) std::memcpy(&word, at, 8);
      else for (Int i = 0; i < left; ++i) word |= Word(at[i]) << (8 * i);
      hash = mix_bits(hash ^ word);
    }
    return hash;
  }

  void grow() {
    slots_.assign(2 * slots_.size(), -1);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      std::size_t slot = std::size_t(entries_[i].hash >> 20) & mask;
      while (slots_[slot] >= 0) slot = (slot + 1) & mask;
      slots_[slot] = Place(i);
    }
  }

  std::vector<Place> slots_ = std::vector<Place>(64, -1);
  std::vector<Entry> entries_;
};

// Fill codes[i, row] with the number of the cell of columns[i], and first[i, number] with the row where it is
// first met; n_distinct[i] is how many there are, or −1 where there are more than `limit`.
inline void find_distinct(Text text, Bounds bounds, Ints columns, Int limit, Matrix<Place> codes, Matrix<Place> first,
                          Vector<Int> n_distinct) {
  constexpr Int TILE = 512;  // rows whose cells stay in the cache for all columns
  Pulse pulse;
  std::vector<CellIndex> indices(columns.size());
  n_distinct.fill(0);
  for (Int from = 0; from < bounds.shape(0); from += TILE) {
    const Int to = std::min(from + TILE, bounds.shape(0));
    for (Int i = 0; i < columns.size(); ++i) {
      if (n_distinct[i] < 0) continue;
      pulse(8 * (to - from));
      CellIndex& index = indices[i];
      for (Int row = from; row < to && n_distinct[i] >= 0; ++row) {
        const Place number = index.find(cell_of(text, bounds, row, columns[i]), first[i], limit);
        if (number == n_distinct[i]) first(i, n_distinct[i]++) = Place(row);
        if (number < 0) n_distinct[i] = -1;
        codes(i, row) = number;
      }
    }
  }
}

// Copy the cells of a column in some rows to `out`, one after the other; ends[i] is the number of characters
// up to the end of cell i. Returns the number of bytes, which may be more than `out` has: then nothing is said.
inline Int join_cells(Text text, Bounds bounds, Int column, Vector<const Place> rows, Vector<u8> out, Vector<Int> ends) {
  Int size = 0, characters = 0;
  for (Int i = 0; i < rows.size(); ++i) {
    const Cell cell = cell_of(text, bounds, rows[i], column);
    if (size + cell.size <= out.size()) {
      std::memcpy(out.data + size, cell.data, cell.size);
      for (Int k = 0; k < cell.size; ++k) characters += (cell.data[k] & 0xC0) != 0x80;
      ends[i] = characters;
    }
    size += cell.size;
  }
  return size;
}

// ---- numbers -------------------------------------------------------------------------------------

// A cell in the plain format of numbers (data/number_formats.py, NUMBER).
struct Figure {
  bool fits = false;      // it is one
  bool whole = false;     // an integer
  bool has_point = false;
  bool decimal = false;   // its point cannot separate thousands
  Int integer = 0;
  double real = 0.0;
};

inline bool is_space(u8 c) { return c == ' ' || (c >= 9 && c <= 13) || (c >= 28 && c <= 31); }
inline bool is_digit(u8 c) { return c >= '0' && c <= '9'; }

// The double nearest to a number that is known to be well written; false where it may be out of range.
inline bool parse_real(const char* begin, const char* end, double& value) {
#if defined(__cpp_lib_to_chars)
  const auto [at, error] = std::from_chars(begin, end, value);
  return error == std::errc() && at == end;
#else  // the decimal mark may be another one here: then the text is not used up
  const std::string copy(begin, end);
  char* at = nullptr;
  value = std::strtod(copy.c_str(), &at);
  return at == copy.c_str() + copy.size() && std::isfinite(value) && value != 0.0;
#endif
}

inline Figure parse_figure(Cell cell) {
  static constexpr double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  Figure f;
  const u8 *at = cell.data, *end = cell.data + cell.size;
  const bool negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+')) ++at;
  const u8* begin = at;
  Word digits = 0;
  const auto read_digits = [&] {
    const u8* from = at;
    for (; at < end && is_digit(*at); ++at) digits = 10 * digits + (*at - '0');  // of no use above 18
    return Int(at - from);
  };
  const Int before = read_digits();
  if (before > 1 && *begin == '0') return f;
  Int after = 0;
  if (at < end && *at == '.') {
    ++at;
    after = read_digits();
    f.has_point = true;
    f.decimal = after != 3 || before < 1 || before > 3 || *begin == '0';
  }
  if (before + after == 0) return f;
  bool power = false;
  if (at < end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at < end && (*at == '-' || *at == '+')) ++at;
    power = true;
    const u8* from = at;
    while (at < end && is_digit(*at)) ++at;
    if (at == from) return f;
  }
  if (at != end) return f;
  f.whole = !f.has_point && !power;
  if (f.whole && before > 18) return f;  // a code of something, as one with leading zeros
  if (f.whole) f.integer = negative ? -Int(digits) : Int(digits);
  if (!power && before + after <= 18 && digits <= (Word(1) << 53)) {  // both parts are exact (Clinger 1990)
    f.real = double(digits) / POWERS[after];
    f.fits = true;
  } else {
    f.fits = parse_real(reinterpret_cast<const char*>(begin), reinterpret_cast<const char*>(end), f.real);
  }
  if (negative) f.real = -f.real;
  return f;
}

// The texts of missing cells, one after the other.
struct GapWords {
  Vector<const u8> letters;
  Ints offsets;
  static constexpr const char* fields = "letters[] offsets[]";

  // The number of the word that a cell is, or −1.
  Int find(Cell cell) const {
    for (Int i = 0; i + 1 < offsets.size(); ++i) {
      const auto word = letters.part(offsets[i], offsets[i + 1]);
      if (word.size() == cell.size && !std::memcmp(word.data, cell.data, cell.size)) return i;
    }
    return -1;
  }
};

enum NumberKind : Int { NO_NUMBERS, INTEGERS, REALS };

// Fill `integers` or `reals` with the numbers of a column, 0 where they are `missing`: where the cell is empty or
// one of the words, of which `met` tells those there are.
//
// Returns INTEGERS where all are integers, REALS where all are numbers and one of them has a point that is its
// decimal mark for sure; else NO_NUMBERS.
inline Int read_numbers(Text text, Bounds bounds, Int column, const GapWords& words, Vector<Int> integers,
                        Vector<double> reals, Vector<bool> missing, Vector<bool> met) {
  Pulse pulse;
  bool whole = true, decimal = false, any = false;
  met.fill(false);
  for (Int row = 0; row < bounds.shape(0); ++row) {
    pulse(32);
    Cell cell = cell_of(text, bounds, row, column);
    while (cell.size > 0 && is_space(cell.data[0])) ++cell.data, --cell.size;
    while (cell.size > 0 && is_space(cell.data[cell.size - 1])) --cell.size;
    Figure f;
    if (cell.size > 0) f = parse_figure(cell);
    missing[row] = !f.fits;
    integers[row] = f.integer;
    reals[row] = f.real;
    if (f.fits) {
      any = true;
      whole &= f.whole;
      decimal |= f.decimal;
    } else if (cell.size > 0) {
      const Int word = words.find(cell);
      if (word < 0) return NO_NUMBERS;
      met[word] = true;
      integers[row] = 0;
      reals[row] = 0.0;
    }
  }
  if (!any) return NO_NUMBERS;
  return whole ? INTEGERS : decimal ? REALS : NO_NUMBERS;
}

}  // namespace cp::data
