// What a graph says of the executed tests.
//
// `reached` (tests, 2, words) holds, for one graph, all that each end of a test reaches outside of its
// given set: a test is independent where the second end is not among what the first reaches. With these
// sets most changes of a graph are judged by a few bits a test: an added edge joins two ends only if it
// joins their sets, and a removed one matters only inside them.
#pragma once
#include "base/bits.hpp"
#include "base/pulse.hpp"

namespace cp::learn_independence {

// An edge, or none.
struct Edge {
  Int u = -1, v = -1;
  explicit operator bool() const { return u >= 0; }
};

// A proposed change of a graph: an edge to remove and an edge to add, either of them none.
struct Change {
  Edge cut, tie;
  explicit operator bool() const { return cut || tie; }
  Change reversed() const { return {tie, cut}; }
  Int growth() const { return Int(bool(tie)) - Int(bool(cut)); }
};

// Toggle an edge.
inline void flip(Matrix<Word> rows, Edge edge) {
  rows(edge.u, edge.v >> 6) ^= bit(edge.v);
  rows(edge.v, edge.u >> 6) ^= bit(edge.u);
}

// Make a change, or take it back.
inline void toggle(Matrix<Word> rows, const Change& change) {
  if (change.cut) flip(rows, change.cut);
  if (change.tie) flip(rows, change.tie);
}

// Let two variables change places: each gets the neighbors of the other.
inline void exchange(Matrix<Word> rows, Edge pair) {
  const auto [u, v] = pair;
  std::swap_ranges(rows[u].begin(), rows[u].end(), rows[v].begin());
  for (Int w = 0; w < rows.shape(0); ++w)
    if (has(rows[w], u) != has(rows[w], v)) {
      rows(w, u >> 6) ^= bit(u);
      rows(w, v >> 6) ^= bit(v);
    }
}

inline Int count_edges(Matrix<const Word> rows) {
  return size_of(rows.flat()) / 2;
}

// The edge at a place among all edges, each counted in both directions.
inline Edge edge_at(Matrix<const Word> rows, Int place) {
  for (Int u = 0; u < rows.shape(0); ++u)
    for (Int k = 0; k < rows.shape(1); ++k) {
      Word word = rows(u, k);
      const Int n_here = popcount(word);
      if (place < n_here) {
        for (; place > 0; --place) word &= word - 1;
        return {u, 64 * k + lowest_bit(word)};
      }
      place -= n_here;
    }
  return {};
}

// An ordered pair of different variables of n: place u in 0 … n − 1 and place v in 0 … n − 2.
inline Edge pair_at(Int u, Int v) { return {u, v + Int(v >= u)}; }

// ---- What a graph says of the executed tests
//
// `reached` (tests, 2, words) holds, for one graph, all that each end of a test reaches outside of its
// given set: a test is independent where the second end is not among what the first reaches. With these
// sets most changes of a graph are judged by a few bits a test: an added edge joins two ends only if it
// joins their sets, and a removed one matters only inside them.

struct Tests {
  Matrix<const Int> pairs;    // (tests, 2): the ends
  Matrix<const Word> given;   // (tests, words): the conditioning sets
  Matrix<const double> logs;  // (tests, 2): log-likelihoods of independent and dependent

