// Counts of baskets: each row lists its items, and each item its rows; nothing has rows × items cells.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/pulse.hpp"
#include "base/view.hpp"

namespace cp::counts {

using Place = std::int32_t;

// The items of row r are row_items[row_from[r] … ], those rows that have item j item_rows[item_from[j] … ].
struct Baskets {
  Ints row_from;
  Vector<const Place> row_items;
  Ints item_from;
  Vector<const Place> item_rows;

  static constexpr const char* fields = "row_from[] row_items[] item_from[] item_rows[]";

  Int n_rows() const { return row_from.size() - 1; }
  Int n_items() const { return item_from.size() - 1; }
  Int count(Int item) const { return item_from[item + 1] - item_from[item]; }
  Vector<const Place> items(Int row) const { return row_items.part(row_from[row], row_from[row + 1]); }
  Vector<const Place> rows(Int item) const { return item_rows.part(item_from[item], item_from[item + 1]); }
};

// The items that share a row with one item, and how many rows they share.
class Companions {
 public:
  explicit Companions(const Baskets& baskets) : baskets_(baskets), shared_(zeros<Place>(baskets.n_items())) {}

  // Afterwards `met` lists the items of the rows of `item`, itself included, in the order of meeting.
  void meet(Int item, Pulse& pulse) {
    for (Place j : met) shared_[j] = 0;
    met.clear();
    for (Place r : baskets_.rows(item)) {
      const auto items = baskets_.items(r);
      pulse(items.size());
      for (Place j : items)
        if (shared_[j]++ == 0) met.push_back(j);
    }
  }
  Int shared(Int item) const { return shared_[item]; }

  std::vector<Place> met;

 private:
  const Baskets& baskets_;
  Array<Place, 1> shared_;
};

// Fill `patterns` with the distinct sets of `columns` (bit c for columns[c]) that rows have, sorted, the
// empty set first, and `weights` with the number of rows of each; how many there are.
//
// `marks` has a zero for each row, before and after. Only the rows of the columns are looked at.
inline Int count_patterns(const Baskets& baskets, Ints columns, Vector<Word> marks, Vector<Word> patterns,
                          Vector<Int> weights) {
  Pulse pulse;
  std::vector<Place> touched;
  for (Int c = 0; c < columns.size(); ++c) {
    const auto rows = baskets.rows(columns[c]);
    pulse(rows.size());
    for (Place r : rows) {
      if (marks[r] == 0) touched.push_back(r);
      marks[r] |= Word(1) << c;
    }
  }
  std::size_t size = 16;
  while (size < 2 * touched.size() && (columns.size() >= 40 || size < (std::size_t(4) << columns.size()))) size *= 2;
  std::vector<Word> keys(size, 0);  // no row that was touched has the empty set
  std::vector<Int> held(size, 0);
  for (Place r : touched) {
    const Word key = marks[r];
    marks[r] = 0;
    std::size_t place = std::size_t((key * 0x9E3779B97F4A7C15u) >> 20) & (size - 1);
    while (keys[place] != 0 && keys[place] != key) place = (place + 1) & (size - 1);
    keys[place] = key;
    held[place]++;
  }
  std::vector<std::pair<Word, Int>> distinct;
  const Int none = baskets.n_rows() - Int(touched.size());
  if (none > 0) distinct.emplace_back(0, none);
  for (std::size_t place = 0; place < size; ++place)
    if (keys[place] != 0) distinct.emplace_back(keys[place], held[place]);
  std::sort(distinct.begin(), distinct.end());
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    patterns[Int(i)] = distinct[i].first;
    weights[Int(i)] = distinct[i].second;
  }
  return Int(distinct.size());
}

// Fill the rows of `items` and `shared` with the items of largest cosine with first, first + 1, …, sorted by
// number, and how many rows they share; −1 where there are fewer. Of equal ones the smaller is kept.
inline void count_companions(const Baskets& baskets, Int first, Matrix<Place> items, Matrix<Place> shared) {
  Pulse pulse;
  Companions companions(baskets);
  std::vector<std::pair<double, Place>> ranked;
  const std::size_t most = std::size_t(items.shape(1));
  for (Int i = 0; i < items.shape(0); ++i) {
    companions.meet(first + i, pulse);
    ranked.clear();
    for (Place j : companions.met) {
      const double together = double(companions.shared(j));
      if (j != first + i) ranked.emplace_back(-together * together / double(baskets.count(j)), j);
    }
    if (ranked.size() > most) {
      std::nth_element(ranked.begin(), ranked.begin() + Int(most), ranked.end());
      ranked.resize(most);
    }
    std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    items[i].fill(-1);
    shared[i].fill(0);
    for (std::size_t place = 0; place < ranked.size(); ++place) {
      items(i, Int(place)) = ranked[place].second;
      shared(i, Int(place)) = Place(companions.shared(ranked[place].second));
    }
  }
}

}  // namespace cp::counts
