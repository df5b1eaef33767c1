"""Cuts from boosted trees: true ones are found, noise has none, and the better cuts are chosen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.data.columns import columns_of
from counterpane.errors import ParameterError
from counterpane.learn.classifiers.training_data import class_labels, make_training
from counterpane.learn.classifiers.tree_cuts import TreeCuts, merge_losses

ROWS = 1500


def checkerboard(seed, squares=2, rows=ROWS):
    """The class is the color of a board's square; two more columns are noise."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.random((rows, 4)), columns=list("abcd"))
    color = (np.floor(frame["a"] * squares) + np.floor(frame["b"] * squares)) % 2
    flipped = rng.random(rows) < 0.1
    frame["class"] = np.where((color == 1) ^ flipped, "black", "white")
    return frame


def log_loss(learner, frame):
    proba = learner.predict_proba(frame.drop(columns="class"))
    codes = np.searchsorted(learner.classes_.astype(str), frame["class"])
    return -np.log(proba[np.arange(len(frame)), codes]).mean()


@pytest.fixture(scope="module")
def training():
    frame = checkerboard(0, squares=4, rows=4000)
    target = class_labels(columns_of(frame[["class"]])[0])
    options = {"categorical": None, "max_states": 10, "max_bins": None, "missing": "auto"}
    return make_training(columns_of(frame.drop(columns="class")), target, None, **options)


def test_true_cuts_are_found_and_noise_has_none(training):
    cuts = TreeCuts(training).above(0.01)
    assert sorted(cuts) == ["a", "b"]
    for name in "ab":
        assert cuts[name] == pytest.approx([0.25, 0.5, 0.75], abs=0.02)
    assert all(variable.cuts == () for variable in training.table.schema)  # MDL finds none


def test_fewer_cuts_are_the_largest_ones(training):
    trees = TreeCuts(training)
    many, few = trees.above(0.0003), trees.above(0.01, most=2)
    assert all(len(cuts) == 2 for cuts in few.values())
    assert all(set(cuts) <= set(many[name]) for name, cuts in few.items())
    assert max(map(len, many.values())) <= 15


def test_merges_lose_variance_as_ward_says():
    rng = np.random.default_rng(1)
    profile, weights = rng.normal(size=(7, 3)), rng.dirichlet(np.ones(7))
    losses = merge_losses(profile, weights)
    last = int(np.argmax(losses))
    sides = slice(0, last + 1), slice(last + 1, None)
    means = [np.average(profile[s], axis=0, weights=weights[s]) for s in sides]
    masses = [weights[s].sum() for s in sides]
    between = masses[0] * masses[1] * ((means[0] - means[1]) ** 2).sum()
    assert losses[last] >= between - 1e-12  # at least that of its own merge
    assert losses.min() == pytest.approx(
        min(
            weights[k] * weights[k + 1] / (weights[k] + weights[k + 1])
            * ((profile[k] - profile[k + 1]) ** 2).sum()
            for k in range(6)
        )
    )  # fmt: skip


@pytest.mark.parametrize("learner", [cp.TAN, cp.BayesNetClassifier, cp.MarkovClassifier])
def test_columns_that_matter_together_are_cut(learner):
    train, test = checkerboard(0), checkerboard(1)
    plain = learner().fit(train, "class")
    cut = learner(discretize="trees").fit(train, "class")
    assert log_loss(plain, test) > 0.68  # MDL has no cut: ln 2 is .693
    assert log_loss(cut, test) < 0.40  # a tenth of the classes is flipped: .325 is the entropy
    assert "boosted trees split them" in cut.notes_[-1]
    assert cut.model_.provenance["cuts"] == cut.notes_[-1]
    assert {v.name for v in cut.schema_ if v.cuts} == {"a", "b"}


def test_cuts_that_do_not_help_are_not_taken():
    frame = checkerboard(0)
    learner = cp.NaiveBayes(discretize="trees").fit(frame, "class")  # cannot use pairs at all
    plain = cp.NaiveBayes().fit(frame, "class")
    assert learner.cut_choice_.cuts is None
    assert "by minimum description length" in learner.cut_choice_.sentence
    assert (
        learner.predict_proba(frame.iloc[:, :4]) == plain.predict_proba(frame.iloc[:, :4])
    ).all()


def test_the_choice_ignores_the_order_of_rows_and_columns():
    frame = checkerboard(3)
    turned = frame.sample(frac=1, random_state=0)[["d", "b", "class", "c", "a"]]
    one, two = (cp.TAN(discretize="trees").fit(f, "class").cut_choice_ for f in (frame, turned))
    assert one.log_loss == pytest.approx(two.log_loss)
    assert {n: c.tolist() for n, c in one.cuts.items()} == {
        n: c.tolist() for n, c in two.cuts.items()
    }


def test_a_file_keeps_the_cuts(tmp_path):
    frame = checkerboard(0)
    learner = cp.TAN(discretize="trees", max_bins=3).fit(frame, "class")
    assert all(len(v.cuts) <= 2 for v in learner.schema_)
    learner.model_.save(tmp_path / "m.cp")
    model = cp.load(tmp_path / "m.cp")
    assert [v.cuts for v in model.schema] == [v.cuts for v in learner.model_.schema]
    rows = frame.drop(columns="class").head(20)
    assert model.class_probabilities(rows, "class") == pytest.approx(learner.predict_proba(rows))


def test_gaps_weights_states_and_few_rows():
    frame = checkerboard(0).head(400)
    frame.loc[::7, "a"] = np.nan
    frame["e"] = np.where(frame["b"] > 0.5, "x", "y")
    weights = np.where(np.arange(400) % 5, 1.0, 2.0)
    learner = cp.TAN(discretize="trees").fit(
        frame.drop(columns="class"), frame["class"], sample_weight=weights
    )
    assert learner.schema_["a"].states[-1] is None
    tiny = cp.NaiveBayes(discretize="trees").fit(frame.head(10), "class")
    assert "too few rows" in tiny.cut_choice_.sentence
    states = cp.NaiveBayes(discretize="trees").fit(frame[["e", "class"]], "class")
    assert "no numbers to cut" in states.cut_choice_.sentence


def test_who_does_not_take_trees_says_so():
    frame = checkerboard(0).head(50)
    with pytest.raises(ParameterError, match="InteractionClassifier finds its intervals itself"):
        cp.InteractionClassifier(discretize="trees").fit(frame, "class")
    with pytest.raises(ParameterError, match="'mdl', 'quantile'"):
        cp.ChowLiu(discretize="trees").fit(frame)


def test_a_time_limit_falls_back(monkeypatch):
    with pytest.warns(cp.StoppedEarly):
        learner = cp.TAN(discretize="trees", time_limit=1e-6).fit(checkerboard(0), "class")
    assert learner.cut_choice_.cuts is None
