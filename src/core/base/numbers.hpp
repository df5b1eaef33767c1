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

inline double sign(double a) { return a > 0 ? 1.0 : a < 0 ? -1.0 : 0.0; }

// Sums from the first item to the last: the order is part of the result.
template <class T>
std::conditional_t<std::is_floating_point_v<T>, double, Int> sum(View<T, 1> v) {
  std::conditional_t<std::is_floating_point_v<T>, double, Int> total = 0;
  for (T item : v) total += item;
  return total;
}
template <class T, int N>
auto sum(const Array<T, N>& v) { return sum(v.flat()); }

template <class T>
std::remove_const_t<T> maximum(View<T, 1> v) { return *std::max_element(v.begin(), v.end()); }
// The first of the largest.
template <class T>
Int argmax(View<T, 1> v) { return std::max_element(v.begin(), v.end()) - v.begin(); }
template <class T>
bool contains(View<T, 1> v, std::remove_const_t<T> value) { return std::find(v.begin(), v.end(), value) != v.end(); }

}  // namespace cp
