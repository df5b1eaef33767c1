"""The sizes k and k_max of hybrid random fields, chosen on folds of the training rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from counterpane.data.table import Table
from counterpane.learners.driver import StoppedEarly
from counterpane.typing import Floats

N_FOLDS = 3
MAX_ROWS = 20_000  # distinct rows; of more, so many are drawn
PAIRS = ((8, 10), (2, 4), (4, 6), (8, 16), (16, 20))  # the first where nothing can be compared
ALONE = {"k": (8, 2, 4, 16), "k_max": (10, 4, 6, 16, 20)}

Size = int | Literal["auto"]


class JudgedSizes(NamedTuple):
    """Sizes, and the mean pseudo-log-likelihood of held-out rows, in nats, or their MRR."""

    k: int
    k_max: int
    value: float


def candidate_sizes(k: Size, k_max: Size, n: int) -> list[tuple[int, int]]:
    """The pairs (k, k_max) that are compared for n columns; one if neither is "auto".

    >>> candidate_sizes("auto", "auto", 6)
    [(5, 5), (2, 4), (4, 5)]
    >>> candidate_sizes(8, "auto", 100)[:2]
    [(8, 10), (8, 4)]
    """
    if k == "auto" and k_max == "auto":
        pairs: Sequence[tuple[int, int]] = PAIRS
    elif k == "auto":
        pairs = [(size, int(k_max)) for size in ALONE["k"]]
    elif k_max == "auto":
        pairs = [(int(k), size) for size in ALONE["k_max"]]
    else:
        return [(int(k), int(k_max))]
    most = max(1, n - 1)
    return list(dict.fromkeys((min(a, most), min(b, most)) for a, b in pairs))


def judge_sizes(
    sizes: Sequence[tuple[int, int]],
    table: Table,
    fit: Callable[[tuple[int, int], Table, float | None], Any],
    time_limit: float | None,
) -> list[JudgedSizes]:
    """Sizes by the mean pseudo-log-likelihood of held-out rows, the best first; equals in order.

    `fit` learns a model of some sizes from a table, within some seconds. Empty for fewer than six
    rows. Sizes that half of `time_limit` did not suffice for are left out.
    """
    end = None if time_limit is None else time.monotonic() + time_limit / 2
    parts = _folds(table)
    judged: list[JudgedSizes] = []
    for pair in sizes if parts else ():
        sums: Floats = np.zeros(2)
        for training, held in parts:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return sorted(judged, key=lambda j: -j.value)
            with warnings.catch_warnings():
                warnings.simplefilter("error", StoppedEarly)
                try:
                    model = fit(pair, training, left)
                except StoppedEarly:
                    return sorted(judged, key=lambda j: -j.value)
            weights = np.ones(held.n_rows) if held.weights is None else held.weights
            values = model.pseudo_log_likelihood(held, total=True)
            sums += float(values @ weights), float(weights.sum())
        judged.append(JudgedSizes(*pair, float(sums[0] / sums[1])))
    return sorted(judged, key=lambda j: -j.value)


def _folds(table: Table) -> list[tuple[Table, Table]]:
    """(rows to learn from, rows held out) of each fold; copies of a row may be in several."""
    rng = np.random.default_rng(0)
    weights = np.ones(table.n_rows) if table.weights is None else np.asarray(table.weights)
    rows = np.flatnonzero(weights > 0)
    if rows.size > MAX_ROWS:
        rows = np.sort(rng.choice(rows, MAX_ROWS, replace=False))
    if (weights == np.floor(weights)).all() and weights[rows].sum() <= 2 * MAX_ROWS:
        rows = np.repeat(rows, weights[rows].astype(np.int64))
        weights = np.ones(table.n_rows)
    if rows.size < 2 * N_FOLDS:
        return []
    codes = np.ascontiguousarray(table.codes[:, rows])
    plain = None if table.weights is None or weights.max() == 1 else weights[rows]
    every = Table(table.schema, codes, plain)
    fold = rng.permutation(rows.size) % N_FOLDS
    return [(every.take(fold != f), every.take(fold == f)) for f in range(N_FOLDS)]
