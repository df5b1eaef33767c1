"""Training rows that a classifier keeps, to average over the columns that evidence leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from counterpane.data.schema import Schema, code_dtype
from counterpane.errors import DataError
from counterpane.typing import Array, Codes, Floats, Ints

MAX_ROWS = 2**15
MAX_BYTES = 2**22  # of the cells


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
        found = []
        for row in self.numbers:
            known = ~np.isnan(row)
            values, where = np.unique(row[known], return_inverse=True)
            sums = np.bincount(where, self.weights[known], len(values))
            found.append((values, np.append(0.0, np.cumsum(sums)) / max(float(sums.sum()), 1e-300)))
        return tuple(found)

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
        found: Floats = sums / sums.sum()
        return found

    def typical(self, place: int, codes: Codes) -> Floats:
        """The median of the numbers in each state of a column; of all where it has none."""
        own, row = self.codes[self.numeric[place]], self.numbers[place]
        states, back = np.unique(codes, return_inverse=True)
        each = [row[own == s] if (own == s).any() else row[~np.isnan(row)] for s in states]
        medians = [float(np.median(numbers)) if len(numbers) else np.nan for numbers in each]
        return np.array(medians)[back]

    def first(self, size: int) -> TrainingRows:
        """The first rows; ranks of numbers stay those among all rows."""
        if size >= len(self):
            return self
        codes, numbers = self.codes[:, :size], self.numbers[:, :size]
        some = TrainingRows(codes, self.numeric, numbers, self.weights[:size], self.seen)
        vars(some).update(ranks=self.ranks, own_ranks=self.own_ranks[:, :size])
        return some

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
    def from_arrays(cls, schema: Schema, numeric: Ints, arrays: Mapping[str, Array]) -> Self:
        """The rows that `to_arrays` described; `schema` is that of the features."""
        weights = arrays["weights"]
        dtype = code_dtype(schema.cards).newbyteorder("<")
        size = len(schema) * len(weights)
        cells = np.frombuffer(arrays["codes"].astype("<i8").tobytes(), dtype=dtype)
        if len(arrays["codes"]) != -(-size * dtype.itemsize // 8):
            raise DataError(f"{len(weights)} kept rows do not fill their {len(cells)} cells.")
        codes = cells[:size].reshape(len(schema), -1).astype(dtype.newbyteorder("="))
        if (codes >= schema.cards[:, None]).any():
            raise DataError("kept rows hold codes beyond the states of their columns.")
        return cls(codes, numeric, arrays["numbers"], weights, int(arrays["seen"][0]))


def keep_rows(
    codes: Codes, cards: Ints, numeric: Ints, numbers: Floats, weights: Floats
) -> TrainingRows:
    """The rows to keep of distinct rows in order: all, or a systematic sample by weight.

    At most `MAX_ROWS` rows and `MAX_BYTES` of cells are kept. The sample takes a row at equal steps
    along the sum of the weights, so that shares of states among the rows that it keeps are close
    to those among all rows.
    """
    narrow = code_dtype(cards)
    each = narrow.itemsize * len(codes) + 8 * (len(numeric) + 1)
    most = min(MAX_ROWS, MAX_BYTES // each)
    n = len(weights)
    some, kept = np.arange(n), weights
    if n > most:
        step = weights.sum() / most
        ends = np.floor(np.cumsum(weights) / step + 0.5)
        hits = np.diff(ends, prepend=0.0)
        some = np.flatnonzero(hits)
        kept = hits[some] * step
    order = np.random.default_rng(0).permutation(len(some))
    some = some[order]
    return TrainingRows(codes[:, some].astype(narrow), numeric, numbers[:, some], kept[order], n)


def _words(data: bytes) -> Ints:
    """Bytes as whole words, the last filled up with zeros."""
    filled = data + bytes(-len(data) % 8)
    return np.frombuffer(filled, dtype="<i8").astype(np.int64)
