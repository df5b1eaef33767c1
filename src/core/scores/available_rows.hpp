// Filling rows where cells are missing: each family on its own complete rows.
//
// As in complete_rows.hpp, but that a family's rows are those in which none of its cells is missing. So a
// parent that is added takes rows away, and one that is taken out may bring some back. A missing cell has
// the code after the last state, and lies in none of the bit sets of its column's states.
#pragma once
#include <numeric>

#include "counts/radix.hpp"
#include "scores/family_row.hpp"

namespace cp::scores {

constexpr Int AVAILABLE_BIT_PASSES = 960;  // above this many popcount passes it is faster to go row by row

// Add the counts of the family to `table`, and those with each added parent to its table, by popcounts.
//
// Where y has no gaps, its last state is what the others leave of the cell.
template <class Code>
void count_available_by_bits(const Family<Code>& family, Flags gaps, Ints added, const AddedTables& tables,
                             Vector<double> table, Pulse& pulse) {
  const RowData<Code>& data = family.data;
  const Int n_words = data.words.shape(1), chunk = family.mask_words();
  Array<Word, 2> masks(family.cells, chunk);
  Array<Int, 1> ones(family.cells);
  for (Int from = 0; from < n_words; from += chunk) {
    const Int to = std::min(from + chunk, n_words);
    family.fill_masks(from, to, masks, ones);
    pulse(family.cells * (to - from));
    for (Int c = 0; c < family.cells; ++c) {
      if (ones[c] == 0) continue;
      table[c] += double(ones[c]);
      const Words mask = masks[c].part(0, to - from);
      for (Int i = 0; i < added.size(); ++i) {
        const Int y = added[i], card = data.cards[y];
        const Vector<double> cells = tables[i].part(c * card, (c + 1) * card);
        Int rest = ones[c];
        for (Int s = 0; s < (gaps[y] ? card : card - 1); ++s) {
          const Int common = count_common(mask, data.words[data.first[y] + s].part(from, to));
          cells[s] += double(common);
          rest -= common;
        }
        if (!gaps[y]) cells[card - 1] += double(rest);
      }
      pulse(added.size() * (to - from) / 4);
    }
  }
}

// The same row by row, weighted or not.
template <class Code>
void count_available_by_rows(const Family<Code>& family, Ints added, const AddedTables& tables, Vector<double> table,
                             Pulse& pulse) {
  const RowData<Code>& data = family.data;
  const Int n_rows = data.codes.shape(1);
  const auto weight = [&](Int row) { return data.weights.empty() ? 1.0 : data.weights[row]; };
  Array<Int, 1> rows(counts::BLOCK_ROWS), cells(counts::BLOCK_ROWS);  // complete rows, and the cell of each
  for (Int from = 0; from < n_rows; from += counts::BLOCK_ROWS) {
    const Int to = std::min(from + counts::BLOCK_ROWS, n_rows);
    Int n_complete = to - from;
    std::iota(rows.begin(), rows.begin() + n_complete, from);
    cells.fill(0);
    for (Int v : family.scope) {
      const Int card = data.cards[v], n = n_complete;
      const Vector<const Code> column = data.codes[v];
      n_complete = 0;
      for (Int k = 0; k < n; ++k) {
        const Int row = rows[k], code = column[row], cell = cells[k] * card + code;
        rows[n_complete] = row;
        cells[n_complete] = cell;
        n_complete += code < card;
      }
      pulse(n);
    }
    for (Int k = 0; k < n_complete; ++k) table[cells[k]] += weight(rows[k]);
    for (Int i = 0; i < added.size(); ++i) {
      const Int card = data.cards[added[i]];
      const Vector<const Code> column = data.codes[added[i]];
      const Vector<double> joint = tables[i];
      for (Int k = 0; k < n_complete; ++k) {
        const Int code = column[rows[k]];
        if (code < card) joint[cells[k] * card + code] += weight(rows[k]);
      }
      pulse(2 * n_complete);
    }
  }
}

// The score of the family, without its prior; fills `scores` for each added parent.
template <class Code>
double score_available(const Family<Code>& family, Flags gaps, Ints added, Vector<double> scores, Pulse& pulse) {
  const RowData<Code>& data = family.data;
  Int largest = 1;
  for (Int y : added) largest = std::max(largest, data.cards[y]);
  const AddedTables tables(family, added);
  Array<double, 1> table = zeros<double>(family.cells);
  if (data.weights.empty() && family.cells * largest <= AVAILABLE_BIT_PASSES)
    count_available_by_bits(family, gaps, added, tables, table, pulse);
  else
    count_available_by_rows(family, added, tables, table, pulse);
  score_added(family, added, tables, scores, pulse);
  return family.score(table, 1);
}

// Fill `scores` for all single-parent toggles of the family; gaps[v] says whether v has missing cells.
template <class Code>
void fill_available_row(const Family<Code>& family, Flags gaps, Vector<double> scores, Pulse& pulse) {
  Array<Int, 1> added(scores.size()), fewer(family.parents.size());
  Int n_added = 0;
  for (Int y = 0; y < scores.size(); ++y) {
    scores[y] = -INF;
    if (family.may_add(y)) added[n_added++] = y;
  }
  double score = 0.0;
  for_each_batch(family, added.part(0, n_added), [&](Ints part) {
    score = score_available(family, gaps, part, scores, pulse);
  });
  scores[family.child] = score + family.prior(family.child, 0);
  for (Int p : family.parents) {
    std::remove_copy(family.scope.begin(), family.scope.end(), fewer.begin(), p);
    const Family<Code> smaller(family.data, family.score_of, fewer);
    scores[p] = score_available(smaller, gaps, added.part(0, 0), scores, pulse) + family.prior(p, -1);
  }
}

// Fill rows whose slots were claimed; different slots may be filled by different threads.
template <class Code>
void fill_slots_available(const RowData<Code>& data, Flags gaps, const RowStore& store, Ints slots) {
  Pulse pulse;
  fill_each(data, store, slots, [&](const Family<Code>& family, Vector<double> scores) {
    fill_available_row(family, gaps, scores, pulse);
  });
}

}  // namespace cp::scores