  static constexpr const char* fields = "pairs[t,2] given[t,words] logs[t,2]";
  Int size() const { return pairs.shape(0); }
};

// Scratch of a walk over one graph.
struct Flooded {
  Array<Word, 1> seen, front;
  explicit Flooded(Int words) : seen(words), front(words) {}
};

// Grow `seen` from `start` to all it reaches outside `blocked`; stop early at `goal`, −1 for none.
//
// Returns whether the goal was met. `front` is scratch.
inline bool flood(Matrix<const Word> rows, Words blocked, Int start, Int goal, Vector<Word> seen, Vector<Word> front) {
  const Int words = seen.size();
  if (words == 1) {
    const Word open = ~blocked[0], aim = goal >= 0 ? bit(goal) : 0;
    Word inside = bit(start), waiting = inside;
    while (waiting != 0 && (inside & aim) == 0) {
      const Word fresh = rows(lowest_bit(waiting), 0) & open & ~inside;
      waiting = (waiting & (waiting - 1)) | fresh;
      inside |= fresh;
    }
    seen[0] = inside;
    return (inside & aim) != 0;
  }
  seen.fill(0);
  seen[start >> 6] |= bit(start);
  front.copy_from(seen);
  for (Int w = 0; w < words;) {
    if (front[w] == 0) {
      ++w;
      continue;
    }
    const Words row = rows[64 * w + lowest_bit(front[w])];
    front[w] &= front[w] - 1;
    for (Int k = 0; k < words; ++k) {
      const Word fresh = row[k] & ~blocked[k] & ~seen[k];
      if (fresh == 0) continue;
      seen[k] |= fresh;
      front[k] |= fresh;
      w = std::min(w, k);
    }
    if (goal >= 0 && has(seen, goal)) return true;
  }
  return false;
}

// Whether the ends of test t are joined in a graph.
inline bool joins(Matrix<const Word> rows, const Tests& tests, Int t, Flooded& scratch) {
  return flood(rows, tests.given[t], tests.pairs(t, 0), tests.pairs(t, 1), scratch.seen, scratch.front);
}

// Whether v is in what an end of a test reaches.
inline bool inside(View<const Word, 3> reached, Int t, Int side, Int v) {
  return (reached(t, side, v >> 6) >> (v & 63)) & 1;
}

// Whether the ends of test t are joined, by what they are known to reach.
inline bool joined(View<const Word, 3> reached, const Tests& tests, Int t) { return inside(reached, t, 0, tests.pairs(t, 1)); }

// Fill what the ends of test t reach; returns whether they are joined.
inline bool settle(Matrix<const Word> rows, const Tests& tests, View<Word, 3> reached, Int t, Vector<Word> front) {
  const View<Word, 2> ends = reached[t];
  flood(rows, tests.given[t], tests.pairs(t, 0), -1, ends[0], front);
  const bool both = has(ends[0], tests.pairs(t, 1));
  if (both) ends[1].copy_from(ends[0]);
  else flood(rows, tests.given[t], tests.pairs(t, 1), -1, ends[1], front);
  return both;
}

// Fill `reached` of one graph anew.
inline void settle_all(Matrix<const Word> rows, const Tests& tests, View<Word, 3> reached, Vector<Word> front) {
  for (Int t = 0; t < tests.size(); ++t) settle(rows, tests, reached, t, front);
}

// Fill `reached` of all graphs for the tests from `first` on; add their logs to `totals`.
inline void measure(View<const Word, 3> graphs, const Tests& tests, Int first, View<Word, 4> reached, Vector<double> totals) {
  Array<Word, 1> front(tests.given.shape(1));
  Pulse pulse;
  for (Int p = 0; p < graphs.shape(0); ++p) {
    pulse(1 + (tests.size() - first) * graphs.shape(1) * graphs.shape(2));
    for (Int t = first; t < tests.size(); ++t) totals[p] += tests.logs(t, settle(graphs[p], tests, reached[p], t, front));
  }
}

// Whether neither end of an edge is given.
inline bool open_edge(Words given, Edge edge) { return !(has(given, edge.u) || has(given, edge.v)); }

// Bring `reached` up to date after a change, already made in `rows`.
inline void follow(Matrix<const Word> rows, const Tests& tests, View<Word, 3> reached, const Change& change, Vector<Word> front) {
  const auto [cut, tie] = change;
  for (Int t = 0; t < tests.size(); ++t) {
    bool touched = false;
    if (cut && (inside(reached, t, 0, cut.u) || inside(reached, t, 1, cut.u))) touched = open_edge(tests.given[t], cut);
    if (tie && !touched)
      touched = (inside(reached, t, 0, tie.u) != inside(reached, t, 0, tie.v) ||
                 inside(reached, t, 1, tie.u) != inside(reached, t, 1, tie.v)) &&
                open_edge(tests.given[t], tie);
    if (touched) settle(rows, tests, reached, t, front);
  }
}

}  // namespace cp::learn_independence
