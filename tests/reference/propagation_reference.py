"""Loopy belief propagation by its definition: all messages at once, until none changes."""

from __future__ import annotations

import math

import numpy as np


def loopy(cards, tables, rounds=5000, damping=0.3):
    """(marginals, Bethe's ln Z, whether messages settled) of tables {scope: positive numbers}."""
    to_variable = {(s, v): np.full(cards[v], 1 / cards[v]) for s in tables for v in s}
    to_table = dict(to_variable)
    for _ in range(rounds):
        change = 0.0
        for s, v in to_table:
            others = [m for (t, u), m in to_variable.items() if u == v and t != s]
            message = np.prod([np.ones(cards[v]), *others], axis=0)
            to_table[s, v] = message / message.sum()
        for (s, v), old in to_variable.items():
            message = spread(tables[s], s, {u: to_table[s, u] for u in s if u != v})
            message = message.sum(axis=tuple(k for k, u in enumerate(s) if u != v))
            new = damping * old + (1 - damping) * message / message.sum()
            change = max(change, float(np.abs(new - old).max()))
            to_variable[s, v] = new
        if change < 1e-14:
            break
    marginals, energy = [], 0.0
    for v, card in enumerate(cards):
        around = [m for (_, u), m in to_variable.items() if u == v]
        p = np.prod([np.ones(card), *around], axis=0)
        p /= p.sum()
        marginals.append(p)
        energy += (1 - len(around)) * -float((p * np.log(p)).sum())
    for s, table in tables.items():
        belief = spread(table, s, {u: to_table[s, u] for u in s})
        belief /= belief.sum()
        energy += float((belief * (np.log(table) - np.log(belief))).sum())
    return marginals, energy, change < 1e-14


def spread(table, scope, messages):
    """The table times a vector for some of its axes."""
    for k, u in enumerate(scope):
        if u in messages:
            shape = [1] * table.ndim
            shape[k] = math.prod(messages[u].shape)
            table = table * messages[u].reshape(shape)
    return table
