"""Pseudo-likelihood and maximum likelihood of small Markov networks. Slow, plain, and free of the
library."""

from __future__ import annotations

import math
from itertools import product

import numpy as np


def log_weight(row, potentials, rules=()):
    """Σ potentials (scope, values) + Σ weights of the rules (weight, conditions) that hold."""
    total = sum(values[tuple(row[v] for v in scope)] for scope, values in potentials)
    for weight, conditions in rules:
        if all((row[v] == value) != negated for v, value, negated in conditions):
            total += weight
    return total


def minus_pll(rows, weights, cards, potentials, rules=()):
    """−Σ weight · Σ_v ln P(x_v | rest)."""
    total = 0.0
    for row, weight in zip(rows, weights, strict=True):
        for v, card in enumerate(cards):
            own = log_weight(row, potentials, rules)
            others = [
                log_weight([*row[:v], s, *row[v + 1 :]], potentials, rules) for s in range(card)
            ]
            total += weight * (math.log(sum(map(math.exp, others))) - own)
    return total


def joint(cards, potentials):
    """P(x) for all x, by summing over them."""
    table = np.zeros(cards)
    for x in product(*map(range, cards)):
        table[x] = math.exp(log_weight(x, potentials))
    return table / table.sum()


def maximum_likelihood(empirical, cliques, rounds=500):
    """The joint of the cliques' model that has the empirical margins: proportional fitting."""
    p = np.full(empirical.shape, 1 / empirical.size)
    for _ in range(rounds):
        for clique in cliques:
            away = tuple(v for v in range(empirical.ndim) if v not in clique)
            now = p.sum(axis=away, keepdims=True)
            p = p * np.divide(
                empirical.sum(axis=away, keepdims=True), now, out=np.zeros_like(now), where=now > 0
            )
    return p
