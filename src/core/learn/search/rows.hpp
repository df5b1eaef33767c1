// What a search over networks asks: rows of families, and which edges are allowed.
//
// A search is a template over its rows. `Rows` has
//
//     Rows::Row get(Node y, const Nodes& parents)    // parents ascending
//     Rows::Row get(Node y, const Nodes& parents, Int& hint)  // the same; `hint`, −1 at first, finds it sooner
//     void want(Node y, const Nodes& parents)        // it will be asked for,
//     void fill()                                    // and the wanted rows are filled together
//     bool IS_NARROW                                 // few columns: rows are filled together, searches need not be lazy
//
// and a row has score(), drop(k), the gain without parents[k], n_adds() and add(i), the parents whose addition gains, best
// first, and gain_of(x), the gain with x as one more parent, −∞ if x is not among them. A row is valid until the next
// call of get or fill.
#pragma once
#include <algorithm>
#include <vector>

#include "base/bits.hpp"
#include "base/fields.hpp"

namespace cp::search {

using Node = std::int32_t;
using Nodes = std::vector<Node>;
using Dag = std::vector<Nodes>;  // the parents of each node, ascending

struct Family {
  Node child;
  Nodes parents;
};

struct Gain {
  double gain;
  Node node;
};

// What a search may do: allowed[x] holds the parents that x may have, required[x] those that it must have.
// Without rows, every edge is allowed, or none is required.
struct Limits {
  Matrix<const Word> allowed;
  Matrix<const Word> required;
  Int max_parents;
  double tolerance;  // gains below it are rounding

  static constexpr const char* fields = "allowed[,] required[,] max_parents tolerance";

  bool allows(Node p, Node x) const { return allowed.shape(0) == 0 || has(allowed[x], p); }
  bool requires_edge(Node p, Node x) const { return required.shape(0) > 0 && has(required[x], p); }
};

inline bool holds(const Nodes& list, Node v) { return std::find(list.begin(), list.end(), v) != list.end(); }

inline void drop(Nodes& list, Node v) {
  const auto place = std::find(list.begin(), list.end(), v);
  if (place == list.end()) return;
  *place = list.back();
  list.pop_back();
}

inline Nodes with(Nodes list, Node v) {
  list.insert(std::lower_bound(list.begin(), list.end(), v), v);
  return list;
}

inline Nodes without(Nodes list, Node v) {
  list.erase(std::remove(list.begin(), list.end(), v), list.end());
  return list;
}

// A DAG as Python holds it: the parents of node v are nodes[begins[v] … begins[v + 1] − 1].
struct ParentLists {
  Vector<Int> begins;
  Vector<Node> nodes;

  static constexpr const char* fields = "begins[n+1] nodes[room]";
};

inline Dag read_lists(Ints begins, Vector<const Node> nodes) {
  Dag dag(begins.size() - 1);
  for (std::size_t v = 0; v < dag.size(); ++v) {
    const auto some = nodes.part(begins[v], begins[v + 1]);
    dag[v].assign(some.begin(), some.end());
  }
  return dag;
}

inline void write_lists(const Dag& dag, const ParentLists& lists) {
  lists.begins[0] = 0;
  for (std::size_t v = 0; v < dag.size(); ++v) {
    lists.begins[v + 1] = lists.begins[v] + Int(dag[v].size());
    std::copy(dag[v].begin(), dag[v].end(), lists.nodes.part(lists.begins[v], lists.begins[v + 1]).begin());
  }
}

}  // namespace cp::search
