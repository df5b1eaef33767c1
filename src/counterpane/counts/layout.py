"""Layouts and results of counts: many tables in one buffer, sparse tables, all pairs."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from counterpane._core import counts as kernels
from counterpane.data.schema import Schema
from counterpane.errors import ScopeError, TableSizeError
from counterpane.memory import FEWER_STATES, need_memory
from counterpane.ragged import offsets_of
from counterpane.typing import Array, Ints

MAX_CELLS = 2**22
MAX_BATCH_CELLS = 2**28

Scope = Sequence[int] | Sequence[str]


class CountLayout(NamedTuple):
    """Where each table lies in one flat buffer; kernels and workers get it as arrays.

    Query q covers columns `scopes[scope_from[q]:scope_from[q+1]]`; its table has the cells
    `out_from[q]:out_from[q+1]`, none if it is above the cell limit. `cards` holds the number of
    codes counted per column.
    """

    cards: Ints
    scopes: Ints
    scope_from: Ints
    out_from: Ints

    @property
    def n_tables(self) -> int:
        """Number of queries."""
        return len(self.scope_from) - 1

    @property
    def n_cells(self) -> int:
        """Cells of all dense tables together."""
        return int(self.out_from[-1])

    def scope(self, q: int) -> Ints:
        """The columns of query q."""
        return self.scopes[self.scope_from[q] : self.scope_from[q + 1]]

    def shape(self, q: int) -> tuple[int, ...]:
        """The shape of query q's table."""
        return tuple(self.cards[self.scope(q)].tolist())

    @property
    def dense(self) -> Ints:
        """The queries whose tables are within the cell limit."""
        return np.flatnonzero(self.out_from[1:] > self.out_from[:-1])

    @property
    def sparse(self) -> list[int]:
        """The queries whose tables are above it."""
        return np.flatnonzero(self.out_from[1:] == self.out_from[:-1]).tolist()

    def with_cards(self, cards: Ints) -> CountLayout:
        """The layout of the same tables where columns have other numbers of codes."""
        sizes = np.zeros(self.n_tables, dtype=np.int64)
        for q in self.dense.tolist():
            sizes[q] = np.prod(cards[self.scope(q)])
        return self._replace(cards=cards, out_from=offsets_of(sizes))


def lay_out_counts(
    subsets: Iterable[Scope], schema: Schema, cards: Ints, max_cells: int = MAX_CELLS
) -> CountLayout:
    """The layout of `subsets` (column positions or names), checked."""
    if isinstance(subsets, np.ndarray) and subsets.dtype == np.int64 and subsets.ndim == 2:
        scopes, size = subsets.ravel(), subsets.shape[1]
        scope_from = (
            np.arange(0, subsets.size + 1, size) if size else offsets_of([0] * len(subsets))
        )
    else:
        scope_list = [(s,) if isinstance(s, str) else s for s in subsets]
        flat = list(chain.from_iterable(scope_list))
        if not set(map(type, flat)) <= {int, np.int64}:
            flat = [_position(column, schema) for column in flat]
        scopes = np.array(flat, dtype=np.int64)
        scope_from = offsets_of(map(len, scope_list))
    out_from = np.empty_like(scope_from)
    bad = kernels.lay_out(cards, scopes, scope_from, max_cells, out_from)
    if bad >= 0:
        columns = scopes[scope_from[bad] : scope_from[bad + 1]].tolist()
        raise ScopeError(
            f"subset {bad} is {columns}; each column may occur once, and positions "
            f"run from 0 to {len(schema) - 1}."
        )
    layout = CountLayout(cards, scopes, scope_from, out_from)
    if layout.n_cells > MAX_BATCH_CELLS:
        raise TableSizeError(
            f"{layout.n_tables} tables have {layout.n_cells:,} cells together; the limit is "
            f"{MAX_BATCH_CELLS:,}: ask for fewer at a time, or lower max_cells."
        )
    need_memory(8 * layout.n_cells, f"tables of {layout.n_cells:,} cells", FEWER_STATES)
    return layout


