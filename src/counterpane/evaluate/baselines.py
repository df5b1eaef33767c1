"""Classifiers of scikit-learn, on the same columns as ours, to compare with.

Numbers go in as they are, not as intervals. Logistic regression gets them standardized, with the
median and a column of its own for missing cells, and states as one column of 0 and 1 each; so does
the forest. Gradient boosting gets states as categories and missing cells as missing. Parameters are
scikit-learn's own, and probabilities are smoothed as ours are, (m p + 1/C) / (m + 1) of m rows and
C classes, so that none is 0.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Self

import numpy as np

from counterpane.data.columns import Column, Numbers, n_rows
from counterpane.data.encoding import encode_column
from counterpane.data.schema import Variable
from counterpane.errors import unknown_name
from counterpane.learners.classifiers.training_data import class_labels
from counterpane.typing import Array, Floats

MAX_CATEGORIES = 255  # that gradient boosting takes; the states after these are one


class Baseline:
    """A classifier of scikit-learn by name: see `BASELINES`.

    >>> import counterpane as cp
    >>> titanic = cp.load_dataset("titanic").labels()
    >>> baseline = Baseline("logistic-regression").fit(titanic, "survived")
    >>> baseline.predict_log_proba(titanic).shape
    (2201, 2)
    """

    def __init__(self, name: str) -> None:
        if name not in BASELINES:
            raise unknown_name("baseline", name, BASELINES)
        self.name = name

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The name."""
        return {"name": self.name}

    def fit(self, columns: Sequence[Column], y: str, sample_weight: Floats | None = None) -> Self:
        """Learn P(column called `y` | other columns)."""
        target = next(class_labels(c) for c in columns if c.name == y)
        labels = target.codes.astype(np.int64)
        counts = np.bincount(labels, sample_weight, len(target.states))
        self.target_ = Variable(y, target.states)
        self.model_ = None
        self._features = [c for c in columns if c.name != y]
        self._rows, self._present = float(counts.sum()), np.flatnonzero(counts)
        self._shares: Floats = counts / counts.sum()
        self._variables = [_variable(column) for column in self._features]
        weights = np.ones(len(labels)) if sample_weight is None else sample_weight
        self._scales = [
            _scale(c, weights) if isinstance(c, Numbers) else None for c in self._features
        ]
        self._estimator: Any = None
        if self.name != "class-shares" and len(self._present) > 1 and self._features:
            self._estimator = self._make_estimator()
            # One thread, as our learners: the loops are too short to share.
            one_thread = import_module("threadpoolctl").threadpool_limits(1)
            with one_thread, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of steps that did not converge to the last digit
                self._estimator.fit(self._matrix(self._features), labels, sample_weight)
        return self

    def predict_log_proba(self, columns: Sequence[Column]) -> Floats:
        """ln P(class | row), shape (rows, classes)."""
        by_name = {c.name: c for c in columns}
        features = [by_name[c.name] for c in self._features]
        n = n_rows(columns[0])
        proba: Floats = np.tile(self._shares, (n, 1))
        if self._estimator is not None:
            proba = np.zeros((n, len(self._shares)))
            proba[:, self._present] = self._estimator.predict_proba(self._matrix(features))
        smooth: Floats = np.log((self._rows * proba + 1 / proba.shape[1]) / (self._rows + 1))
        return smooth

    def _make_estimator(self) -> Any:
        module, name, options = BASELINES[self.name]
        if self.name == "gradient-boosting":
            states = [not isinstance(c, Numbers) for c in self._features]
            options = options | {"categorical_features": states}
        return getattr(import_module(module), name)(**options)

    def _matrix(self, columns: Sequence[Column]) -> Array:
        """The columns as numbers, (rows, features)."""
        boosting = self.name == "gradient-boosting"
        parts: list[Array] = []
        for column, variable, scale in zip(columns, self._variables, self._scales, strict=True):
            if scale is not None and isinstance(column, Numbers):
                parts += [_numbers(column, None if boosting else scale)]
            else:
                assert variable is not None
                codes = encode_column(column, variable, "unknown").astype(np.int64)
                if boosting:
                    known = codes < variable.card
                    places = np.minimum(codes, MAX_CATEGORIES - 1).astype(np.float64)
                    parts += [np.where(known, places, math.nan)[:, None]]
                else:
                    parts += [codes[:, None] == np.arange(variable.card)]
        return np.hstack(parts).astype(np.float64)


BASELINES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "class-shares": ("", "", {}),
    "logistic-regression": ("sklearn.linear_model", "LogisticRegression", {"max_iter": 1000}),
    "random-forest": ("sklearn.ensemble", "RandomForestClassifier", {"random_state": 0}),
    "gradient-boosting": (
        "sklearn.ensemble",
        "HistGradientBoostingClassifier",
        {"random_state": 0},
    ),
}
"""Module, class and parameters of each; "class-shares" says the same of every row."""


def _variable(column: Column) -> Variable | None:
    """The states of a column in training; None for numbers."""
    if isinstance(column, Numbers):
        return None
    seen = np.unique(column.codes)
    states = [column.states[c] for c in seen.tolist() if c >= 0]
    return Variable(column.name, (*states, *([None] if (seen < 0).any() else [])))


def _scale(column: Numbers, weights: Floats) -> tuple[float, float, float]:
    """The median, mean and deviation of the known numbers."""
    values, weights = column.values[~column.missing].astype(np.float64), weights[~column.missing]
    if not weights.sum() > 0:
        return 0.0, 0.0, 1.0
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    half = [np.searchsorted(below, below[-1] / 2, side=side) for side in ("left", "right")]
    median = float(values[order][np.minimum(half, len(values) - 1)].mean())
    mean = float(np.average(values, weights=weights))
    deviation = math.sqrt(float(np.average((values - mean) ** 2, weights=weights)))
    return median, mean, deviation or 1.0


def _numbers(column: Numbers, scale: tuple[float, float, float] | None) -> Array:
    """The numbers with NaN where missing; with a scale standardized, and which are missing."""
    values = np.where(column.missing, math.nan, column.values.astype(np.float64))
    if scale is None:
        return values[:, None]
    middle, mean, deviation = scale
    filled = np.where(column.missing, middle, values)
    return np.stack([(filled - mean) / deviation, column.missing.astype(np.float64)], axis=1)
