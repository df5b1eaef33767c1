// Scores of families, likelihoods of a variable given its blanket, and conditional tables.
#pragma once
#include "learn/hybrid/rows.hpp"

namespace cp::hybrid {

// The score of a family: log-likelihood by (c + α) / (c_pa + α r) less `penalty` a parameter.
//
// α is prior / (r q) of r states and q parent configurations, in the tables, and score_prior / (r q) in
// the score, which is 0 for the maximum likelihood.
struct Terms {
  double prior, score_prior, penalty, tolerance;

  static constexpr const char* fields = "prior score_prior penalty tolerance";
  auto members() { return std::tie(prior, score_prior, penalty, tolerance); }
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
    const double top = maximum(logits);
    double mass = 0.0;
    for (double logit : logits) mass += std::exp(logit - top);
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
