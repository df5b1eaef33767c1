"""Full conditionals of variables as sums of compiled potentials, rules and trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from counterpane._core import features as kernels
from counterpane.errors import (
    DataError,
    EvidenceError,
    ParameterError,
    ScopeError,
    Setting,
    TableSizeError,
)
from counterpane.features.conditions import Conditions
from counterpane.features.parts import Part, compile_parts
from counterpane.features.potential import Potential
from counterpane.features.rules import Rules, read_only
from counterpane.features.tree import Tree
from counterpane.ragged import entries, offsets_of
from counterpane.typing import Array, Codes, Floats, Ints

BLOCK_ROWS = 2**16  # rows between two checks for an interruption
MAX_OUTPUT = 2**30  # limit for the cells of an answer: 8 GiB


class Blanket:
    """The log-conditionals of P(x) ∝ exp(Σ potentials + Σ rules that hold); natural logs.

    Codes are (n_variables, n_rows), uint8 or uint16, as in a `Table`. `names` are used in messages.

    >>> blanket = Blanket([2, 2], [Potential((0, 1), [[0.0, 0.0], [0.0, np.log(3.0)]])])
    >>> np.exp(blanket.full_conditionals([[1], [1]], variables=[0])).round(2).tolist()
    [[0.25, 0.75]]
    """

    def __init__(
        self,
        cards: npt.ArrayLike,
        parts: Iterable[Potential | Rules],
        names: Sequence[str] | None = None,
    ) -> None:
        self._compile(cards, [(part, -1) for part in parts], names)

    @classmethod
    def of_conditionals(
        cls,
        cards: npt.ArrayLike,
        conditionals: Sequence[Iterable[Potential | Rules | Tree]],
        names: Sequence[str] | None = None,
    ) -> Blanket:
        """The blanket in which the conditional of v is the sum of conditionals[v] alone.

        Parts that do not depend on v are left out. There need not be a joint distribution with
        these conditionals: `log_potential` raises.

        >>> copy = Potential((0, 1), [[0.0, -np.inf], [-np.inf, 0.0]])
        >>> blanket = Blanket.of_conditionals([2, 2], [[copy], []])
        >>> np.exp(blanket.full_conditionals([[0], [1]])).tolist()
        [[0.0, 1.0, 0.5, 0.5]]
        """
        blanket = cls.__new__(cls)
        size = np.size(np.asarray(cards))
        if len(conditionals) != size:
            raise ScopeError(f"{len(conditionals)} conditionals were given for {size} variables.")
        owned = [(part, v) for v, parts in enumerate(conditionals) for part in parts]
        blanket._compile(cards, owned, names)
        blanket.joint = False
        return blanket

    def _compile(
        self,
        cards: npt.ArrayLike,
        owned: Sequence[tuple[Part, int]],
        names: Sequence[str] | None,
    ) -> None:
        """Check and compile parts, each with the variable of its conditional, −1 for all in it."""
        self.cards: Ints = read_only(cards, np.int64)
        self.joint = True
        self._names = names
        self._owned = tuple(owned)
        self.parts = compile_parts(self.cards, owned)

    def weighed(self, likelihoods: Mapping[int, Floats]) -> Blanket:
        """The blanket with likelihoods of the states of some variables as additional factors.

        >>> even = Blanket([2], [Potential((0,), [0.0, 0.0])]).weighed({0: np.array([1.0, 3.0])})
        >>> np.exp(even.full_conditionals([[0]])).round(2).tolist()
        [[0.25, 0.75]]
        """
        with np.errstate(divide="ignore"):
            soft = [
                (Potential((v,), np.log(weights)), -1 if self.joint else v)
                for v, weights in likelihoods.items()
            ]
        blanket = Blanket.__new__(Blanket)
        blanket._compile(self.cards, [*self._owned, *soft], self._names)
        blanket.joint = self.joint
        return blanket

    def __repr__(self) -> str:
        potentials, rules = self.parts.value_offsets.size - 1, self.parts.rule_weights.size
        trees = self.parts.tree_roots.size - 1
        return (
            f"Blanket({self.cards.size} variables, {potentials} potentials, {rules} rules, "
            f"{trees} trees)"
        )

    def neighbors(self, variable: int) -> tuple[int, ...]:
        """The variables that the conditional of `variable` depends on, sorted."""
        p = self.parts
        tables = p.potentials[p.potential_offsets[variable] : p.potential_offsets[variable + 1]]
        rules = p.touching[p.touching_offsets[variable] : p.touching_offsets[variable + 1]]
        first, last = p.tree_roots[p.tree_offsets[variable : variable + 2]]
        members = np.concatenate(
            [
                p.scopes[entries(p.scope_offsets, tables)],
                p.rule_variables[entries(p.rule_offsets, rules)],
                p.nodes[first:last, 0],
            ]
        )
        return tuple(sorted(set(members.tolist()) - {variable, -1}))

    def full_conditionals(
        self, codes: npt.ArrayLike, variables: Iterable[int] | None = None
    ) -> Floats:
        """ln P(x_v = s | all else), shape (n_rows, Σ cards): the states of each variable in turn.

        The codes of a variable itself are not read for its own conditional.
        """
        n = self.cards.size
        targets = np.arange(n) if variables is None else np.array(list(variables), dtype=np.int64)
        if targets.size and (targets.min() < 0 or targets.max() >= n):
            raise ScopeError(f"the variables {targets.tolist()} must be among 0 … {n - 1}.")
        data = self._checked(codes, targets)
        width = int(self.cards[targets].sum())
        if data.shape[1] * width > MAX_OUTPUT:
            raise TableSizeError(
                f"conditionals of {data.shape[1]:,} rows × {width:,} states exceed {MAX_OUTPUT:,} "
                "cells; pass fewer rows at a time, or name the variables you need."
            )
        out: Floats = np.empty((data.shape[1], width))
        rules = self._word_rules() if variables is None else None
        for start, stop in self._blocks(data):
            if rules is None:
                place = kernels.fill_conditionals(self.parts, data, targets, start, stop, out)
            else:
                place = kernels.fill_conditionals_by_words(*rules, data, start, stop, out)
            self._refuse_impossible(place)
        return out

    def pseudo_log_likelihood(self, codes: npt.ArrayLike, *, total: bool = False) -> Floats:
        """ln P(x_v | all else), shape (n_rows, n_variables); with `total` its sums, (n_rows,)."""
        data = self._checked(codes, None)
        out: Floats = np.zeros((data.shape[1], 1 if total else self.cards.size))
        rules = self._word_rules()
        for start, stop in self._blocks(data):
            if rules is None:
                place = kernels.add_pseudo_log_likelihood(self.parts, data, start, stop, out)
            else:
                place = kernels.add_pseudo_log_likelihood_by_words(*rules, data, start, stop, out)
            self._refuse_impossible(place)
        return out[:, 0] if total else out

    def log_potential(self, codes: npt.ArrayLike) -> Floats:
        """The unnormalized log-probability of rows, shape (n_rows,)."""
        if not self.joint:
            raise ParameterError(
                "conditionals that were given one by one have no joint log-potential; convert the "
                "dependency network with to_markov_network."
            )
        data = self._checked(codes, None)
        out: Floats = np.zeros(data.shape[1])
        for start, stop in self._blocks(data):
            kernels.add_log_potential(self.parts, data, start, stop, out)
        return out

    @cached_property
    def conditions(self) -> Conditions:
        """The conditions of the rules in canonical form, also those on variables of one state."""
        p = self.parts
        rules = Conditions(p.rule_offsets, p.rule_variables, p.rule_values, p.rule_negated)
        return rules.simplified(self.cards, certain=True)

    @cached_property
    def rule_masks(self) -> kernels.RuleMasks:
        """The rules as the states that they allow, and the conditionals they belong to."""
        p, n = self.parts, self.cards.size
        owners = np.repeat(np.arange(n), np.diff(p.touching_offsets))
        return self.conditions.masks(self.cards, p.rule_weights, p.touching * n + owners)

    def _word_rules(self) -> tuple[kernels.Parts, kernels.WordRules] | None:
        """(other parts, rules for blocks of 64 rows) of a joint distribution with rules, else None.

        8 to 10 times as fast as one row at a time (docs/design/features.md).
        """
        p = self.parts
        if not self.joint or not p.rule_weights.size:
            return None
        rest = p._replace(touching_offsets=np.zeros_like(p.touching_offsets))
        offsets, variables, values, negated = self.conditions
        firsts = offsets_of(self.cards)
        places = firsts[variables] + values
        return rest, kernels.WordRules(p.rule_weights, offsets, variables, places, negated, firsts)

    def _blocks(self, codes: Codes) -> Iterator[tuple[int, int]]:
        for start in range(0, codes.shape[1], BLOCK_ROWS):
            yield start, min(start + BLOCK_ROWS, codes.shape[1])

    def _checked(self, codes: npt.ArrayLike, targets: Ints | None) -> Codes:
        """Codes that the kernels can read safely; none may be missing if `targets` is None."""
        array = np.asarray(codes)
        n = self.cards.size
        if array.ndim != 2 or array.shape[0] != n or array.dtype.kind not in "iu":
            raise DataError(
                f"codes of type {array.dtype} and shape {array.shape} were given; whole numbers "
                f"of shape ({n}, rows) are needed."
            )
        if array.shape[1]:
            outside = np.flatnonzero((array.max(axis=1) > self.cards) | (array.min(axis=1) < 0))
            for v in outside.tolist():
                raise DataError(
                    f"{self._name(v)} holds a code outside 0 … {self.cards[v]} "
                    f"({self.cards[v]} marks a missing cell)."
                )
            self.refuse_missing(array, targets)
        narrow = array.dtype if array.dtype in (np.uint8, np.uint16) else np.uint16
        data: Codes = np.ascontiguousarray(array, dtype=narrow).view()
        data.flags.writeable = False  # one type for the kernels, whatever was given
        return data

    def refuse_missing(self, codes: Array, targets: Ints | None = None) -> None:
        """Raise if a cell is missing, of those that the conditionals of `targets` would read."""
        missing = np.flatnonzero((codes == self.cards[:, None]).any(axis=1)).tolist()
        if not missing:
            return
        needed = set(missing)
        if targets is not None:
            needed &= {u for v in targets.tolist() for u in self.neighbors(v)}
        for v in sorted(needed):
            row = int(np.argmax(codes[v] == self.cards[v]))
            raise DataError(
                f"{self._name(v)}, row {row}: the cell is missing and the answer depends on it; "
                "drop such rows, or learn with ",
                Setting("missing", "state"),
                ".",
            )

    def _refuse_impossible(self, place: int) -> None:
        if place >= 0:
            row, v = divmod(int(place), int(self.cards.size))
            raise EvidenceError(
                f"{self._name(v)}, row {row}: no state is possible given the rest of the row; the "
                "model gives such rows probability zero."
            )

    def _name(self, variable: int) -> str:
        return (
            f"variable {variable}" if self._names is None else f"column {self._names[variable]!r}"
        )
