"""A view of a source: its columns in another order, a policy for its missing cells, or both.

A missing cell has the code `card`, which is the code of a state added at the end: rows pass through
as they are, and counts of the source have this state on every axis, or on none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from counterpane.counts.baskets import BasketCounts
from counterpane.counts.candidates import CandidateCounter
from counterpane.counts.layout import (
    MAX_BATCH_CELLS,
    MAX_CELLS,
    CountBatch,
    PairCounts,
    Scope,
)
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import (
    CountSource,
    Policy,
    checked_layout,
    checked_pairs,
    finish_counts,
    positions,
    threads_of,
)
from counterpane.counts.tasks import ApplyTask, CompleteTask, MissingCellsTask, block_size
from counterpane.data.table import Table, with_missing_state
from counterpane.errors import DataError, Setting, TableSizeError
from counterpane.progress import Control
from counterpane.typing import Array, Bools

COMPLETE_ROWS = 2**16  # distinct complete rows that are held in memory
COMPLETE_CELLS = 2**24  # cells of them, whatever the number of columns


def reorder_columns(source: CountSource, order: Sequence[int]) -> CountSource:
    """Return `source` with column `order[i]` at place i; bit sets already packed are shared."""
    if isinstance(source, MemoryCounts | CandidateCounter):
        return source.reorder_columns(order)
    return SourceView(source, order)


def with_missing_policy(source: CountSource, missing: Policy) -> CountSource:
    """Return `source` without missing cells, as `Table.resolve_missing(missing)` of its rows has.

    Costs a scan if the source may hold missing cells, another if it does not know.

    >>> table = Table.from_frame({"a": ["x", "y", None], "b": [0, 1, 1]})
    >>> from counterpane.counts.stream import StreamCounts
    >>> source = with_missing_policy(StreamCounts(table.schema, lambda: [table]), "state")
    >>> source.schema["a"].states, source.counts([["a", "b"]])[0].tolist()
    (('x', 'y', None), [[1, 0], [0, 1], [0, 1]])
    """
    if isinstance(source, BasketCounts):
        return source
    if source.table is not None:
        if not source.has_missing.any():
            return source
        rows = source.table.resolve_missing(missing)
        if isinstance(source, CandidateCounter):
            return source.count_table(rows)
        return MemoryCounts(rows, n_jobs=threads_of(source))
    if isinstance(source, SourceView) and source.missing is not None:
        return source
    return SourceView(source, missing=missing)


class SourceView(CountSource):
    """A source with its columns in another order, or with a policy for missing cells, or both.

    Column i of the view is column `order[i]` of `source`. `missing` is the policy:

    - None: missing cells stay as they are.
    - "state": a missing cell is the last state, None, of each column that has some.
    - "drop": only the rows without a missing cell in any column of `source` count. If weights are
      whole numbers and the distinct rows are few, these are held in memory.
    - "error": a missing cell raises.

    `gaps` marks the columns that have missing cells in `source`. The counts of single columns are
    kept: they show which columns these are, and every learner asks for them again.
    """

    def __init__(
        self,
        source: CountSource,
        order: Sequence[int] | None = None,
        *,
        missing: Policy | None = None,
    ) -> None:
        self._source = source
        self._order = list(range(len(source.schema)) if order is None else order)
        self._complete: MemoryCounts | None = None
        gaps: Bools = np.zeros(len(source.schema), dtype=bool)
        if missing is not None and (source.has_missing.any() or source.n_rows is None):
            gaps = self._find_gaps()
        if missing == "error" and gaps.any():
            raise DataError(
                f"column {source.schema.names[int(np.argmax(gaps))]!r} has missing cells; pass ",
                Setting("missing", "state"),
                " or ",
                Setting("missing", "drop"),
                ".",
            )
        self.missing = missing if missing is None or gaps.any() else "state"
        self.gaps: Bools = gaps[self._order]
        self._dropped = np.flatnonzero(gaps).tolist() if self.missing == "drop" else []
        has_missing = source.has_missing if missing is None else np.zeros_like(gaps)
        self.has_missing = has_missing[self._order]
        schema = source.schema
        if self.missing == "state" and gaps.any():
            schema = with_missing_state(schema, gaps)
        self.schema = schema.select(self._order)
        self.n_rows, self.total_weight = source.n_rows, source.total_weight
        if self.missing == "drop":
            n_rows, self.total_weight = self.map_reduce(block_size, []).tolist()
            self.n_rows = int(n_rows)
            self._complete = self._complete_rows() if self._whole else None

    @cached_property
    def _margins(self) -> list[Array]:
        """The counts of each column of the source, its missing cells last."""
        columns = [(v,) for v in range(len(self._source.schema))]
        return list(self._source.counts(columns, missing="state"))

    @property
    def _whole(self) -> bool:
        """Whether all weights are whole numbers, so that sums are exact in any order."""
        return self._margins[0].dtype == np.int64

    def _find_gaps(self) -> Bools:
        """The columns with missing cells, also in rows of weight 0; the source remembers them."""
        source = self._source
        gaps: Bools = np.array([counts[-1] > 0 for counts in self._margins])
        doubtful = np.flatnonzero(source.has_missing & ~gaps)
        if doubtful.size:
            task = MissingCellsTask(source.schema.cards[doubtful])
            gaps[doubtful] = source.map_reduce(task, doubtful.tolist()) > 0
            source.has_missing = gaps.copy()
        return gaps

    def _complete_rows(self) -> MemoryCounts | None:
        """The distinct rows without missing cells, if they are few."""
        n = len(self._source.schema)
        with suppress(TableSizeError):
            limit = min(COMPLETE_ROWS, COMPLETE_CELLS // n)
            rows = self._source.distinct(range(n), limit=limit).resolve_missing("drop")
            return MemoryCounts(rows if self._order == list(range(n)) else rows.select(self._order))
        return None

    def _in_source(self, columns: Sequence[int]) -> list[int]:
        """The positions in the source of some columns of the view."""
        return [self._order[c] for c in columns]

    def map_reduce(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        columns = self._in_source(columns)
        once = list(dict.fromkeys([*columns, *self._dropped]))  # pairs may repeat a column
        if once != columns:
            fn = ApplyTask(fn, [once.index(c) for c in columns])
        if not self._dropped:
            return self._source.map_reduce(fn, once, ctl=ctl)
        places = [once.index(c) for c in self._dropped]
        task = CompleteTask(fn, places, self._source.schema.cards[self._dropped])
        total = self._source.map_reduce(task, once, ctl=ctl).value
        if total is None:
            raise DataError(
                f"each of {self._source.n_rows} rows has a missing cell; pass ",
                Setting("missing", "state"),
                ".",
            )
        return total

    def counts(
        self, subsets: Iterable[Scope], *, missing: Policy = "drop", max_cells: int = MAX_CELLS,
        ctl: Control | None = None,
    ) -> CountBatch:  # fmt: skip
        layout = checked_layout(self, subsets, missing, max_cells)
        scopes = [layout.scope(q).tolist() for q in range(layout.n_tables)]
        if self._complete is not None:
            return self._complete.counts(scopes, missing=missing, max_cells=max_cells, ctl=ctl)
        dense = layout.dense.tolist()
        single = len(dense) == len(scopes) > 0 and all(len(scope) == 1 for scope in scopes)
        if single and self.missing == "state":
            margins = [self._margins[self._order[v]][: self.schema.cards[v]] for (v,) in scopes]
            return finish_counts(self, layout, np.concatenate(margins), missing, scans=0)
        if self.missing != "drop" and not self.gaps[layout.scopes].any():
            scopes = list(map(self._in_source, scopes))
            return self._source.counts(scopes, missing=missing, max_cells=max_cells, ctl=ctl)
        sizes = [
            np.prod(self._source.schema.cards[self._in_source(scopes[q])] + 1.0) for q in dense
        ]
        if self.missing == "drop" or sum(sizes) > MAX_BATCH_CELLS:  # each axis has a state more
            return super().counts(scopes, missing=missing, max_cells=max_cells, ctl=ctl)
        batch = self._source.counts(
            [self._in_source(scopes[q]) for q in dense], missing="state",
            max_cells=int(max(sizes, default=1)), ctl=ctl,
        )  # fmt: skip
        out = CountBatch(layout, np.empty(layout.n_cells, batch.values.dtype), {}, 0)
        for q, table in zip(dense, batch, strict=True):
            out[q][...] = table[tuple(map(slice, layout.shape(q)))]
        return finish_counts(self, layout, out.values, missing, scans=batch.scans, ctl=ctl)

    def pair_counts(
        self, columns: Scope | None = None, *, against: Scope | None = None,
        ctl: Control | None = None,
    ) -> PairCounts:  # fmt: skip
        left, right = checked_pairs(self, columns, against)
        if self._complete is not None:
            return self._complete.pair_counts(left, against=right, ctl=ctl)
        if self.missing == "drop" or self.gaps[left + (right or [])].any():
            return super().pair_counts(left, against=right, ctl=ctl)
        sides = self._in_source(left), None if right is None else self._in_source(right)
        return self._source.pair_counts(sides[0], against=sides[1], ctl=ctl)

    def distinct(
        self, columns: Scope, *, limit: int | None = None, ctl: Control | None = None
    ) -> Table:
        where = positions(self, columns)
        if self._complete is not None:
            return self._complete.distinct(where, limit=limit, ctl=ctl)
        if self.missing == "drop":
            return super().distinct(where, limit=limit, ctl=ctl)
        rows = self._source.distinct(self._in_source(where), limit=limit, ctl=ctl)
        if self.missing is None:
            return rows
        return Table(self.schema.select(where), rows.codes, rows.weights)

    def cache(self, columns: Sequence[int] | None = None) -> CountSource:
        faster = self._source.cache(columns) if self.missing == "state" else self._source
        if faster is self._source:
            return self
        complete = with_missing_policy(faster, "state")
        identity = self._order == list(range(len(complete.schema)))
        return complete if identity else reorder_columns(complete, self._order)

    def prepare(self) -> None:
        if self.missing is not None and self._complete is None:
            self._source.prepare()
