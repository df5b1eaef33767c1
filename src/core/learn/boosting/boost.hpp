// Rounds of gradient boosting on class probabilities: one tree a round, with a value of each leaf for every class.
//
// Two classes have one score, the log-odds of class 1; more have a score each. The structure of a tree comes from a sample
// of the rows and columns, the values of its leaves from all training rows.
#pragma once
#include <cmath>
#include <numbers>

#include "base/numbers.hpp"
#include "learn/boosting/grow.hpp"
#include "levels/loops.hpp"

namespace cp::boosting {

constexpr Int MOST_CHANNELS = 6;   // of gradients; more classes are projected onto as many
constexpr double LARGEST_VALUE = 2.0;
constexpr Int CHUNK_ROWS = 256;

struct Data {
  Matrix<const Bin> bins;  // (rows, columns)
  Ints n_bins;
  Flags numeric;
  Ints labels;
  Floats weights;  // of the rows that trees are fitted to
  Floats held;     // weights of the rows whose loss is followed
  Int n_classes;
  static constexpr const char* fields = "bins[rows,d] n_bins[d] numeric[d] labels[rows] weights[rows] held[rows] n_classes";
};

struct Settings {
  double rate, penalty, min_weight, row_share;
  Int n_columns;  // sampled for a tree
  Int most_leaves, most_columns;
  Word seed;
  Int patience;
  double enough;  // mean held-out loss below which no more trees are added
  static constexpr const char* fields =
      "rate penalty min_weight row_share n_columns most_leaves most_columns seed patience enough";
};

// Probabilities of the classes from scores, row by row, and the loss of the held-out rows.
class Probabilities {
 public:
  Probabilities(const Data& data, Matrix<const float> scores)
      : data_(data), scores_(scores), p_(scores.shape(0), scores.shape(1)), buffer_(CHUNK_ROWS * scores.shape(1)),
        scratch_(CHUNK_ROWS * std::max<Int>(scores.shape(1), 2)), sums_(CHUNK_ROWS), top_(CHUNK_ROWS) {}

  // One class's probability (of class 1, if there are two) for a row.
  const float* operator[](Int row) const { return p_[row].data; }

  // Refresh the probabilities; returns Σ held · −ln P(class).
  double update() {
    double loss = 0.0;
    for (Int from = 0; from < scores_.shape(0); from += CHUNK_ROWS) {
      const Int to = std::min(from + CHUNK_ROWS, scores_.shape(0));
      loss += scores_.shape(1) == 1 ? update_log_odds(from, to) : update_softmax(from, to);
    }
    return loss;
  }

 private:
  double update_log_odds(Int from, Int to) {
    const Int n = to - from;
    const Vector<double> e = buffer_.part(0, n), sums = sums_.part(0, n);
    for (Int i = 0; i < n; ++i) e[i] = -std::abs(double(scores_(from + i, 0)));
    exponentials(e, scratch_.part(0, n));
    for (Int i = 0; i < n; ++i) {
      sums[i] = 1.0 + e[i];
      p_(from + i, 0) = float((scores_(from + i, 0) >= 0 ? 1.0 : e[i]) / sums[i]);
    }
    if (!any_held(from, to)) return 0.0;
    logarithms(sums, scratch_.part(0, n));
    double loss = 0.0;
    for (Int i = 0; i < n; ++i)
      if (const double held = data_.held[from + i]; held > 0) {
        const double margin = data_.labels[from + i] == 1 ? double(scores_(from + i, 0)) : -double(scores_(from + i, 0));
        loss += held * (sums[i] + std::max(-margin, 0.0));
      }
    return loss;
  }

  double update_softmax(Int from, Int to) {
    const Int n = to - from, classes = scores_.shape(1);
    const Vector<double> e = buffer_.part(0, n * classes), sums = sums_.part(0, n);
    for (Int i = 0; i < n; ++i) {
      top_[i] = double(maximum(scores_[from + i]));
      for (Int c = 0; c < classes; ++c) e[i * classes + c] = double(scores_(from + i, c)) - top_[i];
    }
    exponentials(e, scratch_.part(0, n * classes));
    for (Int i = 0; i < n; ++i) {
      sums[i] = sum(e.part(i * classes, (i + 1) * classes));
      for (Int c = 0; c < classes; ++c) p_(from + i, c) = float(e[i * classes + c] / sums[i]);
    }
    if (!any_held(from, to)) return 0.0;
    logarithms(sums, scratch_.part(0, n));
    double loss = 0.0;
    for (Int i = 0; i < n; ++i)
      if (const double held = data_.held[from + i]; held > 0)
        loss += held * (sums[i] + top_[i] - double(scores_(from + i, data_.labels[from + i])));
    return loss;
  }

