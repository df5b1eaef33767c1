// The terms of a dependency network's conditionals, simplified for the conversion to a Markov network.
//
// A condition is one number, its code: 2 · (place of the state among all variables' states) + whether it
// is negated.
#pragma once
#include "base/numbers.hpp"
#include "base/pulse.hpp"

namespace cp::dependency {

// Term b adds to ln P(x_targets[b] | rest) where its conditions hold: numbers[starts[b] + s · steps[b]] for
// state s. Conditions on the target itself set the number of the states that they rule out to 0.
struct RawTerms {
  Ints targets;
  Ints starts;
  Ints steps;
  Ints offsets;  // of the conditions of a term in `codes`, in canonical form (features/conditions.hpp)
  Ints codes;
  Floats numbers;

  static constexpr const char* fields = "targets[b] starts[b] steps[b] offsets[b+1] codes[] numbers[]";

  Int size() const { return targets.size(); }
  Ragged<const Int> conditions() const { return {codes, offsets}; }
};

struct StateSpace {
  Ints cards;
  Ints firsts;  // place of each variable's first state
  Ints owners;  // variable of each place
  Floats base;  // probability of each place at the base

  static constexpr const char* fields = "cards[n] firsts[n] owners[s] base[s]";
};

// Terms with their conditions in groups, one for each variable other than the target, and the states whose
// number differs from the usual one.
struct Terms {
  Vector<Int> targets;
  Vector<Int> groups;        // first group of each term
  Vector<Int> variables;     // of each group
  Vector<double> shares;     // of each group: the probability of its conditions at the base
  Vector<Int> code_offsets;  // of each group in `codes`
  Vector<Int> codes;
  Vector<Int> state_offsets;  // of each term in `states` and `weights`
  Vector<Int> states;         // codes
  Vector<double> weights;     // difference to the usual number
  Vector<double> back;        // of each term: minus the mean of its weights at the base

  static constexpr const char* fields =
      "targets[b] groups[b+1] variables[g] shares[g] code_offsets[g+1] codes[g] state_offsets[b+1] states[s] weights[s] back[b]";

  Int size() const { return targets.size(); }
};

// Fill `numbers` with what each state of the target adds; returns the usual number, a finite one.
//
// ln P may be shifted by any number that does not depend on the target: the number of more than half of the
// states, where there is one, leaves the fewest states with a weight.
inline double spell_out(const RawTerms& raw, const StateSpace& space, Int b, Vector<double> numbers) {
  const Int card = space.cards[raw.targets[b]], first = space.firsts[raw.targets[b]];
  for (Int s = 0; s < card; ++s) numbers[s] = raw.numbers[raw.starts[b] + s * raw.steps[b]];
  for (Int code : raw.conditions()[b]) {
    const Int state = code / 2 - first;
    if (state < 0 || state >= card) continue;
    for (Int s = 0; s < card; ++s)
      if ((s == state) == (code % 2 == 1)) numbers[s] = 0.0;
  }
  double usual = numbers[0];
  Int ahead = 0;  // the majority vote of Boyer and Moore
  for (Int s = 0; s < card; ++s) {
    if (ahead == 0) usual = numbers[s];
    ahead += numbers[s] == usual ? 1 : -1;
  }
  if (ahead == 0 || usual == -INF)
    for (Int s = 0; s < card; ++s)
      if (numbers[s] > -INF) return numbers[s];
  return usual;
}

inline Array<double, 1> room_for_states(const StateSpace& space) {
  return Array<double, 1>(space.cards.empty() ? 1 : maximum(space.cards));
}

// Fill `counts` with the number of states of each term that differ from the usual one.
inline void count_states(const RawTerms& raw, const StateSpace& space, Vector<Int> counts) {
  const Array<double, 1> numbers = room_for_states(space);
  Pulse pulse;
  for (Int b = 0; b < raw.size(); ++b) {
    const double usual = spell_out(raw, space, b, numbers);
    const Vector<double> here = numbers.part(0, space.cards[raw.targets[b]]);
    counts[b] = std::count_if(here.begin(), here.end(), [&](double number) { return number != usual; });
    pulse(10 + raw.conditions().length(b) * here.size());
  }
}

// The probability at the base of the conditions `codes`, all on one variable.
inline double base_share(const StateSpace& space, Ints codes) {
  if (codes[0] % 2 == 0) return space.base[codes[0] / 2];
  double share = 1.0;
  for (Int code : codes) share -= space.base[code / 2];
  return std::max(share, 0.0);
}

// Fill `terms`, whose state_offsets are known.
inline void group_terms(const RawTerms& raw, const StateSpace& space, const Terms& terms) {
  const Array<double, 1> numbers = room_for_states(space);
  Pulse pulse;
  Int g = 0, c = 0;
  for (Int b = 0; b < raw.size(); ++b) {
    const Int target = raw.targets[b];
    const Ints codes = raw.conditions()[b];
    terms.targets[b] = target;
    terms.groups[b] = g;
    for (Int start = 0, stop; start < codes.size(); start = stop) {
      const Int variable = space.owners[codes[start] / 2];
      stop = start + 1;
      while (stop < codes.size() && space.owners[codes[stop] / 2] == variable) ++stop;
      if (variable == target) continue;
      const Ints group = codes.part(start, stop);
      terms.variables[g] = variable;
      terms.code_offsets[g] = c;
      terms.shares[g++] = base_share(space, group);
      for (Int code : group) terms.codes[c++] = code;
    }
    const double usual = spell_out(raw, space, b, numbers);
    Int e = terms.state_offsets[b];
    terms.back[b] = 0.0;
    for (Int s = 0; s < space.cards[target]; ++s) {
      if (numbers[s] == usual) continue;
      const Int place = space.firsts[target] + s;
      terms.states[e] = 2 * place;
      terms.weights[e] = numbers[s] - usual;
      if (space.base[place] > 0.0) terms.back[b] -= space.base[place] * terms.weights[e];
      ++e;
    }
    pulse(20 + codes.size() * space.cards[target]);
  }
  terms.groups[raw.size()] = g;
  terms.code_offsets[g] = c;
}

}  // namespace cp::dependency
