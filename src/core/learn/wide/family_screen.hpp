// Which columns may pay as one more parent of a family: their χ² with it, eight at a time.
//
// N · MI ≤ Σ_c N_c ln(1 + χ²_c / N_c) ≤ Σ_c χ²_c over the configurations c of the parents, so that a column whose χ² is below
// the bar cannot pay. In a configuration it brings no more than the child's entropy there: configurations that hold little
// of it are left out, and the bar is lower by that much.
#pragma once
#include "learn/wide/cells.hpp"

namespace cp::wide {

class FamilyScreen {
 public:
  // `masks` are those of `cells`, or a copy that lives as long as the screen.
  FamilyScreen(const WideData& data, Cells& cells, Int n_parents, const Word* masks)
      : data_(data), masks_(masks), q_(cells.q), r_(cells.r), q_all_(cells.q_all), n_parents_(n_parents), room_(cells.room()),
        totals_(cells.totals), counts_(cells.counts) {
    if (r_ == 2 && may_pay(2)) choose_tested();
  }

  // Whether a parent of `card` states can pay at all.
  bool may_pay(Int card) const {
    const double size = q_all_ * double(r_) * double(card);
    return card > 1 && size <= double(data_.max_cells) && room_ > data_.bar(r_, card, q_all_, n_parents_);
  }

  // Call visit(x) for the columns of blocks from … to − 1 that may pay, the family's own among them.
  template <class Visit>
  void run(const Planes& planes, Int from, Int to, Visit visit, Pulse& pulse) {
    for (Int begin = from; begin < to;) {
      const Int card = data_.card_of_block(begin);
      Int end = begin + 1;
      while (end < to && data_.card_of_block(end) == card) ++end;
      if (may_pay(card)) {
        if (card == 2 && test_.q > 0) run_binary(planes, begin, end, visit, pulse);
        else run_states(planes, begin, end, visit, pulse);
      }
      begin = end;
    }
  }

 private:
  static constexpr Int AT_ONCE = 64;  // blocks

  const WideData& data_;
  const Word* masks_;
  Int q_, r_;
  double q_all_;
  Int n_parents_;
  double room_;  // a family gains no more
  std::vector<double> totals_, counts_;
  std::vector<Int> tested_;  // configurations of the binary test
  FamilyTest test_{};
  std::vector<double> rows_, shares_, scales_;
  std::vector<const Word*> pointers_;
  std::vector<Int> lane_;

  const Word* mask(Int c, Int x) const { return masks_ + (c * r_ + x) * data_.width(); }

  // Leave out the configurations that hold least, a third of the bar together.
  void choose_tested() {
    const double bar = data_.bar(r_, 2, q_all_, n_parents_);
    std::vector<std::pair<double, Int>> rooms;
    for (Int c = 0; c < q_; ++c) {
      const double* n = counts_.data() + 2 * c;
      rooms.push_back({scores::clogc(totals_[c], data_.logs) - scores::clogc(n[0], data_.logs) - scores::clogc(n[1], data_.logs), c});
    }
    std::sort(rooms.begin(), rooms.end());
    double left_out = 0.0;
    std::size_t first = 0;
    while (first < rooms.size() && (counts_[2 * rooms[first].second] == 0.0 || counts_[2 * rooms[first].second + 1] == 0.0 ||
                                    left_out + rooms[first].first <= bar / 3.0))
      left_out += std::max(0.0, rooms[first++].first);
    for (; first < rooms.size(); ++first) tested_.push_back(rooms[first].second);
    const Int q = Int(tested_.size());
    if (q == 0 || q > MOST_TESTED) return;
    for (Int c : tested_) {
      const double share = counts_[2 * c] / totals_[c];
      rows_.push_back(totals_[c]);
      shares_.push_back(share);
      scales_.push_back(totals_[c] / (share * (1.0 - share)));
    }
    test_ = {nullptr, q, q == q_, nullptr, nullptr, nullptr, (bar - left_out) * (1.0 - 1e-9) - 1e-6};
  }

  template <class Visit>
  void run_binary(const Planes& planes, Int from, Int to, Visit visit, Pulse& pulse) {
    pointers_.clear();
    for (Int c : tested_) pointers_.push_back(mask(c, 1));
    for (Int c : tested_) pointers_.push_back(mask(c, 0));
    FamilyTest test = test_;
    test.masks = pointers_.data();
    test.rows = rows_.data();
    test.shares = shares_.data();
    test.scales = scales_.data();
    u8 hits[AT_ONCE];
    for (; from < to; from += AT_ONCE) {
      const Int n = std::min(AT_ONCE, to - from);
      loops->family_hits(test, planes.of(from, 0), planes.ones(from), n, data_.width(), hits);
      pulse(n * 2 * test.q * (2 * data_.width() + 20));
      for (Int b = 0; b < n; ++b)
        for (int mask = hits[b]; mask != 0; mask &= mask - 1) {
          const Node x = data_.lanes(from + b, lowest_bit(Word(mask)));
          if (x >= 0) visit(x);
        }
    }
  }

  template <class Visit>
  void run_states(const Planes& planes, Int from, Int to, Visit visit, Pulse& pulse) {
    const Int s = data_.card_of_block(from) - 1, width = data_.width();
    const double bar = data_.bar(r_, s + 1, q_all_, n_parents_) * (1.0 - 1e-9) - 1e-6;
    pointers_.clear();
    for (Int c = 0; c < q_; ++c) pointers_.push_back(mask(c, 0));
    for (Int c = 0; c < q_; ++c)
      for (Int x = 1; x < r_; ++x) pointers_.push_back(mask(c, x));
    lane_.resize(q_ * r_ * s * LANES);
    double chi[LANES];
    for (Int b = from; b < to; ++b) {
      for (Int t = 0; t < s; ++t)
        loops->lane_counts(pointers_.data(), q_ * r_, planes.of(b, t), width, lane_.data() + t * LANES, s * LANES);
      loops->lane_chi_squares(lane_.data(), lane_.data() + q_ * s * LANES, totals_.data(), counts_.data(), q_, r_, s, chi);
      pulse(q_ * r_ * s * width * 2 + 20 * q_ * r_ * (s + 1));
      for (Int lane = 0; lane < LANES; ++lane)
        if (data_.lanes(b, lane) >= 0 && chi[lane] > bar) visit(data_.lanes(b, lane));
    }
  }
};

}  // namespace cp::wide
