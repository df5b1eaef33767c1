"""Naive twins of the data floor: one row at a time, straight from the definitions."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise


def encode(cells):
    """Sorted observed values and a code per row; a missing cell gets the number of states."""
    states = sorted({c for c in cells if c is not None})
    return states, [len(states) if c is None else states.index(c) for c in cells]


def entropy(classes):
    """Class entropy in bits."""
    return -sum(n / len(classes) * math.log2(n / len(classes)) for n in Counter(classes).values())


def fayyad_irani(values, classes):
    """Cuts by recursion over rows; boundary points are looked for pair by pair."""
    rows = sorted(zip(values, classes, strict=True))
    distinct = sorted(set(values))
    best = None
    for low, high in pairwise(distinct):
        around = {c for v, c in rows if v in (low, high)}
        if len(around) == 1:  # both values pure and of one class: not a boundary
            continue
        left = [c for v, c in rows if v <= low]
        right = [c for v, c in rows if v >= high]
        after = (len(left) * entropy(left) + len(right) * entropy(right)) / len(rows)
        if best is None or after < best[0] - 1e-12:
            best = (after, (low + high) / 2, left, right)
    if best is None:
        return []
    after, cut, left, right = best
    everything = [c for _, c in rows]
    n, k = len(rows), len(set(everything))
    k1, k2 = len(set(left)), len(set(right))
    delta = math.log2(3**k - 2) - (
        k * entropy(everything) - k1 * entropy(left) - k2 * entropy(right)
    )
    if entropy(everything) - after <= (math.log2(n - 1) + delta) / n:
        return []
    below = [(v, c) for v, c in rows if v < cut]
    above = [(v, c) for v, c in rows if v > cut]
    halves = (fayyad_irani(*zip(*half, strict=True)) for half in (below, above))
    return [*next(halves), cut, *next(halves)]
