// Edges of an undirected graph as bit rows (n, words): bit v of row u says u – v, and bit u of row v too.
#pragma once
#include "graphs/bits.hpp"

namespace cp::learn_independence {

using graphs::bit;
using graphs::has;
using graphs::lowest;

// An edge, or none.
struct Edge {
  Int u = -1, v = -1;
  explicit operator bool() const { return u >= 0; }
};

// A proposed change of a graph: an edge to remove and an edge to add, either of them none.
struct Change {
  Edge cut, tie;
  explicit operator bool() const { return cut || tie; }
  Change reversed() const { return {tie, cut}; }
  Int growth() const { return Int(bool(tie)) - Int(bool(cut)); }
};

// Toggle an edge.
inline void flip(Matrix<Word> rows, Edge edge) {
  rows(edge.u, edge.v >> 6) ^= bit(edge.v);
  rows(edge.v, edge.u >> 6) ^= bit(edge.u);
}

// Make a change, or take it back.
inline void toggle(Matrix<Word> rows, const Change& change) {
  if (change.cut) flip(rows, change.cut);
  if (change.tie) flip(rows, change.tie);
}

// Let two variables change places: each gets the neighbors of the other.
inline void exchange(Matrix<Word> rows, Edge pair) {
  const auto [u, v] = pair;
  std::swap_ranges(rows[u].begin(), rows[u].end(), rows[v].begin());
  for (Int w = 0; w < rows.shape(0); ++w)
    if (has(rows[w], u) != has(rows[w], v)) {
      rows(w, u >> 6) ^= bit(u);
      rows(w, v >> 6) ^= bit(v);
    }
}

inline Int count_edges(Matrix<const Word> rows) {
  Int ends = 0;
  for (Word word : rows.flat()) ends += popcount(word);
  return ends / 2;
}

// The edge at a place among all edges, each counted in both directions.
inline Edge edge_at(Matrix<const Word> rows, Int place) {
  for (Int u = 0; u < rows.shape(0); ++u)
    for (Int k = 0; k < rows.shape(1); ++k) {
      Word word = rows(u, k);
      const Int n_here = popcount(word);
      if (place < n_here) {
        for (; place > 0; --place) word &= word - 1;
        return {u, 64 * k + lowest_bit(word)};
      }
      place -= n_here;
    }
  return {};
}

// An ordered pair of different variables of n: place u in 0 … n − 1 and place v in 0 … n − 2.
inline Edge pair_at(Int u, Int v) { return {u, v + Int(v >= u)}; }

}  // namespace cp::learn_independence
