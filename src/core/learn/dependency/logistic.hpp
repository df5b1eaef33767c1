// L1 logistic regression of one column on indicators of the others' states, by proximal Newton.
//
// Minimizes Σ rows weight · −ln P(state | features) + l1 · Σ |w|. Each step minimizes a quadratic model in the
// active weights. Slopes are exact; curvatures Σ d x_a x_b need not be: rows of about the same d share a word
// of bits, and the sums are popcounts of words, times their mean d. The model's relative error is then that of
// d, about a tenth, even where features are alike.
#pragma once
#include <vector>

#include "learn/dependency/logistic_design.hpp"
#include "learn/dependency/quadratic.hpp"
#include "levels/loops.hpp"

namespace cp::dependency {

constexpr Int SPARE_WORDS = 64;  // of `levels` and `active_bits`, beyond those that the rows fill

// What a thread needs to solve one problem after another.
struct LogisticScratch {
  Vector<double> offsets;  // of rows: the log-weight of all other states together
  Vector<double> chances;
  Vector<double> slopes;
  Vector<double> curvatures;
  Vector<double> margins_before;
  Vector<double> sums;
  Vector<double> spare;
  Vector<std::int32_t> order;    // rows by falling curvature
  Vector<std::int32_t> places;   // the bit of each row in `active_bits`
  Vector<u32> levels;  // mean curvature of each word's rows, in units
  Vector<Word> used;             // the bits of each word that belong to rows
  Matrix<Word> active_bits;      // (features, words): the active features, rows placed by curvature
  Vector<Int> active;            // features, in the order of the model
  Matrix<bool> is_active;        // (heads, features)
  Vector<double> goals;          // of heads: how near to optimal the active features must be for others to join
  Vector<double> feature_slopes;
  Vector<double> moves;  // of active features
  Quadratic model;

  static constexpr const char* fields =
      "offsets[rows] chances[rows] slopes[rows] curvatures[rows] margins_before[rows] sums[rows] spare[rows] order[rows] places[rows] "
      "levels[w] used[w] active_bits[n,w] active[n] is_active[heads,f] goals[heads] feature_slopes[f] moves[n] model";
};

// One column's regression. Nothing here depends on the type of the codes: `states` are a copy.
class LogisticSolver {
 public:
  LogisticSolver(const Indicators& features, Floats row_weights, Vector<const u32> states, Int target, double l1,
                 double enough, const LogisticScratch& scratch)
      : features_(features), row_weights_(row_weights), states_(states), target_(target), l1_(l1), enough_(enough), use_(scratch) {}

  // See solve_logistic.
  double run(Matrix<double> weights, Matrix<double> margins) {
    constexpr Int STEPS = 500;
    constexpr double INEXACT = 0.05;  // of a step's own minimum, relative to how far the weights are
    const Int heads = weights.shape(0), n_features = weights.shape(1);
    for (Int h = 0; h < heads; ++h) {
      use_.goals[h] = INF;
      for (Int f = 0; f < n_features; ++f) use_.is_active(h, f) = weights(h, f) != 0.0;
    }
    double loss = INF, furthest = 0.0;
    for (Int step = 0; step < STEPS; ++step) {
      bool moved = false;
      furthest = 0.0;
      for (Int h = 0; h < heads; ++h) {
        if (heads > 1 || loss == INF) {
          set_offsets(margins, h);
          loss = evaluate(margins[h], h + 1);
        }
        const auto [n, far] = gather(h, weights[h]);
        if (far == INF) return far;
        furthest = std::max(furthest, far);
        if (far > enough_) {
          loss = newton_step(h + 1, loss, n, weights[h], margins[h], INEXACT * far);
          moved |= loss < INF;
        }
      }
      if (!moved) break;
    }
    return furthest;
  }

 private:
  Int n_rows() const { return row_weights_.size(); }

  // Fill `offsets` with the log-weight of all states but that of `head` together.
  void set_offsets(Matrix<const double> margins, Int head) {
    const Int heads = margins.shape(0);
    use_.offsets.fill(0.0);
    if (heads == 1) return;
    for (Int i = 0; i < n_rows(); ++i) {
      double most = 0.0;
      for (Int h = 0; h < heads; ++h)
        if (h != head) most = std::max(most, margins(h, i));
      double total = std::exp(-most);
      for (Int h = 0; h < heads; ++h)
        if (h != head) total += std::exp(margins(h, i) - most);
      use_.offsets[i] = most + std::log(total);
      pulse_(20 * heads);
    }
  }

