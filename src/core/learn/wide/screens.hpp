// Screens of a wide table: all pairs of columns, and all columns given the present parents of each.
#pragma once
#include <optional>

#include "learn/wide/screened_rows.hpp"

namespace cp::wide {

constexpr Int SPAN_BYTES = 1 << 15;  // planes that stay in the first-level cache
constexpr Int MOST_CELLS = 32;      // of a family in the second screen

// Screens the pairs of the blocks before `end` with those from … end − 1, each pair once.
class PairScreen {
 public:
  PairScreen(const WideData& data, Floats keep, Int from, Int to)
      : data_(data), keep_(keep), from_(from), to_(to), score_(data.kind, data.a, data.logs), alone_(data.n()) {
    if (data.weights.empty()) planes_.emplace(data, from, to);
    std::vector<double> counts;
    for (Int v = 0; v < data.n(); ++v) {
      const Int r = data.cards[v];
      counts.assign(r, 0.0);
      for (Int s = 0; s < r; ++s) counts[s] = state_weight(v, s);
      alone_[v] = score_(Floats{counts.data(), {r}}, 1, r, 1);
      for (double c : counts) total_ = v == 0 ? total_ + c : total_;
    }
    for (Int k = 0; k < (to - from) * LANES; ++k) {
      const Node j = data.lanes(from + k / LANES, k % LANES);
      shares_.push_back(j < 0 ? 0.0 : double(data.ones[data.first[j]]) / total_);
      spreads_.push_back(shares_.back() * (1.0 - shares_.back()));
    }
  }

  // Screen block `left`; keep(i, j, gain) for each pair with a gain above the limit, i before j in the lanes.
  template <class Keep>
  void screen(Int left, Keep keep, Pulse& pulse) {
    const Int r = data_.card_of_block(left);
    if (r < 2) return;
    masks_.clear();
    for (Int i = 0; i < LANES && data_.lanes(left, i) >= 0; ++i) {
      left_[i] = double(data_.ones[data_.first[data_.lanes(left, i)]]);
      for (Int x = 0; x + 1 < r; ++x) masks_.push_back(data_.bits(data_.lanes(left, i), x));
    }
    for (Int b = std::max(left, from_); b < to_; ++b) {
      const Int card = data_.card_of_block(b);
      if (card < 2 || double(r) * double(card) > double(data_.max_cells)) continue;
      if (b == std::max(left, from_) || card != data_.card_of_block(b - 1)) {
        // What a pair must have in log-likelihood, beyond what it gains when kept.
        const Int d = (r - 1) * (card - 1);
        const double least = keep_[std::min<Int>(d, keep_.size() - 1)] + data_.bar(r, card, 1.0, 0);
        limit_ = chi_limit(least);
      }
      if (!data_.weights.empty()) weigh(left, b, keep, pulse);
      else if (r == 2 && card == 2) screen_binary(left, b, keep, pulse);
      else screen_states(left, b, keep, pulse);
    }
  }

 private:
  const WideData& data_;
  Floats keep_;
  Int from_, to_;
  double total_ = 0.0;
  scores::TableScorer score_;
  std::vector<double> alone_;  // each column's score without parents
  std::optional<Planes> planes_;
  std::vector<const Word*> masks_;
  std::vector<Int> counts_, ones_;
  std::vector<double> table_, cells_;
  std::vector<double> shares_, spreads_;  // of the first state of each column of the planes
  double left_[LANES] = {};               // rows of the first state of the columns of the present block
  double limit_ = 0.0;                    // χ² above which a pair may be kept

  double state_weight(Int v, Int s) const {
    if (data_.weights.empty()) return double(data_.ones[data_.first[v] + s]);
    double sum = 0.0;
    for_each_row(data_.rows_with(v, s), [&](Int row) { sum += data_.weights[row]; });
    return sum;
  }

  // χ² above which a pair may have the log-likelihood `least`: N · MI ≤ N ln(1 + χ² / N). A little lower, for rounding.
  double chi_limit(double least) const {
    return least <= 0.0 ? -1.0 : total_ * std::expm1(least / total_) * (1.0 - 1e-9);
  }

  template <class Keep>
  void judge(Node i, Node j, Keep& keep) {
    const Int r = data_.cards[i], card = data_.cards[j], d = (r - 1) * (card - 1);
    const double score = score_(Floats{table_.data(), {r * card}}, 1, r, card, 1.0);
    const double prior = data_.by_count[1] - data_.by_count[0] + data_.by_parameter * double(d) - data_.edge_price(i, j);
    const double gain = score - alone_[i] + prior;
    if (gain > keep_[std::min<Int>(d, keep_.size() - 1)]) keep(i, j, gain);
  }

