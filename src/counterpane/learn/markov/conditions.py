"""The conditions of rules in one form, so that equal rules are known as equal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpane.features import Rules
from counterpane.ragged import offsets_of, ranges
from counterpane.typing import Array, Bools, Ints, Words


class Conditions(NamedTuple):
    """Conjunctions end to end: c has the conditions offsets[c] … offsets[c+1]−1.

    They are sorted by variable and value, none implies another, and a variable is either asked for
    one value or, where at least two are left, not to have some.
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
        """Some of the conjunctions, in the order given."""
        first, last = self.offsets[which], self.offsets[which + 1]
        flat = ranges(first, last)
        offsets = offsets_of(last - first)
        return Conditions(offsets, self.variables[flat], self.values[flat], self.negated[flat])


def canonical(rules: Rules) -> Conditions:
    """The conditions of each rule in one form: two rules hold in the same rows iff it is equal."""
    cards, n, width = rules.cards, rules.cards.size, int(rules.cards.max(initial=1))
    owners = np.repeat(np.arange(len(rules)), np.diff(rules.offsets))
    cells = (owners * n + rules.variables) * width + rules.values
    asked = np.unique(cells[~rules.negated])
    excluded = np.unique(cells[rules.negated])
    excluded = excluded[~np.isin(excluded // width, asked // width)]
    places, first, counts = np.unique(excluded // width, return_index=True, return_counts=True)
    states = cards[places % n]
    sums = np.diff(
        np.cumsum(np.concatenate([[0], excluded % width]))[np.append(first, excluded.size)]
    )
    one_left = counts == states - 1  # then the variable is asked for what is left
    only = (places * width + states * (states - 1) // 2 - sums)[one_left]
    excluded = excluded[~np.isin(excluded // width, places[one_left])]
    asked = np.concatenate([asked, only])
    asked = asked[cards[asked // width % n] > 1]  # else every row meets it
    both = np.concatenate([asked, excluded])
    order = np.argsort(both)
    places, values = np.divmod(both[order], width)
    owners, variables = np.divmod(places, n)
    offsets = np.searchsorted(owners, np.arange(len(rules) + 1))
    return Conditions(offsets, variables, values, order >= asked.size)


def fingerprints(cards: Ints, conditions: Conditions) -> Words:
    """128 bits for each condition, (2, conditions); those of a set are the sum of its members'."""
    first = offsets_of(cards)
    words = np.random.default_rng(0).integers(2**64, size=(2, 2, first[-1]), dtype=np.uint64)
    place = first[conditions.variables] + conditions.values
    found: Words = words[:, conditions.negated.astype(np.int64), place]
    return found


def segment_sums(numbers: Array, offsets: Ints) -> Array:
    """Sums over offsets[c] … offsets[c+1]−1 of the last axis; whole numbers may wrap around."""
    padded = np.zeros((*numbers.shape[:-1], numbers.shape[-1] + 1), dtype=numbers.dtype)
    np.cumsum(numbers, axis=-1, out=padded[..., 1:])
    sums: Array = padded[..., offsets[1:]] - padded[..., offsets[:-1]]
    return sums


def grouped(*columns: Array) -> tuple[Ints, Ints]:
    """For each row of some columns the number of its group, and the first row of each group.

    Groups are numbered as their rows sort, by the first column first.
    """
    order = np.lexsort(columns[::-1])
    fresh = np.ones(order.size, dtype=bool)
    if order.size:
        fresh[1:] = np.any([column[order][1:] != column[order][:-1] for column in columns], axis=0)
    groups = np.empty(order.size, dtype=np.int64)
    groups[order] = np.cumsum(fresh) - 1
    return groups, order[fresh]
