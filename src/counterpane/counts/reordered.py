"""A source with its columns in another order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from counterpane.counts.batch import MAX_CELLS, CountBatch, PairCounts, Scope
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource, Policy
from counterpane.data.table import Table
from counterpane.progress import Control


def reordered(source: CountSource, order: Sequence[int]) -> CountSource:
    """`source` with column `order[i]` at place i; bit sets already packed are shared."""
    if isinstance(source, MemoryCounts):
        moved = MemoryCounts(source.table.select(list(order)), n_jobs=source.n_jobs)
        moved.bits = source.bits.reordered(moved.table.codes, list(order))
        return moved
    return ReorderedCounts(source, order)


class ReorderedCounts(CountSource):
    """Passes every question on, with the columns renumbered."""

    def __init__(self, source: CountSource, order: Sequence[int]) -> None:
        self._source = source
        self._order = list(order)
        self.schema = source.schema.select(self._order)
        self.has_missing = source.has_missing[self._order]
        self.n_rows = source.n_rows
        self.total_weight = source.total_weight

    def _there(self, columns: Scope) -> list[int]:
        return [self._order[c] for c in self.positions(columns)]

    def map_reduce(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        return self._source.map_reduce(fn, self._there(columns), ctl=ctl)

    def counts(
        self,
        subsets: Iterable[Scope],
        *,
        missing: Policy = "drop",
        max_cells: int = MAX_CELLS,
        ctl: Control | None = None,
    ) -> CountBatch:
        asked = [self._there(s) for s in subsets]
        return self._source.counts(asked, missing=missing, max_cells=max_cells, ctl=ctl)

    def pair_counts(
        self,
        columns: Scope | None = None,
        *,
        against: Scope | None = None,
        ctl: Control | None = None,
    ) -> PairCounts:
        left = self._there(range(len(self.schema)) if columns is None else columns)
        right = None if against is None else self._there(against)
        return self._source.pair_counts(left, against=right, ctl=ctl)

    def distinct(
        self, columns: Scope, *, limit: int | None = None, ctl: Control | None = None
    ) -> Table:
        return self._source.distinct(self._there(columns), limit=limit, ctl=ctl)
