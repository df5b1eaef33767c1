// Family scores of counted tables.
//
// A table has the axes (configuration of the parents P, child, one more parent y), the last of card 1
// where there is no y, so that one function scores a family and each of its extensions. All natural
// logarithms. A score is named by `kind` and one number `a`:
//
//     LIKELIHOOD   Σ N_jk ln(N_jk / N_j) − a q (r − 1)          q configurations of all parents
//     AVERAGE      (1 / N) Σ N_jk ln(N_jk / N_j) − a q (r − 1)  −∞ for an empty table
//     EQUIVALENT   Dirichlet marginal likelihood, α_jk = a / (r q)
//     CONSTANT     Dirichlet marginal likelihood, α_jk = a
#pragma once
#include "base/numbers.hpp"
#include "base/pulse.hpp"

namespace cp::scores {

// A score is named by its kind and one number a; see tables.hpp.
constexpr Int LIKELIHOOD = 0, EQUIVALENT = 1, CONSTANT = 2, AVERAGE = 3;

// c ln c, from `logs` where it reaches; 0 for an empty cell.
template <class Count>
double clogc(Count count, Floats logs) {
  const Int whole = Int(count);
  if (Count(whole) == count && whole < logs.size()) return logs[whole];
  return double(count) * std::log(double(count));
}

// ---- Family scores of counted tables
//
// A table has the axes (configuration of the parents P, child, one more parent y), the last of card 1
// where there is no y, so that one function scores a family and each of its extensions. All natural
// logarithms. A score is named by `kind` and one number `a`:
//
//     LIKELIHOOD   Σ N_jk ln(N_jk / N_j) − a q (r − 1)          q configurations of all parents
//     AVERAGE      (1 / N) Σ N_jk ln(N_jk / N_j) − a q (r − 1)  −∞ for an empty table
//     EQUIVALENT   Dirichlet marginal likelihood, α_jk = a / (r q)
//     CONSTANT     Dirichlet marginal likelihood, α_jk = a

// Fill out[c] with c ln c.
inline void fill_clogc(Vector<double> out) {
  out[0] = 0.0;
  for (Int c = 1; c < out.size(); ++c) out[c] = double(c) * std::log(double(c));
}

// Σ N_jk ln(N_jk / N_j) over a table with axes (q, r, s); cell_at(p, x, y) is a count.
template <class Count, class CellAt>
double log_likelihood(Int q, Int r, Int s, Floats logs, CellAt cell_at) {
  double total = 0.0;
  for (Int p = 0; p < q; ++p) {
    for (Int y = 0; y < s; ++y) {
      Count row = 0;
      for (Int x = 0; x < r; ++x) {
        const Count cell = cell_at(p, x, y);
        row += cell;
        total += clogc(cell, logs);
      }
      total -= clogc(row, logs);
    }
  }
  return total;
}

// ln Γ(offset + c); small whole counts are computed once for as long as the offset stays the same.
class LogGammas {
 public:
  explicit LogGammas(Int size) : entries_(size) { entries_.fill({0.0, 0}); }

  void set_offset(double offset) {
    if (offset != offset_) ++generation_;
    offset_ = offset;
  }
  double operator()(double count) {
    const Int whole = Int(count);
    if (double(whole) != count || whole >= entries_.size()) return std::lgamma(offset_ + count);
    Entry& entry = entries_[whole];
    if (entry.generation != generation_) entry = {std::lgamma(offset_ + count), generation_};
    return entry.value;
  }

 private:
  struct Entry {
    double value;
    Int generation;
  };
  Array<Entry, 1> entries_;
  double offset_ = 0.0;
  Int generation_ = 1;
};

// The scores of tables, one after the other: tables of one shape share their terms.
class TableScorer {
 public:
  TableScorer(Int kind, double a, Floats logs, bool many = true)
      : kind_(kind),
        a_(a),
        logs_(logs),
        of_cells_(many && is_dirichlet() ? SMALL : 0),
        of_rows_(many && is_dirichlet() ? SMALL : 0) {}

