"""Weights of a pool: convex, never negative, and no worse on the rows they were fitted on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from counterpane.learners.boosting.fold_boosting import log_softmax
from counterpane.learners.boosting.pool import LOWEST, STRENGTH, pool_weights


def predictions(seed=0, n=300, classes=3):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    good = log_softmax(rng.normal(size=(n, classes)) + 1.5 * np.eye(classes)[labels])
    noise = log_softmax(rng.normal(size=(n, classes)))
    return [good, noise], labels, rng.integers(1, 4, n).astype(float)


def test_weights_beside_a_general_solver():
    logs, labels, weights = predictions()

    def objective(a):
        total = log_softmax(a[0] * logs[0] + a[1] * logs[1])
        loss = -(weights @ total[np.arange(len(labels)), labels])
        return loss + 0.5 * STRENGTH * ((a - 0.5) ** 2).sum()

    best = optimize.minimize(objective, [0.5, 0.5], bounds=[(0, None)] * 2, tol=1e-12)
    found, loss = pool_weights(logs, labels, weights)
    assert found == pytest.approx(best.x, abs=1e-3)
    total = log_softmax(found[0] * logs[0] + found[1] * logs[1])
    own = total[np.arange(len(labels)), labels]
    assert loss == pytest.approx(-(weights @ own) / weights.sum())


def test_a_prediction_that_misleads_has_no_weight():
    logs, labels, weights = predictions()
    misleading = log_softmax(-3 * logs[0])
    found, _ = pool_weights([logs[0], misleading], labels, weights)
    assert found[1] == 0
    assert found[0] > 0.5


def test_impossible_classes_stay_finite():
    logs, labels, weights = predictions()
    logs[1] = np.where(np.eye(3)[labels] > 0, -np.inf, np.log(0.5))
    found, loss = pool_weights(logs, labels, weights)
    assert np.isfinite(found).all()
    assert np.isfinite(loss)
    assert LOWEST == -30
