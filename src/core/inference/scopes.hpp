// Scopes within scopes, and the sums of tables and rules over them.
#pragma once
#include "base/pulse.hpp"
#include "features/conditions.hpp"
#include "base/bits.hpp"

namespace cp::inference {

using features::RuleMasks;

using Code = u16;

// Sorted sets of variables end to end, and the strides of tables over them, end to end too.
struct Scopes {
  Ints offsets, variables;
  Ints owners;  // the one variable whose conditional a table serves, −1 for all in its scope
  Ints strides, cells;

  static constexpr const char* fields = "offsets[h+1] variables[e] owners[h] strides[e] cells[h+1]";

  Int size() const { return owners.size(); }
  Ints operator[](Int h) const { return variables.part(offsets[h], offsets[h + 1]); }
  Ints strides_of(Int h) const { return strides.part(offsets[h], offsets[h + 1]); }
  Vector<double> table(Vector<double> values, Int h) const { return values.part(cells[h], cells[h + 1]); }
};

// Scopes that are in no other one of their owner, in lists by variable: which of them hold it.
class ScopeIndex {
 public:
  ScopeIndex(Ints offsets, Ints variables, Ints owners, Int n_variables)
      : lists_{variables, offsets}, owners_(owners), counts_(zeros<Int>(n_variables)), heads_(filled<Int>(-1, n_variables)),
        nexts_(variables.size()), members_(variables.size()), marks_(variables.size()) {}

  // A scope that holds all of scope i and has the same owner, or −1.
  Int find(Int i) const {
    const Ints scope = lists_[i];
    const Word mark = mark_of(scope);
    const Int rare = *std::min_element(scope.begin(), scope.end(), [&](Int u, Int v) { return counts_[u] < counts_[v]; });
    for (Int node = heads_[rare]; node >= 0; node = nexts_[node]) {
      const Int j = members_[node];
      const Ints other = lists_[j];
      if ((mark & ~marks_[node]) == 0 && owners_[j] == owners_[i] &&
          std::includes(other.begin(), other.end(), scope.begin(), scope.end()))
        return j;
    }
    return -1;
  }

  void insert(Int i) {
    const Word mark = mark_of(lists_[i]);
    for (Int v : lists_[i]) {
      counts_[v] += 1;
      members_[size_] = i;
      nexts_[size_] = heads_[v];
      marks_[size_] = mark;
      heads_[v] = size_++;
    }
  }

 private:
  Ragged<const Int> lists_;
  Ints owners_;
  Array<Int, 1> counts_, heads_, nexts_, members_;
  Array<Word, 1> marks_;  // the variables of a scope, 64 residues as bits
  Int size_ = 0;

