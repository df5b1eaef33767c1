// A wide search from a DAG: greedy equivalence search, or a climb over DAGs where limits name directions; then node
// reinsertion, and the search again if that gained.
#pragma once
#include "learn/search/climb.hpp"
#include "learn/search/ges.hpp"
#include "learn/search/searches.hpp"
#include "learn/wide/screened_rows.hpp"

namespace cp::wide {

using search::Cpdag;
using search::Dag;
using search::Limits;
using search::ParentLists;

// Search from `dag`, and write what is reached there: also when interrupted.
//
// With `every` all columns are tried as one more parent, else the candidates. With `classes` the search is over classes of
// DAGs. `passes` of reinsertion at most. `arrows` are the edges that all DAGs of the class share, by the pattern that the search
// kept; `figures` are filled with the rows that were scored, the moves, and the reinsertions that gained.
inline void search_wide(const WideData& data, Ints candidates_from, Vector<const Node> candidates, Floats gains, bool every,
                        const Limits& limits, bool classes, Int passes, const ParentLists& dag, Vector<bool> arrows,
                        Vector<double> figures) {
  ScreenedRows rows(data, {candidates_from, candidates, gains}, every);
  Dag reached = search::read_lists(dag.begins, dag.nodes);
  Cpdag pattern(0);
  figures.fill(0.0);
  const auto take = [&](Dag found, Int moves) {
    reached = std::move(found);
    figures[1] += double(moves);
  };
  const auto climb = [&] {
    if (classes) {
      search::Ges ges(rows, limits, reached);
      search::write_after([&] { return ges.run(), 0; }, [&] {
        take(ges.member(), ges.n_moves);
        pattern = std::move(ges.pattern);
      });
    } else {
      search::Climb dags(rows, limits, reached);
      search::write_after([&] { return dags.climb(), 0; }, [&] { take(dags.dag.all_parents(), dags.n_moves); });
    }
  };
  const auto work = [&] {
    climb();
    if (passes == 0) return 0;
    search::Climb dags(rows, limits, reached);
    Int total = 0;
    search::write_after([&] {
      for (Int k = 0, gained = 1; k < passes && gained > 0; ++k) total += gained = dags.reinsert(true);
      return 0;
    }, [&] {
      if (total == 0) return;
      take(dags.dag.all_parents(), 0);
      pattern = Cpdag(0);
      figures[2] = double(total);
    });
    if (total > 0) climb();
    return 0;
  };
  search::write_after(work, [&] {
    search::write_lists(reached, dag);
    figures[0] = double(rows.n_filled);
    if (pattern.n() == 0) {
      pattern = Cpdag(Int(reached.size()));
      pattern.set_dag(reached);
    }
    for (Node v = 0; v < Node(reached.size()); ++v)
      for (Int k = dag.begins[v]; k < dag.begins[v + 1]; ++k) arrows[k] = pattern.has_arrow(dag.nodes[k], v);
  });
}

// Fill scores[v] of each family, priors included, and gains[k] of each edge: what is lost without it.
inline void score_lists(const WideData& data, Ints from, Vector<const Node> parents, Vector<double> scores, Vector<double> gains) {
  const Array<Int, 1> none = zeros<Int>(data.n() + 1);
  ScreenedRows rows(data, {none, {}, {}}, false);
  search::fill_scores(rows, from, parents, scores, gains);
}

// Fill left[v] with the share of a column's log-likelihood that its parents leave: 0 where it is a function of them.
inline void fill_left(const WideData& data, Ints from, Vector<const Node> parents, Vector<double> left) {
  const Dag dag = search::read_lists(from, parents);
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
  const Dag dag = search::read_lists(from, parents);
  Cpdag pattern(Int(dag.size()));
  pattern.set_dag(dag);
  for (Node v = 0; v < Node(dag.size()); ++v)
    for (Int k = from[v]; k < from[v + 1]; ++k) arrows[k] = pattern.has_arrow(parents[k], v);
}

}  // namespace cp::wide
