// The smallest sets that d-separate two nodes, by vertex-disjoint paths in moral ancestral graphs.
#pragma once
#include "base/bits.hpp"
#include "base/pulse.hpp"
#include "graphs/separation.hpp"

namespace cp::graphs {

// The smallest set of candidates that meets every path between two nodes of an undirected graph (Menger 1927).
//
// Nodes that are no candidates are passed freely, so the graph is first reduced to the candidates and the two ends:
// those are joined that a path through other nodes joins. Then disjoint paths are added one by one, as in the
// algorithm of Ford and Fulkerson; a node has an entry and an exit, and one path at most runs from the first to the
// second.
class SmallestCut {
 public:
  SmallestCut(Int n, Int words)
      : rows_(n, words), entered_(words), left_(words), rest_(words), part_(words), border_(words), previous_(n),
        entry_from_(n), exit_from_(n), queue_(2 * n) {}

  // The size of the cut, most + 1 if it is larger than `most`, −1 if there is none; `cut` gets its nodes.
  template <class Neighbors>
  Int operator()(Neighbors neighbors, Words alive, Words candidates, Int x, Int y, Int most, Vector<Word> cut) {
    reduce(neighbors, alive, candidates, x, y);
    if (has(rows_[x], y)) return -1;
    previous_.fill(-1);
    Int size = 0;
    while (add_path(x, y))
      if (++size > most) return size;
    for (Int w = 0; w < cut.size(); ++w) cut[w] = entered_[w] & ~left_[w];
    return size;
  }

 private:
  // Join the candidates and ends that border on the same part of the other nodes, or on each other.
  template <class Neighbors>
  void reduce(Neighbors neighbors, Words alive, Words candidates, Int x, Int y) {
    const Int words = alive.size();
    const auto kept = [&](Int w) {
      return candidates[w] | (w == x >> 6 ? bit(x) : 0) | (w == y >> 6 ? bit(y) : 0);
    };
    rows_.fill(0);
    for (Int w = 0; w < words; ++w) rest_[w] = alive[w] & ~kept(w);
    for (Int w = 0; w < words; ++w)
      for_each_bit(Word(alive[w] & kept(w)), [&](Int v) {
        neighbors(v, rows_[v]);
        for (Int k = 0; k < words; ++k) rows_(v, k) &= alive[k] & kept(k);
      }, 64 * w);
    for (Int start = lowest(rest_, 0); start >= 0; start = lowest(rest_, 0)) {
      border_.fill(0);
      part_.fill(0);
      part_[start >> 6] |= bit(start);
      for (Int v = start; v >= 0; v = lowest(part_, 0)) {  // `part_`: found and not yet left
        part_[v >> 6] &= ~bit(v);
        rest_[v >> 6] &= ~bit(v);
        left_.fill(0);
        neighbors(v, left_);
        for (Int w = 0; w < words; ++w) {
          part_[w] |= left_[w] & rest_[w];
          border_[w] |= left_[w] & alive[w] & kept(w);
        }
      }
      for_each_bit(border_, [&](Int v) { unite(rows_[v], border_); });
    }
    for (Int w = 0; w < words; ++w)
      for_each_bit(Word(alive[w] & kept(w)), [&](Int v) { rows_(v, v >> 6) &= ~bit(v); }, 64 * w);
  }

  // Whether one more path from x to y was found; else `entered_` and `left_` have what is reached.
  bool add_path(Int x, Int y) {
    entered_.fill(0);
    left_.fill(0);
    Int first = 0, last = 0;
    const auto leave = [&](Int v, Int from) {
      if (has(left_, v)) return;
      left_[v >> 6] |= bit(v);
      exit_from_[v] = from;
      queue_[last++] = 2 * v + 1;
    };
    const auto enter = [&](Int v, Int from) {
      if (has(entered_, v)) return;
      entered_[v >> 6] |= bit(v);
      entry_from_[v] = from;
      queue_[last++] = 2 * v;
    };
    entered_[x >> 6] |= bit(x);
    leave(x, -1);
    while (first < last) {
      const Int v = queue_[first] >> 1;
      const bool at_exit = queue_[first++] & 1;
      if (!at_exit) {  // a node on a path is left where the path came from
        leave(previous_[v] < 0 ? v : previous_[v], v);
        continue;
      }
      if (has(rows_[v], y)) {
        turn(v, x);
        return true;
      }
      for (Int w = 0; w < left_.size(); ++w)
        for_each_bit(Word(rows_(v, w) & ~entered_[w]), [&](Int u) { enter(u, v); }, 64 * w);
      if (v != x && previous_[v] >= 0) enter(v, v);
    }
    return false;
  }

