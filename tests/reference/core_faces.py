"""Faces by inclusion and exclusion of counts, row by row, for the kernels of faces."""

from __future__ import annotations

import math
from itertools import combinations, product


def subsets(face):
    """All subsets but the empty one, by the bits of their columns' places; itself is last."""
    size = len(face)
    return [tuple(c for k, c in enumerate(face) if mask >> k & 1) for mask in range(1, 1 << size)]


def smoothed_count(data, columns, cell, y):
    """Weight of the rows in a cell with class y, and its share of the outliers."""
    rows, labels, weights, cards, n_classes, outliers = data
    count = sum(
        w
        for row, label, w in zip(rows, labels, weights, strict=True)
        if label == y and all(row[c] == s for c, s in zip(columns, cell, strict=True))
    )
    return count + outliers / (n_classes * math.prod(cards[c] for c in columns))


def log_odds_term(data, face, cell, y):
    """φ(cell, y) − φ(cell, 0) with φ_T = Σ_{U ⊆ T} (−1)^{|T| − |U|} ln P(x_U, y)."""
    total = 0.0
    for size in range(len(face) + 1):
        for places in combinations(range(len(face)), size):
            part, inside = [face[k] for k in places], [cell[k] for k in places]
            log_ratio = math.log(smoothed_count(data, part, inside, y)) - math.log(
                smoothed_count(data, part, inside, 0)
            )
            total += (-1) ** (len(face) - size) * log_ratio
    return total


def table_of(data, face):
    """w(y, cell) for the classes y ≥ 1, cells in mixed radix."""
    cards, n_classes = data[3], data[4]
    cells = list(product(*(range(cards[c]) for c in face)))
    return [
        [math.exp(log_odds_term(data, face, cell, y)) for cell in cells]
        for y in range(1, n_classes)
    ]


def log_odds(data, faces, row):
    """ln P(y | row) − ln P(0 | row) by class."""
    return [
        sum(log_odds_term(data, f, [row[c] for c in f], y) for f in ((), *faces))
        for y in range(data[4])
    ]


def softmax(values):
    largest = max(values)
    total = sum(math.exp(v - largest) for v in values)
    return [math.exp(v - largest) / total for v in values]


def log_likelihood(data, faces):
    rows, labels, weights = data[:3]
    return sum(
        w * math.log(softmax(log_odds(data, faces, row))[label])
        for row, label, w in zip(rows, labels, weights, strict=True)
    )


def log_mixture(prior, tables, structures, weights, row, cards):
    """ln Σ_s weight_s P_s(y | row) by class; tables[face][cell] is φ by class.

    A face with a state that is not known drops out.
    """
    logs = []
    for structure, weight in zip(structures, weights, strict=True):
        values = list(prior)
        for face in structure:
            cell = tuple(row[c] for c in face)
            if all(s < cards[c] for c, s in zip(face, cell, strict=True)):
                values = [v + p for v, p in zip(values, tables[face][cell], strict=True)]
        largest = max(values)
        norm = largest + math.log(sum(math.exp(v - largest) for v in values))
        logs.append([math.log(weight) + v - norm for v in values])
    sums = []
    for some in zip(*logs, strict=True):
        largest = max(some)
        sums.append(largest + math.log(sum(math.exp(v - largest) for v in some)))
    return sums
