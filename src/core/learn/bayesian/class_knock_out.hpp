// Edge knock-outs among classes of DAGs: what XGES (Nazaret & Blei 2024) adds to greedy equivalence search.
#pragma once
#include "learn/bayesian/ges.hpp"

namespace cp::bayesian {

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
  copy_pattern(pattern, kept);
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
    else copy_pattern(kept, pattern);
    x += 1;
    stage = 0;
  }
  return 0;
}

}  // namespace cp::bayesian
