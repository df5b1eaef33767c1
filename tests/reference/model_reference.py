"""Models by brute force over the joint table. Slow, plain, and free of the library."""

from __future__ import annotations

import itertools

import numpy as np


def states(cards):
    """All joint states, the last variable fastest."""
    return itertools.product(*(range(r) for r in cards))


def network_joint(cards, parents, tables):
    """P(x) for every x, as a table with one axis for each variable."""
    joint = np.empty(tuple(cards))
    for x in states(cards):
        p = 1.0
        for i, table in enumerate(tables):
            p *= table[tuple(x[j] for j in parents[i])][x[i]]
        joint[x] = p
    return joint


def rule_holds(conditions, x):
    """Whether every (variable, value, negated) is met by x."""
    return all((x[v] != value) if negated else (x[v] == value) for v, value, negated in conditions)


def log_weights(cards, potentials, rules):
    """Σ potentials + Σ weights of the rules that hold, for every x."""
    total = np.zeros(tuple(cards))
    for x in states(cards):
        for scope, values in potentials:
            total[x] += values[tuple(x[v] for v in scope)]
        for weight, conditions in rules:
            if rule_holds(conditions, x):
                total[x] += weight
    return total


def conditional(weights, x, v):
    """P(x_v = s | the rest of x) for every s, from unnormalized weights of the joint."""
    where = list(x)
    row = []
    for s in range(weights.shape[v]):
        where[v] = s
        row.append(weights[tuple(where)])
    return np.array(row) / sum(row)


def marginal(joint, keep, evidence):
    """(P(keep | evidence), P(evidence)); axes follow `keep`."""
    table = np.zeros([joint.shape[v] for v in keep])
    for x in states(joint.shape):
        if all(x[v] == code for v, code in evidence.items()):
            table[tuple(x[v] for v in keep)] += joint[x]
    return table / table.sum(), table.sum()
