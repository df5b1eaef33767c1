"""The columns that depend most on each one, by Pearson's χ².

All pairs of columns are counted in blocks, and of each block only the largest χ² of each row are
kept. Every pair is counted twice, so that blocks share nothing. Binary columns in memory need no
tables: one popcount a pair is enough. Of baskets only items that share a row are counted, by their
lists; of the others the most frequent are the partners.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterpane._core import independence as kernels
from counterpane._core.counts import pair_popcounts
from counterpane.counts.baskets import BasketCounts
from counterpane.counts.bitsets import BitColumns
from counterpane.counts.memory import bit_columns
from counterpane.counts.source import CountSource
from counterpane.progress import Control
from counterpane.typing import Floats, Ints

BLOCK_CELLS = 2**22  # of pair tables in one block
BASKET_BLOCK = 256  # items of baskets in one block


class Partners:
    """Finds the `k` variables with the largest χ² with each one.

    Ties go to the column that is later in `order`, by default the table's. A pair without any
    dependence (χ² below 1e-9), such as a constant with anything, is not related.
    """

    def __init__(
        self, source: CountSource, k: int, *, order: Sequence[int] | None = None, n_jobs: int = 1
    ) -> None:
        self.source = source
        self.n = len(source.schema)
        self.order: Ints = np.arange(self.n) if order is None else np.array(order, dtype=np.int64)
        self.k = min(k, self.n - 1)
        cards = source.schema.cards
        self.block = max(1, BLOCK_CELLS // int(cards.sum() * cards.max()))
        self.bits: BitColumns | None = None
        self.n_jobs = 1  # threads that may call `of`
        self.by_count: Ints | None = None
        if isinstance(source, BasketCounts):
            rank = np.argsort(self.order)
            self.by_count, self.rank = np.lexsort((-rank, -source.baskets.counts)), rank
            self.block, self.n_jobs = BASKET_BLOCK, n_jobs
        elif source.table is not None and source.table.weights is None and (cards == 2).all():
            source.prepare()
            self.bits, self.n_jobs = bit_columns(source), n_jobs

    def of(self, first: int, stop: int, ctl: Control | None) -> Ints:
        """The partners of the columns first … stop − 1, −1 where there are fewer than k."""
        out: Ints = np.empty((stop - first, self.k), dtype=np.int64)
        if self.by_count is not None:
            assert isinstance(self.source, BasketCounts)
            lists = self.source.baskets.lists
            kernels.relate_items(lists, self.by_count, self.rank, first, out)
            return out
        values: Floats = np.empty((stop - first, self.n))
        if self.bits is not None:
            self._fill_from_bits(self.bits, first, values)
        else:
            pairs = self.source.pair_counts(range(first, stop), against=range(self.n), ctl=ctl)
            counts = np.ascontiguousarray(pairs.counts)
            kernels.fill_chi_squares(counts, pairs.left_from, pairs.right_from, values)
        if self.k:
            kernels.keep_largest(values, first, self.order, out)
        return out

    def _fill_from_bits(self, bits: BitColumns, first: int, values: Floats) -> None:
        left, right = 2 * np.arange(first, first + len(values)), 2 * np.arange(self.n)
        joint: Ints = np.zeros(values.shape, dtype=np.int64)
        pair_popcounts(bits.words, left, 0, bits.words, right, 0, bits.n_words,
                       False, np.arange(left.size), joint)  # fmt: skip
        kernels.fill_binary_chi_squares(joint, first, bits.total, values)
