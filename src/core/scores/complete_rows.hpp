// Filling rows where no cell is missing: one call scores every single-parent toggle of a family.
//
// The rows of each of the family's cells are one bit set, and a parent y is added by popcounts: cell by
// state. Work is saved where it does not change a number: each y's last state is what the others leave of
// the cell, the fullest cell is what the other cells leave of the state, and a cell of few rows is counted
// row by row. Where popcounts would be too many, a histogram counts (family, y).
#pragma once
#include "counts/pairs.hpp"
#include "counts/radix.hpp"
#include "scores/family_row.hpp"

namespace cp::scores {

// Above this many popcount passes a histogram is faster: C (r_y − 1) with C well-filled cells.
constexpr Int BIT_PASSES = 640;
constexpr Int MAX_MASKS = 1024;  // cells of a family that get bit sets
// A popcount pass over w words takes as long as w / RARE rows counted one by one.
constexpr Int RARE = 10;

// The largest number of rows in `width` words that is counted row by row.
template <class Code>
Int few_rows(const RowData<Code>& data, Int width) {
  return data.by_row.empty() ? 0 : width / RARE;
}

// The parents that are added by popcounts, and where their counts begin; each one's last state is left out.
struct AddedStates {
  Ints added;
  Array<Int, 1> from;    // the first state of added[i]
  Array<Int, 1> states;  // bit sets of all states

