"""Scores of tables and families from their definitions, for the kernels of scores. Natural logs."""

from __future__ import annotations

import math

import numpy as np

LIKELIHOOD, EQUIVALENT, CONSTANT, AVERAGE = 0, 1, 2, 3


def table_score(table, kind, a):
    """The score of counts with axes (configuration of the parents, child)."""
    q, r = table.shape
    if kind in (LIKELIHOOD, AVERAGE):
        value = sum(n * math.log(n / sum(row)) for row in table.tolist() for n in row if n > 0)
        if kind == AVERAGE:
            value = value / table.sum() if table.sum() > 0 else -math.inf
        return value - a * q * (r - 1)
    alpha = a / (q * r) if kind == EQUIVALENT else a
    value = 0.0
    for row in table.tolist():
        value += math.lgamma(r * alpha) - math.lgamma(r * alpha + sum(row))
        value += sum(math.lgamma(alpha + n) - math.lgamma(alpha) for n in row)
    return value


def child_last(table):
    """Counts with axes (P, child, y) as (configuration of P and y, child)."""
    return np.swapaxes(table, 1, 2).reshape(-1, table.shape[1])


def family_score(codes, weights, cards, kind, a, child, parents):
    """The score of a family over the rows without a missing cell (a code of `cards`) in it."""
    table = np.zeros([cards[v] for v in (*parents, child)])
    for row in range(len(codes[0])):
        cell = tuple(int(codes[v][row]) for v in (*parents, child))
        if all(s < card for s, card in zip(cell, table.shape, strict=True)):
            table[cell] += 1.0 if weights is None else weights[row]
    return table_score(table.reshape(-1, cards[child]), kind, a)


def row_scores(codes, weights, cards, kind, a, child, parents, priors, max_parents, max_cells):
    """A family's scores with each variable toggled; `priors`: by count, edge and parameter."""
    by_count, by_edge, by_parameter = priors
    scores = np.full(len(cards), -np.inf)
    for y in range(len(cards)):
        others = sorted(set(parents) ^ ({y} if y != child else set()))
        grown = len(others) > len(parents)
        cells = math.prod(int(cards[v]) for v in (*others, child))
        if grown and (len(others) > max_parents or cells > max_cells):
            continue
        prior = by_count[len(others)] + (by_edge[others, child].sum() if by_edge.size else 0.0)
        prior += by_parameter * (cells - cells // int(cards[child]))
        scores[y] = family_score(codes, weights, cards, kind, a, child, others) + prior
    return scores


def ranked(scores, child, parents):
    """The additions that raise the score of the child, best first, equal ones by position."""
    better = [y for y in range(len(scores)) if y not in (child, *parents)]
    return sorted((y for y in better if scores[y] > scores[child]), key=lambda y: -scores[y])
