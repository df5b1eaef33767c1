"""Filling and finding the rows of a `RowCache`: one call scores every single-parent toggle.

A row belongs to a child x and a set of parents P. Its entry y is the score of x given P with y
added, or with y taken out if it is in P; entry x is the score of (x, P) itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane._jit import kernel
from counterpane.counts._kernels import BLOCK_ROWS, SPLIT_CELLS, and_count, code_rows, count_common
from counterpane.counts._kernels import histogram as count_cells
from counterpane.scores._kernels import score_table
from counterpane.typing import Array, Floats, Ints, Words

# Above this many popcount passes a histogram is faster: C (r_y − 1) with C cells of (P, x).
BIT_PASSES = 320
MASK_WORDS = 16_384  # words of cell masks held at a time: they stay in the second-level cache


class RowData(NamedTuple):
    """What is counted and how it is scored."""

    codes: Array
    words: Words  # bit set first[v] + s holds the rows with v = s
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


class RowStore(NamedTuple):
    """The rows kept: a ring of slots, found through chained hash buckets."""

    zobrist: Words  # (2, n): random words of a node as child and as parent
    head: Ints  # first slot of each bucket, -1 for none
    next: Ints  # next slot in the same bucket
    keys: Words
    child: Ints
    parents: Words  # (slots, words): the exact parent set, since keys may collide
    scores: Floats  # (slots, n)
    improving: Ints  # (slots, n): parents whose addition improves, best first
    n_improving: Ints
    ring: Ints  # [slots used, next slot to take, rows found, rows filled]


@kernel
def row_key(store: Any, child: int, parents: Any) -> Any:
    """The hash of (child, parents): toggling one parent is one exclusive or."""
    key = store.zobrist[0, child]
    for p in parents:
        key ^= store.zobrist[1, p]
    return key


@kernel
def find_row(store: Any, child: int, parents: Any) -> int:
    """The slot that holds the row, or -1."""
    key = row_key(store, child, parents)
    slot = store.head[key & np.uint64(store.head.size - 1)]
    while slot >= 0:
        if store.keys[slot] == key and store.child[slot] == child:
            same = True
            for w in range(store.parents.shape[1]):
                word = np.uint64(0)
                for p in parents:
                    if p // 64 == w:
                        word |= np.uint64(1) << np.uint64(p % 64)
                same = same and word == store.parents[slot, w]
            if same:
                return slot  # type: ignore[no-any-return]
        slot = store.next[slot]
    return -1


@kernel
def claim_slot(store: Any, child: int, parents: Any) -> int:
    """A slot for the row, entered in its bucket; the oldest row gives way when all are taken."""
    slot = store.ring[1]
    mask = np.uint64(store.head.size - 1)
    if slot < store.ring[0]:  # taken: unlink it from its bucket
        bucket = store.keys[slot] & mask
        if store.head[bucket] == slot:
            store.head[bucket] = store.next[slot]
        else:
            before = store.head[bucket]
            while store.next[before] != slot:
                before = store.next[before]
            store.next[before] = store.next[slot]
    else:
        store.ring[0] += 1
    store.ring[1] = (slot + 1) % store.keys.size
    key = row_key(store, child, parents)
    store.keys[slot] = key
    store.child[slot] = child
    store.parents[slot, :] = 0
    for p in parents:
        store.parents[slot, p // 64] |= np.uint64(1) << np.uint64(p % 64)
    store.next[slot] = store.head[key & mask]
    store.head[key & mask] = slot
    return slot  # type: ignore[no-any-return]


@kernel
def rank_improving(scores: Any, child: int, is_parent: Any, improving: Any) -> int:
    """Fill `improving` with the additions that raise the score, best first; return their number."""
    found = 0
    for y in range(scores.size):
        if is_parent[y] or y == child or not scores[y] > scores[child]:
            continue
        place = found
        while place > 0 and scores[improving[place - 1]] < scores[y]:
            improving[place] = improving[place - 1]
            place -= 1
        improving[place] = y
        found += 1
    return found


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
                and_count(masks[c, :width], bits, masks[c * card + s, :width])
        size *= card
    for c in range(size):
        ones[c] = count_common(masks[c, :width], masks[c, :width])


@kernel
def _count_by_bits(data: Any, scope: Any, cells: int, added: Any, table_from: Any, tables: Any,
                   family: Any) -> None:  # fmt: skip
    """Count (scope, y) for each y of `added` by popcounts, each y's last state by subtraction."""
    n_words = data.words.shape[1]
    chunk = max(64, MASK_WORDS // cells)
    masks = np.empty((cells, min(chunk, n_words)), np.uint64)
    ones = np.empty(cells, np.int64)
    for lo in range(0, n_words, chunk):
        hi = min(lo + chunk, n_words)
        _cell_masks(data, scope, lo, hi, masks, ones)
        for c in range(cells):
            family[c] += ones[c]
        for i in range(added.size):
            card = data.cards[added[i]]
            for s in range(card - 1):
                bits = data.words[data.first[added[i]] + s, lo:hi]
                for c in range(cells):
                    if ones[c] > 0:
                        common = count_common(masks[c, : hi - lo], bits)
                        tables[table_from[i] + c * card + s] += common
    for i in range(added.size):
        card = data.cards[added[i]]
        for c in range(cells):
            rest = family[c]
            for s in range(card - 1):
                rest -= tables[table_from[i] + c * card + s]
            tables[table_from[i] + c * card + card - 1] = rest


@kernel
def _count_by_rows(data: Any, scope: Any, cells: int, added: Any, table_from: Any, tables: Any,
                   family: Any) -> None:  # fmt: skip
    """Count `scope` and (scope, y) for each y of `added` by histograms, weighted or not."""
    n_rows = data.codes.shape[1]
    cell = np.empty(BLOCK_ROWS, np.uint32)
    joint = np.empty(BLOCK_ROWS, np.uint32)
    split = np.empty(4 * SPLIT_CELLS, np.uint32)
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
            table = tables[table_from[i] : table_from[i] + cells * np.int64(card)]
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
    total = data.by_count[parents.size + change]
    if data.by_edge.size > 0:
        for p in parents:
            total += data.by_edge[p, child]
        if change != 0:
            total += change * data.by_edge[toggled, child]
    return total  # type: ignore[no-any-return]


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
        scores[p] = score_table(smaller[:size], size // r, r, 1, data.kind, data.a, data.logs)
        scores[p] += _prior(data, child, parents, p, -1)


@kernel
def fill_row(data: Any, child: int, parents: Any, scores: Any, is_parent: Any) -> None:
    """Fill `scores` for all single-parent toggles of (child, parents), and `is_parent`."""
    n = data.cards.size
    r = data.cards[child]
    scope = np.empty(parents.size + 1, np.int64)
    scope[: parents.size] = parents
    scope[parents.size] = child
    is_parent[:] = False
    cells = 1
    for v in scope:
        cells *= data.cards[v]
        is_parent[v] = v != child
    by_bits = np.empty(n, np.int64)
    by_rows = np.empty(n, np.int64)
    table_from = np.empty(n + 1, np.int64)
    n_bits = n_rows = 0
    room = parents.size < data.max_parents
    for y in range(n):
        scores[y] = -np.inf
        if is_parent[y] or y == child or not room or cells * data.cards[y] > data.max_cells:
            continue
        if data.weights.size == 0 and cells * (data.cards[y] - 1) <= BIT_PASSES:
            by_bits[n_bits] = y
            n_bits += 1
        else:
            by_rows[n_rows] = y
            n_rows += 1
    family = np.zeros(cells, np.float64)
    for way in range(2):
        added = by_bits[:n_bits] if way == 0 else by_rows[:n_rows]
        if added.size == 0 and (way == 0 or n_bits > 0):
            continue
        table_from[0] = 0
        for i in range(added.size):
            table_from[i + 1] = table_from[i] + cells * data.cards[added[i]]
        tables = np.zeros(table_from[added.size], np.float64)
        if way == 0:
            _count_by_bits(data, scope, cells, added, table_from, tables, family)
        else:
            family[:] = 0.0
            _count_by_rows(data, scope, cells, added, table_from, tables, family)
        for i in range(added.size):
            table = tables[table_from[i] : table_from[i + 1]]
            score = score_table(table, cells // r, r, data.cards[added[i]], data.kind, data.a,
                                data.logs)  # fmt: skip
            scores[added[i]] = score + _prior(data, child, parents, added[i], 1)
    scores[child] = score_table(family, cells // r, r, 1, data.kind, data.a, data.logs)
    scores[child] += _prior(data, child, parents, child, 0)
    _score_removals(data, child, parents, family, scores)


@kernel
def fetch_row(data: Any, store: Any, child: int, parents: Any) -> int:
    """The slot of the row of (child, parents), filled if it was not there; parents ascend."""
    slot = find_row(store, child, parents)
    if slot >= 0:
        store.ring[2] += 1
        return slot
    slot = claim_slot(store, child, parents)
    is_parent = np.empty(data.cards.size, np.bool_)
    fill_row(data, child, parents, store.scores[slot], is_parent)
    store.n_improving[slot] = rank_improving(store.scores[slot], child, is_parent,
                                             store.improving[slot])  # fmt: skip
    store.ring[3] += 1
    return slot
