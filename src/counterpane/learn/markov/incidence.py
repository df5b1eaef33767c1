"""Where rules touch the conditionals of variables.

A rule counts for state s of its variable v in the rows where its other conditions hold. Rules that
agree in those conditions share one entry of v, whose numbers, one for each state of v but the
first, are sums of their weights; entries of several variables that agree share one list of rows.
"""

from __future__ import annotations

import numpy as np

from counterpane.features import Rules
from counterpane.learn.markov.conditions import (
    Conditions,
    canonical,
    fingerprints,
    grouped,
    segment_sums,
)
from counterpane.ragged import offsets_of, ranges
from counterpane.typing import Floats, Ints

PAIRS_AT_A_TIME = 2**22  # of conditions of one rule, while neighbors are looked for


class Incidence:
    """Entries and slots of `rules`.

    Entry e belongs to the variable v with entry_from[v] ≤ e < entry_from[v+1], counts where its
    rest r = rest_of_entry[e] holds, and has a slot for each state of v but the first, from
    slot_from[v] + (e − entry_from[v]) · (card − 1) on. Rest r holds where all conditions of rule
    rest_rules[r] do but those on the variable rest_variables[r]: one such pair of many.

    >>> rules = Rules.from_list([2, 2, 2], [(1.0, [(0, 1, False), (1, 1, False)]),
    ...                                     (2.0, [(0, 1, False), (2, 1, False)])])
    >>> incidence = Incidence(rules)
    >>> incidence.entry_from.tolist(), incidence.by_slot(rules.weights).tolist()
    ([0, 2, 3, 4], [1.0, 2.0, 1.0, 2.0])
    """

    def __init__(self, rules: Rules) -> None:
        cards, n = rules.cards, rules.cards.size
        self.n_rules = len(rules)
        self.conditions = canonical(rules)
        pair_from, pair_rule, pair_variable = _pairs(self.conditions)
        words = fingerprints(cards, self.conditions)
        of_rules = segment_sums(words, self.conditions.offsets)
        rests, some_pair = grouped(*(of_rules[:, pair_rule] - segment_sums(words, pair_from)))
        entries, first = grouped(pair_variable, rests)
        self.rest_rules: Ints = pair_rule[some_pair]
        self.rest_variables: Ints = pair_variable[some_pair]
        self.rest_of_entry: Ints = rests[first]
        self.entry_from: Ints = np.searchsorted(pair_variable[first], np.arange(n + 1))
        self.slot_from: Ints = offsets_of(np.diff(self.entry_from) * (cards - 1))
        states = cards[pair_variable]
        signs = _signs(self.conditions, pair_from, states)
        at = self.slot_from[pair_variable]
        at += (entries - self.entry_from[pair_variable]) * (states - 1) - 1  # of state 0: no slot
        slots = ranges(at, at + states)
        (linked,) = np.nonzero(signs)
        self._slots: Ints = slots[linked]
        self._rules: Ints = np.repeat(pair_rule, states)[linked]
        self._signs: Floats = signs[linked].astype(np.float64)

    def by_slot(self, weights: Floats) -> Floats:
        """The number of each slot: what its entry adds to its state against the first."""
        terms = self._signs * weights[self._rules]
        return _totals(self._slots, terms, int(self.slot_from[-1]))

    def by_rule(self, slopes: Floats) -> Floats:
        """The slope of each rule's weight, from those of the slots."""
        terms = self._signs * slopes[self._slots]
        return _totals(self._rules, terms, self.n_rules)

    def rests(self, which: Ints) -> Conditions:
        """The conditions of some rests, written out."""
        whole = self.conditions.take(self.rest_rules[which])
        kept = whole.variables != np.repeat(self.rest_variables[which], np.diff(whole.offsets))
        offsets = offsets_of(kept.astype(np.int64))[whole.offsets]
        return Conditions(offsets, whole.variables[kept], whole.values[kept], whole.negated[kept])

    def neighbors(self) -> Ints:
        """Pairs of variables that some rule is about, as v · n + u, sorted."""
        n, owners = self.entry_from.size - 1, self.conditions.owners
        sizes = np.diff(self.conditions.offsets)[owners]
        cuts = np.flatnonzero(np.diff(np.cumsum(sizes) // PAIRS_AT_A_TIME)) + 1
        found: list[Ints] = [np.empty(0, dtype=np.int64)]
        for some in np.split(np.arange(owners.size), cuts):
            first, last = (self.conditions.offsets[owners[some] + k] for k in (0, 1))
            mine = np.repeat(self.conditions.variables[some], last - first)
            theirs = self.conditions.variables[ranges(first, last)]
            found.append(np.unique(mine * n + theirs))
        return np.unique(np.concatenate(found))


def _pairs(conditions: Conditions) -> tuple[Ints, Ints, Ints]:
    """The pairs of a rule and a variable of it: where their conditions start, rule, variable."""
    owners, variables = conditions.owners, conditions.variables
    fresh = np.ones(owners.size, dtype=bool)
    fresh[1:] = (owners[1:] != owners[:-1]) | (variables[1:] != variables[:-1])
    (starts,) = np.nonzero(fresh)
    return np.append(starts, owners.size), owners[starts], variables[starts]


def _signs(conditions: Conditions, pair_from: Ints, states: Ints) -> Ints:
    """For each pair and state: whether it meets the rule, less whether state 0 does.

    A pair has the conditions pair_from[i] … pair_from[i+1]−1, all negated or one that is not.
    """
    starts = offsets_of(states)
    meets = np.repeat(conditions.negated[pair_from[:-1]], states).astype(np.int64)
    of_pair = np.repeat(starts[:-1], np.diff(pair_from))
    meets[of_pair + conditions.values] = ~conditions.negated
    signs: Ints = meets - np.repeat(meets[starts[:-1]], states)
    return signs


def _totals(places: Ints, terms: Floats, size: int) -> Floats:
    """The sum of the terms at each place."""
    return np.asarray(np.bincount(places, terms, minlength=size), dtype=np.float64)
