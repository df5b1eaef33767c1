// Directed graphs as parent and child lists: topological orders and compelled edges, in linear time and memory.
#pragma once
#include <functional>
#include <queue>
#include <vector>

#include "base/view.hpp"

namespace cp::graphs {

// Fill `order`, smallest ready node first; the number of nodes placed (< n: a cycle).
inline Int order_lists(Ints parents_from, Ints children_from, Ints children, Vector<Int> order) {
  const Ragged<const Int> below{children, children_from};
  const Int n = order.size();
  Array<Int, 1> waiting(n);  // for so many parents
  std::priority_queue<Int, std::vector<Int>, std::greater<>> ready;
  for (Int v = 0; v < n; ++v) {
    waiting[v] = parents_from[v + 1] - parents_from[v];
    if (waiting[v] == 0) ready.push(v);
  }
  Int placed = 0;
  while (!ready.empty()) {
    const Int v = ready.top();
    ready.pop();
    order[placed++] = v;
    for (Int c : below[v])
      if (--waiting[c] == 0) ready.push(c);
  }
  return placed;
}

// Set compelled[k] for the edges of the parent lists, which rise, that every equivalent graph has; see label_compelled.
inline void label_lists(Ints parents_from, Ints parents, Ints order, Vector<bool> compelled) {
  const Ragged<const Int> above{parents, parents_from};
  Array<Int, 1> position(order.size());
  for (Int k = 0; k < order.size(); ++k) position[order[k]] = k;
  const auto has = [](Ints list, Int v) { return std::binary_search(list.begin(), list.end(), v); };
  for (Int y : order) {
    const Ints into = above[y];
    if (into.empty()) continue;
    Int x = into[0];
    for (Int p : into)
      if (position[p] > position[x]) x = p;
    const Ints others = above[x];
    const Vector<bool> of_x = compelled.part(parents_from[x], parents_from[x + 1]);
    bool all = false;
    for (Int k = 0; k < others.size(); ++k) all |= of_x[k] && !has(into, others[k]);
    for (Int p : into) all |= p != x && !has(others, p);
    for (Int k = 0; k < into.size(); ++k) {
      bool is_compelled = all;
      if (!all && into[k] != x) is_compelled = of_x[std::lower_bound(others.begin(), others.end(), into[k]) - others.begin()];
      compelled[parents_from[y] + k] = is_compelled;
    }
  }
}

}  // namespace cp::graphs
