// The rows of one family, by the configurations of its parents that occur, and its tables with one more parent.
//
// Few configurations of unweighted rows are bit sets, counted by popcounts; otherwise each row has the number of its
// cell, and tables are histograms.
#pragma once
#include <numeric>

#include "learn/wide/lanes.hpp"

namespace cp::wide {

constexpr Int MAX_MASKS = 256;  // cells that get bit sets

class Cells {
 public:
  explicit Cells(const WideData& data) : data_(data), score_(data.kind, data.a, data.logs) {}

  Int q = 0;        // configurations that occur
  Int r = 0;        // states of the child
  double q_all = 0; // configurations in all
  Int child = -1;
  bool by_masks = false;
  std::vector<double> totals;  // rows of each configuration
  std::vector<double> counts;  // [configuration, state of the child]
  std::vector<Word> masks;     // [configuration, 0: all its rows; 1 + x: those with child state x, but the last]

  // Lay out the family (y, parents).
  void build(Node y, const Nodes& parents) {
    child = y;
    r = data_.cards[y];
    q_all = 1.0;
    for (Node p : parents) q_all *= double(data_.cards[p]);
    by_masks = data_.weights.empty() && q_all * double(r) <= double(MAX_MASKS);
    if (by_masks) build_masks(parents);
    else build_numbers(parents);
  }

  const Word* mask(Int c, Int x) const { return masks.data() + (c * r + x) * data_.width(); }

  // The score of the family without its priors.
  double score() { return score_(Floats{counts.data(), {Int(counts.size())}}, q, r, 1, q_all); }
  double log_likelihood() const {
    return scores::log_likelihood<double>(q, r, 1, data_.logs, [&](Int c, Int x, Int) { return counts[c * r + x]; });
  }

  // What the family gains at most, whatever its parents.
  double room() { return data_.is_likelihood() ? -log_likelihood() : -score(); }

  // The score with the parent x added, counted now.
  double score_with(Node x) {
    const Int card = data_.cards[x], cells = q * r;
    table_.assign(cells * card, 0.0);
    if (by_masks) count_masks(x);
    else count_numbers(x);
    return score_(Floats{table_.data(), {cells * card}}, q, r, card, q_all);
  }

 private:
  const WideData& data_;
  scores::TableScorer score_;
  std::vector<Word> former_;
  std::vector<u32> cell_;  // of each row
  std::vector<Int> number_;
  std::vector<double> table_;
  std::vector<Int> common_;

  void build_masks(const Nodes& parents) {
    const Int width = data_.width();
    masks.assign(width, ~Word(0));
    for (Int w = 0; w < width; ++w) {
      const Int rows = data_.n_rows - 64 * w;
      if (rows < 64) masks[w] = rows <= 0 ? 0 : (Word(1) << rows) - 1;
    }
    q = 1;
    for (Node p : parents) {
      former_.swap(masks);
      masks.resize(q * data_.cards[p] * width);
      Int k = 0;
      for (Int c = 0; c < q; ++c)
        for (Int s = 0; s < data_.cards[p]; ++s)
          k += loops->intersect(former_.data() + c * width, data_.bits(p, s), masks.data() + k * width, width) > 0;
      q = k;
    }
    former_.swap(masks);
    masks.resize(q * r * width);
    totals.assign(q, 0.0);
    counts.assign(q * r, 0.0);
    for (Int c = 0; c < q; ++c) {
      const Word* rows = former_.data() + c * width;
      Word* out = masks.data() + c * r * width;
      std::copy_n(rows, width, out);
      Int left = loops->count_ones(rows, width);
      totals[c] = double(left);
      for (Int x = 0; x + 1 < r; ++x) {
        const Int common = loops->intersect(rows, data_.bits(child, x), out + (x + 1) * width, width);
        counts[c * r + x] = double(common);
        left -= common;
      }
      counts[c * r + r - 1] = double(left);
    }
  }

  // Number the configurations in the order in which rows show them.
  void build_numbers(const Nodes& parents) {
    const Int n_rows = data_.n_rows;
    cell_.assign(n_rows, 0);
    std::vector<u32> code(n_rows);
    q = 1;
    for (Node p : parents) {
      const Int card = data_.cards[p];
      for (Int s = 0; s < card; ++s) for_each_row(data_.rows_with(p, s), [&](Int row) { code[row] = u32(s); });
      number_.assign(q * card, -1);
      q = 0;
      for (Int row = 0; row < n_rows; ++row) {
        Int& number = number_[Int(cell_[row]) * card + code[row]];
        if (number < 0) number = q++;
        cell_[row] = u32(number);
      }
    }
    for (Int s = 0; s < r; ++s)
      for_each_row(data_.rows_with(child, s), [&](Int row) { cell_[row] = u32(Int(cell_[row]) * r + s); });
    totals.assign(q, 0.0);
    counts.assign(q * r, 0.0);
    const auto weight = [&](Int row) { return data_.weight(row); };
    cp::counts::add_rows(n_rows, [&](Int row) { return cell_[row]; }, weight, Vector<double>{counts.data(), {q * r}});
    for (Int c = 0; c < q; ++c) totals[c] = std::accumulate(counts.begin() + c * r, counts.begin() + (c + 1) * r, 0.0);
  }

  void count_masks(Node x) {
    const Int card = data_.cards[x], width = data_.width(), n_masks = q * r;
    common_.resize(n_masks + 4);
    for (Int t = 0; t + 1 < card; ++t) {
      const Word* bits = data_.bits(x, t);
      for (Int m = 0; m < n_masks; m += 4) {  // four at a time; behind the last one it is counted again
        const Word* four[4];
        for (Int k = 0; k < 4; ++k) four[k] = masks.data() + std::min(m + k, n_masks - 1) * width;
        loops->common_1x4(bits, four, width, common_.data() + m);
      }
      for (Int c = 0; c < q; ++c) {
        double* out = table_.data() + c * r * card;
        Int left = common_[c * r];
        for (Int s = 0; s < r; ++s) {
          const Int cell = s + 1 < r ? common_[c * r + s + 1] : left;
          left -= cell;
          out[s * card + t] = double(cell);
          out[s * card + card - 1] += (t == 0 ? counts[c * r + s] : 0.0) - double(cell);
        }
      }
    }
  }

  void count_numbers(Node x) {
    const Int card = data_.cards[x];
    for (Int t = 0; t < card; ++t)
      cp::counts::add_set_rows(data_.rows_with(x, t), [&](Int row) { return Int(cell_[row]) * card + t; },
                               [&](Int row) { return data_.weight(row); }, Vector<double>{table_.data(), {Int(table_.size())}});
  }
};

}  // namespace cp::wide
