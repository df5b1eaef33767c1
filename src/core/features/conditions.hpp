// Conditions that imply or contradict each other: those of rules, and those on the paths of decision trees.
#pragma once
#include <numeric>

#include "base/numbers.hpp"

namespace cp::features {

// The first condition that those before it in its rule rule out, or −1.
inline Int find_contradiction(Ints cards, Ints offsets, Ints variables, Ints values, Flags negated) {
  Array<Int, 1> required(cards.size()), left(cards.size());  // the value that a variable must have; how many it may have
  Array<Int, 1> firsts(cards.size());
  std::exclusive_scan(cards.begin(), cards.end(), firsts.begin(), Int(0));
  Array<Int, 1> excluded = zeros<Int>(sum(cards));  // the last rule, plus 1, that excludes a state
  for (Int rule = 0; rule < offsets.size() - 1; ++rule) {
    const Int start = offsets[rule], stop = offsets[rule + 1], mark = rule + 1;
    for (Int v : variables.part(start, stop)) {
      required[v] = -1;
      left[v] = cards[v];
    }
    for (Int k = start; k < stop; ++k) {
      const Int v = variables[k], value = values[k];
      Int& state = excluded[firsts[v] + value];
      if (!negated[k]) {
        if (state == mark || (required[v] >= 0 && required[v] != value)) return k;
        required[v] = value;
      } else if (state != mark) {
        state = mark;
        left[v] -= 1;
        if (left[v] == 0 || required[v] == value) return k;
      }
    }
  }
  return -1;
}

// A forest with the way to each of its nodes: a row of `nodes` is (variable, value, node if the variable has the
// value, node otherwise), the variable −1 at a leaf; parents[k] is 2 · parent + (whether the answer was no), and
// sizes[k] the number of conditions on the way to k, −1 where no row comes.
struct Forest {
  Matrix<const Int> nodes;
  Ints parents, sizes;

  Int parent(Int k) const { return parents[k] / 2; }
  bool negative(Int k) const { return parents[k] % 2 == 1; }
  // Whether the answers above the parent of k imply the answer that leads to k.
  bool implied(Int k) const { return sizes[k] == sizes[parent(k)]; }
};

enum class Answer : Int { implied = 0, open = 1, impossible = 2 };

// What the answers above node `here` say of its own answer, no if `negative`.
inline Answer answer_above(Ints cards, const Forest& forest, Int root, Int here, bool negative) {
  const Int variable = forest.nodes(here, 0), value = forest.nodes(here, 1);
  Int excluded = 0;
  for (Int below = here; below != root; below = forest.parent(below)) {
    const Int node = forest.parent(below);
    if (forest.implied(below) || forest.nodes(node, 0) != variable) continue;
    const bool same = forest.nodes(node, 1) == value;
    if (!forest.negative(below)) return same != negative ? Answer::implied : Answer::impossible;  // its value is known
    if (same) return negative ? Answer::implied : Answer::impossible;
    ++excluded;
  }
  const Int left = cards[variable] - excluded;  // values that it may have, this one among them
  if (left == 1) return negative ? Answer::impossible : Answer::implied;
  return Answer::open;
}

// Fill `parents` and `sizes` as `Forest` has them. A condition that those above it imply is not counted.
inline void mark_paths(Ints cards, Matrix<const Int> nodes, Ints roots, Vector<Int> parents, Vector<Int> sizes) {
  Array<Int, 1> stack(nodes.shape(0));
  const Forest forest{nodes, parents, sizes};
  for (Int root : roots) {
    sizes[root] = 0;
    parents[root] = 0;
    stack[0] = root;
    Int top = 1;
    while (top > 0) {
      const Int here = stack[--top];
      if (nodes(here, 0) < 0) continue;
      for (Int no = 0; no < 2; ++no) {
        const Int child = nodes(here, 2 + no);
        stack[top++] = child;
        parents[child] = 2 * here + no;
        sizes[child] = -1;
        if (sizes[here] < 0) continue;
        const Answer answer = answer_above(cards, forest, root, here, no == 1);
        if (answer != Answer::impossible) sizes[child] = sizes[here] + Int(answer);
      }
    }
  }
}

// Write the conditions of each leaf, root first: those of leaf i end before offsets[i + 1].
inline void fill_paths(Ints cards, Matrix<const Int> nodes, Ints parents, Ints sizes, Ints leaves, Ints offsets,
                       Vector<Int> variables, Vector<Int> values, Vector<bool> negated) {
  const Forest forest{nodes, parents, sizes};
  for (Int i = 0; i < leaves.size(); ++i) {
    Int k = offsets[i + 1];
    for (Int below = leaves[i]; k > offsets[i]; below = forest.parent(below)) {
      if (forest.implied(below)) continue;
      const Int node = forest.parent(below), variable = nodes(node, 0), value = nodes(node, 1);
      const bool no = forest.negative(below), two = cards[variable] == 2;  // then "not 0" is written as "1"
      variables[--k] = variable;
      values[k] = no && two ? 1 - value : value;
      negated[k] = no && !two;
    }
  }
}

}  // namespace cp::features
