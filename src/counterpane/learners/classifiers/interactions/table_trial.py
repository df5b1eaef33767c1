"""Whether tables pay where they are costly: judged on one fold of some of the rows.

Fitting the tables of many classes, rows and columns takes much longer than boosting trees, and
there they often add nothing. So both are fitted to one fold first, and to no more rows than a
second's work. Few rows favor tables: what has no weight in this pool has none in that of all rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpane.learners.boosting.fold_boosting import boost_once, by_class, log_softmax
from counterpane.learners.boosting.pool import pool_weights
from counterpane.learners.classifiers.boosted_part import BoostedPart
from counterpane.learners.classifiers.interactions.fold_data import FoldData
from counterpane.learners.classifiers.interactions.interaction_search import (
    STRENGTHS,
    FoldStructures,
    InteractionSearch,
    PenaltyPath,
)
from counterpane.typing import Floats, Ints

COSTLY = 2**20  # rows × scores × columns from which tables are tried first
TRIAL = 2**19  # rows × scores × columns of the trial
MOST_TRIAL = 2**23  # where more is needed for a trial, tables are left out without one
LEAST_ROWS = 1000  # of a table whose faces may be left out, and of a trial
CLASS_ROWS = 20  # of each class in a trial
LEAST_WEIGHT = 0.05  # of tables in the pool below which they are left out
TRIED = ("leave-one-out", "tables", "numbers")  # one search; "score" takes longest


class TableTrial(NamedTuple):
    """The weight of tables in a pool with trees, and the best structure among those tried."""

    weight: float
    structure: str
    rows: int

    @property
    def pays(self) -> bool:
        """Whether tables have a weight worth fitting them to all rows."""
        return self.weight >= LEAST_WEIGHT


def work_of(tables: InteractionSearch) -> int:
    """Rows × scores × columns: what the time of fitting tables grows with."""
    rows = tables.rows
    scores = 1 if rows.n_classes == 2 else rows.n_classes
    return len(rows.labels) * scores * max(len(rows.codes), 1)


def costly(tables: InteractionSearch) -> bool:
    """Whether tables take so long that they are tried on some rows first."""
    return work_of(tables) > COSTLY and len(tables.rows.labels) >= LEAST_ROWS


def try_tables(tables: InteractionSearch, trees: BoostedPart) -> TableTrial:
    """Fit tables and trees to the first fold of some rows, and weigh them on its held-out rows.

    Where enough rows for that would take too long, tables are left out: no rows, and no weight.
    """
    n_rows = len(tables.rows.labels)
    least = max(LEAST_ROWS, CLASS_ROWS * tables.rows.n_classes)
    if least * work_of(tables) > n_rows * MOST_TRIAL:
        return TableTrial(0.0, "", 0)
    most = max(least, n_rows * TRIAL // work_of(tables))
    chosen: Ints = np.arange(n_rows)
    if most < n_rows:
        chosen = np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))
    held = tables.held[0][chosen]
    weights = tables.weights[chosen] - held
    fold = FoldData(tables.rows.take(chosen), weights, held)
    structures = FoldStructures(fold)
    best, logs = "", np.zeros((0, 0))
    most_likely = -np.inf
    for name in [n for n in TRIED if n in tables.names]:
        path = PenaltyPath(structures, structures.structure(name))
        strength = int(np.argmax(path.scores))
        if path.scores[strength] > most_likely:
            ridge = path.at(STRENGTHS[strength]).ridge
            most_likely, best = float(path.scores[strength]), name
            logs = structures.held_out_log_proba(ridge).T
    tree_logs = _trees(trees, chosen, weights, held)
    weight = pool_weights([logs, tree_logs], fold.held_labels, fold.held)[0][0]
    return TableTrial(float(weight), best, len(chosen))


def _trees(trees: BoostedPart, chosen: Ints, weights: Floats, held: Floats) -> Floats:
    """ln P(class) of the held-out rows among the chosen ones, by small trees."""
    rows = trees.rows.take(chosen)
    shape = next(iter(trees.search.shapes.values()))
    fit = boost_once(rows, weights, held, shape, seed=trees.search.seed)
    bins = np.ascontiguousarray(rows.bins[held > 0])
    return log_softmax(by_class(fit.scores(bins, int(fit.curve.argmin()) + 1)))
