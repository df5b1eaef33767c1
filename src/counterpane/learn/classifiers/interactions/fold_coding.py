"""Cuts, scales and normal scores of numeric columns, found on training rows."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from counterpane._core.classifiers import normal_scores
from counterpane.data.intervals import mdl_cuts, quantile_cuts
from counterpane.models.additive_member import Coding
from counterpane.typing import Codes, Floats, Ints

EDGE = 0.001  # normal scores are those of probabilities from EDGE to 1 - EDGE


class RawRows(NamedTuple):
    """Rows as they came: codes of states (unused where a column is of numbers), and numbers."""

    codes: Codes  # (columns, rows) uint16
    cards: Ints
    numeric: Ints  # positions of the columns of numbers
    numbers: Floats  # (numeric columns, rows), NaN where missing
    labels: Ints
    n_classes: int

    def take(self, rows: Ints) -> RawRows:
        """Some of the rows."""
        return self._replace(
            codes=self.codes[:, rows], numbers=self.numbers[:, rows], labels=self.labels[rows]
        )


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
        center = float(x @ w / total) if total else 0.0
        spread = float(np.sqrt((x - center) ** 2 @ w / total)) if len(distinct) > 1 else 0.0
        centers.append(center)
        scales.append(spread)
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


def with_thirds(coding: Coding, rows: RawRows, weights: Floats) -> Coding:
    """`coding` with three intervals of equal weight for each column that had no cut."""
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
