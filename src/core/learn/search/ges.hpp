// Greedy equivalence search (Chickering 2002) over short lists, and edge knock-outs (XGES, Nazaret & Blei 2024).
//
// Insert(x, y, T) is indexed by its whole conditioning clique T, which holds all neighbors of y that are adjacent to x.
// So one row, of (y, parents of y + T), serves every x, inserts and deletes alike. Each node has one entry on a heap of
// inserts: a bound, the gain of its best insert whether that is valid or not. Deletes have a heap of their own and go first.
#pragma once
#include <queue>

#include "base/pulse.hpp"
#include "learn/search/cpdag.hpp"

namespace cp::search {

constexpr Int MAX_CLIQUES = 256;  // conditioning cliques that are tried per node

template <class Rows>
class Ges {
 public:
  Ges(Rows& rows, const Limits& limits, const Dag& dag)
      : pattern(Int(dag.size())), rows_(&rows), limits_(limits), n_(Node(dag.size())), member_(KEEPS_MEMBER ? dag : Dag()),
        version_(n_, 0), seen_from_(n_, 0), seen_to_(n_, 0), root_(n_), drops_(n_), is_dirty_(n_, 0) {
    for (Node v = 0; v < n_; ++v) root_[v] = v;
    pattern.set_dag(dag);
    for (Node y = 0; y < n_; ++y) {
      for (Node x : dag[y]) root_[find(x)] = find(y);
      touch(y);
    }
  }

  Cpdag pattern;
  Int n_moves = 0;

  // A DAG of the class.
  Dag member() const { return KEEPS_MEMBER ? member_ : pattern.member(); }

  // Search until no move gains. If a row is interrupted, the pattern is that of the last move.
  void run() {
    scan_dirty();
    while (step()) scan_dirty();
  }

  // For each edge: delete it in the best way, search without the pair, then with it; keep what is better. The gains are counted.
  Int knock_out() {
    Int gains = 0;
    double score = total();
    for (Node y = 0; y < n_; ++y)
      for (Node x = 0; x < y; ++x) {
        if (!pattern.adjacent(x, y)) continue;
        Move into_y = best_delete(x, y), into_x = best_delete(y, x);
        Move& best = into_x.gain > into_y.gain ? into_x : into_y;
        if (best.gain == -INF) continue;
        Ges kept = *this;
        try {
          banned_ = {x, y};
          apply_delete(best);
          run();
          banned_ = {-1, -1};
          touch(x);
          touch(y);
          run();
          const double after = total();
          if (after > score + limits_.tolerance) {
            score = after;
            ++gains;
          } else {
            *this = std::move(kept);
          }
        } catch (...) {
          *this = std::move(kept);
          throw;
        }
      }
    return gains;
  }

 private:
  // Whether a member is carried along, which takes time in proportion to a component for each move, but stays near the start.
  static constexpr bool KEEPS_MEMBER = Rows::IS_NARROW;
  // Whether each move is the best of all.
  static constexpr bool IS_EXACT = Rows::IS_NARROW;

  struct Entry {
    double gain;
    Node node;
    Int version;
    bool operator<(const Entry& other) const { return gain < other.gain || (gain == other.gain && node > other.node); }
  };
  // The cliques of one node's neighbors, listed again for each: their memory stays. A copy begins empty.
  struct Cliques {
    std::vector<Nodes> sets;
    std::array<std::size_t, MAX_CLIQUES> next{};  // the first neighbor that may join each
    Nodes around, family;
    Cliques() = default;
    Cliques(const Cliques&) {}
    Cliques& operator=(const Cliques&) { return *this; }
  };
  struct Move {
    double gain;
    Node parent = -1, child = -1;
    Nodes clique;
  };

  Rows* rows_;
  Limits limits_;
  Node n_;
  Dag member_;
  std::vector<Int> version_;  // entries of older versions are stale
  std::vector<Int> seen_from_, seen_to_;
  Int clock_ = 0;
  Nodes root_;  // union-find: nodes of different trees have never been connected
  std::priority_queue<Entry> inserts_, deletes_;
  std::vector<Entry> waiting_;  // nodes whose best insert was not valid
  bool moved_ = false;          // since these were scanned
  std::vector<Move> drops_;  // the best delete at each node
  Nodes dirty_;
  std::vector<char> is_dirty_;
  std::pair<Node, Node> banned_{-1, -1};
  Cliques cliques_;
  Pulse pulse_;

  Node find(Node v) {
    while (root_[v] != v) v = root_[v] = root_[root_[v]];
    return v;
  }

  bool allows(Node x, Node y) const {
    return limits_.allows(x, y) && std::pair(std::min(x, y), std::max(x, y)) != banned_;
  }

