// Pearson's χ² of pairs, from their counts or from bits, and the largest of each column.
#pragma once
#include "base/numbers.hpp"
#include "counts/baskets.hpp"

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

// The columns of the largest values that are offered, the largest first; of equal ones the last.
class Largest {
 public:
  explicit Largest(Int k) : best_(k) {}

  // Fill `kept` from now on; −1 marks a place that is free.
  void start(Vector<Int> kept) {
    kept_ = kept;
    kept_.fill(-1);
    best_.fill(0.0);
  }
  void offer(Int column, double value) {
    Int place = kept_.size() - 1;
    if (!(value > LEAST_CHI_SQUARE && value >= best_[place])) return;
    for (; place > 0 && value >= best_[place - 1]; --place) {
      best_[place] = best_[place - 1];
      kept_[place] = kept_[place - 1];
    }
    best_[place] = value * (1.0 - ROUNDING);
    kept_[place] = column;
  }

 private:
  Array<double, 1> best_;  // a little below the values kept
  Vector<Int> kept_;
};

// Fill out[i] with the columns of the largest values[i], −1 where too few are above the least.
//
// Column first + i is not its own relative. Of equal ones, but for rounding, the later ones in `order`
// are kept.
inline void keep_largest(Matrix<const double> values, Int first, Ints order, Matrix<Int> out) {
  if (out.shape(1) == 0) return;
  Largest largest(out.shape(1));
  for (Int i = 0; i < values.shape(0); ++i) {
    const Floats row = values[i];
    largest.start(out[i]);
    for (Int j : order)
      if (j != first + i) largest.offer(j, row[j]);
  }
}

// Fill out[i] with the items of the largest χ² with item first + i, as `keep_largest` does, from baskets.
//
// `rank` has the place of each item in the order. `by_count` lists items by falling count, of equal ones
// those of later rank first: of the items that share no row with one, the most frequent are related most.
inline void relate_items(const counts::Baskets& baskets, Ints by_count, Ints rank, Int first, Matrix<Int> out) {
  const Int k = out.shape(1);
  if (k == 0) return;
  Pulse pulse;
  counts::Companions companions(baskets);
  Largest largest(k);
  std::vector<std::pair<double, Int>> values;
  const double total = double(baskets.n_rows());
  for (Int i = 0; i < out.shape(0); ++i) {
    const Int item = first + i;
    companions.meet(item, pulse);
    const double absent = total - double(baskets.count(item));
    const auto related = [&](Int j) {
      const double with = double(baskets.count(j)), without = total - with;
      const double neither = absent - with + double(companions.shared(j));
      const double gap = neither * total - absent * without;
      const double margins = absent * (total - absent) * (without * with);
      return margins > 0.0 ? gap * gap * total / margins : 0.0;
    };
    values.clear();
    for (Int j : companions.met)
      if (j != item) values.emplace_back(related(j), j);
    Int strangers = 0;
    for (Int place = 0; place < by_count.size() && strangers < k; ++place) {
      const Int j = by_count[place];
      if (j == item || companions.shared(j) > 0) continue;
      values.emplace_back(related(j), j);
      ++strangers;
    }
    if (Int(values.size()) > k) {
      std::nth_element(values.begin(), values.begin() + (k - 1), values.end(), std::greater<>());
      const double least = values[k - 1].first * (1.0 - 2.0 * ROUNDING * double(k + 1));
      std::erase_if(values, [&](const auto& pair) { return pair.first < least; });
    }
    std::sort(values.begin(), values.end(), [&](const auto& a, const auto& b) { return rank[a.second] < rank[b.second]; });
    largest.start(out[i]);
    for (const auto& [value, j] : values) largest.offer(j, value);
  }
}

}  // namespace cp::independence
