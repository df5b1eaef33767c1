// Metropolis–Hastings moves of particles by symmetric proposals.
//
// Randomness is passed in. `ratios` is filled with the log-ratio where a proposal was taken, with NaN
// where not; `sizes` are numbers of edges, `totals` log-likelihoods, `log_prior` is by number of edges.
#pragma once
#include <functional>

#include "learn/independence/executed.hpp"

namespace cp::learn_independence {

// Whether u and v have a common neighbor that is not given.
inline bool have_open_neighbor(Matrix<const Word> rows, Words given, Edge edge) {
  for (Int k = 0; k < given.size(); ++k)
    if ((rows(edge.u, k) & rows(edge.v, k) & ~given[k]) != 0) return true;
  return false;
}

// What the log-likelihood gains by a change of edges, already made in `rows`.
//
// Newest tests come first; no change can gain more than `slack` in all, so it ends with −∞ once `need`
// is out of reach.
inline double gain_of(Matrix<const Word> rows, const Tests& tests, View<const Word, 3> reached, const Change& change,
                      double need, double slack, Flooded& scratch) {
  const auto [cut, tie] = change;
  double gained = 0.0;
  for (Int t = tests.size() - 1; t >= 0; --t) {
    if (joined(reached, tests, t)) {
      const Words given = tests.given[t];
      if (!cut || !inside(reached, t, 0, cut.u) || !open_edge(given, cut)) continue;
      if (have_open_neighbor(rows, given, cut) || joins(rows, tests, t, scratch)) continue;
      gained += tests.logs(t, 0) - tests.logs(t, 1);
    } else {
      if (!tie) continue;
      if (!((inside(reached, t, 0, tie.u) && inside(reached, t, 1, tie.v)) ||
            (inside(reached, t, 0, tie.v) && inside(reached, t, 1, tie.u))))
        continue;
      if (cut && !joins(rows, tests, t, scratch)) continue;
      gained += tests.logs(t, 1) - tests.logs(t, 0);
    }
    if (gained + slack < need) return -INF;
  }
  return gained;
}

// As `gain_of`, for a graph that may differ in any edge.
inline double gain_of_all(Matrix<const Word> rows, const Tests& tests, View<const Word, 3> reached, double need, double slack,
                          Flooded& scratch) {
  double gained = 0.0;
  for (Int t = tests.size() - 1; t >= 0; --t) {
    const bool now = joins(rows, tests, t, scratch);
    if (now == joined(reached, tests, t)) continue;
    gained += tests.logs(t, now) - tests.logs(t, !now);
    if (gained + slack < need) return -INF;
  }
  return gained;
}

// A change of a graph with `size` edges, from three uniform numbers.
//
// Toggle a pair; or swap an edge for a pair; or slide one end of an edge: `shares` are their chances. The
// way back is as likely in each. Where the pair to add is an edge already, nothing is proposed.
inline Change propose(Matrix<const Word> rows, Int size, const std::array<double, 3>& shares, Floats draw) {
  const Int n = rows.shape(0);
  const auto [toggles, swaps, slides] = shares;
  if (draw[0] < toggles || n < 3) {
    const Edge pair = pair_at(Int(draw[1] * double(n)), Int(draw[2] * double(n - 1)));
    return has(rows[pair.u], pair.v) ? Change{pair, {}} : Change{{}, pair};
  }
  if (size == 0) return {};
  const Edge cut = edge_at(rows, Int(draw[1] * 2.0 * double(size)));
  Edge tie;
  if (draw[0] < toggles + swaps) {
    const Int place = Int(draw[2] * double(n) * double(n - 1));
    tie = pair_at(place / (n - 1), place % (n - 1));
  } else {
    tie = {cut.u, Int(draw[2] * double(n - 2))};
    tie.v += tie.v >= std::min(cut.u, cut.v);
    tie.v += tie.v >= std::max(cut.u, cut.v);
  }
  return has(rows[tie.u], tie.v) ? Change{} : Change{cut, tie};
}

// Let two variables change places, as likely as the likelihood gains; returns the gain, or NaN.
//
// Where `nearby`, the two are neighbors. They stay neighbors, so the way back is as likely.
inline double try_exchange(Matrix<Word> rows, const Tests& tests, View<Word, 3> reached, Int size, bool nearby, Floats draw,
                           double slack, Flooded& scratch) {
  const Int n = rows.shape(0);
  const Edge pair = nearby && size > 0 ? edge_at(rows, Int(draw[1] * 2.0 * double(size)))
                                       : pair_at(Int(draw[1] * double(n)), Int(draw[2] * double(n - 1)));
  const double need = std::log(draw[3]);
  exchange(rows, pair);
  const double gained = gain_of_all(rows, tests, reached, need, slack, scratch);
  if (gained > need) {
    settle_all(rows, tests, reached, scratch.front);
    return gained;
  }
  exchange(rows, pair);
  return NOT_A_NUMBER;
}

// Move each graph as often as `draws` (graphs, moves, 4) has numbers for.
//
// A proposal is taken with probability min(1, exp(ratio)). `shares` are the chances of toggles, swaps
// and slides; exchanges make up the rest.
inline void walk(View<Word, 3> graphs, const Tests& tests, View<Word, 4> reached, Vector<Int> sizes, Vector<double> totals,
                 Floats log_prior, Floats shares, View<const double, 3> draws, Matrix<double> ratios) {
  const Int n = graphs.shape(1);
  Flooded scratch(graphs.shape(2));
  const std::array<double, 3> chances{shares[0], shares[1], shares[2]};
  const double local = sum(shares);
  double ceiling = 0.0;
  for (Int t = 0; t < tests.size(); ++t) ceiling += std::max(tests.logs(t, 0), tests.logs(t, 1));
  Pulse pulse;
  for (Int p = 0; p < graphs.shape(0); ++p) {
    const Matrix<Word> rows = graphs[p];
    const View<Word, 3> sets = reached[p];
    for (Int m = 0; m < draws.shape(1); ++m) {
      pulse(20 + 10 * tests.size());
      const Floats draw = draws[p][m];
      double& ratio = ratios(p, m);
      ratio = NOT_A_NUMBER;
      const double slack = ceiling - totals[p] + 1e-9;
      if (draw[0] >= local && n > 2) {
        const bool nearby = draw[0] < 0.5 * (1.0 + local);
        const double gained = try_exchange(rows, tests, sets, sizes[p], nearby, draw, slack, scratch);
        if (gained == gained) {
          totals[p] += gained;
          ratio = gained;
        }
        continue;
      }
      const Change change = propose(rows, sizes[p], chances, draw);
      if (!change) continue;
      const double prior = log_prior[sizes[p] + change.growth()] - log_prior[sizes[p]];
      const double need = std::log(draw[3]) - prior;
      if (slack < need) continue;
      toggle(rows, change);
      const double gained = gain_of(rows, tests, sets, change, need, slack, scratch);
      if (gained > need) {
        follow(rows, tests, sets, change, scratch.front);
        totals[p] += gained;
        sizes[p] += change.growth();
        ratio = gained + prior;
      } else {
        toggle(rows, change);
      }
    }
  }
}

}  // namespace cp::learn_independence
