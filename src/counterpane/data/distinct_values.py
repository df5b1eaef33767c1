"""Distinct numbers with their rows and weights, and how many different values there are."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import TypeAlias
from zlib import crc32

import numpy as np

from counterpane.typing import Array, Floats, Ints, State, Words

FEW = 16  # range of integers that are compared one by one
NARROW = 2**16  # range of integers that are tallied in an array
HASHES = 2**20  # kept of a column: up to so many distinct values their number is exact

Cells: TypeAlias = tuple[Array, Ints, Floats]
"""Distinct numbers, the rows of each, and the sum of their weights."""


def tally_numbers(values: Array, weights: Floats | None) -> Cells:
    """The distinct numbers, ascending, the rows of each, and the sum of their weights."""
    if not len(values):
        return values, np.empty(0, dtype=np.int64), np.empty(0)
    if values.dtype.kind in "iu":
        low, high = int(values.min()), int(values.max())
        if weights is None and high - low < FEW:
            rows = np.array([np.count_nonzero(values == v) for v in range(low, high + 1)])
            present = np.flatnonzero(rows)
            distinct = np.arange(low, high + 1, dtype=np.int64 if high < 2**63 else np.uint64)
            return distinct[present], rows[present], rows[present].astype(np.float64)
        if high - low < NARROW:
            places = places_from(values, low)
            rows = np.bincount(places)
            present = np.flatnonzero(rows)
            sums = rows if weights is None else np.bincount(places, weights)
            wide = np.int64 if high < 2**63 else np.uint64
            distinct = present.astype(wide) + wide(low)
            return distinct, rows[present], sums[present].astype(np.float64)
        values = values if high >= 2**63 else values.astype(np.int64)
    else:
        values = values + 0.0  # no −0
    if weights is not None:
        distinct, where, rows = np.unique(values, return_inverse=True, return_counts=True)
        return distinct, rows, np.bincount(where, weights, len(distinct)).astype(np.float64)
    ordered = np.sort(values)
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    rows = np.diff(np.append(starts, len(ordered)))
    return ordered[starts], rows, rows.astype(np.float64)


def places_from(values: Array, low: int) -> Ints:
    """How far integers are above the least of them; their own type may be too narrow for it."""
    if values.dtype == np.uint64:
        return (values - np.uint64(low)).astype(np.int64)
    places: Ints = values.astype(np.int32 if values.itemsize < 4 else np.int64)
    places -= low
    return places


def joined(parts: Sequence[Array]) -> Array:
    """Arrays end to end; integers beyond the signed ones stay integers beside others."""
    if any(part.dtype == np.uint64 for part in parts) and all(
        part.dtype.kind in "iu" and part.min(initial=0) >= 0 for part in parts
    ):
        parts = [part.astype(np.uint64) for part in parts]
    return np.concatenate(parts)


def grouped(cells: Cells, shift: int) -> Cells:
    """The cells of ascending numbers, those together that agree but for their last bits."""
    values, rows, weights = cells
    keys = ordered_bits(values) >> np.uint64(shift) if shift else values
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    return values[starts], np.add.reduceat(rows, starts), np.add.reduceat(weights, starts)


def ordered_bits(values: Array) -> Words:
    """Unsigned integers that are ordered as the numbers are."""
    if values.dtype == np.uint64:
        return values
    if values.dtype.kind in "iu":
        return values.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63)
    bits = (values + 0.0).view(np.uint64)
    top = np.uint64(1 << 63)
    ordered: Words = np.where(bits & top, ~bits, bits | top)
    return ordered


class DistinctCount:
    """The number of different values, by their hashes: exact up to `limit`, else within 1/√limit.

    The least hashes are kept: their share of all that there can be tells how many there are.
    """

    def __init__(self, limit: int = HASHES) -> None:
        self.limit, self._least, self._full = limit, np.empty(0, dtype=np.uint64), False
        self._new: list[Words] = []
        self._n_new = 0

    def add(self, hashes: Words) -> None:
        """Add hashes of values, in any order."""
        self._new.append(hashes[hashes <= self._least[-1]] if self._full else hashes)
        self._n_new += len(self._new[-1])
        if self._n_new > self.limit // 4:
            self._merge()

    def __add__(self, other: DistinctCount) -> DistinctCount:
        both = copy.deepcopy(self)
        other._merge()
        both.add(other._least)
        both._merge()
        both._full |= other._full
        return both

    @property
    def n(self) -> int:
        """The number of values; an estimate has three digits."""
        self._merge()
        if not self._full:
            return len(self._least)
        n = (len(self._least) - 1) * 2.0**64 / float(self._least[-1])
        return int(float(f"{n:.3g}"))

    def _merge(self) -> None:
        if self._new:
            least = np.unique(np.concatenate([self._least, *self._new]))
            self._full |= len(least) > self.limit
            self._least, self._new, self._n_new = least[: self.limit], [], 0


def mixed(words: Words) -> Words:
    """Words whose bits are mixed, each in its own way: hashes of them."""
    for shift, factor in ((31, 0x9E3779B97F4A7C15), (29, 0xBF58476D1CE4E5B9), (32, 1)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words


def text_hashes(texts: Iterable[State]) -> Words:
    """Hashes of texts, the same in each process."""
    cells = [str(text).encode("utf-8", "surrogatepass") for text in texts]
    words = [crc32(cell) << 32 | crc32(cell[::-1]) for cell in cells]
    return mixed(np.array(words, dtype=np.uint64))
