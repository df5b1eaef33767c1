"""Edge knock-outs among classes of DAGs: what XGES adds to greedy equivalence search."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane._jit import kernel
from counterpane.graphs._kernels import bit, has
from counterpane.learn.structure._class_kernels import (
    MAX_CLIQUES,
    TOO_MANY,
    adjacent,
    apply_operator,
    clique_row,
    ges,
    list_cliques,
    within_adjacent,
)
from counterpane.learn.structure._dag_kernels import MISS, WITHOUT_END, load_row


@kernel
def copy_pattern(source: Any, target: Any) -> None:
    """Make `target` equal to `source`."""
    for x in range(source.dirty.size):
        for w in range(source.parents.shape[1]):
            target.parents[x, w] = source.parents[x, w]
            target.children[x, w] = source.children[x, w]
            target.neighbors[x, w] = source.neighbors[x, w]
            target.member[x, w] = source.member[x, w]
            target.drop_clique[x, w] = source.drop_clique[x, w]
        target.bound[x] = source.bound[x]
        target.drop_gain[x] = source.drop_gain[x]
        target.drop_node[x] = source.drop_node[x]
        target.dirty[x] = source.dirty[x]


@kernel
def _best_delete(rows: Any, pattern: Any, max_parents: int, x: int, y: int, best: float,
                 clique: Any) -> Any:  # fmt: skip
    """(gain, 0) of the best valid delete of x from y's family above `best`, its set in `clique`.

    (0, MISS) where a row is missing.
    """
    words = clique.size
    cliques = np.empty((MAX_CLIQUES, words), np.uint64)
    open_to = np.empty((MAX_CLIQUES, words), np.uint64)
    family = np.empty(words, np.uint64)
    for t in range(list_cliques(pattern, y, cliques, open_to)):
        mine = has(pattern.parents[y], x) or has(cliques[t], x)
        if not mine or not within_adjacent(pattern, x, cliques[t]):
            continue
        slot = clique_row(rows, pattern, max_parents, y, cliques[t], family)
        if slot == TOO_MANY:
            continue
        if slot < 0:
            return 0.0, MISS
        gain = rows.store.scores[slot, x] - rows.store.scores[slot, y]
        if gain > best:
            best = gain
            clique[:] = cliques[t]
    return best, 0


@kernel
def _score(rows: Any, pattern: Any) -> Any:
    """(the score of the class, 0), or (0, MISS)."""
    total = 0.0
    for x in range(pattern.dirty.size):
        slot = load_row(rows, x, pattern.member[x])
        if slot < 0:
            return 0.0, MISS
        total += rows.store.scores[slot, x]
    return total, 0


@kernel
def _allow(limits: Any, x: int, y: int, allowed: bool) -> None:
    """Allow or forbid the pair in both directions."""
    if allowed:
        limits.allowed[x, y >> 6] |= bit(y)
        limits.allowed[y, x >> 6] |= bit(x)
    else:
        limits.allowed[x, y >> 6] &= ~bit(y)
        limits.allowed[y, x >> 6] &= ~bit(x)


@kernel
def _start_knock_out(rows: Any, pattern: Any, kept: Any, limits: Any, max_parents: int,
                     x: int, y: int) -> int:  # fmt: skip
    """Save the class, delete x – y in the best way, forbid the pair; 1, or 0 if none, or MISS."""
    words = pattern.member.shape[1]
    clique = np.empty(words, np.uint64)
    other = np.empty(words, np.uint64)
    into_y, missed = _best_delete(rows, pattern, max_parents, x, y, -np.inf, clique)
    if missed == MISS:
        return MISS
    into_x, missed = _best_delete(rows, pattern, max_parents, y, x, into_y, other)
    if missed == MISS:
        return MISS
    if into_x == -np.inf:
        return 0
    copy_pattern(pattern, kept)
    if into_x > into_y:
        apply_operator(pattern, y, x, other)
    else:
        apply_operator(pattern, x, y, clique)
    _allow(limits, x, y, False)
    return 1


@kernel
def knock_out_classes(rows: Any, pattern: Any, kept: Any, limits: Any, max_parents: int,
                      cursor: Any, last: int) -> int:  # fmt: skip
    """For each edge: delete it, search without the pair, then with it; keep what is better.

    The idea of XGES (Nazaret & Blei 2024). `cursor` is (y, x, stage, gains); y runs up to `last`.
    Returns 0, or MISS.
    """
    while cursor[0] < last:
        y, x = cursor[0], cursor[1]
        if cursor[2] == 0:
            if x >= y:
                cursor[0] += 1
                cursor[1] = 0
                continue
            if not adjacent(pattern, x, y):
                cursor[1] += 1
                continue
            started = _start_knock_out(rows, pattern, kept, limits, max_parents, x, y)
            if started == MISS:
                return MISS
            if started == 0:
                cursor[1] += 1
                continue
            cursor[2] = 1
        if cursor[2] == 1:
            if ges(rows, pattern, limits, max_parents, WITHOUT_END) == MISS:
                return MISS
            _allow(limits, x, y, True)
            pattern.dirty[x] = True
            pattern.dirty[y] = True
            cursor[2] = 2
        if ges(rows, pattern, limits, max_parents, WITHOUT_END) == MISS:
            return MISS
        after, missed = _score(rows, pattern)
        if missed == MISS:
            return MISS
        before, missed = _score(rows, kept)
        if missed == MISS:
            return MISS
        if after > before + limits.tolerance:
            cursor[3] += 1
        else:
            copy_pattern(kept, pattern)
        cursor[1] += 1
        cursor[2] = 0
    return 0
