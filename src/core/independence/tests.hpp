// Tests of independence of x and y given others, from batches of tables.
//
// Tables come as count batches lay them out: table q has the columns scopes[q], of which the last two are
// x and y, and the cells out_from[q] … out_from[q + 1] − 1 of `values`, none where it is stored sparsely.
// n_slices[q] is the number of configurations of the others that are counted in, 0 for those that occur. All
// logarithms are natural.
#pragma once
#include "base/pulse.hpp"
#include "independence/margins.hpp"

namespace cp::independence {

constexpr double TINY = 1e-280;  // below, a sum of exponentials is taken in log space

// The tables of a batch, slice by slice, and room for the margins of one slice.
template <class Count>
class Slices {
 public:
  Vector<double> rows, columns;  // margins of the present slice of the present table

  Slices(Vector<const Count> values, Ints cards, Ints scopes, Ints scope_from, Ints out_from)
      : cards_(cards), lists_{scopes, scope_from}, tables_{values, out_from} {
    const Int largest = cards.empty() ? 0 : maximum(cards);
    all_rows_ = Array<double, 1>(largest);
    all_columns_ = Array<double, 1>(largest);
  }

  Int size() const { return lists_.size(); }
  void choose_table(Int q) {
    const Ints scope = lists_[q];
    rows = all_rows_.part(0, cards_[scope[scope.size() - 2]]);
    columns = all_columns_.part(0, cards_[scope.back()]);
    table_ = tables_[q];
  }
  template <class Visit>
  void for_each(Visit visit) {
    const Int size = rows.size() * columns.size();
    for (Int start = 0; start < table_.size(); start += size) {
      pulse_(16 * size);
      visit(table_.part(start, start + size));
    }
  }

 private:
  Ints cards_;
  Ragged<const Int> lists_;
  Ragged<const Count> tables_;
  Vector<const Count> table_;
  Array<double, 1> all_rows_, all_columns_;
  Pulse pulse_;
};

// Fill `out` with the number of configurations of the given columns: a float, as it may be astronomic.
inline void count_configurations(Ints cards, Ints scopes, Ints scope_from, Vector<double> out) {
  const Ragged<const Int> lists{scopes, scope_from};
  for (Int q = 0; q < out.size(); ++q) {
    double product = 1.0;
    for (Int column : lists[q].part(0, lists.length(q) - 2)) product = std::min(product * double(cards[column]), 1e300);
    out[q] = product;
  }
}

// Fill rows of `out` with Pearson's χ², or else G², and the degrees of freedom.
//
// Where n_slices[q] = 0, slice k adds (rows_k − 1)(columns_k − 1), and only rows and columns that occur in
// it count.
template <class Count>
void asymptotic(Vector<const Count> values, Ints cards, Ints scopes, Ints scope_from, Ints out_from, Floats n_slices,
                bool with_pearson, Matrix<double> out) {
  Slices<Count> slices(values, cards, scopes, scope_from, out_from);
  for (Int q = 0; q < slices.size(); ++q) {
    slices.choose_table(q);
    const Vector<double> rows = slices.rows, columns = slices.columns;
    double statistic = 0.0, freedom = 0.0;
    slices.for_each([&](Vector<const Count> slice) {
      const double total = fill_margins<Count>(slice, rows, columns);
      const Int free = (occurring(rows) - 1) * (occurring(columns) - 1);
      if (total == 0 || free == 0) return;  // the statistic is 0 here, and must not be 1e-30 by rounding
      freedom += double(free);
      statistic += with_pearson ? pearson<Count>(slice, rows, columns, total) : 2 * information<Count>(slice, rows, columns, total);
    });
    if (n_slices[q] > 0) freedom = n_slices[q] * double(rows.size() - 1) * double(columns.size() - 1);
    out(q, 0) = statistic;
    out(q, 1) = freedom;
  }
}

// ln of the Dirichlet–multinomial probability of a sequence with these counts, each α equal.
template <class Count>
double log_dirichlet(Vector<Count> counts, double alpha, double total) {
  const double all = double(counts.size()) * alpha, at_zero = std::lgamma(alpha);
  double log_prob = std::lgamma(all) - std::lgamma(all + total);
  for (Count count : counts)
    if (count > 0) log_prob += std::lgamma(alpha + double(count)) - at_zero;
  return log_prob;
}

// Fill rows of `out` with ln P(D | CI), ln P(D | not CI) and P(CI | D).
//
// With g_k and h_k the likelihoods of slice k if independent and if not, p = prior^(1/K) and
// e_k = h_k (1 − p) / (g_k p), the posterior is Π 1 / (1 + e_k) = exp(−t), t = Σ ln(1 + e_k), and
// P(D | not CI) = P(D | CI) · prior / (1 − prior) · (exp(t) − 1), K slices in all; one without rows has
// g = h = 1.
template <class Count>
void bayesian(Vector<const Count> values, Ints cards, Ints scopes, Ints scope_from, Ints out_from, Floats n_slices,
              bool consistent, double prior, Matrix<double> out) {
  Slices<Count> slices(values, cards, scopes, scope_from, out_from);
  for (Int q = 0; q < slices.size(); ++q) {
    slices.choose_table(q);
    const Vector<double> rows = slices.rows, columns = slices.columns;
    const double alpha = consistent ? double(columns.size()) : 1.0;
    const double beta = consistent ? double(rows.size()) : 1.0;
    Int observed = 0;
    slices.for_each([&](Vector<const Count> slice) { observed += occurring(slice) > 0; });
    const double k = n_slices[q] > 0 ? n_slices[q] : double(std::max<Int>(observed, 1));
    const double log_p = std::log(prior) / k;
    const double log_odds = log_p - std::log(-std::expm1(log_p));
    double log_g = 0.0;
    double t = (double(observed) - k) * log_p;
    double top = -INF, scaled = 0.0;  // Σ e_k = exp(top) · scaled
    slices.for_each([&](Vector<const Count> slice) {
      const double total = fill_margins<Count>(slice, rows, columns);
      if (total == 0) return;
      const double g = log_dirichlet(rows, alpha, total) + log_dirichlet(columns, beta, total);
      const double log_e = log_dirichlet(slice, 1.0, total) - g - log_odds;
      log_g += g;
      t += std::max(log_e, 0.0) + std::log1p(std::exp(-std::abs(log_e)));
      scaled = scaled * std::exp(std::min(top - log_e, 0.0)) + std::exp(std::min(log_e - top, 0.0));
      top = std::max(top, log_e);
    });
    const double excess = t > 700 ? t : t > TINY ? std::log(std::expm1(t)) : top + std::log(scaled);
    out(q, 0) = log_g;
    out(q, 1) = log_g + std::log(prior) - std::log1p(-prior) + excess;
    out(q, 2) = std::exp(-t);
  }
}

}  // namespace cp::independence
