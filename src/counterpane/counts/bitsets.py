"""One bit set per state and column, packed when first needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from counterpane._core import counts as kernels
from counterpane.counts.layout import CountLayout
from counterpane.memory import FEWER_STATES, need_memory
from counterpane.parallel import map_in_threads
from counterpane.ragged import offsets_of
from counterpane.typing import Array, Codes, Ints, Words


class BitColumns:
    """Bit sets of the columns of `codes`: bit i of row `first[v] + s` says that row i has v = s.

    `cards` counts the codes per column, a missing one included. Rows of the array stay untouched
    zero pages until their column is packed, so an unused column costs no memory. They are padded
    to whole vectors of eight words: a remainder would be counted word by word.
    """

    def __init__(self, codes: Codes, cards: Ints) -> None:
        self.codes = codes
        self.cards = cards
        self.first: Ints = offsets_of(cards)[:-1]
        self.n_words = words_to(codes.shape[1])
        self.words: Words = np.zeros((int(cards.sum()), self.n_words), dtype=np.uint64)
        self.total: Ints = np.zeros(len(self.words), dtype=np.int64)  # of each packed set
        self.packed = np.zeros(len(cards), dtype=bool)

    def reorder_columns(self, codes: Codes, order: Sequence[int]) -> BitColumns:
        """The same sets, not copied, for `codes`, whose column i is column `order[i]` here."""
        moved = object.__new__(BitColumns)
        moved.codes, moved.cards, moved.first = codes, self.cards[order], self.first[order]
        moved.n_words, moved.words, moved.total = self.n_words, self.words, self.total
        moved.packed = self.packed[order]
        return moved

    def pack(self, columns: Iterable[int], n_jobs: int = 1) -> None:
        """Pack those of `columns` that are not packed yet."""
        some = np.fromiter(columns, dtype=np.int64)
        some = some[~self.packed[some]]
        states = int(self.cards[some].sum())
        need_memory(8 * states * self.n_words, f"the bit sets of {states:,} states", FEWER_STATES)

        def fill(part: Ints) -> None:
            kernels.pack_states(self.codes, part, self.cards, self.first, self.words, self.total)

        list(map_in_threads(fill, np.array_split(some, n_jobs), n_jobs))
        self.packed[some] = True

    def count(
        self, layout: CountLayout, queries: Ints, row_from: int, row_to: int, out: Array
    ) -> None:
        """Add the counts of `queries` over some rows; `row_from` is a multiple of 512."""
        kernels.count_bits(self.words, self.first, *layout, queries,
                            row_from // 64, words_to(row_to), out)  # fmt: skip

    def ones(self, columns: Iterable[int]) -> Ints:
        """The number of rows in each state of `columns`, one column after the other."""
        return np.concatenate([self.total[f : f + c] for f, c in self._rows(columns)])

    def kept_rows(self, columns: Iterable[int]) -> Ints:
        """The bit rows of `columns` without each one's last code."""
        return np.concatenate([np.arange(f, f + c - 1) for f, c in self._rows(columns)])

    def _rows(self, columns: Iterable[int]) -> Iterable[tuple[int, int]]:
        """The first row and the number of rows of each column."""
        where = list(columns)
        return zip(self.first[where].tolist(), self.cards[where].tolist(), strict=True)


def words_to(rows: int) -> int:
    """The words that hold the first `rows` bits, in whole vectors."""
    return -(-rows // 512) * 8
