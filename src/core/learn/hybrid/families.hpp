// The distinct rows of a few columns, and what the families of a local network count in them.
//
// Parent configurations are *groups*: each row has a number below n, made column by column in mixed
// radix. When there are many more numbers than rows, those that occur are numbered anew, in order, so
// that no table grows beyond the rows, whatever the arities.
#pragma once
#include "base/numbers.hpp"
#include "base/pulse.hpp"
#include "counts/cells.hpp"

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
  counts::add_rows(numbers.size(), [=](Int i) { return numbers[i]; }, [=](Int i) { return weighted ? row_weights[i] : 1.0; }, weights);
  for (Int i = 0; i < numbers.size(); ++i) rows[numbers[i]] = Number(i);
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
  counts::add_rows(groups.size(), [=](Int i) { return groups[i] * r + codes[i]; }, [=](Int i) { return weights[i]; }, out);
}

// The number of joint states of the local columns in `set`.
inline double product(Set set, Ints cards) {
  double states = 1.0;
  for (Int a = 0; a < cards.size(); ++a)
    if (in_set(set, a)) states *= double(cards[a]);
  return states;
}

// ---- Scores of families, likelihoods of a variable given its blanket, and conditional tables

// The score of a family: log-likelihood by (c + α) / (c_pa + α r) less `penalty` a parameter.
//
// α is prior / (r q) of r states and q parent configurations, in the tables, and score_prior / (r q) in
// the score, which is 0 for the maximum likelihood.
struct Terms {
  double prior, score_prior, penalty, tolerance;

  static constexpr const char* fields = "prior score_prior penalty tolerance";
};

// The score of a child of r states whose q parent configurations are `groups`, numbers below n.
inline double family_score(Numbers groups, Int n, double q, Int child, Int r, const Scratch& scratch,
                           const Terms& terms) {
  count_cells(groups, n, scratch.codes[child], r, scratch.weights, scratch.cells);
  const double each = terms.score_prior / (double(r) * q);
  const double all_states = terms.score_prior / q;
  double score = -terms.penalty * q * double(r - 1);
  for (Int g = 0; g < n; ++g) {
    double total = 0.0;
    for (double count : scratch.cells.part(g * r, (g + 1) * r)) {
      if (count > 0.0) {
        score += count * std::log(count + each);
        total += count;
      }
    }
    if (total > 0.0) score -= total * std::log(total + all_states);
  }
  return score;
}

// Add sign · ln(count + pseudo) of each row's group with each target state to the logits.
inline void add_logs(Numbers groups, Int n, Numbers target, Int r, double pseudo, double sign, const Scratch& scratch) {
  count_cells(groups, n, target, r, scratch.weights, scratch.cells);
  for (double& cell : scratch.cells.part(0, n * r)) cell = sign * std::log(cell + pseudo);
  for (Int i = 0; i < groups.size(); ++i)
    for (Int s = 0; s < r; ++s) scratch.logits[i * r + s] += scratch.cells[groups[i] * r + s];
}

// Σ ln P(x_t | blanket): P(x_t | its parents) Π P(x_c | parents of c), normalized over x_t.
//
// A family of q parent configurations is ln(c + prior / (r q)) − ln(c_pa + prior / q), read for each
// state of the target by counting what is left of the scope together with the target.
inline double conditional_log_likelihood(Int target, Ints parents, Ints cards, Int rows, const Scratch& scratch,
                                         double prior) {
  const Int r = cards[target];
  const Numbers states = scratch.codes[target].part(0, rows);
  const Vector<Number> groups = scratch.groups[0].part(0, rows);
  scratch.logits.part(0, rows * r).fill(0.0);
  Int n = group_by(parents[target], cards, scratch, groups);
  add_logs(groups, n, states, r, prior / (double(r) * product(parents[target], cards)), 1.0, scratch);
  for (Int c = 0; c < cards.size(); ++c) {
    if (!in_set(parents[c], target)) continue;
    const double q = product(parents[c], cards);
    n = group_by(without(parents[c], target), cards, scratch, groups);
    add_logs(groups, n, states, r, prior / q, -1.0, scratch);
    n = refine(groups, n, scratch.codes[c].part(0, rows), cards[c], scratch.new_numbers, groups);
    add_logs(groups, n, states, r, prior / (double(cards[c]) * q), 1.0, scratch);
  }
  double total = 0.0;
  for (Int i = 0; i < rows; ++i) {
    const Floats logits = scratch.logits.part(i * r, (i + 1) * r);
    const auto [top, mass] = exp_sum(logits);
    total += scratch.weights[i] * (logits[states[i]] - top - std::log(mass));
  }
  return total;
}

// Fill `out` with ln P(child | parents), parents in their local order, the child last.
inline void fill_table(Int child, Set parents, Ints cards, Int rows, const Scratch& scratch, double prior,
                       Vector<double> out) {
  const Int r = cards[child], q = out.size() / r;
  const Vector<Number> cells = scratch.groups[0].part(0, rows);
  cells.fill(0);
  for (Int a = 0; a < cards.size(); ++a)
    if (in_set(parents, a)) append_codes(cells, Numbers(scratch.codes[a].part(0, rows)), Number(cards[a]));
  count_cells(cells, q, scratch.codes[child], r, scratch.weights, out);
  for (Int g = 0; g < q; ++g) {
    const Vector<double> states = out.part(g * r, (g + 1) * r);
    const double total = sum(states);
    for (double& count : states) count = std::log((count + prior / double(r * q)) / (total + prior / double(q)));
  }
}

}  // namespace cp::hybrid
