// The best split of a node by its histogram.
#pragma once
#include <algorithm>
#include <array>

#include "learn/boosting/histogram.hpp"

namespace cp::boosting {

// States that tell nothing, cut in the order of their gradients, gain about 2/π each by chance. Without a price for that, a
// column of hundreds of states would be split before all others. A few dozen are left to the penalty: a price for them
// costs more where they do tell something.
constexpr double CHANCE_GAIN = 0.5;
constexpr Int MANY_STATES = 24;

struct SplitRule {
  Int channels;      // of gradients
  double penalty;    // λ, added to the curvature of a side
  double min_weight; // of the sampled rows of each side
  double spread;     // the mean square of a channel's gradients divided by their curvature
};

struct Split {
  double gain = 0.0;
  Int active = -1;  // its column's place among the active ones; −1: none
  std::array<Word, BIN_WORDS> goes_first{};
};

// Sums of a side, in double: a sum of floats, bin after bin.
using Side = std::array<double, 8>;

template <int WIDTH>
void add(Side& side, const Sums<WIDTH>& sums) {
  for (int c = 0; c < WIDTH; ++c) side[c] += double(sums.at[c]);
}

inline double worth(const Side& side, Int channels, double penalty) {
  double square = 0.0;
  for (Int c = 0; c < channels; ++c) square += side[c] * side[c];
  return square / (side[channels] + penalty);
}

template <int WIDTH>
class SplitSearch {
 public:
  SplitSearch(const SplitRule& rule, Flags numeric) : rule_(rule), numeric_(numeric) {}

  // The best split of a node on one of the active columns `which`.
  Split best(Vector<const Sums<WIDTH>> histogram, const ActiveColumns& active, Ints which) {
    Split split;
    if (which.empty()) return split;
    total_ = {};
    for (const auto& sums : bins_of(histogram, active, which[0])) add<WIDTH>(total_, sums);
    if (total_[weight()] < 2 * rule_.min_weight) return split;
    base_ = worth(total_, rule_.channels, rule_.penalty);
    for (Int a : which) {
      const Vector<const Sums<WIDTH>> bins = bins_of(histogram, active, a);
      if (numeric_[active.columns[a]]) try_number(bins, a, split);
      else try_states(bins, a, split);
    }
    return split;
  }

 private:
  Int weight() const { return rule_.channels + 1; }
  static Vector<const Sums<WIDTH>> bins_of(Vector<const Sums<WIDTH>> histogram, const ActiveColumns& active, Int a) {
    return histogram.part(active.first_bin[a], active.first_bin[a + 1]);
  }

  // The gain of a split whose first side has these sums; 0 where a side is too light.
  double gain_of(const Side& first, double penalty) const {
    Side second;
    for (int c = 0; c < WIDTH; ++c) second[c] = total_[c] - first[c];
    if (first[weight()] < rule_.min_weight || second[weight()] < rule_.min_weight) return 0.0;
    return worth(first, rule_.channels, penalty) + worth(second, rule_.channels, penalty) - base_;
  }

  // All cuts between bins of values (bin 0 holds missing cells, which are tried on both sides).
  void try_number(Vector<const Sums<WIDTH>> bins, Int a, Split& best) const {
    const Int last = bins.size() - 1;
    const bool gaps = bins[0].at[weight()] > 0;
    for (int gaps_first = 0; gaps_first < (gaps ? 2 : 1); ++gaps_first) {
      Side first{};
      if (gaps_first) add<WIDTH>(first, bins[0]);
      // With missing cells on the second side, "all values against missing" is a split, too.
      for (Int b = 1; b <= last - (gaps && !gaps_first ? 0 : 1); ++b) {
        if (bins[b].at[weight()] == 0) continue;
        add<WIDTH>(first, bins[b]);
        const double gain = gain_of(first, rule_.penalty);
        if (gain > best.gain) {
          best.gain = gain;
          best.active = a;
          best.goes_first = {};
          for (Int other = 1; other <= b; ++other) insert(best.goes_first.data(), Bin(other));
          if (gaps ? gaps_first == 1 : first[weight()] > total_[weight()] - first[weight()])
            insert(best.goes_first.data(), 0);
        }
      }
    }
  }

  // States in the order of each channel's mean gradient, cut in that order, with twice the penalty.
  void try_states(Vector<const Sums<WIDTH>> bins, Int a, Split& best) {
    std::array<Bin, MOST_BINS> seen;
    std::array<double, MOST_BINS> mean;
    Int n = 0;
    for (Int b = 0; b < bins.size(); ++b)
      if (bins[b].at[weight()] > 0) seen[n++] = Bin(b);
    if (n < 2) return;
    const double chance = CHANCE_GAIN * rule_.spread * double(std::max<Int>(n - MANY_STATES, 0));
    for (Int channel = 0; channel < (n == 2 ? 1 : rule_.channels); ++channel) {
      for (Int k = 0; k < n; ++k)
        mean[seen[k]] = bins[seen[k]].at[channel] / (bins[seen[k]].at[rule_.channels] + 2.5 * rule_.penalty);
      std::sort(seen.begin(), seen.begin() + n, [&](Bin x, Bin y) { return mean[x] != mean[y] ? mean[x] < mean[y] : x < y; });
      Side first{};
      for (Int k = 0; k + 1 < n; ++k) {
        add<WIDTH>(first, bins[seen[k]]);
        const double gain = gain_of(first, 2 * rule_.penalty) - chance;
        if (gain > best.gain) {
          best.gain = gain;
          best.active = a;
          // States that no row of the node has go with the heavier side.
          const bool heavier = first[weight()] > total_[weight()] - first[weight()];
          best.goes_first = {};
          if (heavier) {
            best.goes_first.fill(~Word(0));
            for (Int other = k + 1; other < n; ++other) best.goes_first[seen[other] >> 6] &= ~(Word(1) << (seen[other] & 63));
          } else {
            for (Int other = 0; other <= k; ++other) insert(best.goes_first.data(), seen[other]);
          }
        }
      }
    }
  }

  SplitRule rule_;
  Flags numeric_;
  Side total_{};
  double base_ = 0.0;
};

}  // namespace cp::boosting
