// Rows with labels, and their cells in the tables of faces.
#pragma once
#include <tuple>

#include "levels/loops.hpp"

namespace cp::classifiers {

using Codes = Matrix<const u16>;
using Cells = Vector<u32>;

// Distinct rows.
struct LabeledRows {
  Codes codes;  // (columns, rows)
  Ints labels;
  Floats weights;

  static constexpr const char* fields = "codes[n,m] labels[m] weights[m]";
  auto members() { return std::tie(codes, labels, weights); }
};

// Fill `out` with the cells of rows from `from` on, in mixed radix; a column of −1 is none.
inline void fill_cells(Codes codes, Ints columns, Ints cards, Int from, Cells out) {
  out.fill(0);
  for (Int j = 0; j < columns.size(); ++j)
    if (columns[j] >= 0) append_codes(out, codes[columns[j]].part(from, from + out.size()), u32(cards[j]));
}

// Fill `out` with each row's (cell of `columns`) · C + own class.
inline void fill_places(const LabeledRows& rows, Ints columns, Ints cards, Int n_classes, Int from, Cells out) {
  fill_cells(rows.codes, columns, cards, from, out);
  const Ints labels = rows.labels.part(from, from + out.size());
  for (Int i = 0; i < out.size(); ++i) out[i] = u32(out[i] * n_classes + labels[i]);
}

}  // namespace cp::classifiers
