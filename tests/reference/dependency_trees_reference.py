"""Greedy probability trees, and how far L1 regressions are from optimal, row by row.

Rows are sequences of codes, `weights` their weights, `cards` the numbers of states.
"""

from __future__ import annotations

import math


def column_order(rows, weights, cards, names):
    """Columns by falling entropy, equal ones by name: the order in which ties are broken."""

    def entropy(v):
        counts = [0.0] * cards[v]
        for row, w in zip(rows, weights, strict=True):
            counts[row[v]] += w
        shares = sorted(c / sum(counts) for c in counts)
        return -sum(p * math.log(p) for p in shares if p > 0)

    return sorted(range(len(cards)), key=lambda v: (-round(entropy(v), 12), names[v]))


def questions(cards, order):
    """(column, value): value against the rest; of two values the second."""
    asked = []
    for v in order:
        values = [1] if cards[v] == 2 else range(cards[v])
        asked += [(v, s) for s in values]
    return asked


def leaf_value(counts, prior):
    """Log-likelihood of smoothed leaf probabilities, and their logs."""
    n, r = sum(counts), len(counts)
    logs = [math.log((c + prior / r) / (n + prior)) if c + prior else -math.inf for c in counts]
    return sum(c * x for c, x in zip(counts, logs, strict=True) if c), logs


def grow(rows, weights, cards, target, asked, kappa, min_count, prior):
    """A tree as nested tuples: ("leaf", logs) or (column, value, yes, no)."""

    def count(members):
        counts = [0.0] * cards[target]
        for i in members:
            counts[rows[i][target]] += weights[i]
        return counts

    def node(members):
        base, logs = leaf_value(count(members), prior)
        size = sum(weights[i] for i in members)
        tie = 1e-13 * (1e3 + size * math.log(size + prior))  # what rounding may do
        best, most, sides = None, -math.log(kappa), None
        for column, value in asked:
            if column == target:
                continue
            yes = [i for i in members if rows[i][column] == value]
            no = [i for i in members if rows[i][column] != value]
            sizes = [sum(weights[i] for i in side) for side in (yes, no)]
            if min(sizes) < min_count * (1 - 1e-9) or min(sizes) == 0:
                continue
            gain = sum(leaf_value(count(side), prior)[0] for side in (yes, no)) - base
            if gain > most + (tie if best else 0.0):
                best, most, sides = (column, value), gain, (yes, no)
        if best is None:
            return ("leaf", logs)
        return (*best, node(sides[0]), node(sides[1]))

    return node(list(range(len(rows))))


def walk(tree, row):
    """The leaf's logs for a row."""
    while tree[0] != "leaf":
        column, value, yes, no = tree
        tree = yes if row[column] == value else no
    return tree[1]


def leaves(tree):
    return 1 if tree[0] == "leaf" else leaves(tree[2]) + leaves(tree[3])


def scores_of(rules, row, target, states):
    """The log-weight of each state of `target`: the sum of (weight, conditions) that hold."""
    out = []
    for s in range(states):
        changed = [*row]
        changed[target] = s
        out.append(sum(w for w, conditions in rules if all(changed[v] == a for v, a in conditions)))
    return out


def l1_optimality(rows, weights, cards, target, rules, l1):
    """(objective, how far the furthest weight is from optimal) of a regression written as rules.

    Weights are of states of the target but the first, alone or with a state of another column but
    the first.
    """
    r = cards[target]
    heads = range(1, r)
    others = [(v, s) for v in range(len(cards)) if v != target for s in range(1, cards[v])]
    known = {tuple(sorted(conditions)): w for w, conditions in rules}
    objective = l1 * sum(abs(w) for w, _ in rules)
    slopes = {(h, f): 0.0 for h in heads for f in [None, *others]}
    for row, weight in zip(rows, weights, strict=True):
        logs = scores_of(rules, row, target, r)
        top = max(logs)
        total = top + math.log(sum(math.exp(x - top) for x in logs))
        objective += weight * (total - logs[row[target]])
        on = [None] + [(v, s) for v, s in others if row[v] == s]
        for h in heads:
            residual = weight * (math.exp(logs[h] - total) - (row[target] == h))
            for f in on:
                slopes[h, f] += residual
    worst = 0.0
    for (h, f), slope in slopes.items():
        key = tuple(sorted([(target, h)] + ([f] if f else [])))
        w = known.pop(key, 0.0)
        far = abs(slope + math.copysign(l1, w)) if w else max(abs(slope) - l1, 0.0)
        worst = max(worst, far)
    assert not known, f"rules that are no feature: {known}"
    return objective, worst
