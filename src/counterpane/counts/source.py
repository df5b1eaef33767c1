"""The protocol between learners and data: a source of contingency counts.

A backend writes `map_reduce`; everything else has a default on top of it. One call of `counts`
answers a batch of tables in one scan, so a learner asks for all it can foresee at once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from counterpane.counts.layout import (
    MAX_BATCH_CELLS,
    MAX_CELLS,
    CountBatch,
    CountLayout,
    PairCounts,
    Scope,
    SparseCounts,
    lay_out_counts,
)
from counterpane.counts.tasks import CountTask, DistinctTask, HeadTask, PairTask
from counterpane.data.schema import Schema, code_dtype
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError, Setting, TableSizeError
from counterpane.memory import FEWER_STATES, available_memory, need_memory, size_text
from counterpane.progress import Control
from counterpane.ragged import offsets_of
from counterpane.typing import Array, Bools, Ints

Policy = Literal["drop", "state", "error"]
"""Missing cells: `"drop"` counts each table's complete rows, `"state"` gives every axis one more
state at its end, `"error"` raises where there is one."""

MAX_ROW_BYTES = 2**31  # of rows held in memory, on machines of 8 gigabytes and more


class CountSource(ABC):
    """Contingency counts of a table, wherever its rows are.

    A subclass sets the attributes and writes `map_reduce`. If it can do better than scan its rows,
    it overrides `counts`, `pair_counts` or `distinct` too; the functions of this module check their
    arguments (`checked_layout`, `checked_pairs`, `positions`) and apply the policy for missing
    cells (`finish_counts`, `observed_pairs`).

    Attributes
    ----------
    schema : Schema
        The columns and their states.
    has_missing : array of bool
        Which columns may have missing cells.
    n_rows, total_weight : number or None
        None until they are known.
    table : Table or None
        The rows, if they are in memory.

    Examples
    --------
    >>> import counterpane as cp
    >>> source = cp.MemoryCounts(cp.load_dataset("titanic"))
    >>> isinstance(source, CountSource), source.n_rows
    (True, 2201)
    """

    schema: Schema
    has_missing: Bools
    n_rows: int | None
    total_weight: float | None
    table: Table | None = None

    @abstractmethod
    def map_reduce(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        """Return the sum of `fn(codes, weights)` over all blocks of rows.

        `codes` is (len(columns), rows) and `weights` None or (rows,); `fn` must copy what it keeps
        of them. `fn` is picklable; what it returns can be added with `+`: an array of fixed shape,
        or an object that merges itself. The sum runs in block order, so that it is the same
        whatever runs in parallel.
        """

    def counts(
        self, subsets: Iterable[Scope], *, missing: Policy = "drop", max_cells: int = MAX_CELLS,
        ctl: Control | None = None,
    ) -> CountBatch:  # fmt: skip
        """Return the tables of several sets of columns (positions or names), from one scan.

        Axes are in the order of the columns. Tables of more than `max_cells` cells are sparse.
        """
        layout = checked_layout(self, subsets, missing, max_cells)
        values = np.zeros(0, dtype=np.int64)
        if layout.n_cells:
            columns, local = localize(layout)
            values = self.map_reduce(CountTask(local), columns, ctl=ctl)
        return finish_counts(self, layout, values, missing, scans=int(layout.n_cells > 0), ctl=ctl)

    def pair_counts(
        self, columns: Scope | None = None, *, against: Scope | None = None,
        ctl: Control | None = None,
    ) -> PairCounts:  # fmt: skip
        """Return joint counts of every pair of `columns`, or of `columns` with those of `against`.

        Each pair counts the rows where neither cell is missing.
        """
        left, right = checked_pairs(self, columns, against)
        both = left + (right or [])
        task = PairTask(len(left), right is None, counted_cards(self)[both])
        return observed_pairs(self, self.map_reduce(task, both, ctl=ctl), left, right)

    def distinct(
        self, columns: Scope, *, limit: int | None = None, ctl: Control | None = None
    ) -> Table:
        """Return the distinct rows of some columns, sorted, with their weights.

        More than `limit` distinct rows raise `TableSizeError`.
        """
        where = positions(self, columns)
        task = DistinctTask(self.schema.select(where), limit)
        rows: Table = self.map_reduce(task, where, ctl=ctl).table
        return rows

    def rows(self, columns: Scope | None = None, *, ctl: Control | None = None) -> Table:
        """Return the rows of some columns (all by default): of `table`, or weighted distinct rows.

        Distinct rows are sorted. A sum over rows is the same for both, to the last bit if weights
        are whole numbers. At most `MAX_ROW_BYTES` are held, or a quarter of the memory that is
        available if that is less.

        >>> from counterpane.counts.stream import StreamCounts
        >>> table = Table.from_frame({"a": ["x", "y", "x"], "b": [0, 1, 0]})
        >>> StreamCounts(table.schema, lambda: [table]).rows().weights.tolist()
        [2, 1]
        """
        where = positions(self, range(len(self.schema)) if columns is None else columns)
        if self.table is not None:
            return self.table if columns is None else self.table.select(where)
        row_bytes = code_dtype(self.schema.cards).itemsize * len(where) + 8
        room = min(MAX_ROW_BYTES, available_memory() // 4)
        try:
            return self.distinct(where, limit=room // row_bytes, ctl=ctl)
        except TableSizeError:
            raise TableSizeError(
                f"the source has more than {room // row_bytes:,} distinct rows of {len(where)} "
                f"columns, which must be held in memory here ({room:,} bytes at most); select "
                "columns, sample rows, or take a learner that works from counts, such as HillClimb "
                "or NaiveBayes."
            ) from None

    def prepare(self) -> None:  # noqa: B027 (most sources have nothing to do)
        """Prepare for many counts over all columns."""

    def cache(self, columns: Sequence[int] | None = None) -> CountSource:
        """Return a source of the same counts that answers faster, if there is one."""
        return self


def counted_cards(source: CountSource) -> Ints:
    """Return the number of codes per column, the missing one included where it may occur."""
    cards: Ints = source.schema.cards + source.has_missing
    return cards


def threads_of(source: CountSource) -> int:
    """Return the number of threads that count: `n_jobs` of rows in memory, else 1."""
    n_jobs: int = getattr(source, "n_jobs", 1)
    return n_jobs


def first_rows(source: CountSource, rows: int) -> Table:
    """Return up to `rows` of the first rows; a scan if they are not in memory."""
    if source.table is not None:
        return source.table.take(np.arange(min(rows, source.table.n_rows)))
    first = source.map_reduce(HeadTask(rows), list(range(len(source.schema))))
    return Table(source.schema, first.codes, first.weights)


# ---- what backends share -------------------------------------------------------------------------


def positions(source: CountSource, columns: Scope) -> list[int]:
    """Return the positions of some columns, checked."""
    layout = lay_out_counts([columns], source.schema, counted_cards(source), 0)
    where: list[int] = layout.scopes.tolist()
    return where


def checked_layout(
    source: CountSource, subsets: Iterable[Scope], missing: Policy, max_cells: int
) -> CountLayout:
    """Return where the tables of a `counts` call lie while they are counted."""
    if missing not in ("drop", "state", "error"):
        raise ParameterError(
            Setting("missing", missing), "; 'drop', 'state' or 'error' is allowed."
        )
    schema, cards = source.schema, counted_cards(source)
    if missing == "state":  # what is handed out is larger than what is counted
        return lay_out_counts(subsets, schema, schema.cards + 1, max_cells).with_cards(cards)
    return lay_out_counts(subsets, schema, cards, max_cells)


def pair_cells(source: CountSource, left: Sequence[int], right: Sequence[int]) -> int:
    """Return the number of pairs of states of two lists of columns."""
    cards = counted_cards(source)
    return math.prod(int(cards[list(side)].sum()) for side in (left, right))


def checked_pairs(
    source: CountSource, columns: Scope | None, against: Scope | None
) -> tuple[list[int], list[int] | None]:
    """Return the positions of both sides of a `pair_counts` call, None for the same columns."""
    left = positions(source, range(len(source.schema)) if columns is None else columns)
    right = None if against is None else positions(source, against)
    sides = left, left if right is None else right
    cells = pair_cells(source, *sides)
    if cells > MAX_BATCH_CELLS:
        cards = counted_cards(source)
        most = max({*left, *sides[1]}, key=cards.__getitem__)
        raise TableSizeError(
            f"pair counts of {len(sides[0])} by {len(sides[1])} columns, where "
            f"{source.schema.names[most]!r} has {cards[most]:,} states, need "
            f"{cells:,} cells, {size_text(8 * cells)}; the limit is {MAX_BATCH_CELLS:,}: "
            f"{FEWER_STATES}."
        )
    need_memory(8 * cells, f"the counts of {cells:,} pairs of states", FEWER_STATES)
    return left, right


def observed_pairs(
    source: CountSource, counted: Array, left: list[int], right: list[int] | None
) -> PairCounts:
    """Return `counted` pairs without their missing states."""
    cards = counted_cards(source)
    sides = (left, left if right is None else right)
    observed = []
    for side in sides:
        keep = np.ones(int(cards[side].sum()), dtype=bool)
        keep[np.cumsum(cards[side])[source.has_missing[side]] - 1] = False
        observed.append(keep)
    if not (observed[0].all() and observed[1].all()):
        counted = counted[np.ix_(*observed)]
    return PairCounts(counted, *(offsets_of(source.schema.cards[side]) for side in sides))


def finish_counts(
    source: CountSource,
    layout: CountLayout,
    values: Array,
    missing: Policy,
    *,
    scans: int,
    ctl: Control | None = None,
) -> CountBatch:
    """Return the batch of `values`, with its sparse tables and by the policy for missing cells.

    Missing codes are dropped, are states of all tables, or raise an error.
    """
    sparse = _sparse_tables(source, layout, missing, ctl) if layout.sparse else {}
    scans += len(sparse)
    counted = CountBatch(layout, values, sparse, scans)
    if missing != "state" and not source.has_missing[layout.scopes].any():
        return counted
    target = layout.with_cards(source.schema.cards + (missing == "state"))
    finished = CountBatch(target, np.zeros(target.n_cells, values.dtype), sparse, scans)
    for q in layout.dense.tolist():
        shapes = zip(layout.shape(q), target.shape(q), strict=True)
        shared = tuple(slice(min(a, b)) for a, b in shapes)
        finished[q][shared] = counted[q][shared]
        if missing == "error" and np.count_nonzero(finished[q]) < np.count_nonzero(counted[q]):
            raise _missing_error(source.schema, _incomplete(layout.scope(q), counted[q], shared))
    return finished


def _sparse_tables(
    source: CountSource, layout: CountLayout, missing: Policy, ctl: Control | None
) -> dict[int, SparseCounts]:
    """The tables above the cell limit, from distinct rows."""
    tables = {}
    for q in layout.sparse:
        scope = layout.scope(q)
        rows = source.distinct(scope.tolist(), ctl=ctl)
        if missing == "error" and rows.has_missing.any():
            raise _missing_error(source.schema, scope[rows.has_missing])
        shape = tuple((source.schema.cards[scope] + (missing == "state")).tolist())
        keep = (rows.codes < np.array(shape)[:, None]).all(axis=0)
        assert rows.weights is not None
        codes = rows.codes[:, keep].astype(np.int64)
        tables[q] = SparseCounts(shape, codes, rows.weights[keep])
    return tables


def localize(layout: CountLayout) -> tuple[list[int], CountLayout]:
    """The columns of a layout, and the layout in terms of their positions among these."""
    columns, scopes = np.unique(layout.scopes, return_inverse=True)
    return columns.tolist(), layout._replace(cards=layout.cards[columns], scopes=scopes)


def _incomplete(scope: Ints, table: Array, observed: tuple[slice, ...]) -> Ints:
    """The columns of `scope` that have missing cells, those outside `observed` on their axis."""
    axes = [table.take(range(s.stop, n), axis=i).any() for i, (s, n) in enumerate(
        zip(observed, table.shape, strict=True))]  # fmt: skip
    return scope[np.array(axes)]


def _missing_error(schema: Schema, columns: Ints) -> DataError:
    names = ", ".join(repr(schema.names[c]) for c in columns)
    return DataError(
        f"missing cells in {names}; pass ",
        Setting("missing", "drop"),
        " or ",
        Setting("missing", "state"),
        ".",
    )
