// Rows of a wide search: what a family gains by one parent more or less. Only what gains is kept.
#pragma once
#include <memory>

#include "learn/search/rows.hpp"
#include "learn/wide/family_screen.hpp"

namespace cp::wide {

using search::Gain;
using search::holds;

constexpr double TOLERANCE = 1e-7;  // nats: gains below it are rounding
constexpr Int MAX_ROWS = 600;       // of one child that are kept
constexpr Int MAX_ADDS = 256;       // parents that a row keeps, the best ones

// Which pairs are looked at: screened neighbors of each column, with the gains of the pairs alone.
struct Candidates {
  Ints from;
  Vector<const Node> nodes;
  Floats gains;
};

class ScreenedRows {
 public:
  static constexpr bool IS_NARROW = false;

  // The row of a family; it stays until many others of its child have been filled.
  class Row {
   public:
    double score() const { return kept_->score; }
    double drop(std::size_t k) const { return kept_->drops[k]; }
    Int n_adds() const { return Int(kept_->adds.size()); }
    Gain add(Int i) const { return kept_->adds[i]; }
    double gain_of(Node x) const {
      for (const Gain& add : kept_->adds)
        if (add.node == x) return add.gain;
      return -INF;
    }

   private:
    friend class ScreenedRows;
    struct Kept {
      Word key = 0;
      double score = 0;           // of the family, priors included
      std::vector<double> drops;  // the gain without parents[k]
      std::vector<Gain> adds;     // parents that gain, best first
    };
    const Kept* kept_;
    explicit Row(const Kept* kept) : kept_(kept) {}
  };

  // With `every`, a family is tried with all columns; else with its child's candidates.
  ScreenedRows(const WideData& data, const Candidates& candidates, bool every)
      : data(data), candidates_(candidates), cells_(data), fewer_(data), cache_(data.n()), keys_(data.n()) {
    if (every && data.weights.empty()) planes_ = std::make_unique<Planes>(data, 0, data.lanes.shape(0));
    every_ = every;
    for (Int v = 0; v < data.n(); ++v) keys_[v] = mix_bits(Word(v + 1) * SPLITMIX_STEP);
  }

  const WideData& data;
  Int n_filled = 0;

  void want(Node, const Nodes&) {}
  void fill() {}

  Row get(Node y, const Nodes& parents, Int&) { return get(y, parents); }
  Row get(Node y, const Nodes& parents) {
    Word key = 1;
    for (Node p : parents) key ^= keys_[p];
    auto& rows = cache_[y];
    for (const auto& row : rows)
      if (row->key == key) return Row(row.get());
    if (Int(rows.size()) >= MAX_ROWS) rows.clear();
    auto row = std::make_unique<Row::Kept>();
    row->key = key;
    fill(y, parents, *row);
    rows.push_back(std::move(row));
    return Row(rows.back().get());
  }

 private:
  const Candidates candidates_;
  bool every_;
  Cells cells_, fewer_;
  std::vector<std::vector<std::unique_ptr<Row::Kept>>> cache_;
  std::vector<Word> keys_;
  std::unique_ptr<Planes> planes_;
  Pulse pulse_;

  double prior(Node y, const Nodes& parents, double q_all, Node without = -1) const {
    Int k = 0;
    double edges = 0.0;
    for (Node p : parents) {
      if (p == without) continue;
      ++k;
      edges += data.edge_price(p, y);
    }
    return data.by_count[k] - edges + data.by_parameter * q_all * double(data.cards[y] - 1);
  }

  void fill(Node y, const Nodes& parents, Row::Kept& row) {
    ++n_filled;
    cells_.build(y, parents);
    pulse_(200 + cells_.q * cells_.r * data.width());
    row.score = cells_.score() + prior(y, parents, cells_.q_all);
    row.drops.resize(parents.size());
    Nodes others;
    for (std::size_t k = 0; k < parents.size(); ++k) {
      others = parents;
      others.erase(others.begin() + Int(k));
      fewer_.build(y, others);
      pulse_(200 + fewer_.q * fewer_.r * data.width());
      row.drops[k] = fewer_.score() + prior(y, others, fewer_.q_all) - row.score;
    }
    if (Int(parents.size()) < data.max_parents) add_parents(y, parents, row);
    rank(row.adds);
  }

  static void rank(std::vector<Gain>& adds) {
    std::sort(adds.begin(), adds.end(), [](const Gain& a, const Gain& b) { return a.gain > b.gain || (a.gain == b.gain && a.node < b.node); });
    if (Int(adds.size()) > MAX_ADDS) adds.resize(MAX_ADDS);
    adds.shrink_to_fit();
  }

  void add_parents(Node y, const Nodes& parents, Row::Kept& row) {
    const Int from = candidates_.from[y], to = candidates_.from[y + 1];
    if (parents.empty()) {  // the screen knows the gains of pairs
      for (Int k = from; k < to; ++k)
        if (candidates_.gains[k] > TOLERANCE) row.adds.push_back({candidates_.gains[k], candidates_.nodes[k]});
      return;
    }
    FamilyScreen screen(data, cells_, Int(parents.size()), cells_.masks.data());
    const auto add = [&](Node x) {
      if (x == y || search::holds(parents, x)) return;
      pulse_(cost(x));
      const double gain = cells_.score_with(x) + prior_with(y, parents, x) - row.score;
      if (gain > TOLERANCE) row.adds.push_back({gain, x});
    };
    if (!every_) {
      for (Int k = from; k < to; ++k)
        if (screen.may_pay(data.cards[candidates_.nodes[k]])) add(candidates_.nodes[k]);
    } else if (planes_ && cells_.by_masks) {
      screen.run(*planes_, 0, data.lanes.shape(0), add, pulse_);
    } else {
      for (Node x = 0; x < data.n(); ++x)
        if (screen.may_pay(data.cards[x])) add(x);
    }
  }

  Int cost(Node x) const { return cells_.by_masks ? cells_.q * cells_.r * data.cards[x] * data.width() / 4 : 2 * data.n_rows; }

  double prior_with(Node y, const Nodes& parents, Node x) const {
    double edges = data.edge_price(x, y);
    for (Node p : parents) edges += data.edge_price(p, y);
    const double parameters = cells_.q_all * double(data.cards[x]) * double(data.cards[y] - 1);
    return data.by_count[parents.size() + 1] - edges + data.by_parameter * parameters;
  }
};

}  // namespace cp::wide
