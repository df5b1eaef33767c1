"""Multinomial ridge regression on the tables of faces.

    minimize −Σ weight · ln P(class | x) + ½ Σ_T λ_T ‖β_T‖² + ½ · 0.3 λ (‖γ‖² + ‖δ‖²),

with λ_∅ = 1 and λ_T = λ · 2^(|T| − 1): a table of more columns is held more tightly. All classes
have weights, which the penalty makes sum to zero; of two classes only the difference is kept.
"""

from __future__ import annotations

import copy

import numpy as np

from counterpane._core.classifiers import StepPairs, minimize, predict_rows
from counterpane.learn.classifiers.interactions.face_design import FaceDesign
from counterpane.typing import Floats, Ints

NUMERIC_SHARE = 0.3  # of λ, for numeric terms
TOLERANCE = 1e-5  # nats a row that the next step may still gain
MAX_STEPS = 200
MEMORY = 40  # pairs of steps and changes of the gradient; fewer where they would fill the memory
MAX_ENTRIES = 2**22  # of the steps: 32 MB


def log_prior(labels: Ints, n_classes: int, weights: Floats) -> Floats:
    """ln((n_c + 1/C) / (m + 1)) by class."""
    counts = np.bincount(labels, weights, n_classes)
    prior: Floats = np.log((counts + 1 / n_classes) / (counts.sum() + 1))
    return prior


def smooth(log_proba: Floats, total: float) -> Floats:
    """ln((m p + 1/C) / (m + 1)), classes on the first axis: no class is ever impossible."""
    share = 1 / (total + 1)
    mixed: Floats = np.logaddexp(log_proba + np.log1p(-share), np.log(share / len(log_proba)))
    return mixed


def normalize(predictors: Floats) -> Floats:
    """ln P of classes, on the first axis, from their predictors."""
    largest = predictors.max(axis=0)
    log_proba: Floats = predictors - (largest + np.log(np.exp(predictors - largest).sum(axis=0)))
    return log_proba


def empty_memory(columns: int, features: int) -> StepPairs:
    """No pairs of steps and changes of the gradient."""
    size = columns * features
    pairs = max(5, min(MEMORY, MAX_ENTRIES // size))
    return StepPairs(
        np.zeros((pairs, size)),
        np.zeros((pairs, size)),
        np.zeros(pairs),
        np.zeros(features),
        np.array([-1, 0]),
    )


class Ridge:
    """A fit in progress: each `solve` starts from where the last one ended."""

    def __init__(self, design: FaceDesign, labels: Ints, n_classes: int, weights: Floats) -> None:
        self.design = design
        self.n_classes = n_classes
        self.labels = labels
        self.weights = weights
        prior = log_prior(labels, n_classes, weights)
        self.binary = n_classes == 2
        self.prior: Floats = prior[1:] - prior[:1] if self.binary else prior
        self.w: Floats = np.zeros((len(self.prior), int(design.arrays.n_features)))
        self._memory = empty_memory(*self.w.shape)
        orders = design.orders
        powers = np.where(orders < 0, NUMERIC_SHARE, 2.0 ** (orders - 1))
        self._powers = np.where(orders == 0, 0.0, powers)
        self._curvature = 0.25 if self.binary else max(0.1, (1 - 1 / n_classes) / n_classes)

    def solve(
        self, strength: float, *, tolerance: float = TOLERANCE, max_steps: int = MAX_STEPS
    ) -> int:
        """Move the weights to the optimum for λ = `strength`; the number of steps."""
        if self.n_classes == 1:
            return 0
        penalty = self._powers * strength
        penalty[0] = 1.0
        if self.binary:
            penalty /= 2
        metric = 1 / (self._curvature * self.design.squares + penalty)
        return minimize(
            self.design.arrays,
            self.labels,
            self.weights,
            self.prior,
            penalty,
            metric,
            self._memory,
            self.w.reshape(-1),
            tolerance * float(self.weights.sum()),
            max_steps,
        )

    def frozen(self) -> Ridge:
        """This fit as it is now, without what a further `solve` would need."""
        twin = copy.copy(self)
        twin.w = self.w.copy()
        del twin._memory
        return twin

    def log_proba(self, first: int, last: int) -> Floats:
        """ln P(class) of the design's rows from `first` to `last`, (classes, rows)."""
        out = np.empty((len(self.prior), last - first))
        predict_rows(self.design.arrays, self.prior, self.w.reshape(-1), first, out)
        if self.binary:
            return np.stack([-np.logaddexp(0.0, out[0]), -np.logaddexp(0.0, -out[0])])
        return normalize(out)

    def start_from(self, other: Ridge) -> None:
        """Take over the weights of the faces that another fit on the same rows has too."""
        mine, theirs = self.design, other.design
        self.w[:, 0] = other.w[:, 0]
        numbers = mine.arrays.numbers.shape[0]
        self.w[:, self.w.shape[1] - numbers :] = other.w[:, other.w.shape[1] - numbers :]
        known = {face: f for f, face in enumerate(theirs.faces)}
        for face, start, keys in zip(mine.faces, mine.starts, mine.keys, strict=True):
            if face in known:
                old = theirs.keys[known[face]]
                order = np.argsort(old)
                place = order[np.searchsorted(old, keys, sorter=order)]
                values = other.w[:, theirs.starts[known[face]] + place]
                self.w[:, start : start + len(keys)] = values
