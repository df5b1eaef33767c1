// Expected log-potentials when all variables are independent.
#pragma once
#include "base/pulse.hpp"
#include "features/parts.hpp"
#include "inference/scopes.hpp"

namespace cp::inference {

using features::Parts;

// The leaves of trees: leaf l of variable owners[l] has its logs from values[l] on.
//
// The owners are sorted; the conditions of leaf l are those of rule l in `ways`.
struct Leaves {
  Ints owners, values;
  RuleMasks ways;

  static constexpr const char* fields = "owners[l] values[l] ways";
};

// A distribution of independent variables: q[states[v]] … are the probabilities of variable v.
struct Product {
  Ints states;
  Floats q;

  Floats operator[](Int v) const { return q.part(states[v], states[v + 1]); }
};

// The probability that all entries of a rule hold, but for the entry `but`.
inline double probability(const RuleMasks& rules, Int r, Int but, const Product& product) {
  double chance = 1.0;
  for (Int e = rules.offsets[r]; e < rules.offsets[r + 1]; ++e) {
    if (e == but) continue;
    const Floats p = product[rules.variables[e]];
    double share = 0.0;
    for (Int s = 0; s < p.size(); ++s)
      if (rules.allows(e, s)) share += p[s];
    chance *= share;
  }
  return chance;
}

// Call visit(log-value, probability of the other variables' states, state of v) for the cells of potential t; with
// v = −1, all variables are other ones. What has the probability zero does not count, even if it is impossible.
template <class Visit>
void for_each_cell(const Parts& parts, Int t, Int v, const Product& product, Pulse& pulse, Visit visit) {
  const Floats values = parts.values.part(parts.value_offsets[t], parts.value_offsets[t + 1]);
  for (Int cell = 0; cell < values.size(); ++cell) {
    pulse(10);
    double chance = 1.0;
    Int state = 0;
    for (Int k = parts.scope_offsets[t]; k < parts.scope_offsets[t + 1]; ++k) {
      const Int u = parts.scopes[k], s = cell / parts.strides[k] % parts.cards[u];
      if (u == v) state = s;
      else chance *= product[u][s];
    }
    if (chance > 0.0) visit(values[cell], chance, state);
  }
}

// Fill `out` with the expected log-conditional of v under the product.
//
// The rules' entries on v are own[own_offsets[v]] … , its leaves leaf_offsets[v] … .
inline void expect(const Parts& parts, const RuleMasks& rules, const Ragged<const Int>& own, const Leaves& leaves,
                   Ints leaf_offsets, const Product& product, Int v, Pulse& pulse, Vector<double> out) {
  out.fill(0.0);
  const auto add = [&](double value, double chance, Int s) { out[s] += chance * value; };
  for (Int e = parts.potential_offsets[v]; e < parts.potential_offsets[v + 1]; ++e)
    for_each_cell(parts, parts.potentials[e], v, product, pulse, add);
  for (Int e : own[v]) {
    const Int r = rules.rules[e];
    const double chance = probability(rules, r, e, product);
    if (!(chance > 0.0)) continue;
    for (Int s = 0; s < out.size(); ++s)
      if (rules.allows(e, s)) out[s] += chance * rules.weights[r];
  }
  for (Int leaf = leaf_offsets[v]; leaf < leaf_offsets[v + 1]; ++leaf) {
    const double chance = probability(leaves.ways, leaf, -1, product);
    if (!(chance > 0.0)) continue;
    for (Int s = 0; s < out.size(); ++s) out[s] += chance * parts.leaf_values[leaves.values[leaf] + s];
  }
}

// The largest change of a probability when each free variable is set in turn.
//
// −1 − v where no state of variable v is left. `soft` holds the logs of likelihoods.
inline double relax(const Parts& parts, const RuleMasks& rules, Ints own_offsets, Ints own, const Leaves& leaves,
                    Ints leaf_offsets, Ints states, Ints free, Floats soft, Vector<double> q) {
  Array<double, 1> scratch(parts.max_card());
  const Product product{states, q};
  Pulse pulse;
  double largest = 0.0;
  for (Int v : free) {
    const Vector<double> logits = scratch.part(0, parts.cards[v]), p = q.part(states[v], states[v + 1]);
    pulse(100 * (own_offsets[v + 1] - own_offsets[v] + leaf_offsets[v + 1] - leaf_offsets[v]));
    expect(parts, rules, {own, own_offsets}, leaves, leaf_offsets, product, v, pulse, logits);
    for (Int s = 0; s < logits.size(); ++s) logits[s] += soft[states[v] + s];
    if (!log_shares(logits)) return -1.0 - double(v);
    for (Int s = 0; s < logits.size(); ++s) {
      const double before = std::exchange(p[s], std::exp(logits[s]));
      largest = std::max(largest, std::abs(p[s] - before));
    }
  }
  return largest;
}

// The expected sum of all potentials and rules.
inline double expected_energy(const Parts& parts, const RuleMasks& rules, Ints states, Floats q) {
  const Product product{states, q};
  Pulse pulse;
  double total = 0.0;
  for (Int t = 0; t < parts.n_potentials(); ++t)
    for_each_cell(parts, t, -1, product, pulse, [&](double value, double chance, Int) { total += chance * value; });
  for (Int r = 0; r < rules.weights.size(); ++r) {
    const double chance = probability(rules, r, -1, product);
    pulse(100);
    if (chance > 0.0) total += chance * rules.weights[r];
  }
  return total;
}

}  // namespace cp::inference
