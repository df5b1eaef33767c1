// What all pair tables together say of edges: partial association, from the covariance of indicator columns.
//
// `sigma` (d, d) has the states of column v, its first one left out, from starts[v] on. A graph is a symmetric
// matrix of flags. Formulas: docs/design/questions.md. Logarithms are natural.
#pragma once
#include <vector>

#include "base/pulse.hpp"

namespace cp::learn_independence {

constexpr double LEAST_VARIANCE = 1e-12;
constexpr double MOST_READ = 5.0;    // nats that a reading may add to a test
constexpr Int MOST_FLIPS = 4;        // of a pair: the log-odds have no common objective, and may go in circles
constexpr Int MOST_NEIGHBORS = 60;

// The covariance, and how reliable it is.
struct Reading {
  Matrix<const double> sigma;
  Ints starts;
  Matrix<const double> effects;  // squared correlations R of pairs
  Matrix<const double> rows;     // N of each pair
  double floor, doubt, prior;    // s₀, κ, and nats against an edge

  static constexpr const char* fields = "sigma[d,d] starts[n+1] effects[n,n] rows[n,n] floor doubt prior";
  Int n() const { return effects.shape(0); }
};

// Pairs that were tested given a separator, and −gap of each.
struct Tested {
  Matrix<const bool> pairs;
  Matrix<const double> evidence;

  static constexpr const char* fields = "pairs[n,n] evidence[n,n]";
};

// I(x; y | given) in nats a row: ½ (ln |Σ_yy·given| − ln |Σ_yy·given,x|), from one Cholesky factor.
class PartialInformation {
 public:
  PartialInformation(Matrix<const double> sigma, Ints starts) : sigma_(sigma), starts_(starts), factor_(sigma.shape(0), sigma.shape(0)) {}

  void begin() { places_.clear(); }
  void give(Int column) {
    for (Int k = starts_[column]; k < starts_[column + 1]; ++k) places_.push_back(k);
  }
  // Of x and y given the columns that were given since `begin`.
  double operator()(Int x, Int y) {
    const Int n_given = Int(places_.size());
    give(x);
    const Int first = Int(places_.size());
    give(y);
    const Int last = Int(places_.size());
    double with_x = 0.0, without_x = 0.0;
    for (Int a = 0; a < last; ++a) {
      const double log_pivot = eliminate(a, 0, a);
      if (a >= first) with_x += log_pivot;
    }
    for (Int a = first; a < last; ++a) {  // the rows of y again, without the columns of x
      std::fill_n(factor_[a].begin() + n_given, first - n_given, 0.0);
      without_x += eliminate(a, first, a);
    }
    return 0.5 * (without_x - with_x);
  }

 private:
  // Fill entries from … to of row a of the factor, and return ln of its squared pivot.
  double eliminate(Int a, Int from, Int to) {
    const Vector<double> row = factor_[a];
    for (Int b = from; b < to; ++b) {
      double value = sigma_(places_[a], places_[b]);
      const Vector<double> other = factor_[b];
      for (Int c = 0; c < b; ++c) value -= row[c] * other[c];
      row[b] = value / other[b];
    }
    double pivot = sigma_(places_[a], places_[a]);
    for (Int c = 0; c < a; ++c) pivot -= row[c] * row[c];
    pivot = std::max(pivot, LEAST_VARIANCE);
    row[a] = std::sqrt(pivot);
    return std::log(pivot);
  }

  Matrix<const double> sigma_;
  Ints starts_;
  Array<double, 2> factor_;
  std::vector<Int> places_;
};

inline double partial_information(Matrix<const double> sigma, Ints starts, Int x, Int y, Ints given) {
  PartialInformation information(sigma, starts);
  information.begin();
  for (Int v : given) information.give(v);
  return information(x, y);
}

// Fill out(i, j) with the information of each pair, nothing given.
inline void pair_strengths(Matrix<const double> sigma, Ints starts, Matrix<double> out) {
  PartialInformation information(sigma, starts);
  out.fill(0.0);
  for (Int i = 0; i < out.shape(0); ++i)
    for (Int j = 0; j < i; ++j) {
      information.begin();
      out(i, j) = out(j, i) = information(i, j);
    }
}

// Log-odds of the edges of a graph, each given the rest of it.
class EdgeOdds {
 public:
  EdgeOdds(const Reading& reading, const Tested& tested)
      : reading_(reading), tested_(tested), information_(reading.sigma, reading.starts) {}

  // With the answer of a test where there is one: readings are bounded, and the test decides.
  double operator()(Matrix<const bool> graph, Int i, Int j) {
    const double mean = association(graph, i, j);
    const double trusting = value(mean, i, j, 0.0);
    if (!tested_.pairs(i, j)) return trusting;
    const double doubting = value(mean, i, j, reading_.doubt * path(graph, i, j));
    return 0.5 * (bounded(trusting) + bounded(doubting)) + tested_.evidence(i, j);
  }
  // Where paths of two steps make the linear reading err, fewer rows count.
  double doubting(Matrix<const bool> graph, Int i, Int j) {
    return value(association(graph, i, j), i, j, reading_.doubt * path(graph, i, j));
  }
  // Σ R_iw R_wj over common neighbors w.
  double path(Matrix<const bool> graph, Int i, Int j) const {
    double total = 0.0;
    for (Int w = 0; w < reading_.n(); ++w)
      if (graph(i, w) && graph(w, j)) total += reading_.effects(i, w) * reading_.effects(w, j);
    return total;
  }

