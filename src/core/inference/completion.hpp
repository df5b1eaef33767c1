// What rows with missing cells stand for: expected counts of families, and draws of the cells.
//
// Both begin with messages to the root of a junction tree in which what the row shows is observed.
#pragma once
#include <numeric>

#include "inference/clique_tree.hpp"

namespace cp::inference {

// Call visit(r) for each possible row of evidence, with the messages to the root; fill `log_weights`, NaN: use logs.
//
// A code at the card is a missing cell.
template <class Visit>
void for_each_row(TreeRun& run, Ints cards, Matrix<const Int> rows, Vector<double> log_weights, Visit visit) {
  const Array<bool, 1> stale = filled(true, run.tree.size());
  run.cards.fill(0);  // so that the first row lays the tables out
  for (Int r = 0; r < rows.shape(0); ++r) {
    bool moved = false;  // whether other cells are missing than in the last row
    for (Int v = 0; v < cards.size(); ++v) {
      const bool observed = rows(r, v) < cards[v];
      const Int card = observed ? 1 : cards[v];
      moved |= std::exchange(run.cards[v], card) != card;
      run.codes[v] = observed ? rows(r, v) : 0;
    }
    if (moved) run.lay_out();
    log_weights[r] = run.collect(stale);
    if (log_weights[r] > -INF) visit(r);
  }
}

// Call visit(place, share) with P(states of factor f, in clique k | row) at each place of the factor's table it can be at.
//
// `missing` and `answer` are scratch for the variables that the row lacks, and their joint probabilities.
template <class Visit>
void for_each_state(TreeRun& run, Int k, Int f, Vector<Int> missing, Vector<double> answer, Visit visit) {
  const Tree& tree = run.tree;
  const Int first = tree.axis_from[f], last = tree.axis_from[f + 1];
  Int at = 0, n = 0, cells = 1;
  for (Int a = first; a < last; ++a) {
    const Int v = tree.axes[a];
    at += run.codes[v] * tree.strides[a];
    if (run.cards[v] > 1) {
      missing[n++] = v;
      cells *= run.cards[v];
    }
  }
  if (n == 0) return visit(at, 1.0);
  run.read(k, missing.part(0, n), answer.part(0, cells));
  for (Int cell = 0; cell < cells; ++cell) {
    Int place = at, rest = cell;
    for (Int a = last - 1; a >= first; --a) {
      const Int card = run.cards[tree.axes[a]];
      if (card == 1) continue;
      place += rest % card * tree.strides[a];
      rest /= card;
    }
    visit(place, answer[cell]);
  }
}

// Call visit(r, f, each) for each possible row and factor; each(fn) is `for_each_state` of both.
template <class Visit>
void for_each_family(const Tree& tree, Ints cards, Matrix<const Int> rows, Floats values, Floats least,
                     Vector<double> log_weights, bool logs, Visit visit) {
  TreeRun run(tree, cards, values, least, logs);
  Int largest = 1;
  for (Int f = 0; f < least.size(); ++f)
    largest = std::max(largest, joint_states(tree.axes.part(tree.axis_from[f], tree.axis_from[f + 1]), cards));
  Array<double, 1> answer(largest);
  Array<Int, 1> missing(cards.size());
  for_each_row(run, cards, rows, log_weights, [&](Int r) {
    run.distribute();
    for (Int k = 0; k < tree.size(); ++k)
      for (Int f = tree.factor_from[k]; f < tree.factor_from[k + 1]; ++f)
        visit(r, f, [&](auto each) { for_each_state(run, k, f, missing, answer, each); });
  });
}

// Add each row's expected counts of all factors to `out`; fill `log_weights`, NaN: use logs.
inline void expect_rows(const Tree& tree, Ints cards, Matrix<const Int> rows, Floats weights, Floats values, Floats least,
                        Vector<double> out, Vector<double> log_weights, bool logs) {
  for_each_family(tree, cards, rows, values, least, log_weights, logs, [&](Int r, Int f, auto states) {
    const Int first = tree.value_from[f];
    states([&](Int place, double share) { out[first + place] += weights[r] * share; });
  });
}

// Add weight × ln(P(row) with another table of one factor / P(row)) to `out`, one number a change of a table.
//
// Factor f's changes are change_from[f] … change_from[f + 1]. The ratios of new to old values of change c begin at
// ratio_from[c]. P(row) with the new table is P(row) times the mean of the ratios over the factor's states given the row.
inline void compare_rows(const Tree& tree, Ints cards, Matrix<const Int> rows, Floats weights, Floats values, Floats least,
                         Ints change_from, Ints ratio_from, Floats ratios, Vector<double> out, Vector<double> log_weights,
                         bool logs) {
  for_each_family(tree, cards, rows, values, least, log_weights, logs, [&](Int r, Int f, auto states) {
    for (Int c = change_from[f]; c < change_from[f + 1]; ++c) {
      double mean = 0.0;
      states([&](Int place, double share) { mean += share * ratios[ratio_from[c] + place]; });
      out[c] += weights[r] * std::log(mean);
    }
  });
}

// Draw clique k's own variables given those shared with its parent, in the columns of `out` from `first` on.
//
// The draws lie at equal distances in the distribution, in an order of the clique's own, to which `places` are shuffled:
// if all are from one distribution, each state is drawn as often as it should be but for less than one.
inline void draw_clique(TreeRun& run, Int k, Word& state, Vector<Int> places, Int first, Matrix<u16> out) {
  const Ints own = run.tree.own(k), shared = run.tree.shared(k), cards = run.cards;
  const Floats table = run.table(k);
  const Int n_shared = joint_states(shared, cards), n_own = table.size() / n_shared, n_draws = places.size();
  if (n_own == 1) return;
  for (Int j = n_draws - 1; j > 0; --j) std::swap(places[j], places[Int(next_uniform(state) * double(j + 1))]);
  const double offset = next_uniform(state);
  for (Int j = 0; j < n_draws; ++j) {
    run.pulse(10 * n_own);
    Int column = 0;
    for (Int v : shared)
      if (cards[v] > 1) column = column * cards[v] + out(v, first + j);
    double top = -INF, total = 0.0;
    for (Int i = 0; i < n_own; ++i) top = std::max(top, table[i * n_shared + column]);
    const auto share = [&](Int i) {
      const double x = table[i * n_shared + column];
      return run.logs ? std::exp(x - top) : x;
    };
    for (Int i = 0; i < n_own; ++i) total += share(i);
    double rest = (double(places[j]) + offset) / double(n_draws) * total;
    Int drawn = 0;
    for (Int i = 0; i < n_own; ++i) {
      const double part = share(i);
      if (part > 0.0) {
        drawn = i;
        rest -= part;
        if (rest < 0.0) break;
      }
    }
    for (Int a = own.size() - 1; a >= 0; --a) {
      if (cards[own[a]] == 1) continue;
      out(own[a], first + j) = u16(drawn % cards[own[a]]);
      drawn /= cards[own[a]];
    }
  }
}

// Fill `out`, (variables, rows × draws), with draws of each row's missing cells given the rest.
//
// The draws of a row follow one another, and depend on the row's seed alone.
inline void draw_rows(const Tree& tree, Ints cards, Matrix<const Int> rows, Words seeds, Floats values, Floats least,
                      Matrix<u16> out, Vector<double> log_weights, bool logs) {
  if (rows.shape(0) == 0) return;
  TreeRun run(tree, cards, values, least, logs);
  const Int n_draws = out.shape(1) / rows.shape(0);
  Array<Int, 1> places(n_draws);
  for_each_row(run, cards, rows, log_weights, [&](Int r) {
    const Int first = r * n_draws;
    for (Int v = 0; v < cards.size(); ++v) out[v].part(first, first + n_draws).fill(u16(run.codes[v]));
    std::iota(places.begin(), places.end(), Int(0));
    Word state = seeds[r];
    for (Int k = 0; k < tree.size(); ++k) draw_clique(run, k, state, places, first, out);
  });
}

}  // namespace cp::inference
