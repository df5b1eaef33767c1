// Potentials, rules and trees as flat arrays, and the conditional of one variable that they sum to.
#pragma once
#include "base/numbers.hpp"

namespace cp::features {

// Potential t has the cells from value_offsets[t] on, and the scope and strides scope_offsets[t] … . The
// potentials that touch variable v are potentials[potential_offsets[v]] … , its rules touching[touching_offsets[v]] … .
// The trees of v are tree_offsets[v] … ; tree t has the rows from tree_roots[t] on of `nodes`: a variable, a value,
// the node if the variable has the value, the node otherwise. A leaf has the variable −1, and its states start where
// nodes(k, 2) says in `leaf_values`.
struct Parts {
  Ints cards, potential_offsets, potentials, scope_offsets, scopes, strides, value_offsets;
  Floats values;
  Ints touching_offsets, touching;
  Floats rule_weights;
  Ints rule_offsets, rule_variables, rule_values;
  Flags rule_negated;
  Ints tree_offsets, tree_roots;
  Matrix<const Int> nodes;
  Floats leaf_values;

  static constexpr const char* fields =
      "cards[n] potential_offsets[n+1] potentials[] scope_offsets[t+1] scopes[s] strides[s] value_offsets[t+1] values[] "
      "touching_offsets[n+1] touching[] rule_weights[r] rule_offsets[r+1] rule_variables[c] rule_values[c] rule_negated[c] "
      "tree_offsets[n+1] tree_roots[] nodes[,4] leaf_values[]";

  Int n_potentials() const { return value_offsets.size() - 1; }
  Int max_card() const { return cards.empty() ? 0 : maximum(cards); }
  // How many potentials, rules and trees the conditional of v is a sum of.
  Int terms(Int v) const {
    return (potential_offsets[v + 1] - potential_offsets[v]) + (touching_offsets[v + 1] - touching_offsets[v]) +
           (tree_offsets[v + 1] - tree_offsets[v]);
  }
};

// Add rule r to the states of v that meet it, if the other variables of the row do.
template <class Code>
void add_rule(const Parts& parts, Matrix<const Code> codes, Int row, Int v, Int r, Vector<double> out) {
  const Int first = parts.rule_offsets[r], last = parts.rule_offsets[r + 1];
  Int required = -1;  // the one state of v that meets the rule
  for (Int k = first; k < last; ++k) {
    const Int u = parts.rule_variables[k], value = parts.rule_values[k];
    if (u == v) {
      if (!parts.rule_negated[k]) required = value;
    } else if ((Int(codes(u, row)) == value) == parts.rule_negated[k]) {
      return;
    }
  }
  if (required >= 0) {
    out[required] += parts.rule_weights[r];
    return;
  }
  for (Int s = 0; s < parts.cards[v]; ++s) {
    bool excluded = false;
    for (Int k = first; k < last; ++k) excluded |= parts.rule_variables[k] == v && parts.rule_values[k] == s;
    if (!excluded) out[s] += parts.rule_weights[r];
  }
}

// Write the unnormalized log-conditional of variable v in one row to the start of `out`.
//
// The code of v itself is not read.
template <class Code>
void conditional(const Parts& parts, Matrix<const Code> codes, Int row, Int v, Vector<double> out) {
  const Int card = parts.cards[v];
  for (Int s = 0; s < card; ++s) out[s] = 0.0;
  for (Int e = parts.potential_offsets[v]; e < parts.potential_offsets[v + 1]; ++e) {
    const Int t = parts.potentials[e];
    Int cell = parts.value_offsets[t], step = 0;
    for (Int k = parts.scope_offsets[t]; k < parts.scope_offsets[t + 1]; ++k) {
      const Int u = parts.scopes[k];
      if (u == v) step = parts.strides[k];
      else cell += Int(codes(u, row)) * parts.strides[k];
    }
    for (Int s = 0; s < card; ++s, cell += step) out[s] += parts.values[cell];
  }
  for (Int e = parts.touching_offsets[v]; e < parts.touching_offsets[v + 1]; ++e)
    add_rule(parts, codes, row, v, parts.touching[e], out);
  for (Int e = parts.tree_offsets[v]; e < parts.tree_offsets[v + 1]; ++e) {
    Int node = parts.tree_roots[e];
    while (parts.nodes(node, 0) >= 0) {
      const bool same = Int(codes(parts.nodes(node, 0), row)) == parts.nodes(node, 1);
      node = parts.nodes(node, same ? 2 : 3);
    }
    const Int leaf = parts.nodes(node, 2);
    for (Int s = 0; s < card; ++s) out[s] += parts.leaf_values[leaf + s];
  }
}

}  // namespace cp::features
