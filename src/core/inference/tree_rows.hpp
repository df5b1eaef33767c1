// One question to a junction tree for many rows of evidence.
#pragma once
#include "inference/clique_tree.hpp"

namespace cp::inference {

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
                        Floats values, Floats least, const TreeRoom& room, Matrix<double> out, Vector<double> log_weights,
                        bool logs) {
  TreeRun run(tree, cards, values, least, room, logs);
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
