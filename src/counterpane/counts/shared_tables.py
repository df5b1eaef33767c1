"""A source that caches tables and sums them to the tables of subsets of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from counterpane.counts.cache import ColumnCache, Columns, ColumnSets, sum_to, within_largest
from counterpane.counts.layout import MAX_CELLS, CountBatch, Scope, lay_out_counts
from counterpane.counts.source import CountSource, Policy, counted_cards
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
        self.scopes: list[Columns] = []
        self._tables: ColumnCache[Array] = ColumnCache(MOST_CELLS_TOGETHER)
        self._policy: Policy = "state" if source.has_missing.any() else "drop"

    def count_blocks(self, max_cells: int, *, ctl: Control | None = None) -> None:
        """Count tables of at most `max_cells` cells that contain every pair of columns."""
        self._count(pair_blocks(counted_cards(self), max_cells), ctl)

    def counts(
        self, subsets: Iterable[Scope], *, missing: Policy = "drop", max_cells: int = MAX_CELLS,
        ctl: Control | None = None,
    ) -> CountBatch:  # fmt: skip
        subsets = list(subsets)
        if missing != "drop":
            return self._source.counts(subsets, missing=missing, max_cells=max_cells, ctl=ctl)
        layout = lay_out_counts(subsets, self.schema, self.schema.cards, max_cells)
        scopes = [tuple(layout.scope(q).tolist()) for q in range(layout.n_tables)]
        above = set(layout.sparse)
        above.update(q for q, scope in enumerate(scopes) if self._cells(scope) > MOST_CELLS)
        self._count([scope for q, scope in enumerate(scopes) if q not in above], ctl)
        large = sorted(above)
        parts: dict[int, Array] = {}
        sparse = {}
        if large:
            self.scopes += [tuple(sorted(scopes[q])) for q in large]
            batch = self._source.counts([scopes[q] for q in large], max_cells=max_cells, ctl=ctl)
            for k, q in enumerate(large):
                if q in layout.sparse:
                    sparse[q] = batch.sparse(k)
                else:
                    parts[q] = batch.dense(k)
        for q, scope in enumerate(scopes):
            if q not in above:
                parts[q] = self._margin(scope, ctl)
        flat = [parts[q].ravel() for q in range(layout.n_tables) if q in parts]
        values = np.concatenate(flat) if flat else np.zeros(0, dtype=np.int64)
        return CountBatch(layout, values, sparse, len(large))

    def _cells(self, scope: Sequence[int]) -> float:
        return float(np.prod(counted_cards(self)[list(scope)].astype(np.float64)))

    def _count(self, scopes: Iterable[Sequence[int]], ctl: Control | None) -> None:
        """Count and cache the tables of some sets of columns, except those within other tables."""
        absent = [s for s in dict.fromkeys(tuple(sorted(s)) for s in scopes)
                  if self._tables.find(s) is None]  # fmt: skip
        fresh = [columns for columns, _ in within_largest(absent)]
        if not fresh:
            return
        self.scopes += fresh
        batch = self._source.counts(fresh, missing=self._policy, ctl=ctl)
        cards = counted_cards(self)
        for k, scope in enumerate(fresh):
            # without the missing state of columns that have none
            table = batch.dense(k)[tuple(slice(int(r)) for r in cards[list(scope)])]
            self._tables.add(scope, table, table.size)

    def _margin(self, scope: Columns, ctl: Control | None) -> Array:
        """The table of some columns, in this order, from a cached table."""
        found = self._tables.find(scope)
        if found is None:  # dropped from the cache meanwhile
            self.scopes.append(tuple(sorted(scope)))
            return self._source.counts([scope], ctl=ctl)[0]
        columns, kept = found
        table = sum_to(kept, columns, scope)
        if self._policy == "state":
            table = table[tuple(slice(int(r)) for r in self.schema.cards[list(scope)])]
        return table


def pair_blocks(cards: Ints, max_cells: int) -> list[Columns]:
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
    blocks: Sequence[Columns] = (),
) -> list[Columns]:
    """The tables that have to be counted for tests (x, y, given) in this order.

    `blocks` are counted first. A test needs a new table unless its columns lie within a cached one.

    >>> tests = [(0, 1, ()), (0, 2, (1,)), (1, 2, ())]
    >>> table_scopes(tests, np.array([2, 2, 2]))
    [(0, 1), (0, 1, 2)]
    >>> table_scopes(tests, np.array([2, 2, 2]), [(0, 1, 2)])
    [(0, 1, 2)]
    """
    scopes, cached = list(blocks), ColumnSets()
    for scope in blocks:
        cached.add(scope)
    for x, y, conditioned in questions:
        scope = tuple(sorted((x, y, *conditioned)))
        if cached.find(scope) is None:
            scopes.append(scope)
            if np.prod(cards[list(scope)].astype(np.float64)) <= MOST_CELLS:
                cached.add(scope)
    return scopes
