"""Rows held out of a fit: how they are dealt into folds, and what the fits say of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from counterpane.data.table import Table, in_text_order
from counterpane.learn.classifiers.interactions.fold_rows import deal_folds
from counterpane.typing import Codes, Floats, Ints

MAX_ROWS = 50_000  # distinct ones; beyond, so many are drawn
MIN_WEIGHT = 20.0  # of the rows; fewer are too few to judge a classifier by
N_FOLDS = 5


class HeldOut(NamedTuple):
    """ln P(class | row) of held-out rows, (rows, classes), their classes, weights and folds."""

    log_proba: Floats
    labels: Ints
    weights: Floats
    folds: Ints

    def with_classes(self, codes: Ints) -> HeldOut:
        """The same rows, class k being called `codes[k]`."""
        order = np.argsort(codes)
        return self._replace(log_proba=self.log_proba[:, order], labels=codes[self.labels])

    @property
    def log_loss(self) -> float:
        """The mean of −ln P(class | row), in nats."""
        return -float(self._own @ self.weights) / float(self.weights.sum())

    def beats_prior(self, errors: float) -> bool:
        """Whether the log-loss is below that of the classes' shares by some standard errors.

        The error is that of the mean difference over the rows. Of the best of many fits one error
        is asked for, since it would be below by chance. Fewer than 20 rows do not say otherwise.
        """
        total = float(self.weights.sum())
        if total < MIN_WEIGHT:
            return True
        shares = np.bincount(self.labels, self.weights, self.log_proba.shape[1]) / total
        gains = self._own - np.log(shares[self.labels])
        mean = float(gains @ self.weights) / total
        spread = float((gains - mean) ** 2 @ self.weights) / total
        return mean > errors * math.sqrt(spread / max(total - 1, 1))

    @property
    def _own(self) -> Floats:
        own: Floats = self.log_proba[np.arange(len(self.labels)), self.labels]
        return own


def joined(parts: Sequence[tuple[Floats, Ints, Floats]]) -> HeldOut:
    """The rows of several folds, from the log-probabilities, classes and weights of each."""
    log_proba, labels, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    sizes = [len(labels) for _, labels, _ in parts]
    return HeldOut(log_proba, labels, weights, np.repeat(np.arange(len(parts)), sizes))


class Fold(NamedTuple):
    """The rows to learn from, and the codes and weights of those held out."""

    training: Table
    codes: Codes
    weights: Floats


def folds_of(table: Table) -> Iterator[Fold]:
    """Five folds of the distinct rows, stratified by the last column; the same at every call.

    Neither the order of rows, columns and states matters, nor whether a row is written twice or has
    weight 2.
    """
    rows = in_text_order(table.distinct())
    codes, weights = rows.codes, np.asarray(rows.weights, dtype=np.float64)
    rng = np.random.default_rng(0)
    if rows.n_rows > MAX_ROWS:
        drawn = np.sort(rng.choice(rows.n_rows, MAX_ROWS, replace=False))
        codes, weights = codes[:, drawn], weights[drawn]
    for held in deal_folds(codes[-1].astype(np.int64), weights, N_FOLDS, rng):
        rest = weights - held
        kept, tested = np.flatnonzero(rest > 0), np.flatnonzero(held > 0)
        training = Table(table.schema, codes[:, kept], rest[kept])
        yield Fold(training, codes[:, tested], held[tested])
