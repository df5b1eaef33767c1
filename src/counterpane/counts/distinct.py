"""Weighted distinct rows: found block by block, merged, and kept in a bounded cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from counterpane.data.schema import Schema
from counterpane.data.table import Table, distinct_rows
from counterpane.errors import TableSizeError
from counterpane.typing import Array, Codes

CodeBlock = tuple[Codes, Array | None]
"""Codes (columns, rows), and the weights of the rows or None."""


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


class DistinctRowCache:
    """Cache of distinct rows per column set, of at most `limit` rows; the oldest sets go first.

    >>> cache = DistinctRowCache(10)
    >>> blocks = iter([(np.array([[0, 1], [2, 0]]), np.array([5, 3]))])
    >>> _ = list(cache.passing([4, 7], blocks))
    >>> cache.find([7])
    (array([[2, 0]]), array([5, 3]))
    >>> cache.find([7, 8]) is None
    True
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._sets: dict[tuple[int, ...], CodeBlock] = {}
        self._n_rows = 0

    def find(self, columns: Sequence[int]) -> CodeBlock | None:
        """Weighted rows of these columns, not always distinct; None if no set contains them."""
        for cached, (codes, weights) in self._sets.items():
            if set(columns) <= set(cached):
                return codes[[cached.index(c) for c in columns]], weights
        return None

    def passing(self, columns: Sequence[int], blocks: Iterator[CodeBlock]) -> Iterator[CodeBlock]:
        """The blocks as they come; after the last one, their rows are cached if they are few."""
        taken: list[CodeBlock] = []
        n_rows = 0
        for block in blocks:
            n_rows += block[0].shape[1]
            taken = [*taken, block] if n_rows <= self.limit else []
            yield block
        if taken:
            self._add(tuple(columns), taken, n_rows)

    def _add(self, columns: tuple[int, ...], blocks: list[CodeBlock], n_rows: int) -> None:
        while self._n_rows + n_rows > self.limit:
            codes, _ = self._sets.pop(next(iter(self._sets)))
            self._n_rows -= codes.shape[1]
        weights = [w for _, w in blocks if w is not None]
        codes = np.concatenate([codes for codes, _ in blocks], axis=1)
        self._sets[columns] = codes, np.concatenate(weights)
        self._n_rows += n_rows
