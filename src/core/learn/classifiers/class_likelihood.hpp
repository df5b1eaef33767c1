// The conditional likelihood of a class under a network, and what one changed edge does to it.
//
// ln P(y | x) = Σ_F ln θ_F(x, y) − ln Σ_c exp Σ_F ln θ_F(x, c), over the families F (a child and at most two parents)
// that hold the class; the others cancel. A family that changes from θ to θ' in a row whose class has the posterior p
// adds ln θ'(y)/θ(y) − ln Σ_c p_c θ'(c)/θ(c), so that a candidate costs one pass over the rows, without an exponential.
#pragma once
#include <cmath>

#include "base/numbers.hpp"
#include "base/pulse.hpp"
#include "counts/cells.hpp"
#include "graphs/moves.hpp"

namespace cp::classifiers {

using namespace graphs;  // moves

// A child and its parents, −1 for none.
struct Family {
  Int child, first, second;
};

// Distinct rows, the class as the last variable, and the weight of the prior.
template <class Code>
struct ClassRows {
  Matrix<const Code> codes;  // (variables, rows)
  Floats weights;
  Ints cards;
  double prior;

  Int last() const { return cards.size() - 1; }
  Int classes() const { return cards[last()]; }

  // The cells of a family's table, or 0 if it does not hold the class.
  Int room(Family f) const {
    if (f.child != last() && f.first != last() && f.second != last()) return 0;
    Int cells = 1;
    for (Int v : {f.child, f.first, f.second})
      if (v >= 0) cells *= cards[v];
    return cells;
  }
};

// θ of a family by (cell of the features, class), and the cell of each row.
struct FamilyTable {
  Array<u32, 1> cells;
  Array<double, 1> values;

