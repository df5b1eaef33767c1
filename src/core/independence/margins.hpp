// One slice of a table with axes (configuration of given, x, y): a matrix of counts, y fastest.
#pragma once
#include "base/numbers.hpp"
#include "base/pulse.hpp"

namespace cp::independence {

// Fill the margins of one slice and return its total.
template <class Count>
double fill_margins(Vector<const Count> slice, Vector<double> rows, Vector<double> columns) {
  rows.fill(0.0);
  columns.fill(0.0);
  double total = 0.0;
  for (Int i = 0; i < rows.size(); ++i) {
    for (Int j = 0; j < columns.size(); ++j) {
      const double cell = double(slice[i * columns.size() + j]);
      rows[i] += cell;
      columns[j] += cell;
    }
    total += rows[i];
  }
  return total;
}

// The number of positive counts.
template <class Count>
Int occurring(Vector<Count> counts) {
  return std::count_if(counts.begin(), counts.end(), [](Count count) { return count > 0; });
}

// Σ (N − E)² / E of one slice, over cells with E > 0.
template <class Count>
double pearson(Vector<const Count> slice, Floats rows, Floats columns, double total) {
  double statistic = 0.0;
  for (Int i = 0; i < rows.size(); ++i) {
    for (Int j = 0; j < columns.size(); ++j) {
      const double expected = rows[i] * (columns[j] / total);
      if (expected > 0) {
        const double gap = double(slice[i * columns.size() + j]) - expected;
        statistic += gap / expected * gap;
      }
    }
  }
  return statistic;
}

// Σ N ln(N N_.. / (N_i. N_.j)) of one slice: its total times its mutual information, in nats.
template <class Count>
double information(Vector<const Count> slice, Floats rows, Floats columns, double total) {
  double sum = 0.0;
  for (Int i = 0; i < rows.size(); ++i) {
    for (Int j = 0; j < columns.size(); ++j) {
      const double cell = double(slice[i * columns.size() + j]);
      if (cell > 0) sum += cell * std::log(cell / rows[i] * (total / columns[j]));
    }
  }
  return std::max(sum, 0.0);
}

// ---- The mutual information of all pairs of columns

// Fill out(i, j) with the mutual information of columns i and j, in nats; `counts` has all states by all,
// those of column i from starts[i] on.
template <class Count>
void pair_information(Matrix<const Count> counts, Ints starts, Matrix<double> out) {
  const Int n = out.shape(0);
  const Int largest = longest_list(starts);
  Array<double, 1> all_rows(largest), all_columns(largest), cells(largest * largest);
  Pulse pulse;
  for (Int i = 0; i < n; ++i) {
    const Vector<double> rows = all_rows.part(0, starts[i + 1] - starts[i]);
    for (Int j = i; j < n; ++j) {
      const Vector<double> columns = all_columns.part(0, starts[j + 1] - starts[j]);
      const Vector<double> table = cells.part(0, rows.size() * columns.size());
      pulse(16 * table.size());
      for (Int a = 0; a < rows.size(); ++a)
        for (Int b = 0; b < columns.size(); ++b) table[a * columns.size() + b] = double(counts(starts[i] + a, starts[j] + b));
      const double total = fill_margins<double>(table, rows, columns);
      out(i, j) = out(j, i) = total > 0 ? information<double>(table, rows, columns, total) / total : 0.0;
    }
  }
}

}  // namespace cp::independence
