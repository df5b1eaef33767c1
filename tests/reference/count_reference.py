"""Contingency counts, one row after the other. Slow, plain, and free of the library.

A missing cell has the code `card`. Policies: "drop" leaves out rows with a missing cell within the
scope, "state" gives every axis one more state at its end.
"""

from __future__ import annotations

import itertools

import numpy as np


def count(codes, weights, cards, scope, missing="drop"):
    """The table of the columns of `scope`, its axes in that order."""
    shape = tuple(cards[v] + (missing == "state") for v in scope)
    table = np.zeros(shape, dtype=np.int64 if weights is None else weights.dtype)
    rows = complete_rows(codes, cards, scope) if missing == "drop" else slice(None)
    amounts = np.ones(codes.shape[1], dtype=np.int64) if weights is None else weights
    if not scope:
        return np.array(amounts.sum())
    np.add.at(table, tuple(codes[v][rows] for v in scope), amounts[rows])
    return table


def complete_rows(codes, cards, scope):
    """Which rows have no missing cell within the scope."""
    rows = np.ones(codes.shape[1], dtype=bool)
    for v in scope:
        rows &= codes[v] != cards[v]
    return rows


def cells(codes, weights, cards, scope, missing="drop"):
    """The non-empty cells as a sorted list of (codes, count)."""
    found = {}
    for row in range(codes.shape[1]):
        cell = tuple(int(codes[v, row]) for v in scope)
        if missing == "drop" and any(c == cards[v] for c, v in zip(cell, scope, strict=True)):
            continue
        found[cell] = found.get(cell, 0) + (1 if weights is None else weights[row].item())
    return sorted((cell, n) for cell, n in found.items() if n > 0)


def information(table):
    """Mutual information of a two-way table, in nats."""
    total = table.sum()
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    value = 0.0
    for i, j in itertools.product(range(table.shape[0]), range(table.shape[1])):
        if table[i, j] > 0:
            value += table[i, j] / total * np.log(table[i, j] * total / (rows[i] * columns[j]))
    return value
