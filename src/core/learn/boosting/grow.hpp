// Trees that are grown best leaf first, with at most `most_columns` different columns on a path.
#pragma once
#include <vector>

#include "base/pulse.hpp"
#include "learn/boosting/split.hpp"

namespace cp::boosting {

constexpr double LEAST_GAIN = 1e-6;

struct Shape {
  Int most_leaves;
  Int most_columns;            // different columns on a path
  Ragged<const Int> together;  // sets of columns that a path may stay within; none: any
};

template <int WIDTH>
class Grower {
 public:
  Grower(Matrix<const Bin> bins, Ints n_bins, Flags numeric, const SplitRule& rule, const Shape& shape, float least)
      : bins_(bins), n_bins_(n_bins), rule_(rule), shape_(shape), least_(least), search_(rule, numeric),
        place_(bins.shape(1)), on_path_(bins.shape(1)) {}

  // Grow a tree on `rows`, which are put into the order of its leaves; returns the number of leaves.
  Int grow(Vector<const Sums<WIDTH>> gradients, Vector<std::int32_t> rows, Ints columns, const Tree& tree) {
    const ActiveColumns active = activate(columns, n_bins_);
    place_.fill(-1);
    for (Int a = 0; a < active.size(); ++a) place_[active.columns[a]] = a;
    room_.resize((shape_.most_leaves + 1) * active.n_bins());
    nodes_.clear();
    tree.column.fill(-1);
    tree.child.fill(0);
    tree.gain.fill(0.0f);
    nodes_.push_back({0, rows.size(), 0, {}, {}, {}});
    find_allowed(nodes_[0], active);
    count(gradients, rows, active, nodes_[0], nodes_[0].allowed);
    nodes_[0].split = search_.best(histogram(active, 0), active, view(nodes_[0].allowed));
    Int leaves = 1, slots = 1;
    while (leaves < shape_.most_leaves) {
      const Int at = best_leaf(tree);
      if (at < 0) break;
      divide(tree, at, rows, active);
      leaves += 1;
      if (leaves < shape_.most_leaves) slots = prepare(tree, at, gradients, rows, active, slots);
    }
    Int leaf = 0;
    for (Int v = 0; v < Int(nodes_.size()); ++v)
      if (tree.column[v] < 0) tree.child[v] = std::int16_t(leaf++);
    return leaf;
  }

 private:
  struct Node {
    Int from, to;  // its rows
    Int slot;      // of its histogram
    std::vector<Int> path;     // its different columns
    std::vector<Int> allowed;  // places among the active columns
    Split split;
  };

  static Ints view(const std::vector<Int>& v) { return {v.data(), {Int(v.size())}}; }
  Vector<Sums<WIDTH>> histogram(const ActiveColumns& active, Int slot) {
    return {room_.data() + slot * active.n_bins(), {active.n_bins()}};
  }

  Int best_leaf(const Tree& tree) const {
    double most = LEAST_GAIN;
    Int best = -1;
    for (Int v = 0; v < Int(nodes_.size()); ++v)
      if (tree.column[v] < 0 && nodes_[v].split.active >= 0 && nodes_[v].split.gain > most) {
        most = nodes_[v].split.gain;
        best = v;
      }
    return best;
  }

  // The active columns on which a node with this path may split.
  void find_allowed(Node& node, const ActiveColumns& active) {
    node.allowed.clear();
    const bool full = Int(node.path.size()) >= shape_.most_columns;
    if (full) {
      for (Int column : node.path)
        if (place_[column] >= 0) node.allowed.push_back(place_[column]);
      std::sort(node.allowed.begin(), node.allowed.end());
      return;
    }
    if (shape_.together.size() == 0) {
      for (Int a = 0; a < active.size(); ++a) node.allowed.push_back(a);
      return;
    }
    on_path_.fill(0);
    for (Int column : node.path) on_path_[column] = 1;
    Array<std::uint8_t, 1> fits(active.size());
    fits.fill(0);
    for (Int s = 0; s < shape_.together.size(); ++s) {
      const Ints set = shape_.together[s];
      Int shared = 0;
      for (Int column : set) shared += on_path_[column];
      if (shared < Int(node.path.size())) continue;
      for (Int column : set)
        if (place_[column] >= 0) fits[place_[column]] = 1;
    }
    for (Int column : node.path)
      if (place_[column] >= 0) fits[place_[column]] = 1;
    for (Int a = 0; a < active.size(); ++a)
      if (fits[a]) node.allowed.push_back(a);
  }

  void count(Vector<const Sums<WIDTH>> gradients, Vector<std::int32_t> rows, const ActiveColumns& active, const Node& node,
             const std::vector<Int>& which) {
    pulse_((node.to - node.from) * Int(which.size() + 1) + active.n_bins());
    count_rows<WIDTH>(bins_, gradients, rows.part(node.from, node.to), active, view(which), histogram(active, node.slot));
  }

  // Make a leaf a node with two leaves, and put its rows in their order.
  void divide(const Tree& tree, Int at, Vector<std::int32_t> rows, const ActiveColumns& active) {
    const Node node = nodes_[at];
    const Int column = active.columns[node.split.active];
    tree.column[at] = std::int16_t(column);
    tree.child[at] = std::int16_t(nodes_.size());
    tree.gain[at] = float(node.split.gain);
    std::copy(node.split.goes_first.begin(), node.split.goes_first.end(), tree.goes_first[at].begin());
    Int first = node.from;
    spare_.clear();
    for (Int r = node.from; r < node.to; ++r) {
      const std::int32_t i = rows[r];
      if (holds(node.split.goes_first.data(), bins_(i, column))) rows[first++] = i;
      else spare_.push_back(i);
    }
    std::copy(spare_.begin(), spare_.end(), rows.begin() + first);
    std::vector<Int> path = node.path;
    if (std::find(path.begin(), path.end(), column) == path.end()) path.push_back(column);
    nodes_.push_back({node.from, first, node.slot, path, {}, {}});
    nodes_.push_back({first, node.to, node.slot, path, {}, {}});
  }

  // Count the smaller child, take the larger one by difference, and find the best split of both.
  Int prepare(const Tree& tree, Int at, Vector<const Sums<WIDTH>> gradients, Vector<std::int32_t> rows,
              const ActiveColumns& active, Int slots) {
    Node &a = nodes_[tree.child[at]], &b = nodes_[tree.child[at] + 1];
    find_allowed(a, active);
    b.allowed = a.allowed;
    Node& smaller = a.to - a.from <= b.to - b.from ? a : b;
    Node& larger = &smaller == &a ? b : a;
    smaller.slot = slots;
    count(gradients, rows, active, smaller, smaller.allowed);
    subtract<WIDTH>(histogram(active, larger.slot), histogram(active, smaller.slot), active, view(larger.allowed),
                    rule_.channels, least_);
    for (Node* node : {&a, &b}) node->split = search_.best(histogram(active, node->slot), active, view(node->allowed));
    return slots + 1;
  }

  Matrix<const Bin> bins_;
  Ints n_bins_;
  SplitRule rule_;
  Shape shape_;
  float least_;
  SplitSearch<WIDTH> search_;
  Array<Int, 1> place_, on_path_;
  std::vector<Sums<WIDTH>> room_;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> spare_;
  Pulse pulse_;
};

}  // namespace cp::boosting
