// What a search for faces reads and fills: distinct rows, and the faces known with their tables.
#pragma once
#include <tuple>

#include "levels/loops.hpp"

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
  auto members() { return std::tie(codes, starts, run_weights, pair_rows, pair_labels, pair_weights); }
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
  auto members() { return std::tie(columns, sizes, cells, subsets, offsets, values, sums); }

  Ints columns_of(Int face) const { return columns[face].part(0, sizes[face]); }
  Vector<double> table(Int face, Int planes) const {
    return values.part(offsets[face], offsets[face] + planes * cells[face]);
  }
};

// Fill `out` with the cell of rows from `start` on in the table over the columns, the last one fastest.
inline void locate(Codes codes, Ints columns, Ints cards, Int start, Cells out) {
  const Int stop = start + out.size();
  const Vector<const u16> first = codes[columns[0]].part(start, stop);
  std::copy(first.begin(), first.end(), out.begin());
  for (Int column : columns.part(1, columns.size()))
    append_codes(out, codes[column].part(start, stop), u32(cards[column]));
}

}  // namespace cp::classifiers
