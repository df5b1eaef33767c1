// The CPDAG of a search as short lists, mended where a move changed it.
//
// A move queues the edges that it may have changed. Then every arrow that is not strongly protected (Andersson,
// Madigan & Perlman 1997) becomes a line, to the end; only then lines are directed by Meek's rules 1 to 3, to the end.
// All arrows agree with one DAG, so what survives the first phase is compelled, by induction along its order. In one
// mixed queue a stale arrow could direct others, and false colliders could hold each other up.
#pragma once
#include <queue>

#include "learn/search/rows.hpp"

namespace cp::search {

class Cpdag {
 public:
  explicit Cpdag(Int n) : parents(n), children(n), neighbors(n) {}

  std::vector<Nodes> parents, children, neighbors;

  Int n() const { return Int(parents.size()); }
  std::size_t degree(Node v) const { return parents[v].size() + children[v].size() + neighbors[v].size(); }
  bool adjacent(Node x, Node y) const {
    if (degree(x) > degree(y)) std::swap(x, y);
    return holds(parents[x], y) || holds(neighbors[x], y) || holds(children[x], y);
  }
  bool has_arrow(Node x, Node y) const {
    return parents[y].size() <= children[x].size() ? holds(parents[y], x) : holds(children[x], y);
  }
  bool has_line(Node x, Node y) const {
    return neighbors[x].size() <= neighbors[y].size() ? holds(neighbors[x], y) : holds(neighbors[y], x);
  }
  void add_arrow(Node x, Node y) {
    parents[y].push_back(x);
    children[x].push_back(y);
  }
  void cut_arrow(Node x, Node y) {
    drop(parents[y], x);
    drop(children[x], y);
  }
  void add_line(Node x, Node y) {
    neighbors[x].push_back(y);
    neighbors[y].push_back(x);
  }
  void cut_line(Node x, Node y) {
    drop(neighbors[x], y);
    drop(neighbors[y], x);
  }

  void queue_edge(Node x, Node y) { queue_.push_back({x, y}); }
  void queue_edges_at(Node v) {
    for (Node z : parents[v]) queue_edge(z, v);
    for (Node z : children[v]) queue_edge(v, z);
    for (Node z : neighbors[v]) queue_edge(v, z);
  }

  // Mend the queued edges; changed(v) is called for the ends of each edge that turns.
  template <class Changed>
  void mend(Changed changed) {
    std::vector<std::pair<Node, Node>> lines;
    while (!queue_.empty()) {
      auto [x, y] = queue_.back();
      queue_.pop_back();
      if (has_arrow(y, x)) std::swap(x, y);
      if (!has_arrow(x, y)) {
        if (has_line(x, y)) lines.push_back({x, y});
        continue;
      }
      if (compelled(x, y, true)) continue;
      cut_arrow(x, y);
      add_line(x, y);
      changed(x);
      changed(y);
      queue_edges_at(x);
      queue_edges_at(y);
    }
    while (!lines.empty()) {
      auto [x, y] = lines.back();
      lines.pop_back();
      if (!has_line(x, y)) continue;
      if (compelled(y, x, false)) std::swap(x, y);
      else if (!compelled(x, y, false)) continue;
      cut_line(x, y);
      add_arrow(x, y);
      changed(x);
      changed(y);
      for (Node z : neighbors[x]) lines.push_back({x, z});
      for (Node z : neighbors[y]) lines.push_back({y, z});
    }
  }

  void set_dag(const Dag& dag) {
    for (Node y = 0; y < Node(dag.size()); ++y)
      for (Node x : dag[y]) add_arrow(x, y);
    for (Node y = 0; y < Node(dag.size()); ++y)
      for (Node x : dag[y]) queue_edge(x, y);
    mend([](Node) {});
  }

  // The parents in one member, ascending: maximum cardinality search in each chain component.
  Dag member() const {
    Dag dag(parents);
    std::vector<Node> weight(n(), 0);
    std::vector<char> done(n(), 0);
    std::priority_queue<std::pair<Node, Node>> heap;  // (weight, −node)
    for (Node start = 0; start < n(); ++start) {
      if (done[start] || neighbors[start].empty()) continue;
      heap.push({0, -start});
      while (!heap.empty()) {
        const auto [w, minus] = heap.top();
        heap.pop();
        const Node v = -minus;
        if (done[v] || w < weight[v]) continue;
        done[v] = 1;
        for (Node u : neighbors[v]) {
          if (done[u]) dag[v].push_back(u);
          else heap.push({++weight[u], -u});
        }
      }
    }
    for (Nodes& list : dag) std::sort(list.begin(), list.end());
    return dag;
  }

 private:
  std::vector<std::pair<Node, Node>> queue_;

  // Whether x → y is strongly protected, or x – y must become x → y: for a line a collider at y is no reason.
  bool compelled(Node x, Node y, bool is_arrow) const {
    for (Node z : parents[x])
      if (z != y && !adjacent(z, y)) return true;
    for (Node z : parents[y]) {
      if (z == x) continue;
      if (is_arrow && !adjacent(z, x)) return true;
      if (has_arrow(x, z)) return true;
    }
    const Nodes& into = parents[y];
    for (std::size_t a = 0; a < into.size(); ++a) {
      const Node z = into[a];
      if (z == x || !has_line(x, z)) continue;
      for (std::size_t b = a + 1; b < into.size(); ++b) {
        const Node w = into[b];
        if (w != x && has_line(x, w) && !adjacent(z, w)) return true;
      }
    }
    return false;
  }
};

}  // namespace cp::search
