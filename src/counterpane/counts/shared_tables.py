"""A source that caches tables and sums them to the tables of subsets of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from counterpane.counts.layout import MAX_CELLS, CountBatch, Scope, lay_out_counts
from counterpane.counts.source import CountSource, Policy
from counterpane.counts.view import SourceView
from counterpane.memory import FEWER_COLUMNS, need_memory
from counterpane.progress import Control
from counterpane.typing import Array, Ints

MOST_CELLS = 2**14  # cells of a table that is cached
MOST_CELLS_TOGETHER = 2**24


class SharedTables(SourceView):
    """A source with a cache of tables, which are summed to tables of subsets of their columns.

    `scopes` holds the columns of every table that was counted, in order. Rows with a missing cell
    are kept in a state of their own, so that each margin uses the rows that are complete in it.
    """

    def __init__(self, source: CountSource) -> None:
        super().__init__(source)
        self.scopes: list[tuple[int, ...]] = []
        self._tables: list[tuple[tuple[int, ...], Array]] = []
        self._index = ColumnIndex()
        self._room = MOST_CELLS_TOGETHER
        self._policy: Policy = "state" if source.has_missing.any() else "drop"

    def count_blocks(self, max_cells: int, *, ctl: Control | None = None) -> None:
        """Count tables of at most `max_cells` cells that contain every pair of columns."""
        self._count(pair_blocks(self.counted_cards, max_cells), ctl)

    def counts(
        self,
        subsets: Iterable[Scope],
        *,
        missing: Policy = "drop",
        max_cells: int = MAX_CELLS,
        ctl: Control | None = None,
    ) -> CountBatch:
        subsets = list(subsets)
        if missing != "drop":
            return self._source.counts(subsets, missing=missing, max_cells=max_cells, ctl=ctl)
        layout = lay_out_counts(subsets, self.schema, self.schema.cards, max_cells)
        scopes = [layout.scope(q).tolist() for q in range(layout.n_tables)]
        large = set(layout.sparse)
        large.update(q for q, scope in enumerate(scopes) if self._cells(scope) > MOST_CELLS)
        self._count([s for q, s in enumerate(scopes) if q not in large], ctl)
        passed = sorted(large)
        parts: dict[int, Array] = {}
        sparse = {}
        if passed:
            self.scopes += [tuple(sorted(scopes[q])) for q in passed]
            batch = self._source.counts([scopes[q] for q in passed], max_cells=max_cells, ctl=ctl)
            for k, q in enumerate(passed):
                if q in layout.sparse:
                    sparse[q] = batch.sparse(k)
                else:
                    parts[q] = batch.dense(k)
        for q, scope in enumerate(scopes):
            if q not in large:
                parts[q] = self._margin(scope, ctl)
        flat = [parts[q].ravel() for q in range(layout.n_tables) if q in parts]
        values = np.concatenate(flat) if flat else np.zeros(0, dtype=np.int64)
        return CountBatch(layout, values, sparse, len(passed))

    def _cells(self, scope: Sequence[int]) -> float:
        return float(np.prod(self.counted_cards[list(scope)].astype(np.float64)))

    def _holder(self, scope: Sequence[int]) -> int | None:
        """The place of a cached table that contains these columns."""
        if not scope:
            return 0 if self._tables else None
        return self._index.find(scope)

    def _count(self, scopes: Iterable[Sequence[int]], ctl: Control | None) -> None:
        """Count and cache the tables of some sets of columns, except those within other tables."""
        fresh: list[tuple[int, ...]] = []
        new = ColumnIndex()
        sorted_scopes = dict.fromkeys(tuple(sorted(s)) for s in scopes)
        for scope in sorted(sorted_scopes, key=len, reverse=True):
            if self._holder(scope) is None and new.find(scope) is None:
                fresh.append(scope)
                new.add(scope)
        if not fresh:
            return
        batch = self._source.counts(fresh, missing=self._policy, ctl=ctl)
        for k, scope in enumerate(fresh):
            self.scopes.append(scope)
            # without the missing state of columns that have none
            table = batch.dense(k)[tuple(slice(int(r)) for r in self.counted_cards[list(scope)])]
            self._add(scope, table)
        if self._room < 0:  # drop the oldest half; they may be counted again
            self._drop_oldest()

    def _add(self, scope: tuple[int, ...], table: Array) -> None:
        self._room -= table.size
        self._index.add(scope)
        self._tables.append((scope, table))

    def _drop_oldest(self) -> None:
        newest = self._tables[len(self._tables) // 2 :]
        self._tables, self._index, self._room = [], ColumnIndex(), MOST_CELLS_TOGETHER
        for scope, table in newest:
            self._add(scope, table)

    def _margin(self, scope: list[int], ctl: Control | None) -> Array:
        """The table of some columns, in this order, from a cached table."""
        place = self._holder(scope)
        if place is None:  # dropped from the cache meanwhile
            self._count([scope], ctl)
            place = self._holder(scope)
            assert place is not None
        columns, table = self._tables[place]
        others = tuple(i for i, c in enumerate(columns) if c not in scope)
        table = table.sum(axis=others) if others else table
        left = [c for c in columns if c in scope]
        table = table.transpose([left.index(c) for c in scope])
        if self._policy == "state":
            table = table[tuple(slice(int(r)) for r in self.schema.cards[scope])]
        return table


def pair_blocks(cards: Ints, max_cells: int) -> list[tuple[int, ...]]:
    """Sets of columns that contain every pair, each with at most `max_cells` cells; two always may.

    Greedy: a block starts from an uncovered pair of the columns with most uncovered pairs, and
    grows by the column that covers most new pairs while that is at least half of its size.

    >>> pair_blocks(np.array([2, 2, 2, 2]), 8)
    [(0, 1, 2), (0, 1, 3), (2, 3)]
    """
    n = len(cards)
    need_memory(n * n, f"a list of all pairs of {n:,} columns", FEWER_COLUMNS)
    uncovered = ~np.eye(n, dtype=np.bool_)
    degrees = uncovered.sum(axis=1)
    blocks = []
    while degrees.any():
        first = int(np.argmax(degrees))
        second = int(np.argmax(np.where(uncovered[first], degrees, -1)))
        block = [first, second]
        cells = float(cards[first]) * float(cards[second])
        new = uncovered[first].astype(np.int64) + uncovered[second]
        while True:
            allowed = cards * cells <= max_cells
            allowed[block] = False
            # most new pairs, then most uncovered ones, then the first column
            rank = np.where(allowed, new * (n + 1.0) + degrees, -1.0)
            column = int(np.argmax(rank))
            if rank[column] < 0 or new[column] < max(1.0, len(block) / 2):
                break
            block.append(column)
            cells *= float(cards[column])
            new += uncovered[column]
        uncovered[np.ix_(block, block)] = False
        degrees[block] = uncovered[block].sum(axis=1)
        blocks.append(tuple(sorted(block)))
    return blocks


def table_scopes(
    questions: Iterable[tuple[int, int, tuple[int, ...]]],
    cards: Ints,
    blocks: Sequence[tuple[int, ...]] = (),
) -> list[tuple[int, ...]]:
    """The tables that have to be counted for tests (x, y, given) in this order.

    `blocks` are counted first. A test needs a new table unless its columns lie within a cached one.

    >>> tests = [(0, 1, ()), (0, 2, (1,)), (1, 2, ())]
    >>> table_scopes(tests, np.array([2, 2, 2]))
    [(0, 1), (0, 1, 2)]
    >>> table_scopes(tests, np.array([2, 2, 2]), [(0, 1, 2)])
    [(0, 1, 2)]
    """
    scopes, cached = list(blocks), ColumnIndex()
    for scope in blocks:
        cached.add(scope)
    for x, y, conditioned in questions:
        scope = tuple(sorted((x, y, *conditioned)))
        if cached.find(scope) is None:
            scopes.append(scope)
            if np.prod(cards[list(scope)].astype(np.float64)) <= MOST_CELLS:
                cached.add(scope)
    return scopes


class ColumnIndex:
    """Sets of columns, indexed by their columns."""

    def __init__(self) -> None:
        self._masks: list[int] = []  # of each set
        self._with_column: dict[int, list[int]] = {}  # the places of the sets with each column

    def add(self, scope: Sequence[int]) -> None:
        """Add a set."""
        for column in scope:
            self._with_column.setdefault(column, []).append(len(self._masks))
        self._masks.append(sum(1 << c for c in scope))

    def find(self, scope: Sequence[int]) -> int | None:
        """The place of the first set that contains all columns of `scope`, or None."""
        mask = sum(1 << c for c in scope)
        fewest = min((self._with_column.get(c, []) for c in scope), key=len, default=[])
        return next((k for k in fewest if self._masks[k] & mask == mask), None)