  bool any_held(Int from, Int to) const {
    for (double held : data_.held.part(from, to))
      if (held > 0) return true;
    return false;
  }

  const Data& data_;
  Matrix<const float> scores_;
  Array<float, 2> p_;
  Array<double, 1> buffer_, scratch_, sums_, top_;
};

template <int WIDTH>
class Booster {
 public:
  Booster(const Data& data, const Settings& settings, Ragged<const Int> together, Matrix<float> scores)
      : data_(data), settings_(settings), scores_(scores), binary_(data.n_classes == 2),
        channels_(binary_ ? 1 : std::min(data.n_classes, MOST_CHANNELS)), p_(data, scores),
        grower_(data.bins, data.n_bins, data.numeric,
                {channels_, settings.penalty, settings.min_weight, binary_ ? 1.0 : double(data.n_classes - 1) / double(channels_)},
                {settings.most_leaves, settings.most_columns, together}, least_weight(data.weights)),
        leaf_(data.bins.shape(0)), gradients_(data.bins.shape(0)), projection_(data.n_classes, channels_), columns_(data.bins.shape(1)),
        slopes_(settings.most_leaves, data.n_classes), curvatures_(settings.most_leaves, data.n_classes) {
    for (Int i = 0; i < data.weights.size(); ++i)
      if (data.weights[i] > 0) training_.push_back(std::int32_t(i));
    sample_.resize(training_.size());
    total_held_ = sum(data.held);
    p_.update();
  }

  // One round; returns the mean loss of the held-out rows after it (0 without such rows).
  double round(Int t, const Trees& trees) {
    Word state = settings_.seed * SPLITMIX_FACTOR + Word(t) * 0xD1342543DE82EF95;
    next_uniform(state);
    draw_projection(state);
    const Int n = draw_rows(state);
    const Int n_columns = draw_columns(state);
    for (Int r = 0; r < n; ++r) fill_gradient(sample_[r]);
    const Tree tree = trees[t];
    grower_.grow({gradients_.data(), {Int(gradients_.size())}}, {sample_.data(), {n}}, columns_.part(0, n_columns), tree);
    const TreeView grown = tree;
    for (Int i = 0; i < data_.bins.shape(0); ++i) leaf_[i] = std::int16_t(grown.leaf_of(data_.bins[i].data));
    fill_values(trees.values[t]);
    const Int n_scores = scores_.shape(1);
    for (Int i = 0; i < data_.bins.shape(0); ++i) {
      const float* value = trees.values[t][leaf_[i]].data;
      float* score = scores_[i].data;
      for (Int c = 0; c < n_scores; ++c) score[c] += value[c];
    }
    pulse_(data_.bins.shape(0) * (n_scores + 4) * 4);
    const double loss = p_.update();
    return total_held_ > 0 ? loss / total_held_ : 0.0;
  }

 private:
  // Half of the smallest weight: less is what rounding leaves of an empty bin.
  static float least_weight(Floats weights) {
    double least = INF;
    for (double w : weights)
      if (w > 0) least = std::min(least, w);
    return least < INF ? float(least / 2) : 0.0f;
  }

  void draw_projection(Word& state) {
    if (channels_ == data_.n_classes || binary_) return;
    for (float& cell : projection_.flat()) {  // Box–Muller
      const double radius = std::sqrt(-2.0 * std::log(1.0 - next_uniform(state)));
      cell = float(radius * std::cos(2 * std::numbers::pi * next_uniform(state)) / std::sqrt(double(channels_)));
    }
  }

  Int draw_rows(Word& state) {
    Int n = 0;
    for (std::int32_t i : training_)
      if (settings_.row_share >= 1 || next_uniform(state) < settings_.row_share) sample_[n++] = i;
    return n;
  }

  Int draw_columns(Word& state) {
    const Int all = columns_.size(), n = std::min(settings_.n_columns, all);
    for (Int j = 0; j < all; ++j) columns_[j] = j;
    if (n == all) return n;
    for (Int j = 0; j < n; ++j)
      std::swap(columns_[j], columns_[j + Int(next_uniform(state) * double(all - j))]);
    std::sort(columns_.begin(), columns_.begin() + n);
    return n;
  }

