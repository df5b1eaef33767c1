// Normal scores.
#pragma once
#include <cmath>

#include "base/pulse.hpp"

namespace cp::classifiers {

// Replace probabilities by Φ⁻¹(p), by Halley's steps from the logistic quantile.
inline void normal_scores(Vector<double> probabilities) {
  constexpr double ROOT_TWO_PI = 2.5066282746310002;
  Pulse pulse;
  for (double& p : probabilities) {
    pulse(300);
    double x = 0.55 * std::log(p / (1 - p));
    for (int k = 0; k < 5; ++k) {
      const double error = (0.5 * std::erfc(-x / std::sqrt(2.0)) - p) * ROOT_TWO_PI;
      const double step = error * std::exp(0.5 * x * x);
      x -= step / (1 + 0.5 * x * step);
    }
    p = x;
  }
}

}  // namespace cp::classifiers