  FamilyTable(Int n_rows, Int room) : cells(n_rows), values(room) {}
  const double* of_row(Int row, Int classes) const { return &values[cells[row] * classes]; }
};

// Replace a count n by θ; returns n ln θ.
inline double divide(double& entry, double alpha, double total) {
  const double count = entry;
  entry = (count + alpha) / total;
  return count > 0 ? count * std::log(entry) : 0.0;
}

// Fill θ = (n + prior / cells) / (its sum over the child's states); returns Σ n ln θ.
//
// Where the family does not hold the class it is one cell of ones.
template <class Code>
double fill_table(const ClassRows<Code>& rows, Family family, FamilyTable& table) {
  const Int last = rows.last(), classes = rows.classes();
  if (rows.room(family) == 0) {
    table.cells.fill(0);
    table.values.part(0, classes).fill(1.0);
    return 0.0;
  }
  // The class aside, the child's states run fastest: they are what a sum goes over.
  const bool of_class = family.child == last;
  const Int slow = of_class || family.first != last ? family.first : family.second;
  const Int fast = of_class ? family.second : family.child;
  const Int n_slow = slow >= 0 ? rows.cards[slow] : 1, n_fast = fast >= 0 ? rows.cards[fast] : 1;
  const Int size = n_slow * n_fast * classes, n_rows = rows.weights.size();
  const Vector<double> values = table.values.part(0, size);
  const Vector<u32> cells = table.cells;
  Int features[2], n_features = 0;
  for (Int v : {slow, fast})
    if (v >= 0) features[n_features++] = v;
  values.fill(0.0);
  counts::code_rows(rows.codes, Ints{features, {n_features}}, rows.cards, 0, cells);
  const Vector<const Code> labels = rows.codes[last];
  counts::add_rows(n_rows, [=](Int row) { return cells[row] * classes + labels[row]; }, [&](Int row) { return rows.weights[row]; }, values);
  const double alpha = rows.prior / double(size);
  double gain = 0.0;
  if (of_class) {
    for (Int start = 0; start < size; start += classes) {
      const Vector<double> entries = values.part(start, start + classes);
      double total = alpha * double(classes);
      for (double entry : entries) total += entry;
      for (double& entry : entries) gain += divide(entry, alpha, total);
    }
    return gain;
  }
  for (Int start = 0; start < n_slow * n_fast; start += n_fast) {
    for (Int c = 0; c < classes; ++c) {
      double total = alpha * double(n_fast);
      for (Int k = start; k < start + n_fast; ++k) total += values[k * classes + c];
      for (Int k = start; k < start + n_fast; ++k) gain += divide(values[k * classes + c], alpha, total);
    }
  }
  return gain;
}

// Fill P(class | row), (rows, classes); returns the conditional log-likelihood in nats.
//
// A row of `parents` is padded with −1.
template <class Code>
double fill_posterior(Matrix<const Code> codes, Floats weights, Ints cards, double prior, Matrix<const Int> parents,
                      Matrix<double> out) {
  const ClassRows<Code> rows{codes, weights, cards, prior};
  const Int last = rows.last(), classes = rows.classes(), n_rows = weights.size();
  const auto family = [&](Int v) { return Family{v, parents(v, 0), parents(v, 1)}; };
  Int room = classes;
  for (Int v = 0; v <= last; ++v) room = std::max(room, rows.room(family(v)));
  FamilyTable table(n_rows, room);
  Pulse pulse;
  out.fill(0.0);
  for (Int v = 0; v <= last; ++v) {
    const Int size = rows.room(family(v));
    if (size == 0) continue;
    pulse(n_rows * (3 + classes) + 20 * size);
    fill_table(rows, family(v), table);
    for (double& value : table.values.part(0, size)) value = std::log(value);
    for (Int row = 0; row < n_rows; ++row) {
      const double* log_theta = table.of_row(row, classes);
      for (Int c = 0; c < classes; ++c) out(row, c) += log_theta[c];
    }
  }
  double total = 0.0;
  for (Int row = 0; row < n_rows; ++row) {
    pulse(classes * 20);
    const Vector<double> p = out[row];
    const double norm = exp_sum(p).log();
    total += weights[row] * (p[codes(last, row)] - norm);
    for (double& log_p : p) log_p = std::exp(log_p - norm);
  }
  return total;
}

// Multiply the rows of `p` by a family's θ.
inline void multiply_rows(Matrix<double> p, const FamilyTable& table) {
  const Int classes = p.shape(1);
  for (Int row = 0; row < p.shape(0); ++row)
    for (Int c = 0; c < classes; ++c) p(row, c) *= table.of_row(row, classes)[c];
}
inline void divide_rows(Matrix<double> p, const FamilyTable& table) {
  const Int classes = p.shape(1);
  for (Int row = 0; row < p.shape(0); ++row)
    for (Int c = 0; c < classes; ++c) p(row, c) /= table.of_row(row, classes)[c];
}

// Σ weight · ln Σ_c p_c θ_c.
inline double log_mass(Matrix<const double> p, Floats weights, const FamilyTable& table) {
  const Int classes = p.shape(1);
  double total = 0.0;
  for (Int row = 0; row < weights.size(); ++row) {
    const double* theta = table.of_row(row, classes);
    double mass = 0.0;
    for (Int c = 0; c < classes; ++c) mass += p(row, c) * theta[c];
    total += weights[row] * std::log(mass);
  }
  return total;
}

// Fill `move` (kind, parent) with the best change of an edge into `child`; returns its gain.
//
// `above[v, u]` says that u is an ancestor of v. Of gains within `tie` the first is taken: edges to add by parent from
// the class downwards, then to delete, then to reverse. A kind of NONE: there is none.
template <class Code>
double best_move(Matrix<const Code> codes, Floats weights, Ints cards, double prior, Matrix<const Int> parents,
                 Matrix<const bool> above, Matrix<const double> posterior, Int child, Int max_cells, double tie,
                 Vector<Int> move) {
  const ClassRows<Code> rows{codes, weights, cards, prior};
  const Int n_rows = posterior.shape(0), classes = posterior.shape(1);
  const Int first = parents(child, 0), second = parents(child, 1);
  FamilyTable table(n_rows, std::max(max_cells, classes));
  Pulse pulse;
  const auto fill = [&](Int v, Int one, Int two) {
    pulse(n_rows * (20 + 2 * classes));
    return fill_table(rows, {v, one, two}, table);
  };
  const double before = fill(child, first, second);
  const bool has_class = rows.room({child, first, second}) > 0;
  Array<double, 2> rest(posterior), both;
  divide_rows(rest, table);
  BestMove best(tie);
  const auto consider = [&](double gain, Int kind, Int parent) {
    if (best.beaten_by(gain)) best.take(kind, parent, child, gain);
  };
  if (second < 0) {
    for (Int p = rows.last(); p >= 0; --p) {
      const Int size = rows.room({child, first, p});
      if (p == child || p == first || above(p, child) || size == 0 || size > max_cells) continue;
      const double after = fill(child, first, p);
      consider(after - before - log_mass(rest, weights, table), ADD, p);
    }
  }
  const std::pair<Int, Int> ways[] = {{first, second}, {second, first}};  // the edge that goes, and the one that stays
  for (const auto& [p, kept] : ways) {
    if (p < 0 || !has_class) continue;
    const double after = fill(child, kept, -1);
    consider(after - before - log_mass(rest, weights, table), DROP, p);
  }
  for (const auto& [p, kept] : ways) {
    if (p < 0 || parents(p, 1) >= 0 || (kept >= 0 && above(kept, p))) continue;
    const Int size = rows.room({p, parents(p, 0), child});
    if (size > max_cells || (size == 0 && !has_class)) continue;
    if (both.empty()) both = Array<double, 2>(n_rows, classes);
    both.copy_from(rest);
    double after = fill(child, kept, -1);
    multiply_rows(both, table);
    after -= fill(p, parents(p, 0), -1);
    divide_rows(both, table);
    after += fill(p, parents(p, 0), child);
    consider(after - before - log_mass(both, weights, table), TURN, p);
  }
  move[0] = best.move.kind;
  move[1] = best.move.parent;
  return best.gain;
}

}  // namespace cp::classifiers