  template <class Keep>
  void screen_binary(Int left, Int b, Keep& keep, Pulse& pulse) {
    counts_.resize(LANES * LANES);
    const Int n_left = Int(masks_.size());
    const Word* masks[LANES];
    for (Int m = 0; m < LANES; ++m) masks[m] = masks_[std::min(m, n_left - 1)];
    double scales[LANES];
    for (Int m = 0; m < LANES; ++m) scales[m] = limit_ * left_[m] * (1.0 - left_[m] / total_);
    u8 hits[LANES];
    const Int at = (b - from_) * LANES;
    loops->pair_hits(masks, planes_->of(b, 0), data_.width(), left_, scales, shares_.data() + at, spreads_.data() + at, counts_.data(), hits);
    pulse(LANES * (data_.width() + 8));
    table_.resize(4);
    for (Int m = 0; m < n_left; ++m) {
      for (int mask = hits[m]; mask != 0; mask &= mask - 1) {
        const Int lane = lowest_bit(Word(mask));
        const Node i = data_.lanes(left, m), j = data_.lanes(b, lane);
        if (j < 0 || (left == b && lane <= m)) continue;
        const double both = double(counts_[m * LANES + lane]), n_i = left_[m], n_j = double(data_.ones[data_.first[j]]);
        table_[0] = both;
        table_[1] = n_i - both;
        table_[2] = n_j - both;
        table_[3] = total_ - n_i - n_j + both;
        judge(i, j, keep);
      }
    }
  }

  template <class Keep>
  void screen_states(Int left, Int b, Keep& keep, Pulse& pulse) {
    const Int r = data_.card_of_block(left), card = data_.card_of_block(b), s = card - 1;
    const Int n_masks = Int(masks_.size());
    counts_.resize(n_masks * s * LANES);
    ones_.resize(s * LANES);
    for (Int t = 0; t < s; ++t) {
      loops->lane_counts(masks_.data(), n_masks, planes_->of(b, t), data_.width(), counts_.data() + t * LANES, s * LANES);
      for (Int lane = 0; lane < LANES; ++lane) {
        const Node j = data_.lanes(b, lane);
        ones_[t * LANES + lane] = j < 0 ? 0 : data_.ones[data_.first[j] + t];
      }
    }
    pulse(n_masks * s * data_.width() + LANES * 20 * r * card);
    double chi[LANES];
    cells_.resize(r);
    for (Int m = 0; m < n_masks / (r - 1); ++m) {
      const Node i = data_.lanes(left, m);
      for (Int x = 0; x < r; ++x) cells_[x] = double(data_.ones[data_.first[i] + x]);
      const Int* joint = counts_.data() + m * (r - 1) * s * LANES;
      loops->lane_chi_squares(ones_.data(), joint, &total_, cells_.data(), 1, r, s, chi);
      for (Int lane = 0; lane < LANES; ++lane) {
        const Node j = data_.lanes(b, lane);
        if (j < 0 || chi[lane] <= limit_ || (left == b && lane <= m)) continue;
        table_.assign(r * card, 0.0);
        for (Int x = 0; x < r; ++x) {
          double rest = cells_[x];
          for (Int t = 0; t < s; ++t) {
            double cell = double(ones_[t * LANES + lane]);
            if (x + 1 < r) cell = double(joint[(x * s + t) * LANES + lane]);
            else
              for (Int u = 0; u + 1 < r; ++u) cell -= double(joint[(u * s + t) * LANES + lane]);
            table_[x * card + t] = cell;
            rest -= cell;
          }
          table_[x * card + s] = rest;
        }
        judge(i, j, keep);
      }
    }
  }