  // Visit the cliques of y's neighbors, smaller ones first, with the family (parents of y and clique).
  template <class Visit>
  void for_each_clique(Node y, Visit visit) {
    Cliques& lists = cliques_;
    lists.around = pattern.neighbors[y];
    std::sort(lists.around.begin(), lists.around.end());
    lists.sets.resize(MAX_CLIQUES);
    lists.sets[0].clear();
    lists.next[0] = 0;
    Int count = 1;
    for (Int k = 0; k < count; ++k) {
      const Nodes& clique = lists.sets[k];
      lists.family = pattern.parents[y];
      lists.family.insert(lists.family.end(), clique.begin(), clique.end());
      if (Int(lists.family.size()) > limits_.max_parents) continue;
      std::sort(lists.family.begin(), lists.family.end());
      visit(clique, std::as_const(lists.family));
      for (std::size_t next = lists.next[k]; next < lists.around.size() && count < MAX_CLIQUES; ++next) {
        const Node v = lists.around[next];
        if (!std::all_of(clique.begin(), clique.end(), [&](Node t) { return pattern.adjacent(t, v); })) continue;
        lists.sets[count] = clique;
        lists.sets[count].push_back(v);
        lists.next[count++] = next + 1;
      }
    }
  }

  // Whether x may be deleted from y's family with this conditioning clique.
  bool can_delete(Node x, const Nodes& clique) const {
    return std::all_of(clique.begin(), clique.end(), [&](Node t) { return t == x || pattern.adjacent(t, x); });
  }

  void touch(Node v) {
    if (is_dirty_[v]) return;
    is_dirty_[v] = 1;
    dirty_.push_back(v);
  }

  // Look again at the nodes whose moves may have changed. If that is interrupted, they stay dirty.
  void scan_dirty() {
    std::sort(dirty_.begin(), dirty_.end());
    if constexpr (Rows::IS_NARROW) {
      for (Node y : dirty_) for_each_clique(y, [&](const Nodes&, const Nodes& family) { rows_->want(y, family); });
      rows_->fill();
    }
    for (Node y : dirty_) {
      pulse_(1000);
      scan(y);
    }
    for (Node y : dirty_) is_dirty_[y] = 0;
    dirty_.clear();
  }

  // Put the best moves into y on the heaps.
  void scan(Node y) {
    ++version_[y];
    double bound = limits_.tolerance;
    Move drop{limits_.tolerance, -1, y, {}};
    for_each_clique(y, [&](const Nodes& clique, const Nodes& family) {
      const auto row = rows_->get(y, family);
      for (Int k = 0; k < row.n_adds(); ++k) {
        const auto [gain, x] = row.add(k);
        if (gain <= bound) break;
        if (!allows(x, y) || pattern.adjacent(x, y)) continue;
        bound = gain;
        break;
      }
      for (std::size_t k = 0; k < family.size(); ++k) {
        const double gain = row.drop(k);
        if (gain > drop.gain && can_delete(family[k], clique)) drop = {gain, family[k], y, clique};
      }
    });
    if (bound > limits_.tolerance) inserts_.push({bound, y, version_[y]});
    if (drop.parent < 0) return;
    deletes_.push({drop.gain, y, version_[y]});
    drops_[y] = std::move(drop);
  }

  // Make the best move; whether there may be another one.
  //
  // A bound may belong to an insert that is not valid now. An exact search looks at such a node before each move. Otherwise the node
  // has the gain of its best valid insert as its bound, and is scanned again when no other move is left.
  bool step() {
    const auto is_stale = [&](const Entry& e) { return e.version != version_[e.node]; };
    while (!deletes_.empty() && is_stale(deletes_.top())) deletes_.pop();
    if (!deletes_.empty()) {
      apply_delete(Move(drops_[deletes_.top().node]));
      moved_ = true;
      return true;
    }
    Move best{limits_.tolerance, -1, -1, {}};
    std::vector<Entry> looked_at;
    while (!inserts_.empty() && inserts_.top().gain > best.gain) {
      Entry top = inserts_.top();
      inserts_.pop();
      if (is_stale(top)) continue;
      pulse_(100);
      Move own{IS_EXACT ? best.gain : limits_.tolerance, -1, -1, {}};
      improve_insert(top.node, own);
      if (!IS_EXACT && own.gain < top.gain) {
        waiting_.push_back(top);
        top.gain = own.gain;
      }
      if (IS_EXACT || own.parent >= 0) looked_at.push_back(top);
      if (own.gain > best.gain) best = std::move(own);
    }
    for (const Entry& entry : looked_at) inserts_.push(entry);
    if (best.parent >= 0) {
      apply_insert(best);
      moved_ = true;
      return true;
    }
    if (!std::exchange(moved_, false)) return false;
    for (const Entry& entry : std::exchange(waiting_, {}))
      if (!is_stale(entry)) touch(entry.node);
    return !dirty_.empty();
  }

