"""Moves that keep a graph in its class: what it says of every executed test stays the same.

The local proposal of Bromberg & Margaritis (2007), with the ratio that makes it exact: an edge is
drawn from those whose removal (A⁻), or addition (A⁺), changes no test, and the way back draws from
sets of another size. Arrays are those of `_walk_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane._jit import kernel, popcount
from counterpane.graphs._kernels import bit, has, lowest
from counterpane.learn.questions._walk_kernels import (
    ZERO,
    flip,
    flood,
    follow,
    oriented,
    propose,
    toggle,
)


@kernel
def addable(rows: Any, tests: Any, reached: Any, free: Any) -> int:
    """Fill `free` (n, words) with A⁺, the missing edges that join no independent test; its size.

    An edge joins a test where it leads from what one end reaches to what the other reaches.
    """
    pairs = tests[0]
    n, words = rows.shape
    for u in range(n):
        free[u] = ZERO
        for v in range(n):
            if v != u and not has(rows[u], v):
                free[u, v >> 6] |= bit(v)
    for t in range(pairs.shape[0]):
        if has(reached[t, 0], pairs[t, 1]):
            continue
        for side in range(2):
            u = lowest(reached[t, side], 0)
            while u >= 0:
                for k in range(words):
                    free[u, k] &= ~reached[t, 1 - side, k]
                u = lowest(reached[t, side], u + 1)
    return half_count(free)


@kernel
def removable(rows: Any, tests: Any, reached: Any, free: Any, scratch: Any) -> int:
    """Fill `free` with A⁻, the edges whose loss separates no dependent test; its size.

    Only an edge on any one path between the ends can separate them, so a path is found and its
    edges are tried.
    """
    pairs, given, _ = tests
    n = rows.shape[0]
    free[:] = rows
    parent = np.empty(n, dtype=np.int64)
    for t in range(pairs.shape[0]):
        a, b = pairs[t, 0], pairs[t, 1]
        if not has(reached[t, 0], b):
            continue
        trace_path(rows, given[t], a, b, parent)
        v = b
        while v != a:
            u = parent[v]
            flip(rows, u, v)
            if not flood(rows, given[t], a, b, scratch[0], scratch[1]):
                free[u, v >> 6] &= ~bit(v)
                free[v, u >> 6] &= ~bit(u)
            flip(rows, u, v)
            v = u
    return half_count(free)


@kernel
def trace_path(rows: Any, given: Any, a: int, b: int, parent: Any) -> None:
    """Fill `parent` along a shortest path from a to b that exists."""
    parent[:] = -1
    parent[a] = a
    queue = np.empty(rows.shape[0], dtype=np.int64)
    queue[0] = a
    first, last = 0, 1
    while parent[b] < 0:
        u = queue[first]
        first += 1
        v = lowest(rows[u], 0)
        while v >= 0:
            if parent[v] < 0 and not has(given, v):
                parent[v] = u
                queue[last] = v
                last += 1
            v = lowest(rows[u], v + 1)


@kernel
def half_count(rows: Any) -> int:
    """The number of edges of symmetric bit rows."""
    count = 0
    for u in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            count += popcount(rows[u, k])
    return count // 2


@kernel
def class_walk(graphs: Any, tests: Any, reached: Any, sizes: Any, totals: Any, log_prior: Any,
               shares: Any, draws: Any, ratios: Any) -> None:  # fmt: skip
    """Move each graph within its class: remove, add or swap, each a third of the time.

    A removal is taken with probability min(1, |A⁻(x)| / |A⁺(x*)| · prior ratio), an addition with
    |A⁺(x)| / |A⁻(x*)|. A swap draws any edge and any pair, and stays where that leaves the class:
    the way back is as likely. `ratios` is filled with the log-ratio where a proposal was taken,
    and with NaN where not.
    """
    n, words = graphs.shape[1], graphs.shape[2]
    free = np.empty((n, words), dtype=np.uint64)
    scratch = np.empty((2, words), dtype=np.uint64)
    swaps = np.array([0.0, 1.0, 0.0])
    for p in range(graphs.shape[0]):
        rows = graphs[p]
        for m in range(draws.shape[1]):
            draw = draws[p, m]
            ratios[p, m] = np.nan
            kind = int(3 * draw[0])
            cut, tie = (-1, -1), (-1, -1)
            if kind == 0:
                here = removable(rows, tests, reached[p], free, scratch)
            elif kind == 1:
                here = addable(rows, tests, reached[p], free)
            else:
                here = 1
                cut, tie = propose(rows, sizes[p], swaps, draw)
            if here == 0 or (kind == 2 and (cut[0] < 0 or tie[0] < 0)):
                continue
            if kind < 2:
                u, v = oriented(free, int(draw[1] * 2 * here))
                if kind == 0:
                    cut = (u, v)
                else:
                    tie = (u, v)
            toggle(rows, cut, tie)
            if kind == 2 and leaves(rows, tests, reached[p], scratch):
                toggle(rows, cut, tie)
                continue
            follow(rows, tests, reached[p], cut, tie, scratch)
            back = 1
            if kind == 0:
                back = addable(rows, tests, reached[p], free)
            elif kind == 1:
                back = removable(rows, tests, reached[p], free, scratch)
            grown = (tie[0] >= 0) - (cut[0] >= 0)
            ratio = log_prior[sizes[p] + grown] - log_prior[sizes[p]] + np.log(here / back)
            if ratio > np.log(draw[3]):
                sizes[p] += grown
                ratios[p, m] = ratio
            else:
                toggle(rows, cut, tie)
                follow(rows, tests, reached[p], tie, cut, scratch)


@kernel
def leaves(rows: Any, tests: Any, reached: Any, scratch: Any) -> bool:
    """Whether a change of edges, already made, changes what the graph says of any test."""
    pairs, given, _ = tests
    for t in range(pairs.shape[0]):
        joined = flood(rows, given[t], pairs[t, 0], pairs[t, 1], scratch[0], scratch[1])
        if joined != has(reached[t, 0], pairs[t, 1]):
            return True
    return False
