// The association of x and y that all configurations of the given columns share (Cochran, Mantel, Haenszel).
#pragma once
#include "independence/tests.hpp"

namespace cp::independence {

constexpr Int MOST_CONTRASTS = 400;    // above, the matrix V would be too large: each slice has its own association
constexpr double LEAST_PIVOT = 1e-9;  // of the diagonal: below, the direction is empty

// The sums over slices of one table: d = Σ (N − E) and its hypergeometric covariance V, last states left out.
class Association {
 public:
  double heterogeneous = 0.0, mean = 0.0;  // Σ χ²_k (n_k − 1) / n_k, and its exact mean under independence

  // `live_rows`, `live_columns`: places of the states that occur anywhere in the table. Of one slice d and V need
  // not be made: Q is its χ² (n − 1) / n.
  Association(const std::vector<Int>& live_rows, const std::vector<Int>& live_columns, Int n_slices)
      : rows_(live_rows), columns_(live_columns), width_(Int(live_columns.size()) - 1) {
    size_ = (Int(rows_.size()) - 1) * width_;
    shared_ = n_slices > 1 && size_ <= MOST_CONTRASTS;
    if (shared_) {
      d_ = Array<double, 1>(size_);
      v_ = Array<double, 2>(size_, size_);
      d_.fill(0.0);
      v_.flat().fill(0.0);
    }
  }

  // Add a slice with these margins; one with fewer than two rows or occurring states adds nothing.
  template <class Count>
  void add(Vector<const Count> slice, Floats rows, Floats columns, double total) {
    const Int free = (occurring(rows) - 1) * (occurring(columns) - 1);
    if (total < 2 || free == 0) return;
    heterogeneous += pearson<Count>(slice, rows, columns, total) * (total - 1) / total;
    mean += double(free);
    if (shared_) add_contrasts<Count>(slice, rows, columns, total);
  }

  // Q = dᵀ V⁻ d and the rank of V, by a Cholesky factor that skips empty directions.
  std::pair<double, double> quadratic() {
    if (!shared_) return {heterogeneous, mean};
    double statistic = 0.0, rank = 0.0;
    for (Int u = 0; u < size_; ++u) {  // row u of V becomes row u of the factor, and d the solution
      const double before = v_(u, u);
      for (Int w = 0; w < u; ++w) {
        for (Int k = 0; k < w; ++k) v_(u, w) -= v_(u, k) * v_(w, k);
        v_(u, w) = v_(w, w) > 0 ? v_(u, w) / v_(w, w) : 0.0;
        v_(u, u) -= v_(u, w) * v_(u, w);
        d_[u] -= v_(u, w) * d_[w];
      }
      const bool empty = before < LEAST_PIVOT || v_(u, u) < LEAST_PIVOT * before;
      v_(u, u) = empty ? 0.0 : std::sqrt(v_(u, u));
      d_[u] = empty ? 0.0 : d_[u] / v_(u, u);
      statistic += d_[u] * d_[u];
      rank += double(!empty);
    }
    return {statistic, rank};
  }

 private:
  template <class Count>
  void add_contrasts(Vector<const Count> slice, Floats rows, Floats columns, double total) {
    const Int last_row = Int(rows_.size()) - 1;
    const double scale = 1.0 / (total * total * (total - 1));
    for (Int a = 0; a < last_row; ++a) {
      const double r = rows[rows_[a]];
      if (r == 0) continue;
      for (Int b = 0; b < width_; ++b) {
        const double c = columns[columns_[b]];
        if (c == 0) continue;
        const Int u = a * width_ + b;
        d_[u] += double(slice[rows_[a] * columns.size() + columns_[b]]) - r * c / total;
        for (Int a2 = 0; a2 <= a; ++a2) {  // the lower triangle
          const double across = r * ((a == a2 ? total : 0.0) - rows[rows_[a2]]);
          if (across == 0) continue;
          for (Int b2 = 0; b2 < (a2 < a ? width_ : b + 1); ++b2)
            v_(u, a2 * width_ + b2) += across * c * ((b == b2 ? total : 0.0) - columns[columns_[b2]]) * scale;
        }
      }
    }
  }

  const std::vector<Int>&rows_, &columns_;
  Int width_, size_;
  bool shared_;
  Array<double, 1> d_;
  Array<double, 2> v_;
};

// Fill rows of `out` with Q, its degrees of freedom, the heterogeneous statistic, its mean, and the rows of the table.
template <class Count>
void stratified(Vector<const Count> values, Ints cards, Ints scopes, Ints scope_from, Ints out_from, Matrix<double> out) {
  Slices<Count> slices(values, cards, scopes, scope_from, out_from);
  std::vector<double> all_rows, all_columns;
  std::vector<Int> live_rows, live_columns;
  for (Int q = 0; q < slices.size(); ++q) {
    slices.choose_table(q);
    const Vector<double> rows = slices.rows, columns = slices.columns;
    all_rows.assign(rows.size(), 0.0);
    all_columns.assign(columns.size(), 0.0);
    double total = 0.0;
    Int n_slices = 0;
    slices.for_each([&](Vector<const Count> slice) {
      const double n = fill_margins<Count>(slice, rows, columns);
      total += n;
      n_slices += n > 0;
      for (Int i = 0; i < rows.size(); ++i) all_rows[i] += rows[i];
      for (Int j = 0; j < columns.size(); ++j) all_columns[j] += columns[j];
    });
    live_rows.clear();
    live_columns.clear();
    for (Int i = 0; i < rows.size(); ++i)
      if (all_rows[i] > 0) live_rows.push_back(i);
    for (Int j = 0; j < columns.size(); ++j)
      if (all_columns[j] > 0) live_columns.push_back(j);
    out[q].fill(0.0);
    out(q, 4) = total;
    if (live_rows.size() < 2 || live_columns.size() < 2) continue;
    Association association(live_rows, live_columns, n_slices);
    slices.for_each([&](Vector<const Count> slice) {
      const double n = fill_margins<Count>(slice, rows, columns);
      association.add<Count>(slice, rows, columns, n);
    });
    std::tie(out(q, 0), out(q, 1)) = association.quadratic();
    out(q, 2) = association.heterogeneous;
    out(q, 3) = association.mean;
  }
}

}  // namespace cp::independence
