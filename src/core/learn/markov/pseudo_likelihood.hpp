// The pseudo-likelihood of tables and rules: its value and gradient.
//
// A rule changes the conditional of its variable v in the rows where its other conditions hold. These rows are
// listed once (row_lists.hpp): then one evaluation is, for each variable, additions at listed rows,
// exponentials over all rows, and sums over listed rows.
#pragma once
#include <limits>
#include <stdexcept>

#include "counts/cells.hpp"
#include "learn/markov/row_lists.hpp"
#include "levels/softmax.hpp"

namespace cp::markov {

// Weighted rows, and what each of some variables reads of them: variables[i] has its codes in row own[i] of
// `codes`, and reads rows row_from[i] … row_to[i] − 1. Its tables are table_from[i] … table_from[i + 1] − 1;
// their other variables lie in rows other_columns of `codes` and have other_strides.
struct PseudoView {
  Matrix<const u16> codes;
  Floats weights;
  Ints variables;
  Ints own;
  Ints row_from;
  Ints row_to;
  Ints table_from;
  Ints table_starts;
  Ints table_steps;
  Ints other_from;
  Ints other_columns;
  Ints other_strides;

  static constexpr const char* fields =
      "codes[,rows] weights[rows] variables[v] own[v] row_from[v] row_to[v] table_from[v+1] table_starts[t] table_steps[t] "
      "other_from[t+1] other_columns[o] other_strides[o]";

  Int rows(Int i) const { return row_to[i] - row_from[i]; }

  // Fill `cells` with the cell of table t that each row of variable i reads if the variable has state 0.
  void find_cells(Int i, Int t, Vector<std::int32_t> cells) const {
    cells.fill(std::int32_t(table_starts[t]));
    for (Int k = other_from[t]; k < other_from[t + 1]; ++k)
      add_strided(cells, codes[other_columns[k]].part(row_from[i], row_to[i]), std::int32_t(other_strides[k]));
  }
};

// Add −Σ weight · ln P(own code | rest) of variables first … last − 1 of a view, and its slopes.
//
// Entry e of variable v adds by_slot[slot_from[v] + (e − entry_from[v]) · (card − 1) + s − 1] to the score of
// state s against state 0.
inline void add_pseudo_gradient(const PseudoView& view, const RowLists& lists, Ints cards, Ints entry_from, Ints slot_from, Int first,
                                Int last, Floats values, Floats by_slot, Vector<double> minus_pll, Vector<double> value_slopes,
                                Vector<double> slot_slopes) {
  if (values.size() > std::numeric_limits<std::int32_t>::max()) throw std::length_error("tables have more than 2^31 cells");
  Int most_rows = 0, most_states = 1;
  for (Int i = first; i < last; ++i) {
    most_rows = std::max(most_rows, view.rows(i));
    most_states = std::max(most_states, cards[view.variables[i]]);
  }
  const Array<double, 1> all_scores(most_states * most_rows);
  const Array<double, 2> room(3, most_rows);
  const Array<double, 1> constants(most_states);  // what is the same for all rows
  const Array<std::int32_t, 1> all_cells(most_rows);
  Pulse pulse;
  for (Int i = first; i < last; ++i) {
    const Int v = view.variables[i], states = cards[v], rows = view.rows(i);
    const Matrix<double> scores{all_scores.data, {states, rows}};
    const Vector<std::int32_t> cells = all_cells.part(0, rows);
    scores.flat().fill(0.0);
    constants.fill(0.0);
    for (Int t = view.table_from[i]; t < view.table_from[i + 1]; ++t) {
      view.find_cells(i, t, cells);
      for (Int s = 1; s < states; ++s) add_differences(scores[s], values, cells, std::int32_t(s * view.table_steps[t]));
      pulse(2 * states * rows);
    }
    // Where the rows of an entry are not listed, its number goes to all rows and is taken back from the listed.
    for (Int e = entry_from[v], slot = slot_from[v]; e < entry_from[v + 1]; ++e) {
      const Int list = lists.of_entry[e];
      const auto listed = lists.rows(list);
      for (Int s = 1; s < states; ++s, ++slot) {
        double number = by_slot[slot];
        if (number == 0.0) continue;
        if (lists.opposite[list]) {
          constants[s] += number;
          number = -number;
        }
        const Vector<double> score = scores[s];
        for (u16 row : listed) score[row] += number;
      }
      pulse(1 + states * listed.size());
    }
    for (Int s = 1; s < states; ++s)
      for (double& score : scores[s]) score += constants[s];
    const Vector<const u16> own = view.codes[view.own[i]].part(view.row_from[i], view.row_to[i]);
    minus_pll[v] -= softmax_slopes(scores, own, view.weights.part(view.row_from[i], view.row_to[i]), room);
    pulse(5 * states * rows);
    for (Int s = 1; s < states; ++s) constants[s] = sum(scores[s]);
    for (Int e = entry_from[v], slot = slot_from[v]; e < entry_from[v + 1]; ++e) {
      const Int list = lists.of_entry[e];
      const auto listed = lists.rows(list);
      for (Int s = 1; s < states; ++s, ++slot) {
        const double total = sum_at(scores[s], listed);
        slot_slopes[slot] += lists.opposite[list] ? constants[s] - total : total;
      }
      pulse(1 + states * listed.size());
    }
    for (Int t = view.table_from[i]; t < view.table_from[i + 1]; ++t) {
      view.find_cells(i, t, cells);
      for (Int s = 0; s < states; ++s) {
        const Floats slope = scores[s];
        const Int step = s * view.table_steps[t];
        counts::add_rows(rows, [=](Int row) { return cells[row] + step; }, [=](Int row) { return slope[row]; }, value_slopes);
      }
      pulse(2 * states * rows);
    }
  }
}

}  // namespace cp::markov
