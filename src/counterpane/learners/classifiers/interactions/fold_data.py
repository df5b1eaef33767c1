"""The rows of one fold, with cuts, scales and normal scores of numbers found on its training rows.

Any learner that is fitted on five folds can share these.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from counterpane._core.classifiers import normal_scores
from counterpane.additive.member import Coding
from counterpane.data.intervals import mdl_cuts, quantile_cuts
from counterpane.learners.classifiers.interactions.canonical_rows import RawRows
from counterpane.typing import Codes, Floats, Ints

EDGE = 0.001  # normal scores are those of probabilities from EDGE to 1 - EDGE


class FoldData:
    """The training rows of a fold with the held-out rows behind them, and the coding of numbers.

    Everything is found on the training rows alone. `weights` are those of the training rows,
    `held` those of the held-out rows.
    """

    def __init__(self, rows: RawRows, weights: Floats, held: Floats) -> None:
        order = np.append(np.flatnonzero(weights > 0), np.flatnonzero(held > 0))
        self.n_train = int((weights > 0).sum())
        self.rows = rows.take(order)
        self.train = self.rows.first(self.n_train)
        self.weights: Floats = weights[order[: self.n_train]]
        self.held: Floats = held[order[self.n_train :]]

    @cached_property
    def coding(self) -> Coding:
        """Cuts and scales of the training rows."""
        return find_coding(self.train, self.weights)

    @cached_property
    def coding_with_thirds(self) -> Coding:
        """The coding with three intervals for columns without a cut; the same one if all have."""
        if all(len(cuts) for cuts in self.coding.cuts):
            return self.coding
        return with_thirds(self.coding, self.train, self.weights)

    @cached_property
    def terms(self) -> Floats:
        """Numeric terms of all rows."""
        return self.coding.terms(self.rows.numbers)

    @cached_property
    def _codes(self) -> Codes:
        return self.coding.codes(self.rows.codes, self.rows.numbers)

    def codes(self, coding: Coding) -> Codes:
        """The states of all rows."""
        if coding is not self.coding:
            return coding.codes(self.rows.codes, self.rows.numbers)
        return self._codes

    def training(self, coding: Coding) -> tuple[Codes, Ints, Ints, int, Floats]:
        """(codes, cards, labels, number of classes, weights) of the training rows."""
        codes = np.ascontiguousarray(self.codes(coding)[:, : self.n_train])
        return codes, coding.cards, self.train.labels, self.rows.n_classes, self.weights

    @property
    def held_labels(self) -> Ints:
        """The classes of the held-out rows."""
        return self.rows.labels[self.n_train :]


def find_coding(rows: RawRows, weights: Floats) -> Coding:
    """The coding of training rows: MDL cuts against the class, mean and deviation, ranks."""
    cuts, centers, scales, fills, values, scores = [], [], [], [], [], []
    cards = rows.cards.copy()
    for position, numbers in zip(rows.numeric, rows.numbers, strict=True):
        known = ~np.isnan(numbers)
        x, w = numbers[known], weights[known]
        cuts.append(mdl_cuts(x, rows.labels[known], w))
        cards[position] = len(cuts[-1]) + 2
        distinct, where = np.unique(x, return_inverse=True)
        heights: Floats = np.cumsum(np.bincount(where, w, len(distinct)).astype(np.float64))
        total = heights[-1] if len(heights) else 0.0
        center, spread = mean_and_deviation(x, w, total)
        centers.append(center)
        scales.append(spread if len(distinct) > 1 else 0.0)
        fills.append(float(distinct[np.searchsorted(heights, total / 2)]) if total else 0.0)
        values.append(distinct)
        scores.append(_scores(heights))
    return Coding(
        cards,
        rows.numeric,
        tuple(cuts),
        np.array(centers),
        np.array(scales),
        np.array(fills),
        tuple(values),
        tuple(scores),
    )


def mean_and_deviation(x: Floats, w: Floats, total: float) -> tuple[float, float]:
    """The mean and the standard deviation of weighted numbers, finite for all finite numbers."""
    if not total:
        return 0.0, 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        center = float(x @ w / total)
        spread = float(np.sqrt((x - center) ** 2 @ w / total))
    if not np.isfinite(center + spread):  # squares of very large numbers are infinite
        unit = float(np.abs(x).max())
        part, width = mean_and_deviation(x / unit, w, total)
        center, spread = part * unit, width * unit
    return center, spread


def with_thirds(coding: Coding, rows: RawRows, weights: Floats) -> Coding:
    """`coding` with three intervals of equal weight for each column without a cut."""
    cuts, cards = list(coding.cuts), coding.cards.copy()
    for a, position in enumerate(coding.numeric):
        known = ~np.isnan(rows.numbers[a])
        if not len(cuts[a]):
            cuts[a] = quantile_cuts(rows.numbers[a, known], weights[known], 3)
            cards[position] = len(cuts[a]) + 2
    return replace(coding, cards=cards, cuts=tuple(cuts))


def _scores(heights: Floats) -> Floats:
    """Normal scores at and below distinct values, from the weight up to each of them."""
    scores = np.zeros(2 * len(heights) + 1)
    if len(heights):
        before = np.append(0.0, heights)
        scores[0::2] = before
        scores[1::2] = (before[:-1] + before[1:]) / 2
        scores = np.clip((scores + 0.5) / (heights[-1] + 1), EDGE, 1 - EDGE)
        normal_scores(scores)
    return scores
