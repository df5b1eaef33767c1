// One test for all particles at once: who is separated, and how much a test would tell.
//
// `edges` (n, n, particle words) holds for each pair of variables the set of particles with that edge;
// bit p of word p / 64 is particle p. `reach` follows all graphs together, 64 particles a word.
// Particles of one class, those that agree on all executed tests, are consecutive, class c from
// bounds[c] to bounds[c + 1].
#pragma once
#include "base/bits.hpp"
#include "base/pulse.hpp"

namespace cp::learn_independence {

// Fill `edges` from graphs (particles, n, words).
inline void spread_edges(View<const Word, 3> graphs, View<Word, 3> edges) {
  edges.fill(0);
  for (Int p = 0; p < graphs.shape(0); ++p)
    for (Int u = 0; u < graphs.shape(1); ++u)
      for_each_bit(graphs[p][u], [&](Int v) { edges(u, v, p >> 6) |= bit(p); });
}

// Fill `reached` (n, particle words): the particles in which `start` reaches each variable. `waiting` is scratch.
inline void reach(View<const Word, 3> edges, Words given, Int start, Matrix<Word> reached, Vector<bool> waiting) {
  const Int n = reached.shape(0), words = reached.shape(1);
  reached.fill(0);
  waiting.fill(false);
  reached[start].fill(~Word(0));
  waiting[start] = true;
  for (bool more = true; more;) {
    more = false;
    for (Int u = 0; u < n; ++u) {
      if (!waiting[u]) continue;
      waiting[u] = false;
      const Word* const from = reached[u].data;
      for (Int v = 0; v < n; ++v) {
        if (v == u || has(given, v)) continue;
        Word* const to = reached[v].data;
        const Word* const edge = edges[u][v].data;
        Word fresh = 0;
        for (Int k = 0; k < words; ++k) {
          const Word here = from[k] & edge[k] & ~to[k];
          to[k] |= here;
          fresh |= here;
        }
        if (fresh != 0) waiting[v] = more = true;
      }
    }
  }
}

// Fill `met` (questions, particle words): the particles that join the ends of each question.
inline void answer(View<const Word, 3> edges, Matrix<const Int> pairs, Matrix<const Word> given, Matrix<Word> met) {
  const Int n = edges.shape(0), words = edges.shape(2);
  Array<Word, 2> reached(n, words);
  Array<bool, 1> waiting(n);
  Pulse pulse;
  for (Int q = 0; q < pairs.shape(0); ++q) {
    pulse(n * n * words);
    reach(edges, given[q], pairs(q, 0), reached, waiting);
    met[q].copy_from(reached[pairs(q, 1)]);
  }
}

// The information of a test in bits: Σ n_c/N · H(share of class c that says independent).
//
// `met` are the particles in which the ends meet, `x_log_x` of 0 … N to base 2.
inline double gain(Words met, Ints bounds, Floats x_log_x) {
  double bits = 0.0;
  for (Int c = 0; c + 1 < bounds.size(); ++c) {
    const Int low = bounds[c], high = bounds[c + 1], size = high - low;
    if (size == 1) continue;
    Int n_met = 0;
    for (Int k = low >> 6; k <= (high - 1) >> 6; ++k) {
      Word word = met[k];
      if (k == low >> 6) word &= ~Word(0) << (low & 63);
      if (k == high >> 6) word &= bit(high) - 1;
      n_met += popcount(word);
    }
    bits += x_log_x[size] - x_log_x[n_met] - x_log_x[size - n_met];
  }
  return bits / double(bounds.back());
}

// ---- The search for the test that tells most for its cost, |given| + 2
//
// `worths`, `gains` (n, n) and `best` (n, n, words) keep, above the diagonal, the best test of each pair
// of ends: its worth, its information in bits and its conditioning set.

// What tests are judged by.
struct Criterion {
  View<const Word, 3> edges;  // the particles, and their classes, as in population.hpp
  Ints bounds;
  Floats x_log_x;
  double entropy;    // taken off the information: 0, or the entropy before the test for the paper's −H/W
  Floats log_cards;  // ln of each variable's number of states
  double log_cells;  // ln of the most cells that a test's table may have

  static constexpr const char* fields = "edges[n,n,words] bounds[] x_log_x[] entropy log_cards[n] log_cells";
  Int n() const { return edges.shape(0); }

