"""Rules with one entry for each variable they name: which of its states the rule allows."""

from __future__ import annotations

import numpy as np

from counterpane._core.inference import Conjunctions, Leaves
from counterpane.features import Blanket
from counterpane.features.tree import paths
from counterpane.typing import Bools, Floats, Ints


def conjunctions(blanket: Blanket) -> Conjunctions:
    """The rules of a compiled blanket; trees and potentials stay where they are.

    >>> from counterpane.features import Rules
    >>> rules = Rules.from_list([2, 3], [(0.5, [(1, 0, True), (0, 1, False), (1, 2, True)])])
    >>> found = conjunctions(Blanket([2, 3], [rules]))
    >>> found.variables.tolist(), found.flags.tolist()
    ([0, 1], [False, True, False, True, False])
    """
    parts, n = blanket.parts, blanket.cards.size
    owners = np.repeat(np.arange(n), np.diff(parts.touching_offsets))
    return _entries(
        blanket.cards, parts.rule_weights, parts.rule_offsets, parts.rule_variables,
        parts.rule_values, parts.rule_negated, parts.touching * n + owners,
    )  # fmt: skip


def leaves(blanket: Blanket) -> Leaves:
    """The leaves that rows can reach of all trees of a compiled blanket."""
    parts, cards = blanket.parts, blanket.cards
    found, offsets, variables, values, negated = paths(cards, parts.nodes, parts.tree_roots[:-1])
    trees = np.searchsorted(parts.tree_roots, found, side="right") - 1
    owners = np.searchsorted(parts.tree_offsets, trees, side="right") - 1
    ones, nobody = np.ones(found.size), np.empty(0, dtype=np.int64)
    ways = _entries(cards, ones, offsets, variables, values, negated, nobody)
    return Leaves(owners, parts.nodes[found, 2], ways)


def _entries(
    cards: Ints, weights: Floats, offsets: Ints, variables: Ints, values: Ints, negated: Bools,
    served: Ints,
) -> Conjunctions:  # fmt: skip
    """Conditions joined by rule and variable; `served` are rule · n_variables + variable.

    Whoever is served is named by the rule.
    """
    n, sizes = max(cards.size, 1), np.diff(offsets)
    keys = np.repeat(np.arange(sizes.size), sizes) * n + variables
    entries, of_condition = np.unique(keys, return_inverse=True)
    rules, named = np.divmod(entries, n)
    first = np.cumsum(cards[named]) - cards[named]
    equal = np.zeros(entries.size, dtype=np.bool_)  # the entry asks for one state
    equal[of_condition[~negated]] = True
    flags = np.repeat(~equal, cards[named])
    place = first[of_condition] + values
    flags[place[negated]] = False
    flags[place[~negated]] = True
    offsets = np.searchsorted(rules, np.arange(sizes.size + 1))
    serves = np.zeros(entries.size, dtype=np.bool_)
    serves[np.searchsorted(entries, served)] = True
    return Conjunctions(weights, offsets, rules, named, first, flags, serves)
