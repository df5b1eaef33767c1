// Node reinsertion in DAG space: take a node out, and add, drop and turn edges around it while that gains.
//
// The order of the nodes is that of Pearce & Kelly (2007): an edge that agrees with it closes no cycle; otherwise
// the nodes between its ends are searched, and those that are reached trade places. What a node's reinsertion did is
// undone if it did not gain.
#pragma once
#include <unordered_map>

#include "learn/wide/rows.hpp"

namespace cp::wide {

constexpr Int MAX_CHILDREN = 200;      // nodes with more are left where they are
constexpr Int MAX_REINSERT_STEPS = 200;

class Reinsertion {
 public:
  Reinsertion(Rows& rows, const std::vector<Nodes>& dag)
      : parents(dag), rows_(rows), n_(Node(dag.size())), children_(n_), place_(n_), seen_(n_, 0), scores_(n_) {
    Nodes missing(n_, 0), ready;
    for (Node v = 0; v < n_; ++v)
      for (Node p : parents[v]) {
        children_[p].push_back(v);
        ++missing[v];
      }
    for (Node v = 0; v < n_; ++v)
      if (missing[v] == 0) ready.push_back(v);
    for (std::size_t k = 0; k < ready.size(); ++k) {
      const Node v = ready[k];
      place_[v] = Node(k);
      for (Node c : children_[v])
        if (--missing[c] == 0) ready.push_back(c);
    }
    for (Node v = 0; v < n_; ++v) scores_[v] = rows_.get(v, parents[v]).score;
  }

  std::vector<Nodes> parents;

  Int n_gains = 0;

  // One pass over all nodes; whether one gained. If a row is interrupted, the present node is put back.
  bool pass() {
    const Int before = n_gains;
    for (Node v = 0; v < n_; ++v) {
      if ((parents[v].empty() && children_[v].empty()) || Int(children_[v].size()) > MAX_CHILDREN) continue;
      try {
        if (reinsert(v)) ++n_gains;
        else undo();
      } catch (...) {
        undo();
        throw;
      }
    }
    return n_gains > before;
  }

 private:
  enum Kind { ADD, DROP, TURN };
  struct Change {
    double gain;
    Kind kind;
    Node parent, child;
  };

  Rows& rows_;
  Node n_;
  std::vector<Nodes> children_;
  Nodes place_;
  std::vector<Int> seen_;
  Int clock_ = 0;
  std::vector<double> scores_;
  struct Former {
    Nodes parents;
    double score;
  };
  std::unordered_map<Node, Former> former_;       // families as they were before this reinsertion
  std::vector<std::pair<Node, Node>> former_place_;  // (node, place), oldest first

  // Whether x → y closes no cycle; if it does not, `make` room for it in the order.
  bool fits(Node x, Node y, bool make) {
    if (place_[x] < place_[y]) return true;
    ++clock_;
    Nodes after{y};
    seen_[y] = clock_;
    for (std::size_t k = 0; k < after.size(); ++k)
      for (Node c : children_[after[k]]) {
        if (c == x) return false;
        if (place_[c] >= place_[x] || seen_[c] == clock_) continue;
        seen_[c] = clock_;
        after.push_back(c);
      }
    if (!make) return true;
    ++clock_;
    Nodes before{x};
    seen_[x] = clock_;
    for (std::size_t k = 0; k < before.size(); ++k)
      for (Node p : parents[before[k]]) {
        if (place_[p] <= place_[y] || seen_[p] == clock_) continue;
        seen_[p] = clock_;
        before.push_back(p);
      }
    const auto earlier = [&](Node a, Node b) { return place_[a] < place_[b]; };
    std::sort(before.begin(), before.end(), earlier);
    std::sort(after.begin(), after.end(), earlier);
    before.insert(before.end(), after.begin(), after.end());
    Nodes places;
    for (Node v : before) places.push_back(place_[v]);
    std::sort(places.begin(), places.end());
    for (std::size_t k = 0; k < before.size(); ++k) {
      former_place_.push_back({before[k], place_[before[k]]});
      place_[before[k]] = places[k];
    }
    return true;
  }