  static Word mark_of(Ints scope) {
    Word mark = 0;
    for (Int v : scope) mark |= bit(v);
    return mark;
  }
};

// Fill `hosts` with the number of a scope that holds each scope, −1 for an empty one; returns how many there are.
//
// Scope i is variables[offsets[i]] … , sorted, and its host has the same owner. `order` must put large scopes first
// and equal ones side by side.
inline Int find_hosts(Ints offsets, Ints variables, Ints owners, Ints order, Int n_variables, Vector<Int> hosts) {
  const Ragged<const Int> lists{variables, offsets};
  ScopeIndex index(offsets, variables, owners, n_variables);
  Int n_hosts = 0, previous = -1;
  Pulse pulse;
  for (Int i : order) {
    const Ints scope = lists[i];
    hosts[i] = -1;
    if (scope.empty()) continue;
    if (previous >= 0 && owners[previous] == owners[i]) {
      const Ints last = lists[previous];
      if (std::equal(last.begin(), last.end(), scope.begin(), scope.end())) {
        hosts[i] = hosts[previous];
        continue;
      }
    }
    previous = i;
    pulse(1000);
    const Int larger = index.find(i);
    if (larger >= 0) {
      hosts[i] = hosts[larger];
    } else {
      hosts[i] = n_hosts++;
      index.insert(i);
    }
  }
  return n_hosts;
}

// Add a table to `target`, over `scope`, the last variable fastest.
//
// A state of scope[k] moves steps[k] cells in the source, from `start` on: none where it is not in the source's scope.
// `digits` is scratch as long as the scope.
inline void add_table(Floats source, Int start, Ints scope, Ints cards, Ints steps, Vector<Int> digits, Vector<double> target) {
  digits.part(0, scope.size()).fill(0);
  Int at = start;
  for (double& value : target) {
    value += source[at];
    for (Int k = scope.size() - 1; k >= 0; --k) {
      at += steps[k];
      if (++digits[k] < cards[scope[k]]) break;
      at -= steps[k] * digits[k];
      digits[k] = 0;
    }
  }
}

// Add tables, which start in `source` where `starts` says, to those of their hosts.
inline void add_tables(Floats source, Ints starts, Ints step_offsets, Ints steps, Ints hosts, const Scopes& scopes,
                       Ints cards, Vector<double> values) {
  const Ragged<const Int> steps_of{steps, step_offsets};
  Array<Int, 1> digits(longest_list(scopes.offsets));
  Pulse pulse;
  for (Int f = 0; f < hosts.size(); ++f) {
    const Vector<double> target = scopes.table(values, hosts[f]);
    pulse(2 * target.size());
    add_table(source, starts[f], scopes[hosts[f]], cards, steps_of[f], digits, target);
  }
}

// Add a rule's weight to the cells of `target`, over `scope`, in which it holds.
//
// Its entries on other variables are not read, and only cells that get something are visited. `scratch` has two rows
// as long as the scope.
inline void add_rule(const RuleMasks& rules, Int r, Ints scope, Ints cards, Ints strides, Matrix<Int> scratch,
                     Vector<double> target) {
  const Vector<Int> digits = scratch[0];   // counts through the states of each variable
  const Vector<Int> entries = scratch[1];  // the rule's entry on it, −1 without one
  Int e = rules.offsets[r];
  const Int end = rules.offsets[r + 1];
  for (Int k = 0; k < scope.size(); ++k) {
    while (e < end && rules.variables[e] < scope[k]) ++e;
    entries[k] = e < end && rules.variables[e] == scope[k] ? e : -1;
    digits[k] = -1;
  }
  Int k = 0, cell = 0;  // the digit to move; those after it are at −1, and `cell` is without them
  while (k >= 0) {
    const Int card = cards[scope[k]];
    do ++digits[k];
    while (digits[k] < card && entries[k] >= 0 && !rules.allows(entries[k], digits[k]));
    if (digits[k] == card) {
      digits[k] = -1;
      if (--k >= 0) cell -= strides[k] * digits[k];
    } else if (k + 1 < scope.size()) {
      cell += strides[k] * digits[k];
      ++k;
    } else {
      target[cell + strides[k] * digits[k]] += rules.weights[r];
    }
  }
}

// Add each of the rules `chosen` to the table of its host, if what is not free in `x` allows it.
inline void add_rules(const RuleMasks& rules, Ints chosen, Ints hosts, const Scopes& scopes, Ints cards, Flags is_free,
                      Vector<const Code> x, Vector<double> values) {
  Array<Int, 2> scratch(2, longest_list(scopes.offsets));
  Pulse pulse;
  for (Int i = 0; i < chosen.size(); ++i) {
    const Int r = chosen[i], h = hosts[i];
    Int e = rules.offsets[r];
    while (e < rules.offsets[r + 1] && (is_free[rules.variables[e]] || rules.allows(e, x[rules.variables[e]]))) ++e;
    if (e < rules.offsets[r + 1]) continue;
    const Vector<double> target = scopes.table(values, h);
    pulse(50 + target.size());
    add_rule(rules, r, scopes[h], cards, scopes.strides_of(h), scratch, target);
  }
}

// Fill the strides of tables over scopes, the last variable fastest, and where the tables begin; cells[0] is set.
inline void set_strides(Ints offsets, Ints variables, Ints cards, Vector<Int> strides, Vector<Int> cells) {
  for (Int i = 0; i < offsets.size() - 1; ++i) {
    Int step = 1;
    for (Int k = offsets[i + 1] - 1; k >= offsets[i]; --k) {
      strides[k] = step;
      step *= cards[variables[k]];
    }
    cells[i + 1] = cells[i] + step;
  }
}

// Write the steps of each scope's variables where they are in the scope of its host.
inline void align_steps(Ints starts, Ints variables, Ints steps, Ints hosts, Ints scope_offsets, Ints scopes, Ints offsets,
                        Vector<Int> out) {
  for (Int i = 0; i < hosts.size(); ++i) {
    const Int host = scope_offsets[hosts[i]];
    Int k = starts[i];
    for (Int j = 0; j < offsets[i + 1] - offsets[i] && k < starts[i + 1]; ++j)
      if (variables[k] == scopes[host + j]) out[offsets[i] + j] = steps[k++];
  }
}

// Write n · v + u for all u that share a scope with v which serves v; returns how many.
inline Int pair_up(Ints offsets, Ints variables, Ints owners, Int n, Vector<Int> out) {
  const Ragged<const Int> lists{variables, offsets};
  Int size = 0;
  for (Int i = 0; i < lists.size(); ++i)
    for (Int v : lists[i])
      if (owners[i] < 0 || owners[i] == v)
        for (Int u : lists[i])
          if (u != v) out[size++] = n * v + u;
  return size;
}

}  // namespace cp::inference
