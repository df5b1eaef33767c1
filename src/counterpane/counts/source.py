"""The protocol between learners and data: a source of contingency counts.

A backend writes `map_reduce`; everything else has a default on top of it. One call of `counts`
answers a batch of tables in one scan, so a learner asks for all it can foresee at once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from counterpane.counts.bitsets import BitColumns
from counterpane.counts.distinct import DistinctTask
from counterpane.counts.layout import (
    MAX_BATCH_CELLS,
    MAX_CELLS,
    CountBatch,
    CountLayout,
    PairCounts,
    Scope,
    SparseCounts,
    StateCounts,
    StateLikelihoods,
    lay_out_counts,
    likelihood_sums,
)
from counterpane.counts.tasks import CountTask, HeadTask, PairTask
from counterpane.data.schema import Schema, code_dtype
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError, Setting, TableSizeError
from counterpane.lazy import lazy
from counterpane.memory import FEWER_STATES, available_memory, need_memory, size_text
from counterpane.progress import Control
from counterpane.ragged import offsets_of
from counterpane.typing import Array, Bools, Ints

rehearsal = lazy("counterpane.counts.rehearsal")

Policy = Literal["drop", "state", "error"]
"""Missing cells: `"drop"` counts each table's complete rows, `"state"` gives every axis one more
state at its end, `"error"` raises where there is one."""

MAX_ROW_BYTES = 2**31  # of rows held in memory, on machines of 8 gigabytes and more


class CountSource(ABC):
    """Contingency counts of a table, wherever its rows are.

    A subclass sets the attributes and writes `map_reduce`. If it can do better than scan its rows,
    it also writes `_counts`, `_pair_counts` or `_distinct`, whose arguments are checked already.

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
    bits : BitColumns or None
        The bit sets of the columns of `table`.
    n_jobs : int
        The number of threads that count.

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
    n_jobs: int = 1

    @property
    def bits(self) -> BitColumns | None:
        """The bit sets of the columns of `table`."""
        return None

    @abstractmethod
    def map_reduce(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        """The sum of `fn(codes, weights)` over all blocks of rows.

        `codes` is (len(columns), rows) and `weights` None or (rows,); `fn` must copy what it keeps
        of them. `fn` is picklable; what it returns can be added with `+`: an array of fixed shape,
        or an object that merges itself. The sum runs in block order, so that it is the same
        whatever runs in parallel.
        """

    def counts(
        self,
        subsets: Iterable[Scope],
        *,
        missing: Policy = "drop",
        max_cells: int = MAX_CELLS,
        ctl: Control | None = None,
    ) -> CountBatch:
        """The tables of several sets of columns (positions or names), in one scan.

        Axes are in the order of the columns. Tables of more than `max_cells` cells are sparse.
        """
        return self._counts(self.lay_out(subsets, missing, max_cells), missing, max_cells, ctl)

    def pair_counts(
        self,
        columns: Scope | None = None,
        *,
        against: Scope | None = None,
        ctl: Control | None = None,
    ) -> PairCounts:
        """Joint counts of every pair of `columns`, or of `columns` with the columns `against`.

        Each pair counts the rows where neither cell is missing.
        """
        left = self.positions(range(len(self.schema)) if columns is None else columns)
        right = None if against is None else self.positions(against)
        sides = left, left if right is None else right
        cells = self.pair_cells(*sides)
        if cells > MAX_BATCH_CELLS:
            most = max({*left, *sides[1]}, key=self.counted_cards.__getitem__)
            raise TableSizeError(
                f"pair counts of {len(sides[0])} by {len(sides[1])} columns, where "
                f"{self.schema.names[most]!r} has {self.counted_cards[most]:,} states, need "
                f"{cells:,} cells, {size_text(8 * cells)}; the limit is {MAX_BATCH_CELLS:,}: "
                f"{FEWER_STATES}."
            )
        need_memory(8 * cells, f"the counts of {cells:,} pairs of states", FEWER_STATES)
        return self._pair_counts(left, right, ctl)

    def pair_cells(self, left: Sequence[int], right: Sequence[int]) -> int:
        """The number of pairs of states of two lists of columns."""
        return math.prod(int(self.counted_cards[list(side)].sum()) for side in (left, right))

    def distinct(
        self, columns: Scope, *, limit: int | None = None, ctl: Control | None = None
    ) -> Table:
        """The distinct rows of some columns, sorted, with their weights.

        More than `limit` distinct rows raise `TableSizeError`.
        """
        return self._distinct(self.positions(columns), limit, ctl)

    def rows(self, columns: Scope | None = None, *, ctl: Control | None = None) -> Table:
        """The rows of some columns (all by default): those of `table`, or weighted distinct rows.

        Distinct rows are sorted. A sum over rows is the same for both, to the last bit if weights
        are whole numbers. At most `MAX_ROW_BYTES` are held, or a quarter of the memory that is
        available if that is less.

        >>> from counterpane.counts.stream import StreamCounts
        >>> table = Table.from_frame({"a": ["x", "y", "x"], "b": [0, 1, 0]})
        >>> StreamCounts(table.schema, lambda: [table]).rows().weights.tolist()
        [2, 1]
        """
        where = self.positions(range(len(self.schema)) if columns is None else columns)
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

    def sum_rows(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        """The sum over rows of a per-block function, such as a gradient."""
        return self.map_reduce(fn, columns, ctl=ctl)

    def cache(self, columns: Sequence[int] | None = None) -> CountSource:
        """A source of the same counts that answers faster, if there is one."""
        return self

    def moved(self, order: Sequence[int]) -> CountSource | None:
        """The same counts with column `order[i]` at place i, if the source has a fast way."""
        return None

    def of_table(self, table: Table) -> CountSource | None:
        """Counts of another table in the same way, if the source counts a table in memory."""
        return None

    @property
    def counts_states(self) -> bool:
        """Whether `state_counts` is the fast way to count families with each further column."""
        return False

    def state_counts(
        self, scopes: Sequence[Ints], *, ctl: Control | None = None
    ) -> Iterator[tuple[range, StateCounts]]:
        """The counts of the cells of `scopes` with the states of all columns.

        Which scopes, and their counts: as many at a time as fit into memory.
        """
        cards = self.schema.cards
        kept_from = offsets_of(cards - 1)
        for i, scope in enumerate(scopes):
            columns = scope.tolist()
            others = [v for v in range(len(cards)) if v not in columns]
            tables = self.counts([columns, *([*columns, v] for v in others)], ctl=ctl)
            totals = tables[0].reshape(-1)
            counts = np.zeros((len(totals), int(kept_from[-1])), dtype=totals.dtype)
            for v, table in zip(others, list(tables)[1:], strict=True):
                counted = table.reshape(len(totals), -1)[:, :-1]
                counts[:, kept_from[v] : kept_from[v + 1]] = counted
            states = np.unravel_index(np.arange(len(totals)), cards[scope])
            for v, state in zip(columns, states, strict=True):
                inside = state[:, None] == np.arange(cards[v] - 1)
                counts[:, kept_from[v] : kept_from[v + 1]] = totals[:, None] * inside
            cells_from = np.array([0, len(totals)])
            yield range(i, i + 1), StateCounts(counts, totals, cells_from, kept_from)

    @property
    def summed_cells(self) -> int:
        """The cells up to which `state_likelihoods` is faster than counts; 0: never."""
        return 0

    def state_likelihoods(self, scopes: Sequence[Ints]) -> Iterator[tuple[range, StateLikelihoods]]:
        """The log-likelihood of each scope's last column given its others and one more column.

        Equal to that of the kernels to the last bit. Which scopes, and their sums: as many at a
        time as fit into memory.
        """
        cards = self.schema.cards
        for part, (counts, totals, cells_from, kept_from) in self.state_counts(scopes):
            places = kept_from[: len(cards)], cards
            cells = [slice(*cells_from[i : i + 2]) for i in range(len(part))]
            sums = [
                likelihood_sums(counts[some], totals[some], int(cards[scopes[i][-1]]), *places)
                for i, some in zip(part, cells, strict=True)
            ]
            yield part, StateLikelihoods(np.array(sums), totals, cells_from)

    def prepare(self) -> None:  # noqa: B027 (most sources have nothing to do)
        """Prepare for many counts over all columns."""

    def explain(self, learner: Any, target: str | None = None) -> Any:
        """What a fit of `learner` to this source will cost: scans, bytes, tables and rough time.

        A copy of the learner is rehearsed on some of the first rows. The scans of a learner whose
        number of passes does not depend on the data are exact; those of a search are a range.

        Parameters
        ----------
        learner : learner
            It is not fitted.
        target : str
            The class, for classifiers.

        Returns
        -------
        ScanPlan
            Prints as a sentence.

        Examples
        --------
        >>> import counterpane as cp
        >>> source = cp.MemoryCounts(cp.load_dataset("titanic"))
        >>> source.explain(cp.ChowLiu()).scans
        (4, 4)
        """
        return rehearsal.rehearse(self, learner, target)

    def head(self, rows: int) -> Table:
        """Some of the first rows, at most `rows`; by default they cost a scan."""
        if self.table is not None:
            return self.table.take(np.arange(min(rows, self.table.n_rows)))
        columns = list(range(len(self.schema)))
        first = self.map_reduce(HeadTask(rows), columns)
        return Table(self.schema, first.codes, first.weights)

    def scans_of(self, passes: int, before: int | None) -> int:
        """The scans of a number of passes; `before` as many came the call of `prepare`, if any."""
        return passes

    @property
    def scan_seconds(self) -> float:
        """The seconds of a scan, as the first one took them; 0 if it was not timed."""
        return 0.0

    @property
    def scan_bytes(self) -> int | None:
        """The bytes that a scan of all columns reads; None if they are not known."""
        return None

    # ---- what a backend may do better ------------------------------------------------------

    def _counts(
        self, layout: CountLayout, missing: Policy, max_cells: int, ctl: Control | None
    ) -> CountBatch:
        """The tables of a layout; those without cells there are sparse."""
        columns, local = localize(layout)
        values, scans = np.zeros(0, dtype=np.int64), 0
        if layout.n_cells:
            values, scans = self.map_reduce(CountTask(local), columns, ctl=ctl), 1
        sparse = self._sparse_tables(layout, missing, ctl)
        return self._settle(layout, values, sparse, scans + len(sparse), missing)

    def _pair_counts(
        self, left: list[int], right: list[int] | None, ctl: Control | None
    ) -> PairCounts:
        """Joint counts of the columns `left` with `right`, or with themselves for None."""
        columns = left + (right or [])
        task = PairTask(len(left), right is None, self.counted_cards[columns])
        return self._observed_pairs(self.map_reduce(task, columns, ctl=ctl), left, right)

    def _distinct(self, columns: list[int], limit: int | None, ctl: Control | None) -> Table:
        """The distinct rows of `columns`."""
        task = DistinctTask(self.schema.select(columns), limit)
        rows: Table = self.map_reduce(task, columns, ctl=ctl).table
        return rows

    # ---- what backends share ---------------------------------------------------------------

    @property
    def counted_cards(self) -> Ints:
        """The number of codes per column, the missing one included where it may occur."""
        cards: Ints = self.schema.cards + self.has_missing
        return cards

    def positions(self, columns: Scope) -> list[int]:
        """The positions of some columns, checked."""
        layout = lay_out_counts([columns], self.schema, self.counted_cards, 0)
        where: list[int] = layout.scopes.tolist()
        return where

    def lay_out(self, subsets: Iterable[Scope], missing: Policy, max_cells: int) -> CountLayout:
        """Where the tables of a `counts` call lie while they are counted, checked."""
        if missing not in ("drop", "state", "error"):
            raise ParameterError(
                Setting("missing", missing), "; 'drop', 'state' or 'error' is allowed."
            )
        if missing == "state":  # what is handed out is larger than what is counted
            layout = lay_out_counts(subsets, self.schema, self.schema.cards + 1, max_cells)
            return layout.with_cards(self.counted_cards)
        return lay_out_counts(subsets, self.schema, self.counted_cards, max_cells)

    def _observed_pairs(
        self, counted: Array, left: list[int], right: list[int] | None
    ) -> PairCounts:
        """`counted` pairs without their missing states."""
        sides = (left, left if right is None else right)
        observed = []
        for side in sides:
            keep = np.ones(int(self.counted_cards[side].sum()), dtype=bool)
            keep[np.cumsum(self.counted_cards[side])[self.has_missing[side]] - 1] = False
            observed.append(keep)
        if not (observed[0].all() and observed[1].all()):
            counted = counted[np.ix_(*observed)]
        return PairCounts(counted, *(offsets_of(self.schema.cards[side]) for side in sides))

    def _sparse_tables(
        self, layout: CountLayout, missing: Policy, ctl: Control | None
    ) -> dict[int, SparseCounts]:
        """The tables above the cell limit, from distinct rows."""
        tables = {}
        for q in layout.sparse:
            scope = layout.scope(q)
            rows = self.distinct(scope.tolist(), ctl=ctl)
            if missing == "error" and rows.has_missing.any():
                raise _missing_error(self.schema, scope[rows.has_missing])
            shape = tuple((self.schema.cards[scope] + (missing == "state")).tolist())
            keep = (rows.codes < np.array(shape)[:, None]).all(axis=0)
            assert rows.weights is not None
            codes = rows.codes[:, keep].astype(np.int64)
            tables[q] = SparseCounts(shape, codes, rows.weights[keep])
        return tables

    def _settle(
        self,
        layout: CountLayout,
        values: Array,
        sparse: dict[int, SparseCounts],
        scans: int,
        missing: Policy,
    ) -> CountBatch:
        """The batch by the policy: missing codes are dropped, states everywhere, or an error."""
        counted = CountBatch(layout, values, sparse, scans)
        if missing != "state" and not self.has_missing[layout.scopes].any():
            return counted
        target = layout.with_cards(self.schema.cards + (missing == "state"))
        settled = CountBatch(target, np.zeros(target.n_cells, values.dtype), sparse, scans)
        for q in layout.dense.tolist():
            shapes = zip(layout.shape(q), target.shape(q), strict=True)
            shared = tuple(slice(min(a, b)) for a, b in shapes)
            settled[q][shared] = counted[q][shared]
            if missing == "error" and np.count_nonzero(settled[q]) < np.count_nonzero(counted[q]):
                raise _missing_error(self.schema, _incomplete(layout.scope(q), counted[q], shared))
        return settled


def columns_to_count(
    columns: Sequence[str] | None, known: Iterable[str], weights: str | None
) -> list[str]:
    """The names of the columns to count: `columns`, or all `known` ones, without the weights."""
    names = [name for name in (known if columns is None else columns) if name != weights]
    if not names:
        raise DataError("no column is left to be counted; at least one is needed.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ParameterError(f"columns=… names {twice!r} twice; once is enough.")
    return names


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
