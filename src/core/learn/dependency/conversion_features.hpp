// Features of the converted network: each term is spread over its sub-features, and equal ones are merged.
//
// A feature is a rising list of condition codes (conversion_terms.hpp), looked up by the sum of the codes'
// hashes.
#pragma once
#include "learn/dependency/base_rows.hpp"

namespace cp::dependency {

// Which orders of the variables a term is averaged over: all, the rotations of the orders, or the orders.
constexpr Int ALL = 0, LINEAR = 1, SINGLE = 2;

// The features so far, with their weights.
struct FeatureStore {
  Vector<Int> sizes;  // number of features, number of codes, 1 + a target with a state of probability zero, else 0
  Vector<Int> slots;  // open addressing by hash; a power of two, −1 where empty
  Vector<Word> hashes;
  Vector<Int> offsets;  // of each feature in `codes`
  Vector<Int> codes;
  Vector<double> weights;

  static constexpr const char* fields = "sizes[3] slots[] hashes[f] offsets[f+1] codes[] weights[f]";

  Word mask() const { return Word(slots.size() - 1); }
};

inline Word hash_code(Int code) { return mix_bits(Word(code) + SPLITMIX_STEP); }

// Add `weight` to the feature of these codes, or store it as a new one; there must be room.
inline void add_feature(Ints codes, Word hash, double weight, const FeatureStore& store) {
  Word slot = hash & store.mask();
  for (; store.slots[slot] >= 0; slot = (slot + 1) & store.mask()) {
    const Int f = store.slots[slot], start = store.offsets[f];
    if (store.hashes[f] == hash && store.offsets[f + 1] - start == codes.size() &&
        std::equal(codes.begin(), codes.end(), store.codes.begin() + start)) {
      store.weights[f] += weight;
      return;
    }
  }
  const Int f = store.sizes[0], start = store.sizes[1], end = start + codes.size();
  store.slots[slot] = f;
  store.hashes[f] = hash;
  store.weights[f] = weight;
  store.codes.part(start, end).copy_from(codes);
  store.offsets[f + 1] = end;
  store.sizes[0] = f + 1;
  store.sizes[1] = end;
}

// Enter all features into the slots, all of which are −1.
inline void refill_slots(const FeatureStore& store) {
  for (Int f = 0; f < store.sizes[0]; ++f) {
    Word slot = store.hashes[f] & store.mask();
    while (store.slots[slot] >= 0) slot = (slot + 1) & store.mask();
    store.slots[slot] = f;
  }
}

// The most features that a term can add, and the most codes. positions[o, v] is the place of variable v in
// order o.
inline std::tuple<Int, Int> room_for_term(const Terms& terms, Ints modes, Matrix<const Int> positions, Int b) {
  const Int first = terms.groups[b], k = terms.groups[b + 1] - first;
  Int subsets = modes[b] == ALL ? Int(1) << k : positions.shape(0);
  if (modes[b] == LINEAR) subsets *= k + 1;
  const Int features = subsets * (terms.state_offsets[b + 1] - terms.state_offsets[b] + 1);
  return {features, features * (terms.code_offsets[first + k] - terms.code_offsets[first] + 1)};
}

// Spreads one term after the other over sub-features, which keep some of its groups of conditions.
class TermSpreader {
 public:
  TermSpreader(const Terms& terms, Matrix<const Int> positions, const BaseRows& rows, const FeatureStore& store)
      : terms_(terms), positions_(positions), base_(terms, rows), store_(store) {
    Int most_groups = 0, most_codes = 0;
    for (Int b = 0; b < terms.size(); ++b) {
      const Int from = terms.groups[b], to = terms.groups[b + 1];
      most_groups = std::max(most_groups, to - from);
      most_codes = std::max(most_codes, terms.code_offsets[to] - terms.code_offsets[from]);
    }
    kept_ = Array<bool, 1>(most_groups);
    codes_ = Array<Int, 1>(most_codes + 1);
  }

  void spread(Int b, Int mode) {
    b_ = b;
    first_ = terms_.groups[b];
    k_ = terms_.groups[b + 1] - first_;
    base_.take(b, mode == ALL);
    if (mode == ALL) over_all_orders();
    else if (mode == LINEAR) over_rotations();
    else over_given_orders();
  }

