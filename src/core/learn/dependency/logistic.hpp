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

// One column's regression. Nothing here depends on the type of the codes: `states` are a copy.
class LogisticSolver {
 public:
  LogisticSolver(const Indicators& features, Floats row_weights, Vector<const u32> states, Int target, double l1,
                 double enough, Int max_active)
      : features_(features), row_weights_(row_weights), states_(states), target_(target), l1_(l1), enough_(enough),
        offsets_(n_rows()), chances_(n_rows()), slopes_(n_rows()), curvatures_(n_rows()), margins_before_(n_rows()),
        sums_(n_rows()), spare_(n_rows()), order_(n_rows()), places_(n_rows()), levels_(words_for(n_rows())),
        used_(words_for(n_rows())), active_bits_(max_active, words_for(n_rows())), active_(max_active),
        feature_slopes_(features.columns.size()), moves_(max_active), model_(max_active) {}

  // See solve_logistic.
  double run(Matrix<double> weights, Matrix<double> margins) {
    constexpr Int STEPS = 500;
    constexpr double INEXACT = 0.05;  // of a step's own minimum, relative to how far the weights are
    const Int heads = weights.shape(0), n_features = weights.shape(1);
    goals_ = Array<double, 1>(heads);
    is_active_ = Array<bool, 2>(heads, n_features);
    for (Int h = 0; h < heads; ++h) {
      goals_[h] = INF;
      for (Int f = 0; f < n_features; ++f) is_active_(h, f) = weights(h, f) != 0.0;
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
  // Words for the rows and some to spare, whole vectors of eight.
  static Int words_for(Int rows) { return (rows + 64 * 64 + 511) / 512 * 8; }

  // Fill `offsets` with the log-weight of all states but that of `head` together.
  void set_offsets(Matrix<const double> margins, Int head) {
    const Int heads = margins.shape(0);
    offsets_.fill(0.0);
    if (heads == 1) return;
    for (Int i = 0; i < n_rows(); ++i) {
      double most = 0.0;
      for (Int h = 0; h < heads; ++h)
        if (h != head) most = std::max(most, margins(h, i));
      double total = std::exp(-most);
      for (Int h = 0; h < heads; ++h)
        if (h != head) total += std::exp(margins(h, i) - most);
      offsets_[i] = most + std::log(total);
      pulse_(20 * heads);
    }
  }

  // Fill slopes and curvatures by row; returns Σ weight · −ln P, up to a constant.
  double evaluate(Floats margins, Int state) {
    const Vector<double> chances = chances_, sums = sums_, curvatures = curvatures_, slopes = slopes_;
    const Floats offsets = offsets_;
    for (Int i = 0; i < n_rows(); ++i) chances[i] = -std::abs(margins[i] - offsets[i]);
    exponentials(chances, spare_);
    double loss = 0.0;
    for (Int i = 0; i < n_rows(); ++i) {
      const double z = margins[i] - offsets[i], e = chances[i], weight = row_weights_[i];
      const double share = 1.0 / (1.0 + e), own = states_[i] == state ? 1.0 : 0.0;
      curvatures[i] = weight * e * share * share;
      slopes[i] = weight * ((z >= 0.0 ? share : e * share) - own);
      loss += weight * (std::max(z, 0.0) - own * z);
      sums[i] = 1.0 + e;
    }
    logarithms(sums, spare_);
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
    const Vector<bool> is_active = is_active_[head];
    const Vector<double> slope = feature_slopes_;
    const double total = sum(slopes_);
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
      active_[n++] = f;
    }
    if (worst > goals_[head]) return {n, worst};
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
    goals_[head] = std::max(enough_, NEARLY * worst);
    std::sort(joining.begin(), joining.end(), [](const Candidate& a, const Candidate& b) {
      return a.far > b.far || (a.far == b.far && a.feature < b.feature);
    });
    joining.resize(std::min<std::size_t>(joining.size(), std::max(n, JOIN)));
    for (const Candidate& candidate : joining) {
      if (n == active_.size()) return {n, INF};
      is_active[candidate.feature] = true;
      active_[n++] = candidate.feature;
    }
    return {n, worst};
  }

  double slope_of(Int f, double total) {
    pulse_(1 + features_.members.length(f));
    return features_.dot(f, slopes_, total);
  }

  // Give each row a bit of a word whose rows have about its curvature; returns the words in use, whole vectors
  // of eight, and the unit of `levels`.
  //
  // Rows come by falling curvature, to a sixteenth; one that is a quarter below the first of its word begins
  // another, while there are words to spare.
  std::tuple<Int, double> place_rows() {
    constexpr Int KEYS = 16 * 24;            // classes of curvatures: sixteenths of 24 powers of two
    constexpr double FINEST = 0x1p32 - 1.0;  // the level of the greatest curvature
    const Floats curvatures = curvatures_;
    const auto key = [&](Int i) { return std::bit_cast<Int>(curvatures[i]) >> 48; };  // exponent and four bits
    Int most = 0;
    for (Int i = 0; i < n_rows(); ++i) most = std::max(most, key(i));
    std::array<Int, KEYS + 1> ends{};
    for (Int i = 0; i < n_rows(); ++i) ends[std::min(most - key(i), KEYS - 1) + 1] += 1;
    for (Int k = 0; k < KEYS; ++k) ends[k + 1] += ends[k];
    for (Int i = 0; i < n_rows(); ++i) order_[ends[std::min(most - key(i), KEYS - 1)]++] = std::int32_t(i);
    const double scale = FINEST / std::max(curvatures[order_[0]], 1e-200);
    Int word = -1, bit = 64;
    double first = 0.0, total = 0.0;
    for (Int k = 0; k < n_rows(); ++k) {
      const Int i = order_[k];
      const double d = curvatures[i];
      const Int spare = levels_.size() - 2 - word - (n_rows() - k) / 64;
      if (bit == 64 || (d < 0.75 * first && spare > 0)) {
        ++word;
        bit = 0;
        first = d;
        total = 0.0;
      }
      places_[i] = std::int32_t(64 * word + bit);
      total += d;
      ++bit;
      // The first row has the greatest curvature to a sixteenth only: no more than the largest number.
      levels_[word] = u32(std::min(total / double(bit) * scale, FINEST));
      used_[word] = ~Word(0) >> (64 - bit);
    }
    const Int whole = (word + 8) / 8 * 8;
    levels_.part(word + 1, whole).fill(0);
    used_.part(word + 1, whole).fill(0);
    pulse_(10 * n_rows());
    return {whole, 1.0 / scale};
  }

  // Fill the model's hessian[:n, :n] with Σ d x_a x_b of the active features, by levels of d.
  void fill_hessian(Int n) {
    const auto [n_words, unit] = place_rows();
    for (Int a = 0; a < n; ++a) {
      const Int f = active_[a];
      const Vector<Word> bits = active_bits_[a].part(0, n_words);
      bits.fill(0);
      for (std::int32_t row : features_.members[f]) bits[places_[row] >> 6] |= Word(1) << (places_[row] & 63);
      if (features_.flipped[f])
        for (Int w = 0; w < n_words; ++w) bits[w] ^= used_[w];
      pulse_(n_words + features_.members.length(f));
    }
    const Matrix<double> hessian = model_.hessian;
    const auto bits = [&](Int a) { return active_bits_[a].data; };
    for (Int a = 0; a < n; ++a) {
      for (Int b = a / 4 * 4; b < n; b += 4) {  // whole fours; what falls below the diagonal is replaced
        const Word* four[4] = {bits(b), bits(std::min(b + 1, n - 1)), bits(std::min(b + 2, n - 1)), bits(std::min(b + 3, n - 1))};
        Word totals[4];
        loops->weighted_1x4(bits(a), levels_.data, four, n_words, totals);
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
    const Quadratic& model = model_;
    const Ints active = active_.part(0, n);
    fill_hessian(n);
    for (Int a = 0; a < n; ++a) {
      model.gradient[a] = feature_slopes_[active[a]];
      model.weights[a] = weights[active[a]];
    }
    descend(n, l1_, goal, model);
    double expected = 0.0;
    for (Int a = 0; a < n; ++a) {
      const double w = weights[active[a]];
      expected += model.gradient[a] * (model.weights[a] - w);
      expected += l1_ * (std::abs(model.weights[a]) - std::abs(w));
    }
    margins_before_.copy_from(margins);
    double length = 1.0;
    for (Int halvings = 0; halvings < HALVINGS; ++halvings, length *= 0.5) {
      margins.copy_from(margins_before_);
      double penalty = 0.0;
      for (Int a = 0; a < n; ++a) {
        const double w = weights[active[a]];
        moves_[a] = length * (model.weights[a] - w);
        penalty += l1_ * (std::abs(w + moves_[a]) - std::abs(w));
      }
      for (Int a = 0; a < n; ++a) {
        features_.add(active[a], moves_[a], margins);
        pulse_(n_rows());
      }
      const double after = evaluate(margins, state);
      if (after - loss + penalty <= 1e-4 * length * expected + ROUNDING * std::abs(loss)) {
        for (Int a = 0; a < n; ++a) {  // exactly zero where the model says so
          double& w = weights[active[a]];
          w = length == 1.0 ? model.weights[a] : w + moves_[a];
        }
        return after;
      }
    }
    margins.copy_from(margins_before_);
    return INF;
  }

  Indicators features_;
  Floats row_weights_;
  Vector<const u32> states_;  // of the target, by row
  Int target_;
  double l1_, enough_;
  Array<double, 1> offsets_;  // of rows: the log-weight of all other states together
  Array<double, 1> chances_, slopes_, curvatures_, margins_before_, sums_, spare_;
  Array<std::int32_t, 1> order_;   // rows by falling curvature
  Array<std::int32_t, 1> places_;  // the bit of each row in `active_bits_`
  Array<u32, 1> levels_;           // mean curvature of each word's rows, in units
  Array<Word, 1> used_;            // the bits of each word that belong to rows
  Array<Word, 2> active_bits_;     // (features, words): the active features, rows placed by curvature
  Array<Int, 1> active_;           // features, in the order of the model
  Array<bool, 2> is_active_;       // (heads, features)
  Array<double, 1> goals_;         // of heads: how near to optimal the active features must be for others to join
  Array<double, 1> feature_slopes_;
  Array<double, 1> moves_;  // of active features
  Quadratic model_;
  Pulse pulse_;
};

// Improve `weights` (heads, features) until no weight is further than `enough` from optimal.
//
// Head h is the log-weight of state h + 1 of `target`; that of state 0 is 0. `margins` (heads, rows) are those
// of `weights`, before and after. Returns how far the furthest weight is, ∞ if more than `max_active` of a head
// would be active.
template <class Code>
double solve_logistic(const LogisticDesign<Code>& design, Int target, double l1, double enough, Int max_active,
                      Matrix<double> weights, Matrix<double> margins) {
  const Vector<const Code> column = design.codes[target];
  Array<u32, 1> states(column.size());
  std::copy(column.begin(), column.end(), states.begin());
  return LogisticSolver(design.indicators(), design.weights, states, target, l1, enough, std::min(max_active, design.columns.size())).run(weights, margins);
}

}  // namespace cp::dependency
