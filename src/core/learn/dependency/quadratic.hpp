// The minimum of a quadratic plus l1 · Σ |w|: coordinate descent, and jumps where that is slow.
#pragma once
#include "base/numbers.hpp"
#include "base/pulse.hpp"

namespace cp::dependency {

// A model of a loss in the first n weights: gradient · change + ½ change · hessian · change.
struct Quadratic {
  Array<double, 1> weights;  // start, and then the minimum
  Array<double, 1> gradient;
  Array<double, 2> hessian;
  Array<double, 1> pull;  // the model's slopes at `weights`
  Array<Int, 1> kept;     // weights that are not zero; the rest is scratch for these
  Array<double, 2> matrix;
  Array<double, 1> least, goal;

  explicit Quadratic(Int n)
      : weights(n), gradient(n), hessian(n, n), pull(n), kept(n), matrix(n, n), least(n), goal(n) {}
};

// How far a weight is from optimal: 0 if −slope is a subgradient of l1 · |w|.
inline double excess(double slope, double w, double l1) {
  if (w > 0.0) return std::abs(slope + l1);
  if (w < 0.0) return std::abs(slope - l1);
  return std::max(std::abs(slope) - l1, 0.0);
}

// Minimize in one weight after the other.
inline void sweep(Int n, double l1, const Quadratic& model) {
  const Vector<double> pull = model.pull.part(0, n);
  for (Int a = 0; a < n; ++a) {
    const double before = model.weights[a];
    if (before == 0.0 && std::abs(pull[a]) <= l1) continue;
    const Floats row = model.hessian[a].part(0, n);
    const double free = before - pull[a] / row[a];
    model.weights[a] = sign(free) * std::max(std::abs(free) - l1 / row[a], 0.0);
    add_multiple(pull, model.weights[a] - before, row);
  }
}

// Replace `goal` by the solution of matrix · x = goal; the matrix's upper half is used up.
//
// Four rows at a time are subtracted from those below. No pivot is below `least`: where features are linearly
// dependent, x goes far in the direction that costs nothing.
inline void eliminate(Matrix<double> matrix, Floats least, Vector<double> goal) {
  const Int m = goal.size();
  Pulse pulse;
  for (Int first = 0; first < m; first += 4) {
    const Int stop = std::min(first + 4, m);
    for (Int i = first; i < stop; ++i) {
      matrix(i, i) = std::max(matrix(i, i), least[i]);
      for (Int j = i + 1; j < stop; ++j) {
        const double share = matrix(i, j) / matrix(i, i);
        for (Int k = j; k < m; ++k) matrix(j, k) -= share * matrix(i, k);
        goal[j] -= share * goal[i];
      }
    }
    for (Int j = stop; j < m; ++j) {  // none unless the rows are four
      const Vector<double> below = matrix[j].part(j, m);
      const Floats r0 = matrix[first].part(j, m), r1 = matrix[first + 1].part(j, m);
      const Floats r2 = matrix[first + 2].part(j, m), r3 = matrix[first + 3].part(j, m);
      const double s0 = r0[0] / matrix(first, first), s1 = r1[0] / matrix(first + 1, first + 1);
      const double s2 = r2[0] / matrix(first + 2, first + 2), s3 = r3[0] / matrix(first + 3, first + 3);
      for (Int k = 0; k < below.size(); ++k) below[k] -= s0 * r0[k] + s1 * r1[k] + s2 * r2[k] + s3 * r3[k];
      goal[j] -= s0 * goal[first] + s1 * goal[first + 1];
      goal[j] -= s2 * goal[first + 2] + s3 * goal[first + 3];
    }
    pulse((m - first) * (m - first) / 2);
  }
  for (Int i = m - 1; i >= 0; --i) {
    for (Int j = i + 1; j < m; ++j) goal[i] -= matrix(i, j) * goal[j];
    goal[i] /= matrix(i, i);
  }
}

// Move the nonzero weights towards the minimum for their signs, until one of them is zero.
inline void jump(Int n, double l1, const Quadratic& model) {
  constexpr double NOTHING = 1e-9;    // of a curvature: what rounding leaves of a dependent feature
  constexpr double ROUNDING = 1e-12;  // of a weight, relative
  const Vector<double> weights = model.weights, goal = model.goal, pull = model.pull.part(0, n);
  Int m = 0;
  for (Int a = 0; a < n; ++a)
    if (weights[a] != 0.0) model.kept[m++] = a;
  const Ints kept = model.kept.part(0, m);
  for (Int i = 0; i < m; ++i) {
    const Int a = kept[i];
    const Floats row = model.hessian[a];
    goal[i] = -pull[a] - l1 * sign(weights[a]);
    model.least[i] = NOTHING * row[a];
    for (Int j = i; j < m; ++j) model.matrix(i, j) = row[kept[j]];
  }
  eliminate(model.matrix, model.least, goal.part(0, m));
  double length = 1.0;
  for (Int i = 0; i < m; ++i) {
    const double before = weights[kept[i]];
    if (before * (before + goal[i]) < 0.0) length = std::min(length, -before / goal[i]);
  }
  for (Int i = 0; i < m; ++i) {
    const double before = weights[kept[i]];
    double move = length * goal[i];
    if (before * (before + move) <= 0.0 || std::abs(before + move) <= ROUNDING * std::abs(before)) move = -before;
    weights[kept[i]] = before + move;
    add_multiple(pull, move, model.hessian[kept[i]].part(0, n));
  }
}

// Change the first n weights until none is further than `goal` from the least model + l1 · Σ |w|.
//
// Sweeps of coordinate descent find which weights are zero and the signs of the others; where features are
// alike these are slow, and a jump goes on from there.
inline void descend(Int n, double l1, double goal, const Quadratic& model) {
  constexpr Int JUMPS = 50;
  model.pull.part(0, n).copy_from(model.gradient.part(0, n));
  Pulse pulse;
  for (Int jumps = 0; jumps < JUMPS; ++jumps) {
    const Int sweeps = std::max<Int>(4, n / 16);  // about the work of a jump
    for (Int k = 0; k < sweeps; ++k) {
      sweep(n, l1, model);
      double furthest = 0.0;
      for (Int a = 0; a < n; ++a) furthest = std::max(furthest, excess(model.pull[a], model.weights[a], l1));
      if (furthest <= goal) return;
      pulse(n * n / 4);
    }
    jump(n, l1, model);
  }
}

}  // namespace cp::dependency
