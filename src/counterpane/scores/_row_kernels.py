"""Keeping and finding the rows of a `RowCache`.

A row belongs to a child x and a set of parents P. Its entry y is the score of x given P with y
added, or with y taken out if it is in P; entry x is the score of (x, P) itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane._jit import kernel
from counterpane.graphs._kernels import has, lowest
from counterpane.scores._fill_kernels import fill_row
from counterpane.typing import Floats, Ints, Words


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
