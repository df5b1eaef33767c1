// Pearson's χ² of pairs, from their counts or from bits, and the largest of each column.
#pragma once
#include "base/numbers.hpp"

namespace cp::independence {

constexpr double LEAST_CHI_SQUARE = 1e-9;  // below it is rounding, or might as well be
constexpr double ROUNDING = 1e-12;

// Σ (N − E)² / E over cells with E > 0, of the table whose cells are count(s, t). `columns` is scratch.
//
// (N · total − row · column)² keeps whole numbers whole, so that no independence is missed.
template <class Count>
double chi_square(Count count, Int height, Int width, Vector<double> columns) {
  columns.part(0, width).fill(0.0);
  double total = 0.0;
  for (Int s = 0; s < height; ++s) {
    for (Int t = 0; t < width; ++t) {
      columns[t] += count(s, t);
      total += count(s, t);
    }
  }
  double statistic = 0.0;
  for (Int s = 0; s < height; ++s) {
    double row = 0.0;
    for (Int t = 0; t < width; ++t) row += count(s, t);
    if (height == 2 && width == 2) {  // one fraction: equal pairs tie exactly
      const double gap = count(0, 0) * total - row * columns[0];
      const double margins = row * (total - row) * (columns[0] * columns[1]);
      return margins > 0 ? gap * gap * total / margins : 0.0;
    }
    for (Int t = 0; t < width; ++t) {
      if (row * columns[t] > 0) {
        const double gap = count(s, t) * total - row * columns[t];
        statistic += gap / (row * columns[t]) * (gap / total);
      }
    }
  }
  return statistic;
}

// Fill out[i, j] with the χ² of columns i and j; 0 where they are independent.
//
// counts[left_from[i] + s, right_from[j] + t] counts the rows with states s and t.
template <class Weight>
void fill_chi_squares(Matrix<const Weight> counts, Ints left_from, Ints right_from, Matrix<double> out) {
  Array<double, 1> columns(counts.shape(1));
  for (Int i = 0; i < out.shape(0); ++i) {
    for (Int j = 0; j < out.shape(1); ++j) {
      const Int top = left_from[i], left = right_from[j];
      const auto count = [&](Int s, Int t) { return double(counts(top + s, left + t)); };
      out(i, j) = chi_square(count, left_from[i + 1] - top, right_from[j + 1] - left, columns);
    }
  }
}

// Fill out[i, j] with the χ² of the columns first + i and j of two states.
//
// `joint` counts the rows in which both have their first state, `ones` the rows of each state of each
// column in turn. One fraction, as `fill_chi_squares` has it, so that equal pairs tie.
inline void fill_binary_chi_squares(Matrix<const Int> joint, Int first, Ints ones, Matrix<double> out) {
  const Int n = out.shape(1);
  Array<double, 1> firsts(n), products(n);
  for (Int j = 0; j < n; ++j) {
    firsts[j] = double(ones[2 * j]);
    products[j] = firsts[j] * double(ones[2 * j + 1]);
  }
  // Whole numbers below 2⁵², by their bits: a conversion that every processor makes several at a time.
  const auto whole = [](Int count) { return std::bit_cast<double>(Word(count) | 0x4330000000000000u) - 0x1p52; };
  for (Int i = 0; i < out.shape(0); ++i) {
    const double total = double(ones[0] + ones[1]), here = firsts[first + i];
    const Ints counts = joint[i];
    const Vector<double> row = out[i];
    for (Int j = 0; j < n; ++j) {
      const double gap = whole(counts[j]) * total - here * firsts[j];
      const double margins = here * (total - here) * products[j];
      row[j] = margins > 0.0 ? gap * gap * total / margins : 0.0;
    }
  }
}

// Fill out[i] with the columns of the largest values[i], −1 where too few are above the least.
//
// Column first + i is not its own relative. Of equal ones, but for rounding, the later ones in `order`
// are kept.
inline void keep_largest(Matrix<const double> values, Int first, Ints order, Matrix<Int> out) {
  const Int k = out.shape(1);
  if (k == 0) return;
  Array<double, 1> best(k);  // a little below the values kept
  for (Int i = 0; i < values.shape(0); ++i) {
    const Vector<Int> kept = out[i];
    const Floats row = values[i];
    kept.fill(-1);
    best.fill(0.0);
    for (Int j : order) {
      const double value = row[j];
      if (!(value > LEAST_CHI_SQUARE && value >= best[k - 1]) || j == first + i) continue;
      Int place = k - 1;
      for (; place > 0 && value >= best[place - 1]; --place) {
        best[place] = best[place - 1];
        kept[place] = kept[place - 1];
      }
      best[place] = value * (1.0 - ROUNDING);
      kept[place] = j;
    }
  }
}

}  // namespace cp::independence
