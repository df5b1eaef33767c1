"""Measures of predictions, with standard errors: of classes, and calibration of any event.

Each measure has the influence of every row on it, which also gives the error of the difference
between two classifiers on the same rows: √Σ weight · (influence₁ − influence₂)².
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from counterpane.models.record import (
    CalibrationBin,
    CalibrationError,
    ClassFigures,
    ClassShares,
    MeasuredValue,
)
from counterpane.typing import Bools, Floats, Ints

BINS = 10  # of calibration
MOST_CLASSES = 30  # with a calibration curve each, and a confusion table


class Measured(NamedTuple):
    """A value and the influence of each row on it; a row of weight 2 is two rows."""

    value: float
    influence: Floats


def calibration_bins(
    predicted: Floats,
    happened: Floats,
    weights: Floats | None = None,
    *,
    bins: int = BINS,
    widths: Literal["rows", "equal"] = "rows",
) -> list[CalibrationBin]:
    """Groups of rows by the predicted probability of an event, the lowest first.

    With `widths="rows"` each bin has about as many rows, else the bins divide 0 … 1 equally. Empty
    bins are skipped.

    >>> low, high = calibration_bins(np.array([0.1, 0.9]), np.array([0.0, 1.0]), bins=2)
    >>> low.predicted, high.observed
    (0.1, 1.0)
    """
    weights = np.ones(len(predicted)) if weights is None else weights
    if widths == "equal":
        number = np.minimum((predicted * bins).astype(np.int64), bins - 1)
    else:
        where = np.unique(predicted, return_inverse=True)[1]
        sizes = np.bincount(where, weights)
        middle = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
        number = np.minimum((middle * bins).astype(np.int64), bins - 1)[where]
    found = []
    for k in np.unique(number):
        rows = number == k
        w, p = weights[rows], predicted[rows]
        n = float(w.sum())
        error = math.sqrt(float(w @ (p * (1 - p)))) / n
        found.append(CalibrationBin(n, float(w @ p) / n, float(w @ happened[rows]) / n, error))
    return found


@dataclass(frozen=True, eq=False)
class ClassMeasures:
    """Log-loss, AUC, accuracy and calibration of ln P(class | row), (rows, classes).

    `labels` are codes of the classes; a label without a column is a class that the model does not
    know. AUC does not compare rows of different `folds`, because different fits predicted them.

    >>> logs = np.log([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])
    >>> measures = ClassMeasures(logs, np.array([0, 1, 1]), np.ones(3))
    >>> round(measures.log_loss.value, 3), measures.accuracy.value, measures.auc.value
    (0.28, 1.0, 1.0)
    """

    log_proba: Floats
    labels: Ints
    weights: Floats
    folds: Ints | None = None

    @cached_property
    def log_loss(self) -> Measured:
        """The mean of −ln P(class | row), in nats; infinite where the class was impossible."""
        known = self.labels < self.log_proba.shape[1]
        logs = self.log_proba[np.arange(len(known)), np.where(known, self.labels, 0)]
        return self._mean(np.where(known, -logs, math.inf))

    @cached_property
    def accuracy(self) -> Measured:
        """The share of rows whose most probable class is theirs."""
        return self._mean((self.log_proba.argmax(axis=1) == self.labels).astype(np.float64))

    @cached_property
    def auc(self) -> Measured | None:
        """The chance that a row of a class is ranked above a row of another one.

        The area under the ROC curve; of more than two classes the mean of each against the rest,
        and of several folds the mean over their rows. Influences are DeLong's (1988). None where
        no fold has rows of two classes.
        """
        n_classes = self.log_proba.shape[1]
        classes = (1,) if n_classes == 2 else range(n_classes)
        areas = [m for k in classes if (m := self._auc_of(k)) is not None]
        if not areas:
            return None
        influence: Floats = np.mean([m.influence for m in areas], axis=0)
        return Measured(float(np.mean([m.value for m in areas])), influence)

    @cached_property
    def brier(self) -> Measured:
        """The squared error of the class probabilities, summed over the classes."""
        proba = np.exp(self.log_proba)
        known = self.labels < proba.shape[1]
        own = proba[np.arange(len(known)), np.where(known, self.labels, 0)] * known
        return self._mean((proba**2).sum(axis=1) - 2 * own + 1)

    @cached_property
    def calibration(self) -> list[CalibrationBin]:
        """Bins of about as many rows by the predicted probability, the lowest first.

        Of two classes, the probability of the second; else that of the most probable class.
        """
        return calibration_bins(*self._predicted, self.weights)

    def calibration_of(self, k: int) -> list[CalibrationBin]:
        """As `calibration`, for the probability of class k."""
        happened = (self.labels == k).astype(np.float64)
        return calibration_bins(np.exp(self.log_proba[:, k]), happened, self.weights)

    @property
    def confusion(self) -> Floats:
        """The weight of the rows of class i, true, and j, the most probable one."""
        n = max(self.log_proba.shape[1], int(self.labels.max()) + 1)
        table = np.zeros((n, n))
        np.add.at(table, (self.labels, self.log_proba.argmax(axis=1)), self.weights)
        return table

    @property
    def calibration_error(self) -> float:
        """The mean over rows of |predicted − observed| of their bin."""
        total = sum(b.rows for b in self.calibration)
        return sum(b.rows * abs(b.predicted - b.observed) for b in self.calibration) / total

    @property
    def calibration_chance(self) -> float:
        """The expected `calibration_error` of a perfectly calibrated model."""
        total = sum(b.rows for b in self.calibration)
        return sum(b.rows * b.error for b in self.calibration) * math.sqrt(2 / math.pi) / total

    @cached_property
    def prior(self) -> ClassShares:
        """The same measures if the shares of the classes, (n + 1/C) / (m + 1), are predicted.

        With several folds, the log-loss and the Brier score take the shares of the other folds;
        otherwise those of all rows. The accuracy is the share of the most frequent class in all
        rows: which class is the most frequent in the other folds depends on the folds where two
        are about as frequent.
        """
        n_classes = max(self.log_proba.shape[1], int(self.labels.max()) + 1)
        folds = np.zeros(len(self.labels), dtype=np.int64) if self.folds is None else self.folds
        counts = np.bincount(self.labels, self.weights, n_classes)
        log_loss = brier = 0.0
        for fold in np.unique(folds):
            inside = folds == fold
            tested = np.bincount(self.labels[inside], self.weights[inside], n_classes)
            rest = counts - tested if not inside.all() else counts
            shares = (rest + 1 / n_classes) / (rest.sum() + 1)
            log_loss -= float(tested @ np.log(shares))
            brier += float(tested @ ((shares**2).sum() - 2 * shares + 1))
        total = float(self.weights.sum())
        return ClassShares(
            log_loss / total, accuracy=float(counts.max()) / total, brier=brier / total, auc=0.5
        )

    def error(self, measured: Measured, other: Measured | None = None) -> float | None:
        """The standard error of a measure, or of its difference to another on the same rows."""
        influence = measured.influence - (0.0 if other is None else other.influence)
        variance = float(self.weights @ influence**2)
        return math.sqrt(variance) if math.isfinite(variance) else None

    def figures(self, how: str) -> ClassFigures:
        """All measures as plain values, for a model's record; `how` says which fits predicted."""
        few = max(self.log_proba.shape[1], int(self.labels.max()) + 1) <= MOST_CLASSES
        known = range(self.log_proba.shape[1]) if few else ()
        sure = tuple(MeasuredValue(m.value, self.error(m)) for m in (self.accuracy, self.brier))
        return ClassFigures(
            how=how,
            folds=1 if self.folds is None else len(np.unique(self.folds)),
            rows=plain_weight(self.weights.sum()),
            log_loss=self._estimate(self.log_loss),
            auc=self._estimate(self.auc),
            accuracy=sure[0],
            brier=sure[1],
            prior=self.prior,
            calibration_error=CalibrationError(self.calibration_error, self.calibration_chance),
            calibration=tuple(self.calibration),
            curves=tuple(tuple(self.calibration_of(k)) for k in known),
            confusion=tuple(tuple(map(plain_weight, row)) for row in self.confusion) if few else (),
        )

    def _estimate(self, measured: Measured | None) -> MeasuredValue | None:
        """A measure with its error; None if it is not finite."""
        if measured is None or not math.isfinite(measured.value):
            return None
        return MeasuredValue(measured.value, self.error(measured))

    def _mean(self, values: Floats) -> Measured:
        total = float(self.weights.sum())
        mean = float(values @ self.weights) / total
        with np.errstate(invalid="ignore"):
            return Measured(mean, (values - mean) / total)

    @property
    def _predicted(self) -> tuple[Floats, Floats]:
        """The probability that was predicted, and whether it came true."""
        if self.log_proba.shape[1] == 2:
            return np.exp(self.log_proba[:, 1]), (self.labels == 1).astype(np.float64)
        best = self.log_proba.argmax(axis=1)
        predicted = np.exp(self.log_proba[np.arange(len(best)), best])
        return predicted, (best == self.labels).astype(np.float64)

    def _auc_of(self, k: int) -> Measured | None:
        """The area of one class against the others, over the folds that have both."""
        n = len(self.labels)
        folds = [np.arange(n)]
        if self.folds is not None:
            folds = [np.flatnonzero(self.folds == fold) for fold in np.unique(self.folds)]
        areas, shares, influence = [], [], np.zeros(n)
        for rows in folds:
            positive, weights = self.labels[rows] == k, self.weights[rows]
            if positive.any() and not positive.all():
                area, influence[rows] = _area(self.log_proba[rows, k], positive, weights)
                areas.append(area)
                shares.append(float(weights.sum()))
                influence[rows] *= shares[-1]
        if not areas:
            return None
        return Measured(float(np.average(areas, weights=shares)), influence / sum(shares))


