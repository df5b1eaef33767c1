// All conditionals of 64 rows at once: each rule is looked at once, with a word for each condition.
//
// A rule that a row meets counts for all its variables; one that a row misses through one variable counts
// for the states of that variable that would meet it; any other counts for nothing.
#pragma once
#include "base/pulse.hpp"
#include "features/parts.hpp"
#include "base/bits.hpp"

namespace cp::features {

// Rules whose conditions on one variable stand together. The states of variable v have the places from firsts[v] on.
struct WordRules {
  Floats weights;
  Ints offsets, variables, places;
  Flags negated;
  Ints firsts;

  static constexpr const char* fields = "weights[r] offsets[r+1] variables[c] places[c] negated[c] firsts[n+1]";

  Int size() const { return weights.size(); }
  Int n_variables() const { return firsts.size() - 1; }
  Int n_places() const { return firsts.back(); }
  Int card(Int v) const { return firsts[v + 1] - firsts[v]; }
  // Where the conditions on the variable of condition k end.
  Int group_end(Int k, Int stop) const {
    Int end = k + 1;
    while (end < stop && variables[end] == variables[k]) ++end;
    return end;
  }
};

// Up to 64 rows: bits[p] flags those with the state of place p, and logits[p] holds their log-conditionals of it.
class WordBlock {
 public:
  Array<double, 2> logits;

  WordBlock(const Parts& rest, const WordRules& rules)
      : logits(rules.n_places(), 64), rest_(rest), rules_(rules), bits_(rules.n_places()), scratch_(rest.max_card()) {}

  // Fill the logits of `count` rows from `base` on; returns as `fill_conditionals` does.
  template <class Code>
  Int fill(Matrix<const Code> codes, Int base, Int count) {
    bits_.fill(0);
    for (Int v = 0; v < rules_.n_variables(); ++v) {
      const Int card = rules_.card(v), first = rules_.firsts[v];
      for (Int i = 0; i < count; ++i) {
        const Int code = codes(v, base + i);
        if (code < card) bits_[first + code] |= bit(i);
        conditional(rest_, codes, base + i, v, scratch_);
        for (Int s = 0; s < card; ++s) logits(first + s, i) = scratch_[s];
      }
    }
    for (Int r = 0; r < rules_.size(); ++r) add_rule(r, ~Word(0) >> (64 - count));
    return normalize(base, count);
  }

 private:
  const Parts& rest_;
  const WordRules& rules_;
  Array<Word, 1> bits_;
  Array<double, 1> scratch_;

  // The rows that meet the conditions first … last − 1.
  Word rows_that_meet(Int first, Int last) const {
    Word rows = ~Word(0);
    for (Int k = first; k < last; ++k) {
      const Word bits = bits_[rules_.places[k]];
      rows &= rules_.negated[k] ? ~bits : bits;
    }
    return rows;
  }

  // Add the weight of rule r wherever it counts, in `rows`.
  void add_rule(Int r, Word rows) {
    const Int start = rules_.offsets[r], stop = rules_.offsets[r + 1];
    Word meet = rows, miss_one = 0;
    for (Int k = start, end; k < stop && (meet | miss_one); k = end) {
      end = rules_.group_end(k, stop);
      const Word holds = rows_that_meet(k, end);
      miss_one = (miss_one & holds) | (meet & ~holds);
      meet &= holds;
    }
    if (!(meet | miss_one)) return;
    for (Int k = start, end; k < stop; k = end) {
      end = rules_.group_end(k, stop);
      const Word counts = meet | (miss_one & ~rows_that_meet(k, end));
      if (counts) add_to_states(rules_.weights[r], k, end, counts);
    }
  }

  // Add a weight to the states that meet the conditions first … last − 1, all on one variable, in `rows`.
  void add_to_states(double weight, Int first, Int last, Word rows) {
    const Int v = rules_.variables[first];
    Int required = -1;
    for (Int k = first; k < last; ++k)
      if (!rules_.negated[k]) required = rules_.places[k];
    for (Int place = rules_.firsts[v]; place < rules_.firsts[v + 1]; ++place) {
      const bool meets = required >= 0 ? place == required : !contains(rules_.places.part(first, last), place);
      if (!meets) continue;
      const Vector<double> logit = logits[place];
      for_each_bit(rows, [&](Int row) { logit[row] += weight; });
    }
  }

  // Subtract ln Σ exp from the logits of each variable; returns as `fill_conditionals` does.
  Int normalize(Int base, Int count) {
    for (Int v = 0; v < rules_.n_variables(); ++v) {
      const Int start = rules_.firsts[v], stop = rules_.firsts[v + 1];
      for (Int i = 0; i < count; ++i) {
        double largest = -INF, total = 0.0;
        for (Int p = start; p < stop; ++p) largest = std::max(largest, logits(p, i));
        if (largest == -INF) return (base + i) * rules_.n_variables() + v;
        for (Int p = start; p < stop; ++p) total += std::exp(logits(p, i) - largest);
        const double shift = largest + std::log(total);
        for (Int p = start; p < stop; ++p) logits(p, i) -= shift;
      }
    }
    return -1;
  }
};

// Call take(logits, base, count) for each block of 64 rows; returns as `fill_conditionals` does.
template <class Code, class Take>
Int for_each_block(const Parts& rest, const WordRules& rules, Matrix<const Code> codes, Int start, Int stop, Take take) {
  WordBlock block(rest, rules);
  Pulse pulse;
  for (Int base = start; base < stop; base += 64) {
    const Int count = std::min<Int>(64, stop - base);
    pulse(20 * rules.size() + 500 * rules.n_places());
    const Int fault = block.fill(codes, base, count);
    if (fault >= 0) return fault;
    take(Matrix<const double>(block.logits), base, count);
  }
  return -1;
}

// As `fill_conditionals` for all variables; `rest` are the parts without rules.
template <class Code>
Int fill_conditionals_by_words(const Parts& rest, const WordRules& rules, Matrix<const Code> codes, Int start, Int stop,
                               Matrix<double> out) {
  return for_each_block(rest, rules, codes, start, stop, [&](Matrix<const double> logits, Int base, Int count) {
    for (Int i = 0; i < count; ++i)
      for (Int p = 0; p < logits.shape(0); ++p) out(base + i, p) = logits(p, i);
  });
}

// As `add_pseudo_log_likelihood`; `rest` are the parts without rules.
template <class Code>
Int add_pseudo_log_likelihood_by_words(const Parts& rest, const WordRules& rules, Matrix<const Code> codes, Int start,
                                       Int stop, Matrix<double> out) {
  const Int n = rules.n_variables();
  return for_each_block(rest, rules, codes, start, stop, [&](Matrix<const double> logits, Int base, Int count) {
    for (Int v = 0; v < n; ++v)
      for (Int i = 0; i < count; ++i)
        out(base + i, out.shape(1) == n ? v : 0) += logits(rules.firsts[v] + codes(v, base + i), i);
  });
}

}  // namespace cp::features
