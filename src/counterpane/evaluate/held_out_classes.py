"""What a fitted classifier says of rows that it has not learned from."""

from __future__ import annotations

from typing import Any

from counterpane.evaluate.comparing import class_fits
from counterpane.learn.classifiers.class_measures import ClassMeasures


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
    classifier are fitted to all but one of `folds` in turn, including the cuts of numbers, or to
    all but the share `holdout` of the rows.

    >>> import counterpane as cp
    >>> titanic = cp.load_dataset("titanic")
    >>> found = held_out_measures(cp.NaiveBayes(), titanic, "survived")
    >>> round(found.log_loss.value, 2), round(found.auc.value, 2), round(found.accuracy.value, 2)
    (0.52, 0.72, 0.78)
    """
    inner = vars(learner).get("held_out_")
    if inner is not None:
        return ClassMeasures(*inner)
    return class_fits(learner, X, y, folds=folds, holdout=holdout, random_state=random_state)
