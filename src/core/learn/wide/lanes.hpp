// The data of a wide search, and its columns side by side in planes of bit sets.
//
// Columns stand in blocks of eight of one number of states. Plane t of a block holds the rows with state t: word w of
// its eight columns lies at 8 w … 8 w + 7, so that a count of eight columns at once is never summed across lanes. The
// last state of a column has no plane: it is what the others leave.
#pragma once
#include <vector>

#include "base/bits.hpp"
#include "base/pulse.hpp"
#include "counts/bit_sets.hpp"
#include "counts/cells.hpp"
#include "levels/loops.hpp"
#include "learn/search/rows.hpp"
#include "scores/tables.hpp"

namespace cp::wide {

using search::Node;
using search::Nodes;

// What is counted and how families are scored; price[d] is what an edge of d degrees of freedom costs.
struct WideData {
  Matrix<const Word> words;  // bit set first[v] + s holds the rows with v = s
  Ints ones;                 // and has so many
  Ints first;
  Ints cards;
  Floats weights;  // empty: every row counts once
  Floats logs;     // c ln c
  Int n_rows;
  Int kind;
  double a;
  Floats by_count;      // structure prior by number of parents
  double by_parameter;  // and for each parameter
  Floats price;
  Int max_parents;
  Int max_cells;
  Matrix<const Node> lanes;  // the columns of each block; −1 behind the last one of a kind

  static constexpr const char* fields =
      "words[states,width] ones[states] first[n] cards[n] weights[] logs[] n_rows kind a by_count[n+1] by_parameter "
      "price[] max_parents max_cells lanes[blocks,8]";

  Int n() const { return cards.size(); }
  Int width() const { return words.shape(1); }
  Words rows_with(Int v, Int state) const { return words[first[v] + state]; }
  double weight(Int row) const { return weights.empty() ? 1.0 : weights[row]; }
  const Word* bits(Int v, Int state) const { return words[first[v] + state].data; }
  Int card_of_block(Int block) const { return cards[lanes(block, 0)]; }
  bool is_likelihood() const { return kind == scores::LIKELIHOOD; }
  double edge_price(Int x, Int y) const {
    return price[std::min<Int>((cards[x] - 1) * (cards[y] - 1), price.size() - 1)];
  }
  // What a parent of `card` states must bring in log-likelihood before it can pay, for a child of r states with
  // `parents` others in q configurations. Scores without a penalty a parameter are never above their likelihood.
  double bar(Int r, Int card, double q, Int parents) const {
    const double parameters = q * double((r - 1) * (card - 1));
    const double prior = by_count[parents + 1] - by_count[parents] + by_parameter * parameters;
    const double d = price[std::min<Int>((r - 1) * (card - 1), price.size() - 1)];
    return (is_likelihood() ? a * parameters : 0.0) + d - prior;
  }
};

// The planes of blocks from … to − 1.
class Planes {
 public:
  Planes(const WideData& data, Int from, Int to) : data_(data), from_(from), starts_(to - from + 1) {
    starts_[0] = 0;
    for (Int b = from; b < to; ++b) starts_[b - from + 1] = starts_[b - from] + data.card_of_block(b) - 1;
    const Int width = data.width();
    ones_.assign((to - from) * LANES, 0.0);
    planes_.assign(starts_[to - from] * width * LANES, 0);
    for (Int b = from; b < to; ++b)
      for (Int lane = 0; lane < LANES; ++lane) {
        const Node v = data.lanes(b, lane);
        if (v < 0) continue;
        ones_[(b - from) * LANES + lane] = double(data.ones[data.first[v]]);
        for (Int t = 0; t + 1 < data.cards[v]; ++t) {
          const Word* bits = data.bits(v, t);
          Word* plane = planes_.data() + (starts_[b - from] + t) * width * LANES + lane;
          for (Int w = 0; w < width; ++w) plane[w * LANES] = bits[w];
        }
      }
  }
  const Word* of(Int block, Int state) const {
    return planes_.data() + (starts_[block - from_] + state) * data_.width() * LANES;
  }
  // The rows of the first state of the eight columns of a block, and of those after it.
  const double* ones(Int block) const { return ones_.data() + (block - from_) * LANES; }

 private:
  const WideData& data_;
  Int from_;
  std::vector<Int> starts_;
  std::vector<Word> planes_;
  std::vector<double> ones_;
};

// Blocks in spans whose planes take about `bytes`.
inline Int span_end(const WideData& data, Int from, Int to, Int bytes) {
  Int end = from;
  for (Int size = 0; end < to && (end == from || size < bytes); ++end)
    size += (data.card_of_block(end) - 1) * data.width() * LANES * Int(sizeof(Word));
  return end;
}

}  // namespace cp::wide
