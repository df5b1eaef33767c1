"""Weighted distinct rows that were read once and answer for their columns from then on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from counterpane.typing import Array, Codes

Block = tuple[Codes, Array | None]
"""Codes (columns, rows), and the weights of the rows or None."""


class DistinctRowCache:
    """The distinct rows of some sets of columns, at most `limit` rows of all sets together.

    >>> kept = DistinctRowCache(10)
    >>> blocks = iter([(np.array([[0, 1], [2, 0]]), np.array([5, 3]))])
    >>> _ = list(kept.passing([4, 7], blocks))
    >>> kept.find([7])
    (array([[2, 0]]), array([5, 3]))
    >>> kept.find([7, 8]) is None
    True
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._sets: dict[tuple[int, ...], Block] = {}
        self._n_rows = 0

    def find(self, columns: Sequence[int]) -> Block | None:
        """Rows of these columns, weighted but not always distinct; None where they are not kept."""
        for held, (codes, weights) in self._sets.items():
            if set(columns) <= set(held):
                return codes[[held.index(c) for c in columns]], weights
        return None

    def passing(self, columns: Sequence[int], blocks: Iterator[Block]) -> Iterator[Block]:
        """The blocks as they come; if their rows are few, they are kept when all have come."""
        taken: list[Block] = []
        n_rows = 0
        for block in blocks:
            n_rows += block[0].shape[1]
            taken = [*taken, block] if n_rows <= self.limit else []
            yield block
        if taken:
            self._keep(tuple(columns), taken, n_rows)

    def _keep(self, columns: tuple[int, ...], blocks: list[Block], n_rows: int) -> None:
        while self._n_rows + n_rows > self.limit:  # the oldest go
            codes, _ = self._sets.pop(next(iter(self._sets)))
            self._n_rows -= codes.shape[1]
        weights = [w for _, w in blocks if w is not None]
        codes = np.concatenate([codes for codes, _ in blocks], axis=1)
        self._sets[columns] = codes, np.concatenate(weights)
        self._n_rows += n_rows
