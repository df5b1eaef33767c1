"""What evidence says of one column, for many rows of evidence at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from counterpane.data.columns import columns_of, is_missing
from counterpane.data.encoder import column_numbers
from counterpane.data.ranges import Range
from counterpane.data.schema import Variable
from counterpane.errors import EvidenceError
from counterpane.models.evidence import evidence_weights
from counterpane.models.kept_rows import TrainingRows
from counterpane.typing import Array, Bools, Codes, Floats, Ints

TINY = 1e-9


class Within(NamedTuple):
    """A range on a column of numbers, which kept rows are compared with number by number."""

    low: float
    high: float
    include_low: bool
    include_high: bool
    cuts: Floats

    def holds(self, numbers: Floats) -> Bools:
        """Whether each number lies in the range; NaN does not."""
        above = numbers >= self.low if self.include_low else numbers > self.low
        below = numbers <= self.high if self.include_high else numbers < self.high
        held: Bools = above & below
        return held

    def distance(self, rows: TrainingRows, place: int) -> Array:
        """0 in the range; outside the share of rows up to it, and 1 where the number is missing."""
        numbers = rows.numbers[place]
        ends = np.clip(numbers, self.low, self.high)
        # A number outside is never 0 apart: no row may lie between it and the end of the range.
        apart = np.abs(rows.rank(place, ends) - rows.own_ranks[place]) + np.float32(TINY)
        apart = np.where(np.isnan(numbers), np.float32(1), np.minimum(apart, np.float32(1)))
        return np.where(self.holds(numbers), np.float32(0), apart)


@dataclass(frozen=True, eq=False)
class ColumnEvidence:
    """What several pieces of evidence say of one column: a state, or a weight for each state.

    `weights`, (evidence, states), are 1 for each state of a set, or likelihoods; `codes` is then
    the state that is put into rows that do not fit. Of a column of numbers, which is at `place`
    among them, `values` are the numbers, NaN where only the state is known; `within` is a range of
    them, the same for all pieces of evidence.
    """

    column: int
    codes: Codes  # (evidence,)
    weights: Floats | None = None
    place: int | None = None
    values: Floats | None = None
    intervals: bool = False  # whether some values are NaN where the state is not that of missing
    within: Within | None = None

    @property
    def is_point(self) -> bool:
        """Whether all of the evidence is one state, or one number where there are numbers."""
        return self.weights is None and not self.intervals

    def take(self, some: slice | Ints) -> ColumnEvidence:
        """Some pieces of evidence."""
        weights = None if self.weights is None else self.weights[some]
        values = None if self.values is None else self.values[some]
        return replace(self, codes=self.codes[some], weights=weights, values=values)

    def factor(self, rows: TrainingRows) -> Floats:
        """How well the rows fit, (evidence, rows), from 0 to 1."""
        if self.weights is None or self.within is not None:
            fits: Floats = (self.distance(rows) == 0).astype(np.float64)
            return fits
        scaled: Floats = self.weights / self.weights.max(axis=1, keepdims=True)
        factors: Floats = scaled[:, rows.codes[self.column]]
        return factors

    def distance(self, rows: TrainingRows) -> Array:
        """From 0, where a row fits, to 1, (evidence, rows)."""
        own = rows.codes[self.column]
        other: Array
        if self.within is not None and self.place is not None:
            one = self.within.distance(rows, self.place)
            return np.repeat(one[None], len(self.codes), axis=0)
        if self.weights is not None:
            other = (self.weights[:, own] == 0).astype(np.float32)
            return other
        other = (self.codes[:, None] != own).astype(np.float32)
        if self.place is None or self.values is None:
            return other
        apart = np.abs(rows.rank(self.place, self.values)[:, None] - rows.own_ranks[self.place])
        gaps = np.isnan(apart)
        return np.where(gaps, other, apart) if gaps.any() else apart

    def put_in(self, rows: TrainingRows, which: Ints, codes: Codes, numbers: Floats) -> None:
        """Write the evidence `which` into codes and numbers; what fits a set is kept."""
        if self.within is not None and self.place is not None:
            self._put_in_range(rows, self.within, self.place, codes, numbers)
            return
        own, state = codes[self.column], self.codes[which]
        fits = own == state if self.weights is None else self.weights[which, own] > 0
        codes[self.column] = np.where(fits, own, state)
        if self.place is not None:
            typical = rows.typical(self.place, self.codes)[which]
            inside = np.where(fits, numbers[self.place], typical)
            values = np.full(len(which), np.nan) if self.values is None else self.values[which]
            numbers[self.place] = np.where(np.isnan(values), inside, values)

    def _put_in_range(
        self, rows: TrainingRows, within: Within, place: int, codes: Codes, numbers: Floats
    ) -> None:
        """Write the number of the range that is nearest to that of each row."""
        outside = ~within.holds(numbers[place])
        if not outside.any():
            return
        typical = np.nanmedian(np.clip(rows.numbers[place], within.low, within.high))
        nearest = np.clip(numbers[place, outside], within.low, within.high)
        nearest = np.where(np.isnan(nearest), typical, nearest)
        numbers[place, outside] = nearest
        codes[self.column, outside] = np.searchsorted(within.cuts, nearest, side="right")


def read_column(
    column: int, variable: Variable, value: Any, place: int | None, shares: Floats | None
) -> ColumnEvidence:
    """Evidence on one column: a state, a number, a set, a range, or a mapping of states' weights.

    `place` is that among the columns of numbers. Of several states the most frequent by `shares`
    is put into rows that do not fit.
    """
    if isinstance(value, set | frozenset | list | tuple | Range | Mapping):
        weights = np.zeros((1, variable.card))
        if isinstance(value, Mapping):
            for state, weight in value.items():
                weights[0, variable.code(state)] = weight
        else:
            weights[0] = evidence_weights(variable, value)
        if not np.isfinite(weights).all() or weights.min() < 0 or weights.max() == 0:
            raise EvidenceError(
                f"the evidence on {variable.name!r} is {value!r}; one state or more is needed, "
                "with weights that are not negative and not all 0."
            )
        frequent = np.zeros(variable.card)
        frequent[: 0 if shares is None else len(shares)] = [] if shares is None else shares
        codes = (weights * (frequent + TINY)).argmax(axis=1)
        within = None
        if isinstance(value, Range) and place is not None and variable.cuts is not None:
            ends = (*value.ends(variable), value.include_low, value.include_high)
            within = Within(*ends, np.array(variable.cuts, dtype=np.float64))
        return ColumnEvidence(column, codes.astype(np.uint16), weights, place, within=within)
    value = None if is_missing(value) else value
    code = np.array([variable.code(value)], dtype=np.uint16)
    if place is None:
        return ColumnEvidence(column, code)
    numbers = column_numbers(columns_of({variable.name: [value]})[0], dated=variable.dated)
    interval = bool(np.isnan(numbers[0])) and variable.states[int(code[0])] is not None
    return ColumnEvidence(column, code, None, place, numbers, interval)
