"""What missing cells stand for, one row and one completion at a time. Free of the library."""

from __future__ import annotations

from itertools import product

import numpy as np


def completions(row, cards, parents, tables):
    """([(complete row, its probability given what the row shows)], P(what the row shows))."""
    fills = [range(r) if c == r else [int(c)] for c, r in zip(row, cards, strict=True)]
    ways = []
    for full in product(*fills):
        p = 1.0
        for i, table in enumerate(tables):
            p *= table[tuple(full[v] for v in (*parents[i], i))]
        ways.append((full, p))
    whole = sum(p for _, p in ways)
    return [(full, p / whole) for full, p in ways], whole


def expected_counts(codes, weights, cards, parents, tables, scope):
    """Expected counts of any set of columns."""
    counts = np.zeros([cards[v] for v in scope])
    for row, weight in zip(np.asarray(codes).T, weights, strict=True):
        for full, p in completions(row, cards, parents, tables)[0]:
            counts[tuple(full[v] for v in scope)] += weight * p
    return counts


def node_average(codes, weights, cards, child, parents, penalty):
    """Mean log-likelihood of a family over the rows complete in it, less the penalty."""
    cells, total = {}, 0.0
    for row in range(len(codes[child])):
        states = [int(codes[v][row]) for v in (*parents, child)]
        if any(s == cards[v] for s, v in zip(states, (*parents, child), strict=True)):
            continue
        weight = 1.0 if weights is None else float(weights[row])
        total += weight
        config = cells.setdefault(tuple(states[:-1]), {})
        config[states[-1]] = config.get(states[-1], 0.0) + weight
    if total == 0:
        return -np.inf
    value = 0.0
    for config in cells.values():
        n = sum(config.values())
        value += sum(c * np.log(c / n) for c in config.values() if c > 0)
    q = int(np.prod([cards[p] for p in parents], dtype=int))
    return value / total - penalty * q * (cards[child] - 1)
