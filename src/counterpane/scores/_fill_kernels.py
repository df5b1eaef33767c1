"""Filling a row of a `RowCache`: one call scores every single-parent toggle of a family.

The rows of each of the family's cells are one bit set, and a parent y is added by popcounts: cell
by state. Work is saved where it does not change a number: each y's last state is what the others
leave of the cell, the fullest cell is what the other cells leave of the state, and a cell of few
rows is counted row by row. Where popcounts would be too many, a histogram counts (family, y).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane._jit import kernel, trailing_zeros
from counterpane.counts._kernels import (
    BLOCK_ROWS,
    SPLIT_CELLS,
    and_count,
    code_rows,
    count_common,
    pair_popcounts,
)
from counterpane.counts._kernels import histogram as count_cells
from counterpane.scores._kernels import LIKELIHOOD, ONE, clogc, score_table
from counterpane.typing import Array, Floats, Ints, Words

# Above this many popcount passes a histogram is faster: C (r_y − 1) with C well-filled cells.
BIT_PASSES = 640
MAX_MASKS = 1024  # cells of a family that get bit sets
MASK_WORDS = 16_384  # words of cell masks held at a time: they stay in the second-level cache
TABLE_CELLS = 2**22  # cells of tables held at a time, and one table more
# A popcount pass over w words takes as long as w / RARE rows counted one by one.
RARE = 10


class RowData(NamedTuple):
    """What is counted and how it is scored."""

    codes: Array
    by_row: Array  # the codes row after row, or empty
    words: Words  # bit set first[v] + s holds the rows with v = s
    ones: Ints  # and has so many
    first: Ints
    cards: Ints
    weights: Floats  # empty: every row counts once
    logs: Floats
    kind: int
    a: float
    by_count: Floats  # structure prior by number of parents
    by_edge: Floats  # and by edge, or of size 0
    max_parents: int
    max_cells: int


@kernel
def _cell_masks(data: Any, scope: Any, lo: int, hi: int, masks: Any, ones: Any) -> None:
    """Fill masks[c] with the rows in cell c of `scope`, words lo … hi, and ones[c] their number."""
    width = hi - lo
    size = data.cards[scope[0]]
    for s in range(size):
        masks[s, :width] = data.words[data.first[scope[0]] + s, lo:hi]
    for k in range(1, scope.size):
        card = data.cards[scope[k]]
        # From the last cell to the first, so that no mask is overwritten before its use.
        for c in range(size - 1, -1, -1):
            for s in range(card - 1, -1, -1):
                bits = data.words[data.first[scope[k]] + s, lo:hi]
                ones[c * card + s] = and_count(masks[c, :width], bits, masks[c * card + s, :width])
        size *= card
    if scope.size == 1:
        for c in range(size):
            ones[c] = count_common(masks[c, :width], masks[c, :width])


@kernel
def _add_listed(data: Any, mask: Any, lo: int, added: Any, offset: Any, counts: Any) -> None:
    """Add the rows of `mask`, whose words begin at lo, one by one to the states of each y."""
    for w in range(mask.size):
        word = mask[w]
        while word != 0:
            row = data.by_row[64 * (lo + w) + trailing_zeros(word)]
            for i in range(added.size):
                place = offset[i] + np.int64(row[added[i]])
                if place < offset[i + 1]:
                    counts[place] += 1
            word &= word - np.uint64(1)


@kernel
def _count_by_bits(data: Any, scope: Any, masks: Any, ones: Any, added: Any, offset: Any,
                   counts: Any, family: Any) -> None:  # fmt: skip
    """Count (scope, y) for each y of `added` into counts[cell, offset of y + state].

    Each y's last state is left out. The masks come filled for the first words.
    """
    n_words, cells = data.words.shape[1], family.size
    chunk = masks.shape[1]
    states = np.empty(offset[added.size], np.int64)
    for i in range(added.size):
        for s in range(offset[i + 1] - offset[i]):
            states[offset[i] + s] = data.first[added[i]] + s
    filled = np.empty(cells, np.int64)
    fullest = np.argmax(ones)
    family[:] = 0.0
    counts[:] = 0
    for lo in range(0, n_words, chunk):
        hi = min(lo + chunk, n_words)
        if lo > 0:
            _cell_masks(data, scope, lo, hi, masks, ones)
        n_filled = 0
        for c in range(cells):
            family[c] += ones[c]
            if c == fullest or ones[c] == 0:
                continue
            if ones[c] <= _few(data, hi - lo):
                _add_listed(data, masks[c, : hi - lo], lo, added, offset, counts[c])
            else:
                filled[n_filled] = c
                n_filled += 1
        pair_popcounts(masks, filled[:n_filled], 0, data.words, states, lo, hi - lo, False,
                       filled, counts)  # fmt: skip
    rest = counts[fullest]
    for j in range(states.size):
        rest[j] = data.ones[states[j]]
    for c in range(cells):
        if c != fullest:
            for j in range(states.size):
                rest[j] -= counts[c, j]


@kernel
def _few(data: Any, width: int) -> int:
    """The largest number of rows in `width` words that is counted row by row."""
    return width // RARE if data.by_row.size > 0 else 0


@kernel
def _likelihood_of(counts: Any, family: Any, r: int, start: int, kept: int, a: float, logs: Any,
                   last: Any) -> float:  # fmt: skip
    """What `score_table` gives for one y: its `kept` states from counts[cell, start], and the last.

    The same sums in the same order, without laying the table out. `last` is scratch.
    """
    q = family.size // r
    total = 0.0
    for p in range(q):
        for x in range(r):
            last[x] = np.int64(family[p * r + x])
        for y in range(start, start + kept):
            row = 0
            for x in range(r):
                cell = counts[p * r + x, y]
                last[x] -= cell
                row += cell
                total += clogc(cell, logs)
            total -= clogc(row, logs)
        row = 0
        for cell in last:
            row += cell
            total += clogc(cell, logs)
        total -= clogc(row, logs)
    return total - a * q * (kept + 1) * (r - 1)  # type: ignore[no-any-return]


@kernel
def _lay_out(counts: Any, family: Any, start: int, kept: int, table: Any) -> None:
    """Fill `table` with the counts of (scope, y), y's last state included."""
    for c in range(family.size):
        rest = family[c]
        for s in range(kept):
            table[c * (kept + 1) + s] = counts[c, start + s]
            rest -= counts[c, start + s]
        table[c * (kept + 1) + kept] = rest


