// Sums of gradients by bin of each active column.
//
// A row has WIDTH numbers (4 or 8): its gradients, then its curvature at `channels`, then its weight; the rest is 0.
#pragma once
#include "base/view.hpp"
#include "learn/boosting/tree.hpp"

namespace cp::boosting {

template <int WIDTH>
struct Sums {
  float at[WIDTH];
};

// The columns that a tree may use, and where their bins lie in a histogram.
struct ActiveColumns {
  Array<Int, 1> columns, first_bin;  // first_bin has one item more
  Int size() const { return columns.size(); }
  Int n_bins() const { return first_bin[size()]; }
};

inline ActiveColumns activate(Ints columns, Ints n_bins) {
  ActiveColumns active{Array<Int, 1>(columns), Array<Int, 1>(columns.size() + 1)};
  active.first_bin[0] = 0;
  for (Int a = 0; a < columns.size(); ++a) active.first_bin[a + 1] = active.first_bin[a] + n_bins[columns[a]];
  return active;
}

// Count the rows into the bins of the active columns `which`; the bins of other columns are left as they are.
template <int WIDTH>
void count_rows(Matrix<const Bin> bins, Vector<const Sums<WIDTH>> gradients, Vector<const std::int32_t> rows,
                const ActiveColumns& active, Ints which, Vector<Sums<WIDTH>> histogram) {
  for (Int a : which)
    for (Sums<WIDTH>& sums : histogram.part(active.first_bin[a], active.first_bin[a + 1])) sums = {};
  Array<Int, 1> columns(which.size()), firsts(which.size());
  for (Int k = 0; k < which.size(); ++k) columns[k] = active.columns[which[k]], firsts[k] = active.first_bin[which[k]];
  const Int n = which.size();
  for (std::int32_t i : rows) {
    const Bin* bin = bins[i].data;
    const Sums<WIDTH> own = gradients[i];
    for (Int k = 0; k < n; ++k) {
      float* sums = histogram[firsts[k] + bin[columns[k]]].at;
      for (int c = 0; c < WIDTH; ++c) sums[c] += own.at[c];
    }
  }
}

// Subtract a child's histogram from its parent's: the other child's. What rounding leaves of an empty bin is removed.
template <int WIDTH>
void subtract(Vector<Sums<WIDTH>> histogram, Vector<const Sums<WIDTH>> child, const ActiveColumns& active, Ints which,
              Int channels, float least) {
  for (Int a : which)
    for (Int b = active.first_bin[a]; b < active.first_bin[a + 1]; ++b) {
      Sums<WIDTH>& sums = histogram[b];
      for (int c = 0; c < WIDTH; ++c) sums.at[c] -= child[b].at[c];
      if (sums.at[channels + 1] < least) sums = {};
    }
}

}  // namespace cp::boosting
