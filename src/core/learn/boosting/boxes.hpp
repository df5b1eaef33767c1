// Leaves as boxes over few columns, and the parts of a sum of boxes that belong to each set of columns.
//
// The indicator of a box is Π_j 1_j, one factor for each column. With p_j the share of rows that are in the box by column j,
// 1_j = (1_j − p_j) + p_j, so the product is a sum over subsets T of Π_{j in T} (1_j − p_j) Π_{j not in T} p_j. The part of
// T has the mean zero over each of its columns, if columns are independent: it is pure.
#pragma once
#include "base/pulse.hpp"
#include "learn/boosting/tree.hpp"

namespace cp::boosting {

constexpr Int MOST_BOX_COLUMNS = 8;

struct Boxes {
  Matrix<Int> columns;  // (boxes, columns), rising, filled up with −1
  View<Word, 3> bins;   // the bins of each column
  static constexpr const char* fields = "columns[boxes,q] bins[boxes,q,4]";
};

// Fill the boxes of all leaves, tree after tree, in the order of their numbers; returns how many there are, or −1 if a
// path has more columns than there is room for.
inline Int list_boxes(const TreesView& trees, const Boxes& boxes) {
  const Int q = boxes.columns.shape(1);
  struct Item {
    Int node, size;
    std::array<Int, MOST_BOX_COLUMNS> columns;
    std::array<std::array<Word, BIN_WORDS>, MOST_BOX_COLUMNS> bins;
  };
  Int first = 0;
  std::vector<Item> stack;
  for (Int t = 0; t < trees.column.shape(0); ++t) {
    const TreeView tree = trees[t];
    Int leaves = 0;
    stack.assign(1, Item{0, 0, {}, {}});
    while (!stack.empty()) {
      const Item item = stack.back();
      stack.pop_back();
      const Int column = tree.column[item.node];
      if (column < 0) {
        const Int box = first + tree.child[item.node];
        leaves += 1;
        for (Int k = 0; k < q; ++k) {
          boxes.columns(box, k) = k < item.size ? item.columns[k] : -1;
          for (Int w = 0; w < BIN_WORDS; ++w) boxes.bins(box, k, w) = k < item.size ? item.bins[k][w] : ~Word(0);
        }
        continue;
      }
      for (int second = 0; second < 2; ++second) {
        Item next = item;
        next.node = tree.child[item.node] + second;
        Int k = 0;
        while (k < next.size && next.columns[k] < column) ++k;
        if (k == next.size || next.columns[k] != column) {
          if (next.size == std::min(q, MOST_BOX_COLUMNS)) return -1;
          for (Int other = next.size; other > k; --other)
            next.columns[other] = next.columns[other - 1], next.bins[other] = next.bins[other - 1];
          next.size += 1;
          next.columns[k] = column;
          next.bins[k].fill(~Word(0));
        }
        for (Int w = 0; w < BIN_WORDS; ++w)
          next.bins[k][w] &= second ? ~tree.goes_first(item.node, w) : tree.goes_first(item.node, w);
        stack.push_back(next);
      }
    }
    first += leaves;
  }
  return first;
}

// Add to `out`, (parts, rows, scores), the pure parts of all boxes. `shares` are the p_j, and `parts[box, T]` is the place in
// `out` of the subset T of the box's columns (bit j for its column j), −1 where it is not wanted.
inline void add_parts(Matrix<const Bin> rows, const Boxes& boxes, Matrix<const double> shares, Matrix<const float> values,
                      Matrix<const Int> parts, View<double, 3> out) {
  const Int n = rows.shape(0), n_scores = values.shape(1);
  Array<double, 2> factors(MOST_BOX_COLUMNS, n);  // 1_j − p_j of each row
  Array<double, 1> products(n);
  Pulse pulse;
  for (Int b = 0; b < boxes.columns.shape(0); ++b) {
    Int q = 0;
    while (q < boxes.columns.shape(1) && boxes.columns(b, q) >= 0) ++q;
    pulse(n << q);
    for (Int j = 0; j < q; ++j)
      for (Int i = 0; i < n; ++i) factors(j, i) = double(holds(&boxes.bins(b, j, 0), rows(i, boxes.columns(b, j)))) - shares(b, j);
    for (Int subset = 0; subset < Int(1) << q; ++subset) {
      const Int part = parts(b, subset);
      if (part < 0) continue;
      double constant = 1.0;
      for (Int j = 0; j < q; ++j)
        if (!(subset >> j & 1)) constant *= shares(b, j);
      products.fill(constant);
      for (Int j = 0; j < q; ++j)
        if (subset >> j & 1)
          for (Int i = 0; i < n; ++i) products[i] *= factors(j, i);
      for (Int i = 0; i < n; ++i)
        for (Int c = 0; c < n_scores; ++c) out(part, i, c) += products[i] * double(values(b, c));
    }
  }
}

// Add the boxes `which`, all of which have the columns `face`, to a table over these columns, (cells, scores): an axis has a
// cell for each of its bins `at`, and a last one for the mean over the column. A box is added where it begins and ends along
// an axis, so that running sums over the cells but the last complete the table.
inline void add_edges(const Boxes& boxes, Matrix<const double> shares, Matrix<const float> values, Ints which, Ints face,
                      Ints at, Ints at_from, Matrix<double> out) {
  struct Corner {
    Int cell;
    double factor;
  };
  const Int n_scores = values.shape(1), q = boxes.columns.shape(1);
  const Ragged<const Int> cells{at, at_from};
  std::vector<Corner> corners, next, edges;
  Pulse pulse;
  for (Int b : which) {
    corners.assign(1, {0, 1.0});
    Int axis = 0;
    for (Int j = 0; j < q && boxes.columns(b, j) >= 0; ++j) {
      if (axis == face.size() || boxes.columns(b, j) != face[axis]) {
        for (Corner& corner : corners) corner.factor *= shares(b, j);
        continue;
      }
      const Ints bins = cells[axis++];
      edges.clear();
      bool inside = false;
      for (Int k = 0; k < bins.size(); ++k)
        if (holds(&boxes.bins(b, j, 0), Bin(bins[k])) != inside) {
          inside = !inside;
          edges.push_back({k, inside ? 1.0 : -1.0});
        }
      edges.push_back({bins.size(), shares(b, j)});
      next.clear();
      for (const Corner& corner : corners)
        for (const Corner& edge : edges)
          next.push_back({corner.cell * (bins.size() + 1) + edge.cell, corner.factor * edge.factor});
      std::swap(corners, next);
    }
    pulse(Int(corners.size()) * (n_scores + 8));
    for (const Corner& corner : corners)
      for (Int c = 0; c < n_scores; ++c) out(corner.cell, c) += corner.factor * double(values(b, c));
  }
}

}  // namespace cp::boosting
