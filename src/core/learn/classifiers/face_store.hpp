// What a search for faces reads and fills: distinct rows, and the faces known with their tables.
#pragma once
#include "counts/cells.hpp"

namespace cp::classifiers {

using Codes = Matrix<const u16>;
using Cells = Vector<u32>;

constexpr Int BLOCK = 512;  // rows at a time

// Distinct rows x, those of equal weight side by side: run r holds the rows starts[r] … starts[r + 1] − 1.
struct GroupedRows {
  Codes codes;          // (columns, rows)
  Ints starts;          // where each run begins
  Floats run_weights;   // the weight of each row of a run
  Ints pair_rows;       // the pairs (x, class) that occur: their row,
  Ints pair_labels;     // class
  Floats pair_weights;  // and weight

  static constexpr const char* fields =
      "codes[n,m] starts[runs+1] run_weights[runs] pair_rows[pairs] pair_labels[pairs] pair_weights[pairs]";
};

// All faces known, each a set of columns, and their tables end to end.
struct FaceStore {
  Matrix<const Int> columns;  // (faces, most columns), −1 behind the last
  Ints sizes;                 // columns of each face
  Ints cells;                 // joint states of these
  Matrix<const Int> subsets;  // [f, j]: the face of the columns of f that the bits of j + 1 name, −1 behind f itself
  Ints offsets;               // where the table of each face, (classes − 1, cells), begins
  Vector<double> values;      // the tables w
  Vector<double> sums;        // Σ n ln w of each face

  static constexpr const char* fields = "columns[f,] sizes[f] cells[f] subsets[f,] offsets[f] values[] sums[f]";

  Ints columns_of(Int face) const { return columns[face].part(0, sizes[face]); }
  Vector<double> table(Int face, Int planes) const {
    return values.part(offsets[face], offsets[face] + planes * cells[face]);
  }
};

// ---- Rows with labels, and their cells in the tables of faces

// Distinct rows.
struct LabeledRows {
  Codes codes;  // (columns, rows)
  Ints labels;
  Floats weights;

  static constexpr const char* fields = "codes[n,m] labels[m] weights[m]";
};

// Fill `out` with the cells of rows from `from` on; columns[k] has cards[k] states, and −1 stands behind the last one.
inline void fill_cells(Codes codes, Ints columns, Ints cards, Int from, Cells out) {
  const Int size = std::find(columns.begin(), columns.end(), -1) - columns.begin();
  counts::code_rows(codes, columns.part(0, size), [&](Int k) { return cards[k]; }, from, out);
}

// Fill `out` with each row's (cell of `columns`) · C + own class.
inline void fill_places(const LabeledRows& rows, Ints columns, Ints cards, Int n_classes, Int from, Cells out) {
  fill_cells(rows.codes, columns, cards, from, out);
  const Ints labels = rows.labels.part(from, from + out.size());
  for (Int i = 0; i < out.size(); ++i) out[i] = u32(out[i] * n_classes + labels[i]);
}

}  // namespace cp::classifiers
