// Searches over a row cache, from the DAG in `dag`, which is written there, also when the search is interrupted.
#pragma once
#include "learn/search/cached_rows.hpp"
#include "learn/search/climb.hpp"
#include "learn/search/ges.hpp"
#include "learn/search/orders.hpp"

namespace cp::search {

// Run `work`, then `write`, whether it is interrupted or not; the result of `work`.
template <class Work, class Write>
auto write_after(Work work, Write write) {
  try {
    const auto result = work();
    write();
    return result;
  } catch (...) {
    write();
    throw;
  }
}

template <class Work>
Int in_classes(const RowRequests& requests, const Limits& limits, const ParentLists& dag, Work work) {
  CachedRows rows(requests);
  Ges search(rows, limits, read_lists(dag.begins, dag.nodes));
  return write_after([&] { return work(search); }, [&] { write_lists(search.member(), dag); });
}

template <class Work>
Int in_dags(const RowRequests& requests, const Limits& limits, const ParentLists& dag, Work work) {
  CachedRows rows(requests);
  Climb search(rows, limits, read_lists(dag.begins, dag.nodes));
  return write_after([&] { return work(search); }, [&] { write_lists(search.dag.all_parents(), dag); });
}

// Greedy equivalence search; the number of moves.
inline Int ges(const RowRequests& rows, const Limits& limits, const ParentLists& dag) {
  return in_classes(rows, limits, dag, [](auto& search) { return search.run(), search.n_moves; });
}

// Greedy equivalence search, then a knock-out of each edge; the number of knock-outs that gained.
inline Int knock_out_classes(const RowRequests& rows, const Limits& limits, const ParentLists& dag) {
  return in_classes(rows, limits, dag, [](auto& search) { return search.run(), search.knock_out(); });
}

// Hill-climb by add, drop and turn; the number of moves.
inline Int climb(const RowRequests& rows, const Limits& limits, const ParentLists& dag) {
  return in_dags(rows, limits, dag, [](auto& search) { return search.climb(), search.n_moves; });
}

// Climb on past local optima, never back to one of the last graphs, whose hashes `tabu` holds; the number of moves.
inline Int tabu_walk(const RowRequests& rows, const Limits& limits, const ParentLists& dag, Vector<Word> tabu) {
  return in_dags(rows, limits, dag, [&](auto& search) { return search.tabu_walk(tabu); });
}

// At most `passes` passes of node reinsertion (Moore & Wong 2003, in DAG space), while one gains; the number of gains.
inline Int reinsert(const RowRequests& rows, const Limits& limits, const ParentLists& dag, Int passes) {
  return in_dags(rows, limits, dag, [&](auto& search) {
    Int total = 0;
    for (Int gains = 1; passes > 0 && gains > 0; --passes) total += gains = search.reinsert(false);
    return total;
  });
}

// One pass of edge knock-outs; the number of gains.
inline Int knock_out(const RowRequests& rows, const Limits& limits, const ParentLists& dag) {
  return in_dags(rows, limits, dag, [](auto& search) { return search.knock_out(); });
}

// Move each node to its best place in `order`; the number of nodes that moved.
inline Int place_nodes(const RowRequests& requests, const Limits& limits, Vector<Int> order) {
  CachedRows rows(requests);
  return Orders(rows, limits, order.size()).place_nodes(order);
}

// Write the best parents of each node among those before it in `order`; their score.
inline double parents_in_order(const RowRequests& requests, const Limits& limits, Ints order, bool shrink, const ParentLists& dag) {
  CachedRows rows(requests);
  const auto [parents, score] = Orders(rows, limits, order.size()).parents_in(order, shrink);
  write_lists(parents, dag);
  return score;
}

// Fill scores[v] of each family of a DAG, and gains[k] of its k-th edge: what is lost without it.
template <class Rows>
void fill_scores(Rows& rows, Ints begins, Vector<const Node> nodes, Vector<double> scores, Vector<double> gains) {
  const Dag dag = read_lists(begins, nodes);
  for (Node v = 0; v < Node(dag.size()); ++v) rows.want(v, dag[v]);
  rows.fill();
  for (Node v = 0; v < Node(dag.size()); ++v) {
    const auto row = rows.get(v, dag[v]);
    scores[v] = row.score();
    for (std::size_t k = 0; k < dag[v].size(); ++k) gains[begins[v] + Int(k)] = -row.drop(k);
  }
}

inline void score_dag(const RowRequests& requests, Ints begins, Vector<const Node> nodes, Vector<double> scores, Vector<double> gains) {
  CachedRows rows(requests);
  fill_scores(rows, begins, nodes, scores, gains);
}

}  // namespace cp::search
