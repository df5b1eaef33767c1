"""Several learners on one table: fitted to some rows, judged on the others."""

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
from counterpane.evaluate.comparison import Comparison, Fit, Pair
from counterpane.evaluate.density import log_likelihood, pll
from counterpane.evaluate.structure import structural_hamming_distance
from counterpane.learn.classifiers.class_measures import ClassMeasures, joined_measures
from counterpane.learn.classifiers.features import class_labels
from counterpane.learn.driver import StoppedEarly
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.progress import Report, TextBar
from counterpane.typing import Bools


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

    `learners` are learners of this library, with the names of a mapping or of their classes; they
    are not changed. Rows are divided into `folds`, and each fold is predicted by fits to the
    others; or the share `holdout` of the rows is predicted once. All learners see the same rows.
    `y` names the class in `X`; classifiers need it, and take numeric columns as they are, cutting
    them anew in each fold; for all others numbers are cut by `discretize`. Missing cells are a
    state. `baselines` adds classifiers of scikit-learn on the same folds: all of `BASELINES`, or
    those named. If a learner fails, its record has the error, and the others continue. Ctrl-C keeps
    the finished folds.

    >>> import counterpane as cp
    >>> table = cp.load_dataset("titanic")
    >>> found = compare([cp.ChowLiu(), cp.NaiveBayes()], table, "survived", folds=3)
    >>> [(r["method"], round(r["log_loss"], 2)) for r in found.records]
    [('NaiveBayes', 0.52), ('ChowLiu', 0.53)]
    """
    named = _with_baselines(_named(learners), baselines, y)
    rows = _Rows(X, y, discretize)
    parts = _parts(rows.n_rows, folds, holdout, random_state)
    fits: dict[str, list[Fit]] = {name: [] for name in named}
    bar: Any = TextBar() if progress is True else nullcontext(progress or None)
    whole = 0
    with bar as report:
        try:
            for fold, tested in enumerate(parts):
                for place, (name, learner) in enumerate(named.items()):
                    if not fits[name] or fits[name][-1].failed is None:
                        fits[name].append(_fit(learner, rows, tested))
                    if report is not None:
                        done = fold * len(named) + place + 1
                        report(f"comparing, {name}", done, len(parts) * len(named))
                whole += 1
        except KeyboardInterrupt:
            if not whole:
                raise
            fits = {name: found[:whole] for name, found in fits.items()}
            words = f"comparing was stopped (Ctrl-C) after {whole} of {len(parts)} folds"
            warnings.warn(f"{words}; the measures are theirs.", StoppedEarly, stacklevel=2)
    return Comparison(fits, rows.names, y, rows.n_rows, whole, holdout, _distances)


def class_fits(
    learner: Any, X: Any, y: str, *, folds: int, holdout: float | None, random_state: int
) -> ClassMeasures:
    """What copies of a classifier say of the rows that each of them was not fitted to."""
    rows = _Rows(X, y, "quantile")
    found = []
    for tested in _parts(rows.n_rows, min(folds, rows.n_rows), holdout, random_state):
        copy = type(learner)(**learner.get_params(deep=False))
        copy.set_params(progress=False, checkpoint=None)
        _fit_whole(copy, rows.some(~tested), y)
        found.append(class_rows(copy, rows, tested))
    return joined_measures(found)


class _Rows:
    """The rows as classifiers take them (columns), and as all others do (a table)."""

    def __init__(self, X: Any, y: str | None, discretize: Any) -> None:
        table = X if isinstance(X, Table) else None
        if isinstance(X, str) or hasattr(X, "__fspath__"):
            X = read_columns(X)
        self.columns: list[Column] = list(table.labels()) if table is not None else columns_of(X)
        table = table or read_table(self.columns, discretize=discretize)
        self.table = table.resolve_missing("state")
        self.target = None if y is None else self.table.schema[y]
        told = next((c for c in self.columns if c.name == y), None)
        self.classes = None if told is None else class_labels(told)
        self.names, self.n_rows, self.y = self.table.schema.names, table.n_rows, y

    def some(self, rows: Bools) -> list[Column]:
        """The columns of some rows; states that have none there are still declared."""
        return [_take(column, rows) for column in self.columns]


def _take(column: Column, rows: Bools) -> Column:
    if isinstance(column, Labels):
        return Labels(column.name, column.states, column.codes[rows], declared=True)
    return type(column)(column.name, column.values[rows], column.missing[rows], column.dated)


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


def _parts(n: int, folds: int, holdout: float | None, seed: int) -> list[Bools]:
    """For each judgement a mask of the rows that are judged."""
    order = np.random.default_rng(seed).permutation(n)
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


def _fit(learner: Any, rows: _Rows, tested: Bools) -> Fit:
    """A copy of a learner fitted to the rows that are not tested, judged on those that are."""
    own = type(learner)(**learner.get_params(deep=False))
    classifier = hasattr(own, "predict_log_proba")
    began = time.monotonic()
    try:
        if classifier and rows.y is None:
            raise ParameterError(f"{type(own).__name__} needs a class; name it with y=….")
        if classifier:
            _fit_whole(own, rows.some(~tested), rows.y)
        else:
            _fit_whole(own, rows.table.take(~tested))
        seconds = time.monotonic() - began
        model = own.model_
        judged = rows.table.take(tested)
        measures = None
        if classifier:
            measures = class_rows(own, rows, tested)
        elif rows.y is not None and model is not None:
            measures = _conditional_rows(model, judged, rows.y)
        return Fit(
            seconds,
            None if classifier else _mean(pll, model, judged),
            None if classifier else _mean(log_likelihood, model, judged),
            measures,
            None if isinstance(own, Baseline) else frozenset(_pairs(own)),
            model if isinstance(model, BayesianNetwork) and not classifier else None,
        )
    except CounterpaneError as error:
        return Fit(time.monotonic() - began, failed=str(error))


def _fit_whole(learner: Any, *data: Any) -> None:
    """Fit a learner; one that Ctrl-C has stopped before its end is not to be compared."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", StoppedEarly)
        learner.fit(*data)
    for note in told:
        if issubclass(note.category, StoppedEarly) and "Ctrl-C" in str(note.message):
            raise KeyboardInterrupt
        warnings.warn_explicit(note.message, note.category, note.filename, note.lineno)


