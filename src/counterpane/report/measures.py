"""Measures of fit: of a model learned again without held-out rows, and of the model itself."""

from __future__ import annotations

import ast
import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import counterpane
from counterpane.counts.memory import MemoryCounts
from counterpane.data.table import Table
from counterpane.errors import CounterpaneError
from counterpane.learn.base import Learner
from counterpane.learn.classifiers.class_measures import ClassMeasures
from counterpane.learn.driver import StoppedEarly
from counterpane.learn.parameters import fit_parameters
from counterpane.models.base import Provenance
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.certainty import InexactAnswer
from counterpane.report.rows import ReportRows
from counterpane.seeds import random_generator
from counterpane.typing import Floats, Ints

BINS = 10
MOST_SECONDS = 60.0  # a learner that took longer is not run again
MOST_CLASSES = 30  # of a confusion table
LOG_FLOOR = 1e-300

MEANINGS = {
    "log-likelihood": "ln P(cells of a row), nats per row; higher is better",
    "pseudo-log-likelihood": "Σ ln P(cell | rest of its row), nats per row; higher is better",
    "log-loss": "−ln P(true class), nats per row; lower is better",
    "AUC": "chance that a row of a class is ranked above one of another; mean over classes",
    "accuracy": "share of rows whose most probable class is the true one",
    "Brier score": "squared error of the class probabilities, summed over classes; lower is better",
}


@dataclass(frozen=True, eq=False)
class HeldOutSplit:
    """A model learned again without some rows, those rows, and words on what was done."""

    model: Any
    rows: ReportRows
    words: str


def measures_of(
    model: Any, rows: ReportRows, target: str | None, held_out: float, seed: int, *, progress: bool
) -> dict[str, Any]:
    """Measures on held-out rows and of the model itself; calibration and confusion of a class."""
    split = _split(model, rows, target, held_out, seed, progress=progress)
    tested = HeldOutSplit(model, rows, "") if split is None else split
    fresh = _values(tested.model, tested.rows, target)
    itself = fresh if split is None else _values(model, rows, target)
    base = _baselines(model, rows, split.rows if split else rows, target)
    lines = [
        [name, MEANINGS[name], fresh.get(name) if split else None, itself.get(name), base.get(name)]
        for name in MEANINGS
        if name in fresh or name in itself
    ]
    result: dict[str, Any] = {
        "lines": lines,
        "held": "" if split is None else split.words,
        "note": _note(rows, split, model, asked=held_out > 0),
        "base": "independent columns" if target is None else "shares of the classes",
    }
    if target is not None:
        result |= _class_pictures(tested, target)
    return result


def _note(rows: ReportRows, split: HeldOutSplit | None, model: Any, *, asked: bool) -> str:
    words = []
    folds = ((model.provenance or {}).get("held_out") or {}).get("folds", 0)
    if split is not None and folds > 1:
        words.append(f"The figures at the top are of {folds} folds of all rows, and more precise.")
    if split is None:
        why = ": the model cannot be learned again from what its file tells, or not within a minute"
        words.append(
            f"Nothing was held out{why if asked else ', as asked'}; the model was measured on the "
            "rows given, which may be those that it was learned from."
        )
    if rows.n_given > rows.table.n_rows:
        words.append(
            f"{rows.table.n_rows:,} of {rows.n_given:,} rows, evenly spaced, were measured."
        )
    gaps = rows.table.n_rows - int(rows.complete.sum())
    if gaps and isinstance(model, BayesianNetwork):
        words.append(
            f"{gaps:,} rows have a missing cell, or a state that the model does not know; such "
            "cells are summed out."
        )
    elif gaps and not model.class_only:
        words.append(
            f"{gaps:,} rows with a missing cell, or a state that the model does not know, count "
            "for the class alone."
        )
    return " ".join(words)


def _split(
    model: Any, rows: ReportRows, target: str | None, held_out: float, seed: int, *, progress: bool
) -> HeldOutSplit | None:
    """The model learned again on a part of the rows, or None if that cannot be done."""
    n = rows.table.n_rows
    size = round(n * held_out)
    if not 0 < size < n:
        return None
    order = random_generator(seed).permutation(n)
    test, train = rows.take(np.sort(order[:size])), rows.take(np.sort(order[size:]))
    learner = rebuilt_learner(model.origin, n - size)
    name = repr(learner)
    if learner is not None:
        learner.set_params(progress=progress)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", StoppedEarly)
            again, words = _learn_again(model, learner, name, train, target)
    except StoppedEarly:  # by Ctrl-C: measures of an unfinished model would mislead
        raise KeyboardInterrupt from None
    except CounterpaneError:
        return None
    words = f"{size:,} of {n:,} rows, drawn by seed {seed}, were held out. {words}"
    return None if again is None else HeldOutSplit(again, test, words)


