"""Rows held out of fits: the folds, the fits to the other rows, and what they predict."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.data.columns import Column, Labels, check_usable, columns_of
from counterpane.data.reading import read_columns, read_table
from counterpane.data.table import Table
from counterpane.errors import CounterpaneError, ParameterError, Setting
from counterpane.evaluate.measures import ClassMeasures, joined_measures
from counterpane.learners.base import Learner, digest
from counterpane.learners.classifiers.training_data import class_labels
from counterpane.learners.driver import StoppedEarly
from counterpane.models.record import LearningRecord
from counterpane.seeds import random_generator
from counterpane.typing import Bools, Floats

FOLDS = 5
MOST_SECONDS = 60.0  # a learner that took longer is not run again


class SplitRows:
    """The rows as classifiers take them (columns), and as all others do (a table)."""

    def __init__(self, X: Any, y: str | None, discretize: Any = "quantile") -> None:
        table = X if isinstance(X, Table) else None
        if isinstance(X, str) or hasattr(X, "__fspath__"):
            X = read_columns(X)
        unusable: dict[str, str] = {}
        self.columns: list[Column] = (
            list(table.labels()) if table is not None else columns_of(X, unusable=unusable)
        )
        check_usable([] if y is None else [y], unusable)
        table = table or read_table(self.columns, discretize=discretize)
        self.table = table.resolve_missing("state")
        self.target = None if y is None else self.table.schema[y]
        target = next((c for c in self.columns if c.name == y), None)
        self.classes = None if target is None else class_labels(target)
        self.names, self.n_rows, self.y = self.table.schema.names, table.n_rows, y

    def columns_of(self, rows: Bools) -> list[Column]:
        """The columns of some rows; states that have none there are still declared."""
        return [
            Labels(c.name, c.states, c.codes[rows], declared=True)
            if isinstance(c, Labels)
            else c.take(rows)
            for c in self.columns
        ]

    def weights_of(self, rows: Bools) -> Floats | None:
        """The weights of some rows; None if all are one."""
        weights = self.table.weights
        return None if weights is None else np.asarray(weights, dtype=np.float64)[rows]

    def class_measures(self, classifier: Any, tested: Bools) -> ClassMeasures:
        """The predictions of a classifier for the tested rows, over all classes of the table."""
        assert self.classes is not None
        features = [c for c in self.columns_of(tested) if c.name != self.y]
        predicted = classifier.predict_log_proba(features)
        place = {state: k for k, state in enumerate(self.classes.states)}
        logs = np.full((len(predicted), len(place)), -math.inf)
        logs[:, [place[state] for state in classifier.target_.states]] = predicted
        labels = self.classes.codes[tested].astype(np.int64)
        weights = self.weights_of(tested)
        return ClassMeasures(logs, labels, np.ones(len(labels)) if weights is None else weights)

    def joint_class_measures(self, model: Any, tested: Bools) -> ClassMeasures:
        """The predictions of the class by a model of all columns."""
        assert self.y is not None
        rows = self.table.take(tested)
        labels = rows.codes[rows.schema.index(self.y)].astype(np.int64)
        weights = np.ones(len(labels)) if rows.weights is None else np.asarray(rows.weights, float)
        return ClassMeasures(model.full_conditionals(rows, [self.y]), labels, weights)


def held_out_masks(n: int, folds: int, holdout: float | None, seed: int) -> list[Bools]:
    """A mask of the rows that are held out, for each fold."""
    order = random_generator(seed).permutation(n)
    if holdout is not None:
        size = round(n * holdout) if 0 < holdout < 1 else 0
        if not 0 < size < n:
            raise ParameterError(
                Setting("holdout", holdout),
                f" of {n} rows; a share between 0 and 1 that leaves rows on both sides is needed.",
            )
        return [np.isin(np.arange(n), order[:size])]
    if not 2 <= folds <= n:
        raise ParameterError(
            Setting("folds", folds), f" of {n} rows; from 2 to the number of rows is allowed."
        )
    number = np.empty(n, dtype=np.int64)
    number[order] = np.arange(n) % folds
    return [number == fold for fold in range(folds)]


def fresh_copy(learner: Any) -> Any:
    """An unfitted learner with the same parameters, silent and without a checkpoint."""
    copy = type(learner)(**learner.get_params(deep=False))
    return copy.set_params(progress=False, checkpoint=None)


def fit_completely(learner: Any, *data: Any) -> Any:
    """The learner, fitted; if Ctrl-C stops it before its end, it is not to be measured."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StoppedEarly)
        learner.fit(*data)
    for note in caught:
        if getattr(note.message, "by_user", False):
            raise KeyboardInterrupt
        warnings.warn_explicit(note.message, note.category, note.filename, note.lineno)
    return learner


def held_out_measures(
    learner: Any,
    X: Any,
    y: str,
    *,
    folds: int = FOLDS,
    holdout: float | None = None,
    random_state: int = 0,
) -> ClassMeasures:
    """Log-loss, AUC, accuracy and calibration of a classifier on rows held out of its fits.

    Copies of the classifier are fitted, including the choice of its structure and the cuts of
    numbers. `compare` measures on the same rows, and finds the same.

    Parameters
    ----------
    learner : classifier
        It is not changed.
    X : table
        Anything that `read` takes.
    y : str
        The class in `X`.
    folds, holdout, random_state
        As in `compare`.

    Returns
    -------
    ClassMeasures
        The measures, of the rows of all folds together.

    Examples
    --------
    >>> import counterpane as cp
    >>> titanic = cp.load_dataset("titanic")
    >>> measures = held_out_measures(cp.NaiveBayes(), titanic, "survived")
    >>> [round(m.value, 2) for m in (measures.log_loss, measures.auc, measures.accuracy)]
    [0.52, 0.72, 0.78]
    """
    rows = SplitRows(X, y)
    parts = []
    for tested in held_out_masks(rows.n_rows, min(folds, rows.n_rows), holdout, random_state):
        copy = fresh_copy(learner)
        fit_completely(copy, rows.columns_of(~tested), y, rows.weights_of(~tested))
        parts.append(rows.class_measures(copy, tested))
    return joined_measures(parts)


def rebuilt_learner(record: LearningRecord, n_rows: int = 0) -> Learner | None:
    """The learner of a model, from its stored configuration.

    None if it has a parameter that a file does not keep, and for a learner that took more than a
    minute, or would on `n_rows`.
    """
    times = max(1.0, n_rows / (record.data.rows or math.inf))
    config, seconds = record.learner.config, record.learner.seconds or 0.0
    if config is None or seconds * times > MOST_SECONDS:
        return None
    try:
        learner: Learner = Learner.from_config(dict(config))
    except (CounterpaneError, TypeError, ValueError):
        return None
    learner.set_params(progress=False, checkpoint=None, time_limit=None)
    if "random_state" in learner._parameters() and learner.get_params()["random_state"] is None:
        learner.set_params(random_state=0)
    return learner


def learned_from(model: Any, table: Table, n_given: int | None = None) -> bool:
    """Whether a model was learned from just these rows, by the fingerprint in its file.

    `n_given` is the number of rows that `table` was drawn from; of drawn rows only the number is
    compared. Rows without a class are ignored, as they are in learning.
    """
    data = model.record.data
    if data.target in table.schema.names:
        with_class = table.codes[table.schema.index(data.target)]
        known = with_class < model.schema[data.target].card
        table = table.take(known) if known.any() and not known.all() else table
    if n_given is not None and n_given > table.n_rows:
        return bool(n_given == data.rows)
    return bool(digest(MemoryCounts(table)) == data.fingerprint)
