// Searches over orders of the variables: each takes its best parents among those before it.
#pragma once
#include "base/pulse.hpp"
#include "learn/search/rows.hpp"

namespace cp::search {

template <class Rows>
class Orders {
 public:
  Orders(Rows& rows, const Limits& limits, Int n) : rows_(rows), limits_(limits), n_(n), required_(n) {
    for (Int x = 0; x < limits.required.shape(0); ++x)
      for_each_bit(limits.required[x], [&](Int p) { required_[x].push_back(Node(p)); });
  }

  // The parents in an order, by additions and, with `shrink`, removals; and their score.
  std::pair<Dag, double> parents_in(Ints order, bool shrink) {
    std::vector<char> before(n_, 0);
    Dag dag(n_);
    double total = 0.0;
    for (Int x : order) {
      total += grow(Node(x), before, shrink, dag[x]);
      before[x] = 1;
    }
    return {std::move(dag), total};
  }

  // Move each node to its best place in `order` (BOSS, Andrews et al. 2023); the number of nodes that moved.
  Int place_nodes(Vector<Int> order) {
    Int moved = 0;
    Nodes rest;
    std::vector<double> totals;
    for (Int v = 0; v < n_; ++v) {
      rest.clear();
      for (Int u : order)
        if (u != v) rest.push_back(Node(u));
      score_places(rest, Node(v), totals);
      const Int now = std::find(order.begin(), order.end(), v) - order.begin();
      const Int best = std::max_element(totals.begin(), totals.end()) - totals.begin();
      if (totals[best] <= totals[now] + limits_.tolerance) continue;
      rest.insert(rest.begin() + best, Node(v));
      std::copy(rest.begin(), rest.end(), order.begin());
      ++moved;
    }
    return moved;
  }

 private:
  Rows& rows_;
  Limits limits_;
  Int n_;
  Dag required_;
  Nodes family_;
  Pulse pulse_;

  // Fill `family` with parents of x among `before`: the best change while one improves; its score.
  double grow(Node x, const std::vector<char>& before, bool shrink, Nodes& family) {
    family = required_[x];
    while (true) {
      const auto row = rows_.get(x, family);
      double best = limits_.tolerance;
      Node chosen = -1;
      for (Int k = 0; k < row.n_adds(); ++k) {
        const auto [gain, y] = row.add(k);
        if (gain <= best) break;
        if (!before[y] || !limits_.allows(y, x)) continue;
        best = gain;
        chosen = y;
        break;
      }
      if (shrink)
        for (std::size_t k = 0; k < family.size(); ++k)
          if (row.drop(k) > best && !limits_.requires_edge(family[k], x)) {
            best = row.drop(k);
            chosen = family[k];
          }
      if (chosen < 0) return row.score();
      family = holds(family, chosen) ? without(std::move(family), chosen) : with(std::move(family), chosen);
    }
  }

  // Fill totals[j] with the score when v stands at place j among `rest`, the order of the others.
  void score_places(const Nodes& rest, Node v, std::vector<double>& totals) {
    std::vector<char> before(n_, 0);
    totals.assign(n_, 0.0);
    // Add the score of u after `before` to the places from … to − 1.
    const auto add = [&](Node u, Int from, Int to) {
      const double score = grow(u, before, true, family_);
      for (Int k = from; k < to; ++k) totals[k] += score;
      pulse_(100 + to - from);
    };
    for (Int j = 0; j < n_; ++j) {
      add(v, j, j + 1);
      if (j == n_ - 1) break;
      const Node u = rest[j];
      add(u, j + 1, n_);  // u stands before v
      before[v] = 1;
      add(u, 0, j + 1);  // v stands before u
      before[v] = 0;
      before[u] = 1;
    }
  }
};

}  // namespace cp::search
