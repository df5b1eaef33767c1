// What walks in a graph reach, and the moral graph.
#pragma once
#include "base/bits.hpp"
#include "base/pulse.hpp"

namespace cp::graphs {

// Grow `seen` along `rows` to all it reaches without entering `blocked`.
inline void spread(Matrix<const Word> rows, Words blocked, Vector<Word> seen) {
  Array<Word, 1> frontier(seen), reached(seen.size());
  for (bool moved = true; moved;) {
    moved = false;
    reached.fill(0);
    gather(rows, frontier, reached);
    for (Int w = 0; w < seen.size(); ++w) {
      frontier[w] = reached[w] & ~blocked[w] & ~seen[w];
      seen[w] |= frontier[w];
      moved |= frontier[w] != 0;
    }
  }
}

// Grow `up` ∪ `down` to all that active walks reach (Shachter's Bayes ball, 1998).
//
// `up` holds nodes entered from a child (or at the start), `down` those entered from a parent. A walk
// leaves an unobserved node to its children, and to its parents if it came up; from an observed node it
// only bounces, from parent to parent. A collider above an observed node is thus passed by walking down
// to that node and back.
inline void spread_active(Matrix<const Word> parent_rows, Matrix<const Word> child_rows, Words observed,
                          Vector<Word> up, Vector<Word> down) {
  const Int words = up.size();
  Array<Word, 1> new_up(up), new_down(down), rising(words), falling(words);
  for (bool moved = true; moved;) {
    moved = false;
    for (Int w = 0; w < words; ++w) {
      rising[w] = (new_up[w] & ~observed[w]) | (new_down[w] & observed[w]);
      falling[w] = (new_up[w] | new_down[w]) & ~observed[w];
    }
    new_up.fill(0);
    new_down.fill(0);
    gather(parent_rows, rising, new_up);
    gather(child_rows, falling, new_down);
    for (Int w = 0; w < words; ++w) {
      new_up[w] &= ~up[w];
      new_down[w] &= ~down[w];
      up[w] |= new_up[w];
      down[w] |= new_down[w];
      moved |= (new_up[w] | new_down[w]) != 0;
    }
  }
}

// Fill out[q] with whether pairs(q, 0) and pairs(q, 1) are d-separated given conditions[q] and `always`.
//
// Walks are followed once for neighboring questions with the same first node and conditions.
inline void separate_pairs(Matrix<const Word> parent_rows, Matrix<const Word> child_rows, Matrix<const Int> pairs,
                           Matrix<const Int> conditions, Words always, Vector<bool> out) {
  const Int words = parent_rows.shape(1), size = conditions.shape(1);
  Array<Word, 1> observed(words), up(words), down(words);
  Pulse pulse;
  for (Int q = 0; q < pairs.shape(0); ++q) {
    bool same = q > 0 && pairs(q, 0) == pairs(q - 1, 0);
    for (Int k = 0; same && k < size; ++k) same = conditions(q, k) == conditions(q - 1, k);
    if (!same) {
      observed.copy_from(always);
      for (Int k = 0; k < size; ++k) observed[conditions(q, k) >> 6] |= bit(conditions(q, k));
      up.fill(0);
      down.fill(0);
      up[pairs(q, 0) >> 6] |= bit(pairs(q, 0));
      spread_active(parent_rows, child_rows, observed, up, down);
      pulse(64 * words);
    }
    const Int y = pairs(q, 1);
    out[q] = ((up[y >> 6] | down[y >> 6]) & bit(y)) == 0;
  }
}

// Add the moral graph to `out`: every node with its parents made a clique.
inline void moral(Matrix<const Word> parent_rows, Matrix<Word> out) {
  for (Int v = 0; v < parent_rows.shape(0); ++v) {
    for_each_bit(parent_rows[v], [&](Int p) {
      out(v, p >> 6) |= bit(p);
      unite(out[p], parent_rows[v]);
      out(p, p >> 6) ^= bit(p);
      out(p, v >> 6) |= bit(v);
    });
  }
}

}  // namespace cp::graphs
