"""Questions by brute force over the joint table. Slow, plain, and free of the library."""

from __future__ import annotations

import itertools
import math


def network_weights(cards, parents, tables):
    """{x: P(x)} for every joint state x."""
    weights = {}
    for x in itertools.product(*(range(r) for r in cards)):
        p = 1.0
        for i, table in enumerate(tables):
            p *= float(table[tuple(x[j] for j in parents[i])][x[i]])
        weights[x] = p
    return weights


def field_logs(cards, potentials):
    """{x: Σ log-potentials} for every joint state x."""
    return {
        x: sum(float(values[tuple(x[v] for v in scope)]) for scope, values in potentials)
        for x in itertools.product(*(range(r) for r in cards))
    }


def ask(weights, cards, asked, evidence, likelihoods):
    """({states of asked: P}, weight of the evidence); None for the first where it weighs nothing.

    `evidence` maps variables to states, `likelihoods` variables to a weight for each state.
    """
    found = {x: [] for x in itertools.product(*(range(cards[v]) for v in asked))}
    for x, weight in weights.items():
        if all(x[v] == code for v, code in evidence.items()):
            for v, likelihood in likelihoods.items():
                weight *= float(likelihood[x[v]])
            found[tuple(x[v] for v in asked)].append(weight)
    sums = {x: math.fsum(some) for x, some in found.items()}
    total = math.fsum(sums.values())
    return ({x: p / total for x, p in sums.items()} if total > 0 else None), total


def ask_logs(logs, cards, asked, evidence):
    """The same from log-weights of any size: ({states of asked: P}, log-weight)."""
    agreeing = {x: w for x, w in logs.items() if all(x[v] == c for v, c in evidence.items())}
    peak = max(agreeing.values())
    if peak == -math.inf:
        return None, peak
    shifted = {x: math.exp(w - peak) for x, w in agreeing.items()}
    answer, total = ask(shifted, cards, asked, {}, {})
    return answer, math.log(total) + peak
