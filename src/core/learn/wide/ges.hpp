// Greedy equivalence search over short lists: a heap of the best move of each node, nothing of size columns².
//
// The entry of a node is a bound, the gain of its best insert whether it is valid or not; what is popped is checked,
// and goes back with its true gain if another bound is higher. Deletes have a heap of their own and go first.
#pragma once
#include "learn/wide/pattern.hpp"

namespace cp::wide {

constexpr Int MAX_CLIQUES = 128;  // of a node's neighbors that are tried

class WideGes {
 public:
  WideGes(Rows& rows, const std::vector<Nodes>& dag)
      : pattern(Int(dag.size())), rows_(rows), n_(Node(dag.size())), version_(n_, 0), seen_from_(n_, 0), seen_to_(n_, 0),
        root_(n_), drops_(n_), is_dirty_(n_, 0), blocked_(n_, 0) {
    for (Node v = 0; v < n_; ++v) root_[v] = v;
    pattern.set_dag(dag);
    for (Node y = 0; y < n_; ++y)
      for (Node x : dag[y]) root_[find(x)] = find(y);
  }

  SparsePattern pattern;
  Int n_moves = 0;

  // Search to the end. If a row is interrupted, the pattern is that of the last move.
  void run() {
    for (Node v = 0; v < n_; ++v) scan(v);
    bool moved = true;
    Nodes waiting;  // nodes whose best insert was not valid
    while (true) {
      while (!deletes_.empty() && deletes_.top().version != version_[deletes_.top().node]) deletes_.pop();
      if (!deletes_.empty()) {
        const Node y = deletes_.top().node;
        deletes_.pop();
        moved = true;
        remove(drops_[y].parent, y, Nodes(drops_[y].clique));
        continue;
      }
      while (!inserts_.empty() && inserts_.top().version != version_[inserts_.top().node]) inserts_.pop();
      if (inserts_.empty()) {
        if (!moved || waiting.empty()) return;
        moved = false;
        for (Node v : waiting) {
          if (!blocked_[v]) continue;
          blocked_[v] = 0;
          scan(v);
        }
        waiting.clear();
        continue;
      }
      const Entry top = inserts_.top();
      inserts_.pop();
      const double next = inserts_.empty() ? 0.0 : inserts_.top().gain;
      const Insert best = best_insert(top.node);
      if (best.gain < top.gain && !blocked_[top.node]) {
        blocked_[top.node] = 1;
        waiting.push_back(top.node);
      }
      if (best.parent < 0) continue;
      if (best.gain >= next) {
        moved = true;
        insert(best.parent, top.node, best.clique);
      } else {
        inserts_.push({best.gain, top.node, top.version});
      }
    }
  }

 private:
  struct Entry {
    double gain;
    Node node;
    Int version;
    bool operator<(const Entry& other) const { return gain < other.gain || (gain == other.gain && node > other.node); }
  };
  struct Insert {
    double gain;
    Node parent;
    Nodes clique;
  };
  struct Drop {
    Node parent = -1;
    Nodes clique;
  };

  Rows& rows_;
  Node n_;
  std::vector<Int> version_;
  std::vector<Int> seen_from_, seen_to_;
  Int clock_ = 0;
  Nodes root_;
  std::priority_queue<Entry> inserts_, deletes_;
  std::vector<Drop> drops_;
  Nodes dirty_;
  std::vector<char> is_dirty_, blocked_;

  Node find(Node v) {
    while (root_[v] != v) v = root_[v] = root_[root_[v]];
    return v;
  }

  // Visit the cliques of y's neighbors, smaller ones first, with the family (parents of y and clique).
  template <class Visit>
  void for_each_clique(Node y, Visit visit) {
    Nodes around = pattern.neighbors[y];
    std::sort(around.begin(), around.end());
    std::vector<std::pair<Nodes, std::size_t>> cliques{{{}, 0}};
    Nodes family;
    for (std::size_t k = 0; k < cliques.size(); ++k) {
      const auto clique = cliques[k];
      family = pattern.parents[y];
      family.insert(family.end(), clique.first.begin(), clique.first.end());
      if (Int(family.size()) > rows_.data.max_parents) continue;
      std::sort(family.begin(), family.end());
      visit(clique.first, family);
      for (std::size_t next = clique.second; next < around.size() && Int(cliques.size()) < MAX_CLIQUES; ++next) {
        const auto joined = [&](Node t) { return pattern.adjacent(t, around[next]); };
        if (!std::all_of(clique.first.begin(), clique.first.end(), joined)) continue;
        cliques.push_back({clique.first, next + 1});
        cliques.back().first.push_back(around[next]);
      }
    }
  }

