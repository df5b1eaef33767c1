// For each node, tables over masks of its k candidate parents, and draws from them.
#pragma once
#include "base/bits.hpp"
#include "base/pulse.hpp"

namespace cp::bayesian {

struct Tables {
  Matrix<const Int> candidates;  // (n, k): rise by position; bit c of a mask is candidates[i, c]
  Matrix<const Int> bits;        // (n, n): the bit of j among the candidates of i, 0 where it is none
  Matrix<const Int> sets;        // (n, s): the masks that are allowed, by falling score
  Matrix<const double> scores;   // (n, 2ᵏ): log-score of i given a mask, less the largest
  Matrix<const double> sums;     // (n, 2ᵏ): log of the sum over all subsets of a mask

  static constexpr const char* fields = "candidates[n,k] bits[n,n] sets[n,s] scores[n,masks] sums[n,masks]";
  Int n() const { return candidates.shape(0); }
  Int k() const { return candidates.shape(1); }
};

// Turn log-scores of parent sets into the logs of the sums over all subsets, in place.
inline void log_sum_subsets(Vector<double> sums) {
  Pulse pulse;
  for (Int bit = 1; bit < sums.size(); bit <<= 1)
    for (Int m = 0; m < sums.size(); ++m) {
      if (!(m & bit)) continue;
      pulse(20);
      const auto [low, high] = std::minmax(sums[m], sums[m ^ bit]);
      sums[m] = low > -INF ? high + std::log1p(std::exp(low - high)) : high;
    }
}

// The index drawn with probability ∝ exp(logs). Overwrites `logs`.
inline Int choose(Vector<double> logs, double uniform) {
  double left = uniform * exponentiate(logs);
  Int drawn = 0;
  for (Int i = 0; i < logs.size(); ++i) {
    if (!(logs[i] > 0.0)) continue;
    drawn = i;
    left -= logs[i];
    if (left < 0.0) break;
  }
  return drawn;
}

// Draws parent sets of a node.
class SetDraw {
 public:
  explicit SetDraw(const Tables& tables) : tables_(tables), sets_(tables.sets.shape(1)), shares_(tables.sets.shape(1)) {}

  // A set inside `before`, drawn ∝ exp(scores); touching `needed` unless that is 0.
  Int operator()(Int node, Int before, Int needed, double uniform) {
    const Floats scores = tables_.scores[node];
    Int size = 0;
    double largest = -INF, total = 0.0;
    for (Int m : tables_.sets[node]) {
      if (scores[m] < largest + NOTHING || scores[m] == -INF) break;
      if ((m & ~before) != 0 || (needed != 0 && (m & needed) == 0)) continue;
      if (size == 0) largest = scores[m];
      sets_[size] = m;
      total += shares_[size++] = std::exp(scores[m] - largest);
    }
    double left = uniform * total;
    for (Int c = 0; c < size; ++c) {
      left -= shares_[c];
      if (left < 0.0) return sets_[c];
    }
    return size > 0 ? sets_[size - 1] : 0;
  }

 private:
  static constexpr double NOTHING = -50.0;  // the log of a share that a sum of doubles does not notice

  const Tables& tables_;
  Array<Int, 1> sets_;
  Array<double, 1> shares_;
};

// ---- Gibbs moves of one node through an order of the nodes
//
// A node's place says which of its candidate parents come before it.

// Draw a new position for the node at `start` from its conditional, in O(n).
//
// before[i] is the mask of the candidates of i that come before it; `logs` is scratch.
inline void move_in_order(const Tables& tables, Vector<Int> order, Vector<Int> before, Int start, double uniform,
                          Vector<double> logs) {
  const Matrix<const double> sums = tables.sums;
  const Matrix<const Int> bits = tables.bits;
  const Int n = order.size(), v = order[start];
  // What comes before v, and before u, once they have changed places; v goes to the left where way < 0.
  const auto passed = [&](Int mask, Int u, Int way) { return way < 0 ? mask & ~bits(v, u) : mask | bits(v, u); };
  const auto passed_by = [&](Int u, Int way) { return way < 0 ? before[u] | bits(u, v) : before[u] & ~bits(u, v); };
  logs[start] = 0.0;
  for (Int way : {-1, 1}) {
    Int mask = before[v];
    double total = 0.0;
    for (Int q = start + way; 0 <= q && q < n; q += way) {
      const Int u = order[q], next = passed(mask, u, way);
      total += sums(v, next) - sums(v, mask) + sums(u, passed_by(u, way)) - sums(u, before[u]);
      logs[q] = total;
      mask = next;
    }
  }
  const Int place = choose(logs, uniform), way = place < start ? -1 : 1;
  for (Int q = start; q != place; q += way) {
    const Int u = order[q + way];
    order[q] = u;
    before[v] = passed(before[v], u, way);
    before[u] = passed_by(u, way);
  }
  order[place] = v;
}

// Fill the mask of each node's candidates that come before it.
inline void fill_before(const Tables& tables, Ints order, Vector<Int> before) {
  before.fill(0);
  for (Int q = 0; q < order.size(); ++q)
    for (Int r = 0; r < q; ++r) before[order[q]] |= tables.bits(order[q], order[r]);
}

// Take the moves of `uniforms` (samples, moves, 2), and add up each sample's edges.
inline void walk_orders(const Tables& tables, Vector<Int> order, View<const double, 3> uniforms, Matrix<double> edges,
                        Vector<double> log_scores) {
  const Int n = order.size();
  Array<double, 1> logs(n);
  Array<Int, 1> before(n);
  fill_before(tables, order, before);
  Pulse pulse;
  for (Int sample = 0; sample < uniforms.shape(0); ++sample) {
    for (Int move = 0; move < uniforms.shape(1); ++move) {
      pulse(20 * n);
      const Floats pair = uniforms[sample][move];
      const Int start = std::min(n - 1, Int(pair[0] * double(n)));
      move_in_order(tables, order, before, start, pair[1], logs);
    }
    pulse(20 * n * tables.k());
    log_scores[sample] = 0.0;
    for (Int i = 0; i < n; ++i) {
      const Floats sums = tables.sums[i];
      const Int mask = before[i];
      const double whole = sums[mask];
      log_scores[sample] += whole;
      for (Int c = 0; c < tables.k(); ++c)
        if (mask >> c & 1) edges(i, c) -= std::expm1(sums[mask & ~(Int(1) << c)] - whole);
    }
  }
}

// Fill `chosen` with a parent set for each node, drawn from the networks of the order.
inline void draw_by_order(const Tables& tables, Ints order, Floats uniforms, Vector<Int> chosen) {
  SetDraw draw(tables);
  Array<Int, 1> before(order.size());
  fill_before(tables, order, before);
  for (Int i = 0; i < order.size(); ++i) chosen[i] = draw(i, before[i], 0, uniforms[i]);
}

}  // namespace cp::bayesian
