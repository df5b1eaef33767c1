"""Potentials and rules compiled per variable: a full conditional is the sum of what touches it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from counterpane.errors import DataError, EvidenceError, ScopeError, TableSizeError
from counterpane.potentials import _kernels as kernels
from counterpane.potentials.potential import Potential
from counterpane.potentials.rules import Rules
from counterpane.typing import Array, Codes, Floats, Ints

BLOCK_ROWS = 2**16  # between two blocks an interruption is heard
MAX_OUTPUT = 2**30  # cells of an answer: 8 GiB


class Blanket:
    """The log-conditionals of P(x) ∝ exp(Σ potentials + Σ rules that hold); natural logs.

    Codes are (n_variables, n_rows), uint8 or uint16, as in a `Table`. `names` serve the messages.

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
        self.cards: Ints = np.array(cards, dtype=np.int64)
        self._names = names
        given = list(parts)
        potentials = [p for p in given if isinstance(p, Potential)]
        rules = [p for p in given if isinstance(p, Rules)]
        for potential in potentials:
            _check_shape(potential, self.cards)
        for part in rules:
            if not np.array_equal(part.cards, self.cards):
                raise ScopeError("the rules were written for other numbers of states.")
        self.parts = _compile(self.cards, potentials, rules)

    def __repr__(self) -> str:
        potentials, rules = self.parts.value_offsets.size - 1, self.parts.rule_weights.size
        return f"Blanket({self.cards.size} variables, {potentials} potentials, {rules} rules)"

    def neighbors(self, variable: int) -> tuple[int, ...]:
        """The variables that share a potential or a rule with `variable`, sorted."""
        p = self.parts
        mine = p.potentials[p.potential_offsets[variable] : p.potential_offsets[variable + 1]]
        rules = p.touching[p.touching_offsets[variable] : p.touching_offsets[variable + 1]]
        members = {int(u) for t in mine for u in _segment(p.scopes, p.scope_offsets, t)}
        members.update(int(u) for r in rules for u in _segment(p.rule_variables, p.rule_offsets, r))
        return tuple(sorted(members - {variable}))

    def full_conditionals(
        self, codes: npt.ArrayLike, variables: Iterable[int] | None = None
    ) -> Floats:
        """ln P(x_v = s | all else), shape (n_rows, Σ cards): the states of each variable in turn.

        The codes of a variable itself are not read for its own conditional.
        """
        n = self.cards.size
        asked = np.arange(n) if variables is None else np.array(list(variables), dtype=np.int64)
        if asked.size and (asked.min() < 0 or asked.max() >= n):
            raise ScopeError(f"the variables {asked.tolist()} must be among 0 … {n - 1}.")
        data = self._checked(codes, asked)
        width = int(self.cards[asked].sum())
        if data.shape[1] * width > MAX_OUTPUT:
            raise TableSizeError(
                f"conditionals of {data.shape[1]:,} rows × {width:,} states exceed {MAX_OUTPUT:,} "
                "cells; pass fewer rows at a time, or name the variables you need."
            )
        out: Floats = np.empty((data.shape[1], width))
        for start, stop, scratch in self._blocks(data):
            self._refuse_impossible(
                kernels.fill_conditionals(self.parts, data, asked, start, stop, scratch, out)
            )
        return out

    def pseudo_log_likelihood(self, codes: npt.ArrayLike, *, total: bool = False) -> Floats:
        """ln P(x_v | all else), shape (n_rows, n_variables); with `total` its sums, (n_rows,)."""
        data = self._checked(codes, None)
        out: Floats = np.zeros((data.shape[1], 1 if total else self.cards.size))
        for start, stop, scratch in self._blocks(data):
            self._refuse_impossible(
                kernels.add_pseudo_log_likelihood(self.parts, data, start, stop, scratch, out)
            )
        return out[:, 0] if total else out

    def log_potential(self, codes: npt.ArrayLike) -> Floats:
        """The unnormalized log-probability of whole rows, shape (n_rows,)."""
        data = self._checked(codes, None)
        out: Floats = np.zeros(data.shape[1])
        for start, stop, _ in self._blocks(data):
            kernels.add_log_potential(self.parts, data, start, stop, out)
        return out

    def _blocks(self, codes: Codes) -> Iterator[tuple[int, int, Floats]]:
        scratch: Floats = np.empty(int(self.cards.max(initial=1)))
        for start in range(0, codes.shape[1], BLOCK_ROWS):
            yield start, min(start + BLOCK_ROWS, codes.shape[1]), scratch

    def _checked(self, codes: npt.ArrayLike, asked: Ints | None) -> Codes:
        """Codes that the kernels can read safely; all must be present when `asked` is None."""
        given = np.asarray(codes)
        n = self.cards.size
        if given.ndim != 2 or given.shape[0] != n or given.dtype.kind not in "iu":
            raise DataError(
                f"codes of type {given.dtype} and shape {given.shape} were given; whole numbers "
                f"of shape ({n}, rows) are needed."
            )
        if given.shape[1]:
            outside = np.flatnonzero((given.max(axis=1) > self.cards) | (given.min(axis=1) < 0))
            for v in outside.tolist():
                raise DataError(
                    f"{self._name(v)} holds a code outside 0 … {self.cards[v]} "
                    f"({self.cards[v]} marks a missing cell)."
                )
            self._refuse_missing(given, asked)
        narrow = given.dtype if given.dtype in (np.uint8, np.uint16) else np.uint16
        data: Codes = np.ascontiguousarray(given, dtype=narrow).view()
        data.flags.writeable = False  # one type for the kernels, whatever was given
        return data

    def _refuse_missing(self, codes: Array, asked: Ints | None) -> None:
        """Raise if a cell that would be read is missing."""
        missing = np.flatnonzero(codes.max(axis=1) == self.cards).tolist()
        if not missing:
            return
        needed = set(missing)
        if asked is not None:
            needed &= {u for v in asked.tolist() for u in self.neighbors(v)}
        for v in sorted(needed):
            row = int(np.argmax(codes[v] == self.cards[v]))
            raise DataError(
                f"{self._name(v)}, row {row}: the cell is missing and the answer depends on it; "
                "drop such rows, or learn with missing='state'."
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


def _check_shape(potential: Potential, cards: Ints) -> None:
    scope, shape = potential.scope, potential.log_values.shape
    if max(scope, default=-1) >= cards.size or shape != tuple(cards[list(scope)]):
        known = [int(cards[v]) if v < cards.size else "unknown" for v in scope]
        raise ScopeError(f"{potential!r} does not fit variables whose cards are {known}.")


def _segment(array: Ints, offsets: Ints, k: int) -> Ints:
    return array[offsets[k] : offsets[k + 1]]


def _offsets(sizes: Iterable[int]) -> Ints:
    return np.cumsum([0, *sizes], dtype=np.int64)


def _joined(arrays: Sequence[Array], dtype: type[np.generic]) -> Array:
    return np.concatenate([np.empty(0, dtype), *arrays], dtype=dtype)


def _by_variable(n: int, owners: Ints, variables: Ints) -> tuple[Ints, Ints]:
    """(offsets, members): for each variable the distinct owners that name it, in order."""
    pairs = np.unique(variables * (owners.max(initial=0) + 1) + owners)
    where, members = np.divmod(pairs, owners.max(initial=0) + 1)
    return np.searchsorted(where, np.arange(n + 1)), members


def _compile(cards: Ints, potentials: list[Potential], rules: list[Rules]) -> kernels.Parts:
    scopes = _joined([np.array(p.scope, dtype=np.int64) for p in potentials], np.int64)
    strides = [np.array(p.log_values.strides, dtype=np.int64) // 8 for p in potentials]
    scope_offsets = _offsets(len(p.scope) for p in potentials)
    owners = np.repeat(np.arange(len(potentials)), np.diff(scope_offsets))
    sizes = _joined([np.diff(r.offsets) for r in rules], np.int64)
    rule_variables = _joined([r.variables for r in rules], np.int64)
    return kernels.Parts(
        cards,
        *_by_variable(cards.size, owners, scopes),
        scope_offsets,
        scopes,
        _joined(strides, np.int64),
        _offsets(p.log_values.size for p in potentials),
        _joined([p.log_values.reshape(-1) for p in potentials], np.float64),
        *_by_variable(cards.size, np.repeat(np.arange(sizes.size), sizes), rule_variables),
        _joined([r.weights for r in rules], np.float64),
        _offsets(sizes),
        rule_variables,
        _joined([r.values for r in rules], np.int64),
        _joined([r.negated for r in rules], np.bool_),
    )
