// One slice of a table with axes (configuration of given, x, y): a matrix of counts, y fastest.
#pragma once
#include "base/numbers.hpp"

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

}  // namespace cp::independence