def _mean(measure: Any, model: Any, rows: Table) -> float | None:
    """The mean of a measure; None where the model cannot tell it."""
    try:
        return float(measure(model, rows).mean)
    except (CounterpaneError, AttributeError):
        return None


def class_rows(classifier: Any, rows: _Rows, tested: Bools) -> ClassMeasures:
    """What a classifier says of the tested rows, over all classes of the table."""
    assert rows.classes is not None
    features = [c for c in rows.some(tested) if c.name != rows.y]
    said = classifier.predict_log_proba(features)
    place = {state: k for k, state in enumerate(rows.classes.states)}
    logs = np.full((len(said), len(place)), -math.inf)
    logs[:, [place[state] for state in classifier.target_.states]] = said
    labels = rows.classes.codes[tested].astype(np.int64)
    return ClassMeasures(logs, labels, np.ones(len(labels)))


def _conditional_rows(model: Any, rows: Table, y: str) -> ClassMeasures:
    """The same by a model of all columns."""
    labels = rows.codes[rows.schema.index(y)].astype(np.int64)
    return ClassMeasures(model.full_conditionals(rows, [y]), labels, np.ones(len(labels)))


def _pairs(learner: Any) -> Iterator[Pair]:
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


def _distances(a: Fit, b: Fit) -> int | None:
    """The structural Hamming distance of two networks; None where one of them is none."""
    if a.network is None or b.network is None:
        return None
    return structural_hamming_distance(a.network, b.network)