  // Whether the table of a test is small enough.
  bool has_room(Words given, Int a, Int b) const {
    double room = log_cells - (log_cards[a] + log_cards[b]);
    for (Int v = lowest(given, 0); v >= 0 && room >= 0.0; v = lowest(given, v + 1)) room -= log_cards[v];
    return room >= 0.0;
  }
};

struct BestTests {
  Matrix<double> worths, gains;
  View<Word, 3> best;
};

// A test of `a` with others, given a set, for all particles at once.
class Trial {
 public:
  explicit Trial(const Criterion& criterion)
      : criterion_(criterion), reached_(criterion.n(), criterion.edges.shape(2)), waiting_(criterion.n()) {}

  void begin(Int a, Words given) {
    a_ = a;
    given_ = given;
    cost_ = size_of(given) + 2;
    reach(criterion_.edges, given, a, reached_, waiting_);
  }
  // Keep the test with end b where it is better than the best so far.
  void judge(Int b, const BestTests& tests) {
    const double bits = gain(reached_[b], criterion_.bounds, criterion_.x_log_x);
    const double worth = (bits - criterion_.entropy) / double(cost_);
    const Int x = std::min(a_, b), y = std::max(a_, b);
    if (bits > 0.0 && worth > tests.worths(x, y) && criterion_.has_room(given_, a_, b)) {
      tests.worths(x, y) = worth;
      tests.gains(x, y) = bits;
      tests.best[x][y].copy_from(given_);
    }
  }

 private:
  const Criterion& criterion_;
  Array<Word, 2> reached_;
  Array<bool, 1> waiting_;
  Int a_ = 0, cost_ = 0;
  Words given_;
};

// Judge the tests of each start variable with all others given its set, and given one member less.
//
// A set that holds the other end is asked without it. Worths begin at −∞.
inline void seek(const Criterion& criterion, Ints starts, Matrix<const Word> sets, Matrix<double> worths, Matrix<double> gains,
                 View<Word, 3> best) {
  const Int n = criterion.n();
  const BestTests tests{worths, gains, best};
  Array<Word, 1> given(sets.shape(1));
  Trial trial(criterion);
  Pulse pulse;
  for (Int s = 0; s < starts.size(); ++s) {
    const Int a = starts[s];
    Int left_out = -1;
    do {
      pulse(n * (n + 10) * criterion.edges.shape(2));
      given.copy_from(sets[s]);
      given[a >> 6] &= ~bit(a);
      if (left_out >= 0) given[left_out >> 6] &= ~bit(left_out);
      trial.begin(a, given);
      for (Int b = 0; b < n; ++b)
        if (b != a && !has(given, b)) trial.judge(b, tests);
      left_out = lowest(sets[s], left_out + 1);
      if (left_out == a) left_out = lowest(sets[s], left_out + 1);
    } while (left_out >= 0);
  }
}

// Add the variable at a place among those that are neither given nor an end.
inline void add_member(Vector<Word> given, Int a, Int b, Int place) {
  Int v = 0;
  while (v == a || v == b || has(given, v) || place-- > 0) ++v;
  given[v >> 6] |= bit(v);
}

// Take away the variable at a place among `members`.
inline void drop_member(Vector<Word> given, Words members, Int place) {
  Int v = lowest(members, 0);
  for (; place > 0; --place) v = lowest(members, v + 1);
  given[v >> 6] &= ~bit(v);
}

// Improve the best set of each of `pairs` (a < b) by first-choice climbing.
//
// A neighbor of a set has one more, one less or one other member; one is drawn at a time, by `draws`
// (pairs, tries, 3), and taken where it is better.
inline void climb(const Criterion& criterion, Matrix<const Int> pairs, View<const double, 3> draws, Matrix<double> worths,
                  Matrix<double> gains, View<Word, 3> best) {
  const Int n = criterion.n();
  const BestTests tests{worths, gains, best};
  Array<Word, 1> given(best.shape(2));
  Trial trial(criterion);
  Pulse pulse;
  for (Int s = 0; s < pairs.shape(0); ++s) {
    const Int a = pairs(s, 0), b = pairs(s, 1);
    const Words members = best[a][b];
    for (Int m = 0; m < draws.shape(1); ++m) {
      pulse(n * n * criterion.edges.shape(2));
      given.copy_from(members);
      const Int size = size_of(given), free = n - 2 - size;
      if (free + size == 0) break;  // two variables: the empty set is the only one
      // The first `free` choices add, the next `size` remove, the others replace.
      const Int choice = Int(draws(s, m, 0) * double(free + size + free * size));
      if (choice < free || choice >= free + size) add_member(given, a, b, Int(draws(s, m, 1) * double(free)));
      if (choice >= free) drop_member(given, members, Int(draws(s, m, 2) * double(size)));
      if (!criterion.has_room(given, a, b)) continue;
      trial.begin(a, given);
      trial.judge(b, tests);
    }
  }
}

}  // namespace cp::learn_independence