@kernel
def _count_by_rows(data: Any, scope: Any, added: Any, start: Any, tables: Any,
                   family: Any) -> None:  # fmt: skip
    """Count `scope` and (scope, y) for each y of `added` by histograms, weighted or not.

    The table of y is the part of `tables` from its start on.
    """
    n_rows = data.codes.shape[1]
    cell = np.empty(BLOCK_ROWS, np.uint32)
    joint = np.empty(BLOCK_ROWS, np.uint32)
    split = np.empty(4 * SPLIT_CELLS, np.uint32)
    family[:] = 0.0
    for lo in range(0, n_rows, BLOCK_ROWS):
        hi = min(lo + BLOCK_ROWS, n_rows)
        width = hi - lo
        code_rows(data.codes, scope, data.cards, lo, hi, cell[:width])
        _add_rows(cell[:width], data.weights, lo, split, family)
        for i in range(added.size):
            card = np.uint32(data.cards[added[i]])
            column = data.codes[added[i], lo:hi]
            for j in range(width):
                joint[j] = cell[j] * card + column[j]
            table = tables[start[i] : start[i + 1]]
            _add_rows(joint[:width], data.weights, lo, split, table)


@kernel
def _add_rows(cell: Any, weights: Any, lo: int, split: Any, table: Any) -> None:
    if weights.size == 0:
        count_cells(cell, split, table)
    else:
        for j in range(cell.size):
            table[np.uint64(cell[j])] += weights[lo + j]


@kernel
def _prior(data: Any, child: int, parents: Any, toggled: int, change: int) -> float:
    """The structure prior of the family with `toggled` added (+1), removed (−1), or as is (0)."""
    edges = 0.0
    if data.by_edge.size > 0:
        for p in parents:
            if p != toggled:
                edges += data.by_edge[p, child]
        if change > 0:
            edges += data.by_edge[toggled, child]
    return data.by_count[parents.size + change] + edges  # type: ignore[no-any-return]


