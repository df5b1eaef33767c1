"""Weights of several predictions of the same held-out rows, fitted to their classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterpane.learners.boosting.fold_boosting import log_softmax
from counterpane.typing import Floats, Ints

STRENGTH = 1.0  # of the pull towards equal weights
LOWEST = -30.0  # log-probabilities below count as this
MOST_STEPS = 50


def pool_weights(
    predictions: Sequence[Floats], labels: Ints, weights: Floats
) -> tuple[Floats, float]:
    """(weights a_j ≥ 0, mean log-loss) of P ∝ exp Σ_j a_j ln P_j on held-out rows.

    Minimizes −Σ w ln P(class) + ½ Σ_j (a_j − 1/J)² by projected Newton steps: the problem is
    convex in the J weights.

    Parameters
    ----------
    predictions
        ln P_j(class | row), (rows, classes) each.
    labels, weights
        The classes of the rows, and their weights.
    """
    logs = np.maximum(np.stack(predictions), LOWEST)  # (J, rows, classes)
    n = len(logs)
    rows = np.arange(len(labels))
    own = logs[:, rows, labels]

    def objective(a: Floats) -> float:
        log_proba = log_softmax(np.tensordot(a, logs, 1))
        pull = 0.5 * STRENGTH * float(((a - 1 / n) ** 2).sum())
        return -float(weights @ log_proba[rows, labels]) + pull

    a = np.full(n, 1 / n)
    value = objective(a)
    for _ in range(MOST_STEPS):
        p = np.exp(log_softmax(np.tensordot(a, logs, 1)))
        means = (logs * p).sum(axis=2)
        slope = -((own - means) @ weights) + STRENGTH * (a - 1 / n)
        weighted = p * weights[:, None]
        curvature = (
            np.einsum("irc,jrc,rc->ij", logs, logs, weighted)
            - np.einsum("ir,jr,r->ij", means, means, weights)
            + STRENGTH * np.eye(n)
        )
        free = (a > 0) | (slope < 0)
        step = np.zeros(n)
        step[free] = -np.linalg.solve(curvature[np.ix_(free, free)], slope[free])
        size = 1.0
        while size > 1e-4:
            moved = np.maximum(a + size * step, 0.0)
            lower = objective(moved)
            if lower <= value - 1e-9:
                break
            size /= 2
        else:
            break
        change, a, value = float(np.abs(moved - a).max()), moved, lower
        if change < 1e-4:
            break
    log_proba = log_softmax(np.tensordot(a, logs, 1))
    return a, -float(weights @ log_proba[rows, labels]) / float(weights.sum())