 private:
  static double bounded(double odds) { return std::clamp(odds, -MOST_READ, MOST_READ); }
  // The mean of two regressions: given the neighbors of i, and given those of j.
  double association(Matrix<const bool> graph, Int i, Int j) { return 0.5 * (one_sided(graph, i, j) + one_sided(graph, j, i)); }
  double one_sided(Matrix<const bool> graph, Int i, Int j) {
    information_.begin();
    for (Int v = 0; v < reading_.n(); ++v)
      if (graph(i, v) && v != j) information_.give(v);
    return information_(i, j);
  }
  double value(double information, Int i, Int j, double doubt) const {
    const double freedom = double((reading_.starts[i + 1] - reading_.starts[i]) * (reading_.starts[j + 1] - reading_.starts[j]));
    const double n = reading_.rows(i, j), rows = n / (1.0 + n * (reading_.floor + doubt));
    return rows * information - 0.5 * freedom * std::log(std::max(rows, 3.0)) - reading_.prior;
  }

  const Reading& reading_;
  const Tested& tested_;
  PartialInformation information_;
};

// Change `graph` until it agrees with its log-odds, and fill these: drop the least likely edge, else add the most likely one.
inline Int settle_graph(const Reading& reading, const Tested& tested, Matrix<bool> graph, Matrix<double> log_odds) {
  const Int n = reading.n();
  EdgeOdds odds(reading, tested);
  Array<Int, 2> flips = zeros<Int>(n, n);
  Array<Int, 1> degrees = zeros<Int>(n);
  Pulse pulse;
  const auto fill_row = [&](Int i, Int upto) {
    for (Int j = 0; j < upto; ++j)
      if (j != i) log_odds(i, j) = log_odds(j, i) = odds(graph, i, j);
    pulse(1000 * n);
  };
  for (Int i = 0; i < n; ++i) {
    log_odds(i, i) = 0.0;
    fill_row(i, i);
    for (Int j = 0; j < n; ++j) degrees[i] += graph(i, j);
  }
  for (Int n_flips = 0;; ++n_flips) {
    Int x = -1, y = -1;
    double best = 1e-9;
    bool dropping = false;
    for (Int i = 0; i < n; ++i)
      for (Int j = 0; j < i; ++j) {
        const bool drop = graph(i, j);
        if (flips(i, j) >= MOST_FLIPS || (dropping && !drop)) continue;
        if (!drop && (degrees[i] >= MOST_NEIGHBORS || degrees[j] >= MOST_NEIGHBORS)) continue;
        const double worth = drop ? -log_odds(i, j) : log_odds(i, j);
        if (worth > 1e-9 && (worth > best || (drop && !dropping))) {
          best = worth;
          dropping = drop;
          x = i;
          y = j;
        }
      }
    if (x < 0) return n_flips;
    graph(x, y) = graph(y, x) = !dropping;
    ++flips(x, y);
    degrees[x] += dropping ? -1 : 1;
    degrees[y] += dropping ? -1 : 1;
    fill_row(x, n);
    fill_row(y, n);
  }
}

// Set each of some pairs by chance given the rest, in each sweep in another order, and add its probability to `sums`
// in each sweep but the first.
inline void move_graph(const Reading& reading, const Tested& tested, Matrix<bool> graph, Matrix<const Int> pairs,
                       Matrix<const Int> orders, Matrix<const double> draws, Vector<double> sums) {
  EdgeOdds odds(reading, tested);
  Pulse pulse;
  for (Int sweep = 0; sweep < orders.shape(0); ++sweep)
    for (Int k : orders[sweep]) {
      pulse(2000);
      const Int i = pairs(k, 0), j = pairs(k, 1);
      const double probability = 1.0 / (1.0 + std::exp(-std::clamp(odds(graph, i, j), -700.0, 700.0)));
      graph(i, j) = graph(j, i) = draws(sweep, k) < probability;
      if (sweep > 0) sums[k] += probability;
    }
}

// Fill `out` with cautious log-odds: smaller ones for edges, and larger ones for other pairs by their paths of two steps.
inline void doubt_graph(const Reading& reading, const Tested& tested, Matrix<const bool> graph, Matrix<const double> log_odds,
                        double raised, Matrix<double> out) {
  EdgeOdds odds(reading, tested);
  Pulse pulse;
  out.fill(0.0);
  for (Int i = 0; i < reading.n(); ++i)
    for (Int j = 0; j < i; ++j) {
      pulse(2000);
      out(i, j) = out(j, i) = graph(i, j) ? odds.doubting(graph, i, j)
                                          : log_odds(i, j) + 0.5 * reading.rows(i, j) * raised * odds.path(graph, i, j);
    }
}

}  // namespace cp::learn_independence
