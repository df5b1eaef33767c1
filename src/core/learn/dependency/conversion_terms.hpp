// The terms of a dependency network's conditionals, simplified for the conversion to a Markov network.
//
// A condition is one number, its code: 2 · (place of the state among all variables' states) + whether it
// is negated.
#pragma once
#include <tuple>

#include "base/numbers.hpp"
#include "base/pulse.hpp"

namespace cp::dependency {

// Term b adds to ln P(x_targets[b] | rest) where its conditions hold: numbers[starts[b] + s · steps[b]] for
// state s. Conditions on the target itself set the number of the states that they rule out to 0.
struct RawTerms {
  Ints targets;
  Ints starts;
  Ints steps;
  Ints offsets;  // of the conditions of a term in `codes`
  Ints codes;
  Floats numbers;

  static constexpr const char* fields = "targets[b] starts[b] steps[b] offsets[b+1] codes[] numbers[]";
  auto members() { return std::tie(targets, starts, steps, offsets, codes, numbers); }

  Int size() const { return targets.size(); }
  Ragged<const Int> conditions() const { return {codes, offsets}; }
};

struct StateSpace {
  Ints cards;
  Ints firsts;  // place of each variable's first state
  Ints owners;  // variable of each place
  Floats base;  // probability of each place at the base

  static constexpr const char* fields = "cards[n] firsts[n] owners[s] base[s]";
  auto members() { return std::tie(cards, firsts, owners, base); }
};

// Simplified terms: conditions in groups, one for each variable other than the target, and the states whose
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
  auto members() {
    return std::tie(targets, groups, variables, shares, code_offsets, codes, state_offsets, states, weights, back);
  }

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

// Fill `sorted` with the distinct codes of a term on other variables of several states; returns their number.
inline Int sort_codes(const RawTerms& raw, const StateSpace& space, Int b, Vector<Int> sorted) {
  Int size = 0;
  for (Int code : raw.conditions()[b]) {
    const Int owner = space.owners[code / 2];
    if (owner == raw.targets[b] || space.cards[owner] == 1) continue;
    Int place = size;
    while (place > 0 && sorted[place - 1] > code) --place;
    if (place > 0 && sorted[place - 1] == code) continue;
    std::copy_backward(sorted.begin() + place, sorted.begin() + size, sorted.begin() + size + 1);
    sorted[place] = code;
    ++size;
  }
  return size;
}

// Write group g, whose conditions are `sorted`, from code c on; returns the next c.
//
// A condition that a state holds implies all others, and so does excluding all states but one.
inline Int write_group(const StateSpace& space, Ints sorted, Int c, Int g, const Terms& terms) {
  const Int variable = terms.variables[g];
  Int held = -1;
  for (Int code : sorted)
    if (code % 2 == 0) held = code;
  if (held < 0 && sorted.size() == space.cards[variable] - 1) {
    held = 2 * space.firsts[variable];
    for (Int code : sorted)
      if (code == held + 1) held += 2;
  }
  if (held >= 0) {
    terms.codes[c] = held;
    terms.shares[g] = space.base[held / 2];
    return c + 1;
  }
  double share = 1.0;
  for (Int code : sorted) {
    terms.codes[c++] = code;
    share -= space.base[code / 2];
  }
  terms.shares[g] = std::max(share, 0.0);
  return c;
}

// Fill `terms`, whose state_offsets are known: conditions without repetition, sorted, and as few as possible.
inline void simplify_terms(const RawTerms& raw, const StateSpace& space, const Terms& terms) {
  Int longest = 0;
  for (Int b = 0; b < raw.size(); ++b) longest = std::max(longest, raw.conditions().length(b));
  const Array<Int, 1> sorted(longest);
  const Array<double, 1> numbers = room_for_states(space);
  Pulse pulse;
  Int g = 0, c = 0;
  for (Int b = 0; b < raw.size(); ++b) {
    const Int target = raw.targets[b];
    terms.targets[b] = target;
    terms.groups[b] = g;
    const Int size = sort_codes(raw, space, b, sorted);
    for (Int start = 0, stop; start < size; start = stop, ++g) {
      const Int variable = space.owners[sorted[start] / 2];
      stop = start + 1;
      while (stop < size && space.owners[sorted[stop] / 2] == variable) ++stop;
      terms.variables[g] = variable;
      terms.code_offsets[g] = c;
      c = write_group(space, sorted.part(start, stop), c, g, terms);
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
    pulse(20 + raw.conditions().length(b) * (size + space.cards[target]));
  }
  terms.groups[raw.size()] = g;
  terms.code_offsets[g] = c;
}

}  // namespace cp::dependency
