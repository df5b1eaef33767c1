"""One bit set per state and column, packed when first needed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from counterpane.counts import _kernels
from counterpane.counts.batch import Layout
from counterpane.typing import Array, Codes, Ints, Words


class BitColumns:
    """Bit sets of the columns of `codes`: bit i of row `first[v] + s` says that row i has v = s.

    `cards` counts the codes per column, a missing one included. Rows of the array stay untouched
    zero pages until their column is packed, so an unused column costs no memory.
    """

    def __init__(self, codes: Codes, cards: Ints) -> None:
        self.codes = codes
        self.cards = cards
        self.first: Ints = np.concatenate(([0], np.cumsum(cards)[:-1]))
        self.n_words = -(-codes.shape[1] // 64)
        self.words: Words = np.zeros((int(cards.sum()), self.n_words), dtype=np.uint64)
        self.packed = np.zeros(len(cards), dtype=bool)

    def pack(self, columns: Iterable[int]) -> None:
        """Pack those of `columns` that are not packed yet."""
        n_bytes = -(-self.codes.shape[1] // 8)
        as_bytes = self.words.view(np.uint8)
        for v in columns:
            if self.packed[v]:
                continue
            for state in range(self.cards[v]):
                row = np.packbits(self.codes[v] == state, bitorder="little")
                as_bytes[self.first[v] + state, :n_bytes] = row
            self.packed[v] = True

    def count(self, layout: Layout, queries: Ints, row_from: int, row_to: int, out: Array) -> None:
        """Add the counts of `queries` over some rows; `row_from` is a multiple of 64."""
        _kernels.count_bits(self.words, self.first, *layout, queries,
                            row_from // 64, -(-row_to // 64), out)  # fmt: skip

    def ones(self, columns: Iterable[int]) -> Ints:
        """The number of rows in each state of `columns`, one column after the other."""
        rows = [self.words[self.first[v] + s] for v in columns for s in range(self.cards[v])]
        return np.array([np.bitwise_count(row).sum() for row in rows], dtype=np.int64)

    def kept_rows(self, columns: Iterable[int]) -> Ints:
        """The bit rows of `columns` without each one's last code."""
        rows = [self.first[v] + s for v in columns for s in range(self.cards[v] - 1)]
        return np.array(rows, dtype=np.int64)
