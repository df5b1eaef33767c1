// Filling rows: one call scores every single-parent toggle of a family.
//
// The rows of each of the family's cells are one bit set, and a parent y is added by popcounts: cell by
// state. Work is saved where it does not change a number: each y's last state is what the others leave of
// the cell, and the fullest cell is what the other cells leave of the state. Where popcounts would be too
// many, a histogram counts (family, y).
//
// With GAPS a family is counted on the rows in which none of its cells is missing: a parent that is added takes
// rows away, and one that is removed may bring some back. A missing cell has the code after the last state, and
// lies in none of the bit sets of its column's states.
#pragma once
#include <numeric>

#include "counts/cells.hpp"
#include "counts/pairs.hpp"
#include "scores/family.hpp"

namespace cp::scores {

// Above this many popcount passes a histogram is faster: C (r_y − 1) with C cells that have rows.
constexpr Int BIT_PASSES = 640;
constexpr Int MAX_MASKS = 1024;  // cells of a family that get bit sets

// The parents that are added by popcounts, and where their counts begin; each one's last state is left out, but for
// those with gaps.
struct AddedStates {
  Ints added;
  Array<Int, 1> from;    // the first state of added[i]
  Array<Int, 1> states;  // bit sets of all states

  template <class Code>
  AddedStates(const RowData<Code>& data, Ints parents)
      : added(parents), from(offsets_of(added.size(), [&](Int i) { return data.cards[added[i]] - !data.has_gaps(added[i]); })),
        states(from.back()) {
    for (Int i = 0; i < added.size(); ++i)
      for (Int s = from[i]; s < from[i + 1]; ++s) states[s] = data.first[added[i]] + s - from[i];
  }
};

// Fill `table` with the counts of the family, and counts(cell, state) for the states of the added parents.
//
// The masks come filled for the first words.
template <bool GAPS, class Code>
void count_by_bits(const Family<Code>& family, const AddedStates& added, Matrix<Word> masks, Vector<Int> ones,
                   Matrix<Int> counts, Vector<double> table, Pulse& pulse) {
  const RowData<Code>& data = family.data;
  const Int n_words = data.words.shape(1), chunk = masks.shape(1), n_states = added.states.size();
  const Int fullest = GAPS ? -1 : argmax(ones);  // with gaps, the cells do not add up to the rows of a state
  Array<Int, 1> dense(family.cells);             // the cells that are counted by popcounts
  table.fill(0.0);
  counts.fill(0);
  for (Int from = 0; from < n_words; from += chunk) {
    const Int to = std::min(from + chunk, n_words), width = to - from;
    if (from > 0) family.fill_masks(from, to, masks, ones);
    Int n_dense = 0;
    for (Int c = 0; c < family.cells; ++c) {
      table[c] += double(ones[c]);
      if (c != fullest && ones[c] > 0) dense[n_dense++] = c;
    }
    const Ints passed = dense.part(0, n_dense);
    counts::pair_popcounts(masks, passed, 0, data.words, added.states, from, width, false, passed, counts);
    pulse(family.cells * (width + n_states * width / 8));
  }
  if (GAPS) return;
  const Vector<Int> rest = counts[fullest];
  for (Int j = 0; j < n_states; ++j) rest[j] = data.ones[added.states[j]];
  for (Int c = 0; c < family.cells; ++c)
    if (c != fullest)
      for (Int j = 0; j < n_states; ++j) rest[j] -= counts(c, j);
}

// The likelihood score with one more parent: its states start … start + kept − 1 of `counts`, and the last.
//
// The same sums in the same order as those of score_table, without laying the table out. `last` is scratch.
template <class Code>
double score_likelihood(const Family<Code>& family, Matrix<const Int> counts, Floats table, Int start, Int kept,
                        Vector<Int> last) {
  const Floats logs = family.data.logs;
  const Int r = family.r, q = family.cells / r;
  double total = 0.0;
  for (Int p = 0; p < q; ++p) {
    for (Int x = 0; x < r; ++x) last[x] = Int(table[p * r + x]);
    for (Int y = start; y < start + kept; ++y) {
      Int row = 0;
      for (Int x = 0; x < r; ++x) {
        const Int cell = counts(p * r + x, y);
        last[x] -= cell;
        row += cell;
        total += clogc(cell, logs);
      }
      total -= clogc(row, logs);
    }
    Int row = 0;
    for (Int cell : last) {
      row += cell;
      total += clogc(cell, logs);
    }
    total -= clogc(row, logs);
  }
  return family.penalized(total, kept + 1);
}

// Fill `scores` of added parents from their counts: those of parent i begin at start_of(i), counted_of(i) states of it.
//
// What its other states leave of a cell is its last state, where that is not counted.
template <class Code, class StartOf, class CountedOf>
void score_added(const Family<Code>& family, Ints parents, Matrix<const Int> counts, Floats table, StartOf start_of,
                 CountedOf counted_of, Vector<double> scores, Pulse& pulse) {
  const RowData<Code>& data = family.data;
  Array<Int, 1> last(family.r);
  Array<double, 1> joint(0);
  for (Int i = 0; i < parents.size(); ++i) {
    const Int y = parents[i], card = data.cards[y], start = start_of(i), counted = counted_of(i);
    double score;
    if (data.kind == LIKELIHOOD && counted < card) {
      score = score_likelihood<Code>(family, counts, table, start, counted, last);
    } else {
      if (joint.size() < family.cells * card) joint = Array<double, 1>(family.cells * card);
      for (Int c = 0; c < family.cells; ++c) {
        double rest = table[c];
        for (Int s = 0; s < counted; ++s) {
          joint[c * card + s] = double(counts(c, start + s));
          rest -= double(counts(c, start + s));
        }
        if (counted < card) joint[c * card + counted] = rest;
      }
      score = family.score(joint.part(0, family.cells * card), card);
    }
    scores[y] = score + family.prior(y, 1);
    pulse(16 * family.cells * card);
  }
}

// Fill `table` with the counts of the family, and `scores` of the added parents, by popcounts.
template <bool GAPS, class Code>
void add_by_bits(const Family<Code>& family, Ints parents, Matrix<Word> masks, Vector<Int> ones, Vector<double> table,
                 Vector<double> scores, Pulse& pulse) {
  const AddedStates added(family.data, parents);
  Array<Int, 2> counts(family.cells, added.states.size());
  count_by_bits<GAPS>(family, added, masks, ones, counts, table, pulse);
  score_added<Code>(family, parents, counts, table, [&](Int i) { return added.from[i]; },
                    [&](Int i) { return added.from[i + 1] - added.from[i]; }, scores, pulse);
}

// Fill `rows` and `cells` with the rows from … to − 1 in which no cell of the family is missing; returns their number.
template <class Code>
Int list_complete(const Family<Code>& family, Int from, Int to, Vector<u32> rows, Vector<u32> cells) {
  Int n_complete = to - from;
  std::iota(rows.begin(), rows.begin() + n_complete, u32(from));
  cells.fill(0);
  for (Int v : family.scope) {
    const u32 card = u32(family.data.cards[v]);
    const Vector<const Code> column = family.data.codes[v];
    const Int n = std::exchange(n_complete, 0);
    for (Int k = 0; k < n; ++k) {
      const u32 row = rows[k], code = column[row], cell = cells[k] * card + code;
      rows[n_complete] = row;
      cells[n_complete] = cell;
      n_complete += code < card;
    }
  }
  return n_complete;
}

// The same by histograms, weighted or not. With gaps, a table has one cell more, for the rows in which y is missing.
template <bool GAPS, class Code>
void add_by_rows(const Family<Code>& family, Ints added, Vector<double> table, Vector<double> scores, Pulse& pulse) {
  const RowData<Code>& data = family.data;
  const Int n_rows = data.codes.shape(1);
  const auto cells_with = [&](Int i) { return family.cells * data.cards[added[i]]; };
  const Array<Int, 1> table_from = offsets_of(added.size(), [&](Int i) { return cells_with(i) + GAPS; });
  const Array<double, 1> tables = zeros<double>(table_from.back());
  Array<u32, 1> rows(counts::BLOCK_ROWS), all_cells(counts::BLOCK_ROWS), all_joint(counts::BLOCK_ROWS), split(4 * counts::SPLIT_CELLS);
  table.fill(0.0);
  for (Int from = 0; from < n_rows; from += counts::BLOCK_ROWS) {
    const Int to = std::min(from + counts::BLOCK_ROWS, n_rows);
    const Int size = GAPS ? list_complete(family, from, to, rows, all_cells) : to - from;
    const Vector<u32> cells = all_cells.part(0, size), joint = all_joint.part(0, size);
    const auto add = [&](Vector<const u32> places, Vector<double> out) {
      const auto weight = [&](Int k) { return data.weights[GAPS ? Int(rows[k]) : from + k]; };
      pulse(2 * size);
      if (data.weights.empty()) counts::histogram(places, split, out);
      else counts::add_rows(size, [&](Int k) { return places[k]; }, weight, out);
    };
    if (!GAPS) counts::code_rows(data.codes, family.scope, data.cards, from, cells);
    add(cells, table);
    for (Int i = 0; i < added.size(); ++i) {
      const u32 card = u32(data.cards[added[i]]), missing = u32(cells_with(i));
      const Vector<const Code> column = data.codes[added[i]];
      if constexpr (GAPS) {
        for (Int k = 0; k < size; ++k) {
          const u32 code = column[rows[k]];
          joint[k] = code < card ? cells[k] * card + code : missing;
        }
      } else {
        joint.copy_from(cells);
        append_codes(joint, column.part(from, to), card);
      }
      add(joint, tables.part(table_from[i], table_from[i + 1]));
    }
  }
  for (Int i = 0; i < added.size(); ++i) {
    const Int y = added[i];
    scores[y] = family.score(tables.part(table_from[i], table_from[i] + cells_with(i)), data.cards[y]) + family.prior(y, 1);
    pulse(16 * cells_with(i));
  }
}

// Score the family less one parent from the family's own table, without a look at the data.
template <class Code>
void score_removals(const Family<Code>& family, Floats table, Vector<double> scores) {
  Array<double, 1> smaller(table.size());
  Int inner = table.size();
  for (Int p : family.parents) {
    const Int card = family.data.cards[p];
    inner /= card;
    const Int outer = table.size() / (card * inner);
    for (Int o = 0; o < outer; ++o) {
      for (Int i = 0; i < inner; ++i) {
        double total = 0.0;
        for (Int s = 0; s < card; ++s) total += table[(o * card + s) * inner + i];
        smaller[o * inner + i] = total;
      }
    }
    scores[p] = family.score(smaller.part(0, outer * inner), 1) + family.prior(p, -1);
  }
}

// Fill `table` with the counts of the family, and `scores` of those of the columns from … to − 1 that may be added; others outside of
// the family get −∞.
template <bool GAPS, class Code>
void score_additions(const Family<Code>& family, Int from, Int to, Vector<double> table, Vector<double> scores, Pulse& pulse) {
  const RowData<Code>& data = family.data;
  const bool with_masks = data.weights.empty() && family.cells <= MAX_MASKS;
  const Int width = with_masks ? family.mask_words() : 0;
  Array<Word, 2> masks(with_masks ? family.cells : 0, width);
  Array<Int, 1> ones(masks.shape(0));
  Int n_dense = 0;  // cells that popcounts have to pass
  if (with_masks) {
    family.fill_masks(0, width, masks, ones);
    n_dense = std::count_if(ones.begin(), ones.end(), [](Int rows) { return rows > 0; });
  }
  Array<Int, 1> by_bits(to - from), by_rows(to - from);
  Int n_bits = 0, n_rows = 0;
  for (Int y = from; y < to; ++y) {
    if (contains(family.scope, y)) continue;
    scores[y] = -INF;
    if (!family.may_add(y)) continue;
    if (with_masks && n_dense * (data.cards[y] - 1) <= BIT_PASSES) by_bits[n_bits++] = y;
    else by_rows[n_rows++] = y;
  }
  // With nothing to add, the family is counted all the same.
  if (with_masks && (n_bits > 0 || n_rows == 0))
    add_by_bits<GAPS>(family, by_bits.part(0, n_bits), masks, ones, table, scores, pulse);
  if (!with_masks || n_rows > 0) {
    for_each_batch(family, by_rows.part(0, n_rows), [&](Ints added) {
      add_by_rows<GAPS>(family, added, table, scores, pulse);
    });
  }
}

// Fill `scores` of the family as it is, and with each parent removed; `table` has the family's counts.
template <bool GAPS, class Code>
void score_family(const Family<Code>& family, Vector<double> table, Vector<double> scores, Pulse& pulse) {
  scores[family.child] = family.score(table, 1) + family.prior(family.child, 0);
  if constexpr (!GAPS) return score_removals<Code>(family, table, scores);
  Array<Int, 1> fewer(family.parents.size());
  for (Int p : family.parents) {
    std::remove_copy(family.scope.begin(), family.scope.end(), fewer.begin(), p);
    const Family<Code> smaller(family.data, family.score_of, fewer);
    const Vector<double> counts = table.part(0, smaller.cells);
    score_additions<GAPS>(smaller, 0, 0, counts, scores, pulse);
    scores[p] = smaller.score(counts, 1) + family.prior(p, -1);
  }
}

// The parents and the child of a claimed row, in `scope`.
inline Ints family_of(const RowStore& store, Int slot, Vector<Int> scope) {
  Int size = 0;
  for_each_bit(store.parents[slot], [&](Int p) { scope[size++] = p; });
  scope[size++] = store.child[slot];
  return scope.part(0, size);
}

// Fill the columns from … to − 1 of rows whose slots were claimed. Different slots, and different columns of a slot, may be filled by
// different threads; what is in the family is filled with its child. Rows are complete after rank_rows.
template <class Code>
void fill_slots(const RowData<Code>& data, const RowStore& store, Ints slots, Int from, Int to) {
  TableScorer scorer(data.kind, data.a, data.logs);
  Array<Int, 1> scope(data.cards.size() + 1);
  Pulse pulse;
  from = std::max<Int>(from, 0);
  to = std::min(to, data.cards.size());
  const auto fill = [&]<bool GAPS>(const Family<Code>& family, Vector<double> scores) {
    Array<double, 1> table(family.cells);
    score_additions<GAPS>(family, from, to, table, scores, pulse);
    if (from <= family.child && family.child < to) score_family<GAPS>(family, table, scores, pulse);
  };
  for (Int slot : slots) {
    const Family<Code> family(data, scorer, family_of(store, slot, scope));
    if (data.gaps.empty()) fill.template operator()<false>(family, store.scores[slot]);
    else fill.template operator()<true>(family, store.scores[slot]);
  }
}

// The same from counts that were made elsewhere, without gaps: the scores of rows with one of the columns from … to − 1 added.
// What is left is for finish_counted.
//
// The cells of the family of slots[i], in the order of its table, are the rows cells_from[i] … of `counts`, and have `totals`
// rows; their counts with all states but the last of column v begin at kept_from[v].
template <class Code>
void fill_counted(const RowData<Code>& data, const RowStore& store, Ints slots, Ints cells_from, Ints totals, Ints kept_from,
                  Matrix<const Int> counts, Int from, Int to) {
  TableScorer scorer(data.kind, data.a, data.logs);
  const Int n = data.cards.size();
  Array<Int, 1> scope(n + 1), added(n);
  Pulse pulse;
  for (Int i = 0; i < slots.size(); ++i) {
    const Family<Code> family(data, scorer, family_of(store, slots[i], scope));
    const Vector<double> scores = store.scores[slots[i]];
    const Matrix<const Int> cells{counts[cells_from[i]].data, {family.cells, counts.shape(1)}};
    Array<double, 1> table(family.cells);
    for (Int c = 0; c < family.cells; ++c) table[c] = double(totals[cells_from[i] + c]);
    Int n_added = 0;
    for (Int y = std::max<Int>(from, 0); y < std::min(to, n); ++y) {
      scores[y] = -INF;
      if (family.may_add(y)) added[n_added++] = y;
    }
    score_added<Code>(family, added.part(0, n_added), cells, table, [&](Int k) { return kept_from[added[k]]; },
                      [&](Int k) { return data.cards[added[k]] - 1; }, scores, pulse);
  }
}

// The same from sums of N_jk ln(N_jk / N_j) that were made elsewhere: sums(i, y) is that of the family of slots[i] with y added, summed in
// the order of score_likelihood.
template <class Code>
void fill_summed(const RowData<Code>& data, const RowStore& store, Ints slots, Matrix<const double> sums) {
  TableScorer scorer(data.kind, data.a, data.logs);
  Array<Int, 1> scope(data.cards.size() + 1);
  for (Int i = 0; i < slots.size(); ++i) {
    const Family<Code> family(data, scorer, family_of(store, slots[i], scope));
    const Vector<double> scores = store.scores[slots[i]];
    for (Int y = 0; y < scores.size(); ++y)
      scores[y] = family.may_add(y) ? family.penalized(sums(i, y), data.cards[y]) + family.prior(y, 1) : -INF;
  }
}

// The scores of rows as they are and with each parent removed.
template <class Code>
void finish_counted(const RowData<Code>& data, const RowStore& store, Ints slots, Ints cells_from, Ints totals) {
  TableScorer scorer(data.kind, data.a, data.logs);
  Array<Int, 1> scope(data.cards.size() + 1);
  for (Int i = 0; i < slots.size(); ++i) {
    const Family<Code> family(data, scorer, family_of(store, slots[i], scope));
    const Vector<double> scores = store.scores[slots[i]];
    Array<double, 1> table(family.cells);
    for (Int c = 0; c < family.cells; ++c) table[c] = double(totals[cells_from[i] + c]);
    scores[family.child] = family.score(table, 1) + family.prior(family.child, 0);
    score_removals<Code>(family, table, scores);
  }
}

}  // namespace cp::scores
