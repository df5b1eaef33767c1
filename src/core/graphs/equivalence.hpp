// Topological orders, the edges that equivalent graphs share, and members of a class.
#pragma once
#include "base/pulse.hpp"
#include "base/bits.hpp"

namespace cp::graphs {

// Fill `order`, smallest ready node first; the number of nodes placed (< n: a cycle).
inline Int topological(Matrix<const Word> parent_rows, Matrix<const Word> child_rows, Vector<Int> order) {
  const Int n = parent_rows.shape(0);
  Array<Int, 1> waiting(n);  // for so many parents
  Array<Word, 1> ready = zeros<Word>(parent_rows.shape(1));
  for (Int v = 0; v < n; ++v) {
    waiting[v] = size_of(parent_rows[v]);
    if (waiting[v] == 0) ready[v >> 6] |= bit(v);
  }
  Int placed = 0;
  for (Int v = lowest(ready, 0); v >= 0; v = lowest(ready, 0)) {
    ready[v >> 6] ^= bit(v);
    order[placed++] = v;
    for_each_bit(child_rows[v], [&](Int c) {
      waiting[c] -= 1;
      if (waiting[c] == 0) ready[c >> 6] |= bit(c);
    });
  }
  return placed;
}

// Set in `compelled` the edges that every equivalent graph has (Chickering 1995).
//
// Children are visited in topological order; x, the last of y's parents, decides: a compelled w → x
// with w no parent of y compels all edges into y, and so does a parent of y other than x that is no
// parent of x; otherwise w → y is compelled where w → x is, and no more.
inline void label_compelled(Matrix<const Word> parent_rows, Ints order, Matrix<Word> compelled) {
  Array<Int, 1> position(order.size());
  for (Int k = 0; k < order.size(); ++k) position[order[k]] = k;
  for (Int y : order) {
    const Words parents = parent_rows[y];
    Int x = lowest(parents, 0);
    if (x < 0) continue;
    for_each_bit(parents, [&](Int p) {
      if (position[p] > position[x]) x = p;
    });
    bool all = false;
    for (Int w = 0; w < parents.size(); ++w) {
      const Word itself = w == x >> 6 ? bit(x) : 0;
      all |= (compelled(x, w) & ~parents[w]) != 0;
      all |= (parents[w] & ~parent_rows(x, w) & ~itself) != 0;
    }
    compelled[y].copy_from(all ? parents : Words(compelled[x]));
  }
}

// The largest living node without children whose linked neighbors are joined to all its others, or −1.
inline Int find_sink(Matrix<const Word> child_rows, Matrix<const Word> links, Matrix<const Word> adjacent, Flags alive) {
  for (Int x = alive.size() - 1; x >= 0; --x) {
    if (!alive[x] || lowest(child_rows[x], 0) >= 0) continue;
    const Int others = size_of(adjacent[x]) - 1;
    Int y = lowest(links[x], 0);
    while (y >= 0 && shared(adjacent[x], adjacent[y]) == others) y = lowest(links[x], y + 1);
    if (y < 0) return x;
  }
  return -1;
}

// Fill `out` with the parents of a graph that directs `links` and adds no collider.
//
// Dor & Tarsi (1992): take a node with no child left, whose linked neighbors are joined to all its other
// neighbors; direct its links into it; remove it. False if no such node is left. `adjacent` holds
// children, parents and links together; all three inputs are consumed.
inline bool extend(Matrix<Word> child_rows, Matrix<Word> links, Matrix<Word> adjacent, Matrix<Word> out) {
  const Int n = adjacent.shape(0);
  Array<bool, 1> alive = filled<bool>(true, n);
  Pulse pulse;
  for (Int step = 0; step < n; ++step) {
    const Int sink = find_sink(child_rows, links, adjacent, alive);
    if (sink < 0) return false;
    alive[sink] = false;
    out[sink].copy_from(adjacent[sink]);
    for_each_bit(adjacent[sink], [&](Int p) {
      for (Matrix<Word> rows : {child_rows, links, adjacent}) rows(p, sink >> 6) &= ~bit(sink);
    });
    pulse(4 * n);
  }
  return true;
}

}  // namespace cp::graphs
