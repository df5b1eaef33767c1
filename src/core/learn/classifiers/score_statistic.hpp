// The score statistic of faces that a fitted model lacks.
#pragma once
#include "base/pulse.hpp"
#include "learn/classifiers/face_store.hpp"

namespace cp::classifiers {

constexpr Int SCORE_ROWS = 1024;  // rows at a time

// Fill out[t] with what a ridge of strength 1 on face t would gain, less what chance would.
//
// With g and h the sums of residuals and variances in a cell, by class, the gain is ½ Σ g²/(h + 1) and chance
// Σ h/(h + 1), scaled by free[t] / (cells · classes) where that is below 1. `residuals` and `variances` are
// (classes, rows), weights included; of two classes one is enough.
inline void score_faces(Codes codes, Matrix<const double> residuals, Matrix<const double> variances,
                        Matrix<const Int> columns, Matrix<const Int> cards, Floats free, Int n_classes,
                        Vector<double> out) {
  const Int n_given = residuals.shape(0), n = residuals.shape(1);
  const double alike = double(n_classes) / double(n_given);  // classes for which one row of residuals stands
  const auto cells_of = [&](Int t) {
    Int product = 1;
    for (Int j = 0; j < columns.shape(1); ++j)
      if (columns(t, j) >= 0) product *= cards(t, j);
    return product;
  };
  Int room = 0;
  for (Int t = 0; t < out.size(); ++t) room = std::max(room, cells_of(t));
  Array<double, 2> all_sums(room, 2 * n_given);
  Array<u32, 1> all_cells(SCORE_ROWS);
  Pulse pulse;
  for (Int t = 0; t < out.size(); ++t) {
    const Matrix<double> sums = all_sums.part(0, cells_of(t));
    sums.fill(0.0);
    pulse(sums.size());
    for (Int from = 0; from < n; from += SCORE_ROWS) {
      const Int to = std::min(from + SCORE_ROWS, n);
      const Cells cells = all_cells.part(0, to - from);
      fill_cells(codes, columns[t], cards[t], from, cells);
      pulse(n_given * cells.size() * 2);
      for (Int c = 0; c < n_given; ++c) {
        const Floats r = residuals[c].part(from, to), v = variances[c].part(from, to);
        const Int width = 2 * n_given, first = 2 * c;
        counts::add_rows(cells.size(), [=](Int i) { return cells[i] * width + first; }, [=](Int i) { return r[i]; }, sums.flat());
        counts::add_rows(cells.size(), [=](Int i) { return cells[i] * width + first + 1; }, [=](Int i) { return v[i]; }, sums.flat());
      }
    }
    double gain = 0.0, chance = 0.0;
    Int n_cells = 0;
    for (Int cell = 0; cell < sums.shape(0); ++cell) {
      if (!(sums(cell, 1) > 0)) continue;  // a variance is positive wherever there is a row
      ++n_cells;
      for (Int c = 0; c < n_given; ++c) {
        const double g = sums(cell, 2 * c), h = sums(cell, 2 * c + 1);
        gain += 0.5 * g * g / (h + 1.0);
        chance += h / (h + 1.0);
      }
    }
    out[t] = alike * (gain - chance * std::min(1.0, free[t] / double(n_cells * n_classes)));
  }
}

}  // namespace cp::classifiers
