// Weighted rows and indicator features of logistic regressions: feature f is 1 where column columns[f] has
// code values[f]. Feature 0 is the intercept, of column −1.
#pragma once
#include "base/bits.hpp"
#include "base/pulse.hpp"

namespace cp::dependency {

// Lists of the rows where a feature is 1, or, if `flipped`, where it is 0.
struct Indicators {
  Ints columns;
  Flags flipped;
  Ragged<const std::int32_t> members;

  // Σ values · x of feature f; `total` is that of all values.
  double dot(Int f, Floats values, double total) const {
    const double sum = sum_at(values, members[f]);
    return flipped[f] ? total - sum : sum;
  }

  // Add w · x of feature f to each row of `out`.
  void add(Int f, double w, Vector<double> out) const {
    if (w == 0.0) return;
    if (flipped[f]) {
      for (double& margin : out) margin += w;
      w = -w;
    }
    for (std::int32_t row : members[f]) out[row] += w;
  }
};

template <class Code>
struct LogisticDesign {
  Matrix<const Code> codes;
  Floats weights;
  Ints columns;
  Ints values;
  Flags flipped;
  Ints starts;  // of the list of each feature in `rows`
  Vector<const std::int32_t> rows;

  static constexpr const char* fields = "codes[,rows] weights[rows] columns[f] values[f] flipped[f] starts[f+1] rows[]";

  Indicators indicators() const { return {columns, flipped, {rows, starts}}; }
};

// Fill `rows` of a design, whose `starts` are known, from the bit set of each feature.
inline void list_feature_rows(Matrix<const Word> words, Flags flipped, Int n_rows, Ints starts, Vector<std::int32_t> rows) {
  Pulse pulse;
  for (Int f = 0; f < flipped.size(); ++f) {
    Int end = starts[f];
    const Word flip = flipped[f] ? ~Word(0) : Word(0);
    const auto add = [&](Int row) {
      if (row < n_rows) rows[end++] = std::int32_t(row);
    };
    for (Int w = 0; w < words.shape(1); ++w) for_each_bit(words(f, w) ^ flip, add, 64 * w);
    pulse(words.shape(1) + end - starts[f]);
  }
}

// Add Σ w x over some features to each row of `out`.
template <class Code>
void add_margins(const LogisticDesign<Code>& design, Ints features, Floats weights, Vector<double> out) {
  const Indicators indicators = design.indicators();
  Pulse pulse;
  for (Int k = 0; k < features.size(); ++k) {
    indicators.add(features[k], weights[k], out);
    pulse(out.size());
  }
}

// Σ rows weight · ln P(state of `target`): margins[h] are the log-weights of state h + 1, that of state 0 is 0.
template <class Code>
double logistic_log_likelihood(const LogisticDesign<Code>& design, Int target, Matrix<const double> margins) {
  const Vector<const Code> column = design.codes[target];
  const Int heads = margins.shape(0);
  double total = 0.0;
  Pulse pulse;
  for (Int i = 0; i < column.size(); ++i) {
    double most = 0.0;
    for (Int h = 0; h < heads; ++h) most = std::max(most, margins(h, i));
    const double own = column[i] == 0 ? 0.0 : margins(column[i] - 1, i);
    double mass = std::exp(-most);
    for (Int h = 0; h < heads; ++h) mass += std::exp(margins(h, i) - most);
    total += design.weights[i] * (own - most - std::log(mass));
    pulse(20 * (heads + 2));
  }
  return total;
}

}  // namespace cp::dependency
