// Elimination by least fill.
#pragma once
#include "base/pulse.hpp"
#include "base/bits.hpp"

namespace cp::graphs {

// Add the edge a – b to `rows` and keep `fill` (missing edges among neighbors) true.
inline void join(Matrix<Word> rows, Vector<Int> fill, Int a, Int b) {
  Int common = 0;
  const auto close = [&](Int v) {
    fill[v] -= 1;
    common += 1;
  };
  for (Int w = 0; w < rows.shape(1); ++w) for_each_bit(rows(a, w) & rows(b, w), close, 64 * w);
  fill[a] += size_of(rows[a]) - common;
  fill[b] += size_of(rows[b]) - common;
  rows(a, b >> 6) |= bit(b);
  rows(b, a >> 6) |= bit(a);
}

// Fill in, for each node, the number of its neighbors' pairs that are not joined.
inline void count_fill(Matrix<const Word> rows, Vector<Int> fill, Pulse& pulse) {
  for (Int v = 0; v < rows.shape(0); ++v) {
    const Int degree = size_of(rows[v]);
    Int missing = 0;
    for_each_bit(rows[v], [&](Int u) { missing += degree - 1 - shared(rows[u], rows[v]); });
    fill[v] = missing / 2;
    pulse((degree + 1) * rows.shape(1));
  }
}

// The living node of least fill; ties by the size of its clique's table, then by index.
inline Int cheapest(Matrix<const Word> rows, Ints fill, Floats cards, Words alive, Pulse& pulse) {
  Int best = -1;
  double best_weight = INF;
  for_each_bit(alive, [&](Int v) {
    if (best >= 0 && fill[v] > fill[best]) return;
    double weight = cards[v];
    for_each_bit(rows[v], [&](Int u) { weight *= cards[u]; });
    if (best < 0 || fill[v] < fill[best] || weight < best_weight) {
      best = v;
      best_weight = weight;
    }
    pulse(16);
  });
  return best;
}

// Eliminate all nodes by least fill, consuming `rows` and `alive`.
//
// cliques[k] becomes order[k] with its neighbors at that moment. The fill counts are kept up by
// O(words + common neighbors) work per added edge, never counted anew.
inline void eliminate(Matrix<Word> rows, Floats cards, Vector<Word> alive, Vector<Int> order, Matrix<Word> cliques) {
  Array<Int, 1> fill(rows.shape(0));
  Pulse pulse;
  count_fill(rows, fill, pulse);
  for (Int k = 0; k < order.size(); ++k) {
    const Int v = cheapest(rows, fill, cards, alive, pulse);
    const Vector<Word> neighbors = rows[v];
    order[k] = v;
    cliques[k].copy_from(neighbors);
    for (Int a = lowest(neighbors, 0); a >= 0 && fill[v] > 0; a = lowest(neighbors, a + 1)) {
      for (Int b = lowest(neighbors, a + 1); b >= 0; b = lowest(neighbors, b + 1))
        if (!has(rows[a], b)) join(rows, fill, a, b);
      pulse(4 * rows.shape(1));
    }
    const Int degree = size_of(neighbors);
    // N(v) is a clique now: v's other neighbors are all a's as well, the rest of a's are not v's.
    for_each_bit(neighbors, [&](Int a) {
      fill[a] -= size_of(rows[a]) - degree;
      rows(a, v >> 6) ^= bit(v);
    });
    cliques(k, v >> 6) |= bit(v);
    alive[v >> 6] ^= bit(v);
  }
}

}  // namespace cp::graphs
