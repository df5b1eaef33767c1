// The mutual information of all pairs of columns.
#pragma once
#include "base/pulse.hpp"
#include "independence/margins.hpp"

namespace cp::independence {

// Fill out(i, j) with the mutual information of columns i and j, in nats; `counts` has all states by all,
// those of column i from starts[i] on.
template <class Count>
void pair_information(Matrix<const Count> counts, Ints starts, Matrix<double> out) {
  const Int n = out.shape(0);
  Int largest = 0;
  for (Int i = 0; i < n; ++i) largest = std::max(largest, starts[i + 1] - starts[i]);
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
