"""Counts of baskets by their lists: only the rows that have one of the columns are looked at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from counterpane._core import counts as kernels
from counterpane.counts.layout import CountBatch, CountLayout
from counterpane.counts.source import CountSource, Policy
from counterpane.data.baskets import Baskets
from counterpane.data.table import Table
from counterpane.errors import TableSizeError
from counterpane.progress import Control
from counterpane.typing import Array, Codes, Ints, Words

MOST_COLUMNS = 63  # whose sets are bits of one number
BLOCK_CELLS = 2**24  # of rows that are written out at a time


class BasketCounts(CountSource):
    """Counts of `Baskets`, in memory proportional to their entries.

    Parameters
    ----------
    baskets : Baskets
        The rows.

    Examples
    --------
    >>> from counterpane.data.baskets import read_baskets
    >>> source = BasketCounts(read_baskets([["tea", "jam"], ["tea"], []]))
    >>> source.counts([["jam", "tea"]])[0].tolist()
    [[1, 1], [0, 1]]
    """

    def __init__(self, baskets: Baskets) -> None:
        self.baskets = baskets
        self.schema = baskets.schema
        self.has_missing = np.zeros(baskets.n_columns, dtype=bool)
        self.n_rows = baskets.n_rows
        self.total_weight = float(baskets.n_rows)
        self._own = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        """The attributes that another process needs: without the scratch memory of threads."""
        return {name: value for name, value in vars(self).items() if name != "_own"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _own=threading.local())

    def map_reduce(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        where = np.array(columns, dtype=np.int64)
        step = max(1, BLOCK_CELLS // max(1, len(where)))
        total = None
        for first in range(0, self.baskets.n_rows, step):
            stop = min(first + step, self.baskets.n_rows)
            part = fn(self._block(where, first, stop), None)
            total = part if total is None else total + part
            if ctl is not None:
                ctl.report("counting rows", stop, self.n_rows)
        return total

    def _block(self, columns: Ints, first: int, stop: int) -> Codes:
        """The rows first … stop − 1 of some columns, written out."""
        codes: Codes = np.zeros((len(columns), stop - first), dtype=np.uint8)
        for place, rows in enumerate(self._rows_of(columns)):
            begin, end = np.searchsorted(rows, (first, stop))
            codes[place, rows[begin:end] - first] = 1
        return codes

    def _rows_of(self, columns: Ints) -> list[Array]:
        lists = self.baskets.lists
        return [lists.item_rows[lists.item_from[c] : lists.item_from[c + 1]] for c in columns]

    def _counts(
        self, layout: CountLayout, missing: Policy, max_cells: int, ctl: Control | None
    ) -> CountBatch:
        values: Ints = np.zeros(layout.n_cells, dtype=np.int64)
        for q in layout.dense.tolist():
            scope = layout.scope(q)
            cells = values[layout.out_from[q] : layout.out_from[q + 1]]
            if len(scope) == 1:
                ones = self.baskets.counts[scope[0]]
                cells[:] = self.baskets.n_rows - ones, ones
                continue
            patterns, weights = self.patterns(scope[::-1].copy())  # the last axis is bit 0
            cells[patterns.astype(np.int64)] = weights
        sparse = self._sparse_tables(layout, missing, ctl)
        return self._settle(layout, values, sparse, 1, missing)

    def _distinct(self, columns: list[int], limit: int | None, ctl: Control | None) -> Table:
        if len(columns) > MOST_COLUMNS:
            row_bytes = len(columns) + 8
            if limit is not None and limit < self.baskets.n_rows:
                raise TableSizeError(
                    f"{self.n_rows:,} rows of {len(columns):,} items take {row_bytes:,} bytes each."
                )
            return super()._distinct(columns, limit, ctl)
        patterns, weights = self.patterns(np.array(columns[::-1], dtype=np.int64))
        if limit is not None and len(weights) > limit:
            raise TableSizeError(f"there are more than {limit:,} distinct rows.")
        shifts = np.arange(len(columns), dtype=np.uint64)[::-1]
        codes = (patterns[None, :] >> shifts[:, None] & np.uint64(1)).astype(np.uint8)
        return Table(self.schema.select(columns), codes, weights)

    def patterns(self, columns: Ints) -> tuple[Words, Ints]:
        """The distinct rows of some columns, bit c for columns[c], sorted, and their numbers."""
        touched = int(self.baskets.counts[columns].sum())
        room = 1 + min(touched, 2 ** min(len(columns), MOST_COLUMNS) - 1)
        if not hasattr(self._own, "marks"):
            self._own.marks = np.zeros(self.baskets.n_rows, dtype=np.uint64)
        patterns: Words = np.empty(room, dtype=np.uint64)
        weights: Ints = np.empty(room, dtype=np.int64)
        n = kernels.count_patterns(self.baskets.lists, columns, self._own.marks, patterns, weights)
        return patterns[:n], weights[:n]
