"""Held-out measures of classifiers: values, errors, calibration, and the baselines beside them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

import counterpane as cp
from counterpane.errors import ParameterError, UnknownNameError
from counterpane.evaluate.baselines import BASELINES, Baseline
from counterpane.evaluate.measures import ClassMeasures
from counterpane.models.record import ClassFigures
from counterpane.models.typed_values import plain, typed
from error_checks import raises

TITANIC = cp.load_dataset("titanic")


def drawn(n_classes: int, n: int = 800, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities, and classes that are drawn from them."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), n)
    return proba, np.array([rng.choice(n_classes, p=p) for p in proba])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_measures_are_those_of_scikit_learn(n_classes) -> None:
    proba, labels = drawn(n_classes)
    found = ClassMeasures(np.log(proba), labels, np.ones(len(labels)))
    theirs = proba[:, 1] if n_classes == 2 else proba
    assert found.auc.value == pytest.approx(roc_auc_score(labels, theirs, multi_class="ovr"))
    assert found.log_loss.value == pytest.approx(log_loss(labels, proba))
    assert found.accuracy.value == pytest.approx((proba.argmax(axis=1) == labels).mean())


def test_auc_counts_ties_half() -> None:
    logs = np.log([[0.5, 0.5], [0.5, 0.5], [0.9, 0.1], [0.5, 0.5]])
    measures = ClassMeasures(logs, np.array([0, 1, 0, 1]), np.ones(4))
    assert measures.auc.value == pytest.approx(0.75)  # two of four pairs are ties


@pytest.mark.parametrize("name", ["log_loss", "auc", "accuracy"])
def test_errors_are_those_of_resampling(name) -> None:
    proba, labels = drawn(3, 400)
    other = drawn(3, 400, seed=7)[0] * 0.2 + proba * 0.8
    rng = np.random.default_rng(1)
    values, differences = [], []
    for _ in range(400):
        rows = rng.integers(0, 400, 400)
        a, b = (
            getattr(ClassMeasures(np.log(p[rows]), labels[rows], np.ones(400)), name).value
            for p in (proba, other)
        )
        values.append(a)
        differences.append(a - b)
    one, two = (ClassMeasures(np.log(p), labels, np.ones(400)) for p in (proba, other))
    assert one.error(getattr(one, name)) == pytest.approx(np.std(values), rel=0.15)
    paired = one.error(getattr(one, name), getattr(two, name))
    assert paired == pytest.approx(np.std(differences), rel=0.15)


def test_weights_are_copies_and_folds_are_not_mixed() -> None:
    proba, labels = drawn(2, 60)
    weights = np.arange(60) % 3 + 1.0
    copies = np.repeat(np.arange(60), weights.astype(int))
    one = ClassMeasures(np.log(proba), labels, weights)
    many = ClassMeasures(np.log(proba[copies]), labels[copies], np.ones(len(copies)))
    for name in ("log_loss", "auc", "accuracy"):
        a, b = getattr(one, name), getattr(many, name)
        assert a.value == pytest.approx(b.value)
        assert one.error(a) == pytest.approx(many.error(b))
    assert one.calibration_error == pytest.approx(many.calibration_error)
    shares = np.tile(np.log([[0.6, 0.4]]), (60, 1))
    shares[::2] = np.log([[0.61, 0.39]])  # two folds, each says one thing of all its rows
    found = ClassMeasures(shares, labels, np.ones(60), np.arange(60) % 2)
    assert found.auc.value == 0.5


def test_calibration_tells_right_from_too_bold() -> None:
    proba, labels = drawn(2, 4000)
    right = ClassMeasures(np.log(proba), labels, np.ones(4000))
    assert right.calibration_error < 2 * right.calibration_chance
    for each in right.calibration:
        assert abs(each.predicted - each.observed) < 4 * each.error
    assert sum(each.rows for each in right.calibration) == 4000
    bold = proba**3 / (proba**3).sum(axis=1, keepdims=True)
    wrong = ClassMeasures(np.log(bold), labels, np.ones(4000))
    assert wrong.calibration_error > 4 * wrong.calibration_chance


def test_the_prior_stands_beside() -> None:
    labels = np.array([0, 0, 0, 1])
    figures = ClassMeasures(np.log(np.full((4, 2), 0.5)), labels, np.ones(4)).figures("")
    found = plain(figures)
    assert found["prior"]["accuracy"] == 0.75
    assert found["prior"]["log_loss"] == pytest.approx(-np.log(0.7) * 0.75 - np.log(0.3) * 0.25)
    folds = ClassMeasures(np.log(np.full((4, 2), 0.5)), labels, np.ones(4), np.array([0, 0, 1, 1]))
    of_others = np.log([1.5 / 3, 1.5 / 3, 2.5 / 3, 0.5 / 3])  # the only 1 is in the second fold
    assert folds.prior.log_loss == pytest.approx(-of_others.mean())
    assert found["auc"]["value"] == 0.5
    assert typed(ClassFigures, json.loads(json.dumps(found))) == figures


def test_held_out_rows_are_not_learned_from() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": [f"s{i}" for i in range(300)], "x": rng.normal(size=300)})
    frame["y"] = np.where(rng.random(300) < 0.5, "n", "p")
    for learner in (cp.NaiveBayes(), cp.InteractionClassifier().fit(frame, "y")):
        found = cp.evaluate.held_out_measures(learner, frame, "y")
        assert found.log_loss.value > 0.68
        assert found.weights.sum() == 300
    assert not hasattr(cp.NaiveBayes(), "model_")


def test_inner_folds_say_what_a_test_half_says() -> None:
    table = cp.load_dataset("breast_cancer")
    target = table.schema.names[-1]
    rows = np.random.default_rng(0).permutation(table.n_rows)
    train, test = table.take(rows[:285]), table.take(rows[285:])
    learner = cp.InteractionClassifier().fit(train, target)
    inner = ClassMeasures(*learner.held_out_)
    logs = learner.predict_log_proba(test)
    labels = test.codes[-1].astype(np.int64)
    fresh = ClassMeasures(logs, labels, np.ones(len(labels)))
    assert inner.log_loss.value == pytest.approx(learner.inner_log_loss_)
    error = np.hypot(inner.error(inner.log_loss), fresh.error(fresh.log_loss))
    assert abs(inner.log_loss.value - fresh.log_loss.value) < 3 * error


def test_baselines_get_the_numbers_as_they_are() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(5, 3, 500)
    x[::50] = np.nan
    frame = pd.DataFrame({"x": x, "z": rng.choice(["a", "b"], 500)})
    odds = np.nan_to_num(x, nan=5) - 5 + (frame["z"] == "a")
    frame["y"] = np.where(rng.random(500) < 1 / (1 + np.exp(-odds)), "p", "n")
    found = cp.evaluate.compare([cp.NaiveBayes()], frame, "y", baselines=True)
    losses = {r["method"]: r["log_loss"] for r in found.records}
    assert next(iter(losses)) == "logistic-regression"  # the truth is of its form
    assert losses["class-shares"] == pytest.approx(0.69, abs=0.02)
    assert {*BASELINES, "NaiveBayes"} == set(losses)
    first, second = found.records[0], found.records[1]
    assert first["log_loss_behind"] == 0
    assert second["log_loss_behind"] == pytest.approx(second["log_loss"] - first["log_loss"])
    assert 0 < second["log_loss_behind_error"] < second["log_loss_error"]
    assert all(r["edges"] is None for r in found.records if r["method"] in BASELINES)
    shares = next(r for r in found.records if r["method"] == "class-shares")
    assert shares["auc"] == 0.5


def test_the_logistic_baseline_is_scikit_learns() -> None:
    columns = TITANIC.labels()
    ours = Baseline("logistic-regression").fit(columns, "survived").predict_log_proba(columns)
    matrix = np.hstack([c.codes[:, None] == np.arange(len(c.states)) for c in columns[:3]])
    theirs = LogisticRegression(max_iter=1000).fit(matrix, columns[3].codes)
    expected = (2201 * theirs.predict_proba(matrix) + 0.5) / 2202
    assert np.exp(ours) == pytest.approx(expected, abs=1e-4)


def test_mistakes() -> None:
    with raises(UnknownNameError, parameter="baseline", value="random-forrest"):
        cp.evaluate.compare([cp.NaiveBayes()], TITANIC, "survived", baselines=["random-forrest"])
    with raises(ParameterError, about="baselines"):
        cp.evaluate.compare([cp.ChowLiu()], TITANIC, baselines=True)


def test_bins_of_calibration_have_equal_numbers_of_rows() -> None:
    """Ten bins by rank, each with its mean prediction and its share of the second class."""
    rng = np.random.default_rng(3)
    predicted = np.sort(rng.uniform(size=200))
    codes = (rng.uniform(size=200) < predicted).astype(np.int64)
    order = rng.permutation(200)
    logs = np.log(np.stack([1 - predicted, predicted], axis=1))
    bins = ClassMeasures(logs[order], codes[order], np.ones(200)).calibration
    assert [b.rows for b in bins] == [20.0] * 10
    for k, each in enumerate(bins):
        rows = slice(20 * k, 20 * k + 20)
        assert each.predicted == pytest.approx(predicted[rows].mean())
        assert each.observed == pytest.approx(codes[rows].mean())
