"""Measures of fit: of the model's record, or of the learner of the model on held-out rows."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.data.table import Table
from counterpane.errors import CounterpaneError
from counterpane.evaluate.measures import ClassMeasures, joined_measures
from counterpane.evaluate.splits import (
    held_out_masks,
    held_out_measures,
    learned_from,
    rebuilt_learner,
)
from counterpane.inference.certainty import InexactAnswer
from counterpane.learners.driver import StoppedEarly
from counterpane.learners.parameters import fit_parameters
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.mixture import is_classifier
from counterpane.models.record import AGAIN, CalibrationBin, ClassFigures, LearningRecord
from counterpane.report.rows import ReportRows
from counterpane.typing import Bools, Floats, Ints

LOG_FLOOR = 1e-300

MEANINGS = {
    "log-likelihood": "ln P(cells of a row), nats per row; higher is better",
    "pseudo-log-likelihood": "Σ ln P(cell | rest of its row), nats per row; higher is better",
    "log-loss": "−ln P(true class), nats per row; lower is better",
    "AUC": "chance that a row of a class is ranked above one of another; mean over classes",
    "accuracy": "share of rows whose most probable class is the true one",
    "Brier score": "squared error of the class probabilities, summed over classes; lower is better",
}
DENSITIES = list(MEANINGS)[:2]


class Fit(NamedTuple):
    """Measures of a model on some rows; `density` by name, `words` say which rows."""

    density: dict[str, float]
    figures: ClassFigures | None
    words: str = ""


class PageMeasures(NamedTuple):
    """What a page shows of the fit, and the figures of the class on held-out rows, if any."""

    content: dict[str, Any] | None
    held_out: ClassFigures | None


def stored_figures(model: Any, target: str | None) -> ClassFigures | None:
    """The measures that were made when the model was learned, if they are of this class."""
    record: LearningRecord = model.record
    return record.measures if target is not None and record.data.target == target else None


def measures_of(
    model: Any,
    rows: ReportRows | None,
    target: str | None,
    folds: int,
    seed: int,
    *,
    progress: bool = False,
) -> PageMeasures:
    """The measures of the model's record; without them, of folds of the rows, learned again.

    The model itself is measured on the rows unless it was learned from them.
    """
    stored = stored_figures(model, target)
    held = None if stored is None else Fit({}, stored, _when_learned(stored))
    if rows is None:
        return PageMeasures(None if held is None else _content(held, None, {}, target), stored)
    if held is None:
        held = _held_out(model, rows, target, folds, seed, progress=progress)
    given = Fit(_densities(model, rows), None)
    known = held is not None and held.figures is not None
    if target is not None and not (known and learned_from(model, rows.table, rows.n_given)):
        measures = _class_measures(model, rows, target)
        figures = None if measures is None else measures.figures("the rows given")
        given = given._replace(figures=figures)
    content = _content(held, given, _independent(model, rows), target)
    content["note"] = _note(rows, held, model, asked=folds > 0)
    return PageMeasures(content, None if held is None else held.figures)


def _content(
    held: Fit | None, given: Fit | None, independent: dict[str, float], target: str | None
) -> dict[str, Any]:
    """The lines of the table of measures, the calibration and the confusion, as plain values."""
    fresh = {} if held is None else _values(held)
    itself = {} if given is None else _values(given)
    figures = (held and held.figures) or (given and given.figures)
    base = {} if target is not None else independent
    content: dict[str, Any] = {
        "held": "" if held is None else held.words,
        "note": "",
        "base": "independent columns" if target is None else "shares of the classes",
    }
    if figures is not None:
        prior = figures.prior
        own = (prior.log_loss, prior.auc, prior.accuracy, prior.brier)
        base = dict(zip(list(MEANINGS)[2:], own, strict=True))
        if figures.confusion:
            content["calibration"] = [list(map(_bin, curve)) for curve in figures.curves]
            content["confusion"] = [list(row) for row in figures.confusion]
    content["lines"] = [
        [name, MEANINGS[name], fresh.get(name), itself.get(name), base.get(name)]
        for name in MEANINGS
        if name in fresh or name in itself
    ]
    return content


def _bin(each: CalibrationBin) -> list[float]:
    rows = int(each.rows) if float(each.rows).is_integer() else round(each.rows, 2)
    return [rows, round(each.predicted, 4), round(each.observed, 4)]


def _values(fit: Fit) -> dict[str, float]:
    """Each measure that a model has, by its name on the page."""
    found: dict[str, Any] = dict(fit.density)
    if fit.figures is not None:
        figures = fit.figures
        own = (figures.log_loss, figures.auc, figures.accuracy, figures.brier)
        named = zip(list(MEANINGS)[2:], own, strict=True)
        found |= {name: each.value for name, each in named if each is not None}
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _when_learned(figures: ClassFigures) -> str:
    times = f"in {figures.folds} folds" if figures.folds > 1 else "in one part"
    return (
        f"Measured when the model was learned, on {figures.rows:,} held-out rows {times} "
        f"({figures.how})."
    )


def _note(rows: ReportRows, held: Fit | None, model: Any, *, asked: bool) -> str:
    words = []
    if held is None:
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
    elif gaps and not is_classifier(model):
        words.append(
            f"{gaps:,} rows with a missing cell, or a state that the model does not know, count "
            "for the class alone."
        )
    return " ".join(words)


def _held_out(
    model: Any, rows: ReportRows, target: str | None, folds: int, seed: int, *, progress: bool
) -> Fit | None:
    """The measures of the learner of a model on folds of the rows; None if it cannot be rerun."""
    n = rows.table.n_rows
    if not 2 <= folds <= n:
        return None
    learner = rebuilt_learner(model.record, n)
    about = f"{n:,} rows in {folds} folds, drawn by seed {seed}, were held out in turn."
    name = repr(learner)  # without the bar, which is no part of what is measured
    if learner is not None:
        learner.set_params(progress=progress)
    fit: Fit | None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", StoppedEarly)
            if target is not None and hasattr(learner, "predict_proba"):
                fit = _classifier_folds(learner, name, rows, target, folds, seed)
            else:
                masks = held_out_masks(n, folds, None, seed)
                fit = _model_folds(model, learner, name, rows, target, masks)
    except StoppedEarly:  # by Ctrl-C: measures of an unfinished model would mislead
        raise KeyboardInterrupt from None
    except CounterpaneError:
        return None
    return None if fit is None else fit._replace(words=f"{about} {fit.words}")


def _classifier_folds(
    learner: Any, name: str, rows: ReportRows, target: str, folds: int, seed: int
) -> Fit:
    """A classifier learned again without each fold, as `compare` does it."""
    given = rows.table if rows.raw is None or rows.table.weights is not None else rows.raw
    measures = held_out_measures(learner, given, target, folds=folds, random_state=seed)
    cuts = "" if rows.raw is None else ", cuts of numbers included,"
    words = f"{name} learned the rest from scratch{cuts} and was measured on them."
    return Fit({}, measures.figures(AGAIN), words)


def _model_folds(
    model: Any,
    learner: Any,
    name: str,
    rows: ReportRows,
    target: str | None,
    masks: list[Bools],
) -> Fit | None:
    """A model of all columns learned again without each fold; None if it cannot be."""
    densities: list[tuple[dict[str, float], float]] = []
    classes, words = [], ""
    for tested in masks:
        train, test = (rows.take(np.flatnonzero(mask)) for mask in (~tested, tested))
        again, words = _learn_again(model, learner, name, train)
        if again is None:
            return None
        full = _measured(model, test)
        if full.n_rows:
            size = full.n_rows if full.weights is None else float(full.weights.sum())
            densities.append((_densities(again, test), size))
        if target is not None:
            measures = _class_measures(again, test, target)
            classes += [] if measures is None else [measures]
    sizes = [size for _, size in densities]
    means = {
        name: float(np.average([found[name] for found, _ in densities], weights=sizes))
        for name in DENSITIES
        if densities and all(name in found for found, _ in densities)
    }
    figures = joined_measures(classes).figures(AGAIN) if classes else None
    return Fit(means, figures, words)


def _learn_again(model: Any, learner: Any, name: str, train: ReportRows) -> tuple[Any, str]:
    """(the model learned from some rows, what was learned); None if it cannot be learned."""
    if learner is not None and not is_classifier(model) and not hasattr(learner, "predict_proba"):
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


def _rows_for(learner: Any, model: Any, rows: ReportRows) -> Table:
    """The rows from which a model is learned again: those with gaps if it was learned by EM."""
    missing = model.record.preparation.missing
    if missing is not None and missing.policy == "em":
        learner.set_params(missing="em")
        return rows.table
    return rows.table.take(rows.complete)


def _measured(model: Any, rows: ReportRows) -> Table:
    """The rows on which a model of whole rows is measured: the complete ones, unless it sums out
    missing cells."""
    return rows.table if isinstance(model, BayesianNetwork) else rows.table.take(rows.complete)


def _densities(model: Any, rows: ReportRows) -> dict[str, float]:
    """The measures of whole rows that the model has."""
    full = _measured(model, rows)
    values: dict[str, float] = {}
    if is_classifier(model) or not full.n_rows:
        return values
    for name, measure in (
        ("log-likelihood", model.score_samples),
        ("pseudo-log-likelihood", lambda X: model.pseudo_log_likelihood(X, total=True)),
    ):
        try:
            values[name] = _mean(measure(_in_states_of(model, full)), full.weights)
        except CounterpaneError:  # no joint distribution, or too large a sum
            continue
    return values


def _class_measures(model: Any, rows: ReportRows, target: str) -> ClassMeasures | None:
    """The measures of a model's predictions; None if no row has a class that it knows."""
    probabilities, codes, weights = class_predictions(model, rows, target)
    if not codes.size:
        return None
    each = np.ones(codes.size) if weights is None else np.asarray(weights, dtype=float)
    return ClassMeasures(np.log(np.maximum(probabilities, LOG_FLOOR)), codes, each)


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
        probabilities = model.predict_proba(features, target)
    weights = rows.table.weights
    return probabilities, codes[known], None if weights is None else weights[known]


def _independent(model: Any, rows: ReportRows) -> dict[str, float]:
    """The measures of whole rows of a model that knows the shares of the states alone."""
    full = _measured(model, rows)
    if not full.n_rows:
        return {}
    logs = np.zeros(full.n_rows)
    for share, codes in zip(rows.shares, full.codes, strict=True):
        logs += np.append(np.log(np.maximum(share, 1e-12)), 0.0)[codes]
    return dict.fromkeys(DENSITIES, _mean(logs, full.weights))


def _mean(values: Floats, weights: Any) -> float:
    return float(np.average(values, weights=weights))
