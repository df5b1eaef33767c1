// L-BFGS for the ridge objective: a diagonal metric, back-tracking, and pairs that are kept.
//
// Along a path of penalties the pairs of one optimum serve the next: that halves the steps.
#pragma once
#include "learn/classifiers/ridge.hpp"

namespace cp::classifiers {

constexpr double ROUNDING = 4e-15;         // relative decreases below are lost in the sums, and would spoil the pairs
constexpr double SHORTEST_STEP = 1e-10;    // of the direction: back-tracking ends there
constexpr double SUFFICIENT_SHARE = 1e-4;  // of the decrease that the slope promises
constexpr double BACK_TRACK = 0.4;

// The last pairs of steps and changes of the gradient, in a ring, and the penalty these belong to.
struct StepPairs {
  Matrix<double> steps;       // (pairs, size)
  Matrix<double> changes;     // (pairs, size)
  Vector<double> curvatures;  // step · change
  Vector<double> penalty;     // (features,)
  Vector<Int> used;           // place of the newest pair, number of pairs

  static constexpr const char* fields = "steps[pairs,size] changes[pairs,size] curvatures[pairs] penalty[features] used[2]";
};

// Σ x y, in four independent sums, which the processor overlaps.
inline double dot(Floats x, Floats y) {
  double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
  const Int n = x.size(), whole = n - n % 4;
  for (Int i = 0; i < whole; i += 4) {
    a += x[i] * y[i];
    b += x[i + 1] * y[i + 1];
    c += x[i + 2] * y[i + 2];
    d += x[i + 3] * y[i + 3];
  }
  for (Int i = whole; i < n; ++i) a += x[i] * y[i];
  return (a + b) + (c + d);
}

// Fill `out` with −H · gradient, H from the pairs on top of the metric, which is that of each column of weights.
inline void find_direction(Floats gradient, Floats metric, const StepPairs& memory, Int newest, Int pairs,
                           Vector<double> alphas, Vector<double> out) {
  const Int most = memory.curvatures.size();
  for (Int i = 0; i < out.size(); ++i) out[i] = -gradient[i];
  for (Int back = 0; back < pairs; ++back) {
    const Int j = modulo(newest - back, most);
    alphas[j] = dot(memory.steps[j], out) / memory.curvatures[j];
    add_multiple(out, -alphas[j], memory.changes[j]);
  }
  for (Int from = 0; from < out.size(); from += metric.size())
    for (Int i = 0; i < metric.size(); ++i) out[from + i] *= metric[i];
  for (Int back = pairs - 1; back >= 0; --back) {
    const Int j = modulo(newest - back, most);
    add_multiple(out, alphas[j] - dot(memory.changes[j], out) / memory.curvatures[j], memory.steps[j]);
  }
}

// Bring the pairs of another penalty to this one: it adds a known diagonal to the Hessian.
inline void turn_to(const StepPairs& memory, Floats penalty) {
  const Int features = penalty.size();
  for (Int j = 0; j < memory.curvatures.size(); ++j) {
    const Vector<double> step = memory.steps[j], change = memory.changes[j];
    for (Int from = 0; from < step.size(); from += features)
      for (Int i = 0; i < features; ++i) change[from + i] += (penalty[i] - memory.penalty[i]) * step[from + i];
    memory.curvatures[j] = dot(step, change);
  }
  memory.penalty.copy_from(penalty);
}

// Move w, laid out as for `evaluate`, to the minimum of its objective; returns the number of steps.
//
// Stops when the decrease that the quadratic model foresees, −gᵀd, falls below `tolerance`. The pairs in `memory` are
// used and left for the next call, which may have another penalty. Both are in order after an interruption too.
inline Int minimize(const BlockDesign& design, Ints labels, Floats row_weights, Floats prior, Floats penalty, Floats metric,
                    const StepPairs& memory, Vector<double> w, double tolerance, Int max_steps) {
  const Int size = w.size();
  RidgeObjective objective(design, labels, row_weights, prior, penalty);
  Array<double, 2> gradients(2, size);
  Array<double, 1> trial(size), direction(size), alphas(memory.curvatures.size());
  Vector<double> here = gradients[0], there = gradients[1];
  turn_to(memory, penalty);
  Int &newest = memory.used[0], &pairs = memory.used[1];
  double value = objective(w, here);
  Int taken = 0;
  while (taken < max_steps) {
    find_direction(here, metric, memory, newest, pairs, alphas, direction);
    const double slope = dot(here, direction);
    if (-slope < std::max(tolerance, ROUNDING * std::abs(value))) break;
    double length = 1.0, reached;
    while (true) {
      for (Int i = 0; i < size; ++i) trial[i] = w[i] + length * direction[i];
      reached = objective(trial, there);
      if (reached <= value + SUFFICIENT_SHARE * length * slope || length < SHORTEST_STEP) break;
      length *= BACK_TRACK;
    }
    if (length < SHORTEST_STEP) {  // rounding errors dominate the pairs: restart without them, or stop
      if (pairs == 0) break;
      pairs = 0;
      continue;
    }
    newest = (newest + 1) % memory.curvatures.size();
    const Vector<double> step = memory.steps[newest], change = memory.changes[newest];
    for (Int i = 0; i < size; ++i) {
      step[i] = length * direction[i];
      change[i] = there[i] - here[i];
      w[i] = trial[i];
    }
    memory.curvatures[newest] = dot(step, change);
    pairs = memory.curvatures[newest] > 0 ? std::min(pairs + 1, memory.curvatures.size()) : 0;
    std::swap(here, there);
    value = reached;
    ++taken;
  }
  return taken;
}

}  // namespace cp::classifiers
