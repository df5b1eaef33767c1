// Conditionals, pseudo-likelihoods and log-potentials of rows, one variable or part after the other.
#pragma once
#include "base/pulse.hpp"
#include "features/parts.hpp"

namespace cp::features {

// Fill rows start … stop − 1 of `out` with log-conditionals, the variables side by side.
//
// Returns −1, or row · n_variables + variable of the first place where no state is possible.
template <class Code>
Int fill_conditionals(const Parts& parts, Matrix<const Code> codes, Ints variables, Int start, Int stop, Matrix<double> out) {
  Array<double, 1> scratch(parts.max_card());
  Pulse pulse;
  Int column = 0;
  for (Int v : variables) {
    const Int card = parts.cards[v], work = 20 * (1 + parts.terms(v));
    const Vector<double> logits = scratch.part(0, card);
    for (Int row = start; row < stop; ++row) {
      pulse(work);
      conditional(parts, codes, row, v, logits);
      if (!log_shares(logits)) return row * parts.cards.size() + v;
      for (Int s = 0; s < card; ++s) out(row, column + s) = logits[s];
    }
    column += card;
  }
  return -1;
}

// Add ln P(its code | rest) to `out`: one column a variable, or one column for their sum.
//
// Returns as `fill_conditionals` does.
template <class Code>
Int add_pseudo_log_likelihood(const Parts& parts, Matrix<const Code> codes, Int start, Int stop, Matrix<double> out) {
  const Int n = parts.cards.size();
  Array<double, 1> scratch(parts.max_card());
  Pulse pulse;
  for (Int v = 0; v < n; ++v) {
    const Int column = out.shape(1) == n ? v : 0, work = 20 * (1 + parts.terms(v));
    const Vector<double> logits = scratch.part(0, parts.cards[v]);
    for (Int row = start; row < stop; ++row) {
      pulse(work);
      conditional(parts, codes, row, v, logits);
      if (!log_shares(logits)) return row * n + v;
      out(row, column) += logits[codes(v, row)];
    }
  }
  return -1;
}

// Add the log-values of all potentials and of all rules that hold to each row of `out`.
template <class Code>
void add_log_potential(const Parts& parts, Matrix<const Code> codes, Int start, Int stop, Vector<double> out) {
  Pulse pulse;
  for (Int t = 0; t < parts.n_potentials(); ++t) {
    pulse(5 * (stop - start));
    for (Int row = start; row < stop; ++row) {
      Int cell = parts.value_offsets[t];
      for (Int k = parts.scope_offsets[t]; k < parts.scope_offsets[t + 1]; ++k)
        cell += Int(codes(parts.scopes[k], row)) * parts.strides[k];
      out[row] += parts.values[cell];
    }
  }
  for (Int r = 0; r < parts.rule_weights.size(); ++r) {
    const Int first = parts.rule_offsets[r], last = parts.rule_offsets[r + 1];
    pulse(5 * (stop - start));
    for (Int row = start; row < stop; ++row) {
      Int k = first;
      while (k < last && (Int(codes(parts.rule_variables[k], row)) == parts.rule_values[k]) != parts.rule_negated[k]) ++k;
      if (k == last) out[row] += parts.rule_weights[r];
    }
  }
}

}  // namespace cp::features
