// A class of DAGs as a completed partially directed graph, and how an operator changes it.
#pragma once
#include <queue>

#include "base/fields.hpp"
#include "graphs/equivalence.hpp"
#include "graphs/separation.hpp"
#include "learn/bayesian/requests.hpp"

namespace cp::bayesian {

struct Pattern {
  Matrix<Word> parents;  // directed edges into a node
  Matrix<Word> children;
  Matrix<Word> neighbors;    // undirected edges
  Matrix<Word> member;       // parents in a DAG of the class
  Matrix<Word> reach;        // the node, and those to which a semi-directed path leads
  Vector<double> bound;      // no insert into the node gains more
  Vector<double> drop_gain;  // the best delete at the node
  Vector<Int> drop_node;
  Matrix<Word> drop_clique;
  Vector<bool> dirty;  // whether the last three are out of date

  static constexpr const char* fields =
      "parents[n,words] children[n,words] neighbors[n,words] member[n,words] reach[n,words] bound[n] drop_gain[n] drop_node[n] drop_clique[n,words] dirty[n]";
  Int n() const { return dirty.size(); }
  Int words() const { return parents.shape(1); }
  // Word w of the set of nodes that are adjacent to x.
  Word around(Int x, Int w) const { return parents(x, w) | children(x, w) | neighbors(x, w); }
};

inline bool adjacent(const Pattern& pattern, Int x, Int y) {
  return has(pattern.parents[y], x) || has(pattern.children[y], x) || has(pattern.neighbors[y], x);
}

// Whether all `nodes` but x itself are adjacent to x.
inline bool within_adjacent(const Pattern& pattern, Int x, Words nodes) {
  for (Int w = 0; w < nodes.size(); ++w) {
    const Word itself = w == x >> 6 ? bit(x) : 0;
    if (nodes[w] & ~(pattern.around(x, w) | itself)) return false;
  }
  return true;
}

// Fill `seen` with the nodes to which a semi-directed path leads from y without meeting `clique`.
inline void walk_from(const Pattern& pattern, Int y, Words clique, Vector<Word> seen) {
  const Int words = clique.size();
  Array<Word, 1> frontier = zeros<Word>(words), following(words);
  frontier[y >> 6] = bit(y);
  seen.copy_from(frontier);
  for (bool grows = true; grows;) {
    following.fill(0);
    gather(pattern.children, frontier, following);
    gather(pattern.neighbors, frontier, following);
    grows = false;
    for (Int w = 0; w < words; ++w) {
      frontier[w] = following[w] & ~seen[w] & ~clique[w];
      seen[w] |= frontier[w];
      grows |= frontier[w] != 0;
    }
  }
}

// Direct y's chain component in `member` so that y's parents there are just `clique`.
//
// Maximum cardinality search, started with the clique and y: no new collider arises, since the component
// is chordal. Of nodes with equally many numbered neighbors the smallest is next; a node waits once for each
// of its numbers, and only its largest one counts.
inline void orient_component(const Pattern& pattern, Int y, Words clique) {
  const Int n = pattern.n(), words = clique.size();
  Array<Word, 1> component = zeros<Word>(words), numbered = zeros<Word>(words);
  component[y >> 6] = bit(y);
  graphs::spread(pattern.neighbors, numbered, component);
  Array<Int, 1> weight = zeros<Int>(n);
  weight[y] = n;  // after the clique, before all others
  for_each_bit(clique, [&](Int v) { weight[v] = 2 * n; });
  std::priority_queue<std::pair<Int, Int>> waiting;  // (weight, −node)
  for_each_bit(component, [&](Int v) { waiting.push({weight[v], -v}); });
  while (!waiting.empty()) {
    const Int v = -waiting.top().second;
    waiting.pop();
    if (has(numbered, v)) continue;
    for (Int w = 0; w < words; ++w)
      pattern.member(v, w) = pattern.parents(v, w) | (pattern.neighbors(v, w) & numbered[w]);
    numbered[v >> 6] |= bit(v);
    for_each_bit(pattern.neighbors[v], [&](Int u) {
      if (!has(numbered, u)) waiting.push({++weight[u], -u});
    });
  }
}

// Bring `reach` in line with the rest; `order` is a topological order of `member`.
//
// The nodes of a chain component reach the same, and have the same directed parents. So the component whose first node comes later in
// `order` is never above another one.
inline void renew_reach(const Pattern& pattern, Ints order) {
  const Int words = pattern.words();
  Array<Word, 1> component(words);
  const Array<Word, 1> nothing = zeros<Word>(words);
  Array<bool, 1> is_first(order.size());
  for (Int v : order) is_first[v] = shared(pattern.member[v], pattern.neighbors[v]) == 0;
  for (Int k = order.size() - 1; k >= 0; --k) {
    const Int v = order[k];
    if (!is_first[v]) continue;
    component.fill(0);
    component[v >> 6] = bit(v);
    if (lowest(pattern.neighbors[v], 0) >= 0) graphs::spread(pattern.neighbors, nothing, component);
    const Vector<Word> reach = pattern.reach[v];
    reach.copy_from(component);
    for_each_row(component, [&](Int u) {
      for_each_row(pattern.children[u], [&](Int c) {
        if (is_first[c]) unite(reach, pattern.reach[c]);
      });
    });
    for_each_row(component, [&](Int u) {
      if (u != v) pattern.reach[u].copy_from(reach);
    });
  }
}

// Bring the CPDAG in line with `member`, and mark the nodes whose edges changed as dirty.
inline void relabel(const Pattern& pattern) {
  const Int n = pattern.n(), words = pattern.words();
  Array<Word, 2> children = zeros<Word>(n, words), compelled = zeros<Word>(n, words);
  Array<Int, 1> order(n);
  transpose(pattern.member, children);
  graphs::topological(pattern.member, children, order);
  graphs::label_compelled(pattern.member, order, compelled);
  pattern.children.fill(0);
  transpose(compelled, pattern.children);
  for (Int v = 0; v < n; ++v) {
    for (Int w = 0; w < words; ++w) {
      const Word directed = compelled(v, w) | pattern.children(v, w);
      const Word reversible = (pattern.member(v, w) | children(v, w)) & ~directed;
      if (reversible != pattern.neighbors(v, w) || compelled(v, w) != pattern.parents(v, w)) pattern.dirty[v] = true;
      pattern.neighbors(v, w) = reversible;
      pattern.parents(v, w) = compelled(v, w);
    }
  }
  renew_reach(pattern, order);
}

// Toggle the edge x → y, where y's parents are its directed ones and `clique`.
inline void apply_operator(const Pattern& pattern, Int x, Int y, Words clique) {
  for (Int z = 0; z < pattern.n(); ++z) {
    const bool near_x = has(pattern.parents[z], x) || has(pattern.neighbors[z], x);
    const bool near_y = has(pattern.parents[z], y) || has(pattern.neighbors[z], y);
    if (near_x && near_y) pattern.dirty[z] = true;
  }
  pattern.dirty[x] = true;
  pattern.dirty[y] = true;
  orient_component(pattern, y, clique);
  pattern.member(y, x >> 6) ^= bit(x);
  relabel(pattern);
}

}  // namespace cp::bayesian
