// Scores of all families over a few variables, from terms of sets.
//
// Every score the kernels know (scores/terms.hpp) splits into a term of the set S = parents ∪ {child} and
// one of the parents alone, so that 2ⁿ sets are counted instead of n 2ⁿ⁻¹ families. Sets are bit masks.
#pragma once
#include "base/bits.hpp"
#include "counts/cells.hpp"
#include "scores/tables.hpp"

namespace cp::bayesian {

// Σ ln Γ(α + c) − ln Γ(α); small whole counts as Σ ln(α + k), each logarithm taken once.
inline double rising(Floats counts, double alpha) {
  constexpr Int SMALL = 64;  // counts below it take their rising factorial from a table
  double table[SMALL];
  table[0] = 0.0;
  Int known = 0;
  double total = 0.0;
  for (double count : counts) {
    const Int whole = Int(count);
    if (double(whole) == count && whole < SMALL) {
      for (; known < whole; ++known) table[known + 1] = table[known] + std::log(alpha + double(known));
      total += table[whole];
    } else {
      total += std::lgamma(alpha + count) - std::lgamma(alpha);
    }
  }
  return total;
}

// Walks through sets depth first, each from the groups of rows of the set without its last member: O(rows)
// a set. Fills terms[:, set]: as parents ∪ child in row 0, as parents in the row of the child's rank.
class TermWalk {
 public:
  TermWalk(Matrix<const u32> codes, Floats weights, Ints cards, Int max_size, Int kind, double a, Ints ranks,
           Floats logs, Matrix<double> terms)
      : codes_(codes), weights_(weights), cards_(cards), max_size_(max_size), kind_(kind), a_(a), ranks_(ranks), logs_(logs),
        terms_(terms), groups_(cards.size() + 1, weights.size()) {
    Int widest = 1;
    for (Int card : cards) widest = std::max(widest, card);
    widest *= std::max<Int>(weights.size(), 1);
    label_ = Array<std::int32_t, 1>(widest);
    counts_ = Array<double, 1>(widest);
    groups_[0].fill(0);
    counts_[0] = sum(weights);
  }

  // Fill the terms of the sets that agree with `prefix` below `split`.
  void fill(Int split, Int prefix) {
    Int depth = 0, n_groups = 1;
    double cells = 1.0;
    for (Int v = 0; v < split; ++v)
      if (prefix >> v & 1) {
        n_groups = refine(depth++, n_groups, v);
        cells *= double(cards_[v]);
      }
    if (depth > max_size_) return;
    enter(prefix, n_groups, cells);
    extend(depth, n_groups, prefix, cells, split);
  }

 private:
  // Fill the terms of the set of this depth with one or more of the variables from `first` on.
  void extend(Int depth, Int n_groups, Int members, double cells, Int first) {
    const Int n = cards_.size();
    if (depth == max_size_) return;
    for (Int v = first; v < n; ++v) {
      pulse_(3 * weights_.size());
      const bool last = v == n - 1 || depth + 1 == max_size_;
      const Int size = last ? tally(depth, n_groups, v) : refine(depth, n_groups, v);
      const Int larger = members | Int(1) << v;
      const double larger_cells = cells * double(cards_[v]);
      enter(larger, size, larger_cells);
      if (!last) extend(depth + 1, size, larger, larger_cells, v + 1);
    }
  }

  // Split the groups of rows by a column into those of the next depth; fill their counts, return their number.
  Int refine(Int depth, Int n_groups, Int v) {
    const Int card = cards_[v];
    const Vector<const std::int32_t> groups = groups_[depth];
    const Vector<std::int32_t> finer = groups_[depth + 1];
    const Vector<const u32> column = codes_[v];
    label_.part(0, n_groups * card).fill(-1);
    std::int32_t size = 0;
    for (Int row = 0; row < weights_.size(); ++row) {
      std::int32_t& label = label_[Int(groups[row]) * card + column[row]];
      if (label < 0) {
        counts_[size] = 0.0;
        label = size++;
      }
      finer[row] = label;
      counts_[label] += weights_[row];
    }
    return size;
  }

  // Fill the counts of the groups split by a column that will not be split again; returns their number.
  Int tally(Int depth, Int n_groups, Int v) {
    const Int card = cards_[v];
    const Vector<const std::int32_t> groups = groups_[depth];
    const Vector<const u32> column = codes_[v];
    counts_.part(0, n_groups * card).fill(0.0);
    const Floats weights = weights_;
    counts::add_rows(weights.size(), [=](Int row) { return Int(groups[row]) * card + column[row]; }, [=](Int row) { return weights[row]; }, counts_.flat());
    return n_groups * card;
  }

  void enter(Int members, Int size, double cells) {
    using namespace scores;
    const Floats counts = counts_.part(0, size);
    if (kind_ == LIKELIHOOD) {
      double total = 0.0;
      for (double count : counts) total += clogc(count, logs_);
      terms_(0, members) = total;
    } else {
      terms_(0, members) = rising(counts, kind_ == EQUIVALENT ? a_ / cells : a_);
    }
    if (kind_ == CONSTANT)
      for (Int k = 0; k < ranks_.size(); ++k) terms_(k + 1, members) = rising(counts, a_ * double(ranks_[k]));
  }

  Matrix<const u32> codes_;
  Floats weights_;
  Ints cards_;
  Int max_size_, kind_;
  double a_;
  Ints ranks_;
  Floats logs_;
  Matrix<double> terms_;
  Array<std::int32_t, 2> groups_;  // (depth, rows): the cell of each row in the set of that depth, numbered as met
  Array<std::int32_t, 1> label_;
  Array<double, 1> counts_;
  Pulse pulse_;
};

// Fill the terms of each set of at most `max_size` that agrees with `prefix` below `split`.
//
// `ranks` are the different numbers of states, `logs` holds c ln c.
inline void fill_terms(Matrix<const u32> codes, Floats weights, Ints cards, Int split, Int prefix, Int max_size,
                       Int kind, double a, Ints ranks, Floats logs, Matrix<double> terms) {
  TermWalk(codes, weights, cards, max_size, kind, a, ranks, logs, terms).fill(split, prefix);
}

// Fill `out` with the scores of the child given each set of the others, −∞ above the limit.
//
// `whole` and `parents` are the terms of sets; `by_edge` holds the child's prior for each parent,
// `by_parameter` that of each parameter.
inline void fill_families(Floats whole, Floats parents, Ints cards, Int child, Int max_parents, Int kind, double a,
                          Floats by_count, Floats by_edge, double by_parameter, Vector<double> out) {
  const Int low = (Int(1) << child) - 1;
  for (Int others = 0; others < out.size(); ++others) {
    const Int members = (others & low) | ((others & ~low) << 1), size = popcount(Word(members));
    out[others] = -INF;
    if (size > max_parents) continue;
    double cells = 1.0, prior = 0.0;
    for_each_bit(Word(members), [&](Int v) {
      cells *= double(cards[v]);
      prior += by_edge[v];
    });
    const double score = whole[members | Int(1) << child] - parents[members] + by_count[size] + prior;
    const double penalty = (kind == scores::LIKELIHOOD ? a : 0.0) - by_parameter;
    out[others] = score - penalty * cells * double(cards[child] - 1);
  }
}

}  // namespace cp::bayesian
