"""Gibbs moves of one node through an order of the nodes.

A node's place says which of its candidate parents come before it; `sums[i, mask]` is the log of the
sum over the parent sets inside that mask, and `bits[i, j]` the bit of j among the candidates of i,
0 where it is none.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from counterpane._jit import kernel
from counterpane.typing import Floats, Ints


class Tables(NamedTuple):
    """Of each variable, tables over masks of its k candidate parents, which rise by position.

    `scores[i, mask]` is the log-score of i given those candidates, less the largest; `sums` holds
    the logs of the sums over all subsets of a mask; `sets` the masks that are allowed.
    """

    candidates: Ints
    bits: Ints
    sets: Ints
    scores: Floats
    sums: Floats


@kernel
def sum_subsets(sums: Any) -> None:
    """Turn log-scores of parent sets into the logs of the sums over all subsets, in place."""
    bit = 1
    while bit < sums.size:
        for m in range(sums.size):
            if m & bit:
                low, high = min(sums[m], sums[m ^ bit]), max(sums[m], sums[m ^ bit])
                if low > -np.inf:
                    sums[m] = high + math.log1p(math.exp(low - high))
                else:
                    sums[m] = high
        bit <<= 1


@kernel
def choose(logs: Any, uniform: float) -> int:
    """The index drawn with probability ∝ exp(logs)."""
    largest = -np.inf
    for value in logs:
        largest = max(largest, value)
    total = 0.0
    for value in logs:
        total += math.exp(value - largest)
    left = uniform * total
    drawn = 0
    for k in range(logs.size):
        share = math.exp(logs[k] - largest)
        if share > 0.0:
            drawn = k
            left -= share
            if left < 0.0:
                break
    return drawn


@kernel
def draw_set(scores: Any, sets: Any, before: int, needed: int, uniform: float) -> int:
    """One of `sets` inside `before`, drawn ∝ exp(scores); touching `needed` unless that is 0."""
    largest = -np.inf
    for m in sets:
        if m & ~before == 0 and (needed == 0 or m & needed != 0):
            largest = max(largest, scores[m])
    total = 0.0
    for m in sets:
        if m & ~before == 0 and (needed == 0 or m & needed != 0):
            total += math.exp(scores[m] - largest)
    left = uniform * total
    drawn = 0
    for m in sets:
        if m & ~before == 0 and (needed == 0 or m & needed != 0) and scores[m] > -np.inf:
            drawn = m
            left -= math.exp(scores[m] - largest)
            if left < 0.0:
                break
    return drawn


@kernel
def _move_in_order(sums: Any, bits: Any, order: Any, before: Any, start: int, uniform: float,
                   logs: Any) -> None:  # fmt: skip
    """Draw a new position for the node at `start` from its conditional, in O(n)."""
    n = order.size
    v = order[start]
    logs[start] = 0.0
    for way in (-1, 1):
        mine, total = before[v], 0.0
        q = start + way
        while 0 <= q < n:
            u = order[q]
            passed = mine & ~bits[v, u] if way < 0 else mine | bits[v, u]
            theirs = before[u] | bits[u, v] if way < 0 else before[u] & ~bits[u, v]
            total += sums[v, passed] - sums[v, mine] + sums[u, theirs] - sums[u, before[u]]
            logs[q] = total
            mine = passed
            q += way
    q = choose(logs, uniform)
    way = -1 if q < start else 1
    for place in range(start, q, way):
        u = order[place + way]
        order[place] = u
        before[v] = before[v] & ~bits[v, u] if way < 0 else before[v] | bits[v, u]
        before[u] = before[u] | bits[u, v] if way < 0 else before[u] & ~bits[u, v]
    order[q] = v


@kernel
def walk_orders(tables: Any, order: Any, uniforms: Any, edges: Any, squares: Any,
                log_scores: Any) -> None:  # fmt: skip
    """Take the moves of `uniforms` (samples, moves, 2), and add up each sample's edges."""
    sums, candidates, bits = tables.sums, tables.candidates, tables.bits
    n = order.size
    logs = np.empty(n)
    before = np.zeros(n, np.int64)
    for q in range(n):
        for r in range(q):
            before[order[q]] |= bits[order[q], order[r]]
    for sample in range(uniforms.shape[0]):
        for move in range(uniforms.shape[1]):
            start = min(n - 1, int(uniforms[sample, move, 0] * n))
            _move_in_order(sums, bits, order, before, start, uniforms[sample, move, 1], logs)
        log_scores[sample] = 0.0
        for i in range(n):
            whole = sums[i, before[i]]
            log_scores[sample] += whole
            for k in range(candidates.shape[1]):
                if before[i] >> k & 1:
                    share = -math.expm1(sums[i, before[i] & ~(1 << k)] - whole)
                    edges[i, k] += share
                    squares[i, k] += share * share


@kernel
def draw_network(tables: Any, order: Any, uniforms: Any, chosen: Any) -> None:
    """Fill `chosen` with a parent set for each node, drawn from the networks of the order."""
    for q in range(order.size):
        i = order[q]
        before = 0
        for r in range(q):
            before |= tables.bits[i, order[r]]
        chosen[i] = draw_set(tables.scores[i], tables.sets, before, 0, uniforms[i])
