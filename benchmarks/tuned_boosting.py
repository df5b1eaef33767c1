"""LightGBM with a small grid, chosen by inner folds with early stopping, fitted again on all rows.

The grid: leaves {7, 31} × min_child_samples {5, 20}; learning rate .05, or .1 from four classes on;
rows and columns sampled at .8, λ = 1, at most 1000 rounds. Candidates are judged by the mean curve
of five inner folds (at most 2000 rows and six classes), else of one fifth of the rows held out; a
curve ends 50 rounds after its minimum. `min_data_per_group` stays at LightGBM's default of 100.
"""

from __future__ import annotations

import warnings
from itertools import product

import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

ROUNDS, PATIENCE = 1000, 50
FOLD_ROWS, FOLD_CLASSES = 2000, 6
LEAVES, LEAST_ROWS = (7, 31), (5, 20)


def tuned_proba(
    X: pd.DataFrame, y: np.ndarray, T: pd.DataFrame, classes: int, threads: int = 1
) -> np.ndarray:
    """P(class | row of T); classes are codes 0 … C − 1, of which y may lack some."""
    X, T = (f.set_axis([f"c{i}" for i in range(f.shape[1])], axis=1) for f in (X, T))
    splits = list(_splits(y, classes))
    best = (np.inf, {}, 1)
    for leaves, least in product(LEAVES, LEAST_ROWS):
        options = _options(classes, leaves, least, threads)
        loss, rounds = _curve(X, y, splits, options)
        if loss < best[0]:
            best = loss, options, rounds
    _, options, rounds = best
    model = lgb.train(options, lgb.Dataset(X, y, free_raw_data=False), rounds)
    p = np.asarray(model.predict(T))
    return np.column_stack([1 - p, p]) if classes == 2 else p


def _options(classes: int, leaves: int, least: int, threads: int) -> dict[str, object]:
    objective = {"objective": "binary", "metric": "binary_logloss"}
    if classes > 2:
        objective = {"objective": "multiclass", "metric": "multi_logloss", "num_class": classes}
    return {
        **objective, "num_leaves": leaves, "min_data_in_leaf": least, "lambda_l2": 1.0,
        "learning_rate": 0.1 if classes >= 4 else 0.05, "bagging_fraction": 0.8, "bagging_freq": 1,
        "feature_fraction": 0.8, "num_threads": threads, "seed": 0, "verbosity": -1,
    }  # fmt: skip


def _splits(y: np.ndarray, classes: int):
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes of fewer than five rows
        splits = list(folds.split(np.zeros(len(y)), y))
    many = len(y) > FOLD_ROWS or classes > FOLD_CLASSES
    return splits[:1] if many else splits


def _curve(X, y, splits, options) -> tuple[float, int]:
    """(the least mean loss of the held-out rows, its round)."""
    curves = []
    for train, test in splits:
        told: dict[str, dict[str, list[float]]] = {}
        part = lgb.Dataset(X.iloc[train], y[train], free_raw_data=False)
        held = lgb.Dataset(X.iloc[test], y[test], reference=part, free_raw_data=False)
        stop = lgb.early_stopping(PATIENCE, verbose=False)
        lgb.train(
            options, part, ROUNDS, valid_sets=[held], valid_names=["held"],
            callbacks=[stop, lgb.record_evaluation(told)],
        )  # fmt: skip
        curves.append(np.array(next(iter(told["held"].values()))))
    longest = max(map(len, curves))
    mean = np.mean([np.append(c, np.full(longest - len(c), c[-1])) for c in curves], axis=0)
    return float(mean.min()), int(mean.argmin()) + 1
