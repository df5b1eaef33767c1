"""Counts of a table in memory: the default source, and the fastest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np

from counterpane._core import counts as kernels
from counterpane.checks import INTEGER, accepts, instance_of
from counterpane.counts.bitsets import BitColumns, words_to
from counterpane.counts.cache import (
    DISTINCT_CELLS,
    ColumnCache,
    Columns,
    DistinctRowCache,
    group_tables,
    sum_to,
    table_cost,
    worth_compressing,
)
from counterpane.counts.layout import (
    MAX_CELLS,
    CountBatch,
    CountLayout,
    PairCounts,
    Scope,
    lay_out_counts,
)
from counterpane.counts.source import (
    CountSource,
    Policy,
    checked_layout,
    checked_pairs,
    finish_counts,
    observed_pairs,
    pair_cells,
    positions,
)
from counterpane.counts.tasks import (
    CodeBlock,
    CountTask,
    DistinctRows,
    DistinctTask,
    all_states,
    bit_cells,
    split_by_cost,
    weighted_pairs,
)
from counterpane.data.readers.blocks import BLOCK_ROWS
from counterpane.data.schema import code_dtype
from counterpane.data.table import Table
from counterpane.errors import ParameterError, Setting
from counterpane.parallel import map_in_threads
from counterpane.progress import Control
from counterpane.typing import Array, Ints

PACK_AFTER = 4  # a column is packed into bit sets after its use in this many tables
PAIR_CELLS = 2048  # pairs of states of two columns, on average: beyond, rows are faster than bits
PACKED_STATES = 256  # a column with more is packed only when it is counted
PAIR_ROWS = 2**13  # the fewest rows of pairs that are worth a thread
PLAN_ROWS = 2**16  # with fewer rows, counting is cheaper than planning
CACHE_CELLS = 2**23  # cells of cached tables: 64 MB


class MemoryCounts(CountSource):
    """Counts of a table in memory: the default source, and the fastest.

    Parameters
    ----------
    table : Table
        The rows.
    n_jobs : int
        The number of threads that count; results do not depend on it.

    Examples
    --------
    >>> from counterpane.data.datasets import load_dataset
    >>> MemoryCounts(load_dataset("titanic")).counts([["sex", "survived"]])[0].tolist()
    [[1364, 367], [126, 344]]
    """

    table: Table

    @accepts(table=instance_of(Table), n_jobs=INTEGER)
    def __init__(self, table: Table, *, n_jobs: int = 1) -> None:
        if n_jobs < 1:
            raise ParameterError(
                Setting("n_jobs", n_jobs), "; a positive number of threads is needed."
            )
        self.table = table
        self.schema = table.schema
        self.has_missing = table.has_missing
        self.n_rows = table.n_rows
        self.total_weight = table.total_weight
        self.n_jobs = n_jobs
        self._cards: Ints = table.schema.cards + table.has_missing
        self._bit_cells = bit_cells(table.n_rows)
        self._uses = np.zeros(table.n_columns, dtype=np.int64)
        self._tables: ColumnCache[Array] = ColumnCache(CACHE_CELLS)
        self._distinct_rows = DistinctRowCache(DISTINCT_CELLS)
        self._scans = 0

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the counts: whole numbers, unless weights are real."""
        return np.dtype(np.int64) if self.table.weights is None else self.table.weights.dtype

    @cached_property
    def bits(self) -> BitColumns:
        """The table's bit sets; columns are packed as they are used."""
        return BitColumns(self.table.codes, self._cards)

    def reorder_columns(self, order: Sequence[int]) -> MemoryCounts:
        """Return the same counts with column `order[i]` at place i; packed bit sets are shared."""
        view = MemoryCounts(self.table.select(list(order)), n_jobs=self.n_jobs)
        view.bits = self.bits.reorder_columns(view.table.codes, list(order))
        return view

    def prepare(self) -> None:
        if self.table.weights is None:
            self.bits.pack(np.flatnonzero(self._cards <= PACKED_STATES).tolist())

    def map_reduce(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        codes, weights = self.table.codes, self.table.weights
        where = np.array(columns, dtype=np.int64)

        def run(block: tuple[int, int]) -> Any:
            rows = slice(*block)
            return fn(codes[where, rows], None if weights is None else weights[rows])

        return reduce(add, self._over_blocks(run, BLOCK_ROWS, ctl))

    def counts(
        self, subsets: Iterable[Scope], *, missing: Policy = "drop", max_cells: int = MAX_CELLS,
        ctl: Control | None = None,
    ) -> CountBatch:  # fmt: skip
        layout = checked_layout(self, subsets, missing, max_cells)
        scans, dense = self._scans, layout.dense
        if self.table.n_rows < PLAN_ROWS or self.dtype != np.int64:
            out = self.count_tables(layout, dense, ctl)
        else:
            out = self._count_planned(layout, dense, ctl)
        return finish_counts(self, layout, out, missing, scans=self._scans - scans, ctl=ctl)

    def pair_counts(
        self, columns: Scope | None = None, *, against: Scope | None = None,
        ctl: Control | None = None,
    ) -> PairCounts:  # fmt: skip
        left, right = checked_pairs(self, columns, against)
        right = left if right is None else right
        many = pair_cells(self, left, right) > PAIR_CELLS * len(left) * len(right)
        if many or self.table.weights is not None:
            counted = self._weighted_pairs(left, right, ctl)
        else:
            self.bits.pack({*left, *right})
            rows = self.bits.kept_rows(left), self.bits.kept_rows(right)

            def run(out: Array, block: tuple[int, int]) -> None:
                words = block[0] // 64, words_to(block[1])
                bits, width = self.bits.words, words[1] - words[0]
                kernels.pair_popcounts(bits, rows[0], words[0], bits, rows[1], words[0], width,
                                        left is right, np.arange(len(rows[0])), out)  # fmt: skip

            step = BLOCK_ROWS
            if self.n_jobs > 1:  # each block has its own matrix: one block per thread
                step = max(PAIR_ROWS, -(-self.table.n_rows // (512 * self.n_jobs)) * 512)
            joint = np.zeros((len(rows[0]), len(rows[1])), dtype=np.int64)
            self._add_blocks(run, joint, step, ctl)
            counted = all_states(self.bits, left, right, joint)
        return observed_pairs(self, counted, left, right)

    def distinct(
        self, columns: Scope, *, limit: int | None = None, ctl: Control | None = None
    ) -> Table:
        where = positions(self, columns)
        radix = self.schema.cards[where] + 1
        if not where or math.prod(radix.tolist()) > min(MAX_CELLS, self.table.n_rows):
            return super().distinct(where, limit=limit, ctl=ctl)
        table = self.counts([where], missing="state", ctl=ctl)[0]
        cells = np.nonzero(table)
        task = DistinctTask(self.schema.select(where), limit)
        return DistinctRows(task, np.array(cells), table[cells]).table

    # ---- one pass --------------------------------------------------------------------------

    def _over_blocks(
        self, run: Callable[[tuple[int, int]], Any], step: int, ctl: Control | None
    ) -> Iterator[Any]:
        """The results of `run((row_from, row_to))`, run by threads, in block order."""
        self._scans += 1
        n_rows = self.table.n_rows
        cuts = [*range(0, n_rows, step), n_rows]
        blocks = list(pairwise(cuts))
        results = map_in_threads(run, blocks, self.n_jobs)
        for block, part in zip(blocks, results, strict=True):
            yield part
            if ctl is not None:
                ctl.report("counting rows", block[1], n_rows)

    def count_tables(self, layout: CountLayout, queries: Ints, ctl: Control | None) -> Array:
        """The counts of `queries`, in their places, by one pass over the rows."""
        out = np.zeros(layout.n_cells, self.dtype)
        codes, weights = self.table.codes, self.table.weights
        by_bits, by_radix = self._split(layout, queries)

        def run(out: Array, block: tuple[int, int]) -> None:
            if weights is not None:
                kernels.count_weighted(codes, weights, *layout, queries, *block, out)
                return
            if by_bits.size:
                self.bits.count(layout, by_bits, *block, out)
            if by_radix.size:
                kernels.count_radix(codes, *layout, by_radix, *block, out)

        step = BLOCK_ROWS
        if out.dtype == np.int64:  # float sums always use the same blocks
            # A small batch takes less time per row: more rows go into one call of the kernel.
            step *= max(1, 64 // max(1, queries.size))
        if queries.size:
            self._add_blocks(run, out, step, ctl)
        return out

    def _add_blocks(
        self, run: Callable[[Array, tuple[int, int]], None], out: Array, step: int,
        ctl: Control | None,
    ) -> None:  # fmt: skip
        """Let `run(out, (row_from, row_to))` add every block of rows to `out`.

        Threads, and float sums whatever their number, add to zeros, and these are added in order.
        """

        def apart(block: tuple[int, int]) -> Array:
            part = np.zeros_like(out)
            run(part, block)
            return part

        if self.n_jobs == 1 and out.dtype == np.int64:
            for _ in self._over_blocks(lambda block: run(out, block), step, ctl):
                pass
        else:
            for part in self._over_blocks(apart, step, ctl):
                out += part

    def _split(self, layout: CountLayout, queries: Ints) -> tuple[Ints, Ints]:
        """The queries for bit sets, with their columns packed, and those for mixed radix."""
        if self.table.weights is not None:
            return queries[:0], queries
        by_bits, by_radix = split_by_cost(layout, queries, self._bit_cells)
        if by_bits.size == 0 or self.bits.packed[layout.scopes].all():
            return by_bits, by_radix
        self._uses += np.bincount(layout.scopes, minlength=len(self._uses))
        ready = (self._uses >= PACK_AFTER) | self.bits.packed
        used = np.unique(np.concatenate([layout.scope(q) for q in by_bits]))
        self.bits.pack(used[ready[used] & ~self.bits.packed[used]])
        if self.bits.packed[used].all():
            return by_bits, by_radix
        waiting = np.array([not self.bits.packed[layout.scope(q)].all() for q in by_bits])
        return by_bits[~waiting], np.concatenate([by_radix, by_bits[waiting]])

    def _weighted_pairs(self, left: list[int], right: list[int], ctl: Control | None) -> Array:
        codes, weights = self.table.codes, self.table.weights
        units = np.ones(self.table.n_rows, dtype=np.int64) if weights is None else weights

        def run(out: Array, block: tuple[int, int]) -> None:
            weighted_pairs(codes, units, self._cards, left, right, *block, out)

        sizes = self._cards[left].sum(), self._cards[right].sum()
        counted = np.zeros(sizes, dtype=units.dtype)
        self._add_blocks(run, counted, BLOCK_ROWS, ctl)
        return counted

    # ---- fewer passes: cached tables, distinct rows, supersets ------------------------------

    def _count_planned(self, layout: CountLayout, queries: Ints, ctl: Control | None) -> Array:
        """Like `count_tables`, but each set of columns is counted once, or taken from the cache."""
        queries_of: dict[Columns, list[int]] = {}
        for q in queries.tolist():
            queries_of.setdefault(tuple(sorted(layout.scope(q).tolist())), []).append(q)
        kept = {key: self._tables.get(key) for key in queries_of}
        tables = {key: table for key, table in kept.items() if table is not None}
        fresh = [key for key in queries_of if key not in tables]
        if fresh:
            counted = self._count_fresh(layout, fresh, ctl)
            tables.update(counted)
            for key, table in counted.items():
                self._tables.add(key, table if table.base is None else table.copy(), table.size)
        out = np.zeros(layout.n_cells, self.dtype)
        for key, same_scope in queries_of.items():
            for q in same_scope:
                cells = out[layout.out_from[q] : layout.out_from[q + 1]]
                cells[:] = sum_to(tables[key], key, layout.scope(q).tolist()).ravel()
        return out

    def _count_fresh(
        self, parent: CountLayout, keys: list[Columns], ctl: Control | None
    ) -> dict[Columns, Array]:
        """The tables of sorted column sets, counted in the cheapest way."""
        rows = self.table.n_rows
        layout = lay_out_counts(keys, self.schema, parent.cards)
        queries = np.arange(layout.n_tables)
        by_bits = frozenset(split_by_cost(layout, queries, self._bit_cells)[0].tolist())
        groups, alone = group_tables(layout, queries, by_bits, rows)
        cells = np.diff(layout.out_from)
        cost = sum(table_cost(g.cells, False) for g in groups)
        cost += sum(table_cost(cells[q], q in by_bits) for q in alone)
        if compressed := self._rows_to_count(
            np.unique(layout.scopes).tolist(), cost, len(keys), ctl
        ):
            where, block = compressed
            place = np.zeros(len(self.schema), dtype=np.int64)
            place[list(where)] = np.arange(len(where))
            local = layout._replace(cards=layout.cards[list(where)], scopes=place[layout.scopes])
            return dict(zip(keys, CountBatch(local, CountTask(local)(*block), {}, 0), strict=True))
        unions = [tuple(sorted(g.columns)) for g in groups]
        counted = list(self._count_whole([keys[q] for q in alone] + unions, ctl))
        tables = {keys[q]: counted[i] for i, q in enumerate(alone)}
        for group, union, table in zip(groups, unions, counted[len(alone) :], strict=True):
            tables.update({keys[q]: sum_to(table, union, keys[q]) for q in group.members})
        return tables

    def _count_whole(self, keys: list[Columns], ctl: Control | None) -> CountBatch:
        """The tables of `keys` with their missing codes, without planning."""
        layout = lay_out_counts(keys, self.schema, self._cards, 2**62)
        return CountBatch(layout, self.count_tables(layout, np.arange(layout.n_tables), ctl), {}, 1)

    def _rows_to_count(
        self, columns: list[int], cost: float, n_tables: int, ctl: Control | None
    ) -> tuple[Columns, CodeBlock] | None:
        """Distinct rows of `columns`, and perhaps more, if some are kept or if they save time."""
        found = self._distinct_rows.find(columns)
        cards = self._cards[columns]
        if found is None and worth_compressing(cards, cost, n_tables, self.table.n_rows):
            table = self._count_whole([tuple(columns)], ctl)[0]
            cells = np.nonzero(table)
            found = tuple(columns), (np.array(cells, dtype=code_dtype(cards)), table[cells])
            self._distinct_rows.add(*found, len(cells[0]))
        return found


def bit_columns(source: CountSource) -> BitColumns | None:
    """Return the bit sets of the columns of `source.table`, or None."""
    return source.bits if isinstance(source, MemoryCounts) else None
