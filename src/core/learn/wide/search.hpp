// A wide search from a DAG: greedy equivalence search, then node reinsertion and the search again while that gains.
#pragma once
#include <optional>

#include "learn/wide/ges.hpp"
#include "learn/wide/reinsertion.hpp"

namespace cp::wide {

inline std::vector<Nodes> lists_of(const Ragged<const Node>& lists) {
  std::vector<Nodes> dag(lists.size());
  for (Int v = 0; v < lists.size(); ++v) dag[v].assign(lists[v].begin(), lists[v].end());
  return dag;
}

inline Int write_lists(const std::vector<Nodes>& lists, Vector<Int> from, Vector<Node> values) {
  from[0] = 0;
  for (std::size_t v = 0; v < lists.size(); ++v) {
    std::copy(lists[v].begin(), lists[v].end(), values.data + from[v]);
    from[v + 1] = from[v] + Int(lists[v].size());
  }
  return from[Int(lists.size())];
}

// Search from the parents in (from, parents), and write what is reached there: also when interrupted.
//
// With `every` all columns are tried as one more parent, else the candidates. `passes` of reinsertion at most. `arrows` are
// the edges that all DAGs of the class share, by the pattern that the search kept; `figures` are filled with the rows
// that were scored, the moves, and the reinsertions that gained.
inline void search_wide(const WideData& data, Ints candidates_from, Vector<const Node> candidates, Floats gains, bool every,
                        Int passes, Vector<Int> from, Vector<Node> parents, Vector<bool> arrows, Vector<double> figures) {
  Rows rows(data, {candidates_from, candidates, gains}, every);
  std::vector<Nodes> dag = lists_of({{parents.data, parents.extent}, {from.data, from.extent}});
  figures.fill(0.0);
  std::optional<SparsePattern> pattern;
  const auto write = [&] {
    write_lists(dag, from, parents);
    for (Node v = 0; v < Node(dag.size()); ++v)
      for (Int k = from[v]; k < from[v + 1]; ++k) arrows[k] = pattern->has_arrow(parents[k], v);
    figures[0] = double(rows.n_filled);
  };
  const auto climb = [&] {
    WideGes ges(rows, dag);
    const auto take = [&] {
      dag = ges.pattern.member();
      figures[1] += double(ges.n_moves);
      pattern = std::move(ges.pattern);
    };
    try {
      ges.run();
    } catch (...) {
      take();
      throw;
    }
    take();
  };
  const auto take_moved = [&](const Reinsertion& moves) {
    figures[2] = double(moves.n_gains);
    if (moves.n_gains == 0) return;
    dag = moves.parents;
    pattern.emplace(Int(dag.size()));
    pattern->set_dag(dag);
  };
  try {
    climb();
    if (passes > 0) {
      Reinsertion moves(rows, dag);
      try {
        for (Int k = 0; k < passes && moves.pass(); ++k) continue;
      } catch (...) {
        take_moved(moves);
        throw;
      }
      take_moved(moves);
      if (moves.n_gains > 0) climb();
    }
  } catch (...) {
    write();
    throw;
  }
  write();
}

// Fill scores[v] of each family, priors included, and gains[k] of each edge: what is lost without it.
inline void score_lists(const WideData& data, Ints from, Vector<const Node> parents, Vector<double> scores, Vector<double> gains) {
  const Array<Int, 1> none = zeros<Int>(data.n() + 1);
  Rows rows(data, {none, {}, {}}, false);
  const std::vector<Nodes> dag = lists_of({parents, from});
  for (Node v = 0; v < Node(dag.size()); ++v) {
    const Row& row = rows.get(v, dag[v]);
    scores[v] = row.score;
    for (std::size_t k = 0; k < dag[v].size(); ++k) gains[from[v] + Int(k)] = -row.drops[k];
  }
}

// Fill left[v] with the share of a column's log-likelihood that its parents leave: 0 where it is a function of them.
inline void fill_left(const WideData& data, Ints from, Vector<const Node> parents, Vector<double> left) {
  const std::vector<Nodes> dag = lists_of({parents, from});
  Cells cells(data);
  Pulse pulse;
  for (Node v = 0; v < Node(dag.size()); ++v) {
    cells.build(v, {});
    const double alone = cells.log_likelihood();
    cells.build(v, dag[v]);
    left[v] = alone < 0.0 ? cells.log_likelihood() / alone : 1.0;
    pulse(cells.by_masks ? 200 + cells.q * cells.r * data.width() : 4 * data.n_rows);
  }
}

// Fill arrows[k] for edge k of the parent lists: whether its direction is the same in all DAGs of the class.
inline void find_arrows(Ints from, Vector<const Node> parents, Vector<bool> arrows) {
  const Ragged<const Node> lists{parents, from};
  SparsePattern pattern(lists.size());
  pattern.set_dag(lists_of(lists));
  for (Node v = 0; v < lists.size(); ++v)
    for (Int k = from[v]; k < from[v + 1]; ++k) arrows[k] = pattern.has_arrow(parents[k], v);
}

}  // namespace cp::wide
