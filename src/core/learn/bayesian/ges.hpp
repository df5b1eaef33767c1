// Greedy equivalence search (Chickering 2002).
//
// Insert(x, y, T) is indexed by its whole conditioning clique T, which holds all neighbors of y that are
// adjacent to x. So one row, of (y, parents of y + T), serves every x, inserts and deletes alike.
#pragma once
#include "base/pulse.hpp"
#include "learn/bayesian/pattern.hpp"

namespace cp::bayesian {

constexpr Int MAX_CLIQUES = 256;  // conditioning sets tried per node
constexpr Int TOO_MANY = -2;

// The conditioning cliques of one node, listed again for each.
struct Cliques {
  Array<Word, 2> sets;
  Array<Word, 2> open_to;  // the later neighbors that may join each
  Array<Word, 1> family;   // the parents of the node and one clique

  explicit Cliques(Int words) : sets(MAX_CLIQUES, words), open_to(MAX_CLIQUES, words), family(words) {}
};

// Fill `cliques` with the cliques among y's neighbors, the empty one first; their number.
inline Int list_cliques(const Pattern& pattern, Int y, const Cliques& cliques) {
  const Int words = pattern.words();
  const Matrix<Word> sets = cliques.sets, open_to = cliques.open_to;
  sets[0].fill(0);
  open_to[0].copy_from(pattern.neighbors[y]);
  Int count = 1;
  for (Int done = 0; done < count; ++done) {
    for (Int v = lowest(open_to[done], 0); v >= 0 && count < MAX_CLIQUES; v = lowest(open_to[done], v + 1)) {
      const Int place = v >> 6;
      for (Int w = 0; w < words; ++w) {
        const Word later = w < place ? 0 : w == place ? ~(bit(v) | (bit(v) - 1)) : ~Word(0);
        sets(count, w) = sets(done, w);
        open_to(count, w) = open_to(done, w) & pattern.around(v, w) & later;
      }
      sets(count, place) |= bit(v);
      count += 1;
    }
  }
  return count;
}

// The slot of (y, its parents and `clique`), the set in `family`; MISS, or TOO_MANY parents.
inline Int clique_row(const RowRequests& rows, const Pattern& pattern, Int max_parents, Int y, Words clique,
                      Vector<Word> family) {
  for (Int w = 0; w < family.size(); ++w) family[w] = pattern.parents(y, w) | clique[w];
  return graphs::size_of(family) <= max_parents ? load_row(rows, y, family) : TOO_MANY;
}

// Bring `bound` and the best delete of y up to date; 0, or MISS.
inline Int scan_node(const RowRequests& rows, const Pattern& pattern, const Limits& limits, Int max_parents, Int y,
                     const Cliques& cliques) {
  const scores::RowStore& store = rows.store;
  double bound = -INF, drop_gain = -INF;
  Int drop_node = -1, drop_clique = -1;
  bool missed = false;
  const Int count = list_cliques(pattern, y, cliques);
  for (Int t = 0; t < count; ++t) {
    const Words clique = cliques.sets[t];
    const Int slot = clique_row(rows, pattern, max_parents, y, clique, cliques.family);
    if (slot == TOO_MANY) continue;
    missed |= slot < 0;
    if (missed) continue;  // note what else is missing
    const Floats scores = store.scores[slot];
    const double score = scores[y];
    for (Int x : store.improving[slot].part(0, store.n_improving[slot])) {
      const double gain = scores[x] - score;
      if (gain <= bound) break;
      if (has(limits.allowed[y], x) && !adjacent(pattern, x, y)) {
        bound = gain;
        break;
      }
    }
    for_each_bit(cliques.family, [&](Int x) {
      const double gain = scores[x] - score;
      if (gain > drop_gain && within_adjacent(pattern, x, clique)) {
        drop_gain = gain;
        drop_node = x;
        drop_clique = t;
      }
    });
  }
  if (missed) return MISS;
  pattern.bound[y] = bound;
  pattern.drop_gain[y] = drop_gain;
  pattern.drop_node[y] = drop_node;
  if (drop_clique >= 0) pattern.drop_clique[y].copy_from(cliques.sets[drop_clique]);
  return 0;
}

// Whether `clique` holds all neighbors of y that are adjacent to x.
inline bool covers(const Pattern& pattern, Int x, Int y, Words clique) {
  for (Int w = 0; w < clique.size(); ++w)
    if (pattern.neighbors(y, w) & pattern.around(x, w) & ~clique[w]) return false;
  return true;
}

struct Insert {
  Int x = -1, y = -1;
  double gain;
  Array<Word, 1> clique;
};

// Put the best valid insert into y that gains more than `best` into `best`; 0, or MISS.
inline Int best_insert(const RowRequests& rows, const Pattern& pattern, const Limits& limits, Int max_parents, Int y,
                       const Cliques& cliques, Insert& best) {
  const scores::RowStore& store = rows.store;
  const Int count = list_cliques(pattern, y, cliques);
  for (Int t = 0; t < count; ++t) {
    const Words clique = cliques.sets[t];
    const Int slot = clique_row(rows, pattern, max_parents, y, clique, cliques.family);
    if (slot == TOO_MANY) continue;
    if (slot < 0) return MISS;
    const Floats scores = store.scores[slot];
    for (Int x : store.improving[slot].part(0, store.n_improving[slot])) {
      const double gain = scores[x] - scores[y];
      if (gain <= best.gain) break;
      if (!has(limits.allowed[y], x) || adjacent(pattern, x, y)) continue;
      if (covers(pattern, x, y, clique) && blocked(pattern, y, x, clique)) {
        best.x = x;
        best.y = y;
        best.gain = gain;
        best.clique.copy_from(clique);
        break;
      }
    }
  }
  return 0;
}

// The best insert of all into `best`, which keeps x = −1 where none gains; 0, or MISS.
//
// Nodes are visited by falling bound, so that most are never looked at.
inline Int best_insert_of_all(const RowRequests& rows, const Pattern& pattern, const Limits& limits, Int max_parents,
                              const Cliques& cliques, Vector<bool> visited, Insert& best) {
  best.x = -1;
  best.gain = limits.tolerance;
  visited.fill(false);
  while (true) {
    Int y = -1;
    for (Int v = 0; v < pattern.n(); ++v)
      if (!visited[v] && (y < 0 || pattern.bound[v] > pattern.bound[y])) y = v;
    if (y < 0 || pattern.bound[y] <= best.gain) return 0;
    visited[y] = true;
    if (best_insert(rows, pattern, limits, max_parents, y, cliques, best) == MISS) return MISS;
  }
}

// Delete and insert until nothing gains or `max_steps` were made; their number, or MISS.
//
// Deletes go first. The pulse beats where the class is whole.
inline Int search_classes(const RowRequests& rows, const Pattern& pattern, const Limits& limits, Int max_parents,
                          Int max_steps, Pulse& pulse) {
  const Int n = pattern.n(), words = pattern.words();
  const Cliques cliques(words);
  Insert best;
  best.clique = Array<Word, 1>(words);
  Array<bool, 1> visited(n);
  for (Int steps = 0;; ++steps) {
    bool missed = false;
    for (Int y = 0; y < n; ++y) {
      if (!pattern.dirty[y]) continue;
      pulse(1000 + n);
      if (scan_node(rows, pattern, limits, max_parents, y, cliques) == MISS) missed = true;
      else pattern.dirty[y] = false;
    }
    if (missed) return MISS;
    if (steps == max_steps) return steps;
    pulse(8 * pattern.member.size());
    const Int y = argmax(pattern.drop_gain);
    if (pattern.drop_gain[y] > limits.tolerance) {
      best.clique.copy_from(pattern.drop_clique[y]);
      apply_operator(pattern, pattern.drop_node[y], y, best.clique);
    } else {
      if (best_insert_of_all(rows, pattern, limits, max_parents, cliques, visited, best) == MISS) return MISS;
      if (best.x < 0) return steps;
      apply_operator(pattern, best.x, best.y, best.clique);
    }
    rows.n_moves[0] += 1;
  }
}

inline Int ges(const RowRequests& rows, const Pattern& pattern, const Limits& limits, Int max_parents, Int max_steps) {
  Pulse pulse;
  return search_classes(rows, pattern, limits, max_parents, max_steps, pulse);
}

}  // namespace cp::bayesian
