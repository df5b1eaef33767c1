// What the dropped conditions of a term come to at the base: at independent states, or in weighted rows.
//
// In rows, the shares of all subsets of the conditions of a term come from one pass: each row has the set of conditions
// that hold in it, and the share of a subset is the sum over the sets that include it.
#pragma once
#include <cstdint>
#include <vector>

#include "learn/dependency/conversion_terms.hpp"

namespace cp::dependency {

// Rows of the base; none: independent states.
struct BaseRows {
  Matrix<const std::int32_t> places;  // (variables, rows): of each cell's state among all variables' states
  Floats shares;                      // of the rows, summing to 1
  Int n_places;

  static constexpr const char* fields = "places[n,rows] shares[rows] n_places";
};

struct AtBase {
  double share;  // of the base where the dropped conditions hold
  double back;   // minus the sum over it of the weights of the target's states
};

class Base {
 public:
  Base(const Terms& terms, const BaseRows& rows)
      : terms_(terms), rows_(rows), masks_(rows.shares.size()), weight_at_(rows.n_places, 0.0) {}

  // Turn to term b; `all`: all subsets of its groups will be dropped.
  void take(Int b, bool all) {
    b_ = b;
    first_ = terms_.groups[b];
    k_ = terms_.groups[b + 1] - first_;
    const Int n_rows = rows_.shares.size();
    if (n_rows == 0) return;
    for (Int e = terms_.state_offsets[b]; e < terms_.state_offsets[b + 1]; ++e)
      weight_at_[terms_.states[e] / 2] = terms_.weights[e];
    back_.resize(n_rows);
    for (Int r = 0; r < n_rows; ++r) {
      const double weight = weight_at_[rows_.places(terms_.targets[b], r)];
      back_[r] = weight == 0.0 ? 0.0 : -weight * rows_.shares[r];
    }
    for (Int e = terms_.state_offsets[b]; e < terms_.state_offsets[b + 1]; ++e) weight_at_[terms_.states[e] / 2] = 0.0;
    tabled_ = all || (k_ < 20 && (Int(1) << k_) <= n_rows);
    if (tabled_) tabulate();
    pulse_(n_rows * (k_ + 4));
  }

  // Where the groups that are not kept hold.
  AtBase without(Vector<const bool> kept) const {
    if (rows_.shares.size() == 0) {
      double share = 1.0;
      for (Int i = 0; i < k_; ++i)
        if (!kept[i]) share *= terms_.shares[first_ + i];
      return {share, share == 0.0 ? 0.0 : terms_.back[b_] * share};
    }
    if (tabled_) {
      Int dropped = 0;
      for (Int i = 0; i < k_; ++i) dropped |= Int(!kept[i]) << i;
      return table_[dropped];
    }
    AtBase sum{0.0, 0.0};
    for (Int r = 0; r < rows_.shares.size(); ++r) {
      bool all_hold = true;
      for (Int i = 0; i < k_ && all_hold; ++i) all_hold = kept[i] || holds(i, r);
      if (all_hold) sum.share += rows_.shares[r], sum.back += back_[r];
    }
    pulse_(4 * rows_.shares.size());
    return sum;
  }

 private:
  bool holds(Int i, Int row) const {
    const Int g = first_ + i, place = rows_.places(terms_.variables[g], row);
    for (Int c = terms_.code_offsets[g]; c < terms_.code_offsets[g + 1]; ++c)
      if ((terms_.codes[c] / 2 == place) == (terms_.codes[c] % 2 == 1)) return false;
    return true;
  }

  void tabulate() {
    std::fill(masks_.begin(), masks_.end(), 0);
    for (Int i = 0; i < k_; ++i)
      for (Int r = 0; r < Int(masks_.size()); ++r) masks_[r] |= std::uint32_t(holds(i, r)) << i;
    table_.assign(std::size_t(1) << k_, AtBase{0.0, 0.0});
    for (Int r = 0; r < Int(masks_.size()); ++r) {
      table_[masks_[r]].share += rows_.shares[r];
      table_[masks_[r]].back += back_[r];
    }
    for (Int i = 0; i < k_; ++i)
      for (Int subset = 0; subset < Int(1) << k_; ++subset)
        if (!(subset >> i & 1)) {
          const AtBase& larger = table_[subset | Int(1) << i];
          table_[subset].share += larger.share;
          table_[subset].back += larger.back;
        }
  }

  const Terms& terms_;
  const BaseRows& rows_;
  std::vector<std::uint32_t> masks_;  // of each row: the groups that hold
  std::vector<double> weight_at_;     // of the target's state, by place
  std::vector<double> back_;          // of each row
  std::vector<AtBase> table_;         // by the set of dropped groups
  Int b_ = 0, first_ = 0, k_ = 0;
  bool tabled_ = false;
  mutable Pulse pulse_;
};

}  // namespace cp::dependency