  template <class Code>
  AddedStates(const RowData<Code>& data, Ints parents) : added(parents), from(added.size() + 1) {
    from[0] = 0;
    for (Int i = 0; i < added.size(); ++i) from[i + 1] = from[i] + data.cards[added[i]] - 1;
    states = Array<Int, 1>(from.back());
    for (Int i = 0; i < added.size(); ++i)
      for (Int s = from[i]; s < from[i + 1]; ++s) states[s] = data.first[added[i]] + s - from[i];
  }
};

// Add the rows of `mask`, whose words begin at `from`, one by one to the states of each added parent.
template <class Code>
void count_listed(const RowData<Code>& data, Words mask, Int from, const AddedStates& added, Vector<Int> counts) {
  const Ints parents = added.added, first = added.from;
  for (Int w = 0; w < mask.size(); ++w) {
    for (Word word = mask[w]; word != 0; word &= word - 1) {
      const Vector<const Code> row = data.by_row[64 * (from + w) + lowest_bit(word)];
      for (Int i = 0; i < parents.size(); ++i) {
        const Int state = first[i] + Int(row[parents[i]]);
        if (state < first[i + 1]) counts[state] += 1;
      }
    }
  }
}

// Fill `table` with the counts of the family, and counts(cell, state) for the states of the added parents.
//
// The masks come filled for the first words.
template <class Code>
void count_by_bits(const Family<Code>& family, const AddedStates& added, Matrix<Word> masks, Vector<Int> ones,
                   Matrix<Int> counts, Vector<double> table, Pulse& pulse) {
  const RowData<Code>& data = family.data;
  const Int n_words = data.words.shape(1), chunk = masks.shape(1), n_states = added.states.size();
  const Int fullest = argmax(ones);
  Array<Int, 1> dense(family.cells);  // the cells that are counted by popcounts
  table.fill(0.0);
  counts.fill(0);
  for (Int from = 0; from < n_words; from += chunk) {
    const Int to = std::min(from + chunk, n_words), width = to - from;
    if (from > 0) family.fill_masks(from, to, masks, ones);
    Int n_dense = 0;
    for (Int c = 0; c < family.cells; ++c) {
      table[c] += double(ones[c]);
      if (c == fullest || ones[c] == 0) continue;
      if (ones[c] <= few_rows(data, width)) count_listed(data, masks[c].part(0, width), from, added, counts[c]);
      else dense[n_dense++] = c;
    }
    const Ints passed = dense.part(0, n_dense);
    counts::pair_popcounts(masks, passed, 0, data.words, added.states, from, width, false, passed, counts);
    pulse(family.cells * (width + n_states * width / 8));
  }
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
  return total - family.data.a * double(q) * double(kept + 1) * double(r - 1);
}

// Fill `table` with the counts of the family, and `scores` of the added parents, by popcounts.
template <class Code>
void add_by_bits(const Family<Code>& family, Ints parents, Matrix<Word> masks, Vector<Int> ones, Vector<double> table,
                 Vector<double> scores, Pulse& pulse) {
  const RowData<Code>& data = family.data;
  const AddedStates added(data, parents);
  Array<Int, 2> counts(family.cells, added.states.size());
  count_by_bits(family, added, masks, ones, counts, table, pulse);
  Array<Int, 1> last(family.r);
  Int largest = 1;
  for (Int y : parents) largest = std::max(largest, data.cards[y]);
  Array<double, 1> joint(data.kind == LIKELIHOOD ? 0 : family.cells * largest);
  for (Int i = 0; i < parents.size(); ++i) {
    const Int y = parents[i], card = data.cards[y], kept = card - 1, start = added.from[i];
    double score;
    if (data.kind == LIKELIHOOD) {
      score = score_likelihood<Code>(family, counts, table, start, kept, last);
    } else {
      for (Int c = 0; c < family.cells; ++c) {
        double rest = table[c];
        for (Int s = 0; s < kept; ++s) {
          joint[c * card + s] = double(counts(c, start + s));
          rest -= double(counts(c, start + s));
        }
        joint[c * card + kept] = rest;
      }
      score = family.score(joint.part(0, family.cells * card), card);
    }
    scores[y] = score + family.prior(y, 1);
    pulse(16 * family.cells * card);
  }
}

// The same by histograms, weighted or not.
template <class Code>
void add_by_rows(const Family<Code>& family, Ints added, Vector<double> table, Vector<double> scores, Pulse& pulse) {
  using Cell = u32;
  const RowData<Code>& data = family.data;
  const Int n_rows = data.codes.shape(1);
  const AddedTables tables(family, added);
  Array<Cell, 1> cells(counts::BLOCK_ROWS), joint_cells(counts::BLOCK_ROWS), split(4 * counts::SPLIT_CELLS);
  table.fill(0.0);
  for (Int from = 0; from < n_rows; from += counts::BLOCK_ROWS) {
    const Int to = std::min(from + counts::BLOCK_ROWS, n_rows);
    const Vector<Cell> cell = cells.part(0, to - from), joint = joint_cells.part(0, to - from);
    const auto add_rows = [&](Vector<const Cell> places, Vector<double> out) {
      pulse(2 * places.size());
      if (data.weights.empty()) {
        counts::histogram(places, split, out);
      } else {
        const Floats weights = data.weights.part(from, to);
        for (Int j = 0; j < places.size(); ++j) out[places[j]] += weights[j];
      }
    };
    counts::code_rows(data.codes, family.scope, data.cards, from, to, cell);
    add_rows(cell, table);
    for (Int i = 0; i < added.size(); ++i) {
      joint.copy_from(cell);
      append_codes(joint, data.codes[added[i]].part(from, to), Cell(data.cards[added[i]]));
      add_rows(joint, tables[i]);
    }
  }
  score_added(family, added, tables, scores, pulse);
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

// Fill `scores` for all single-parent toggles of the family.
template <class Code>
void fill_complete_row(const Family<Code>& family, Vector<double> scores, Pulse& pulse) {
  const RowData<Code>& data = family.data;
  const Int n = data.cards.size();
  const bool with_masks = data.weights.empty() && family.cells <= MAX_MASKS;
  const Int width = with_masks ? family.mask_words() : 0;
  Array<Word, 2> masks(with_masks ? family.cells : 0, width);
  Array<Int, 1> ones(masks.shape(0));
  Int n_dense = 0;  // cells that popcounts have to pass
  if (with_masks) {
    family.fill_masks(0, width, masks, ones);
    const Int few = few_rows(data, width);
    n_dense = std::count_if(ones.begin(), ones.end(), [few](Int rows) { return rows > few; });
  }
  Array<Int, 1> by_bits(n), by_rows(n);
  Int n_bits = 0, n_rows = 0;
  for (Int y = 0; y < n; ++y) {
    scores[y] = -INF;
    if (!family.may_add(y)) continue;
    if (with_masks && n_dense * (data.cards[y] - 1) <= BIT_PASSES) by_bits[n_bits++] = y;
    else by_rows[n_rows++] = y;
  }
  Array<double, 1> table(family.cells);
  // With nothing to add, the family is counted all the same.
  if (with_masks && (n_bits > 0 || n_rows == 0))
    add_by_bits(family, by_bits.part(0, n_bits), masks, ones, table, scores, pulse);
  if (!with_masks || n_rows > 0) {
    for_each_batch(family, by_rows.part(0, n_rows), [&](Ints added) {
      add_by_rows(family, added, table, scores, pulse);
    });
  }
  scores[family.child] = family.score(table, 1) + family.prior(family.child, 0);
  score_removals(family, table, scores);
}

// Fill rows whose slots were claimed; different slots may be filled by different threads.
template <class Code>
void fill_slots(const RowData<Code>& data, const RowStore& store, Ints slots) {
  Pulse pulse;
  fill_each(data, store, slots, [&](const Family<Code>& family, Vector<double> scores) {
    fill_complete_row(family, scores, pulse);
  });
}

}  // namespace cp::scores
