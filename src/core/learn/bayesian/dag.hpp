// A DAG that is being searched, and the moves in it.
#pragma once
#include "base/fields.hpp"
#include "base/bits.hpp"
#include "graphs/moves.hpp"
#include "learn/bayesian/requests.hpp"

namespace cp::bayesian {

using namespace graphs;  // moves

struct DagState {
  Matrix<Word> parents, children;
  Matrix<Word> reach;    // reach[u]: u and its descendants
  Vector<Int> slot;      // of the row of (u, parents of u), −1 where not looked up yet
  Vector<double> score;  // of (u, parents of u)
  Vector<double> most_added, most_dropped;  // no parent of u gains more when it is added, or dropped

  static constexpr const char* fields =
      "parents[n,words] children[n,words] reach[n,words] slot[n] score[n] most_added[n] most_dropped[n]";
  Int n() const { return slot.size(); }
};

// Recompute what `node` and its ancestors reach, after an edge out of `node` was dropped.
//
// A node's descendants reach strictly less than it does, so the order by size is topological.
inline void reach_again(const DagState& dag, Int node) {
  Array<std::pair<Int, Int>, 1> ancestors(dag.n());  // (how many it reaches, node)
  Int count = 0;
  for (Int u = 0; u < dag.n(); ++u)
    if (has(dag.reach[u], node)) ancestors[count++] = {size_of(dag.reach[u]), u};
  std::sort(ancestors.begin(), ancestors.begin() + count);
  for (const auto& [size, u] : ancestors.part(0, count)) {
    const Vector<Word> reach = dag.reach[u];
    reach.fill(0);
    reach[u >> 6] = bit(u);
    gather(dag.reach, dag.children[u], reach);
  }
}

// Add p → x, which must close no cycle.
inline void add_edge(const DagState& dag, Int p, Int x) {
  dag.parents(x, p >> 6) |= bit(p);
  dag.children(p, x >> 6) |= bit(x);
  dag.slot[x] = -1;
  for (Int u = 0; u < dag.n(); ++u)
    if (has(dag.reach[u], p)) unite(dag.reach[u], dag.reach[x]);
}

// Add all edges of a DAG's parent rows.
inline void add_edges(const DagState& dag, Matrix<const Word> parents) {
  for (Int x = 0; x < parents.shape(0); ++x) for_each_bit(parents[x], [&](Int p) { add_edge(dag, p, x); });
}

// Remove p → x.
inline void drop_edge(const DagState& dag, Int p, Int x) {
  dag.parents(x, p >> 6) &= ~bit(p);
  dag.children(p, x >> 6) &= ~bit(x);
  dag.slot[x] = -1;
  reach_again(dag, p);
}

// Whether p → x may be turned: no other way leads from p to x.
inline bool turnable(const DagState& dag, Int p, Int x) {
  const Words children = dag.children[p];
  for (Int c = lowest(children, 0); c >= 0; c = lowest(children, c + 1))
    if (c != x && has(dag.reach[c], x)) return false;
  return true;
}

// Apply a move that is legal.
inline void make_move(const DagState& dag, Int kind, Int parent, Int child) {
  if (kind == ADD) {
    add_edge(dag, parent, child);
    return;
  }
  drop_edge(dag, parent, child);
  if (kind == TURN) add_edge(dag, child, parent);
}

// Remove all edges at v that are not required.
inline void cut(const DagState& dag, const Limits& limits, Int v) {
  for_each_bit(dag.parents[v], [&](Int p) {
    if (!has(limits.required[v], p)) drop_edge(dag, p, v);
  });
  for_each_bit(dag.children[v], [&](Int c) {
    if (!has(limits.required[c], v)) drop_edge(dag, v, c);
  });
}

}  // namespace cp::bayesian
