// Greedy equivalence search (Chickering 2002).
//
// Insert(x, y, T) is indexed by its whole conditioning clique T, which holds all neighbors of y that are
// adjacent to x. So one row, of (y, parents of y + T), serves every x, inserts and deletes alike.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

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
  Array<Word, 1> seen;     // what walks from the node reach around one clique

  explicit Cliques(Int words) : sets(MAX_CLIQUES, words), open_to(MAX_CLIQUES, words), family(words), seen(words) {}
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
  return size_of(family) <= max_parents ? load_row(rows, y, family) : TOO_MANY;
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
    auto is_reached = [&, walked = false](Int x) mutable {  // one walk serves all x
      if (t == 0 || !has(pattern.reach[y], x)) return has(pattern.reach[y], x);
      if (!std::exchange(walked, true)) walk_from(pattern, y, clique, cliques.seen);
      return has(cliques.seen, x);
    };
    for (Int x : store.improving[slot].part(0, store.n_improving[slot])) {
      const double gain = scores[x] - scores[y];
      if (gain <= best.gain) break;
      if (!has(limits.allowed[y], x) || adjacent(pattern, x, y)) continue;
      if (covers(pattern, x, y, clique) && !is_reached(x)) {
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
// Nodes are visited by falling bound, equal ones in order, so that most are never looked at.
inline Int best_insert_of_all(const RowRequests& rows, const Pattern& pattern, const Limits& limits, Int max_parents,
                              const Cliques& cliques, Insert& best) {
  best.x = -1;
  best.gain = limits.tolerance;
  std::vector<Int> waiting;
  for (Int v = 0; v < pattern.n(); ++v)
    if (pattern.bound[v] > best.gain) waiting.push_back(v);
  const auto later = [&](Int a, Int b) {
    return pattern.bound[a] != pattern.bound[b] ? pattern.bound[a] < pattern.bound[b] : a > b;
  };
  std::make_heap(waiting.begin(), waiting.end(), later);
  for (; !waiting.empty() && pattern.bound[waiting.front()] > best.gain; waiting.pop_back()) {
    if (best_insert(rows, pattern, limits, max_parents, waiting.front(), cliques, best) == MISS) return MISS;
    std::pop_heap(waiting.begin(), waiting.end(), later);
  }
  return 0;
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
      if (best_insert_of_all(rows, pattern, limits, max_parents, cliques, best) == MISS) return MISS;
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

// ---- Edge knock-outs among classes of DAGs: what XGES (Nazaret & Blei 2024) adds to greedy equivalence search

// Put the gain of the best valid delete of x from y's family, if above `best`, into `best`, and its
// conditioning set into `clique`; 0, or MISS.
inline Int best_delete(const RowRequests& rows, const Pattern& pattern, Int max_parents, Int x, Int y,
                       const Cliques& cliques, double& best, Vector<Word> clique) {
  const Int count = list_cliques(pattern, y, cliques);
  for (Int t = 0; t < count; ++t) {
    const Words set = cliques.sets[t];
    const bool in_family = has(pattern.parents[y], x) || has(set, x);
    if (!in_family || !within_adjacent(pattern, x, set)) continue;
    const Int slot = clique_row(rows, pattern, max_parents, y, set, cliques.family);
    if (slot == TOO_MANY) continue;
    if (slot < 0) return MISS;
    const double gain = rows.store.scores(slot, x) - rows.store.scores(slot, y);
    if (gain > best) {
      best = gain;
      clique.copy_from(set);
    }
  }
  return 0;
}

// Put the score of the class into `score`; 0, or MISS.
inline Int score_class(const RowRequests& rows, const Pattern& pattern, double& score) {
  score = 0.0;
  for (Int x = 0; x < pattern.n(); ++x) {
    const Int slot = load_row(rows, x, pattern.member[x]);
    if (slot < 0) return MISS;
    score += rows.store.scores(slot, x);
  }
  return 0;
}

// Allow or forbid the pair in both directions.
inline void set_allowed(const Limits& limits, Int x, Int y, bool allowed) {
  const auto set = [&](Word& word, Word bits) { word = allowed ? word | bits : word & ~bits; };
  set(limits.allowed(x, y >> 6), bit(y));
  set(limits.allowed(y, x >> 6), bit(x));
}

// Save the class, delete x – y in the best way, forbid the pair; 1, or 0 if there is no way, or MISS.
inline Int start_knock_out(const RowRequests& rows, const Pattern& pattern, const Pattern& kept, const Limits& limits,
                           Int max_parents, Int x, Int y) {
  const Cliques cliques(pattern.words());
  Array<Word, 1> clique_of_y(pattern.words()), clique_of_x(pattern.words());
  double into_y = -INF;
  if (best_delete(rows, pattern, max_parents, x, y, cliques, into_y, clique_of_y) == MISS) return MISS;
  double into_x = into_y;
  if (best_delete(rows, pattern, max_parents, y, x, cliques, into_x, clique_of_x) == MISS) return MISS;
  if (into_x == -INF) return 0;
  copy_members(pattern, kept);
  if (into_x > into_y) apply_operator(pattern, y, x, clique_of_x);
  else apply_operator(pattern, x, y, clique_of_y);
  set_allowed(limits, x, y, false);
  return 1;
}

// For each edge: delete it, search without the pair, then with it; keep what is better.
//
// `cursor` is (y, x, stage, gains); y runs up to `last`. Returns 0, or MISS.
inline Int knock_out_classes(const RowRequests& rows, const Pattern& pattern, const Pattern& kept, const Limits& limits,
                             Int max_parents, Vector<Int> cursor, Int last) {
  Int &y = cursor[0], &x = cursor[1], &stage = cursor[2], &gains = cursor[3];
  Pulse pulse;
  while (y < last) {
    if (stage == 0) {
      if (x >= y) {
        y += 1;
        x = 0;
        continue;
      }
      const Int started = adjacent(pattern, x, y) ? start_knock_out(rows, pattern, kept, limits, max_parents, x, y) : 0;
      if (started == MISS) return MISS;
      if (started == 0) {
        x += 1;
        continue;
      }
      stage = 1;
    }
    if (stage == 1) {
      if (search_classes(rows, pattern, limits, max_parents, WITHOUT_END, pulse) == MISS) return MISS;
      set_allowed(limits, x, y, true);
      pattern.dirty[x] = true;
      pattern.dirty[y] = true;
      stage = 2;
    }
    if (search_classes(rows, pattern, limits, max_parents, WITHOUT_END, pulse) == MISS) return MISS;
    double after, before;
    if (score_class(rows, pattern, after) == MISS || score_class(rows, kept, before) == MISS) return MISS;
    if (after > before + limits.tolerance) gains += 1;
    else copy_members(kept, pattern);
    x += 1;
    stage = 0;
  }
  return 0;
}

}  // namespace cp::bayesian
