// Messages in a junction tree: what is sent where, and what is read from it in the end.
//
// A clique's table has the axes (its own variables…, those shared with its parent…), the last fastest. A variable that
// is observed has one state here: its axis is gone, and `codes` says at which state a factor is read. Values are
// numbers scaled to at most 1, or natural logs if `logs`.
#pragma once
#include <tuple>

#include "base/pulse.hpp"
#include "inference/table_walk.hpp"

namespace cp::inference {

constexpr double TINY = 1e-290;  // above the subnormals, with room for sums over 10⁸ cells

// A rooted junction tree as flat arrays; parents come before children, siblings in a row.
//
// Clique k has the children child_from[k] … , the variables scopes[scope_from[k]] … , of which it shares those from
// shared_from[k] on with its parent, and the factors factor_from[k] … ; factor f has the axes (with their strides)
// axis_from[f] … , and its values begin at value_from[f].
struct Tree {
  Ints parents, child_from, scope_from, shared_from, factor_from, scopes, axis_from, value_from, axes, strides;

  static constexpr const char* fields =
      "parents[k] child_from[k+1] scope_from[k+1] shared_from[k] factor_from[k+1] scopes[] axis_from[f+1] value_from[f] axes[a] strides[a]";

  Int size() const { return parents.size(); }
  Ints scope(Int k) const { return scopes.part(scope_from[k], scope_from[k + 1]); }
  Ints own(Int k) const { return scopes.part(scope_from[k], shared_from[k]); }
  Ints shared(Int k) const { return scopes.part(shared_from[k], scope_from[k + 1]); }
};

// The number of joint states of some variables.
inline Int joint_states(Ints variables, Ints cards) {
  Int cells = 1;
  for (Int v : variables) cells *= cards[v];
  return cells;
}

// One tree that is run for one row of evidence after the other.
class TreeRun {
 public:
  const Tree& tree;
  const bool logs;
  Array<Int, 1> cards, codes;  // an observed variable has one state, at its code; the caller sets both
  Pulse pulse;

  // A factor whose `least`, the smallest of its positive values, is 0 is passed over.
  TreeRun(const Tree& t, Ints all_cards, Floats values, Floats least, bool in_logs)
      : tree(t), logs(in_logs), cards(all_cards), codes(zeros<Int>(all_cards.size())), values_(values), least_(least),
        table_from_(t.size() + 1), message_from_(t.size() + 1), scales_(t.size()), message_least_(t.size()),
        walk_(all_cards.size(), longest_list(t.scope_from)) {}

  // Call this when `cards` have changed.
  void lay_out() {
    table_from_[0] = message_from_[0] = 0;
    Int largest = 0;
    for (Int k = 0; k < tree.size(); ++k) {
      const Int cells = joint_states(tree.shared(k), cards);
      message_from_[k + 1] = message_from_[k] + cells;
      table_from_[k + 1] = table_from_[k] + cells * joint_states(tree.own(k), cards);
      largest = std::max(largest, cells);
    }
    reserve(tables_, table_from_.back());
    reserve(messages_, message_from_.back());
    reserve(ratio_, largest);
  }

  Vector<double> table(Int k) const { return tables_.part(table_from_[k], table_from_[k + 1]); }

  // ln of the total weight, after messages from all leaves to the root; NaN: logs are needed.
  //
  // Only the cliques marked `stale` are filled anew; the marks must rise to the root. The root's own message is one
  // number, the total.
  double collect(Flags stale) {
    double log_weight = 0.0;
    for (Int k = tree.size() - 1; k >= 0; --k) {
      if (stale[k]) {
        const double bound = fill_clique(k);
        if (bound < TINY && !logs) return NOT_A_NUMBER;
        sum_to(tree.scope(k), table(k), tree.shared(k), message(k));
        std::tie(scales_[k], message_least_[k]) = rescale(message(k), logs);
      }
      log_weight += scales_[k];
      if (log_weight == -INF) break;
    }
    return log_weight;
  }

  // Messages from the root to all leaves, so that each table is its marginal up to a factor.
  //
  // The message down is divided by the message up, which its receiver already holds (Jensen, Lauritzen & Olesen 1990).
  // What underflows here is a marginal probability below `TINY`.
  void distribute() {
    for (Int k = 1; k < tree.size(); ++k) {
      const Int p = tree.parents[k];
      const Vector<double> separator = message(k), ratio = ratio_.part(0, separator.size());
      sum_to(tree.scope(p), table(p), tree.shared(k), ratio);
      rescale(ratio, logs);
      for (Int i = 0; i < ratio.size(); ++i) {
        const double up = std::exchange(separator[i], ratio[i]);
        if (logs) ratio[i] = up > -INF ? ratio[i] - up : -INF;
        else ratio[i] = up > 0.0 ? ratio[i] / up : 0.0;
      }
      walk_.set_steps(tree.shared(k), cards);
      multiply(k, ratio, 0);
    }
  }

  // Fill `out` with P(targets | evidence), from clique `place` or, from the number of cliques on, a separator.
  void read(Int place, Ints targets, Vector<double> out) {
    const Int k = place - tree.size();
    if (k >= 0) sum_to(tree.shared(k), message(k), targets, out);
    else sum_to(tree.scope(place), table(place), targets, out);
    const double top = maximum(out);
    double total = 0.0;
    for (double& x : out) {
      x = logs ? std::exp(x - top) : x / top;
      total += x;
    }
    for (double& x : out) x /= total;
  }