  // Whether x → y can turn: no other path leads from x to y.
  bool can_turn(Node x, Node y) {
    ++clock_;
    Nodes front{x};
    seen_[x] = clock_;
    for (std::size_t k = 0; k < front.size(); ++k)
      for (Node c : children_[front[k]]) {
        if (c == y && front[k] == x) continue;
        if (c == y) return false;
        if (place_[c] >= place_[y] || seen_[c] == clock_) continue;
        seen_[c] = clock_;
        front.push_back(c);
      }
    return true;
  }

  // Give y other parents. The row comes first: if it is interrupted, nothing has changed.
  void set_parents(Node y, Nodes family) {
    std::sort(family.begin(), family.end());
    const double score = rows_.get(y, family).score;
    former_.try_emplace(y, Former{parents[y], scores_[y]});
    replace(y, std::move(family), score);
  }
  void replace(Node y, Nodes family, double score) {
    for (Node x : parents[y]) drop(children_[x], y);
    parents[y] = std::move(family);
    for (Node x : parents[y]) children_[x].push_back(y);
    scores_[y] = score;
  }
  void add_parent(Node y, Node x) {
    Nodes family = parents[y];
    family.push_back(x);
    set_parents(y, std::move(family));
  }
  void drop_parent(Node y, Node x) {
    Nodes family = parents[y];
    drop(family, x);
    set_parents(y, std::move(family));
  }

  void undo() {
    for (auto& [y, was] : former_) replace(y, was.parents, was.score);
    for (std::size_t k = former_place_.size(); k-- > 0;) place_[former_place_[k].first] = former_place_[k].second;
    former_.clear();
    former_place_.clear();
  }

  void improve(Node y, Change& best) {
    const Row row = rows_.get(y, parents[y]);  // a copy: turns ask for other rows
    for (const Gain& add : row.adds) {
      if (add.gain <= best.gain) break;
      if (holds(parents[add.node], y) || !fits(add.node, y, false)) continue;
      best = {add.gain, ADD, add.node, y};
      break;
    }
    for (std::size_t k = 0; k < parents[y].size(); ++k) {
      const Node x = parents[y][k];
      if (row.drops[k] > best.gain) best = {row.drops[k], DROP, x, y};
      const auto& adds = rows_.get(x, parents[x]).adds;
      const auto add = std::find_if(adds.begin(), adds.end(), [&](const Gain& g) { return g.node == y; });
      if (add == adds.end() || row.drops[k] + add->gain <= best.gain + TOLERANCE || !can_turn(x, y)) continue;
      best = {row.drops[k] + add->gain, TURN, x, y};
    }
  }

  bool reinsert(Node v) {
    former_.clear();
    former_place_.clear();
    Nodes active{v};
    active.insert(active.end(), children_[v].begin(), children_[v].end());
    active.insert(active.end(), parents[v].begin(), parents[v].end());
    const Nodes kids = children_[v];
    set_parents(v, {});
    for (Node c : kids) drop_parent(c, v);
    for (Int step = 0; step < MAX_REINSERT_STEPS; ++step) {
      Change best{10 * TOLERANCE, ADD, -1, -1};
      for (Node y : active) improve(y, best);
      const auto [gain, kind, x, y] = best;
      if (x < 0) break;
      if (kind == ADD) {
        fits(x, y, true);
        add_parent(y, x);
      } else {
        drop_parent(y, x);
        if (kind == TURN) {
          fits(y, x, true);
          add_parent(x, y);
        }
      }
      for (Node end : {x, y})
        if ((end == y || kind == TURN) && !holds(active, end)) active.push_back(end);
    }
    double change = 0.0;
    Nodes changed;
    for (const auto& [y, was] : former_) changed.push_back(y);
    std::sort(changed.begin(), changed.end());  // the order of a sum is part of it
    for (Node y : changed) change += scores_[y] - former_[y].score;
    if (change <= 1e-4) return false;
    former_.clear();
    former_place_.clear();
    return true;
  }
};

}  // namespace cp::wide
