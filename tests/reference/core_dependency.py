"""Conversion, logistic regressions, pseudo-likelihood, trees: naive, for the kernels of fields."""

from __future__ import annotations

import itertools
import math

import numpy as np


def holds(code, row, cards):
    """Whether a condition code, 2 · place + negated, holds in a row of states."""
    place = code // 2
    for v, r in enumerate(cards):
        if place < r:
            return (row[v] == place) != bool(code % 2)
        place -= r
    raise ValueError(code)


def number_of(term, row, cards):
    """What a raw term (target, numbers by state, codes) adds to ln P(target's state | rest)."""
    target, numbers, codes = term
    return numbers[row[target]] if all(holds(c, row, cards) for c in codes) else 0.0


def sub_features(target, groups, states, back, orders):
    """{codes: weight} of one term, the mean over `orders`, each a list of variables.

    `groups` are (variable, share, codes), `states` (code, weight); `back` goes without a state.
    """
    features: dict[tuple[int, ...], float] = {}

    def add(codes, weight):
        features[codes] = features.get(codes, 0.0) + weight / len(orders)

    for order in orders:
        before = order[: order.index(target)]
        share = math.prod(s for v, s, _ in groups if v not in before)
        if share == 0.0:
            continue
        kept = [c for v, _, codes in groups if v in before for c in codes]
        for code, weight in states:
            add(tuple(sorted([*kept, code])), weight * share)
        if kept:
            add(tuple(kept), back * share)
    return {codes: weight for codes, weight in features.items() if weight != 0.0}


def all_orders(variables):
    return [list(order) for order in itertools.permutations(variables)]


def rotations(orders):
    return [order[k:] + order[:k] for order in orders for k in range(len(order))]


def log_softmax(scores):
    """ln P of each state, of scores with the states first."""
    most = scores.max(axis=0)
    return scores - most - np.log(np.exp(scores - most).sum(axis=0))


def indicators(codes, columns, values):
    """One row for each feature: whether a column has a value; column −1 is always 1."""
    ones = np.ones(codes.shape[1])
    return np.array(
        [
            ones if c < 0 else (codes[c] == v).astype(float)
            for c, v in zip(columns, values, strict=True)
        ]
    )


def distances(features, states, row_weights, weights, l1):
    """How far each weight (heads, features) is from the optimum of an L1 logistic regression."""
    scores = np.vstack([np.zeros(states.size), weights @ features])
    chances = np.exp(log_softmax(scores))
    own = np.arange(len(scores))[:, None] == states
    slopes = ((chances - own) * row_weights)[1:] @ features.T
    at_zero = np.maximum(np.abs(slopes) - l1, 0.0)
    return np.where(weights == 0.0, at_zero, np.abs(slopes + l1 * np.sign(weights)))


def leaf_value(counts, pseudo):
    """Σ c ln(c + pseudo) − N ln(N + states · pseudo)."""
    n = counts.sum()
    total = sum(c * math.log(c + pseudo) for c in counts if c > 0)
    return total - (n * math.log(n + counts.size * pseudo) if n > 0 else 0.0)


def grown(answers, states, weights, allowed, terms):
    """(question, gain, counts, yes, no) of the best tree from the root down; question −1: a leaf.

    `answers` (questions, rows), `terms` (price, least, pseudo, number of states).
    """
    price, least, pseudo, n_states = terms
    counts = np.bincount(states, weights, n_states)
    best, most = -1, price
    for q in np.flatnonzero(allowed):
        yes = np.bincount(states[answers[q]], weights[answers[q]], n_states)
        if min(yes.sum(), (counts - yes).sum()) < least:
            continue
        sides = leaf_value(yes, pseudo) + leaf_value(counts - yes, pseudo)
        gain = sides - leaf_value(counts, pseudo)
        if gain > most + 1e-9:
            best, most = q, gain
    if best < 0:
        return (-1, -math.inf, counts, None, None)
    here = answers[best]
    children = [
        grown(answers[:, side], states[side], weights[side], allowed, terms)
        for side in (here, ~here)
    ]
    return (best, most, counts, *children)


def log_chances(tree, price, answers, pseudo):
    """ln P(state) in the leaf that a row of answers comes to, in the tree cut back to a price."""
    reach = math.inf
    while True:
        question, gain, counts, yes, no = tree
        reach = min(reach, gain)
        if question < 0 or reach <= price:
            return np.log((counts + pseudo) / (counts.sum() + counts.size * pseudo))
        tree = yes if answers[question] else no