  void fill_gradient(Int i) {
    const float* p = p_[i];
    const float w = float(data_.weights[i]);
    const Int label = data_.labels[i], classes = data_.n_classes;
    Sums<WIDTH> sums{};
    if (binary_) {
      sums.at[0] = w * (float(label == 1) - p[0]);
      sums.at[1] = w * p[0] * (1 - p[0]);
    } else {
      float squares = 0;
      for (Int c = 0; c < classes; ++c) squares += p[c] * p[c];
      if (channels_ == classes) {
        for (Int c = 0; c < classes; ++c) sums.at[c] = -w * p[c];
        sums.at[label] += w;
      } else {
        for (Int c = 0; c < classes; ++c) {
          const float g = w * (float(c == label) - p[c]);
          for (Int e = 0; e < channels_; ++e) sums.at[e] += g * projection_(c, e);
        }
      }
      sums.at[channels_] = w * (1 - squares) / float(classes - 1);
    }
    sums.at[channels_ + 1] = w;
    gradients_[i] = sums;
  }

  // Newton steps of the leaves, from all training rows.
  void fill_values(Matrix<float> values) {
    const Int n_scores = scores_.shape(1);
    slopes_.fill(0.0);
    curvatures_.fill(0.0);
    for (std::int32_t i : training_) {
      const Int leaf = leaf_[i];
      const float* p = p_[i];
      const double w = data_.weights[i];
      double *slope = slopes_[leaf].data, *curvature = curvatures_[leaf].data;
      for (Int c = 0; c < n_scores; ++c) {
        slope[c] -= w * p[c];
        curvature[c] += w * p[c] * (1 - double(p[c]));
      }
      if (!binary_) slope[data_.labels[i]] += w;
      else if (data_.labels[i] == 1) slope[0] += w;
    }
    // Newton's step of one class; with two, of the log-odds.
    const double share = binary_ ? 1.0 : double(data_.n_classes) / double(data_.n_classes - 1);
    const double most = binary_ ? 2 * LARGEST_VALUE : LARGEST_VALUE;
    for (Int leaf = 0; leaf < values.shape(0); ++leaf)
      for (Int c = 0; c < n_scores; ++c) {
        const double step = slopes_(leaf, c) / (share * curvatures_(leaf, c) + settings_.penalty);
        values(leaf, c) = float(std::clamp(settings_.rate * step, -most, most));
      }
  }

  const Data& data_;
  const Settings& settings_;
  Matrix<float> scores_;
  bool binary_;
  Int channels_;
  Probabilities p_;
  Grower<WIDTH> grower_;
  std::vector<std::int32_t> training_, sample_;
  std::vector<std::int16_t> leaf_;  // of each row in the tree of the round
  std::vector<Sums<WIDTH>> gradients_;
  Array<float, 2> projection_;
  Array<Int, 1> columns_;
  Array<double, 2> slopes_, curvatures_;
  double total_held_ = 0.0;
  Pulse pulse_;
};

// Rounds `from` … `to` − 1: fill their trees and the mean held-out loss after each, and add to the scores of all rows.
// Returns the number of rounds that there are then: fewer than `to` where the loss is nearly zero, or has
// not fallen for `patience` rounds.
template <int WIDTH>
Int boost_rounds(const Data& data, const Settings& settings, Ragged<const Int> together, Int from, Int to, Matrix<float> scores,
                 const Trees& trees, Vector<double> curve) {
  Booster<WIDTH> booster(data, settings, together, scores);
  const bool follow = sum(data.held) > 0;
  Int best = 0;
  for (Int t = 1; t < from; ++t)
    if (curve[t] < curve[best] - 1e-7) best = t;
  for (Int t = from; t < to; ++t) {
    curve[t] = booster.round(t, trees);
    if (curve[t] < curve[best] - 1e-7) best = t;
    if (follow && (t - best >= settings.patience || curve[t] < settings.enough)) return t + 1;
  }
  return to;
}

// As above, with the sets of columns that a path may stay within end to end; none: any.
inline Int boost(const Data& data, const Settings& settings, Ints sets, Ints set_from, Int from, Int to, Matrix<float> scores,
                 const Trees& trees, Vector<double> curve) {
  const Ragged<const Int> together{sets, set_from};
  return data.n_classes == 2 ? boost_rounds<4>(data, settings, together, from, to, scores, trees, curve)
                             : boost_rounds<8>(data, settings, together, from, to, scores, trees, curve);
}

}  // namespace cp::boosting
