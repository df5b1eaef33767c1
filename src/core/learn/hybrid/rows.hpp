// The distinct rows of a few columns, and what the families of a local network count in them.
//
// Parent configurations are *groups*: each row has a number below n, made column by column in mixed
// radix. When there are many more numbers than rows, those that occur are numbered anew, in order, so
// that no table grows beyond the rows, whatever the arities.
#pragma once
#include <tuple>

#include "base/numbers.hpp"
#include "base/pulse.hpp"
#include "levels/loops.hpp"

namespace cp::hybrid {

using Number = u32;
using Numbers = Vector<const Number>;
using Set = Int;  // of local columns, as bits

constexpr Int LEAST_ROOM = 256;  // groups that are never worth numbering anew

inline bool in_set(Set set, Int a) { return set >> a & 1; }
inline Set with(Set set, Int a) { return set | Set(1) << a; }
inline Set without(Set set, Int a) { return set & ~(Set(1) << a); }

// The rows of a table; no weights means that each counts once.
template <class Code>
struct Data {
  Matrix<const Code> codes;
  Floats weights;
  Ints cards;

  static constexpr const char* fields = "codes[n,rows] weights[] cards[n]";
  auto members() { return std::tie(codes, weights, cards); }
};

// Room for one local network at a time; `codes` and `weights` are its distinct rows.
struct Scratch {
  Vector<Number> numbers;             // of the rows of the table
  Vector<std::int32_t> new_numbers;   // of each old one
  Matrix<Number> codes;               // (columns, distinct rows)
  Vector<double> weights;
  Matrix<Number> groups;  // (2, distinct rows)
  Vector<double> cells;
  Vector<double> logits;

  static constexpr const char* fields =
      "numbers[] new_numbers[] codes[,rows] weights[rows] groups[2,rows] cells[room] logits[room]";
  auto members() { return std::tie(numbers, new_numbers, codes, weights, groups, cells, logits); }
};

// Number those of 0 … n − 1 that occur in `numbers` anew, in order; how many they are.
inline Int renumber(Vector<Number> numbers, Int n, Vector<std::int32_t> new_numbers) {
  new_numbers.part(0, n).fill(0);
  for (Number number : numbers) new_numbers[number] = 1;
  std::int32_t count = 0;
  for (std::int32_t& number : new_numbers.part(0, n)) {
    const std::int32_t occurs = number;
    number = count;
    count += occurs;
  }
  for (Number& number : numbers) number = Number(new_numbers[number]);
  return count;
}

// Put the distinct rows of `columns` into `scratch`, sorted, with their weights; their number.
template <class Code>
Int compress(const Data<Code>& data, Ints columns, const Scratch& scratch, Pulse& pulse) {
  const Vector<Number> numbers = scratch.numbers;
  numbers.fill(0);
  Int n = 1;
  for (Int column : columns) {
    const Int r = data.cards[column];
    if (n * r > scratch.new_numbers.size()) n = renumber(numbers, n, scratch.new_numbers);
    append_codes(numbers, data.codes[column], Number(r));
    n *= r;
    pulse(numbers.size());
  }
  n = renumber(numbers, n, scratch.new_numbers);
  const Vector<double> weights = scratch.weights.part(0, n);
  const Vector<Number> rows = scratch.groups[0].part(0, n);  // one of the table's for each distinct one
  const Floats row_weights = data.weights;
  const bool weighted = !row_weights.empty();
  weights.fill(0.0);
  for (Int i = 0; i < numbers.size(); ++i) {
    weights[numbers[i]] += weighted ? row_weights[i] : 1.0;
    rows[numbers[i]] = Number(i);
  }
  for (Int a = 0; a < columns.size(); ++a) {
    const Vector<const Code> codes = data.codes[columns[a]];
    for (Int k = 0; k < n; ++k) scratch.codes(a, k) = codes[rows[k]];
  }
  pulse(8 * numbers.size());
  return n;
}

// Fill `out` with the groups, of which there are n, split by a column of r states; return how many there
// may be. `out` may be `groups`.
inline Int refine(Numbers groups, Int n, Numbers codes, Int r, Vector<std::int32_t> new_numbers, Vector<Number> out) {
  out.copy_from(groups);
  append_codes(out, codes, Number(r));
  n *= r;
  return n > std::max(LEAST_ROOM, out.size()) ? renumber(out, n, new_numbers) : n;
}

// Fill `out` with the configurations of the local columns in `set`; return how many there may be.
inline Int group_by(Set set, Ints cards, const Scratch& scratch, Vector<Number> out) {
  out.fill(0);
  Int n = 1;
  for (Int a = 0; a < cards.size(); ++a)
    if (in_set(set, a)) n = refine(out, n, scratch.codes[a].part(0, out.size()), cards[a], scratch.new_numbers, out);
  return n;
}

// Fill out[g r + s] with the weight of the rows in group g with state s.
inline void count_cells(Numbers groups, Int n, Numbers codes, Int r, Floats weights, Vector<double> out) {
  out.part(0, n * r).fill(0.0);
  for (Int i = 0; i < groups.size(); ++i) out[groups[i] * r + codes[i]] += weights[i];
}

// The number of joint states of the local columns in `set`.
inline double product(Set set, Ints cards) {
  double states = 1.0;
  for (Int a = 0; a < cards.size(); ++a)
    if (in_set(set, a)) states *= double(cards[a]);
  return states;
}

}  // namespace cp::hybrid
