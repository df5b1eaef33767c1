// The terms that family scores are sums of; all natural logarithms.
#pragma once
#include "base/numbers.hpp"

namespace cp::scores {

// A score is named by its kind and one number a; see tables.hpp.
constexpr Int LIKELIHOOD = 0, EQUIVALENT = 1, CONSTANT = 2, AVERAGE = 3;

// c ln c, from `logs` where it reaches; 0 for an empty cell.
template <class Count>
double clogc(Count count, Floats logs) {
  const Int whole = Int(count);
  if (Count(whole) == count && whole < logs.size()) return logs[whole];
  return double(count) * std::log(double(count));
}

}  // namespace cp::scores