def _learn_again(
    model: Any, learner: Any, name: str, train: ReportRows, target: str | None
) -> tuple[Any, str]:
    """(the model learned from some rows, what was learned); None if it cannot be learned."""
    if learner is not None and target is not None and hasattr(learner, "predict_proba"):
        codes = train.table.codes[train.table.schema.index(target)]
        train = train.take(np.flatnonzero(codes < model.schema[target].card))
        learner.fit(_as_given(train), target)
        same = learner.model_.schema[target].states == model.schema[target].states
        cuts = "" if train.raw is None else ", cuts of numbers included,"
        words = f"{name} learned the rest from scratch{cuts} and was measured on them."
        return (learner.model_ if same else None), words
    if learner is not None and not model.class_only:
        learner.fit(_rows_for(learner, model, train))
        again = learner.model_
        if again is not None and again.schema == model.schema:
            words = "learned structure and parameters from the rest and was measured on them."
            return again, f"{name} {words}"
    if isinstance(model, BayesianNetwork):
        again = fit_parameters(MemoryCounts(train.table.take(train.complete)), model.dag)
        return again, (
            "The structure was kept, so it has seen them; its parameters were learned again from "
            "the rest."
        )
    return None, ""


def _rows_for(learner: Learner, model: Any, rows: ReportRows) -> Table:
    """The rows from which a model is learned again: those with gaps where it was learned by EM."""
    if ((model.provenance or {}).get("missing") or {}).get("policy") == "em":
        learner.set_params(missing="em")
        return rows.table
    return rows.table.take(rows.complete)


def _measured(model: Any, rows: ReportRows) -> Table:
    """The rows on which a model of whole rows is measured: the complete ones, unless it sums out
    missing cells."""
    return rows.table if isinstance(model, BayesianNetwork) else rows.table.take(rows.complete)


def _as_given(rows: ReportRows) -> Any:
    """The columns as a classifier learns from them; a table where rows have weights."""
    return rows.table if rows.raw is None or rows.table.weights is not None else rows.raw


def rebuilt_learner(origin: Provenance, n_rows: int = 0) -> Learner | None:
    """The learner of a model, from its stored configuration; from its text in older files.

    None for a learner that took more than a minute, or would on `n_rows`.

    >>> rebuilt_learner(Provenance.of({"learner": "NaiveBayes(max_states=5)", "seconds": 0.1}))
    NaiveBayes(max_states=5)
    >>> rebuilt_learner(Provenance.of({"learner": "StructureSearch(start=<graph>)"})) is None
    True
    """
    times = max(1.0, n_rows / (origin.rows or math.inf))
    if float(origin.record.get("seconds") or 0.0) * times > MOST_SECONDS:
        return None
    try:
        config = origin.config
        learner = _learner_of_text(origin.text) if config is None else Learner.from_config(config)
    except (CounterpaneError, SyntaxError, TypeError, ValueError):
        return None
    if learner is not None:
        learner.set_params(progress=False, checkpoint=None, time_limit=None)
        if "random_state" in learner._parameters() and learner.get_params()["random_state"] is None:
            learner.set_params(random_state=0)
    return learner