  // Change the paths along the walk that ended at the exit of `v`.
  void turn(Int v, Int x) {
    Array<Int, 1>& taken = queue_;  // pairs (node, the one before it), set when all old ones are gone
    Int n_taken = 0;
    while (v != x) {
      Int u = exit_from_[v];  // the entry that led to this exit: of v itself, or of the next node of a path
      if (u != v) previous_[u] = -1;
      while (entry_from_[u] == u) {  // entered from its own exit: the path through u is undone
        u = exit_from_[u];
        previous_[u] = -1;
      }
      taken[n_taken++] = u;
      v = entry_from_[u];
    }
    for (Int k = 0; k < n_taken; ++k) previous_[taken[k]] = entry_from_[taken[k]];
  }

  Array<Word, 2> rows_;
  Array<Word, 1> entered_, left_, rest_, part_, border_;
  Array<Int, 1> previous_;  // the node before this one on its path, −1 on none
  Array<Int, 1> entry_from_, exit_from_, queue_;
};

// For each pair, the smallest set among its candidates that, with `always`, d-separates it.
//
// sizes[q] is −1 if no set does, and most + 1 if the smallest is larger than `most`; sets[q] is then empty. The set is
// a cut of the moral graph of the ancestors of the pair and of `always` (van der Zander, Liśkiewicz & Textor 2014).
inline void smallest_separators(Matrix<const Word> parent_rows, Matrix<const Word> child_rows, Matrix<const Int> pairs,
                                Matrix<const Word> candidates, Words always, Int most, Vector<Int> sizes,
                                Matrix<Word> sets) {
  const Int n = parent_rows.shape(0), words = parent_rows.shape(1);
  Array<Word, 2> above(n, words);  // each node and its ancestors
  Array<Word, 1> none(words), base(words), alive(words), chosen(words), children(words),
      ancestors(words);
  above.fill(0);
  none.fill(0);
  base.fill(0);
  for (Int v = 0; v < n; ++v) {
    above(v, v >> 6) |= bit(v);
    spread(parent_rows, none, above[v]);
  }
  for_each_bit(always, [&](Int v) { unite(base, above[v]); });
  SmallestCut cut(n, words);
  Pulse pulse;
  for (Int q = 0; q < pairs.shape(0); ++q) {
    const Int x = pairs(q, 0), y = pairs(q, 1);
    sizes[q] = -1;
    for (Int w = 0; w < words; ++w) sets(q, w) = 0;
    if (has(parent_rows[x], y) || has(parent_rows[y], x)) continue;
    ancestors.copy_from(base);
    unite(ancestors, above[x]);
    unite(ancestors, above[y]);
    for (Int w = 0; w < words; ++w) {
      alive[w] = ancestors[w] & ~always[w];
      chosen[w] = candidates(q, w) & alive[w];
    }
    const auto neighbors = [&](Int v, Vector<Word> out) {
      for (Int w = 0; w < words; ++w) children[w] = child_rows(v, w) & ancestors[w];
      unite(out, parent_rows[v]);
      unite(out, children);
      gather(parent_rows, children, out);
    };
    sizes[q] = cut(neighbors, alive, chosen, x, y, most, sets[q]);
    if (sizes[q] > most)
      for (Int w = 0; w < words; ++w) sets(q, w) = 0;
    pulse(4 * words * size_of(ancestors));
  }
}

}  // namespace cp::graphs
