// Moves that keep a graph in its class: what it says of every executed test stays the same.
//
// The local proposal of Bromberg & Margaritis (2007), with the ratio that makes it exact: an edge is
// drawn from those whose removal (A⁻), or addition (A⁺), changes no test, and the way back draws from
// sets of another size. Arrays are those of walk.hpp.
#pragma once
#include "learn/independence/walk.hpp"

namespace cp::learn_independence {

// Fill `free` (n, words) with A⁺, the missing edges that join no independent test; returns its size.
//
// An edge joins a test where it leads from what one end reaches to what the other reaches.
inline Int addable(Matrix<const Word> rows, const Tests& tests, View<const Word, 3> reached, Matrix<Word> free) {
  const Int n = rows.shape(0), words = rows.shape(1);
  for (Int u = 0; u < n; ++u) {
    for (Int k = 0; k < words; ++k) {
      const Int left = n - 64 * k;
      free(u, k) = ~rows(u, k) & (left >= 64 ? ~Word(0) : left > 0 ? bit(left) - 1 : 0);
    }
    free(u, u >> 6) &= ~bit(u);
  }
  for (Int t = 0; t < tests.size(); ++t) {
    if (joined(reached, tests, t)) continue;
    for (Int side = 0; side < 2; ++side) {
      const Words other = reached[t][1 - side];
      for_each_bit(reached[t][side], [&](Int u) {
        for (Int k = 0; k < words; ++k) free(u, k) &= ~other[k];
      });
    }
  }
  return count_edges(free);
}

// Fill `parent` along a shortest path from a to b that exists. `queue` is scratch.
inline void trace_path(Matrix<const Word> rows, Words given, Int a, Int b, Vector<Int> parent, Vector<Int> queue) {
  parent.fill(-1);
  parent[a] = a;
  queue[0] = a;
  for (Int first = 0, last = 1; parent[b] < 0; ++first) {
    const Int u = queue[first];
    for_each_bit(rows[u], [&](Int v) {
      if (parent[v] >= 0 || has(given, v)) return;
      parent[v] = u;
      queue[last++] = v;
    });
  }
}

// Fill `free` with A⁻, the edges whose loss separates no dependent test; returns its size.
//
// Only an edge on any one path between the ends can separate them, so a path is found and its edges are
// tried, in `rows`, which are the same in the end.
inline Int removable(Matrix<Word> rows, const Tests& tests, View<const Word, 3> reached, Matrix<Word> free) {
  const Int n = rows.shape(0);
  free.copy_from(rows);
  Array<Int, 1> parent(n), queue(n);
  Flooded scratch(rows.shape(1));
  for (Int t = 0; t < tests.size(); ++t) {
    if (!joined(reached, tests, t)) continue;
    const Int a = tests.pairs(t, 0), b = tests.pairs(t, 1);
    trace_path(rows, tests.given[t], a, b, parent, queue);
    for (Int v = b; v != a; v = parent[v]) {
      const Edge edge{parent[v], v};
      flip(rows, edge);
      if (!joins(rows, tests, t, scratch)) {
        free(edge.u, v >> 6) &= ~bit(v);
        free(v, edge.u >> 6) &= ~bit(edge.u);
      }
      flip(rows, edge);
    }
  }
  return count_edges(free);
}

// Whether a change of edges, already made, changes what the graph says of any test.
inline bool leaves_class(Matrix<const Word> rows, const Tests& tests, View<const Word, 3> reached, Flooded& scratch) {
  for (Int t = 0; t < tests.size(); ++t)
    if (joins(rows, tests, t, scratch) != joined(reached, tests, t)) return true;
  return false;
}

// Move each graph within its class: remove, add or swap, each a third of the time.
//
// A removal is taken with probability min(1, |A⁻(x)| / |A⁺(x*)| · prior ratio), an addition with
// |A⁺(x)| / |A⁻(x*)|. A swap draws any edge and any pair, and stays where that leaves the class: the way
// back is as likely. `totals` do not change and `shares` do not matter: the arguments are those of `walk`.
inline void class_walk(View<Word, 3> graphs, const Tests& tests, View<Word, 4> reached, Vector<Int> sizes, Vector<double>,
                       Floats log_prior, Floats, View<const double, 3> draws, Matrix<double> ratios) {
  const Int n = graphs.shape(1), words = graphs.shape(2);
  constexpr std::array<double, 3> only_swaps{0.0, 1.0, 0.0};
  Array<Word, 2> free(n, words);
  Flooded scratch(words);
  Pulse pulse;
  enum { REMOVE, ADD, SWAP };
  for (Int p = 0; p < graphs.shape(0); ++p) {
    const Matrix<Word> rows = graphs[p];
    const View<Word, 3> sets = reached[p];
    const auto n_moves = [&](Int kind) {
      return kind == REMOVE ? removable(rows, tests, sets, free) : kind == ADD ? addable(rows, tests, sets, free) : 1;
    };
    for (Int m = 0; m < draws.shape(1); ++m) {
      pulse(100 + 100 * tests.size());
      const Floats draw = draws[p][m];
      ratios(p, m) = NOT_A_NUMBER;
      const Int kind = Int(3.0 * draw[0]);
      const Int here = n_moves(kind);
      if (here == 0) continue;
      Change change;
      if (kind == SWAP) {
        change = propose(rows, sizes[p], only_swaps, draw);
        if (!change.cut || !change.tie) continue;
      } else {
        (kind == REMOVE ? change.cut : change.tie) = edge_at(free, Int(draw[1] * 2.0 * double(here)));
      }
      toggle(rows, change);
      if (kind == SWAP && leaves_class(rows, tests, sets, scratch)) {
        toggle(rows, change);
        continue;
      }
      follow(rows, tests, sets, change, scratch.front);
      const Int back = n_moves(kind == REMOVE ? ADD : kind == ADD ? REMOVE : SWAP);
      const Int size = sizes[p] + change.growth();
      const double ratio = log_prior[size] - log_prior[sizes[p]] + std::log(double(here) / double(back));
      if (ratio > std::log(draw[3])) {
        sizes[p] = size;
        ratios(p, m) = ratio;
      } else {
        toggle(rows, change);
        follow(rows, tests, sets, change.reversed(), scratch.front);
      }
    }
  }
}

}  // namespace cp::learn_independence
