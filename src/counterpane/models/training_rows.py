"""Training rows that a classifier keeps, and what evidence says about a column of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from counterpane.data.columns import columns_of, is_missing
from counterpane.data.encoding import column_numbers
from counterpane.data.ranges import Range
from counterpane.data.schema import Schema, Variable, code_dtype
from counterpane.errors import DataError, EvidenceError
from counterpane.models.evidence import evidence_weights
from counterpane.typing import Array, Bools, Codes, Floats, Ints

MAX_ROWS = 2**15
MAX_BYTES = 2**22  # of the cells
TINY = 1e-9


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Distinct rows with their weights; `seen` is the number of distinct rows in training.

    `codes` are those of the schema's states, also of the columns of numbers at the positions
    `numeric`, whose values are `numbers`, NaN where missing. The order of the rows is random, by a
    fixed seed, so that the first of them represent all.
    """

    codes: Codes  # (features, rows)
    numeric: Ints
    numbers: Floats  # (columns of numbers, rows)
    weights: Floats
    seen: int

    def __post_init__(self) -> None:
        rows = self.codes.shape[1] if self.codes.ndim == 2 else 0
        shapes = self.numbers.shape == (len(self.numeric), rows) and self.weights.shape == (rows,)
        if not rows or not shapes or self.seen < rows:
            raise DataError(
                f"kept rows of shape {self.codes.shape}, numbers {self.numbers.shape} and weights "
                f"{self.weights.shape} of {self.seen} rows do not fit each other."
            )
        if not (np.isfinite(self.weights) & (self.weights > 0)).all():
            raise DataError("kept rows have weights that are not positive.")

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def unit(self) -> float:
        """What one row weighs: 1, or the mean of the weights where that is smaller."""
        return min(1.0, float(self.weights.mean()))

    @cached_property
    def ranks(self) -> tuple[tuple[Floats, Floats], ...]:
        """The rising values of each column of numbers, and the share of weight below each end.

        A value that is the j-th has the rank (shares[j] + shares[j + 1]) / 2.
        """
        columns = []
        for row in self.numbers:
            known = ~np.isnan(row)
            values, where = np.unique(row[known], return_inverse=True)
            sums = np.bincount(where, self.weights[known], len(values))
            columns.append(
                (values, np.append(0.0, np.cumsum(sums)) / max(float(sums.sum()), 1e-300))
            )
        return tuple(columns)

    def rank(self, place: int, numbers: Floats) -> Array:
        """The share of the known weight below each number, its equals by half; NaN stays."""
        values, shares = self.ranks[place]
        low = shares[np.searchsorted(values, numbers, side="left")]
        high = shares[np.searchsorted(values, numbers, side="right")]
        ranks: Floats = np.where(np.isnan(numbers), np.nan, (low + high) / 2)
        return ranks.astype(np.float32)  # so are distances, and equal numbers are 0 apart

    @cached_property
    def own_ranks(self) -> Array:
        """The ranks of all numbers of the rows, in the shape of `numbers`."""
        each = [self.rank(place, row) for place, row in enumerate(self.numbers)]
        return np.array(each, dtype=np.float32).reshape(self.numbers.shape)

    def shares(self, column: int) -> Floats:
        """The share of each state of a column, as far as the last that occurs."""
        sums = np.bincount(self.codes[column], self.weights)
        shares: Floats = sums / sums.sum()
        return shares

    def typical(self, place: int, codes: Codes) -> Floats:
        """The median of the numbers in each state of a column; of all where it has none."""
        of_rows, row = self.codes[self.numeric[place]], self.numbers[place]
        states, back = np.unique(codes, return_inverse=True)
        each = [row[of_rows == s] if (of_rows == s).any() else row[~np.isnan(row)] for s in states]
        medians = [float(np.median(numbers)) if len(numbers) else np.nan for numbers in each]
        return np.array(medians)[back]

    def first(self, size: int) -> TrainingRows:
        """The first rows; ranks of numbers stay those among all rows."""
        if size >= len(self):
            return self
        codes, numbers = self.codes[:, :size], self.numbers[:, :size]
        rows = TrainingRows(codes, self.numeric, numbers, self.weights[:size], self.seen)
        vars(rows).update(ranks=self.ranks, own_ranks=self.own_ranks[:, :size])
        return rows

    def to_arrays(self) -> dict[str, Array]:
        """All of it as int64 and float64 arrays; codes of several rows share a word."""
        narrow = self.codes.astype(self.codes.dtype.newbyteorder("<"))
        return {
            "codes": _words(narrow.tobytes()),
            "numbers": self.numbers,
            "weights": self.weights,
            "seen": np.array([self.seen], dtype=np.int64),
        }

    @classmethod
    def from_arrays(
        cls, schema: Schema, numeric: Ints, arrays: Mapping[str, Array], *, missing: bool = False
    ) -> Self:
        """The rows that `to_arrays` described; `schema` is that of their columns.

        With `missing`, cells may be missing: their code is the card.
        """
        weights = arrays["weights"]
        dtype = code_dtype(schema.cards).newbyteorder("<")
        size = len(schema) * len(weights)
        cells = np.frombuffer(arrays["codes"].astype("<i8").tobytes(), dtype=dtype)
        if len(arrays["codes"]) != -(-size * dtype.itemsize // 8):
            raise DataError(f"{len(weights)} kept rows do not fill their {len(cells)} cells.")
        codes = cells[:size].reshape(len(schema), -1).astype(dtype.newbyteorder("="))
        if (codes >= schema.cards[:, None] + missing).any():
            raise DataError("kept rows hold codes beyond the states of their columns.")
        return cls(codes, numeric, arrays["numbers"], weights, int(arrays["seen"][0]))


def keep_rows(
    codes: Codes, cards: Ints, numeric: Ints, numbers: Sequence[Floats] | Floats, weights: Floats
) -> TrainingRows:
    """The rows to keep of rows in order, such as distinct ones: all, or a sample by weight.

    At most `MAX_ROWS` rows and `MAX_BYTES` of cells are kept. The sample takes a row at equal steps
    along the sum of the weights, so that shares of states among the rows that it keeps are close
    to those among all rows.
    """
    narrow = code_dtype(cards)
    row_bytes = narrow.itemsize * len(codes) + 8 * (len(numeric) + 1)
    most = min(MAX_ROWS, MAX_BYTES // row_bytes)
    chosen = np.flatnonzero(weights > 0)
    n, totals = len(chosen), weights[chosen]
    if n > most:
        step = weights.sum() / most
        ends = np.floor(np.cumsum(weights) / step + 0.5)
        hits = np.diff(ends, prepend=0.0)
        chosen = np.flatnonzero(hits)
        totals = hits[chosen] * step
    order = np.random.default_rng(0).permutation(len(chosen))
    chosen = chosen[order]
    kept = np.array([row[chosen] for row in numbers]).reshape(len(numeric), len(chosen))
    return TrainingRows(codes[:, chosen].astype(narrow), numeric, kept, totals[order], n)


def _words(data: bytes) -> Ints:
    """Bytes as whole words, the last filled up with zeros."""
    filled = data + bytes(-len(data) % 8)
    return np.frombuffer(filled, dtype="<i8").astype(np.int64)


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

    def take(self, pieces: slice | Ints) -> ColumnEvidence:
        """Some pieces of evidence."""
        weights = None if self.weights is None else self.weights[pieces]
        values = None if self.values is None else self.values[pieces]
        return replace(self, codes=self.codes[pieces], weights=weights, values=values)

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
        states, state = codes[self.column], self.codes[which]
        fits = states == state if self.weights is None else self.weights[which, states] > 0
        codes[self.column] = np.where(fits, states, state)
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