  // The score of a table with axes (q, r, s), the child in the middle.
  template <class Count>
  double operator()(Vector<const Count> table, Int q, Int r, Int s) {
    return (*this)(table, q, r, s, double(q));
  }
  // The same where the table leaves out configurations without rows; in all there are `every`.
  template <class Count>
  double operator()(Vector<const Count> table, Int q, Int r, Int s, double every) {
    if (is_dirichlet()) return log_dirichlet(table, q, r, s, kind_ == EQUIVALENT ? a_ / (double(r * s) * every) : a_);
    double total = log_likelihood<Count>(q, r, s, logs_, [=](Int p, Int x, Int y) { return table[(p * r + x) * s + y]; });
    if (kind_ == AVERAGE) {
      double rows = 0.0;
      for (Count cell : table.part(0, q * r * s)) rows += double(cell);
      total = rows > 0 ? total / rows : -INF;
    }
    return total - a_ * every * double(s) * double(r - 1);
  }

 private:
  static constexpr Int SMALL = 1024;  // counts below it take ln Γ from a table
  Int kind_;
  double a_;
  Floats logs_;
  LogGammas of_cells_, of_rows_;

  bool is_dirichlet() const { return kind_ == EQUIVALENT || kind_ == CONSTANT; }

  // ln of the Dirichlet marginal likelihood, every α equal.
  template <class Count>
  double log_dirichlet(Vector<const Count> table, Int q, Int r, Int s, double alpha) {
    of_cells_.set_offset(alpha);
    of_rows_.set_offset(alpha * double(r));
    const double at_zero = of_cells_(0.0), row_at_zero = of_rows_(0.0);
    double total = 0.0;
    for (Int p = 0; p < q; ++p) {
      for (Int y = 0; y < s; ++y) {
        Count row = 0;
        for (Int x = 0; x < r; ++x) {
          const Count cell = table[(p * r + x) * s + y];
          if (cell > 0) {
            row += cell;
            total += of_cells_(double(cell)) - at_zero;
          }
        }
        if (row > 0) total += row_at_zero - of_rows_(double(row));
      }
    }
    return total;
  }
};

// The score of a table with axes (q, r, s), the child in the middle.
inline double score_table(Floats table, Int q, Int r, Int s, Int kind, double a, Floats logs) {
  return TableScorer(kind, a, logs, false)(table, q, r, s);
}

// Fill `out` with the scores of many tables, each with its child, of cards[i] states, last.
template <class Count>
void score_tables(Vector<const Count> values, Ints out_from, Ints cards, Int kind, double a, Floats logs,
                  Vector<double> out) {
  const Ragged<const Count> tables{values, out_from};
  TableScorer score(kind, a, logs);
  Pulse pulse;
  for (Int i = 0; i < out.size(); ++i) {
    const Vector<const Count> table = tables[i];
    out[i] = score(table, table.size() / cards[i], cards[i], 1);
    pulse(16 * table.size());
  }
}

// Fill out(i, j) with the score of left column i given right column j; `counts` has all states of the
// left columns by all states of the right ones.
template <class Count>
void score_pairs(Matrix<const Count> counts, Ints left_from, Ints right_from, Int kind, double a, Floats logs,
                 Matrix<double> out) {
  Array<Count, 1> table(longest_list(left_from) * longest_list(right_from));
  TableScorer score(kind, a, logs);
  Pulse pulse;
  for (Int i = 0; i < out.shape(0); ++i) {
    const Int left = left_from[i], r = left_from[i + 1] - left;
    for (Int j = 0; j < out.shape(1); ++j) {
      const Int right = right_from[j], s = right_from[j + 1] - right;
      pulse(16 * r * s);
      if (kind == LIKELIHOOD) {
        const double total = log_likelihood<Count>(1, r, s, logs, [=](Int, Int x, Int y) { return counts(left + x, right + y); });
        out(i, j) = total - a * double(s) * double(r - 1);
        continue;
      }
      for (Int x = 0; x < r; ++x)
        for (Int y = 0; y < s; ++y) table[x * s + y] = counts(left + x, right + y);
      out(i, j) = score(Vector<const Count>(table), 1, r, s);
    }
  }
}

}  // namespace cp::scores
