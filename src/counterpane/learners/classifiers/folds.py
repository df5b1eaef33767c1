"""Folds for all classifiers: how rows are dealt into them, and predictions of held-out rows.

Neither the order of rows, columns and states matters, nor whether a row is written twice or has
weight 2. The names of states matter: rows are dealt in their order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from counterpane.data.table import Table, in_text_order
from counterpane.typing import Codes, Floats, Ints

N_FOLDS = 5
MAX_ROWS = 50_000  # distinct ones; of more rows, so many are drawn
FEW_WEIGHT = 100.0  # of held-out rows, below which a log-loss comes with its standard error
MIN_WEIGHT = 20.0  # of the rows; fewer are too few to judge a classifier by
FOLD_ROWS = 2**20  # distinct rows × folds that are fitted, at most
MAX_COPIES = 2**22  # of all rows together; beyond, a row of any weight stays in one fold


class HeldOut(NamedTuple):
    """ln P(class | row) of held-out rows, (rows, classes), their classes, weights and folds."""

    log_proba: Floats
    labels: Ints
    weights: Floats
    folds: Ints

    def with_classes(self, codes: Ints) -> HeldOut:
        """The same rows, with class k as class `codes[k]`."""
        order = np.argsort(codes)
        return self._replace(log_proba=self.log_proba[:, order], labels=codes[self.labels])

    def of_folds(self, n: int) -> HeldOut:
        """The rows of the first n folds."""
        there = self.folds < n
        return HeldOut(
            self.log_proba[there], self.labels[there], self.weights[there], self.folds[there]
        )

    @property
    def log_loss(self) -> float:
        """The mean of −ln P(class | row), in nats."""
        return -float(self._log_proba_of_labels @ self.weights) / float(self.weights.sum())

    @property
    def caution(self) -> str:
        """The standard error of the log-loss in a sentence; empty for a hundred rows or more."""
        total = float(self.weights.sum())
        if total >= FEW_WEIGHT:
            return ""
        _, error = self._mean_and_error(self._log_proba_of_labels)
        return (
            f"With only {total:.0f} held-out rows, the standard error of their log-loss is about "
            f"{error:.2g}."
        )

    def beats_prior(self, errors: float) -> bool:
        """Whether the log-loss is below that of the class shares by `errors` standard errors.

        The error is that of the mean difference over the rows. The best of many fits should be
        better by one error, since some are better by chance. True if there are fewer than 20 rows.
        """
        total = float(self.weights.sum())
        if total < MIN_WEIGHT:
            return True
        shares = np.bincount(self.labels, self.weights, self.log_proba.shape[1]) / total
        gains = self._log_proba_of_labels - np.log(shares[self.labels])
        mean, error = self._mean_and_error(gains)
        return mean > errors * error

    def _mean_and_error(self, values: Floats) -> tuple[float, float]:
        """The mean of one value for each row, and its standard error."""
        total = float(self.weights.sum())
        mean = float(values @ self.weights) / total
        spread = float((values - mean) ** 2 @ self.weights) / total
        return mean, math.sqrt(spread / max(total - 1, 1))

    @property
    def _log_proba_of_labels(self) -> Floats:
        log_proba: Floats = self.log_proba[np.arange(len(self.labels)), self.labels]
        return log_proba


def join_folds(folds: Sequence[tuple[Floats, Ints, Floats]]) -> HeldOut:
    """The held-out rows of all folds, from the log-probabilities, classes and weights of each."""
    log_proba, labels, weights = (np.concatenate(arrays) for arrays in zip(*folds, strict=True))
    sizes = [len(labels) for _, labels, _ in folds]
    return HeldOut(log_proba, labels, weights, np.repeat(np.arange(len(folds)), sizes))


class Fold(NamedTuple):
    """The rows to learn from, and the codes and weights of those held out."""

    training: Table
    codes: Codes
    weights: Floats


def folds_of(table: Table) -> Iterator[Fold]:
    """Five folds of the distinct rows, stratified by the last column; the same at every call."""
    rows = in_text_order(table.distinct())
    codes, weights = rows.codes, np.asarray(rows.weights, dtype=np.float64)
    rng = np.random.default_rng(0)
    if rows.n_rows > MAX_ROWS:
        drawn = np.sort(rng.choice(rows.n_rows, MAX_ROWS, replace=False))
        codes, weights = codes[:, drawn], weights[drawn]
    for held in deal_folds(codes[-1].astype(np.int64), weights, N_FOLDS, rng):
        rest = weights - held
        trained, tested = np.flatnonzero(rest > 0), np.flatnonzero(held > 0)
        training = Table(table.schema, codes[:, trained], rest[trained])
        yield Fold(training, codes[:, tested], held[tested])


def deal_folds(labels: Ints, weights: Floats, n_folds: int, rng: np.random.Generator) -> Floats:
    """The weight of each row in each fold, (folds, rows): shuffled class by class, dealt in turn.

    Whole weights are dealt copy by copy. There are fewer folds if there are fewer copies, and none
    if there is only one copy.
    """
    counts = bool((weights == np.floor(weights)).all()) and weights.sum() <= MAX_COPIES
    copies = np.repeat(np.arange(len(weights)), weights.astype(np.int64) if counts else 1)
    copy_weights = np.ones(len(copies)) if counts else weights
    n_folds = min(n_folds, len(copies)) if len(copies) > 1 else 0
    order = rng.permutation(len(copies))
    order = order[np.argsort(labels[copies[order]], kind="stable")]
    held = np.zeros((n_folds, len(weights)))
    for k in range(n_folds):
        dealt = order[k::n_folds]
        np.add.at(held[k], copies[dealt], copy_weights[dealt])
    return held


def first_folds(held: Floats) -> Floats:
    """As many of the folds as are fitted: fewer than five of very many rows, but one."""
    return held[: max(1, FOLD_ROWS // max(held.shape[1], 1))]