  // Weighted rows: each pair is a histogram.
  template <class Keep>
  void weigh(Int left, Int b, Keep& keep, Pulse& pulse) {
    std::vector<u32> state(data_.n_rows);
    for (Int m = 0; m < LANES && data_.lanes(left, m) >= 0; ++m) {
      const Node i = data_.lanes(left, m);
      const Int r = data_.cards[i];
      for (Int x = 0; x < r; ++x) for_each_row(data_.rows_with(i, x), [&](Int row) { state[row] = u32(x); });
      for (Int lane = left == b ? m + 1 : 0; lane < LANES && data_.lanes(b, lane) >= 0; ++lane) {
        const Node j = data_.lanes(b, lane);
        const Int card = data_.cards[j];
        table_.assign(r * card, 0.0);
        for (Int t = 0; t < card; ++t)
          counts::add_set_rows(data_.rows_with(j, t), [&](Int row) { return Int(state[row]) * card + t; },
                               [&](Int row) { return data_.weights[row]; }, Vector<double>{table_.data(), {r * card}});
        pulse(2 * data_.n_rows);
        judge(i, j, keep);
      }
    }
  }
};

// Fill pairs and gains with the pairs that gain more than keep[d], of the blocks before `to` with those of from … to − 1.
//
// `cursor` is the block to go on with. Returns the number of pairs; the screen has ended when cursor[0] reaches `to`.
inline Int screen_pairs(const WideData& data, Floats keep, Int from, Int to, Vector<Int> cursor, Matrix<Node> pairs, Vector<double> gains) {
  const Int most = (to - from) * LANES * LANES;
  PairScreen screen(data, keep, from, to);
  Pulse pulse;
  Int n = 0;
  for (; cursor[0] < to && n + most <= gains.size(); ++cursor[0])
    screen.screen(cursor[0], [&](Node i, Node j, double gain) {
      pairs(n, 0) = std::min(i, j);
      pairs(n, 1) = std::max(i, j);
      gains[n++] = gain;
    }, pulse);
  return n;
}

// The parents given which a column is screened again: the two of the DAG with which it gains most, or one where two have
// too many states; its strongest child where it has no parent. None where nothing can be added.
class FamilyChoice {
 public:
  FamilyChoice(const WideData& data, Ragged<const Node> above, Ragged<const Node> below)
      : data_(data), above_(above), below_(below), pair_(data) {}

  Nodes operator()(Node y, Pulse& pulse) {
    Nodes family;
    if (data_.cards[y] < 2) return family;
    const bool has_parents = above_.length(y) > 0;
    std::vector<Gain> strongest;
    for (Node x : has_parents ? above_[y] : below_[y]) {
      pair_.build(y, {x});
      pulse(200 + pair_.q * pair_.r * data_.width());
      strongest.push_back({pair_.score(), x});
    }
    std::sort(strongest.begin(), strongest.end(), better);
    Int cells = data_.cards[y];
    for (const Gain& gain : strongest) {
      if (Int(family.size()) == (has_parents ? 2 : 1)) break;
      if (cells * data_.cards[gain.node] > MOST_CELLS) continue;
      cells *= data_.cards[gain.node];
      family.push_back(gain.node);
    }
    if (Int(family.size()) >= data_.max_parents) family.clear();
    std::sort(family.begin(), family.end());
    return family;
  }

  static bool better(const Gain& a, const Gain& b) { return a.gain > b.gain || (a.gain == b.gain && a.node < b.node); }

  bool joined(Node x, Node y) const { return contains(above_[y], x) || contains(above_[x], y); }

 private:
  const WideData& data_;
  Ragged<const Node> above_, below_;
  Cells pair_;
};

// What a column of `card` states adds to the priors of a family with `parents` others.
inline double added_prior(const WideData& data, const Cells& cells, Int parents, Node x) {
  return data.by_count[parents + 1] - data.by_count[parents] - data.edge_price(x, cells.child) +
         data.by_parameter * cells.q_all * double((cells.r - 1) * (data.cards[x] - 1));
}

inline void keep_best(std::vector<Gain>& gains, const Gain& gain, Int most) {
  gains.push_back(gain);
  std::sort(gains.begin(), gains.end(), FamilyChoice::better);
  if (Int(gains.size()) > most) gains.pop_back();
}

// Call list(x) for the columns of blocks from … to − 1 whose number of states can pay.
template <class List>
void list_all(const WideData& data, const FamilyScreen& screen, Int from, Int to, List list) {
  for (Int b = from; b < to; ++b)
    if (screen.may_pay(data.card_of_block(b)))
      for (Int lane = 0; lane < LANES && data.lanes(b, lane) >= 0; ++lane) list(data.lanes(b, lane));
}

// Keeps the columns that gain most as one more parent of a node.
class FamilyJudge {
 public:
  FamilyJudge(const WideData& data, const FamilyChoice& choice) : data_(data), choice_(choice), cells_(data) {}

  // Join those of `listed` that gain to `gains`, of which at most `most` are kept.
  void operator()(Node y, const Nodes& family, Vector<const Node> listed, std::vector<Gain>& gains, Int most, Pulse& pulse) {
    if (listed.size() == 0) return;
    cells_.build(y, family);
    const double score = cells_.score();
    for (Node x : listed) {
      if (x == y || holds(family, x) || choice_.joined(x, y)) continue;
      const double gain = cells_.score_with(x) + added_prior(data_, cells_, Int(family.size()), x) - score;
      if (gain > TOLERANCE) keep_best(gains, {gain, x}, most);
      pulse(cells_.by_masks ? cells_.q * cells_.r * data_.width() : 2 * data_.n_rows);
    }
  }

