// Multinomial logistic regression on tables of faces and numeric terms: objective and gradient.
//
// η_c(x) = prior_c + Σ_T β_T[x_T, c] + Σ_a γ_a,c z_a(x). Weights are (columns, features), a column for each class; two
// classes need one column, the log-odds, with half the penalty. Feature 0 belongs to every row.
#pragma once
#include <cmath>

#include "base/numbers.hpp"
#include "base/pulse.hpp"
#include "base/view.hpp"
#include "counts/cells.hpp"
#include "levels/softmax.hpp"

namespace cp::classifiers {

// Faces are read through blocks: a block is a set of columns that holds several faces, so that a row costs one look-up
// for all of them. Before a pass the faces' weights are summed into the blocks' tables; after it the blocks'
// gradients are distributed to the faces.
struct BlockDesign {
  Matrix<const std::int32_t> cells;  // (blocks, rows): a row's cell, counted through all blocks
  Ints starts;                       // where each block's cells begin
  Ints link_block;                   // the block of each face
  Ints link_start;                   // where the face's part of `links` begins, one entry for each cell of its block
  Vector<const std::int32_t> links;  // the feature of a block's cell, or −1
  Matrix<const double> numbers;      // (terms, rows)
  Int first_number;                  // the feature of the first numeric term
  Int n_features;

  static constexpr const char* fields =
      "cells[blocks,m] starts[blocks+1] link_block[faces] link_start[faces] links[] numbers[,m] first_number n_features";

  Int n_cells() const { return starts.back(); }

  // Call visit(cell, feature) for each cell of each face's block that has a feature of the face.
  template <class Visit>
  void for_each_link(Visit visit) const {
    for (Int f = 0; f < link_block.size(); ++f) {
      const Int from = starts[link_block[f]], size = starts[link_block[f] + 1] - from;
      const Vector<const std::int32_t> features = links.part(link_start[f], link_start[f] + size);
      for (Int j = 0; j < size; ++j)
        if (features[j] >= 0) visit(from + j, Int(features[j]));
    }
  }
};

// Fill `ids` with each key's number, by first appearance, and `firsts` with the place where each number first appears;
// returns how many there are. `known` maps each key to its number, and is −1 throughout at first.
inline Int number_keys(Ints keys, Vector<std::int32_t> known, Vector<std::int32_t> ids, Vector<Int> firsts) {
  Int n_known = 0;
  for (Int i = 0; i < keys.size(); ++i) {
    std::int32_t& number = known[keys[i]];
    if (number < 0) {
      number = std::int32_t(n_known);
      firsts[n_known++] = i;
    }
    ids[i] = number;
  }
  return n_known;
}

// ---- Multinomial logistic regression on tables of faces and numeric terms: objective and gradient
//
// η_c(x) = prior_c + Σ_T β_T[x_T, c] + Σ_a γ_a,c z_a(x). Weights are (columns, features), a column for each class; two
// classes need one column, the log-odds, with half the penalty. Feature 0 belongs to every row.

constexpr Int CHUNK = 256;  // rows at a time: their predictors stay in the first-level cache

// Fill a column's block tables with the sums of its faces' weights.
inline void add_up(const BlockDesign& design, Floats weights, Vector<double> tables) {
  tables.fill(0.0);
  design.for_each_link([&](Int cell, Int feature) { tables[cell] += weights[feature]; });
}

// Fill `eta` with one column's predictors of the rows from `from` on.
inline void predict(const BlockDesign& design, Floats weights, Floats tables, Int from, double base, Vector<double> eta) {
  const Int n = eta.size(), to = from + n, terms = design.numbers.shape(0);
  eta.fill(base);
  for (Int b = 0; b < design.cells.shape(0); ++b) {
    const Vector<const std::int32_t> cells = design.cells[b].part(from, to);
    for (Int i = 0; i < n; ++i) eta[i] += tables[cells[i]];
  }
  const Floats factors = weights.part(design.first_number, design.first_number + terms);
  const auto term = [&](Int a) { return design.numbers[a].part(from, to).data; };
  Int a = 0;
  for (; a + 4 <= terms; a += 4) {
    const double* four[4] = {term(a), term(a + 1), term(a + 2), term(a + 3)};
    loops->add_four(eta.data, four, factors.data + a, n);
  }
  for (; a < terms; ++a) {
    const double* z = term(a);
    for (Int i = 0; i < n; ++i) eta[i] += factors[a] * z[i];
  }
}

// Add one column's residuals of the rows from `from` on to its cells and features.
inline void collect(const BlockDesign& design, Floats residuals, Int from, Vector<double> sums, Vector<double> gradient) {
  const Int n = residuals.size(), to = from + n, terms = design.numbers.shape(0);
  for (double residual : residuals) gradient[0] += residual;
  for (Int b = 0; b < design.cells.shape(0); ++b) {
    const Vector<const std::int32_t> cells = design.cells[b].part(from, to);
    counts::add_rows(cells, residuals, sums);
  }
  const Vector<double> slopes = gradient.part(design.first_number, design.first_number + terms);
  const auto term = [&](Int a) { return design.numbers[a].part(from, to); };
  Int a = 0;
  for (; a + 4 <= terms; a += 4) {  // four independent sums, which the processor overlaps
    const Floats z0 = term(a), z1 = term(a + 1), z2 = term(a + 2), z3 = term(a + 3);
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    for (Int i = 0; i < n; ++i) {
      const double r = residuals[i];
      s0 += r * z0[i];
      s1 += r * z1[i];
      s2 += r * z2[i];
      s3 += r * z3[i];
    }
    slopes[a] += s0;
    slopes[a + 1] += s1;
    slopes[a + 2] += s2;
    slopes[a + 3] += s3;
  }
  for (; a < terms; ++a) {
    const Floats z = term(a);
    double s = 0.0;
    for (Int i = 0; i < n; ++i) s += residuals[i] * z[i];
    slopes[a] += s;
  }
}

// Σ weight · ln P(class), with weight · (P(class 1) − [class is 1]) put into `out`. The log-odds `eta` are overwritten.
inline double log_odds_residuals(Vector<double> eta, Vector<double> out, Vector<double> scratch, Ints labels,
                                 Floats weights) {
  const Int n = labels.size();
  for (Int i = 0; i < n; ++i) out[i] = -std::abs(eta[i]);
  exponentials(out, scratch);
  double total = 0.0;
  for (Int i = 0; i < n; ++i) total += weights[i] * std::min(labels[i] == 1 ? eta[i] : -eta[i], 0.0);
  for (Int i = 0; i < n; ++i) {
    const double e = out[i], inverse = 1.0 / (1.0 + e), p = eta[i] >= 0 ? inverse : e * inverse;
    eta[i] = 1.0 + e;
    out[i] = weights[i] * (p - double(labels[i]));
  }
  logarithms(eta, scratch);
  for (Int i = 0; i < n; ++i) total -= weights[i] * eta[i];
  return total;
}

// −Σ weight · ln P(class | x) + ½ Σ penalty · w² over the first rows of a design.
class RidgeObjective {
 public:
  RidgeObjective(const BlockDesign& design, Ints labels, Floats row_weights, Floats prior, Floats penalty)
      : design_(design), labels_(labels), row_weights_(row_weights), prior_(prior), penalty_(penalty),
        tables_(prior.size(), design.n_cells()), sums_(prior.size(), design.n_cells()), chunk_(prior.size() + 3, CHUNK) {}