def _position(column: Any, schema: Schema) -> int:
    if isinstance(column, str):
        return schema.index(column)
    try:
        return operator.index(column)
    except TypeError:
        raise ScopeError(f"{column!r} is no column; a position or a name is needed.") from None


@dataclass(frozen=True)
class SparseCounts:
    """The non-empty cells of a table too large to store densely, in lexicographic order."""

    shape: tuple[int, ...]
    codes: Array  # (n_variables, n_cells)
    values: Array


class CountBatch:
    """Counts of several sets of columns: `batch[i]` is the table of set i, axes in its order.

    All dense tables are views of the flat `values`, last column fastest; int64 without weights or
    with whole ones, else float64. `scans` says how many passes over the data were made.
    """

    def __init__(
        self, layout: CountLayout, values: Array, sparse: dict[int, SparseCounts], scans: int
    ) -> None:
        self.layout = layout
        self.values = values
        self._sparse = sparse
        self.scans = scans

    def __len__(self) -> int:
        return self.layout.n_tables

    def __getitem__(self, i: int) -> Array:
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        i %= len(self)
        if i in self._sparse:
            cells = float(np.prod(np.array(self._sparse[i].shape, dtype=float)))
            raise TableSizeError(
                f"table {i} of the batch has {cells:.3g} cells, above the limit; "
                "use batch.sparse(i), fewer columns, or a larger max_cells."
            )
        view = self.values[self.layout.out_from[i] : self.layout.out_from[i + 1]]
        return view.reshape(self.layout.shape(i))

    def __iter__(self) -> Iterator[Array]:
        if self._sparse:
            yield from (self[i] for i in range(len(self)))
            return
        layout = self.layout
        begin, scope_from = layout.out_from.tolist(), layout.scope_from.tolist()
        cards = layout.cards[layout.scopes].tolist()
        for i in range(len(self)):
            shape = cards[scope_from[i] : scope_from[i + 1]]
            yield self.values[begin[i] : begin[i + 1]].reshape(shape)

    def joined(self) -> Array:
        """All tables end to end."""
        if self._sparse:
            return np.concatenate([self.dense(i).ravel() for i in range(len(self))])
        return self.values

    def is_sparse(self, i: int) -> bool:
        """Whether table i was too large to store densely."""
        return i in self._sparse

    def sparse(self, i: int) -> SparseCounts:
        """Table i as its non-empty cells, whether stored so or not."""
        if i in self._sparse:
            return self._sparse[i]
        table = self[i]
        return SparseCounts(table.shape, np.argwhere(table).T, table[table != 0])

    def dense(self, i: int) -> Array:
        """Table i as an array, also if it is stored sparsely."""
        if i not in self._sparse:
            return self[i]
        cells = self._sparse[i]
        size = math.prod(cells.shape)
        need_memory(8 * size, f"a table of {size:,} cells", FEWER_STATES)
        table = np.zeros(cells.shape, dtype=cells.values.dtype)
        table[tuple(cells.codes)] = cells.values
        return table

    @property
    def n(self) -> Array:
        """The total count of each table: its effective sample size."""
        return np.array([
            self._sparse[i].values.sum() if i in self._sparse else self.values[a:b].sum()
            for i, (a, b) in enumerate(pairwise(self.layout.out_from))
        ])  # fmt: skip


@dataclass(frozen=True)
class PairCounts:
    """Joint counts of two groups of columns, all states by all states.

    `counts[left_from[i] + s, right_from[j] + t]` counts the rows with left column i in state s and
    right column j in state t, where neither is missing.
    """

    counts: Array
    left_from: Ints
    right_from: Ints

    def table(self, i: int, j: int) -> Array:
        """The table of left column i by right column j."""
        rows = slice(self.left_from[i], self.left_from[i + 1])
        return self.counts[rows, self.right_from[j] : self.right_from[j + 1]]