  // Put the best valid insert into y into `best`, if it gains more.
  void improve_insert(Node y, Move& best) {
    for_each_clique(y, [&](const Nodes& clique, const Nodes& family) {
      const auto row = rows_->get(y, family);
      for (Int k = 0; k < row.n_adds(); ++k) {
        const auto [gain, x] = row.add(k);
        if (gain <= best.gain) break;
        if (!allows(x, y) || pattern.adjacent(x, y)) continue;
        const auto inside = [&, x = x](Node t) { return !pattern.adjacent(t, x) || holds(clique, t); };
        const Nodes& around = pattern.neighbors[y];
        if (!std::all_of(around.begin(), around.end(), inside) || has_path(y, x, clique)) continue;
        best = {gain, x, y, clique};
        break;
      }
    });
  }

  // The best valid delete of x from y's family; its gain is −∞ if there is none.
  Move best_delete(Node x, Node y) {
    Move best{-INF, x, y, {}};
    for_each_clique(y, [&](const Nodes& clique, const Nodes& family) {
      const auto place = std::lower_bound(family.begin(), family.end(), x);
      if (place == family.end() || *place != x || !can_delete(x, clique)) return;
      const double gain = rows_->get(y, family).drop(std::size_t(place - family.begin()));
      if (gain > best.gain) best = {gain, x, y, clique};
    });
    return best;
  }

  // The score of the class.
  double total() {
    const Dag dag = member();
    for (Node v = 0; v < n_; ++v) rows_->want(v, dag[v]);
    rows_->fill();
    double sum = 0.0;
    for (Node v = 0; v < n_; ++v) sum += rows_->get(v, dag[v]).score();
    return sum;
  }

  // Whether a semi-directed path leads from y to x outside of the clique; searched from both ends.
  bool has_path(Node y, Node x, const Nodes& clique) {
    if (find(x) != find(y)) return false;
    ++clock_;
    Nodes ahead{y}, behind{x}, next;
    seen_from_[y] = seen_to_[x] = clock_;
    for (Node t : clique) seen_from_[t] = seen_to_[t] = clock_;
    const auto spread = [&](Nodes& front, const Dag& along, std::vector<Int>& seen, const std::vector<Int>& goal) {
      next.clear();
      for (Node v : front)
        for (const Dag* lists : {&along, &std::as_const(pattern.neighbors)})
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

  // Direct y's chain component in the member so that y's parents there are just the clique, and toggle x → y.
  //
  // Maximum cardinality search, started with the clique and y: no new collider arises, since the component is chordal. Of
  // nodes with equally many numbered neighbors the smallest is next; a node waits once for each of its numbers, and only its
  // largest one counts.
  void toggle_in_member(Node x, Node y, const Nodes& clique) {
    if constexpr (KEEPS_MEMBER) {
      std::vector<Int> weight(n_, 0);
      std::vector<char> numbered(n_, 0);
      weight[y] = n_;  // after the clique, before all others
      for (Node v : clique) weight[v] = 2 * Int(n_);
      std::priority_queue<std::pair<Int, Node>> waiting;  // (weight, −node)
      waiting.push({weight[y], -y});
      for (Node v : clique) waiting.push({weight[v], -v});
      while (!waiting.empty()) {
        const Node v = -waiting.top().second;
        waiting.pop();
        if (numbered[v]) continue;
        numbered[v] = 1;
        member_[v] = pattern.parents[v];
        for (Node u : pattern.neighbors[v]) {
          if (numbered[u]) member_[v].push_back(u);
          else waiting.push({++weight[u], -u});
        }
        std::sort(member_[v].begin(), member_[v].end());
      }
      member_[y] = holds(member_[y], x) ? without(std::move(member_[y]), x) : with(std::move(member_[y]), x);
    }
  }

  void apply_insert(const Move& move) {
    const Node x = move.parent, y = move.child;
    toggle_in_member(x, y, move.clique);
    for (Node t : move.clique) {
      if (pattern.adjacent(t, x)) continue;
      pattern.cut_line(t, y);
      pattern.add_arrow(t, y);
      touch(t);
      pattern.queue_edges_at(t);
    }
    pattern.add_arrow(x, y);
    root_[find(x)] = find(y);
    mend(x, y);
  }

  void apply_delete(const Move& move) {
    const Node x = move.parent, y = move.child;
    toggle_in_member(x, y, move.clique);
    Nodes heads;
    for (Node t : pattern.neighbors[y])
      if (t != x && !holds(move.clique, t) && pattern.adjacent(t, x)) heads.push_back(t);
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
    mend(x, y);
  }

  // Bring the pattern in line around x and y, and touch the nodes whose moves may have changed.
  void mend(Node x, Node y) {
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
  }
};

}  // namespace cp::search
