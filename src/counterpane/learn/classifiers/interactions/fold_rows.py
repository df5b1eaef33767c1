"""Rows in an order of their own, and their division into stratified folds.

Rows are sorted, and equal ones joined with their weights, before anything is drawn: so neither the
order of the rows nor whether a row is written twice or has weight 2 makes a difference.
"""

from __future__ import annotations

import numpy as np

from counterpane.data.table import distinct_rows
from counterpane.learn.classifiers.interactions.fold_coding import RawRows
from counterpane.typing import Array, Codes, Floats, Ints

MAX_COPIES = 2**22  # of all rows together; above, a row of any weight stays in one fold


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


def deal_folds(labels: Ints, weights: Floats, n_folds: int, rng: np.random.Generator) -> Floats:
    """The weight of each row in each fold, (folds, rows): shuffled class by class, dealt in turn.

    Whole weights are dealt copy by copy. There are fewer folds where there are fewer copies, and
    none where there is but one.
    """
    whole = bool((weights == np.floor(weights)).all()) and weights.sum() <= MAX_COPIES
    copies = np.repeat(np.arange(len(weights)), weights.astype(np.int64) if whole else 1)
    each = np.ones(len(copies)) if whole else weights
    n_folds = min(n_folds, len(copies)) if len(copies) > 1 else 0
    order = rng.permutation(len(copies))
    order = order[np.argsort(labels[copies[order]], kind="stable")]
    held = np.zeros((n_folds, len(weights)))
    for k in range(n_folds):
        mine = order[k::n_folds]
        np.add.at(held[k], copies[mine], each[mine])
    return held


def unit_weight(weights: Floats) -> float:
    """What one row weighs: 1, or the mean where weights are on average smaller."""
    return min(1.0, float(weights.mean()))
