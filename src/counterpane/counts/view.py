"""A view of a source: its columns in another order, a policy for its missing cells, or both.

A missing cell has the code `card`, which is the code of a state added at the end: rows pass through
as they are, and only counts that were made without the missing cells must be completed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from counterpane.counts.baskets import BasketCounts
from counterpane.counts.layout import (
    MAX_BATCH_CELLS,
    CountBatch,
    CountLayout,
    PairCounts,
)
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource, Policy
from counterpane.counts.tasks import CompleteTask, GapTask, PickTask, block_size
from counterpane.data.table import Table, with_missing_state
from counterpane.errors import DataError, Setting, TableSizeError
from counterpane.progress import Control
from counterpane.ragged import offsets_of
from counterpane.typing import Array, Bools

COMPLETE_ROWS = 2**16  # distinct complete rows that are held in memory
COMPLETE_CELLS = 2**24  # cells of them, whatever the number of columns


def reordered(source: CountSource, order: Sequence[int]) -> CountSource:
    """`source` with column `order[i]` at place i; bit sets already packed are shared."""
    moved = source.moved(order)
    return SourceView(source, order) if moved is None else moved


def resolved(source: CountSource, missing: Policy) -> CountSource:
    """`source` without missing cells: the counts of `Table.resolve_missing(missing)` of its rows.

    Costs a scan if the source may hold missing cells, another if it does not know.

    >>> table = Table.from_frame({"a": ["x", "y", None], "b": [0, 1, 1]})
    >>> from counterpane.counts.stream import StreamCounts
    >>> source = resolved(StreamCounts(table.schema, lambda: [table]), "state")
    >>> source.schema["a"].states, source.counts([["a", "b"]])[0].tolist()
    (('x', 'y', None), [[1, 0], [0, 1], [0, 1]])
    """
    if isinstance(source, BasketCounts):
        return source
    if source.table is not None:
        if not source.has_missing.any():
            return source
        rows = source.table.resolve_missing(missing)
        return source.of_table(rows) or MemoryCounts(rows, n_jobs=source.n_jobs)
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
            task = GapTask(source.schema.cards[doubtful])
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
            fn = PickTask(fn, [once.index(c) for c in columns])
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

    def _counts(
        self, layout: CountLayout, missing: Policy, max_cells: int, ctl: Control | None
    ) -> CountBatch:
        scopes = [layout.scope(q).tolist() for q in range(layout.n_tables)]
        if self._complete is not None:
            return self._complete.counts(scopes, missing=missing, max_cells=max_cells, ctl=ctl)
        dense = layout.dense.tolist()
        single = len(dense) == len(scopes) > 0 and all(len(scope) == 1 for scope in scopes)
        if single and self.missing == "state":
            margins = [self._margins[self._order[v]][: self.schema.cards[v]] for (v,) in scopes]
            return self._settle(layout, np.concatenate(margins), {}, 0, missing)
        if self.missing != "drop" and not self.gaps[layout.scopes].any():
            scopes = list(map(self._in_source, scopes))
            return self._source.counts(scopes, missing=missing, max_cells=max_cells, ctl=ctl)
        sizes = [
            np.prod(self._source.schema.cards[self._in_source(scopes[q])] + 1.0) for q in dense
        ]
        if self.missing == "drop" or sum(sizes) > MAX_BATCH_CELLS:  # each axis has a state more
            return super()._counts(layout, missing, max_cells, ctl)
        batch = self._source.counts(
            [self._in_source(scopes[q]) for q in dense], missing="state",
            max_cells=int(max(sizes, default=1)), ctl=ctl,
        )  # fmt: skip
        out = CountBatch(layout, np.empty(layout.n_cells, batch.values.dtype), {}, 0)
        for q, table in zip(dense, batch, strict=True):
            out[q][...] = table[tuple(map(slice, layout.shape(q)))]
        sparse = self._sparse_tables(layout, missing, ctl)
        return self._settle(layout, out.values, sparse, batch.scans + len(sparse), missing)

    def _pair_counts(
        self, left: list[int], right: list[int] | None, ctl: Control | None
    ) -> PairCounts:
        if self._complete is not None:
            return self._complete.pair_counts(left, against=right, ctl=ctl)
        with_gaps = bool(self.gaps[left + (right or [])].any())
        if self.missing == "drop" or (with_gaps and not self._whole):
            return super()._pair_counts(left, right, ctl)
        against = None if right is None else self._in_source(right)
        pairs = self._source.pair_counts(self._in_source(left), against=against, ctl=ctl)
        return (
            self._complete_pairs(pairs, left, left if right is None else right)
            if with_gaps
            else pairs
        )

    def _complete_pairs(self, pairs: PairCounts, left: list[int], right: list[int]) -> PairCounts:
        """Pair counts with missing states, from those of complete pairs and the margins.

        n(missing, t) = n(t) − Σ_s n(s, t), and n(missing, missing) = N − n(left observed)
        − n(right observed) + n(both observed). Exact for whole counts.
        """
        sides = (left, right)
        margins = [[self._margins[self._order[v]][:-1] for v in side] for side in sides]
        values = [np.concatenate(side) for side in margins]
        observed = [np.array([counts.sum() for counts in side]) for side in margins]
        starts = [offsets_of(self.schema.cards[side]) for side in sides]
        last = [s[1:][self.gaps[side]] - 1 for s, side in zip(starts, sides, strict=True)]
        seen = [np.setdiff1d(np.arange(s[-1]), m) for s, m in zip(starts, last, strict=True)]
        rows, columns = (self.gaps[side] for side in sides)
        above = np.add.reduceat(pairs.counts, pairs.left_from[:-1], axis=0)
        beside = np.add.reduceat(pairs.counts, pairs.right_from[:-1], axis=1)
        both = np.add.reduceat(above, pairs.right_from[:-1], axis=1)
        total = int(self._margins[0].sum())
        out = np.empty((len(seen[0]) + len(last[0]), len(seen[1]) + len(last[1])), np.int64)
        out[np.ix_(seen[0], seen[1])] = pairs.counts
        out[np.ix_(last[0], seen[1])] = values[1] - above[rows]
        out[np.ix_(seen[0], last[1])] = values[0][:, None] - beside[:, columns]
        neither = total - observed[0][:, None] - observed[1] + both
        out[np.ix_(last[0], last[1])] = neither[np.ix_(rows, columns)]
        return PairCounts(out, *starts)

    def _distinct(self, columns: list[int], limit: int | None, ctl: Control | None) -> Table:
        if self._complete is not None:
            return self._complete.distinct(columns, limit=limit, ctl=ctl)
        if self.missing == "drop":
            return super()._distinct(columns, limit, ctl)
        rows = self._source.distinct(self._in_source(columns), limit=limit, ctl=ctl)
        if self.missing is None:
            return rows
        return Table(self.schema.select(columns), rows.codes, rows.weights)

    def cache(self, columns: Sequence[int] | None = None) -> CountSource:
        faster = self._source.cache(columns) if self.missing == "state" else self._source
        if faster is self._source:
            return self
        complete = resolved(faster, "state")
        identity = self._order == list(range(len(complete.schema)))
        return complete if identity else reordered(complete, self._order)

    def prepare(self) -> None:
        if self.missing is not None and self._complete is None:
            self._source.prepare()
