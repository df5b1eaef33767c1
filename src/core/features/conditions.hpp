// Conjunctions of conditions: their canonical form, and those on the paths of decision trees.
#pragma once
#include <numeric>
#include <vector>

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

// Write the conditions of each conjunction in canonical form, and where they begin; returns their number.
//
// They are sorted by variable and value, without repetition, and as few as possible: that a variable has a state replaces all
// other conditions on it, and the exclusion of all states but one. Conditions on variables of one state are left out unless
// `certain`. No conjunction may be contradictory.
inline Int simplify_conditions(Ints cards, Ints offsets, Ints variables, Ints values, Flags negated, bool certain,
                               Vector<Int> new_offsets, Vector<Int> new_variables, Vector<Int> new_values,
                               Vector<bool> new_negated) {
  const Int width = cards.empty() ? 2 : 2 * maximum(cards);
  std::vector<Int> keys;  // variable · width + 2 · value + negated
  Int end = 0;
  const auto write = [&](Int variable, Int value, bool negative) {
    new_variables[end] = variable;
    new_values[end] = value;
    new_negated[end++] = negative;
  };
  new_offsets[0] = 0;
  for (Int c = 0; c < offsets.size() - 1; ++c) {
    keys.clear();
    for (Int k = offsets[c]; k < offsets[c + 1]; ++k)
      if (certain || cards[variables[k]] > 1) keys.push_back(variables[k] * width + 2 * values[k] + Int(negated[k]));
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    for (auto key = keys.begin(), stop = key; key != keys.end(); key = stop) {
      const Int variable = *key / width, card = cards[variable];
      Int state = -1, left = card * (card - 1) / 2;  // the state it must have; the sum of those not excluded
      for (; stop != keys.end() && *stop / width == variable; ++stop) {
        const Int value = *stop % width / 2;
        if (*stop % 2 == 0) state = value;
        else left -= value;
      }
      if (state < 0 && stop - key == card - 1) state = left;
      if (state >= 0) write(variable, state, false);
      else
        for (; key != stop; ++key) write(variable, *key % width / 2, true);
    }
    new_offsets[c + 1] = end;
  }
  return end;
}

// Rules as the states that they allow: rule r counts weights[r] where all its entries, offsets[r] … offsets[r + 1] − 1, hold.
//
// Entry e holds where flags[first[e] + state of variables[e]]; entries of a rule are sorted by variable.
struct RuleMasks {
  Floats weights;
  Ints offsets, rules, variables, first;
  Flags flags;
  Flags serves;  // whether the rule bears on the conditional of the entry's variable

  static constexpr const char* fields = "weights[r] offsets[r+1] rules[e] variables[e] first[e] flags[] serves[e]";

  bool allows(Int entry, Int state) const { return flags[first[entry] + state]; }
};

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
