"""A source with its columns in another order and without missing cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterpane.counts.layout import (
    MAX_BATCH_CELLS,
    MAX_CELLS,
    CountBatch,
    PairCounts,
    Scope,
)
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource, Policy
from counterpane.data.table import Table, with_missing_state
from counterpane.errors import DataError, Setting, TableSizeError
from counterpane.progress import Control
from counterpane.typing import Array, Bools, Codes, Floats, Ints

KEPT_ROWS = 2**16  # distinct rows that are kept where only complete rows count
KEPT_CELLS = 2**24  # of them, whatever the number of columns


def resolved(source: CountSource, missing: Policy) -> CountSource:
    """`source` without missing cells: the same as of `Table.resolve_missing(missing)` in memory.

    Costs a scan where the source may hold missing cells, another where it does not know.

    >>> table = Table.from_frame({"a": ["x", "y", None], "b": [0, 1, 1]})
    >>> from counterpane.counts.stream import StreamCounts
    >>> source = resolved(StreamCounts(table.schema, lambda: [table]), "state")
    >>> source.schema["a"].states, source.counts([["a", "b"]])[0].tolist()
    (('x', 'y', None), [[1, 0], [0, 1], [0, 1]])
    """
    if isinstance(source, MissingAsState | CompleteRows):
        return source
    if source.table is not None:
        if not source.has_missing.any():
            return source
        return MemoryCounts(source.table.resolve_missing(missing), n_jobs=source.n_jobs)
    found = MissingAsState(source)
    if missing == "state" or not found.gaps.any():
        return found
    if missing == "drop":
        return CompleteRows(source, np.flatnonzero(found.gaps), whole=found.whole)
    name = source.schema.names[int(np.argmax(found.gaps))]
    raise DataError(
        f"column {name!r} has missing cells; pass ",
        Setting("missing", "state"),
        " or ",
        Setting("missing", "drop"),
        ".",
    )


class MissingAsState(CountSource):
    """A source in which a missing cell is the last state, None, of each column that has some.

    The counts of single columns are kept: they show which columns these are, and every learner
    asks for them again.
    """

    def __init__(self, source: CountSource) -> None:
        self._source = source
        self.gaps: Bools = np.zeros(len(source.schema), dtype=bool)
        if source.has_missing.any() or source.n_rows is None:
            self.gaps = self._look()
        self.schema = with_missing_state(source.schema, self.gaps)
        self.has_missing = np.zeros(len(source.schema), dtype=bool)
        self.n_rows = source.n_rows
        self.total_weight = source.total_weight

    @cached_property
    def _margins(self) -> list[Array]:
        """The counts of each column, its missing cells last."""
        columns = [(v,) for v in range(len(self._source.schema))]
        return list(self._source.counts(columns, missing="state"))

    @property
    def whole(self) -> bool:
        """Whether all weights are whole numbers, so that any order of adding is exact."""
        return self._margins[0].dtype == np.int64

    def _look(self) -> Bools:
        """The columns with missing cells, be it in rows of no weight; the source remembers them."""
        source = self._source
        gaps: Bools = np.array([counts[-1] > 0 for counts in self._margins])
        doubtful = np.flatnonzero(source.has_missing & ~gaps)
        if doubtful.size:
            task = GapTask(source.schema.cards[doubtful])
            gaps[doubtful] = source.map_reduce(task, doubtful.tolist()) > 0
            source.has_missing = gaps.copy()
        return gaps

    def map_reduce(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        once = list(dict.fromkeys(columns))  # pairs may ask for a column on both sides
        if len(once) < len(columns):
            fn = PickTask(fn, [once.index(c) for c in columns])
        return self._source.map_reduce(fn, once, ctl=ctl)

    def counts(
        self,
        subsets: Iterable[Scope],
        *,
        missing: Policy = "drop",
        max_cells: int = MAX_CELLS,
        ctl: Control | None = None,
    ) -> CountBatch:
        layout = self.lay_out(subsets, missing, max_cells)
        scopes = [layout.scope(q).tolist() for q in range(layout.n_tables)]
        dense = layout.dense.tolist()
        if scopes and len(dense) == len(scopes) and all(len(scope) == 1 for scope in scopes):
            cards = self.schema.cards
            values = np.concatenate([self._margins[v][: cards[v]] for (v,) in scopes])
            return self._settle(layout, values, {}, 0, missing)
        if not self.gaps[layout.scopes].any():
            return self._source.counts(scopes, missing=missing, max_cells=max_cells, ctl=ctl)
        sizes = [np.prod(self._source.schema.cards[scopes[q]] + 1.0) for q in dense]
        if sum(sizes) > MAX_BATCH_CELLS:  # where each axis has a state more
            return super().counts(scopes, missing=missing, max_cells=max_cells, ctl=ctl)
        batch = self._source.counts(
            [scopes[q] for q in dense], missing="state", max_cells=int(max(sizes, default=1)),
            ctl=ctl,
        )  # fmt: skip
        out = CountBatch(layout, np.empty(layout.n_cells, batch.values.dtype), {}, 0)
        for q, table in zip(dense, batch, strict=True):
            out[q][...] = table[tuple(map(slice, layout.shape(q)))]
        sparse = {q: self._sparse_table(layout, q, missing, ctl) for q in layout.sparse}
        return self._settle(layout, out.values, sparse, batch.scans + len(sparse), missing)

    def pair_counts(
        self,
        columns: Scope | None = None,
        *,
        against: Scope | None = None,
        ctl: Control | None = None,
    ) -> PairCounts:
        left, right = self.pair_columns(columns, against)
        both = left, left if right is None else right
        if self.gaps[[*both[0], *both[1]]].any() and not self.whole:
            return super().pair_counts(left, against=right, ctl=ctl)
        pairs = self._source.pair_counts(left, against=right, ctl=ctl)
        if not self.gaps[[*both[0], *both[1]]].any():
            return pairs
        return self._with_gaps(pairs, *both)

    def _with_gaps(self, pairs: PairCounts, left: list[int], right: list[int]) -> PairCounts:
        """Whole counts of complete pairs, and the missing cells: what those leave of the margins.

        n(missing, t) = n(t) − Σ_s n(s, t); n(missing, missing) = N − n(s told) − n(t told) + n(both
        told).
        """
        cards = self._source.schema.cards
        sides = (left, right)
        told = [np.concatenate([self._margins[v][: cards[v]] for v in side]) for side in sides]
        n_told = [np.array([self._margins[v][: cards[v]].sum() for v in side]) for side in sides]
        starts = [np.concatenate(([0], np.cumsum(self.schema.cards[side]))) for side in sides]
        last = [s[1:][self.gaps[side]] - 1 for s, side in zip(starts, sides, strict=True)]
        seen = [np.setdiff1d(np.arange(s[-1]), m) for s, m in zip(starts, last, strict=True)]
        rows, columns = (self.gaps[side] for side in sides)
        above = np.add.reduceat(pairs.counts, pairs.left_from[:-1], axis=0)
        beside = np.add.reduceat(pairs.counts, pairs.right_from[:-1], axis=1)
        both = np.add.reduceat(above, pairs.right_from[:-1], axis=1)
        total = int(self._margins[0].sum())
        out = np.empty((len(seen[0]) + len(last[0]), len(seen[1]) + len(last[1])), np.int64)
        out[np.ix_(seen[0], seen[1])] = pairs.counts
        out[np.ix_(last[0], seen[1])] = told[1] - above[rows]
        out[np.ix_(seen[0], last[1])] = told[0][:, None] - beside[:, columns]
        neither = total - n_told[0][:, None] - n_told[1] + both
        out[np.ix_(last[0], last[1])] = neither[np.ix_(rows, columns)]
        return PairCounts(out, *starts)

    def distinct(
        self, columns: Scope, *, limit: int | None = None, ctl: Control | None = None
    ) -> Table:
        where = self.positions(columns)
        rows = self._source.distinct(where, limit=limit, ctl=ctl)
        return Table(self.schema.select(where), rows.codes, rows.weights)

    def cache(self, columns: Sequence[int] | None = None) -> CountSource:
        faster = self._source.cache(columns)
        return self if faster is self._source else resolved(faster, "state")

    def prepare(self) -> None:
        self._source.prepare()


class CompleteRows(CountSource):
    """The rows of a source that have no missing cell in any column; `gaps` names those with some.

    Where all weights are `whole` and the distinct rows are few they are read once and kept.
    """

    def __init__(self, source: CountSource, gaps: Ints, *, whole: bool) -> None:
        self._source = source
        self._gaps: list[int] = gaps.tolist()
        self.schema = source.schema
        self.has_missing = np.zeros(len(source.schema), dtype=bool)
        n_rows, self.total_weight = self.map_reduce(size, []).tolist()
        self.n_rows = int(n_rows)
        self._kept = self._few() if whole else None

    def _few(self) -> MemoryCounts | None:
        n = len(self.schema)
        with suppress(TableSizeError):
            limit = min(KEPT_ROWS, KEPT_CELLS // n)
            return MemoryCounts(
                self._source.distinct(range(n), limit=limit).resolve_missing("drop")
            )
        return None

    def map_reduce(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        once = list(dict.fromkeys([*columns, *self._gaps]))
        asked, gaps = ([once.index(c) for c in part] for part in (columns, self._gaps))
        task = CompleteTask(PickTask(fn, asked), gaps, self.schema.cards[self._gaps])
        found = self._source.map_reduce(task, once, ctl=ctl).value
        if found is None:
            raise DataError(
                f"each of {self._source.n_rows} rows has a missing cell; pass ",
                Setting("missing", "state"),
                ".",
            )
        return found

    def counts(
        self,
        subsets: Iterable[Scope],
        *,
        missing: Policy = "drop",
        max_cells: int = MAX_CELLS,
        ctl: Control | None = None,
    ) -> CountBatch:
        ask = super().counts if self._kept is None else self._kept.counts
        return ask(subsets, missing=missing, max_cells=max_cells, ctl=ctl)

    def pair_counts(
        self,
        columns: Scope | None = None,
        *,
        against: Scope | None = None,
        ctl: Control | None = None,
    ) -> PairCounts:
        ask = super().pair_counts if self._kept is None else self._kept.pair_counts
        return ask(columns, against=against, ctl=ctl)

    def distinct(
        self, columns: Scope, *, limit: int | None = None, ctl: Control | None = None
    ) -> Table:
        ask = super().distinct if self._kept is None else self._kept.distinct
        return ask(columns, limit=limit, ctl=ctl)

    def prepare(self) -> None:
        if self._kept is None:
            self._source.prepare()


# ---- what is run on blocks of rows ---------------------------------------------------------------


def size(codes: Codes, weights: Array | None) -> Floats:
    """The number of rows of a block, and their weight."""
    rows = codes.shape[1]
    return np.array([rows, rows if weights is None else weights.sum()], dtype=np.float64)


@dataclass(frozen=True)
class GapTask:
    """The number of missing cells of each column."""

    cards: Ints

    def __call__(self, codes: Codes, weights: Array | None) -> Ints:
        found: Ints = (codes == self.cards[:, None]).sum(axis=1)
        return found


@dataclass(frozen=True)
class Partial:
    """A sum over blocks of which some had nothing to add."""

    value: Any

    def __add__(self, other: Partial) -> Partial:
        if self.value is None or other.value is None:
            return other if self.value is None else self
        return Partial(self.value + other.value)


@dataclass(frozen=True)
class PickTask:
    """`fn` of the columns at some places of a block."""

    fn: Callable[..., Any]
    places: list[int]

    def __call__(self, codes: Codes, weights: Array | None) -> Any:
        return self.fn(codes[self.places], weights)


@dataclass(frozen=True)
class CompleteTask:
    """`fn` of the rows that have no missing cell at some places."""

    fn: Callable[..., Any]
    places: list[int]
    cards: Ints

    def __call__(self, codes: Codes, weights: Array | None) -> Partial:
        complete = (codes[self.places] != self.cards[:, None]).all(axis=0)
        if not complete.any():
            return Partial(None)
        rows = codes.compress(complete, axis=1)
        return Partial(self.fn(rows, None if weights is None else weights[complete]))


def reordered(source: CountSource, order: Sequence[int]) -> CountSource:
    """`source` with column `order[i]` at place i; bit sets already packed are shared."""
    if source.table is not None and source.bits is not None:
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
