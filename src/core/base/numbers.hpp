// Integers and floats by Python's rules, and sums of logarithms.
#pragma once
#include <bit>
#include <cmath>
#include <limits>

#include "base/view.hpp"

namespace cp {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();

inline Int popcount(Word word) { return std::popcount(word); }
inline Int lowest_bit(Word word) { return std::countr_zero(word); }

// Rounded down, as Python's // and %, for any signs.
constexpr Int floor_divide(Int a, Int b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }
constexpr Int modulo(Int a, Int b) {
  const Int rest = a % b;
  return rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest;
}

// ln(e^a + e^b), exact where one of them is minus infinity.
inline double log_add_exp(double a, double b) {
  if (a == b) return a + std::log(2.0);
  const double d = a - b;
  return d > 0 ? a + std::log1p(std::exp(-d)) : d <= 0 ? b + std::log1p(std::exp(d)) : d;
}

// The largest of some logs, and Σ exp(log − largest).
struct ExpSum {
  double largest, total;
  double log() const { return largest + std::log(total); }
};
inline ExpSum exp_sum(Floats logs) {
  ExpSum sum{-INF, 0.0};
  for (double x : logs) sum.largest = std::max(sum.largest, x);
  for (double x : logs) sum.total += std::exp(x - sum.largest);
  return sum;
}
// ln Σ exp of the values; minus infinity when all are.
inline double log_sum_exp(Floats logs) {
  const ExpSum sum = exp_sum(logs);
  return sum.largest == -INF ? -INF : sum.log();
}
// Replace logs by those of their shares; returns whether any is above minus infinity.
//
// The largest is taken off first: ln Σ exp of large logs would lose the digits in which they differ.
inline bool log_shares(Vector<double> logs) {
  const ExpSum sum = exp_sum(logs);
  if (sum.largest == -INF) return false;
  const double log_total = std::log(sum.total);
  for (double& x : logs) x = (x - sum.largest) - log_total;
  return true;
}
// Replace logs by exp(log − largest); returns their sum.
inline double exponentiate(Vector<double> logs) {
  double largest = -INF, total = 0.0;
  for (double x : logs) largest = std::max(largest, x);
  for (double& x : logs) total += x = std::exp(x - largest);
  return total;
}

inline double sign(double a) { return a > 0 ? 1.0 : a < 0 ? -1.0 : 0.0; }

// SplitMix64 (Steele, Lea & Flood 2014): the state moves by a constant, a hash of it is the number.
constexpr Word SPLITMIX_STEP = 0x9E3779B97F4A7C15, SPLITMIX_FACTOR = 0xBF58476D1CE4E5B9;
constexpr Word mix_bits(Word z) {
  z = (z ^ (z >> 30)) * SPLITMIX_FACTOR;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}
inline double next_uniform(Word& state) { return double(mix_bits(state += SPLITMIX_STEP) >> 11) * 0x1p-53; }  // in [0, 1)

// Sums from the first item to the last: the order is part of the result.
template <class T>
std::conditional_t<std::is_floating_point_v<T>, double, Int> sum(View<T, 1> v) {
  std::conditional_t<std::is_floating_point_v<T>, double, Int> total = 0;
  for (T item : v) total += item;
  return total;
}
template <class T, int N>
auto sum(const Array<T, N>& v) { return sum(v.flat()); }

// Σ values[rows[k]]; in four independent sums, which the processor overlaps.
template <class Row>
double sum_at(Floats values, Vector<const Row> rows) {
  const Int whole = rows.size() / 4 * 4;
  double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
  for (Int k = 0; k < whole; k += 4) {
    a += values[rows[k]];
    b += values[rows[k + 1]];
    c += values[rows[k + 2]];
    d += values[rows[k + 3]];
  }
  for (Int k = whole; k < rows.size(); ++k) a += values[rows[k]];
  return (a + b) + (c + d);
}
// Add factor × y to x.
inline void add_multiple(Vector<double> x, double factor, Floats y) {
  for (Int i = 0; i < x.size(); ++i) x[i] += factor * y[i];
}

template <class T>
std::remove_const_t<T> maximum(View<T, 1> v) { return *std::max_element(v.begin(), v.end()); }
// The first of the largest.
template <class T>
Int argmax(View<T, 1> v) { return std::max_element(v.begin(), v.end()) - v.begin(); }
template <class T>
bool contains(View<T, 1> v, std::remove_const_t<T> value) { return std::find(v.begin(), v.end(), value) != v.end(); }

}  // namespace cp