 private:
  const WideData& data_;
  const FamilyChoice& choice_;
  Cells cells_;
};

// Fill `best` with the columns that gain most as one more parent of each node, given the parents of FamilyChoice.
//
// Nodes are from … from + best.rows − 1. −1 fills up.
inline void screen_families(const WideData& data, Ints parents_from, Vector<const Node> parents, Ints children_from,
                            Vector<const Node> children, Int from, Matrix<Node> best) {
  constexpr std::size_t LISTED = 1024;  // columns of a node that wait to be judged
  const Int n = best.shape(0), kept = best.shape(1), n_blocks = data.lanes.shape(0);
  struct Task {
    Nodes family;
    std::vector<Word> masks;
    std::optional<FamilyScreen> screen;
    Nodes listed;
    std::vector<Gain> gains;
  };
  std::vector<Task> tasks(n);
  FamilyChoice choose(data, {parents, parents_from}, {children, children_from});
  FamilyJudge judge(data, choose);
  Cells cells(data);
  Pulse pulse;
  const auto judge_listed = [&](Int k) {
    Task& task = tasks[k];
    judge(Node(from + k), task.family, {task.listed.data(), {Int(task.listed.size())}}, task.gains, kept, pulse);
    task.listed.clear();
  };
  for (Int k = 0; k < n; ++k) {
    Task& task = tasks[k];
    task.family = choose(Node(from + k), pulse);
    if (task.family.empty()) continue;
    cells.build(Node(from + k), task.family);
    task.masks = cells.masks;
    task.screen.emplace(data, cells, Int(task.family.size()), task.masks.data());
  }
  for (Int begin = 0; begin < n_blocks;) {
    const Int end = span_end(data, begin, n_blocks, SPAN_BYTES);
    const Planes planes(data, begin, end);
    for (Int k = 0; k < n; ++k) {
      Task& task = tasks[k];
      if (!task.screen) continue;
      const auto list = [&](Node x) { task.listed.push_back(x); };
      if (data.weights.empty()) task.screen->run(planes, begin, end, list, pulse);
      else list_all(data, *task.screen, begin, end, list);
      if (task.listed.size() >= LISTED) judge_listed(k);
    }
    begin = end;
  }
  best.fill(-1);
  for (Int k = 0; k < n; ++k) {
    judge_listed(k);
    for (std::size_t i = 0; i < tasks[k].gains.size(); ++i) best(k, Int(i)) = tasks[k].gains[i].node;
  }
}

// ---- Pairs and families that were screened elsewhere, such as on a card -----------------------------------------------

// Fill `gains` with what each pair gains, −∞ where it is not above keep[d]; pairs of the same first column stand together.
inline void judge_pairs(const WideData& data, Floats keep, Matrix<const Node> pairs, Vector<double> gains) {
  Cells cells(data);
  Pulse pulse;
  double alone = 0.0;
  for (Int k = 0; k < gains.size(); ++k) {
    const Node i = pairs(k, 0), j = pairs(k, 1);
    if (cells.child != i) {
      cells.build(i, {});
      alone = cells.score();
    }
    const Int d = (data.cards[i] - 1) * (data.cards[j] - 1);
    const double gain = cells.score_with(j) - alone + added_prior(data, cells, 0, j);
    gains[k] = gain > keep[std::min<Int>(d, keep.size() - 1)] ? gain : -INF;
    pulse(2 * data.width());
  }
}

// Fill `families` with the parents of FamilyChoice of the nodes from …; −1 fills up.
inline void choose_families(const WideData& data, Ints parents_from, Vector<const Node> parents, Ints children_from,
                            Vector<const Node> children, Int from, Matrix<Node> families) {
  FamilyChoice choose(data, {parents, parents_from}, {children, children_from});
  Pulse pulse;
  families.fill(-1);
  for (Int k = 0; k < families.shape(0); ++k) {
    const Nodes family = choose(Node(from + k), pulse);
    std::copy(family.begin(), family.end(), families[k].begin());
  }
}

// Fill `best` as screen_families does, but only from the columns listed for each node.
inline void judge_families(const WideData& data, Ints parents_from, Vector<const Node> parents, Int from, Matrix<const Node> families,
                           Ints listed_from, Vector<const Node> listed, Matrix<Node> best) {
  const FamilyChoice choice(data, {parents, parents_from}, {parents, parents_from});
  FamilyJudge judge(data, choice);
  Pulse pulse;
  best.fill(-1);
  for (Int k = 0; k < best.shape(0); ++k) {
    Nodes family;
    for (Node p : families[k])
      if (p >= 0) family.push_back(p);
    std::vector<Gain> gains;
    judge(Node(from + k), family, listed.part(listed_from[k], listed_from[k + 1]), gains, best.shape(1), pulse);
    for (std::size_t i = 0; i < gains.size(); ++i) best(k, Int(i)) = gains[i].node;
  }
}

}  // namespace cp::wide
