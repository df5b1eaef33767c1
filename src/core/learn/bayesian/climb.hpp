// Steepest ascent in the space of DAGs, and what leads out of its optima: reinsertion and knock-outs.
#pragma once
#include "base/pulse.hpp"
#include "learn/bayesian/dag.hpp"

namespace cp::bayesian {

constexpr double ROUNDING = 1e-13;  // of a sum of a few scores, relative to the largest

// Look up the row of every node whose slot is not its own; 0, or MISS.
inline Int load_families(const RowRequests& rows, const DagState& dag) {
  const scores::RowStore& store = rows.store;
  Int result = 0;
  for (Int x = 0; x < dag.n(); ++x) {
    const Words parents = dag.parents[x];
    Int slot = dag.slot[x];
    if (slot >= 0 && store.child[slot] == x && std::equal(parents.begin(), parents.end(), store.parents[slot].begin())) continue;
    slot = load_row(rows, x, parents);
    if (slot < 0) {
      result = MISS;
    } else {
      const Floats scores = store.scores[slot];
      dag.slot[x] = slot;
      dag.score[x] = scores[x];
      dag.most_added[x] = store.n_improving[slot] > 0 ? scores[store.improving(slot, 0)] - scores[x] : -INF;
      dag.most_dropped[x] = -INF;
      for_each_bit(parents, [&](Int p) { dag.most_dropped[x] = std::max(dag.most_dropped[x], scores[p] - scores[x]); });
    }
  }
  return result;
}

// The best improving move.
//
// Most edges are passed by: what no parent of the child gains when dropped, and no parent of its parent when added, need not be looked
// up. Scores that are added in another order differ by rounding, for which there is room.
inline Move best_move(const RowRequests& rows, const DagState& dag, const Limits& limits) {
  const scores::RowStore& store = rows.store;
  BestMove best(limits.tolerance);
  double most_added = 0.0, largest = 0.0;
  for (Int x = 0; x < dag.n(); ++x) {
    most_added = std::max(most_added, dag.most_added[x]);
    largest = std::max(largest, std::abs(dag.score[x]));
  }
  const double room = ROUNDING * largest;
  for (Int x = 0; x < dag.n(); ++x) {
    const Int slot = dag.slot[x];
    const Floats scores = store.scores[slot];
    const double score = dag.score[x];
    for (Int y : store.improving[slot].part(0, best.beaten_by(dag.most_added[x]) ? store.n_improving[slot] : 0)) {
      const double gain = scores[y] - score;
      if (!best.beaten_by(gain)) break;
      if (has(limits.allowed[x], y) && !has(dag.reach[x], y)) {
        best.take(ADD, y, x, gain);
        break;
      }
    }
    const double dropped = dag.most_dropped[x] + room;
    if (!best.beaten_by(dropped + most_added)) continue;
    for_each_bit(dag.parents[x], [&](Int p) {
      if (!best.beaten_by(dropped + std::max(dag.most_added[p], 0.0))) return;
      if (has(limits.required[x], p)) return;
      const double drop = scores[p] - score;
      if (best.beaten_by(drop)) best.take(DROP, p, x, drop);
      const double turn = drop + store.scores(dag.slot[p], x) - dag.score[p];
      if (best.beaten_by(turn) && has(limits.allowed[p], x) && turnable(dag, p, x)) best.take(TURN, p, x, turn);
    });
  }
  return best.move;
}

// Take the best move until none improves or `max_moves` were made; their number, or MISS.
//
// The pulse beats between two moves, where the DAG is whole.
inline Int ascend(const RowRequests& rows, const DagState& dag, const Limits& limits, Int max_moves, Pulse& pulse) {
  for (Int moves = 0;; ++moves) {
    if (load_families(rows, dag) == MISS) return MISS;
    if (moves == max_moves) return moves;
    pulse(dag.parents.size() + 32 * dag.n());
    const Move move = best_move(rows, dag, limits);
    if (move.kind == NONE) return moves;
    make_move(dag, move.kind, move.parent, move.child);
    rows.n_moves[0] += 1;
  }
}

inline Int climb(const RowRequests& rows, const DagState& dag, const Limits& limits, Int max_moves) {
  Pulse pulse;
  return ascend(rows, dag, limits, max_moves, pulse);
}

// Whether `dag` is better than `kept`; the better of the two is in both afterwards.
inline bool keep_better(const DagState& dag, const DagState& kept, double tolerance) {
  const bool better = sum(dag.score) > sum(kept.score) + tolerance;
  if (better) copy_members(dag, kept);
  else copy_members(kept, dag);
  return better;
}

// For each node up to `last`: cut it out, climb, keep what is better. Returns 0, or MISS.
//
// `cursor` is (next node, −, stage, how many nodes brought a gain).
inline Int reinsert(const RowRequests& rows, const DagState& dag, const DagState& kept, const Limits& limits,
                    Vector<Int> cursor, Int last) {
  Int &node = cursor[0], &stage = cursor[2], &gains = cursor[3];
  Pulse pulse;
  for (; node < last; ++node) {
    if (stage == 0) {
      if (load_families(rows, dag) == MISS) return MISS;
      copy_members(dag, kept);
      stage = 1;
      cut(dag, limits, node);
    }
    if (ascend(rows, dag, limits, WITHOUT_END, pulse) == MISS) return MISS;
    gains += keep_better(dag, kept, limits.tolerance);
    stage = 0;
  }
  return 0;
}

// For each edge: drop it, climb without it, climb with it allowed, keep what is better.
//
// `cursor` is (next child, up to `last`; next parent; stage; gains). Returns 0, or MISS.
inline Int knock_out(const RowRequests& rows, const DagState& dag, const DagState& kept, const Limits& limits,
                     Vector<Int> cursor, Int last) {
  Int &x = cursor[0], &p = cursor[1], &stage = cursor[2], &gains = cursor[3];
  Pulse pulse;
  while (x < last) {
    if (stage == 0) {
      p = lowest(dag.parents[x], p);
      if (p < 0) {
        x += 1;
        p = 0;
        continue;
      }
      if (has(limits.required[x], p)) {
        p += 1;
        continue;
      }
      if (load_families(rows, dag) == MISS) return MISS;
      copy_members(dag, kept);
      stage = 1;
      drop_edge(dag, p, x);
      limits.allowed(x, p >> 6) &= ~bit(p);
    }
    if (stage == 1) {
      if (ascend(rows, dag, limits, WITHOUT_END, pulse) == MISS) return MISS;
      limits.allowed(x, p >> 6) |= bit(p);
      stage = 2;
    }
    if (ascend(rows, dag, limits, WITHOUT_END, pulse) == MISS) return MISS;
    gains += keep_better(dag, kept, limits.tolerance);
    p += 1;
    stage = 0;
  }
  return 0;
}

// ---- A walk past local optima, to the best graph not visited lately

// A hash of the edge p → x; a graph's is the exclusive or of its edges'.
inline Word edge_word(Int p, Int x) { return mix_bits(Word(p) * SPLITMIX_STEP + Word(x) + 1); }

inline Word graph_word(const DagState& dag) {
  Word word = 0;
  for (Int x = 0; x < dag.n(); ++x) for_each_bit(dag.parents[x], [&](Int p) { word ^= edge_word(p, x); });
  return word;
}

// The best move, a loss if need be, to a graph not in `tabu`; `here` is the hash of this one.
inline Move best_fresh_move(const RowRequests& rows, const DagState& dag, const Limits& limits, Words tabu, Word here) {
  const scores::RowStore& store = rows.store;
  const auto is_fresh = [&](Word there) { return !contains(tabu, there); };
  BestMove best(-INF, 0.0);
  for (Int x = 0; x < dag.n(); ++x) {
    const Floats scores = store.scores[dag.slot[x]];
    const double score = dag.score[x];
    for (Int y = 0; y < dag.n(); ++y) {
      const double gain = scores[y] - score;
      if (!best.beaten_by(gain) || y == x) continue;
      const bool is_parent = has(dag.parents[x], y);
      const bool legal = is_parent ? !has(limits.required[x], y) : has(limits.allowed[x], y) && !has(dag.reach[x], y);
      if (legal && is_fresh(here ^ edge_word(y, x))) best.take(is_parent ? DROP : ADD, y, x, gain);
    }
    for_each_bit(dag.parents[x], [&](Int p) {
      const double gain = scores[p] - score + store.scores(dag.slot[p], x) - dag.score[p];
      if (best.beaten_by(gain) && !has(limits.required[x], p) && has(limits.allowed[p], x) && turnable(dag, p, x) &&
          is_fresh(here ^ edge_word(p, x) ^ edge_word(x, p)))
        best.take(TURN, p, x, gain);
    });
  }
  return best.move;
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
      copy_members(dag, best);
      idle = 0;
    }
    const Word here = graph_word(dag);
    tabu[moves % tabu.size()] = here;
    const Move move = best_fresh_move(rows, dag, limits, tabu, here);
    if (move.kind == NONE || idle == tabu.size()) {
      copy_members(best, dag);
      return 0;
    }
    make_move(dag, move.kind, move.parent, move.child);
    moves += 1;
    idle += 1;
    pulse(dag.n() * dag.n());
  }
}

}  // namespace cp::bayesian