  // Fill slopes and curvatures by row; returns Σ weight · −ln P, up to a constant.
  double evaluate(Floats margins, Int state) {
    const Vector<double> chances = use_.chances, sums = use_.sums, curvatures = use_.curvatures, slopes = use_.slopes;
    const Floats offsets = use_.offsets;
    for (Int i = 0; i < n_rows(); ++i) chances[i] = -std::abs(margins[i] - offsets[i]);
    exponentials(chances, use_.spare);
    double loss = 0.0;
    for (Int i = 0; i < n_rows(); ++i) {
      const double z = margins[i] - offsets[i], e = chances[i], weight = row_weights_[i];
      const double share = 1.0 / (1.0 + e), own = states_[i] == state ? 1.0 : 0.0;
      curvatures[i] = weight * e * share * share;
      slopes[i] = weight * ((z >= 0.0 ? share : e * share) - own);
      loss += weight * (std::max(z, 0.0) - own * z);
      sums[i] = 1.0 + e;
    }
    logarithms(sums, use_.spare);
    for (Int i = 0; i < n_rows(); ++i) loss += row_weights_[i] * sums[i];
    pulse_(10 * n_rows());
    return loss;
  }

  // Fill `active`; returns their number and how far the furthest feature is from optimal.
  //
  // Where the active features are nearly optimal all others are looked at, and the worst join. The distance is
  // ∞ where there is no room for them.
  std::tuple<Int, double> gather(Int head, Floats weights) {
    constexpr double ASLEEP = 0.8;  // of l1: a weight of zero with a lower slope is no longer active
    constexpr double NEARLY = 0.3;  // of the furthest distance before: others join when the active ones are nearer
    constexpr Int JOIN = 64;        // features that become active at a time, or as many as there are
    const Vector<bool> is_active = use_.is_active[head];
    const Vector<double> slope = use_.feature_slopes;
    const double total = sum(use_.slopes);
    Int n = 0;
    double worst = 0.0;
    for (Int f = 0; f < weights.size(); ++f) {
      if (!is_active[f]) continue;
      slope[f] = slope_of(f, total);
      if (weights[f] == 0.0 && std::abs(slope[f]) < ASLEEP * l1_) {
        is_active[f] = false;
        continue;
      }
      worst = std::max(worst, excess(slope[f], weights[f], l1_));
      use_.active[n++] = f;
    }
    if (worst > use_.goals[head]) return {n, worst};
    struct Candidate {
      double far;
      Int feature;
    };
    std::vector<Candidate> joining;
    for (Int f = 0; f < weights.size(); ++f) {
      if (is_active[f] || features_.columns[f] == target_) continue;
      slope[f] = slope_of(f, total);
      const double far = excess(slope[f], 0.0, l1_);
      worst = std::max(worst, far);
      if (far > enough_) joining.push_back({far, f});
    }
    use_.goals[head] = std::max(enough_, NEARLY * worst);
    std::sort(joining.begin(), joining.end(), [](const Candidate& a, const Candidate& b) {
      return a.far > b.far || (a.far == b.far && a.feature < b.feature);
    });
    joining.resize(std::min<std::size_t>(joining.size(), std::max(n, JOIN)));
    for (const Candidate& candidate : joining) {
      if (n == use_.active.size()) return {n, INF};
      is_active[candidate.feature] = true;
      use_.active[n++] = candidate.feature;
    }
    return {n, worst};
  }

  double slope_of(Int f, double total) {
    pulse_(1 + features_.members.length(f));
    return features_.dot(f, use_.slopes, total);
  }

  // Give each row a bit of a word whose rows have about its curvature; returns the words in use, whole vectors
  // of eight, and the unit of `levels`.
  //
  // Rows come by falling curvature, to a sixteenth; one that is a quarter below the first of its word begins
  // another, while there are words to spare.
  std::tuple<Int, double> place_rows() {
    constexpr Int KEYS = 16 * 24;            // curvatures told apart: sixteenths of 24 powers of two
    constexpr double FINEST = 0x1p32 - 1.0;  // the level of the greatest curvature
    const Floats curvatures = use_.curvatures;
    const auto key = [&](Int i) { return std::bit_cast<Int>(curvatures[i]) >> 48; };  // exponent and four bits
    Int most = 0;
    for (Int i = 0; i < n_rows(); ++i) most = std::max(most, key(i));
    std::array<Int, KEYS + 1> ends{};
    for (Int i = 0; i < n_rows(); ++i) ends[std::min(most - key(i), KEYS - 1) + 1] += 1;
    for (Int k = 0; k < KEYS; ++k) ends[k + 1] += ends[k];
    for (Int i = 0; i < n_rows(); ++i) use_.order[ends[std::min(most - key(i), KEYS - 1)]++] = std::int32_t(i);
    const double scale = FINEST / std::max(curvatures[use_.order[0]], 1e-200);
    Int word = -1, bit = 64;
    double first = 0.0, total = 0.0;
    for (Int k = 0; k < n_rows(); ++k) {
      const Int i = use_.order[k];
      const double d = curvatures[i];
      const Int spare = use_.levels.size() - 2 - word - (n_rows() - k) / 64;
      if (bit == 64 || (d < 0.75 * first && spare > 0)) {
        ++word;
        bit = 0;
        first = d;
        total = 0.0;
      }
      use_.places[i] = std::int32_t(64 * word + bit);
      total += d;
      ++bit;
      // The first row has the greatest curvature to a sixteenth only: no more than the largest number.
      use_.levels[word] = u32(std::min(total / double(bit) * scale, FINEST));
      use_.used[word] = ~Word(0) >> (64 - bit);
    }
    const Int whole = (word + 8) / 8 * 8;
    use_.levels.part(word + 1, whole).fill(0);
    use_.used.part(word + 1, whole).fill(0);
    pulse_(10 * n_rows());
    return {whole, 1.0 / scale};
  }

