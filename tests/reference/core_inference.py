"""Inference by enumeration and by plain chains, for the kernels of inference.

Tables are (scope, values): their product, or the exponential of their sum, is the joint weight.
"""

from __future__ import annotations

import itertools

import numpy as np


def rows_of(cards):
    return itertools.product(*map(range, cards))


def joint(cards, tables):
    """The product of the tables, one axis a variable."""
    out = np.ones(cards)
    for scope, values in tables:
        for row in rows_of(cards):
            out[row] *= values[tuple(row[v] for v in scope)]
    return out


def given(weights, row):
    """The weights where they agree with the row; a code at the card is not observed."""
    out = np.zeros_like(weights)
    where = tuple(
        slice(None) if code >= card else slice(code, code + 1)
        for code, card in zip(row, weights.shape, strict=True)
    )
    out[where] = weights[where]
    return out


def marginal(weights, scope):
    """The sums of the weights over all other variables, axes in the order of `scope`."""
    out = np.zeros([weights.shape[v] for v in scope])
    for row in rows_of(weights.shape):
        out[tuple(row[v] for v in scope)] += weights[row]
    return out


class SplitMix:
    """Uniform numbers by SplitMix64."""

    MASK = 2**64 - 1

    def __init__(self, state):
        self.state = int(state)

    def __call__(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & self.MASK
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & self.MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & self.MASK
        return ((z ^ (z >> 31)) >> 11) / 2**53


def gibbs(free, probabilities, start, seed, burn_in, samples):
    """(rows after each sweep, conditionals drawn from in it) of a chain from `start`.

    probabilities(row, v) is the conditional of v given the rest of the row.
    """
    uniform, row = SplitMix(seed), list(start)
    rows, conditionals = [], []
    for _ in range(burn_in + samples):
        drawn = {}
        for v in free:
            drawn[v] = probabilities(row, v)
            row[v] = int(np.searchsorted(np.cumsum(drawn[v]), uniform(), side="right"))
        rows.append(list(row))
        conditionals.append(drawn)
    return rows[burn_in:], conditionals[burn_in:]


def expected_logits(cards, log_weight, q, v):
    """E_q[log_weight | v = s] for each s, the variables independent as `q`."""
    out = np.zeros(cards[v])
    for row in rows_of(cards):
        others = np.prod([q[u][s] for u, s in enumerate(row) if u != v])
        out[row[v]] += others * log_weight(row)
    return out


def log_joint(cards, tables, evidence):
    """The sum of all tables of logs at all joint states; −∞ where they contradict evidence."""
    total = np.zeros(tuple(cards))
    for states in np.ndindex(*total.shape):
        if any(code >= 0 and states[v] != code for v, code in enumerate(evidence)):
            total[states] = -np.inf
            continue
        total[states] = sum(logs[tuple(states[v] for v in scope)] for scope, logs in tables)
    return total


def order_cells(cards, scopes, order):
    """The number of cells of all cliques when variables are eliminated in an order."""
    neighbors = {v: set() for v in order}
    for scope in scopes:
        for v in scope:
            neighbors[v] |= set(scope) - {v}
    total = 0
    for v in order:
        around = neighbors.pop(v)
        total += int(np.prod([cards[u] for u in (v, *around)]))
        for u in around:
            neighbors[u] |= around - {u}
            neighbors[u] -= {v}
    return total
