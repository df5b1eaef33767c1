// Tables of faces, against class 0: w(y, cell) = exp φ(cell, y) / exp φ(cell, 0) for the classes y ≥ 1.
//
// P(y | x) is proportional to the product of w over the faces.
#pragma once
#include <cmath>

#include "base/pulse.hpp"
#include "learn/classifiers/face_store.hpp"

namespace cp::classifiers {

inline Int most_cells(const FaceStore& faces, Int first, Int stop) {
  return first < stop ? *std::max_element(faces.cells.data + first, faces.cells.data + stop) : 0;
}

// Multiply `out`, (planes, cells) of a face, by the tables of its proper subsets that are not in `skip`.
//
// `places` is scratch, one number a cell: where the cell lies in the table of a subset.
inline void multiply_subsets(const FaceStore& faces, Int face, Ints cards, Flags skip, Int planes, Vector<Int> places,
                             Vector<double> out) {
  const Int size = faces.sizes[face], cells = faces.cells[face];
  for (Int j = 0; j < (Int(1) << size) - 2; ++j) {
    const Int part = faces.subsets(face, j);
    if (skip[part]) continue;
    const Int width = faces.cells[part];
    Int step = width, filled = 1;
    places[0] = faces.offsets[part];
    for (Int k = 0; k < size; ++k) {
      const Int card = cards[faces.columns(face, k)];
      const bool inside = (j + 1) >> k & 1;
      if (inside) step /= card;
      for (Int old = filled - 1; old >= 0; --old) {  // from the end, so that it is done in place
        const Int place = places[old];
        for (Int digit = 0; digit < card; ++digit) places[old * card + digit] = inside ? place + digit * step : place;
      }
      filled *= card;
    }
    for (Int y = 0; y < planes; ++y) {
      const Vector<double> plane = out.part(y * cells, (y + 1) * cells);
      for (Int cell = 0; cell < cells; ++cell) plane[cell] *= faces.values[places[cell] + y * width];
    }
  }
}

// Fill the tables and sums of the faces first … stop − 1, whose subsets are filled:
//
//     w_T = [P_T(·, y) / P_T(·, 0)] / [P(y) / P(0)] / Π of w_U over ∅ ≠ U ⊊ T.
//
// `prior` is the weight of each class, with its share of the outliers.
inline void fill_tables(const FaceStore& faces, Int first, Int stop, const GroupedRows& rows, Ints cards, Floats prior,
                        double outliers) {
  const Int classes = prior.size(), planes = classes - 1, n_rows = rows.codes.shape(1);
  const Int room = most_cells(faces, first, stop);
  const Array<bool, 1> skip = zeros<bool>(faces.sizes.size());
  Array<u32, 1> where(n_rows);
  Array<Int, 1> places(room);
  Array<double, 1> scratch(classes * room);
  Pulse pulse;
  for (Int f = first; f < stop; ++f) {
    const Int cells = faces.cells[f];
    const double alpha = outliers / double(classes * cells);
    const Vector<double> table_counts = scratch.part(0, classes * cells);
    table_counts.fill(alpha);
    pulse(n_rows + 2 * rows.pair_rows.size() + (cells * classes << faces.sizes[f]));
    counts::code_rows(rows.codes, faces.columns_of(f), cards, 0, where);
    const auto cell = [&](Int k) { return rows.pair_labels[k] * cells + where[rows.pair_rows[k]]; };
    counts::add_rows(rows.pair_rows.size(), cell, [&](Int k) { return rows.pair_weights[k]; }, table_counts);
    const Vector<double> table = faces.table(f, planes);
    table.fill(1.0);
    multiply_subsets(faces, f, cards, skip, planes, places, table);
    double total = 0.0;
    for (Int y = 0; y < planes; ++y) {
      for (Int cell = 0; cell < cells; ++cell) {
        const Int k = y * cells + cell;
        const double count = table_counts[k + cells];
        table[k] = count / table_counts[cell] * prior[0] / prior[y + 1] / table[k];
        if (count > alpha) total += (count - alpha) * std::log(table[k]);
      }
    }
    faces.sums[f] = total;
  }
}

}  // namespace cp::classifiers
