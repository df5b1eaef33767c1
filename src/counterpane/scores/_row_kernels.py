"""Filling and finding the rows of a `RowCache`: one call scores every single-parent toggle.

A row belongs to a child x and a set of parents P. Its entry y is the score of x given P with y
added, or with y taken out if it is in P; entry x is the score of (x, P) itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane._jit import kernel
from counterpane.counts._kernels import (
    BLOCK_ROWS,
    SPLIT_CELLS,
    and_count,
    code_rows,
    count_common,
    pair_popcounts,
)
from counterpane.counts._kernels import histogram as count_cells
from counterpane.graphs._kernels import has, lowest
from counterpane.scores._kernels import ONE, score_table
from counterpane.typing import Array, Floats, Ints, Words

# Above this many popcount passes a histogram is faster: C (r_y − 1) with C cells of (P, x).
BIT_PASSES = 960
# Not literals, as in `_kernels`.
BY_ROWS: Any = np.bool_(False)
TABLE_CELLS = 2**22  # cells of tables held at a time, and one table more
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
    head: Ints  # first slot of each bucket plus 1; 0, an untouched page, for none
    next: Ints  # next slot in the same bucket, likewise
    keys: Words
    child: Ints
    parents: Words  # (slots, words): the exact parent set, since keys may collide
    scores: Floats  # (slots, n)
    improving: Ints  # (slots, n): parents whose addition improves, best first
    n_improving: Ints
    ring: Ints  # [slots used, next slot to take, rows found, rows filled]


@kernel
def row_key(store: Any, child: int, family: Any) -> Any:
    """The hash of (child, the set `family`): toggling one parent is one exclusive or."""
    key = store.zobrist[0, child]
    p = lowest(family, 0)
    while p >= 0:
        key ^= store.zobrist[1, p]
        p = lowest(family, p + 1)
    return key


@kernel
def find_row(store: Any, child: int, family: Any) -> int:
    """The slot that holds the row of (child, the set `family`), or -1."""
    key = row_key(store, child, family)
    slot = store.head[key & np.uint64(store.head.size - 1)] - 1
    while slot >= 0:
        if store.keys[slot] == key and store.child[slot] == child:
            same = True
            for w in range(family.size):
                same = same and family[w] == store.parents[slot, w]
            if same:
                return slot  # type: ignore[no-any-return]
        slot = store.next[slot] - 1
    return -1


@kernel
def claim_slot(store: Any, child: int, family: Any) -> int:
    """A slot for the row, entered in its bucket; the oldest row gives way when all are taken."""
    slot = store.ring[1]
    mask = np.uint64(store.head.size - 1)
    if slot < store.ring[0]:  # taken: unlink it from its bucket
        bucket = store.keys[slot] & mask
        if store.head[bucket] == slot + 1:
            store.head[bucket] = store.next[slot]
        else:
            before = store.head[bucket] - 1
            while store.next[before] != slot + 1:
                before = store.next[before] - 1
            store.next[before] = store.next[slot]
    else:
        store.ring[0] += 1
    store.ring[1] = (slot + 1) % store.keys.size
    key = row_key(store, child, family)
    store.keys[slot] = key
    store.child[slot] = child
    store.parents[slot] = family
    store.next[slot] = store.head[key & mask]
    store.head[key & mask] = slot + 1
    store.ring[3] += 1
    return slot  # type: ignore[no-any-return]


@kernel
def rank_improving(scores: Any, child: int, family: Any, improving: Any) -> int:
    """Fill `improving` with the additions that raise the score, best first; return their number."""
    found = 0
    for y in range(scores.size):
        if has(family, y) or y == child or not scores[y] > scores[child]:
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
    """Count (scope, y) for each y of `added`: popcounts of cell masks with the states of all y.

    Each y's last state is what the others leave of the cell.
    """
    n_words = data.words.shape[1]
    chunk = max(64, MASK_WORDS // cells)
    masks = np.empty((cells, min(chunk, n_words)), np.uint64)
    ones = np.empty(cells, np.int64)
    occupied = np.empty(cells, np.int64)
    n_states = 0
    for y in added:
        n_states += data.cards[y] - 1
    states = np.empty(n_states, np.int64)
    j = 0
    for y in added:
        for s in range(data.cards[y] - 1):
            states[j] = data.first[y] + s
            j += 1
    joint = np.empty((cells, n_states), np.int64)
    for lo in range(0, n_words, chunk):
        hi = min(lo + chunk, n_words)
        _cell_masks(data, scope, lo, hi, masks, ones)
        n_occupied = 0
        for c in range(cells):
            family[c] += ones[c]
            if ones[c] > 0:
                occupied[n_occupied] = c
                n_occupied += 1
        joint[:n_occupied] = 0
        pair_popcounts(masks, occupied[:n_occupied], 0, data.words, states, lo, hi - lo, False,
                       joint)  # fmt: skip
        for k in range(n_occupied):
            j = 0
            for i in range(added.size):
                card = data.cards[added[i]]
                for s in range(card - 1):
                    tables[table_from[i] + occupied[k] * card + s] += joint[k, j]
                    j += 1
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
def _score_additions(data: Any, child: int, parents: Any, scope: Any, added: Any, by_bits: bool,
                     family: Any, scores: Any) -> None:  # fmt: skip
    """Fill `family` with the counts of `scope`, and `scores` for each added parent."""
    r = data.cards[child]
    cells = family.size
    table_from = np.empty(added.size + 1, np.int64)
    table_from[0] = 0
    for i in range(added.size):
        table_from[i + 1] = table_from[i] + cells * data.cards[added[i]]
    tables = np.zeros(table_from[added.size], np.float64)
    family[:] = 0.0
    if by_bits:
        _count_by_bits(data, scope, cells, added, table_from, tables, family)
    else:
        _count_by_rows(data, scope, cells, added, table_from, tables, family)
    for i in range(added.size):
        table = tables[table_from[i] : table_from[i + 1]]
        score = score_table(table, cells // r, r, data.cards[added[i]], data.kind, data.a,
                            data.logs)  # fmt: skip
        scores[added[i]] = score + _prior(data, child, parents, added[i], 1)


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
    n_bits = n_rows = 0
    room = parents.size < data.max_parents
    for y in range(n):
        scores[y] = -np.inf
        if is_parent[y] or y == child or not room or cells * data.cards[y] > data.max_cells:
            continue
        if data.weights.size == 0 and cells * max(1, data.cards[y] - 1) <= BIT_PASSES:
            by_bits[n_bits] = y
            n_bits += 1
        else:
            by_rows[n_rows] = y
            n_rows += 1
    family = np.empty(cells, np.float64)
    if n_bits > 0 or n_rows == 0:  # with nothing to add, the family is counted all the same
        _score_additions(data, child, parents, scope, by_bits[:n_bits], n_bits > 0, family, scores)
    stop = 0
    while stop < n_rows:
        start, size = stop, 0
        while stop < n_rows and size < TABLE_CELLS:
            size += cells * data.cards[by_rows[stop]]
            stop += 1
        _score_additions(data, child, parents, scope, by_rows[start:stop], BY_ROWS, family, scores)
    scores[child] = score_table(family, cells // r, r, ONE, data.kind, data.a, data.logs)
    scores[child] += _prior(data, child, parents, child, 0)
    _score_removals(data, child, parents, family, scores)


@kernel
def rank_row(store: Any, slot: int) -> None:
    """List the improving additions of a row whose scores are filled."""
    scores, child = store.scores[slot], store.child[slot]
    found = rank_improving(scores, child, store.parents[slot], store.improving[slot])
    store.n_improving[slot] = found


@kernel
def fill_slots(data: Any, store: Any, slots: Any) -> None:
    """Fill rows whose slots were claimed; different slots may be filled by different threads."""
    parents = np.empty(data.cards.size, np.int64)
    is_parent = np.empty(data.cards.size, np.bool_)
    for slot in slots:
        k = 0
        p = lowest(store.parents[slot], 0)
        while p >= 0:
            parents[k] = p
            k += 1
            p = lowest(store.parents[slot], p + 1)
        fill_row(data, store.child[slot], parents[:k], store.scores[slot], is_parent)
        rank_row(store, slot)


@kernel
def claim_missing(store: Any, children: Any, families: Any, slots: Any) -> int:
    """Fill `slots` with claimed slots for the rows that are not there; their number."""
    count = 0
    for i in range(children.size):
        if find_row(store, children[i], families[i]) < 0:
            slots[count] = claim_slot(store, children[i], families[i])
            count += 1
    return count
