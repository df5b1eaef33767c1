"""Rows in an order of their own, and their division into stratified folds.

Rows are sorted, and equal ones joined with their weights, before anything is drawn: so neither the
order of the rows nor whether a row is written twice or has weight 2 makes a difference.
"""

from __future__ import annotations

import numpy as np

from counterpane.data.table import distinct_rows
from counterpane.learn.classifiers.interactions.fold_coding import RawRows
from counterpane.typing import Array, Codes, Floats, Ints


def sorted_rows(
    codes: Codes,
    cards: Ints,
    numeric: Ints,
    numbers: Floats,
    labels: Ints,
    n_classes: int,
    weights: Array | None,
) -> tuple[RawRows, Floats]:
    """The distinct rows in order, and their weights."""
    places = codes.astype(np.int64)
    values = []
    for position, row in zip(numeric, numbers, strict=True):
        distinct, places[position] = np.unique(row, return_inverse=True)  # NaN comes last, once
        values.append(distinct)
    sizes = cards.copy()
    sizes[numeric] = [len(v) for v in values]
    joint = np.vstack([labels, places])
    found_rows, summed = distinct_rows(joint, weights, np.append(n_classes, sizes))
    labels, places = found_rows[0].astype(np.int64), found_rows[1:].astype(np.int64)
    found: Floats = np.empty((len(numeric), places.shape[1]))
    for a, position in enumerate(numeric):
        found[a] = values[a][places[position]]
        places[position] = 0
    rows = RawRows(places.astype(np.uint16), cards, numeric, found, labels, n_classes)
    return rows, summed.astype(np.float64)


def unit_weight(weights: Floats) -> float:
    """What one row weighs: 1, or the mean where weights are on average smaller."""
    return min(1.0, float(weights.mean()))
