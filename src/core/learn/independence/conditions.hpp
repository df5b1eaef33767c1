// The sets that tests of a pair are given: neighbors of its ends, the most promising first.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "base/bits.hpp"
#include "base/pulse.hpp"

namespace cp::learn_independence {

// The subsets of one size of a list, those of the first members first: {0, 1}, {0, 2}, {1, 2}, {0, 3} …
class Subsets {
 public:
  void start(const std::vector<Int>& members, Int size) {
    members_ = &members;
    places_.resize(size);
    std::iota(places_.begin(), places_.end(), Int(0));
    first_ = true;
  }
  // Fill `out` with the next subset, rising; false after the last one.
  bool next(Vector<Int> out) {
    const Int size = Int(places_.size()), n = Int(members_->size());
    if (!first_) advance(size);
    first_ = false;
    if (size > n || places_[size - 1] >= n) return false;
    for (Int k = 0; k < size; ++k) out[k] = (*members_)[places_[k]];
    std::sort(out.begin(), out.end());
    return true;
  }

 private:
  // All but the last place are counted up below it, from the right; then the last one moves.
  void advance(Int size) {
    for (Int k = size - 2; k >= 0; --k) {
      if (places_[k] < places_[size - 1] - (size - 1 - k)) {
        ++places_[k];
        for (Int j = k + 1; j < size - 1; ++j) places_[j] = places_[j - 1] + 1;
        return;
      }
    }
    const Int last = places_[size - 1] + 1;
    std::iota(places_.begin(), places_.end(), Int(0));
    places_[size - 1] = last;
  }

  const std::vector<Int>* members_ = nullptr;
  std::vector<Int> places_;
  bool first_ = true;
};

// Fill rows starts[q] … of `out` with the sets number `first` … of pair q: of `graph` neighbors of x and of y in turns.
//
// Columns near to both ends come first, by `strength`; those later than both are left out. Sets of neighbors of both
// come once.
inline void list_conditions(Matrix<const Word> graph, Matrix<const Word> later, Matrix<const double> strength,
                            Matrix<const Int> pairs, Int first, Vector<const Int> starts, Matrix<Int> out) {
  const Int size = out.shape(1);
  std::vector<Int> sides[2];
  Subsets subsets[2];
  Array<Int, 1> set(size);
  Pulse pulse;
  for (Int q = 0; q < pairs.shape(0); ++q) {
    const Int ends[2] = {pairs(q, 0), pairs(q, 1)};
    for (Int side = 0; side < 2; ++side) {
      sides[side].clear();
      for_each_bit(graph[ends[side]], [&](Int v) {
        const bool is_later = has(later[ends[0]], v) && has(later[ends[1]], v);
        if (v != ends[0] && v != ends[1] && !is_later) sides[side].push_back(v);
      });
      const auto near = [&](Int v) { return std::min(strength(ends[0], v), strength(ends[1], v)); };
      std::stable_sort(sides[side].begin(), sides[side].end(), [&](Int a, Int b) { return near(a) > near(b); });
      subsets[side].start(sides[side], size);
    }
    const Int n_sets = starts[q + 1] - starts[q];
    Int place = -first;
    bool ended[2] = {false, false};
    for (Int turn = 0; place < n_sets && !(ended[0] && ended[1]); ++turn) {
      bool taken = subsets[turn & 1].next(set);
      while (taken && (turn & 1) &&
             std::all_of(set.begin(), set.end(), [&](Int v) { return has(graph[ends[0]], v); }))
        taken = subsets[1].next(set);
      ended[turn & 1] = !taken;
      if (!taken) continue;
      if (place >= 0) out[starts[q] + place].copy_from(set);
      ++place;
    }
    pulse(size * (first + n_sets));
  }
}

}  // namespace cp::learn_independence
