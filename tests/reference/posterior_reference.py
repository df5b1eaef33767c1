"""Posteriors over networks by brute force: every DAG, or rational numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np


def all_dags(n):
    """Parent masks of every DAG on n nodes, shape (number, n): all digraphs, sinks peeled off."""
    others = [[m for m in range(2**n) if not m >> i & 1] for i in range(n)]
    masks = np.array(list(product(*others)))
    left = np.full(len(masks), 2**n - 1)
    for _ in range(n):
        for i in range(n):
            ready = (left >> i & 1 == 1) & (masks[:, i] & left == 0)
            left[ready] ^= 1 << i
    return masks[left == 0]


def squeezed(mask, i):
    """The mask without bit i, which is not set."""
    return (mask & ((1 << i) - 1)) | (mask >> (i + 1) << i)


def n_orders(parents):
    """In how many orders parents come before their children."""
    n = len(parents)
    ways = [1] + [0] * (2**n - 1)
    for placed in range(2**n):
        for i in range(n):
            if not placed >> i & 1 and parents[i] & ~placed == 0:
                ways[placed | 1 << i] += ways[placed]
    return ways[-1]


def brute_force(scores, by_order=False):
    """(ln Σ, edge probabilities, best score) for scores[child][mask over the others]."""
    n = len(scores)
    dags = all_dags(n)
    logs = np.array([sum(scores[i][squeezed(d[i], i)] for i in range(n)) for d in dags.tolist()])
    best = logs.max()
    if by_order:
        logs = logs + np.log([n_orders(d) for d in dags.tolist()])
    weights = np.exp(logs - logs.max())
    edges = [[weights[dags[:, i] >> j & 1 == 1].sum() for i in range(n)] for j in range(n)]
    return math.log(weights.sum()) + logs.max(), np.array(edges) / weights.sum(), best


def rational(scores):
    """(ln Σ, edge probabilities) by the recursion over sinks in fractions, exactly.

    An edge's share is the same sum with all families without it left out.
    """
    n = len(scores)
    weights = [[Fraction(math.exp(s)) for s in row] for row in scores]
    total = _sinks(weights)
    edges = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                bit = squeezed(1 << j, i)
                held = [w if m & bit else Fraction(0) for m, w in enumerate(weights[i])]
                edges[j, i] = float(_sinks([*weights[:i], held, *weights[i + 1 :]]) / total)
    return math.log(total.numerator) - math.log(total.denominator), edges


def _sinks(weights):
    n = len(weights)
    alpha = [
        [sum(row[p] for p in range(u + 1) if p & ~u == 0) for u in range(len(row))]
        for row in weights
    ]
    found = [Fraction(1)] + [Fraction(0)] * (2**n - 1)
    for whole in range(1, 2**n):
        sinks = whole
        while sinks:
            rest = whole ^ sinks
            term = found[rest]
            for i in range(n):
                if sinks >> i & 1:
                    term *= -alpha[i][squeezed(rest, i)]
            found[whole] -= term
            sinks = (sinks - 1) & whole
    return found[-1]
