"""What evidence says of one column, for many rows of evidence at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpane.models.kept_rows import KeptRows
from counterpane.typing import Array, Codes, Floats, Ints


@dataclass(frozen=True, eq=False)
class ColumnEvidence:
    """What several pieces of evidence say of one column: a state, or a weight for each state.

    `weights`, (evidence, states), are 1 for each state of a set, or likelihoods; `codes` is then
    the state that is put into rows that do not fit. Of a column of numbers, which is at `place`
    among them, `values` are the numbers, NaN where only the state is known.
    """

    column: int
    codes: Codes  # (evidence,)
    weights: Floats | None = None
    place: int | None = None
    values: Floats | None = None
    intervals: bool = False  # whether some values are NaN where the state is not that of missing

    @property
    def is_point(self) -> bool:
        """Whether all of the evidence is one state, or one number where there are numbers."""
        return self.weights is None and not self.intervals

    def take(self, some: slice | Ints) -> ColumnEvidence:
        """Some pieces of evidence."""
        weights = None if self.weights is None else self.weights[some]
        values = None if self.values is None else self.values[some]
        return ColumnEvidence(
            self.column, self.codes[some], weights, self.place, values, self.intervals
        )

    def factor(self, rows: KeptRows) -> Floats:
        """How well the rows fit, (evidence, rows), from 0 to 1."""
        if self.weights is None:
            fits: Floats = (self.distance(rows) == 0).astype(np.float64)
            return fits
        scaled: Floats = self.weights / self.weights.max(axis=1, keepdims=True)
        factors: Floats = scaled[:, rows.codes[self.column]]
        return factors

    def distance(self, rows: KeptRows) -> Array:
        """From 0, where a row fits, to 1, (evidence, rows)."""
        own = rows.codes[self.column]
        other: Array
        if self.weights is not None:
            other = (self.weights[:, own] == 0).astype(np.float32)
            return other
        other = (self.codes[:, None] != own).astype(np.float32)
        if self.place is None or self.values is None:
            return other
        apart = np.abs(rows.rank(self.place, self.values)[:, None] - rows.own_ranks[self.place])
        gaps = np.isnan(apart)
        return np.where(gaps, other, apart) if gaps.any() else apart

    def put_in(self, rows: KeptRows, which: Ints, codes: Codes, numbers: Floats) -> None:
        """Write the evidence `which` into codes and numbers; what fits a set is kept."""
        own, state = codes[self.column], self.codes[which]
        fits = own == state if self.weights is None else self.weights[which, own] > 0
        codes[self.column] = np.where(fits, own, state)
        if self.place is not None:
            typical = rows.typical(self.place, self.codes)[which]
            inside = np.where(fits, numbers[self.place], typical)
            values = np.full(len(which), np.nan) if self.values is None else self.values[which]
            numbers[self.place] = np.where(np.isnan(values), inside, values)
