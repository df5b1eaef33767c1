"""The parts of a sum of boxes that belong to each set of columns, purified.

A box is an indicator Π_j 1_j of bins of few columns, times a value for each score. With p_j the
share of rows that are in the box by column j, Π_j (1_j − p_j + p_j) is a sum over sets T of columns
of Π_{j in T} (1_j − p_j) Π_{j not in T} p_j. The part of T, summed over boxes, has the mean zero
over each of its columns; all parts together are the boxes.
"""

from __future__ import annotations

import math
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
        n_rows, n_scores = len(bins), self.values.shape[1]
        which = self.holders.get(columns)
        if which is not None and among is not None:
            which = which[among[which]]
        if which is None or not n_rows:
            return np.zeros((n_rows, n_scores))
        at = [np.unique(bins[:, c]) for c in columns]
        entries = math.prod(len(bins_of) + 1 for bins_of in at) * n_scores
        direct = n_rows * len(which) * (len(columns) + n_scores)
        if entries > MOST_ENTRIES or entries * (2 * len(columns) + 1) > direct:
            return self._box_by_box(columns, which, bins)
        table = self._table(columns, which, at)
        cells = tuple(np.searchsorted(b, bins[:, c]) for b, c in zip(at, columns, strict=True))
        return table[cells] if columns else np.repeat(table[None], n_rows, axis=0)

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

    def _box_by_box(self, columns: Columns, which: Ints, bins: Array) -> Floats:
        boxes = kernels.Boxes(self.boxes.columns[which], self.boxes.bins[which])
        inside = np.isin(boxes.columns, columns)
        subsets = inside @ (1 << np.arange(inside.shape[1]))
        parts = np.full((len(which), 1 << inside.shape[1]), -1, dtype=np.int64)
        parts[np.arange(len(which)), subsets] = 0
        out: Floats = np.zeros((1, len(bins), self.values.shape[1]))
        kernels.add_parts(bins, boxes, self.shares[which], self.values[which], parts, out)
        total: Floats = out[0]
        return total
