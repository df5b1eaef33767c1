"""Filling rows of a `RowCache` where cells are missing: each family on its own complete rows.

As in `_fill_kernels`, but that a family's rows are those in which none of its cells is missing. So
a parent that is added takes rows away, and one that is taken out may bring some back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane._jit import kernel
from counterpane.counts._kernels import BLOCK_ROWS, and_count, count_common
from counterpane.graphs._kernels import lowest
from counterpane.scores._kernels import ONE, score_table
from counterpane.scores._row_kernels import rank_row

BIT_PASSES = 960  # above this many popcount passes it is faster to go row by row
MASK_WORDS = 16_384  # words of cell masks held at a time: they stay in the second-level cache
TABLE_CELLS = 2**22  # cells of tables held at a time, and one table more


@kernel
def _cell_masks(data: Any, scope: Any, lo: int, hi: int, masks: Any, ones: Any) -> None:
    """Fill masks[c] with the rows in cell c of `scope`, words lo … hi, and ones[c] their number."""
    width, size = hi - lo, 1
    masks[0, :width] = ~np.uint64(0)
    for v in scope:
        card = data.cards[v]
        # From the last cell to the first, so that no mask is overwritten before its use.
        for c in range(size - 1, -1, -1):
            for s in range(card - 1, -1, -1):
                bits = data.words[data.first[v] + s, lo:hi]
                ones[c * card + s] = and_count(masks[c, :width], bits, masks[c * card + s, :width])
        size *= card


@kernel
def _count_by_bits(data: Any, gaps: Any, scope: Any, added: Any, start: Any, tables: Any,
                   family: Any) -> None:  # fmt: skip
    """Count `scope` and (scope, y) for each y of `added` by popcounts; y's table begins at start.

    Where y has no gaps, its last state is what the others leave of the cell.
    """
    n_words, cells = data.words.shape[1], family.size
    chunk = min(max(64, MASK_WORDS // cells), n_words)
    masks = np.empty((cells, chunk), np.uint64)
    ones = np.empty(cells, np.int64)
    for lo in range(0, n_words, chunk):
        hi = min(lo + chunk, n_words)
        _cell_masks(data, scope, lo, hi, masks, ones)
        for c in range(cells):
            if ones[c] == 0:
                continue
            family[c] += ones[c]
            mask = masks[c, : hi - lo]
            for i in range(added.size):
                y = added[i]
                card, rest = data.cards[y], ones[c]
                at = start[i] + c * card
                for s in range(card if gaps[y] else card - 1):
                    common = count_common(mask, data.words[data.first[y] + s, lo:hi])
                    tables[at + s] += common
                    rest -= common
                if not gaps[y]:
                    tables[at + card - 1] += rest


@kernel
def _count_by_rows(data: Any, scope: Any, added: Any, start: Any, tables: Any,
                   family: Any) -> None:  # fmt: skip
    """The same row by row, weighted or not."""
    n_rows = data.codes.shape[1]
    cell = np.empty(BLOCK_ROWS, np.int64)
    for lo in range(0, n_rows, BLOCK_ROWS):
        width = min(BLOCK_ROWS, n_rows - lo)
        cell[:width] = 0
        for v in scope:
            card, column = data.cards[v], data.codes[v, lo : lo + width]
            for j in range(width):
                whole = cell[j] >= 0 and column[j] < card
                cell[j] = cell[j] * card + column[j] if whole else -1
        for j in range(width):
            if cell[j] >= 0:
                family[cell[j]] += data.weights[lo + j] if data.weights.size > 0 else 1.0
        for i in range(added.size):
            card, column = data.cards[added[i]], data.codes[added[i], lo : lo + width]
            for j in range(width):
                if cell[j] >= 0 and column[j] < card:
                    weight = data.weights[lo + j] if data.weights.size > 0 else 1.0
                    tables[start[i] + cell[j] * card + column[j]] += weight


@kernel
def _score_family(data: Any, gaps: Any, scope: Any, added: Any, scores: Any) -> float:
    """The score of (the last of `scope` | the others); fills `scores` for each added parent."""
    r, cells, widest = data.cards[scope[-1]], 1, 1
    for v in scope:
        cells *= data.cards[v]
    start = np.empty(added.size + 1, np.int64)
    start[0] = 0
    for i in range(added.size):
        start[i + 1] = start[i] + cells * data.cards[added[i]]
        widest = max(widest, data.cards[added[i]])
    tables, family = np.zeros(start[-1]), np.zeros(cells)
    if data.weights.size == 0 and cells * widest <= BIT_PASSES:
        _count_by_bits(data, gaps, scope, added, start, tables, family)
    else:
        _count_by_rows(data, scope, added, start, tables, family)
    for i in range(added.size):
        table = tables[start[i] : start[i + 1]]
        scores[added[i]] = score_table(table, cells // r, r, data.cards[added[i]], data.kind,
                                       data.a, data.logs)  # fmt: skip
    return score_table(family, cells // r, r, ONE, data.kind, data.a, data.logs)


@kernel
def fill_row(data: Any, gaps: Any, child: int, parents: Any, scores: Any) -> None:
    """Fill `scores` for all single-parent toggles of (child, parents)."""
    scope = np.append(parents, child)
    cells = 1
    for v in scope:
        cells *= data.cards[v]
    added = np.empty(scores.size, np.int64)
    n_added = 0
    scores[:] = -np.inf
    for y in range(scores.size):
        small = cells * data.cards[y] <= data.max_cells and parents.size < data.max_parents
        if small and y not in scope:
            added[n_added] = y
            n_added += 1
    stop = 0
    while True:
        first, size = stop, 0
        while stop < n_added and size < TABLE_CELLS:
            size += cells * data.cards[added[stop]]
            stop += 1
        scores[child] = _score_family(data, gaps, scope, added[first:stop], scores)
        if stop == n_added:
            break
    for p in parents:
        scores[p] = _score_family(data, gaps, scope[scope != p], added[:0], scores)


@kernel
def fill_slots(data: Any, gaps: Any, store: Any, slots: Any) -> None:
    """Fill rows whose slots were claimed; different slots may be filled by different threads."""
    parents = np.empty(data.cards.size, np.int64)
    for slot in slots:
        k = 0
        p = lowest(store.parents[slot], 0)
        while p >= 0:
            parents[k] = p
            k += 1
            p = lowest(store.parents[slot], p + 1)
        fill_row(data, gaps, store.child[slot], parents[:k], store.scores[slot])
        rank_row(store, slot)
