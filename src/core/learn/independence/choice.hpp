// The search for the test that tells most for its cost, |given| + 2.
//
// `worths`, `gains` (n, n) and `best` (n, n, words) keep, above the diagonal, the best test of each pair
// of ends: its worth, its information in bits and its conditioning set.
#pragma once
#include <tuple>

#include "learn/independence/population.hpp"

namespace cp::learn_independence {

// What tests are judged by.
struct Criterion {
  View<const Word, 3> edges;  // the particles, and their classes, as in population.hpp
  Ints bounds;
  Floats x_log_x;
  double entropy;    // taken off the information: 0, or the entropy before the test for the paper's −H/W
  Floats log_cards;  // ln of each variable's number of states
  double log_cells;  // ln of the most cells that a test's table may have

  static constexpr const char* fields = "edges[n,n,words] bounds[] x_log_x[] entropy log_cards[n] log_cells";
  auto members() { return std::tie(edges, bounds, x_log_x, entropy, log_cards, log_cells); }
  Int n() const { return edges.shape(0); }

  // Whether the table of a test is small enough.
  bool has_room(Words given, Int a, Int b) const {
    double room = log_cells - (log_cards[a] + log_cards[b]);
    for (Int v = graphs::lowest(given, 0); v >= 0 && room >= 0.0; v = graphs::lowest(given, v + 1)) room -= log_cards[v];
    return room >= 0.0;
  }
};

struct BestTests {
  Matrix<double> worths, gains;
  View<Word, 3> best;
};

inline Int set_size(Words given) {
  Int size = 0;
  for (Word word : given) size += popcount(word);
  return size;
}

// A test of `a` with others, given a set, for all particles at once.
class Trial {
 public:
  explicit Trial(const Criterion& criterion)
      : criterion_(criterion), reached_(criterion.n(), criterion.edges.shape(2)), waiting_(criterion.n()) {}

  void begin(Int a, Words given) {
    a_ = a;
    given_ = given;
    cost_ = set_size(given) + 2;
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
      given[a >> 6] &= ~graphs::bit(a);
      if (left_out >= 0) given[left_out >> 6] &= ~graphs::bit(left_out);
      trial.begin(a, given);
      for (Int b = 0; b < n; ++b)
        if (b != a && !graphs::has(given, b)) trial.judge(b, tests);
      left_out = graphs::lowest(sets[s], left_out + 1);
      if (left_out == a) left_out = graphs::lowest(sets[s], left_out + 1);
    } while (left_out >= 0);
  }
}

// Add the variable at a place among those that are neither given nor an end.
inline void add_member(Vector<Word> given, Int a, Int b, Int place) {
  Int v = 0;
  while (v == a || v == b || graphs::has(given, v) || place-- > 0) ++v;
  given[v >> 6] |= graphs::bit(v);
}

// Take away the variable at a place among `members`.
inline void drop_member(Vector<Word> given, Words members, Int place) {
  Int v = graphs::lowest(members, 0);
  for (; place > 0; --place) v = graphs::lowest(members, v + 1);
  given[v >> 6] &= ~graphs::bit(v);
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
      const Int size = set_size(given), free = n - 2 - size;
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
