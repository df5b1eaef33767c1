"""Searches over orders of the variables: each takes its best parents among those before it."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane._jit import kernel
from counterpane.graphs._kernels import bit, has, lowest
from counterpane.learn.structure._dag_kernels import MISS, load_row

BOTH_WAYS: Any = np.bool_(True)


@kernel
def grow(rows: Any, limits: Any, x: int, before: Any, shrink: bool, family: Any) -> int:
    """Fill `family` with parents of x among `before`: the best addition while one improves.

    With `shrink` removals are tried as well. Returns the slot of the result, or MISS.
    """
    store = rows.store
    words = family.size
    for w in range(words):
        family[w] = limits.required[x, w]
    while True:
        slot = load_row(rows, x, family)
        if slot < 0:
            return MISS
        best = limits.tolerance
        chosen = -1
        for i in range(store.n_improving[slot]):
            y = store.improving[slot, i]
            gain = store.scores[slot, y] - store.scores[slot, x]
            if gain <= best:
                break
            if has(before, y) and has(limits.allowed[x], y):
                best, chosen = gain, y
                break
        if shrink:
            p = lowest(family, 0)
            while p >= 0:
                gain = store.scores[slot, p] - store.scores[slot, x]
                if gain > best and not has(limits.required[x], p):
                    best, chosen = gain, p
                p = lowest(family, p + 1)
        if chosen < 0:
            return slot
        family[chosen >> 6] ^= bit(chosen)


@kernel
def parents_in_order(rows: Any, limits: Any, order: Any, shrink: bool, parents: Any,
                     total: Any) -> int:  # fmt: skip
    """Fill `parents` for a given order, and total[0] with the score; 0, or MISS."""
    before = np.zeros(parents.shape[1], np.uint64)
    total[0] = 0.0
    for x in order:
        slot = grow(rows, limits, x, before, shrink, parents[x])
        if slot < 0:
            return MISS
        total[0] += rows.store.scores[slot, x]
        before[x >> 6] |= bit(x)
    return 0


@kernel
def _place(rows: Any, limits: Any, order: Any, v: int, totals: Any, scratch: Any) -> int:
    """Fill totals[j] with the score when v stands at place j of `order` without it; 0, or MISS."""
    rest = order[order != v]
    n = order.size
    before = np.zeros(limits.allowed.shape[1], np.uint64)
    totals[:] = 0.0
    for j in range(n):
        slot = grow(rows, limits, v, before, BOTH_WAYS, scratch)
        if slot < 0:
            return MISS
        totals[j] += rows.store.scores[slot, v]
        if j == n - 1:
            break
        u = rest[j]
        slot = grow(rows, limits, u, before, BOTH_WAYS, scratch)
        if slot < 0:
            return MISS
        totals[j + 1 :] += rows.store.scores[slot, u]  # u stands before v
        before[v >> 6] |= bit(v)
        slot = grow(rows, limits, u, before, BOTH_WAYS, scratch)
        if slot < 0:
            return MISS
        totals[: j + 1] += rows.store.scores[slot, u]  # v stands before u
        before[v >> 6] &= ~bit(v)
        before[u >> 6] |= bit(u)
    return 0


@kernel
def place_nodes(rows: Any, order: Any, limits: Any, cursor: Any, last: int) -> int:
    """Move each node up to `last` to its best place in `order` (BOSS, Andrews et al. 2023).

    `cursor` is (next node, -, -, nodes moved). Returns 0, or MISS.
    """
    n = order.size
    totals = np.empty(n)
    scratch = np.empty(limits.allowed.shape[1], np.uint64)
    while cursor[0] < last:
        v = cursor[0]
        if _place(rows, limits, order, v, totals, scratch) == MISS:
            return MISS
        now = 0
        while order[now] != v:
            now += 1
        best = int(np.argmax(totals))
        if totals[best] > totals[now] + limits.tolerance:
            rest = order[order != v]
            order[:best] = rest[:best]
            order[best] = v
            order[best + 1 :] = rest[best:]
            cursor[3] += 1
        cursor[0] += 1
    return 0