  // Put the best moves into y on the heaps; older ones die when they are popped.
  void scan(Node y) {
    ++version_[y];
    double bound = 0.0, best = TOLERANCE;
    Drop drop;
    for_each_clique(y, [&](const Nodes& clique, const Nodes& family) {
      const Row& row = rows_.get(y, family);
      for (const Gain& add : row.adds) {
        if (add.gain <= bound) break;
        if (pattern.adjacent(add.node, y)) continue;
        bound = add.gain;
        break;
      }
      for (std::size_t k = 0; k < family.size(); ++k) {
        const Node x = family[k];
        const auto joined = [&](Node t) { return t == x || pattern.adjacent(t, x); };
        if (row.drops[k] <= best || !std::all_of(clique.begin(), clique.end(), joined)) continue;
        best = row.drops[k];
        drop = {x, clique};
      }
    });
    if (drop.parent >= 0) {
      drops_[y] = std::move(drop);
      deletes_.push({best, y, version_[y]});
    }
    if (bound > TOLERANCE) inserts_.push({bound, y, version_[y]});
  }

  Insert best_insert(Node y) {
    Insert best{TOLERANCE, -1, {}};
    for_each_clique(y, [&](const Nodes& clique, const Nodes& family) {
      for (const Gain& add : rows_.get(y, family).adds) {
        if (add.gain <= best.gain) break;
        const Node x = add.node;
        if (pattern.adjacent(x, y)) continue;
        const auto inside = [&](Node t) { return !pattern.adjacent(t, x) || holds(clique, t); };
        const Nodes& around = pattern.neighbors[y];
        if (!std::all_of(around.begin(), around.end(), inside) || has_path(y, x, clique)) continue;
        best = {add.gain, x, clique};
        break;
      }
    });
    return best;
  }

  // Whether a semi-directed path leads from y to x outside of the clique; searched from both ends.
  bool has_path(Node y, Node x, const Nodes& clique) {
    if (find(x) != find(y)) return false;
    ++clock_;
    Nodes ahead{y}, behind{x}, next;
    seen_from_[y] = seen_to_[x] = clock_;
    for (Node t : clique) seen_from_[t] = seen_to_[t] = clock_;
    const auto spread = [&](Nodes& front, const std::vector<Nodes>& along, std::vector<Int>& seen, const std::vector<Int>& goal) {
      next.clear();
      for (Node v : front)
        for (const std::vector<Nodes>* lists : {&along, &std::as_const(pattern.neighbors)})
          for (Node u : (*lists)[v]) {
            if (seen[u] == clock_) continue;
            if (goal[u] == clock_) return true;
            seen[u] = clock_;
            next.push_back(u);
          }
      front.swap(next);
      return false;
    };
    while (!ahead.empty() && !behind.empty())
      if (ahead.size() <= behind.size() ? spread(ahead, pattern.children, seen_from_, seen_to_)
                                        : spread(behind, pattern.parents, seen_to_, seen_from_))
        return true;
    return false;
  }

  void touch(Node v) {
    if (is_dirty_[v]) return;
    is_dirty_[v] = 1;
    dirty_.push_back(v);
  }

  void insert(Node x, Node y, const Nodes& clique) {
    for (Node t : clique) {
      if (pattern.adjacent(t, x)) continue;
      pattern.cut_line(t, y);
      pattern.add_arrow(t, y);
      touch(t);
      pattern.queue_edges_at(t);
    }
    pattern.add_arrow(x, y);
    root_[find(x)] = find(y);
    settle(x, y);
  }

  void remove(Node x, Node y, const Nodes& clique) {
    Nodes heads;
    for (Node t : pattern.neighbors[y])
      if (t != x && !holds(clique, t) && pattern.adjacent(t, x)) heads.push_back(t);
    if (pattern.has_line(x, y)) pattern.cut_line(x, y);
    else pattern.cut_arrow(x, y);
    for (Node h : heads) {
      pattern.cut_line(y, h);
      pattern.add_arrow(y, h);
      touch(h);
      if (pattern.has_line(x, h)) {
        pattern.cut_line(x, h);
        pattern.add_arrow(x, h);
      }
      pattern.queue_edges_at(h);
    }
    settle(x, y);
  }

  // Mend the pattern around x and y, and look again at the nodes whose moves may have changed.
  void settle(Node x, Node y) {
    touch(x);
    touch(y);
    pattern.queue_edges_at(x);
    pattern.queue_edges_at(y);
    const Node few = pattern.degree(x) < pattern.degree(y) ? x : y, many = few == x ? y : x;
    Nodes both;
    for (const auto* lists : {&pattern.parents, &pattern.children, &pattern.neighbors})
      for (Node u : (*lists)[few])
        if (pattern.adjacent(u, many)) both.push_back(u);
    for (Node u : both) {
      touch(u);
      for (Node v : both)
        if (u < v && pattern.adjacent(u, v)) pattern.queue_edge(u, v);
    }
    pattern.mend([&](Node v) { touch(v); });
    ++n_moves;
    Nodes dirty;
    dirty.swap(dirty_);
    for (Node v : dirty) is_dirty_[v] = 0;
    for (Node v : dirty) scan(v);
  }
};

}  // namespace cp::wide
