"""Inexact inference, slow and plain: brute force, scans as matrices, mean field term by term."""

from __future__ import annotations

import itertools
import math


def rows_of(cards):
    return list(itertools.product(*(range(r) for r in cards)))


def holds(conditions, x):
    """Whether a row meets all of (variable, value, negated)."""
    return all((x[v] == value) != negated for v, value, negated in conditions)


def log_weight(x, potentials, rules):
    """Σ of potentials (scope, array) and of the rules (weight, conditions) that hold."""
    total = sum(float(values[tuple(x[v] for v in scope)]) for scope, values in potentials)
    return total + sum(weight for weight, conditions in rules if holds(conditions, x))


def distribution(cards, potentials, rules, evidence=(), likelihoods=()):
    """{row: P(row | evidence)}."""
    logs = {
        x: log_weight(x, potentials, rules)
        for x in rows_of(cards)
        if all(x[v] == code for v, code in dict(evidence).items())
    }
    top = max(logs.values())
    weights = {x: math.exp(w - top) for x, w in logs.items()}
    for v, likelihood in dict(likelihoods).items():
        weights = {x: w * float(likelihood[x[v]]) for x, w in weights.items()}
    total = math.fsum(weights.values())
    return {x: w / total for x, w in weights.items()}


def marginal(p, cards, asked):
    """[P(asked = states)] over all joint states of `asked`, the last one fastest."""
    found = dict.fromkeys(itertools.product(*(range(cards[v]) for v in asked)), 0.0)
    for x, weight in p.items():
        found[tuple(x[v] for v in asked)] += weight
    return list(found.values())


def scan_marginals(cards, conditional, free, start):
    """What a chain that draws the `free` variables in turn visits in the long run, after sweeps.

    conditional(v, x) gives the probabilities of the states of v. [P(v = s)] for each v.
    """
    p = {start: 1.0}
    history = []
    for _ in range(2000):
        for v in free:
            new = {}
            for x, weight in p.items():
                for s, share in enumerate(conditional(v, x)):
                    if share > 0:
                        y = (*x[:v], s, *x[v + 1 :])
                        new[y] = new.get(y, 0.0) + weight * share
            p = new
        history.append(p)
        if len(history) > 1 and all(abs(p[x] - history[-2].get(x, 0)) < 1e-13 for x in p):
            break
    return [marginal(p, cards, [v]) for v in range(len(cards))]


def mean_field(cards, expected, evidence, sweeps):
    """q after sweeps of q_v ∝ exp(expected(v, s, q)), from even distributions."""
    q = [[1.0 / r] * r for r in cards]
    for v, code in evidence.items():
        q[v] = [float(s == code) for s in range(cards[v])]
    for _ in range(sweeps):
        for v in range(len(cards)):
            if v not in evidence:
                logs = [expected(v, s, q) for s in range(cards[v])]
                top = max(logs)
                weights = [math.exp(w - top) for w in logs]
                q[v] = [w / sum(weights) for w in weights]
    return q


def expected_log(cards, potentials, rules):
    """(v, s, q) → E[ln weight | x_v = s] when the others are independent, by all rows."""

    def of(v, s, q):
        total = 0.0
        for x in rows_of(cards):
            if x[v] == s:
                share = math.prod(q[u][x[u]] for u in range(len(cards)) if u != v)
                if share > 0:
                    total += share * log_weight(x, potentials, rules)
        return total

    return of