  // Fill the model's hessian[:n, :n] with Σ d x_a x_b of the active features, by levels of d.
  void fill_hessian(Int n) {
    const auto [n_words, unit] = place_rows();
    for (Int a = 0; a < n; ++a) {
      const Int f = use_.active[a];
      const Vector<Word> bits = use_.active_bits[a].part(0, n_words);
      bits.fill(0);
      for (std::int32_t row : features_.members[f]) bits[use_.places[row] >> 6] |= Word(1) << (use_.places[row] & 63);
      if (features_.flipped[f])
        for (Int w = 0; w < n_words; ++w) bits[w] ^= use_.used[w];
      pulse_(n_words + features_.members.length(f));
    }
    const Matrix<double> hessian = use_.model.hessian;
    const auto bits = [&](Int a) { return use_.active_bits[a].data; };
    for (Int a = 0; a < n; ++a) {
      for (Int b = a / 4 * 4; b < n; b += 4) {  // whole fours; what falls below the diagonal is replaced
        const Word* four[4] = {bits(b), bits(std::min(b + 1, n - 1)), bits(std::min(b + 2, n - 1)), bits(std::min(b + 3, n - 1))};
        Word totals[4];
        loops->weighted_1x4(bits(a), use_.levels.data, four, n_words, totals);
        for (Int j = 0; j < std::min<Int>(4, n - b); ++j) hessian(a, b + j) = double(totals[j]);
      }
      pulse_(n_words * (n - a) / 4);
    }
    for (Int a = 0; a < n; ++a) {
      for (Int b = a; b < n; ++b) hessian(b, a) = hessian(a, b) *= unit;
      hessian(a, a) += unit;  // never zero
    }
  }

  // One proximal Newton step of the active weights; returns the loss after it, ∞ if no length helps.
  double newton_step(Int state, double loss, Int n, Vector<double> weights, Vector<double> margins, double goal) {
    constexpr Int HALVINGS = 40;        // of a step that is too long
    constexpr double ROUNDING = 1e-13;  // of a loss, relative
    const Quadratic& model = use_.model;
    const Ints active = use_.active.part(0, n);
    fill_hessian(n);
    for (Int a = 0; a < n; ++a) {
      model.gradient[a] = use_.feature_slopes[active[a]];
      model.weights[a] = weights[active[a]];
    }
    descend(n, l1_, goal, model);
    double expected = 0.0;
    for (Int a = 0; a < n; ++a) {
      const double w = weights[active[a]];
      expected += model.gradient[a] * (model.weights[a] - w);
      expected += l1_ * (std::abs(model.weights[a]) - std::abs(w));
    }
    use_.margins_before.copy_from(margins);
    double length = 1.0;
    for (Int halvings = 0; halvings < HALVINGS; ++halvings, length *= 0.5) {
      margins.copy_from(use_.margins_before);
      double penalty = 0.0;
      for (Int a = 0; a < n; ++a) {
        const double w = weights[active[a]];
        use_.moves[a] = length * (model.weights[a] - w);
        penalty += l1_ * (std::abs(w + use_.moves[a]) - std::abs(w));
      }
      for (Int a = 0; a < n; ++a) {
        features_.add(active[a], use_.moves[a], margins);
        pulse_(n_rows());
      }
      const double after = evaluate(margins, state);
      if (after - loss + penalty <= 1e-4 * length * expected + ROUNDING * std::abs(loss)) {
        for (Int a = 0; a < n; ++a) {  // exactly zero where the model says so
          double& w = weights[active[a]];
          w = length == 1.0 ? model.weights[a] : w + use_.moves[a];
        }
        return after;
      }
    }
    margins.copy_from(use_.margins_before);
    return INF;
  }

  Indicators features_;
  Floats row_weights_;
  Vector<const u32> states_;  // of the target, by row
  Int target_;
  double l1_, enough_;
  const LogisticScratch& use_;
  Pulse pulse_;
};

// Improve `weights` (heads, features) until no weight is further than `enough` from optimal.
//
// Head h is the log-weight of state h + 1 of `target`; that of state 0 is 0. `margins` (heads, rows) are those
// of `weights`, before and after. Returns how far the furthest weight is, ∞ if more of them would be active
// than there is room for.
template <class Code>
double solve_logistic(const LogisticDesign<Code>& design, Int target, double l1, double enough, Matrix<double> weights,
                      Matrix<double> margins, const LogisticScratch& scratch) {
  const Vector<const Code> column = design.codes[target];
  Array<u32, 1> states(column.size());
  std::copy(column.begin(), column.end(), states.begin());
  return LogisticSolver(design.indicators(), design.weights, states, target, l1, enough, scratch).run(weights, margins);
}

}  // namespace cp::dependency