def _learner_of_text(text: str | None) -> Learner | None:
    """The learner that was printed as `text`, if its parameters are plain values."""
    call = ast.parse(text or "", mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        return None
    options = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    name = call.func.id
    learner_class = getattr(counterpane, name) if name in counterpane.__all__ else None
    if not isinstance(learner_class, type) or not issubclass(learner_class, Learner):
        return None
    return learner_class(**options)


def _values(model: Any, rows: ReportRows, target: str | None) -> dict[str, float]:
    """Each measure that the model has, on some rows."""
    values: dict[str, float] = {}
    full = _measured(model, rows)
    if not model.class_only and full.n_rows:
        for name, measure in (
            ("log-likelihood", model.score_samples),
            ("pseudo-log-likelihood", lambda X: model.pseudo_log_likelihood(X, total=True)),
        ):
            try:
                values[name] = _mean(measure(_in_states_of(model, full)), full.weights)
            except CounterpaneError:  # no joint distribution, or too large a sum
                continue
    if target is not None:
        probabilities, codes, weights = class_predictions(model, rows, target)
        if codes.size:
            own = np.take_along_axis(probabilities, codes[:, None], axis=1)[:, 0]
            values["log-loss"] = -_mean(np.log(np.maximum(own, LOG_FLOOR)), weights)
            each = np.ones(codes.size) if weights is None else np.asarray(weights, dtype=float)
            area = ClassMeasures(probabilities, codes, each).auc
            if area is not None:
                values["AUC"] = area.value
            best = probabilities.argmax(axis=1) == codes
            values["accuracy"] = _mean(best.astype(np.float64), weights)
            errors = (probabilities**2).sum(axis=1) - 2 * own + 1
            values["Brier score"] = _mean(errors, weights)
    return {name: value for name, value in values.items() if math.isfinite(value)}


def _in_states_of(model: Any, table: Table) -> Table:
    return table if table.schema == model.schema else Table.from_frame(table, schema=model.schema)


def class_predictions(model: Any, rows: ReportRows, target: str) -> tuple[Floats, Ints, Any]:
    """(P(class | row), code of the class, weight) of the rows whose class is known to the model."""
    variable = model.schema[target]
    place = rows.table.schema.index(target)
    states = [variable.find(s) for s in rows.table.schema[place].states]
    lookup = np.array([-1 if s is None else s for s in states] + [-1], dtype=np.int64)
    codes = lookup[rows.table.codes[place]]
    known = np.flatnonzero(codes >= 0)
    if not known.size or len(rows.table.schema) == 1:
        return np.empty((0, variable.card)), codes[:0], None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InexactAnswer)
        features = [c for c in rows.take(known).columns if c.name != target]
        probabilities = model.class_probabilities(features, target)
    weights = rows.table.weights
    return probabilities, codes[known], None if weights is None else weights[known]


def _baselines(
    model: Any, rows: ReportRows, test: ReportRows, target: str | None
) -> dict[str, float]:
    """The same measures of a model that knows the shares of states alone."""
    if target is None:
        full = _measured(model, test)
        logs = np.zeros(full.n_rows)
        for share, codes in zip(rows.shares, full.codes, strict=True):
            logs += np.append(np.log(np.maximum(share, 1e-12)), 0.0)[codes]
        value = _mean(logs, full.weights) if full.n_rows else math.nan
        return {name: value for name in list(MEANINGS)[:2] if math.isfinite(value)}
    place = rows.table.schema.index(target)
    share, codes, weights = rows.shares[place], test.table.codes[place], test.table.weights
    known = codes < share.size
    codes, weights = codes[known], None if weights is None else weights[known]
    if not codes.size:
        return {}
    own = share[codes]
    return {
        "log-loss": -_mean(np.log(np.maximum(own, 1e-12)), weights),
        "AUC": 0.5,
        "accuracy": _mean((codes == share.argmax()).astype(np.float64), weights),
        "Brier score": _mean((share**2).sum() - 2 * own + 1, weights),
    }


def _class_pictures(split: HeldOutSplit, target: str) -> dict[str, Any]:
    """Calibration of each class in bins of equal width, with counts; and the confusion table.

    A row of weight 2 counts as two rows.
    """
    probabilities, codes, weights = class_predictions(split.model, split.rows, target)
    variable = split.model.schema[target]
    if not codes.size or variable.card > MOST_CLASSES:
        return {}
    each = np.ones(codes.size) if weights is None else np.asarray(weights, dtype=float)
    bins = np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)
    curves = []
    for k in range(variable.card):
        counts = np.bincount(bins[:, k], each, BINS)
        predicted = np.bincount(bins[:, k], each * probabilities[:, k], BINS)
        observed = np.bincount(bins[:, k], each * (codes == k), BINS)
        curves.append(
            [
                [_shown_count(n), round(float(t / n), 4), round(float(s / n), 4)]
                for n, t, s in zip(counts, predicted, observed, strict=True)
                if n
            ]
        )
    confusion = np.zeros((variable.card, variable.card))
    np.add.at(confusion, (codes, probabilities.argmax(axis=1)), each)
    table = [[_shown_count(n) for n in line] for line in confusion.tolist()]
    return {"calibration": curves, "confusion": table}


def _shown_count(weight: float) -> float:
    """A weight of rows: a whole number, which it is without weights, or rounded."""
    return int(weight) if float(weight).is_integer() else round(float(weight), 2)


def _mean(values: Floats, weights: Any) -> float:
    return float(np.average(values, weights=weights))
