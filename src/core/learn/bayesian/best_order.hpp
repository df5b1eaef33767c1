// Searches over orders of the variables: each takes its best parents among those before it.
#pragma once
#include "base/pulse.hpp"
#include "learn/bayesian/requests.hpp"

namespace cp::bayesian {

// Fill `family` with parents of x among `before`: the best addition while one improves.
//
// With `shrink` removals are tried as well. Returns the slot of the result, or MISS.
inline Int grow(const RowRequests& rows, const Limits& limits, Int x, Words before, bool shrink, Vector<Word> family) {
  const scores::RowStore& store = rows.store;
  family.copy_from(limits.required[x]);
  while (true) {
    const Int slot = load_row(rows, x, family);
    if (slot < 0) return MISS;
    const Floats scores = store.scores[slot];
    double best = limits.tolerance;
    Int chosen = -1;
    for (Int y : store.improving[slot].part(0, store.n_improving[slot])) {
      const double gain = scores[y] - scores[x];
      if (gain <= best) break;
      if (has(before, y) && has(limits.allowed[x], y)) {
        best = gain;
        chosen = y;
        break;
      }
    }
    if (shrink) {
      for_each_bit(family, [&](Int p) {
        const double gain = scores[p] - scores[x];
        if (gain > best && !has(limits.required[x], p)) {
          best = gain;
          chosen = p;
        }
      });
    }
    if (chosen < 0) return slot;
    family[chosen >> 6] ^= bit(chosen);
  }
}

// Fill `parents` for an order, and total[0] with the score; 0, or MISS.
inline Int parents_in_order(const RowRequests& rows, const Limits& limits, Ints order, bool shrink,
                            Matrix<Word> parents, Vector<double> total) {
  Array<Word, 1> before = zeros<Word>(parents.shape(1));
  total[0] = 0.0;
  for (Int x : order) {
    const Int slot = grow(rows, limits, x, before, shrink, parents[x]);
    if (slot < 0) return MISS;
    total[0] += rows.store.scores(slot, x);
    before[x >> 6] |= bit(x);
  }
  return 0;
}

// Fill totals[j] with the score when v stands at place j among `rest`, the order of the others; 0, or MISS.
inline Int score_places(const RowRequests& rows, const Limits& limits, Ints rest, Int v, Vector<Word> before,
                        Vector<Word> family, Vector<double> totals, Pulse& pulse) {
  const Int n = totals.size();
  // Add the score of u after `before` to the places from … to − 1.
  const auto add = [&](Int u, Int from, Int to) {
    const Int slot = grow(rows, limits, u, before, true, family);
    if (slot < 0) return false;
    for (double& total : totals.part(from, to)) total += rows.store.scores(slot, u);
    pulse(100 + to - from);
    return true;
  };
  before.fill(0);
  totals.fill(0.0);
  for (Int j = 0; j < n; ++j) {
    if (!add(v, j, j + 1)) return MISS;
    if (j == n - 1) break;
    const Int u = rest[j];
    if (!add(u, j + 1, n)) return MISS;  // u stands before v
    before[v >> 6] |= bit(v);
    if (!add(u, 0, j + 1)) return MISS;  // v stands before u
    before[v >> 6] &= ~bit(v);
    before[u >> 6] |= bit(u);
  }
  return 0;
}

// Move each node up to `last` to its best place in `order` (BOSS, Andrews et al. 2023).
//
// `cursor` is (next node, −, −, nodes moved). Returns 0, or MISS.
inline Int place_nodes(const RowRequests& rows, Vector<Int> order, const Limits& limits, Vector<Int> cursor, Int last) {
  const Int n = order.size(), words = limits.allowed.shape(1);
  Array<double, 1> totals(n);
  Array<Word, 1> before(words), family(words);
  Array<Int, 1> rest(n);
  Pulse pulse;
  for (Int& v = cursor[0]; v < last; ++v) {
    std::copy_if(order.begin(), order.end(), rest.begin(), [&](Int u) { return u != v; });
    if (score_places(rows, limits, rest.part(0, n - 1), v, before, family, totals, pulse) == MISS) return MISS;
    const Int now = std::find(order.begin(), order.end(), v) - order.begin();
    const Int best = argmax(totals.flat());
    if (totals[best] > totals[now] + limits.tolerance) {
      std::copy_n(rest.begin(), best, order.begin());
      order[best] = v;
      std::copy(rest.begin() + best, rest.begin() + n - 1, order.begin() + best + 1);
      cursor[3] += 1;
    }
  }
  return 0;
}

}  // namespace cp::bayesian
