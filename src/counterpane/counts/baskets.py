"""Counts of baskets by their lists: only the rows that have one of the columns are looked at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

import numpy as np

from counterpane._core import counts as kernels
from counterpane.counts.layout import MAX_CELLS, CountBatch, Scope
from counterpane.counts.source import (
    CountSource,
    Policy,
    checked_layout,
    finish_counts,
    positions,
)
from counterpane.counts.tasks import CodeBlock, sum_over_blocks
from counterpane.data.baskets import Baskets
from counterpane.data.table import Table
from counterpane.errors import TableSizeError
from counterpane.progress import Control
from counterpane.typing import Codes, Ints, Words

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
        return sum_over_blocks(fn, self._blocks(list(columns)), n_rows=self.n_rows, ctl=ctl)[0]

    def _blocks(self, columns: list[int]) -> Generator[CodeBlock, None, None]:
        """The rows of some columns, written out."""
        n_rows, lists = self.baskets.n_rows, self.baskets.lists
        listed = [lists.item_rows[lists.item_from[c] : lists.item_from[c + 1]] for c in columns]
        step = max(1, BLOCK_CELLS // max(1, len(columns)))
        for first in range(0, n_rows, step):
            stop = min(first + step, n_rows)
            codes: Codes = np.zeros((len(columns), stop - first), dtype=np.uint8)
            for place, rows in enumerate(listed):
                begin, end = np.searchsorted(rows, (first, stop))
                codes[place, rows[begin:end] - first] = 1
            yield codes, None

    def counts(
        self, subsets: Iterable[Scope], *, missing: Policy = "drop", max_cells: int = MAX_CELLS,
        ctl: Control | None = None,
    ) -> CountBatch:  # fmt: skip
        layout = checked_layout(self, subsets, missing, max_cells)
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
        return finish_counts(self, layout, values, missing, scans=1, ctl=ctl)

    def distinct(
        self, columns: Scope, *, limit: int | None = None, ctl: Control | None = None
    ) -> Table:
        where = positions(self, columns)
        if len(where) > MOST_COLUMNS:
            row_bytes = len(where) + 8
            if limit is not None and limit < self.baskets.n_rows:
                raise TableSizeError(
                    f"{self.n_rows:,} rows of {len(where):,} items take {row_bytes:,} bytes each."
                )
            return super().distinct(where, limit=limit, ctl=ctl)
        patterns, weights = self.patterns(np.array(where[::-1], dtype=np.int64))
        if limit is not None and len(weights) > limit:
            raise TableSizeError(f"there are more than {limit:,} distinct rows.")
        shifts = np.arange(len(where), dtype=np.uint64)[::-1]
        codes = (patterns[None, :] >> shifts[:, None] & np.uint64(1)).astype(np.uint8)
        return Table(self.schema.select(where), codes, weights)

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
