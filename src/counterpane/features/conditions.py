"""Conjunctions of conditions in one form, of which the arrays of all kernels are views.

Rules, paths to the leaves of trees and cells of potentials are conjunctions. In canonical form, two
of them hold in the same rows if and only if they are equal, and those on one variable are adjacent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpane._core import features as kernels
from counterpane._core.features import RuleMasks
from counterpane.ragged import entries, offsets_of
from counterpane.typing import Array, Bools, Floats, Ints, Words


class Conditions(NamedTuple):
    """Conjunctions end to end: c has the conditions offsets[c] … offsets[c+1]−1.

    Condition k holds where variables[k] has the code values[k], or, if negated[k], another one.
    """

    offsets: Ints
    variables: Ints
    values: Ints
    negated: Bools

    @property
    def owners(self) -> Ints:
        """The conjunction of each condition."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    def take(self, which: Ints) -> Conditions:
        """The conjunctions `which`, in this order."""
        flat = entries(self.offsets, which)
        offsets = offsets_of(np.diff(self.offsets)[which])
        return Conditions(offsets, self.variables[flat], self.values[flat], self.negated[flat])

    def simplified(self, cards: Ints, *, certain: bool = False) -> Conditions:
        """The canonical form: sorted by variable and value, and none implies another.

        A variable must have one state, or, where at least two are left, not have some. Conditions
        on variables of one state are left out unless `certain`. Cost: the number of conditions.

        >>> flat = np.array([1, 1]), np.array([2, 0]), np.array([True, True])
        >>> both = Conditions(np.array([0, 2]), *flat).simplified(np.array([2, 3]))
        >>> [array.tolist() for array in both]
        [[0, 1], [1], [1], [False]]
        """
        offsets, negated = np.empty_like(self.offsets), np.empty_like(self.negated)
        variables, values = np.empty((2, self.values.size), dtype=np.int64)
        out = offsets, variables, values, negated
        size = kernels.simplify_conditions(cards, *self, certain, *out)
        return Conditions(offsets, variables[:size], values[:size], negated[:size])

    def groups(self) -> tuple[Ints, Ints, Ints]:
        """(starts, conjunction, variable) of each group of conditions on one variable.

        The conditions must be sorted; group g has those from starts[g] to starts[g+1]−1.
        """
        owners, variables = self.owners, self.variables
        fresh = np.ones(owners.size, dtype=bool)
        fresh[1:] = (owners[1:] != owners[:-1]) | (variables[1:] != variables[:-1])
        (starts,) = np.nonzero(fresh)
        return np.append(starts, owners.size), owners[starts], variables[starts]

    def allowed_states(self, cards: Ints, starts: Ints) -> tuple[Ints, Bools]:
        """(offsets, flags) of each group of the canonical form: which states it allows."""
        first = starts[:-1]
        offsets = offsets_of(cards[self.variables[first]])
        flags = np.repeat(self.negated[first], np.diff(offsets))
        flags[np.repeat(offsets[:-1], np.diff(starts)) + self.values] = ~self.negated
        return offsets, flags

    def fingerprints(self, cards: Ints) -> Words:
        """128 bits for each condition, (2, conditions); those of a set are the sum of its members'.

        Conjunctions in canonical form are equal if their sums are, but for a chance of 2⁻¹²⁸.
        """
        first = offsets_of(cards)
        words = np.random.default_rng(0).integers(2**64, size=(2, 2, first[-1]), dtype=np.uint64)
        places = first[self.variables] + self.values
        prints: Words = words[:, self.negated.astype(np.int64), places]
        return prints

    def masks(self, cards: Ints, weights: Floats, served: Ints) -> RuleMasks:
        """The conjunctions of the canonical form as the states that they allow.

        `served` are conjunction · n_variables + variable, for groups that are flagged as serving.

        >>> two = Conditions(np.array([0, 2]), np.array([0, 1]), np.array([1, 2]),
        ...                  np.array([False, True]))
        >>> masks = two.masks(np.array([2, 3]), np.ones(1), np.array([1]))
        >>> masks.flags.tolist(), masks.serves.tolist()
        ([False, True, True, True, False], [False, True])
        """
        starts, rules, variables = self.groups()
        first, flags = self.allowed_states(cards, starts)
        offsets = np.searchsorted(rules, np.arange(self.offsets.size))
        serves = np.zeros(rules.size, dtype=np.bool_)
        serves[np.searchsorted(rules * max(cards.size, 1) + variables, served)] = True
        return RuleMasks(weights, offsets, rules, variables, first[:-1], flags, serves)


def number_groups(*columns: Array) -> tuple[Ints, Ints]:
    """(the group of each row, a row of each group): rows with equal columns form a group.

    Groups are numbered in the sorted order of their rows, by the first column first.
    """
    order = np.lexsort(columns[::-1])
    fresh = np.ones(order.size, dtype=bool)
    if order.size:
        fresh[1:] = np.any([column[order][1:] != column[order][:-1] for column in columns], axis=0)
    groups = np.empty(order.size, dtype=np.int64)
    groups[order] = np.cumsum(fresh) - 1
    return groups, order[fresh]
