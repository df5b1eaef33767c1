"""Several class columns at once, beside the product of region tables over all joint classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.errors import DataError, ParameterError
from error_checks import raises
from reference.markov_classifier_reference import Reference


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    x, y, z = rng.integers(0, 2, 300), rng.integers(0, 3, 300), rng.integers(0, 2, 300)
    a = np.where(rng.random(300) < 0.8, x, rng.integers(0, 2, 300))
    b = np.where(rng.random(300) < 0.7, (a + y) % 3, rng.integers(0, 3, 300))
    texts = {"a": np.array(["no", "yes"])[a], "b": np.array(["low", "mid", "top"])[b]}
    return pd.DataFrame({"x": x.astype(str), "y": y.astype(str), "z": z.astype(str), **texts})


def test_joint_probabilities_are_those_of_brute_force(frame: pd.DataFrame) -> None:
    learner = cp.MarkovClassifier(average=False, floor=False).fit(frame, ["a", "b"])
    codes = [pd.Categorical(frame[c]).codes.tolist() for c in ("x", "y", "z")]
    rows = list(zip(*codes, strict=True))
    a, b = (pd.Categorical(frame[c]).codes.astype(int) for c in ("a", "b"))
    reference = Reference(rows, (3 * a + b).tolist(), [1.0] * len(rows), [2, 3, 2], 6)
    edges = [tuple("xyz".index(name) for name in edge) for edge in learner.hyperedges_]
    assert edges
    proba = learner.predict_proba(frame)
    assert learner.classes_.tolist() == [
        (s, t) for s in ("no", "yes") for t in ("low", "mid", "top")
    ]
    for row in (0, 7, 123):
        np.testing.assert_allclose(proba[row], reference.predict(edges, rows[row]), rtol=1e-9)
    joint = proba.reshape(-1, 2, 3)
    marginals = learner.predict_marginals(frame)
    np.testing.assert_allclose(marginals["a"], joint.sum(axis=2))
    np.testing.assert_allclose(marginals["b"], joint.sum(axis=1))


def test_predictions_are_split_again(frame: pd.DataFrame) -> None:
    learner = cp.MarkovClassifier().fit(frame, ["a", "b"])
    predicted = learner.predict(frame)
    assert predicted.shape == (300, 2)
    assert set(predicted[:, 0]) <= {"no", "yes"}
    best = learner.classes_[learner.predict_proba(frame).argmax(axis=1)]
    assert [tuple(row) for row in predicted.tolist()] == best.tolist()
    right = (predicted == frame[["a", "b"]].to_numpy()).all(axis=1)
    assert learner.score(frame, ["a", "b"]) == pytest.approx(right.mean())
    assert right.mean() > 0.4  # by chance 1/6


def test_the_model_answers_for_each_class_and_for_both(frame: pd.DataFrame) -> None:
    learner = cp.MarkovClassifier().fit(frame, ["a", "b"])
    assert learner.model_.schema.names == ("x", "y", "z", "a", "b")
    assert learner.model_.record.data.targets == ("a", "b")
    row = frame.iloc[5]
    evidence = {name: row[name] for name in "xyz"}
    joint = learner.predict_proba(frame.iloc[[5]]).reshape(2, 3)
    answer = learner.model_.query("a", evidence)
    assert answer["yes"] == pytest.approx(joint[1].sum())
    given = learner.model_.query("a", evidence | {"b": "top"})
    assert given["yes"] == pytest.approx(joint[1, 2] / joint[:, 2].sum())


def test_one_joint_column_gives_the_same(frame: pd.DataFrame) -> None:
    learner = cp.MarkovClassifier().fit(frame, ("a", "b"))
    single = frame.drop(columns=["a", "b"]).assign(c=frame["a"] + ", " + frame["b"])
    other = cp.MarkovClassifier().fit(single, "c")
    np.testing.assert_allclose(learner.predict_proba(frame), other.predict_proba(single))
    assert learner.hyperedges_ == other.hyperedges_


def test_tables_with_weights_and_fits_of_one_class_after_several(frame: pd.DataFrame) -> None:
    table = cp.read(frame)
    learner = cp.MarkovClassifier().fit(table.distinct(), ["a", "b"])
    np.testing.assert_allclose(
        learner.predict_proba(frame),
        cp.MarkovClassifier().fit(frame, ["a", "b"]).predict_proba(frame),
    )
    again = learner.fit(frame, "a")
    assert again.classes_.tolist() == ["no", "yes"]
    assert again.predict(frame).shape == (300,)
    assert again.model_.schema.names[-1] == "a"


def test_names_that_are_no_columns_are_classes_and_bad_calls_are_refused(
    frame: pd.DataFrame,
) -> None:
    two = cp.MarkovClassifier(floor=False).fit([[0, 1], [1, 0]], ["dog", "cat"])
    assert two.classes_.tolist() == ["cat", "dog"]
    learner = cp.MarkovClassifier().fit(frame, ["a", "b"])
    with raises(ParameterError, parameter="y", value="a"):
        learner.score(frame, "a")
    with raises(DataError, about="'a'"):
        learner.fit(frame[["a", "b"]], ["a", "b"])
    assert learner.predict(frame).shape == (300, 2)  # a fit that fails changes nothing
