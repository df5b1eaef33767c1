// The likelihood with one face more, and the class probabilities of the faces chosen.
//
// Adding faces of joint table q(y, cell) turns P into P q / f with f = P(0 | x) + Σ_y P(y | x) q(y, cell): the labels
// enter only by Σ n(cell, y) ln q, one number a face, and each distinct x costs one f.
#pragma once
#include "learn/classifiers/face_tables.hpp"

namespace cp::classifiers {

// ln of the product of at most BLOCK positive values.
//
// The exponents are added as whole numbers and the mantissas, 1 to 2, multiplied: nothing overflows, and a block takes
// one logarithm.
inline double log_product(Floats values) {
  Int exponent = 0;
  const double product = loops->mantissa_product(values.data, values.size(), &exponent);
  return std::log(product) + double(exponent) * std::log(2.0);
}

// Σ over rows of weight × ln f, where `table` is q over the cells of `face`. `where` and `work` are scratch.
inline double weigh(const FaceStore& faces, Int face, const GroupedRows& rows, Ints cards, Matrix<const double> proba,
                    Floats table, Cells where, Vector<double> work) {
  const Int cells = faces.cells[face];
  double total = 0.0;
  for (Int run = 0; run < rows.run_weights.size(); ++run) {
    double subtotal = 0.0;
    for (Int start = rows.starts[run]; start < rows.starts[run + 1]; start += BLOCK) {
      const Int size = std::min(BLOCK, rows.starts[run + 1] - start);
      const Cells cell = where.part(0, size);
      const Vector<double> f = work.part(0, size);
      counts::code_rows(rows.codes, faces.columns_of(face), cards, start, cell);
      f.copy_from(proba[0].part(start, start + size));
      for (Int y = 1; y < proba.shape(0); ++y) {
        const Floats p = proba[y].part(start, start + size), plane = table.part((y - 1) * cells, y * cells);
        for (Int k = 0; k < size; ++k) f[k] += p[k] * plane[cell[k]];
      }
      subtotal += log_product(f);
    }
    total += rows.run_weights[run] * subtotal;
  }
  return total;
}

// Fill `out` with how much each candidate, with its subsets, adds to the log-likelihood.
//
// `proba` is P(y | x), (classes, rows), under the faces that are `present`.
inline void gains(const FaceStore& faces, Ints candidates, const GroupedRows& rows, Ints cards,
                  Matrix<const double> proba, Flags present, Vector<double> out) {
  const Int planes = proba.shape(0) - 1;
  Int room = 0;
  for (Int face : candidates) room = std::max(room, faces.cells[face]);
  Array<double, 1> scratch(room * planes), work(BLOCK);
  Array<Int, 1> places(room);
  Array<u32, 1> where(BLOCK);
  Pulse pulse;
  for (Int a = 0; a < candidates.size(); ++a) {
    const Int face = candidates[a];
    Int absent = 0;
    double total = 0.0;
    for (Int part : faces.subsets[face].part(0, (Int(1) << faces.sizes[face]) - 1)) {
      if (present[part]) continue;
      ++absent;
      total += faces.sums[part];
    }
    Vector<double> table = faces.table(face, planes);
    if (absent > 1) {
      const Vector<double> product = scratch.part(0, table.size());
      product.copy_from(table);
      multiply_subsets(faces, face, cards, present, planes, places, product);
      table = product;
    }
    pulse(rows.codes.shape(1) * planes + (table.size() << faces.sizes[face]));
    out[a] = total - weigh(faces, face, rows, cards, proba, table, where, work);
  }
}

// Add ln w of one face to `log_odds`, (classes, rows) against class 0.
inline void add_face(const FaceStore& faces, Int face, const GroupedRows& rows, Ints cards, Matrix<double> log_odds) {
  const Int cells = faces.cells[face], classes = log_odds.shape(0);
  const Vector<double> table = faces.table(face, classes - 1);
  Array<u32, 1> where(rows.codes.shape(1));
  Array<double, 1> plane(cells);
  counts::code_rows(rows.codes, faces.columns_of(face), cards, 0, where);
  for (Int y = 1; y < classes; ++y) {
    for (Int cell = 0; cell < cells; ++cell) plane[cell] = std::log(table[(y - 1) * cells + cell]);
    const Vector<double> sums = log_odds[y];
    for (Int row = 0; row < where.size(); ++row) sums[row] += plane[where[row]];
  }
}

// Fill `out` with P(y | x) and return the log-likelihood of the labels.
inline double normalize(Matrix<const double> log_odds, const GroupedRows& rows, Matrix<double> out) {
  const Int classes = log_odds.shape(0), n = log_odds.shape(1);
  Array<double, 1> log_total(n);
  for (Int row = 0; row < n; ++row) {
    double largest = 0.0, total = 0.0;
    for (Int y = 0; y < classes; ++y) largest = std::max(largest, log_odds(y, row));
    for (Int y = 0; y < classes; ++y) {
      out(y, row) = std::exp(log_odds(y, row) - largest);
      total += out(y, row);
    }
    for (Int y = 0; y < classes; ++y) out(y, row) /= total;
    log_total[row] = largest + std::log(total);
  }
  double likelihood = 0.0;
  for (Int k = 0; k < rows.pair_rows.size(); ++k) {
    const Int row = rows.pair_rows[k];
    likelihood += rows.pair_weights[k] * (log_odds(rows.pair_labels[k], row) - log_total[row]);
  }
  return likelihood;
}

}  // namespace cp::classifiers
