// Class probabilities of rows under an average of structures that share their faces.
#pragma once
#include <functional>

#include "base/numbers.hpp"
#include "base/pulse.hpp"
#include "learn/classifiers/face_store.hpp"

namespace cp::classifiers {

// Faces in the order in which the search added them, and the structures that the search visited.
//
// A face has two tables of (classes, cells): `values`, φ, and `factors`, exp φ over its largest in the cell. A column
// has one code more than states, the last, for what is not known; cells with it are neutral, 0 and 1.
struct FaceLayers {
  Ints cards;                 // the states of each column and one
  Matrix<const Int> columns;  // (faces, most columns)
  Ints sizes;                 // columns of each face
  Ints offsets;               // where the tables of each face begin
  Floats values;
  Floats factors;
  Ints added;          // layer t adds the faces added[t − 1] … added[t] − 1; layer 0 is empty
  Ints steps;          // structure s has the first steps[s] layers, which rise,
  Ints extra_offsets;  // and the faces extras[extra_offsets[s] … extra_offsets[s + 1] − 1]
  Ints extras;
  Floats weights;  // of the structures

  static constexpr const char* fields =
      "cards[n] columns[f,] sizes[f] offsets[f+1] values[v] factors[v] added[] steps[s] extra_offsets[s+1] extras[] "
      "weights[s]";
};

constexpr double TINY = 1e-250;  // an average below this may have lost its digits, or all of itself

// Fill `out`, (classes, BLOCK), for the rows from … to − 1 with operation(value, entry): `values` are laid out alike, and
// the entry is that of the row's cell in a face's part of `tables`. `out` may be `values`.
template <class Operation>
void apply_face(const FaceLayers& layers, Floats tables, Int face, Codes codes, Int from, Int to, Cells where,
                Matrix<const double> values, Matrix<double> out, Operation operation) {
  const Cells cell = where.part(0, to - from);
  counts::code_rows(codes, layers.columns[face].part(0, layers.sizes[face]), layers.cards, from, cell);
  const Floats table = tables.part(layers.offsets[face], layers.offsets[face + 1]);
  const Int cells = table.size() / out.shape(0);
  for (Int y = 0; y < out.shape(0); ++y) {
    const Floats plane = table.part(y * cells, (y + 1) * cells), row = values[y];
    const Vector<double> out_row = out[y];
    for (Int k = 0; k < cell.size(); ++k) out_row[k] = operation(row[k], plane[cell[k]]);
  }
}

// Add φ of a face to `joint`.
inline void add_values(const FaceLayers& layers, Int face, Codes codes, Int from, Int to, Cells where,
                       Matrix<double> joint) {
  apply_face(layers, layers.values, face, codes, from, to, where, joint, joint, std::plus<double>());
}

// Fill `out` with ln Σ_s weight_s P_s(class | row) of one row, in logs throughout.
inline void log_average(const FaceLayers& layers, Floats prior, Codes codes, Int row, Vector<double> out) {
  const Int classes = prior.size();
  Array<u32, 1> where(1);
  Array<double, 2> joint(classes, 1), own(classes, 1);
  joint.flat().copy_from(prior);
  out.fill(-INF);
  Int s = 0;
  for (Int layer = 0; layer < layers.added.size(); ++layer) {
    for (Int face = layers.added[std::max<Int>(layer - 1, 0)]; face < layers.added[layer]; ++face)
      add_values(layers, face, codes, row, row + 1, where, joint);
    for (; s < layers.steps.size() && layers.steps[s] == layer; ++s) {
      own.copy_from(joint);
      for (Int face : layers.extras.part(layers.extra_offsets[s], layers.extra_offsets[s + 1]))
        add_values(layers, face, codes, row, row + 1, where, own);
      const auto [largest, total] = exp_sum(own.flat());
      const double shift = std::log(layers.weights[s] / total) - largest;
      for (Int y = 0; y < classes; ++y) {
        const double value = own(y, 0) + shift, a = std::max(out[y], value), b = std::min(out[y], value);
        out[y] = a + std::log1p(std::exp(b - a));
      }
    }
  }
}

// Fill `out`, (rows, classes), with ln Σ_s weight_s P_s(class | row).
//
// The average is taken of plain numbers, and once more in logs for a row where some came out below TINY.
inline void average(const FaceLayers& layers, Floats prior, Codes codes, Matrix<double> out) {
  const Int classes = prior.size(), n_rows = out.shape(0), n_structures = layers.steps.size();
  const double log_tiny = std::log(TINY);
  Array<u32, 1> where(BLOCK);
  Array<double, 1> totals(BLOCK);
  Array<double, 2> joint(classes, BLOCK), proba(classes, BLOCK), own(classes, BLOCK), mean(classes, BLOCK);
  Pulse pulse;
  for (Int from = 0; from < n_rows; from += BLOCK) {
    const Int to = std::min(from + BLOCK, n_rows), width = to - from;
    for (Int y = 0; y < classes; ++y) joint[y].part(0, width).fill(prior[y]);
    mean.fill(0.0);
    Int s = 0;
    for (Int layer = 0; layer < layers.added.size(); ++layer) {
      for (Int face = layers.added[std::max<Int>(layer - 1, 0)]; face < layers.added[layer]; ++face)
        add_values(layers, face, codes, from, to, where, joint);
      if (s == n_structures || layers.steps[s] != layer) continue;
      for (Int k = 0; k < width; ++k) {
        double largest = joint(0, k);
        for (Int y = 1; y < classes; ++y) largest = std::max(largest, joint(y, k));
        for (Int y = 0; y < classes; ++y) proba(y, k) = std::exp(joint(y, k) - largest);
      }
      for (; s < n_structures && layers.steps[s] == layer; ++s) {
        Matrix<const double> product = proba;
        for (Int face : layers.extras.part(layers.extra_offsets[s], layers.extra_offsets[s + 1])) {
          apply_face(layers, layers.factors, face, codes, from, to, where, product, own, std::multiplies<double>());
          product = own;
        }
        loops->add_shares(mean.data, product.data, classes, BLOCK, layers.weights[s], totals.data, width);
        pulse(width * classes * 4);
      }
    }
    for (Int k = 0; k < width; ++k) {
      bool doubtful = false;
      const Vector<double> row = out[from + k];
      for (Int y = 0; y < classes; ++y) {
        row[y] = mean(y, k) > 0.0 ? std::log(mean(y, k)) : -INF;
        doubtful |= !(row[y] >= log_tiny && row[y] < INF);  // a structure's sum may have vanished too
      }
      if (doubtful) {
        log_average(layers, prior, codes, from + k, row);
        pulse(n_structures * classes * 100);
      }
    }
  }
}

}  // namespace cp::classifiers
