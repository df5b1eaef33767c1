"""Tasks that run on each block of rows: small picklable callables whose results are added.

A block is `codes` (columns, rows) and `weights` (rows,) or None.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpane._core import counts as kernels
from counterpane.counts.bitsets import BitColumns
from counterpane.counts.layout import CountLayout
from counterpane.data.schema import Schema
from counterpane.data.table import Table, distinct_rows
from counterpane.errors import TableSizeError
from counterpane.progress import Control
from counterpane.ragged import offsets_of
from counterpane.typing import Array, Codes, Floats, Ints

TABLES_PER_STATE = 0.3  # packing one state's bits costs a third of what they save on one table


CodeBlock = tuple[Codes, Array | None]
"""Codes (columns, rows), and the weights of the rows or None."""


def sum_over_blocks(
    fn: Callable[..., Any],
    blocks: Generator[CodeBlock, None, None],
    *,
    n_rows: int | None = None,
    ctl: Control | None = None,
) -> tuple[Any, int]:
    """Return the sum of `fn(codes, weights)` over blocks, and their rows; None without any block.

    The sum runs in the order of the blocks, which are closed if `fn` or the control raises.
    """
    total, done = None, 0
    with closing(blocks):
        for codes, weights in blocks:
            part = fn(codes, weights)
            total = part if total is None else total + part
            done += codes.shape[1]
            if ctl is not None:
                ctl.report("counting rows", done, n_rows)
    return total, done


@dataclass(frozen=True)
class CountTask:
    """Counts a block into the cells of `layout`."""

    layout: CountLayout

    def __call__(self, codes: Codes, weights: Array | None) -> Array:
        layout, codes, rows = (
            CountLayout(*map(as_contiguous, self.layout)),
            as_contiguous(codes),
            codes.shape[1],
        )
        dense = layout.dense
        if weights is not None:
            out = np.zeros(layout.n_cells, weights.dtype)
            kernels.count_weighted(codes, as_contiguous(weights), *layout, dense, 0, rows, out)
            return out
        out = np.zeros(layout.n_cells, np.int64)
        by_bits, by_radix = split_by_cost(layout, dense, bit_cells(rows))
        if len(by_bits) > TABLES_PER_STATE * layout.cards.sum():
            bits = BitColumns(codes, layout.cards)
            bits.pack(range(len(codes)))
            bits.count(layout, by_bits, 0, rows, out)
        else:
            by_radix = dense
        kernels.count_radix(codes, *layout, by_radix, 0, rows, out)
        return out


def as_contiguous(array: Array) -> Array:
    """`array` contiguous and aligned, as kernels need it; a copy if it is not."""
    return np.require(array, requirements=("C", "A"))


def bit_cells(rows: int) -> int:
    """The largest table that bit sets count faster than a histogram, by measured times."""
    return int(np.interp(np.log10(max(rows, 1)), [3, 5], [27, 128]))


def split_by_cost(layout: CountLayout, queries: Ints, largest: int) -> tuple[Ints, Ints]:
    """Which of `queries` to count by bit sets, up to `largest` cells, and which by mixed radix."""
    cells = layout.out_from[queries + 1] - layout.out_from[queries]
    small = (cells <= largest) & (cells > 1)  # one cell: no columns, or constant ones
    return queries[small], queries[~small]


@dataclass(frozen=True)
class PairTask:
    """Joint counts of the first `n_left` columns with the others, or with themselves."""

    n_left: int
    symmetric: bool
    cards: Ints  # codes per column, the missing one included

    def __call__(self, codes: Codes, weights: Array | None) -> Array:
        left = list(range(self.n_left))
        right = left if self.symmetric else list(range(self.n_left, len(codes)))
        codes, cards = as_contiguous(codes), as_contiguous(self.cards)
        if weights is not None:
            return weighted_pairs(
                codes, as_contiguous(weights), cards, left, right, 0, codes.shape[1]
            )
        bits = BitColumns(codes, cards)
        bits.pack(range(len(codes)))
        kept = bits.kept_rows(left), bits.kept_rows(right)
        joint = np.zeros((len(kept[0]), len(kept[1])), dtype=np.int64)
        kernels.pair_popcounts(bits.words, kept[0], 0, bits.words, kept[1], 0, bits.n_words,
                                self.symmetric, np.arange(len(kept[0])), joint)  # fmt: skip
        return all_states(bits, left, right, joint)


def all_states(bits: BitColumns, left: list[int], right: list[int], joint: Array) -> Array:
    """Pair counts of all states from `joint`, which leaves out each column's last code."""
    cards = bits.cards[left], bits.cards[right]
    out = np.empty((int(cards[0].sum()), int(cards[1].sum())), dtype=joint.dtype)
    kernels.spread_pairs(joint, *cards, bits.ones(left), bits.ones(right), left is right, out)
    return out