def _area(scores: Floats, positive: Bools, weights: Floats) -> tuple[float, Floats]:
    """The area under the ROC curve and the influence of each row; ties count half."""
    total, rest = float(weights[positive].sum()), float(weights[~positive].sum())
    # Equal sums may differ in the last digits if added in another order.
    values, where = np.unique(np.round(scores, 9), return_inverse=True)
    inside = np.bincount(where, weights * positive, len(values))
    outside = np.bincount(where, weights * ~positive, len(values))
    below = (np.cumsum(outside) - outside / 2) / rest  # of others, for each value
    above = (total - np.cumsum(inside) + inside / 2) / total
    area = float(inside @ below) / total
    return area, np.where(positive, (below[where] - area) / total, (above[where] - area) / rest)


def joined_measures(parts: Sequence[ClassMeasures]) -> ClassMeasures:
    """The rows of several fits together, each a fold."""
    sizes = [len(part.labels) for part in parts]
    return ClassMeasures(
        np.concatenate([part.log_proba for part in parts]),
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.weights for part in parts]),
        np.repeat(np.arange(len(parts)), sizes),
    )


def plain_weight(weight: float) -> float:
    """A weight of rows for people: an integer if it is one, else rounded.

    >>> plain_weight(3.0), plain_weight(2.345)
    (3, 2.35)
    """
    return int(weight) if float(weight).is_integer() else round(float(weight), 2)
