"""Sums over parent sets, orders and partitions from their definitions."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations


def subsets(mask):
    return [m for m in range(mask + 1) if m & ~mask == 0]


def log_sum(logs):
    top = max(logs, default=-math.inf)
    if top == -math.inf:
        return top
    return top + math.log(math.fsum(math.exp(x - top) for x in logs))


def drawn(items, logs, uniform):
    """The item drawn ∝ exp(logs) by one uniform number, in the order of the items."""
    top = max(logs)
    shares = [math.exp(x - top) for x in logs]
    left = uniform * sum(shares)
    for item, share in zip(items, shares, strict=True):
        left -= share
        if left < 0:
            return item
    return items[-1]


class Candidates:
    """Candidate parents of each node, allowed masks of them, and their scores."""

    def __init__(self, candidates, sets, scores):
        self.candidates, self.sets, self.scores = candidates, sets, scores
        self.n = len(candidates)

    def inside(self, i, allowed, needed=None):
        """The masks of parents of i among `allowed` nodes; one of `needed`, if any."""
        out = []
        for m in self.sets:
            parents = {j for c, j in enumerate(self.candidates[i]) if m >> c & 1}
            if parents <= set(allowed) and (needed is None or parents & set(needed)):
                out.append(m)
        return out

    def log_weight(self, i, allowed, needed=None):
        return log_sum([self.scores[i][m] for m in self.inside(i, allowed, needed)])

    def shares(self, i, allowed, needed=None):
        """The probability of each candidate as a parent."""
        masks = self.inside(i, allowed, needed)
        whole = log_sum([self.scores[i][m] for m in masks])
        weights = [math.exp(self.scores[i][m] - whole) for m in masks]
        return [
            math.fsum(w for m, w in zip(masks, weights, strict=True) if m >> c & 1)
            for c in range(len(self.candidates[i]))
        ]

    def order_score(self, order):
        return math.fsum(self.log_weight(i, order[:q]) for q, i in enumerate(order))

    def allowed_by(self, layer, i):
        """(allowed, needed) parents of i in a partition; nothing is needed in the first layer."""
        before = [j for j in range(self.n) if layer[j] < layer[i]]
        last = [j for j in before if layer[j] == layer[i] - 1]
        return before, last if layer[i] else None


def set_terms(codes, weights, members, alpha=None):
    """Σ c ln c over the cells of some columns, or with alpha Σ ln Γ(α + c) − ln Γ(α)."""
    cells = Counter()
    for row, weight in enumerate(weights):
        cells[tuple(codes[v][row] for v in members)] += weight
    if alpha is None:
        return sum(c * math.log(c) for c in cells.values() if c)
    return sum(math.lgamma(alpha + c) - math.lgamma(alpha) for c in cells.values())


def sum_over_orders(log_alpha, members):
    """ln Σ over the orders of some variables of Π α_i(those before i)."""
    orders = permutations(members)
    return log_sum([sum(log_alpha(i, o[:q]) for q, i in enumerate(o)) for o in orders])