@kernel
def _score_removals(data: Any, child: int, parents: Any, family: Any, scores: Any) -> None:
    """Score (child, parents less one) from the family's table, without a look at the data."""
    r = data.cards[child]
    smaller = np.empty(family.size, np.float64)
    inner = family.size
    for p in parents:
        card = data.cards[p]
        inner //= card
        outer = family.size // (card * inner)
        size = outer * inner
        for o in range(outer):
            for i in range(inner):
                total = 0.0
                for s in range(card):
                    total += family[(o * card + s) * inner + i]
                smaller[o * inner + i] = total
        scores[p] = score_table(smaller[:size], size // r, r, ONE, data.kind, data.a, data.logs)
        scores[p] += _prior(data, child, parents, p, -1)


@kernel
def _add_by_bits(data: Any, child: int, parents: Any, scope: Any, added: Any, masks: Any,
                 ones: Any, family: Any, scores: Any) -> None:  # fmt: skip
    """Fill `family` with the counts of `scope`, and `scores` of the added parents, by popcounts."""
    r = data.cards[child]
    offset = np.empty(added.size + 1, np.int64)
    offset[0] = 0
    for i in range(added.size):
        offset[i + 1] = offset[i] + data.cards[added[i]] - 1
    counts = np.empty((family.size, offset[added.size]), np.int64)
    _count_by_bits(data, scope, masks, ones, added, offset, counts, family)
    last = np.empty(r, np.int64)
    for i in range(added.size):
        kept = offset[i + 1] - offset[i]
        if data.kind == LIKELIHOOD:
            score = _likelihood_of(counts, family, r, offset[i], kept, data.a, data.logs, last)
        else:
            table = np.empty(family.size * (kept + 1), np.float64)
            _lay_out(counts, family, offset[i], kept, table)
            score = score_table(table, family.size // r, r, kept + 1, data.kind, data.a, data.logs)
        scores[added[i]] = score + _prior(data, child, parents, added[i], 1)


@kernel
def _add_by_rows(data: Any, child: int, parents: Any, scope: Any, added: Any, family: Any,
                 scores: Any) -> None:  # fmt: skip
    """The same by histograms."""
    r, cells = data.cards[child], family.size
    start = np.empty(added.size + 1, np.int64)
    start[0] = 0
    for i in range(added.size):
        start[i + 1] = start[i] + cells * data.cards[added[i]]
    tables = np.zeros(start[added.size], np.float64)
    _count_by_rows(data, scope, added, start, tables, family)
    for i in range(added.size):
        table = tables[start[i] : start[i + 1]]
        score = score_table(table, cells // r, r, data.cards[added[i]], data.kind, data.a,
                            data.logs)  # fmt: skip
        scores[added[i]] = score + _prior(data, child, parents, added[i], 1)


@kernel
def fill_row(data: Any, child: int, parents: Any, scores: Any, is_parent: Any) -> None:
    """Fill `scores` for all single-parent toggles of (child, parents), and `is_parent`."""
    n, n_words = data.cards.size, data.words.shape[1]
    scope = np.empty(parents.size + 1, np.int64)
    scope[: parents.size] = parents
    scope[parents.size] = child
    is_parent[:] = False
    cells = 1
    for v in scope:
        cells *= data.cards[v]
        is_parent[v] = v != child
    with_masks = data.weights.size == 0 and cells <= MAX_MASKS
    width = min(max(64, MASK_WORDS // cells), n_words) if with_masks else 0
    masks = np.empty((cells if with_masks else 0, width), np.uint64)
    ones = np.empty(masks.shape[0], np.int64)
    n_filled = 0  # cells that popcounts have to pass
    if with_masks:
        _cell_masks(data, scope, 0, width, masks, ones)
        for c in range(cells):
            n_filled += ones[c] > _few(data, width)
    by_bits, by_rows = np.empty(n, np.int64), np.empty(n, np.int64)
    n_bits = n_rows = 0
    room = parents.size < data.max_parents
    for y in range(n):
        scores[y] = -np.inf
        if is_parent[y] or y == child or not room or cells * data.cards[y] > data.max_cells:
            continue
        if with_masks and n_filled * (data.cards[y] - 1) <= BIT_PASSES:
            by_bits[n_bits] = y
            n_bits += 1
        else:
            by_rows[n_rows] = y
            n_rows += 1
    family = np.empty(cells, np.float64)
    if n_bits > 0 or n_rows == 0:  # with nothing to add, the family is counted all the same
        if with_masks:
            _add_by_bits(data, child, parents, scope, by_bits[:n_bits], masks, ones, family, scores)
        else:
            _add_by_rows(data, child, parents, scope, by_rows[:0], family, scores)
    stop = 0
    while stop < n_rows:
        start, size = stop, 0
        while stop < n_rows and size < TABLE_CELLS:
            size += cells * data.cards[by_rows[stop]]
            stop += 1
        _add_by_rows(data, child, parents, scope, by_rows[start:stop], family, scores)
    r = data.cards[child]
    scores[child] = score_table(family, cells // r, r, ONE, data.kind, data.a, data.logs)
    scores[child] += _prior(data, child, parents, child, 0)
    _score_removals(data, child, parents, family, scores)
