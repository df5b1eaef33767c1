// Trees over binned columns, and the leaf of a row.
//
// A tree is a row of four arrays: the column of each node (−1 for a leaf), its first child (the second one follows) or the
// number of the leaf, the bins that go to the first child as a set of 256 bits, and the gain of the split.
#pragma once
#include "base/view.hpp"

namespace cp::boosting {

using Bin = std::uint8_t;
constexpr Int MOST_BINS = 256;
constexpr Int BIN_WORDS = MOST_BINS / 64;

inline bool holds(const Word* set, Bin bin) { return set[bin >> 6] >> (bin & 63) & 1; }
inline void insert(Word* set, Bin bin) { set[bin >> 6] |= Word(1) << (bin & 63); }

// A tree that is read.
struct TreeView {
  Vector<const std::int16_t> column, child;  // of each node
  Matrix<const Word> goes_first;

  // The number of the leaf that a row of bins reaches.
  Int leaf_of(const Bin* bins) const {
    Int node = 0;
    while (column[node] >= 0) node = child[node] + !holds(goes_first[node].data, bins[column[node]]);
    return child[node];
  }
};

// A tree that is grown.
struct Tree {
  Vector<std::int16_t> column, child;
  Matrix<Word> goes_first;
  Vector<float> gain;

  operator TreeView() const { return {column, child, goes_first}; }
};

struct Trees {
  Matrix<std::int16_t> column, child;  // (trees, nodes)
  View<Word, 3> goes_first;
  Matrix<float> gain;
  View<float, 3> values;  // (trees, leaves, scores)
  static constexpr const char* fields = "column[t,nodes] child[t,nodes] goes_first[t,nodes,4] gain[t,nodes] values[t,leaves,s]";

  Tree operator[](Int t) const { return {column[t], child[t], goes_first[t], gain[t]}; }
};

// The same arrays, to read.
struct TreesView {
  Matrix<const std::int16_t> column, child;
  View<const Word, 3> goes_first;
  Matrix<const float> gain;
  View<const float, 3> values;
  static constexpr const char* fields = Trees::fields;

  TreeView operator[](Int t) const { return {column[t], child[t], goes_first[t]}; }
};

// Add the values of the first `count` trees to the scores of rows of bins.
inline void add_scores(Matrix<const Bin> bins, const TreesView& trees, Int count, Matrix<double> scores) {
  const Int n_scores = scores.shape(1);
  for (Int t = 0; t < count; ++t) {
    const TreeView tree = trees[t];
    const Matrix<const float> values = trees.values[t];
    for (Int i = 0; i < bins.shape(0); ++i) {
      const float* value = values[tree.leaf_of(bins[i].data)].data;
      double* score = scores[i].data;
      for (Int c = 0; c < n_scores; ++c) score[c] += double(value[c]);
    }
  }
}

}  // namespace cp::boosting