def weighted_pairs(
    codes: Codes, weights: Array, cards: Ints, left: list[int], right: list[int],
    row_from: int, row_to: int, out: Array | None = None,
) -> Array:  # fmt: skip
    """Pair counts of all states over some rows, added to `out`; int64 for whole weights."""
    sides = [np.array(side, dtype=np.int64) for side in (left, right)]
    starts = [offsets_of(cards[side]) for side in sides]
    if out is None:
        out = np.zeros((starts[0][-1], starts[1][-1]), dtype=weights.dtype)
    kernels.pair_weights(codes, weights, sides[0], starts[0], sides[1], starts[1],
                          row_from, row_to, out)  # fmt: skip
    return out


def block_size(codes: Codes, weights: Array | None) -> Floats:
    """The number of rows of a block, and their weight."""
    rows = codes.shape[1]
    return np.array([rows, rows if weights is None else weights.sum()], dtype=np.float64)


@dataclass(frozen=True)
class DistinctTask:
    """The weighted distinct rows of a block."""

    schema: Schema
    limit: int | None

    def __call__(self, codes: Codes, weights: Array | None) -> DistinctRows:
        return DistinctRows(self, *distinct_rows(codes, weights, self.schema.cards))


@dataclass(frozen=True)
class DistinctRows:
    """Weighted distinct rows that merge by `+`."""

    task: DistinctTask
    codes: Codes
    weights: Array

    def __post_init__(self) -> None:
        limit, names = self.task.limit, self.task.schema.names
        if limit is not None and len(self.weights) > limit:
            raise TableSizeError(
                f"the columns {', '.join(names)} have more than {limit:,} distinct rows; "
                "raise the limit or ask for fewer columns."
            )

    def __add__(self, other: DistinctRows) -> DistinctRows:
        codes = np.concatenate([self.codes, other.codes], axis=1)
        weights = np.concatenate([self.weights, other.weights])
        merged = distinct_rows(codes, weights, self.task.schema.cards)
        return DistinctRows(self.task, *merged)

    @property
    def table(self) -> Table:
        """The rows as a table."""
        return Table(self.task.schema, self.codes, self.weights)


@dataclass(frozen=True)
class HeadTask:
    """The first rows of all blocks, at most `limit`."""

    limit: int

    def __call__(self, codes: Codes, weights: Array | None) -> HeadRows:
        first = None if weights is None else weights[: self.limit].copy()
        return HeadRows(self.limit, codes[:, : self.limit].copy(), first)


@dataclass(frozen=True)
class HeadRows:
    """Rows that merge end to end, up to a limit."""

    limit: int
    codes: Codes
    weights: Array | None

    def __add__(self, other: HeadRows) -> HeadRows:
        if self.codes.shape[1] >= self.limit:
            return self
        codes = np.concatenate([self.codes, other.codes], axis=1)[:, : self.limit]
        if self.weights is None or other.weights is None:
            return HeadRows(self.limit, codes, None)
        weights = np.concatenate([self.weights, other.weights])[: self.limit]
        return HeadRows(self.limit, codes, weights)


@dataclass(frozen=True)
class MissingCellsTask:
    """The number of missing cells of each column."""

    cards: Ints

    def __call__(self, codes: Codes, weights: Array | None) -> Ints:
        gaps: Ints = (codes == self.cards[:, None]).sum(axis=1)
        return gaps


@dataclass(frozen=True)
class OptionalSum:
    """A sum over blocks; None if no block had complete rows."""

    value: Any

    def __add__(self, other: OptionalSum) -> OptionalSum:
        if self.value is None or other.value is None:
            return other if self.value is None else self
        return OptionalSum(self.value + other.value)


@dataclass(frozen=True)
class ApplyTask:
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

    def __call__(self, codes: Codes, weights: Array | None) -> OptionalSum:
        complete = (codes[self.places] != self.cards[:, None]).all(axis=0)
        if not complete.any():
            return OptionalSum(None)
        rows = codes.compress(complete, axis=1)
        return OptionalSum(self.fn(rows, None if weights is None else weights[complete]))
