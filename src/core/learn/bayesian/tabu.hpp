// A walk past local optima, to the best graph not visited lately.
#pragma once
#include "learn/bayesian/climb.hpp"

namespace cp::bayesian {

// A hash of the edge p → x; a graph's is the exclusive or of its edges'. The constants are splitmix64's.
inline Word edge_word(Int p, Int x) {
  Word word = Word(p) * 0x9E3779B97F4A7C15u + Word(x) + 1;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return word ^ (word >> 31);
}

inline Word graph_word(const DagState& dag) {
  Word word = 0;
  for (Int x = 0; x < dag.n(); ++x) for_each_bit(dag.parents[x], [&](Int p) { word ^= edge_word(p, x); });
  return word;
}

// The best move, a loss if need be, to a graph not in `tabu`; `here` is the hash of this one.
inline Move best_fresh_move(const RowRequests& rows, const DagState& dag, const Limits& limits, Words tabu, Word here) {
  const scores::RowStore& store = rows.store;
  const auto is_fresh = [&](Word there) { return !contains(tabu, there); };
  double best = -INF;
  Move move;
  for (Int x = 0; x < dag.n(); ++x) {
    const Floats scores = store.scores[dag.slot[x]];
    const double score = dag.score[x];
    for (Int y = 0; y < dag.n(); ++y) {
      const double gain = scores[y] - score;
      if (gain <= best || y == x) continue;
      const bool is_parent = has(dag.parents[x], y);
      const bool legal = is_parent ? !has(limits.required[x], y) : has(limits.allowed[x], y) && !has(dag.reach[x], y);
      if (legal && is_fresh(here ^ edge_word(y, x))) {
        best = gain;
        move = {is_parent ? DROP : ADD, y, x};
      }
    }
    for_each_bit(dag.parents[x], [&](Int p) {
      const double gain = scores[p] - score + store.scores(dag.slot[p], x) - dag.score[p];
      if (gain > best && !has(limits.required[x], p) && has(limits.allowed[p], x) && turnable(dag, p, x) &&
          is_fresh(here ^ edge_word(p, x) ^ edge_word(x, p))) {
        best = gain;
        move = {TURN, p, x};
      }
    });
  }
  return move;
}

// Walk to the best graph not visited lately until `tabu.size` moves in a row bring no gain.
//
// The best graph met is left in `best` and in `dag`. `cursor` is (moves, moves without gain).
// Returns 0, or MISS.
inline Int tabu_walk(const RowRequests& rows, const DagState& dag, const DagState& best, const Limits& limits,
                     Vector<Word> tabu, Vector<Int> cursor) {
  Int &moves = cursor[0], &idle = cursor[1];
  Pulse pulse;
  while (true) {
    if (load_families(rows, dag) == MISS) return MISS;
    if (moves == 0 || sum(dag.score) > sum(best.score) + limits.tolerance) {
      copy_dag(dag, best);
      idle = 0;
    }
    const Word here = graph_word(dag);
    tabu[moves % tabu.size()] = here;
    const Move move = best_fresh_move(rows, dag, limits, tabu, here);
    if (move.kind == NONE || idle == tabu.size()) {
      copy_dag(best, dag);
      return 0;
    }
    make_move(dag, move.kind, move.parent, move.child);
    moves += 1;
    idle += 1;
    pulse(dag.n() * dag.n());
  }
}

}  // namespace cp::bayesian
