"""Several learners on one table: fitted to some rows, measured on the others."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from counterpane.data.columns import Column, Labels, columns_of
from counterpane.data.files import read_columns, read_table
from counterpane.data.table import Table
from counterpane.errors import CounterpaneError, ParameterError, Setting
from counterpane.evaluate.baselines import BASELINES, Baseline
from counterpane.evaluate.comparison import Comparison, LearnerFit, Pair
from counterpane.evaluate.density import log_likelihood, pll
from counterpane.evaluate.structure import structural_hamming_distance
from counterpane.learn.classifiers.class_measures import ClassMeasures, joined_measures
from counterpane.learn.classifiers.training_data import class_labels
from counterpane.learn.driver import CTRL_C, StoppedEarly
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.progress import Report, TextBar
from counterpane.seeds import random_generator
from counterpane.typing import Bools, Floats


def compare(
    learners: Mapping[str, Any] | Sequence[Any],
    X: Any,
    y: str | None = None,
    *,
    folds: int = 5,
    holdout: float | None = None,
    discretize: Any = "quantile",
    baselines: bool | Sequence[str] = False,
    random_state: int = 0,
    progress: bool | Report = False,
) -> Comparison:
    """Measures of several learners on held-out rows, and the agreement of their edges.

    All learners are fitted to the same rows and measured on the same other rows. If a learner
    fails, its record has the error, and the others continue. Ctrl-C keeps the finished folds.

    Parameters
    ----------
    learners : mapping or sequence
        Learners of this library, named by a mapping or by their classes; they are not changed.
    X : table
        Anything that `read` takes. Missing cells are a state.
    y : str, optional
        The class in `X`. Classifiers need it; they take numeric columns as they are, and cut them
        anew in each fold.
    folds : int
        Each of so many parts of the rows is predicted by fits to the others.
    holdout : float, optional
        Instead of folds: the share of the rows that is predicted once.
    discretize : str or int or None
        How numbers are cut for learners that are no classifiers, as in `read`.
    baselines : bool or sequence of str
        Classifiers of scikit-learn on the same folds: all of `BASELINES`, or those named.
    random_state : int
        The seed of the folds.
    progress : bool or callable
        Whether to show a bar, or a function that is told of each fit.

    Returns
    -------
    Comparison
        Records of the learners, the best first.

    Examples
    --------
    >>> import counterpane as cp
    >>> table = cp.load_dataset("titanic")
    >>> result = compare([cp.ChowLiu(), cp.NaiveBayes()], table, "survived", folds=3)
    >>> [(r["method"], round(r["log_loss"], 2)) for r in result.records]
    [('NaiveBayes', 0.52), ('ChowLiu', 0.53)]
    """
    named = _with_baselines(_named(learners), baselines, y)
    rows = _ComparedRows(X, y, discretize)
    parts = _test_masks(rows.n_rows, folds, holdout, random_state)
    fits: dict[str, list[LearnerFit]] = {name: [] for name in named}
    bar: Any = TextBar() if progress is True else nullcontext(progress or None)
    finished = 0
    with bar as report:
        try:
            for fold, tested in enumerate(parts):
                for place, (name, learner) in enumerate(named.items()):
                    if not fits[name] or fits[name][-1].failed is None:
                        fits[name].append(_fit_and_measure(learner, rows, tested))
                    if report is not None:
                        done = fold * len(named) + place + 1
                        report(f"comparing, {name}", done, len(parts) * len(named))
                finished += 1
        except KeyboardInterrupt:
            if not finished:
                raise
            fits = {name: measured[:finished] for name, measured in fits.items()}
            words = f"comparing was stopped ({CTRL_C}) after {finished} of {len(parts)} folds"
            stop = StoppedEarly(f"{words}; the measures are theirs.", reason=CTRL_C)
            warnings.warn(stop, stacklevel=2)
    return Comparison(fits, rows.names, y, rows.n_rows, finished, holdout, _network_distance)


def held_out_measures(
    learner: Any,
    X: Any,
    y: str,
    *,
    folds: int = 5,
    holdout: float | None = None,
    random_state: int = 0,
) -> ClassMeasures:
    """Log-loss, AUC, accuracy and calibration of a classifier on rows held out of its fits.

    A fitted `InteractionClassifier` has predictions of five held-out folds, from the choice of its
    structure and penalty; these are measured, and nothing is fitted again. Copies of any other
    classifier are fitted, including the cuts of numbers.

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
    inner = vars(learner).get("held_out_")
    if inner is not None:
        return ClassMeasures(*inner)
    rows = _ComparedRows(X, y, "quantile")
    parts = []
    for tested in _test_masks(rows.n_rows, min(folds, rows.n_rows), holdout, random_state):
        copy = type(learner)(**learner.get_params(deep=False))
        copy.set_params(progress=False, checkpoint=None)
        _fit_completely(copy, rows.columns_of(~tested), y, rows.weights_of(~tested))
        parts.append(_class_measures(copy, rows, tested))
    return joined_measures(parts)


