"""P(class | evidence) by sums over all cells, and averages over rows by plain loops."""

from __future__ import annotations

import itertools
import math


def conditional(joint, evidence):
    """P(last axis | evidence) of nested lists; evidence is axis → states that are allowed."""
    cards = []
    level = joint
    while isinstance(level, list):
        cards.append(len(level))
        level = level[0]
    sums = [0.0] * cards[-1]
    for cell in itertools.product(*map(range, cards)):
        if all(cell[axis] in states for axis, states in evidence.items()):
            p = joint
            for state in cell:
                p = p[state]
            sums[cell[-1]] += p
    return [s / sum(sums) for s in sums]


def frequencies(rows, weights, classes, evidence, n_classes):
    """n(class, evidence) and n(evidence); rows are tuples of states."""
    counts = [0.0] * n_classes
    for row, weight, label in zip(rows, weights, classes, strict=True):
        if all(row[c] in states for c, states in evidence.items()):
            counts[label] += weight
    return counts, sum(counts)


def average(rows, weights, evidence, probabilities, enough, ranks=None):
    """The average of `probabilities(row)` over rows that fit, filled up with similar rows.

    `evidence` is column → state, or, for a column in `ranks`, → number; `ranks[c](x)` is the share
    of rows below x, equals by half. Returns the average, the weight that fits, the effective
    number of rows.
    """
    ranks = ranks or {}

    def apart(row):
        return sum(
            abs(ranks[c](row[c]) - ranks[c](x)) if c in ranks else float(row[c] != x)
            for c, x in evidence.items()
        )

    fit = [(w, 1.0, row) for row, w in zip(rows, weights, strict=True) if apart(row) == 0]
    mass = sum(w for w, _, _ in fit)
    used = list(fit)
    if mass < enough:
        loose = [(w, apart(row), row) for row, w in zip(rows, weights, strict=True) if apart(row)]
        low, high = -30.0, 30.0
        for _ in range(200):
            middle = (low + high) / 2
            total = sum(w * math.exp(-d / math.exp(middle)) for w, d, _ in loose)
            low, high = (middle, high) if total < enough - mass else (low, middle)
        for w, d, row in loose:
            changed = list(row)
            for c, x in evidence.items():
                changed[c] = x
            used.append((w, math.exp(-d / math.exp(high)), tuple(changed)))
    total = sum(w * k for w, k, _ in used)
    squares = sum(w * k * k for w, k, _ in used)
    each = [(w * k, probabilities(row)) for w, k, row in used]
    n_classes = len(each[0][1])
    mean = [sum(w * p[c] for w, p in each) / total for c in range(n_classes)]
    return mean, mass, total**2 / squares