 private:
  // Of all orders, the share l!(k−l)!/(k+1)! puts a given l of the k others before the target, the rest after.
  void over_all_orders() {
    for (Int subset = 0; subset < Int(1) << k_; ++subset) {
      double fraction = 1.0 / double(k_ + 1);
      Int n_kept = 0;
      for (Int i = 0; i < k_; ++i) {
        kept_[i] = (subset >> i) & 1;
        if (kept_[i]) {
          ++n_kept;
          fraction *= double(n_kept) / double(k_ + 1 - n_kept);  // so far l!/(k (k−1) … (k−l+1)) / (k+1)
        }
      }
      emit(fraction);
    }
  }

  // With the target rotated to the end of an order, the n rotations that keep it last drop the others one by
  // one, the nearest first; those that start between the same two others drop the same ones.
  void over_rotations() {
    const Int n_orders = positions_.shape(0), n = positions_.shape(1), target = terms_.targets[b_];
    for (Int o = 0; o < n_orders; ++o) {
      const Ints position = positions_[o];
      Int before = -1;
      kept_.part(0, k_).fill(true);
      for (Int dropped = 0; dropped <= k_; ++dropped) {
        Int nearest = -1, place = n - 1;  // the target's own place, after all others
        for (Int i = 0; i < k_; ++i) {
          if (!kept_[i]) continue;
          const Int other = modulo(position[terms_.variables[first_ + i]] - position[target] - 1, n);
          if (other < place) nearest = i, place = other;
        }
        const bool possible = emit(double(place - before) / double(n * n_orders));
        if (nearest < 0 || !possible) break;
        before = place;
        kept_[nearest] = false;
      }
    }
  }

  void over_given_orders() {
    for (Int o = 0; o < positions_.shape(0); ++o) {
      const Ints position = positions_[o];
      for (Int i = 0; i < k_; ++i)
        kept_[i] = position[terms_.variables[first_ + i]] < position[terms_.targets[b_]];
      emit(1.0 / double(positions_.shape(0)));
    }
  }

  // Add the features of the kept groups: with each state of the target, and without, which is a constant and
  // left out where no group is kept. Returns whether the other groups hold in some row of the base.
  bool emit(double fraction) {
    const AtBase at_base = base_.without(kept_);
    if (at_base.share == 0.0) return false;
    const Int target = terms_.targets[b_];
    Int size = 0, target_place = 0;
    Word hash = 0;
    for (Int i = 0; i < k_; ++i) {
      if (!kept_[i]) continue;
      for (Int c = terms_.code_offsets[first_ + i]; c < terms_.code_offsets[first_ + i + 1]; ++c) {
        codes_[size++] = terms_.codes[c];
        hash += hash_code(terms_.codes[c]);
      }
      if (terms_.variables[first_ + i] < target) target_place = size;
    }
    const double back = at_base.back;
    if (size > 0 && back == INF) store_.sizes[2] = target + 1;
    else if (size > 0 && back != 0.0) add_feature(codes_.part(0, size), hash, back * fraction, store_);
    std::copy_backward(codes_.begin() + target_place, codes_.begin() + size, codes_.begin() + size + 1);
    for (Int e = terms_.state_offsets[b_]; e < terms_.state_offsets[b_ + 1]; ++e) {
      codes_[target_place] = terms_.states[e];
      const Word with_state = hash + hash_code(terms_.states[e]);
      add_feature(codes_.part(0, size + 1), with_state, terms_.weights[e] * at_base.share * fraction, store_);
    }
    pulse_(50 + 20 * size);
    return true;
  }

  const Terms& terms_;
  Matrix<const Int> positions_;
  Base base_;
  const FeatureStore& store_;
  Array<bool, 1> kept_;  // groups of the present term
  Array<Int, 1> codes_;  // of the present feature
  Int b_ = 0, first_ = 0, k_ = 0;
  Pulse pulse_;
};

// Add the sub-features of the terms from `start` on, at base `rows` or, if there are none, at the product of the
// terms' shares; returns the first term that might not fit, or their number.
inline Int spread_terms(const Terms& terms, Ints modes, Matrix<const Int> positions, const BaseRows& rows,
                        const FeatureStore& store, Int start) {
  TermSpreader spreader(terms, positions, rows, store);
  for (Int b = start; b < terms.size(); ++b) {
    if (terms.state_offsets[b] == terms.state_offsets[b + 1]) continue;
    const auto [features, codes] = room_for_term(terms, modes, positions, b);
    if (store.sizes[0] + features > store.weights.size() || store.sizes[1] + codes > store.codes.size()) return b;
    spreader.spread(b, modes[b]);
  }
  return terms.size();
}

}  // namespace cp::dependency