  // The value at `w`, which holds all features of one column after the other; fills the gradient, laid out alike.
  double operator()(Floats w, Vector<double> gradient) {
    const Int columns = prior_.size(), n = labels_.size(), features = design_.n_features;
    const Matrix<const double> weights{w.data, {columns, features}};
    const Matrix<double> slopes{gradient.data, {columns, features}};
    for (Int k = 0; k < columns; ++k) add_up(design_, weights[k], tables_[k]);
    sums_.fill(0.0);
    gradient.fill(0.0);
    double total = 0.0;
    for (Int from = 0; from < n; from += CHUNK) {
      const Int to = std::min(from + CHUNK, n), size = to - from;
      const Ints labels = labels_.part(from, to);
      const Floats row_weights = row_weights_.part(from, to);
      const auto row = [&](Int c) { return chunk_[c].part(0, size); };
      pulse_(size * columns * (20 + 2 * (design_.cells.shape(0) + design_.numbers.shape(0))));
      for (Int k = 0; k < columns; ++k)
        predict(design_, weights[k], tables_[k], from, prior_[k] + weights(k, 0), row(k));
      const bool binary = columns == 1;
      total -= binary ? log_odds_residuals(row(0), row(1), row(2), labels, row_weights)
                      : softmax_slopes(chunk_.part(0, columns), labels, row_weights, chunk_.part(columns, columns + 3));
      for (Int k = 0; k < columns; ++k) collect(design_, row(binary ? 1 : k), from, sums_[k], slopes[k]);
    }
    for (Int k = 0; k < columns; ++k) {
      design_.for_each_link([&](Int cell, Int feature) { slopes(k, feature) += sums_(k, cell); });
      for (Int j = 0; j < features; ++j) {
        const double pull = penalty_[j] * weights(k, j);
        total += 0.5 * pull * weights(k, j);
        slopes(k, j) += pull;
      }
    }
    return total;
  }

 private:
  const BlockDesign& design_;
  Ints labels_;
  Floats row_weights_, prior_, penalty_;
  Array<double, 2> tables_, sums_;  // (columns, cells)
  Array<double, 2> chunk_;
  Pulse pulse_;
};

// The objective at w, and its gradient.
inline double evaluate(const BlockDesign& design, Ints labels, Floats row_weights, Floats prior, Floats penalty, Floats w,
                       Vector<double> gradient) {
  return RidgeObjective(design, labels, row_weights, prior, penalty)(w, gradient);
}

// Fill `out`, (columns, rows), with the predictors of the rows from `row_from` on.
inline void predict_rows(const BlockDesign& design, Floats prior, Floats w, Int row_from, Matrix<double> out) {
  const Matrix<const double> weights{w.data, {prior.size(), design.n_features}};
  Array<double, 1> tables(design.n_cells());
  for (Int k = 0; k < prior.size(); ++k) {
    add_up(design, weights[k], tables);
    predict(design, weights[k], tables, row_from, prior[k] + weights(k, 0), out[k]);
  }
}

}  // namespace cp::classifiers
