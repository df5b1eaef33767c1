"""The parts of a sum of boxes that belong to each set of columns, purified.

A box is an indicator Π_j 1_j of bins of few columns, times a value for each score. With p_j the
share of rows that are in the box by column j, Π_j (1_j − p_j + p_j) is a sum over sets T of columns
of Π_{j in T} (1_j − p_j) Π_{j not in T} p_j. The part of T, summed over boxes, has the mean zero
over each of its columns; all parts together are the boxes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from counterpane._core import boosting as kernels
from counterpane.ragged import join
from counterpane.typing import Array, Bools, Floats, Ints

Columns = tuple[int, ...]

MOST_ENTRIES = 2**23  # of a table that is laid out


@dataclass(frozen=True, eq=False)
class BoxParts:
    """Boxes, their values (boxes, scores), and the share of rows in each by each of its columns."""

    boxes: kernels.Boxes
    values: Array
    shares: Floats

    @cached_property
    def holders(self) -> dict[Columns, Ints]:
        """The sets of columns that have a part, each with the boxes over all its columns."""
        if not len(self.boxes.columns):
            return {(): np.empty(0, dtype=np.int64)}
        sets, where = np.unique(self.boxes.columns, axis=0, return_inverse=True)
        order = np.argsort(where.reshape(-1), kind="stable")
        ends = np.searchsorted(where.reshape(-1)[order], np.arange(1, len(sets)))
        lists: dict[Columns, list[Ints]] = {}
        for row, places in zip(sets.tolist(), np.split(order, ends), strict=True):
            columns = [c for c in row if c >= 0]
            for size in range(len(columns) + 1):
                for subset in combinations(columns, size):
                    lists.setdefault(subset, []).append(places)
        return {subset: np.concatenate(lists[subset]) for subset in lists}

    def part(self, columns: Columns, bins: Array, among: Bools | None = None) -> Floats:
        """What a set of columns adds to the scores of rows of bins, (rows, scores).

        By a table over the bins that occur, or box by box where that is less work. `among` tells
        which boxes count; by default all do.
        """
        which = self.holders.get(columns)
        if which is not None and among is not None:
            which = which[among[which]]
        if which is None or not len(bins):
            return np.zeros((len(bins), self.values.shape[1]))
        at = {c: np.unique(bins[:, c]) for c in columns}
        if self._table_pays(columns, which, at, len(bins)):
            return self._by_table(columns, which, at, bins)
        part: Floats = self._box_by_box([columns], bins, which)[0]
        return part

    def all_parts(self, bins: Array) -> Iterator[tuple[Columns, Floats]]:
        """(set of columns, its part) of all sets; those that are summed box by box are together."""
        if not len(bins):
            yield from ((columns, self.part(columns, bins)) for columns in self.holders)
            return
        at = {c: np.unique(column) for c, column in enumerate(bins.T)}
        direct = []
        for columns, which in self.holders.items():
            if self._table_pays(columns, which, at, len(bins)):
                yield columns, self._by_table(columns, which, at, bins)
            else:
                direct.append(columns)
        size = max(1, MOST_ENTRIES // (len(bins) * self.values.shape[1]))
        for low in range(0, len(direct), size):
            sets = direct[low : low + size]
            which = np.unique(np.concatenate([self.holders[columns] for columns in sets]))
            yield from zip(sets, self._box_by_box(sets, bins, which), strict=True)

    def _table_pays(self, columns: Columns, which: Ints, at: Mapping[int, Array], n: int) -> bool:
        """Whether a table over the bins that occur is less work than n rows, box by box."""
        n_scores = self.values.shape[1]
        entries = math.prod(len(at[c]) + 1 for c in columns) * n_scores
        direct = n * len(which) * (len(columns) + n_scores)
        return bool(entries <= MOST_ENTRIES and entries * (2 * len(columns) + 1) <= direct)

    def _by_table(
        self, columns: Columns, which: Ints, at: Mapping[int, Array], bins: Array
    ) -> Floats:
        table = self._table(columns, which, [at[c] for c in columns])
        cells = tuple(np.searchsorted(at[c], bins[:, c]) for c in columns)
        return table[cells] if columns else np.repeat(table[None], len(bins), axis=0)

    def _table(self, columns: Columns, which: Ints, at: list[Array]) -> Floats:
        """The part by cell: bins `at` of each column, then scores."""
        shape = (*(len(bins_of) + 1 for bins_of in at), self.values.shape[1])
        out = np.zeros((math.prod(shape[:-1]), shape[-1]))
        face = np.array(columns, dtype=np.int64)
        kernels.add_edges(
            self.boxes, self.shares, self.values, which, face, *join(at, np.int64), out
        )
        table: Floats = out.reshape(shape)
        for axis in range(len(columns)):
            ahead = np.moveaxis(table, axis, 0)
            table = np.moveaxis(np.cumsum(ahead[:-1], axis=0) - ahead[-1:], 0, axis)
        return table

    def _box_by_box(self, sets: Sequence[Columns], bins: Array, which: Ints) -> Floats:
        """The parts of some sets of columns, (sets, rows, scores), by some of the boxes."""
        boxes = kernels.Boxes(self.boxes.columns[which], self.boxes.bins[which])
        kinds, kind = np.unique(boxes.columns, axis=0, return_inverse=True)
        place = {columns: k for k, columns in enumerate(sets)}
        parts = np.full((len(kinds), 1 << boxes.columns.shape[1]), -1, dtype=np.int64)
        for row, columns in zip(parts, kinds.tolist(), strict=True):
            known = [(1 << j, c) for j, c in enumerate(columns) if c >= 0]
            subsets: list[tuple[int, Columns]] = [(0, ())]
            for bit, c in known:  # columns rise, and so do those of subsets
                subsets += [(bits | bit, (*subset, c)) for bits, subset in subsets]
            for bits, subset in subsets:
                row[bits] = place.get(subset, -1)
        out: Floats = np.zeros((len(sets), len(bins), self.values.shape[1]))
        kernels.add_parts(
            bins, boxes, self.shares[which], self.values[which], parts[kind.reshape(-1)], out
        )
        return out