 private:
  Floats values_, least_;
  Array<Int, 1> table_from_, message_from_;  // where each table, and each message to the parent, begins
  Array<double, 1> tables_, messages_, ratio_, peaks_;
  Array<double, 1> scales_, message_least_;  // the log taken out of a message, and a lower bound on its positive cells
  TableWalk walk_;

  // Pages that no table reaches are never touched.
  static void reserve(Array<double, 1>& array, Int size) {
    if (array.size() < size) array = Array<double, 1>(size);
  }

  Vector<double> message(Int k) const { return messages_.part(message_from_[k], message_from_[k + 1]); }

  // Multiply the table of clique k by a table whose steps have been set.
  void multiply(Int k, Floats source, Int at) {
    pulse(table(k).size());
    walk_.plan(tree.scope(k), cards);
    walk_.multiply(table(k), source, at, logs);
  }

  // Fill the table of clique k with the product of its factors and its children's messages; returns a lower bound on
  // its positive cells.
  double fill_clique(Int k) {
    table(k).fill(logs ? 0.0 : 1.0);
    double bound = 1.0;
    for (Int f = tree.factor_from[k]; f < tree.factor_from[k + 1]; ++f) {
      if (least_[f] == 0.0) continue;
      Int at = tree.value_from[f];
      for (Int a = tree.axis_from[f]; a < tree.axis_from[f + 1]; ++a) {
        const Int v = tree.axes[a];
        if (cards[v] == 1) at += codes[v] * tree.strides[a];
        else walk_.set_step(v, tree.strides[a]);
      }
      multiply(k, values_, at);
      bound *= least_[f];
    }
    for (Int c = tree.child_from[k]; c < tree.child_from[k + 1]; ++c) {
      walk_.set_steps(tree.shared(c), cards);
      multiply(k, messages_, message_from_[c]);
      bound *= message_least_[c];
    }
    return bound;
  }

  // Fill `out`, a table over `kept`, with the sums of a table over `scope`.
  void sum_to(Ints scope, Floats cells, Ints kept, Vector<double> out) {
    pulse(cells.size());
    walk_.set_steps(kept, cards);
    walk_.plan(scope, cards);
    if (!logs) return walk_.project(cells, out);
    reserve(peaks_, out.size());
    walk_.project_logs(cells, out, peaks_, pulse);
  }
};

// ---- One question to a junction tree for many rows of evidence

// Mark the cliques with a factor of a changed variable, and all that lie above them.
inline void mark_stale(const Tree& tree, Flags changed, Vector<bool> stale) {
  stale.fill(false);
  for (Int k = tree.size() - 1; k >= 0; --k) {
    const Ints variables = tree.axes.part(tree.axis_from[tree.factor_from[k]], tree.axis_from[tree.factor_from[k + 1]]);
    stale[k] |= std::any_of(variables.begin(), variables.end(), [&](Int v) { return changed[v]; });
    if (k > 0 && stale[k]) stale[tree.parents[k]] = true;
  }
}

// Fill `out` with probabilities and `log_weights`, for rows of evidence over `columns`.
//
// A code at or above the card is not observed. With `homes`, the probabilities are the marginals of the variables
// `targets`, end to end, each read from its home; without, they are the joint ones of `targets`, which lie in the root.
// Then, as rows that follow one another should look alike, what has not changed since the last row is not computed
// again. A log-weight is NaN where logs are needed.
inline void answer_rows(const Tree& tree, Ints cards, Ints columns, Matrix<const Int> rows, Ints targets, Ints homes,
                        Floats values, Floats least, Matrix<double> out, Vector<double> log_weights, bool logs) {
  TreeRun run(tree, cards, values, least, logs);
  Array<bool, 1> changed = filled(false, cards.size()), stale = filled(true, tree.size());
  const bool joint = homes.empty();
  bool kept = false;  // whether the messages of the last row can be used
  for (Int r = 0; r < rows.shape(0); ++r) {
    bool moved = !kept;  // whether other variables are observed than in the last row
    for (Int c = 0; c < columns.size(); ++c) {
      const Int v = columns[c];
      const bool observed = rows(r, c) < cards[v];
      const Int card = observed ? 1 : cards[v], code = observed ? rows(r, c) : 0;
      moved |= std::exchange(run.cards[v], card) != card;
      changed[v] = std::exchange(run.codes[v], code) != code;
    }
    if (moved) {
      stale.fill(true);
      run.lay_out();
    } else {
      mark_stale(tree, changed, stale);
    }
    log_weights[r] = run.collect(stale);
    const bool possible = log_weights[r] > -INF;  // false for NaN too
    kept = possible && joint;
    if (!possible) continue;
    if (joint) {
      run.read(0, targets, out[r].part(0, joint_states(targets, cards)));
      continue;
    }
    run.distribute();
    Int start = 0;
    for (Int i = 0; i < homes.size(); ++i) {
      const Int end = start + cards[targets[i]];
      run.read(homes[i], targets.part(i, i + 1), out[r].part(start, end));
      start = end;
    }
  }
}

}  // namespace cp::inference
