"""`feature_importances_`, as scikit-learn defines them, and shares of variance that add up."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.errors import NotFittedError

LEARNERS = [
    cp.InteractionClassifier,
    partial(cp.InteractionClassifier, parts="trees"),
    cp.NaiveBayes,
    cp.TAN,
    cp.BayesNetClassifier,
]


def correlated(rows=3000, seed=0):
    """Two columns that say nearly the same with opposite signs, noise, and an identifier."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=rows)
    b = a + 0.3 * rng.normal(size=rows)
    frame = pd.DataFrame({"id": [f"row {i}" for i in range(rows)], "b": b, "noise": 0.0, "a": a})
    frame["noise"] = rng.normal(size=rows)
    eta = 4 * a - 2.5 * b
    return frame, np.where(rng.random(rows) < 1 / (1 + np.exp(-eta)), "yes", "no")


@pytest.mark.parametrize("learner", LEARNERS)
def test_importances_are_shares_in_the_order_of_the_training_columns(learner):
    X, y = correlated()
    fitted = learner(discretize="auto").fit(X, y)
    shares = dict(zip(fitted.feature_names_in_, fitted.feature_importances_, strict=True))
    assert list(shares) == ["id", "b", "noise", "a"]
    assert fitted.feature_importances_.shape == (fitted.n_features_in_,)
    assert min(shares.values()) >= 0
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["a"] == max(shares.values())
    assert shares["id"] == 0
    assert shares["noise"] < 0.1


@pytest.mark.parametrize("learner", LEARNERS)
def test_importances_need_a_fit_and_may_all_be_zero(learner):
    with pytest.raises(NotFittedError):
        learner().feature_importances_  # noqa: B018
    assert not hasattr(learner(), "feature_importances_")
    one = learner().fit(pd.DataFrame({"x": ["a", "b"] * 30}), ["no"] * 60)
    assert one.feature_importances_.tolist() == [0.0]


def test_the_share_of_naive_bayes_is_the_information_about_the_class():
    rng = np.random.default_rng(1)
    y = rng.choice(["n", "y"], 5000)
    far = np.where(rng.random(5000) < 0.9, y, "n")
    near = np.where(rng.random(5000) < 0.5, y, "n")
    fitted = cp.NaiveBayes(smoothing="even").fit({"far": far, "near": near}, y)
    told = []
    for column in (far, near):
        joint = np.array([[np.mean((column == c) & (y == k)) for k in "ny"] for c in "ny"])
        apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        told.append(np.sum(joint * np.log(np.maximum(joint, 1e-12) / apart)))
    assert fitted.feature_importances_ == pytest.approx(np.array(told) / sum(told), abs=0.01)


def test_shares_of_variance_are_not_negative_and_add_up():
    X, y = correlated()
    shares = [r["explained"] for r in cp.InteractionClassifier().fit(X, y).interactions_]
    assert min(shares) >= 0  # of the covariances with the sum, that of b is negative
    assert sum(shares) == pytest.approx(1)


def test_the_most_frequent_class_has_its_share_in_all_rows():
    """Of four equally frequent classes each is rarer in the fold where the others lead."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c", "d"], 75)
    measures = cp.evaluate.held_out_measures(
        cp.NaiveBayes(), {"x": rng.choice(["p", "q"], 300), "y": y}, "y"
    )
    assert measures.prior.accuracy == pytest.approx(0.25)
    assert measures.prior.log_loss >= np.log(4)
