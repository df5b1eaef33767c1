"""Weighted conjunctions of conditions on states: trees, logistic weights and features."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from counterpane._core import features as kernels
from counterpane.errors import ParameterError, ScopeError
from counterpane.features.conditions import Conditions
from counterpane.features.potential import Potential, check_cells, check_logs
from counterpane.ragged import offsets_of
from counterpane.typing import Array, Bools, Floats, Ints

Condition = tuple[int, int, bool]
"""(variable, value, negated): the variable has the value, or has any other one."""


class Rules:
    """Weights (natural logs) that count wherever all conditions of their rule hold.

    Rule r owns the conditions offsets[r] … offsets[r+1]−1 of the flat arrays `variables`, `values`
    and `negated`; a rule without conditions is a constant. `cards` are the numbers of states of
    all variables. Final and read-only.

    >>> rules = Rules.from_list([2, 3], [(0.5, [(0, 1, False), (1, 2, True)]), (-1.0, [])])
    >>> len(rules), rules.offsets.tolist()
    (2, [0, 2, 2])
    """

    __slots__ = ("cards", "negated", "offsets", "values", "variables", "weights")

    def __init__(
        self,
        cards: npt.ArrayLike,
        weights: npt.ArrayLike,
        offsets: npt.ArrayLike,
        variables: npt.ArrayLike,
        values: npt.ArrayLike,
        negated: npt.ArrayLike,
    ) -> None:
        self.cards: Ints = read_only(cards, np.int64)
        self.weights: Floats = read_only(weights, np.float64)
        self.offsets: Ints = read_only(offsets, np.int64)
        self.variables: Ints = read_only(variables, np.int64)
        self.values: Ints = read_only(values, np.int64)
        self.negated: Bools = read_only(negated, np.bool_)
        size = self.variables.size
        if not (self.values.size == self.negated.size == size):
            raise ParameterError(
                f"{size} variables, {self.values.size} values and {self.negated.size} negations "
                "were given; each condition needs all three."
            )
        ends = (self.offsets[0], self.offsets[-1]) if self.offsets.size else None
        rising = (np.diff(self.offsets) >= 0).all()
        if self.offsets.size != len(self) + 1 or ends != (0, size) or not rising:
            raise ParameterError(
                f"the offsets must be {len(self) + 1} rising numbers from 0 to {size}."
            )
        check_logs(self.weights, "the weight of a rule")
        _check_range(self)
        _check_consistent(self)

    @classmethod
    def from_list(
        cls, cards: npt.ArrayLike, rules: Sequence[tuple[float, Iterable[Condition]]]
    ) -> Rules:
        """The rules written as (weight, [(variable, value, negated), …])."""
        parts = [list(conditions) for _, conditions in rules]
        flat = np.array([c for part in parts for c in part], dtype=np.int64).reshape(-1, 3)
        return cls(cards, [weight for weight, _ in rules], offsets_of(map(len, parts)), *flat.T)

    def __len__(self) -> int:
        return int(self.weights.size)

    @property
    def conditions(self) -> Conditions:
        """The conditions of all rules, as they were given."""
        return Conditions(self.offsets, self.variables, self.values, self.negated)

    def take(self, which: Ints) -> Rules:
        """The rules `which`, in this order."""
        return Rules(self.cards, self.weights[which], *self.conditions.take(which))

    def edges(self) -> set[tuple[int, int]]:
        """The pairs of variables that share a rule, the lower one first."""
        sizes, n = np.diff(self.offsets), self.cards.size
        pairs = [np.empty(0, dtype=np.int64)]
        for size in np.unique(sizes).tolist():
            rows = self.variables[self.offsets[:-1][sizes == size, None] + np.arange(size)]
            for i, j in combinations(np.sort(rows, axis=1).T, 2):
                pairs.append(np.unique(i * n + j))
        low, high = np.divmod(np.unique(np.concatenate(pairs)), n)
        return {(i, j) for i, j in zip(low.tolist(), high.tolist(), strict=True) if i < j}

    def by_scope(self) -> list[tuple[tuple[int, ...], list[int]]]:
        """The sets of variables that rules are about, each with the numbers of its rules."""
        scopes: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
        for rule, (start, stop) in enumerate(pairwise(self.offsets.tolist())):
            scopes[tuple(sorted(set(self.variables[start:stop].tolist())))].append(rule)
        return list(scopes.items())

    def to_potentials(self) -> list[Potential]:
        """The rules written out, one table for each set of variables they are about."""
        return [_write_out(self, scope, members) for scope, members in self.by_scope()]

    def __repr__(self) -> str:
        return f"Rules({len(self)} rules, {self.variables.size} conditions)"


def _write_out(rules: Rules, scope: tuple[int, ...], members: list[int]) -> Potential:
    """The rules of one scope as a table."""
    shape = rules.cards[list(scope)]
    check_cells(shape, f"the table of the rules over the variables {scope}")
    values: Floats = np.zeros(shape)
    for rule in members:
        allowed = [np.ones(r, dtype=bool) for r in shape]
        for k in range(rules.offsets[rule], rules.offsets[rule + 1]):
            states = allowed[scope.index(rules.variables[k])]
            states &= (np.arange(states.size) == rules.values[k]) != rules.negated[k]
        values[np.ix_(*allowed) if scope else ()] += rules.weights[rule]
    return Potential(scope, values)


def read_only(array: npt.ArrayLike, dtype: type[np.generic]) -> Array:
    """A read-only copy; the array itself if it can never be written to."""
    if (
        isinstance(array, np.ndarray)
        and array.dtype == dtype
        and array.base is None
        and not array.flags.writeable
        and array.flags.c_contiguous
        and array.ndim
    ):
        return array
    copy = np.array(array, dtype=dtype, order="C", ndmin=1)
    copy.flags.writeable = False
    return copy


def _check_range(rules: Rules) -> None:
    """Raise for a variable or value outside `cards`."""
    n = rules.cards.size
    bad = (rules.variables < 0) | (rules.variables >= n)
    if not bad.any():
        bad = (rules.values < 0) | (rules.values >= rules.cards[rules.variables])
    if bad.any():
        k = int(np.argmax(bad))
        rule = int(np.searchsorted(rules.offsets, k, side="right")) - 1
        raise ScopeError(
            f"rule {rule} names the value {rules.values[k]} of variable {rules.variables[k]}; "
            f"there are {n} variables, and values are 0 … card−1."
        )


def _check_consistent(rules: Rules) -> None:
    """Raise for a rule that no row can meet: x=1 ∧ x=2, x=1 ∧ x≠1, or every value excluded."""
    cards = rules.cards
    k = kernels.find_contradiction(
        cards, rules.offsets, rules.variables, rules.values, rules.negated
    )
    if k >= 0:
        rule = int(np.searchsorted(rules.offsets, k, side="right")) - 1
        start, stop, variable = rules.offsets[rule], rules.offsets[rule + 1], rules.variables[k]
        places = start + np.flatnonzero(rules.variables[start:stop] == variable)
        signs = ("≠" if rules.negated[j] else "=" for j in places)
        shown = ", ".join(f"{s} {rules.values[j]}" for s, j in zip(signs, places, strict=True))
        raise ScopeError(
            f"rule {rule} can never hold: it asks variable {variable} ({cards[variable]} states) "
            f"for {shown}."
        )
