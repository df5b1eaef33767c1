// The softmax of many rows at once, and its slopes.
#pragma once
#include "base/numbers.hpp"
#include "levels/loops.hpp"

namespace cp {

// Replace scores (states, rows) by weight · (P(state) − whether it is the row's label); returns Σ weight · ln P(label).
//
// There are as many rows as labels, the first ones of `scores` and of `room`, which is scratch (3, rows).
template <class Label>
double softmax_slopes(Matrix<double> scores, Vector<const Label> labels, Floats weights, Matrix<double> room) {
  const Int n = labels.size(), states = scores.shape(0);
  const auto row = [&](Int s) { return scores[s].part(0, n); };
  const Vector<double> largest = room[0].part(0, n), sums = room[1].part(0, n), scratch = room[2].part(0, n);
  largest.copy_from(row(0));
  sums.fill(0.0);
  for (Int s = 1; s < states; ++s) {
    const Vector<double> score = row(s);
    for (Int i = 0; i < n; ++i) largest[i] = std::max(largest[i], score[i]);
  }
  double total = 0.0;
  for (Int i = 0; i < n; ++i) total += weights[i] * (scores(labels[i], i) - largest[i]);
  for (Int s = 0; s < states; ++s) {
    const Vector<double> score = row(s);
    for (Int i = 0; i < n; ++i) score[i] -= largest[i];
    exponentials(score, scratch);
    for (Int i = 0; i < n; ++i) sums[i] += score[i];
  }
  for (Int i = 0; i < n; ++i) {
    largest[i] = sums[i];
    sums[i] = weights[i] / sums[i];
  }
  logarithms(largest, scratch);
  for (Int i = 0; i < n; ++i) total -= weights[i] * largest[i];
  for (Int s = 0; s < states; ++s) {
    const Vector<double> share = row(s);
    for (Int i = 0; i < n; ++i) share[i] *= sums[i];
  }
  for (Int i = 0; i < n; ++i) scores(labels[i], i) -= weights[i];
  return total;
}

}  // namespace cp
