"""The held-out measures that a classifier gets when it is learned, in its record."""

from __future__ import annotations

from typing import Any

from counterpane.data.table import Table
from counterpane.errors import CounterpaneError
from counterpane.evaluate.measures import ClassMeasures
from counterpane.evaluate.splits import FOLDS, held_out_measures
from counterpane.learners.classifiers.folds import MIN_WEIGHT
from counterpane.models.record import AGAIN, CHOSEN, ClassFigures

QUICK, SLOW = 4.0, 40.0  # seconds of a fit: up to here five folds, or one, are learned again
SMALL = 5000  # rows up to which the folds that chose the structure are not used to measure it


def held_out_figures(learner: Any, source: Any, target: str, seconds: float) -> ClassFigures | None:
    """The measures of a fitted classifier on rows held out of its fits, for its record.

    None if they would take too long, and for fewer than 20 rows.
    """
    inner = vars(learner).get("held_out_")
    weight = learner.model_.record.data.weight
    if weight < MIN_WEIGHT:
        return None
    rows = isinstance(source, Table | list)
    if inner is not None and (weight > SMALL or seconds > QUICK or not rows):
        # With many rows, the choice by folds overfits little.
        return ClassMeasures(*inner).figures(CHOSEN)
    if not rows or seconds > SLOW:
        return None
    if inner is not None:
        learner = type(learner)(**learner.get_params(deep=False)).set_params(bootstrap=0)
    holdout = None if seconds <= QUICK else 1 / FOLDS
    try:
        measures = held_out_measures(learner, source, target, holdout=holdout)
    except CounterpaneError:  # too few rows for folds, or a fold without a class
        return None
    return measures.figures(AGAIN)