class _ComparedRows:
    """The rows as classifiers take them (columns), and as all others do (a table)."""

    def __init__(self, X: Any, y: str | None, discretize: Any) -> None:
        table = X if isinstance(X, Table) else None
        if isinstance(X, str) or hasattr(X, "__fspath__"):
            X = columns_of(read_columns(X), unusable={})
        self.columns: list[Column] = list(table.labels()) if table is not None else columns_of(X)
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


def _named(learners: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    if not isinstance(learners, Mapping):
        names = [type(learner).__name__ for learner in learners]
        twice = [n if names.count(n) == 1 else f"{n} {i + 1}" for i, n in enumerate(names)]
        learners = dict(zip(twice, learners, strict=True))
    if not learners:
        raise ParameterError("there is no learner to compare; pass at least one.")
    return dict(learners)


def _with_baselines(
    named: dict[str, Any], baselines: bool | Sequence[str], y: str | None
) -> dict[str, Any]:
    """The learners, and the baselines after them; these need a class."""
    if baselines and y is None:
        raise ParameterError("baselines are classifiers, and need a class; name it with y=….")
    names = () if baselines is False else tuple(BASELINES) if baselines is True else baselines
    return named | {name: Baseline(name) for name in names}


def _test_masks(n: int, folds: int, holdout: float | None, seed: int) -> list[Bools]:
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


def _fit_and_measure(learner: Any, rows: _ComparedRows, tested: Bools) -> LearnerFit:
    """The measures of a copy of a learner that was fitted to the rows that are not tested."""
    copy = type(learner)(**learner.get_params(deep=False))
    classifier = hasattr(copy, "predict_log_proba")
    began = time.monotonic()
    try:
        if classifier and rows.y is None:
            raise ParameterError(f"{type(copy).__name__} needs a class; name it with y=….")
        if classifier:
            _fit_completely(copy, rows.columns_of(~tested), rows.y, rows.weights_of(~tested))
        else:
            _fit_completely(copy, rows.table.take(~tested))
        seconds = time.monotonic() - began
        model = copy.model_
        held_out = rows.table.take(tested)
        measures = None
        if classifier:
            measures = _class_measures(copy, rows, tested)
        elif rows.y is not None and model is not None:
            measures = _joint_class_measures(model, held_out, rows.y)
        return LearnerFit(
            seconds,
            None if classifier else _mean_or_none(pll, model, held_out),
            None if classifier else _mean_or_none(log_likelihood, model, held_out),
            measures,
            None if isinstance(copy, Baseline) else frozenset(_joined_pairs(copy)),
            model if isinstance(model, BayesianNetwork) and not classifier else None,
        )
    except CounterpaneError as error:
        return LearnerFit(time.monotonic() - began, failed=str(error))


def _fit_completely(learner: Any, *data: Any) -> None:
    """Fit a learner; if Ctrl-C stops it before its end, it is not to be compared."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StoppedEarly)
        learner.fit(*data)
    for note in caught:
        if getattr(note.message, "by_user", False):
            raise KeyboardInterrupt
        warnings.warn_explicit(note.message, note.category, note.filename, note.lineno)


def _mean_or_none(measure: Any, model: Any, rows: Table) -> float | None:
    """The mean of a measure; None if the model does not have it."""
    try:
        return float(measure(model, rows).mean)
    except (CounterpaneError, AttributeError):
        return None


def _class_measures(classifier: Any, rows: _ComparedRows, tested: Bools) -> ClassMeasures:
    """The predictions of a classifier for the tested rows, over all classes of the table."""
    assert rows.classes is not None
    features = [c for c in rows.columns_of(tested) if c.name != rows.y]
    predicted = classifier.predict_log_proba(features)
    place = {state: k for k, state in enumerate(rows.classes.states)}
    logs = np.full((len(predicted), len(place)), -math.inf)
    logs[:, [place[state] for state in classifier.target_.states]] = predicted
    labels = rows.classes.codes[tested].astype(np.int64)
    weights = rows.weights_of(tested)
    return ClassMeasures(logs, labels, np.ones(len(labels)) if weights is None else weights)


def _joint_class_measures(model: Any, rows: Table, y: str) -> ClassMeasures:
    """The predictions of a model of all columns."""
    labels = rows.codes[rows.schema.index(y)].astype(np.int64)
    weights = np.ones(len(labels)) if rows.weights is None else np.asarray(rows.weights, float)
    return ClassMeasures(model.full_conditionals(rows, [y]), labels, weights)


def _joined_pairs(learner: Any) -> Iterator[Pair]:
    """The pairs of columns that a learner joins: by an edge or an interaction with the class."""
    if hasattr(learner, "interactions_"):
        groups = [(*r["columns"], learner.target_.name) for r in learner.interactions_]
    elif hasattr(learner, "hyperedges_"):
        groups = [(*face, learner.target_.name) for face in learner.hyperedges_]
    else:
        groups = list(learner.graph_.edges)
    for group in groups:
        for i, a in enumerate(group):
            for b in group[i + 1 :]:
                yield (a, b) if a < b else (b, a)


def _network_distance(a: LearnerFit, b: LearnerFit) -> int | None:
    """The structural Hamming distance of two networks; None for other models."""
    if a.network is None or b.network is None:
        return None
    return structural_hamming_distance(a.network, b.network)
