// A DAG with a topological order that is kept up to date (Pearce & Kelly 2007), and a journal to go back to an earlier one.
//
// An edge that agrees with the order closes no cycle; otherwise the nodes between its ends are searched, and those that are
// reached trade places. Of few nodes, what each one reaches is kept as well, so that a question is one look.
#pragma once
#include <unordered_map>

#include "learn/search/rows.hpp"

namespace cp::search {

constexpr Node REACH_NODES = 1024;  // up to so many, a matrix of what they reach is kept

class OrderedDag {
 public:
  explicit OrderedDag(const Dag& dag) : parents_(dag), children_(dag.size()), place_(dag.size()), seen_(dag.size(), 0), seen_behind_(dag.size(), 0) {
    Nodes missing(n(), 0), ready;
    for (Node v = 0; v < n(); ++v)
      for (Node p : dag[v]) {
        children_[p].push_back(v);
        ++missing[v];
      }
    for (Node v = 0; v < n(); ++v)
      if (missing[v] == 0) ready.push_back(v);
    for (std::size_t k = 0; k < ready.size(); ++k) {
      place_[ready[k]] = Node(k);
      for (Node c : children_[ready[k]])
        if (--missing[c] == 0) ready.push_back(c);
    }
    if (n() > REACH_NODES) return;
    words_ = (n() + 63) / 64;
    reach_.assign(n() * words_, 0);
    for (std::size_t k = ready.size(); k-- > 0;) renew_reach(ready[k]);
  }

  Node n() const { return Node(parents_.size()); }
  const Dag& all_parents() const { return parents_; }
  const Nodes& parents(Node v) const { return parents_[v]; }
  const Nodes& children(Node v) const { return children_[v]; }

  bool is_before(Node x, Node y) const { return place_[x] < place_[y]; }

  // Whether x → y closes no cycle.
  bool fits(Node x, Node y) { return is_before(x, y) || !(words_ > 0 ? has(reach(y), x) : has_path(y, x, false)); }

  // Whether x → y can be turned: no other path leads from x to y.
  bool can_turn(Node x, Node y) {
    if (words_ == 0) return !has_path(x, y, true);
    return std::none_of(children_[x].begin(), children_[x].end(), [&](Node c) { return c != y && has(reach(c), y); });
  }

  // Give y other parents, without a cycle.
  void set_parents(Node y, const Nodes& family) {
    if (keeping_) former_.try_emplace(y, parents_[y]);
    bool drops = false;
    for (Node x : parents_[y]) {
      if (holds(family, x)) continue;
      drop(children_[x], y);
      drops = true;
    }
    if (drops && words_ > 0) {
      Nodes above;
      for (Node u = 0; u < n(); ++u)
        if (u != y && has(reach(u), y)) above.push_back(u);
      std::sort(above.begin(), above.end(), [&](Node a, Node b) { return place_[a] > place_[b]; });
      for (Node u : above) renew_reach(u);
    }
    for (Node x : family) {
      if (holds(parents_[y], x)) continue;
      make_room(x, y);
      children_[x].push_back(y);
      for (Node u = 0; words_ > 0 && u < n(); ++u)
        if (has(reach(u), x)) unite(reach(u), reach(y));
    }
    parents_[y] = family;
  }

  // From here on, `undo` comes back to this DAG.
  void keep() {
    former_.clear();
    former_place_.clear();
    former_reach_ = reach_;
    keeping_ = true;
  }
  // The nodes whose parents were set since `keep`, ascending, and what their parents were.
  Nodes changed() const {
    Nodes nodes;
    for (const auto& [y, family] : former_) nodes.push_back(y);
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }
  void undo() {
    keeping_ = false;
    for (const auto& [y, family] : former_) {
      for (Node x : parents_[y]) drop(children_[x], y);
      parents_[y] = family;
      for (Node x : family) children_[x].push_back(y);
    }
    for (std::size_t k = former_place_.size(); k-- > 0;) place_[former_place_[k].first] = former_place_[k].second;
    reach_ = former_reach_;
    former_.clear();
    former_place_.clear();
  }

 private:
  Dag parents_, children_;
  Nodes place_;
  std::vector<Int> seen_;
  Int clock_ = 0;
  bool keeping_ = false;
  std::unordered_map<Node, Nodes> former_;
  std::vector<std::pair<Node, Node>> former_place_;  // (node, place), oldest first
  Int words_ = 0;            // of a row of `reach_`; 0 without it
  std::vector<Word> reach_;  // row u: u and its descendants
  std::vector<Word> former_reach_;

  Vector<Word> reach(Node u) { return {reach_.data() + u * words_, {words_}}; }
  void renew_reach(Node u) {
    reach(u).fill(0);
    reach(u)[u >> 6] |= bit(u);
    for (Node c : children_[u]) unite(reach(u), reach(c));
  }

  std::vector<Int> seen_behind_;
  Nodes ahead_, behind_, next_;

  // Whether a path leads from x to y, other than the edge between them if it is `indirect`; searched from both ends.
  bool has_path(Node x, Node y, bool indirect) {
    ++clock_;
    ahead_.assign(1, x);
    behind_.assign(1, y);
    seen_[x] = seen_behind_[y] = clock_;
    const auto spread = [&](Nodes& front, const Dag& lists, std::vector<Int>& seen, const std::vector<Int>& goal, Node start, Node end) {
      next_.clear();
      for (Node v : front)
        for (Node u : lists[v]) {
          if (indirect && v == start && u == end) continue;
          if (goal[u] == clock_) return true;
          if (seen[u] == clock_ || place_[u] <= place_[x] || place_[u] >= place_[y]) continue;
          seen[u] = clock_;
          next_.push_back(u);
        }
      front.swap(next_);
      return false;
    };
    while (!ahead_.empty() && !behind_.empty())
      if (ahead_.size() <= behind_.size() ? spread(ahead_, children_, seen_, seen_behind_, x, y)
                                          : spread(behind_, parents_, seen_behind_, seen_, y, x))
        return true;
    return false;
  }

  // The nodes that `lists` lead to from v, itself included, as far as `inside` holds of their places.
  template <class Inside>
  Nodes gathered(Node v, const Dag& lists, Inside inside) {
    ++clock_;
    Nodes found{v};
    seen_[v] = clock_;
    for (std::size_t k = 0; k < found.size(); ++k)
      for (Node u : lists[found[k]]) {
        if (!inside(place_[u]) || seen_[u] == clock_) continue;
        seen_[u] = clock_;
        found.push_back(u);
      }
    std::sort(found.begin(), found.end(), [&](Node a, Node b) { return place_[a] < place_[b]; });
    return found;
  }

  // Bring the order in line with x → y, which closes no cycle.
  void make_room(Node x, Node y) {
    if (place_[x] < place_[y]) return;
    Nodes before = gathered(x, parents_, [&](Node place) { return place > place_[y]; });
    const Nodes after = gathered(y, children_, [&](Node place) { return place < place_[x]; });
    before.insert(before.end(), after.begin(), after.end());
    Nodes places;
    for (Node v : before) places.push_back(place_[v]);
    std::sort(places.begin(), places.end());
    for (std::size_t k = 0; k < before.size(); ++k) {
      if (keeping_) former_place_.push_back({before[k], place_[before[k]]});
      place_[before[k]] = places[k];
    }
  }
};

}  // namespace cp::search
