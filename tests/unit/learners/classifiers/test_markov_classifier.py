"""MarkovClassifier: predictions, what it says of itself, interruptions, odd tables."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.errors import DataError, FitError, ParameterError
from counterpane.learners import StoppedEarly
from counterpane.learners.classifiers.faces.face_average import FaceAverage
from counterpane.learners.classifiers.faces.face_search import FaceSearch, FaceStructure
from counterpane.learners.classifiers.faces.face_tables import group_rows
from error_checks import raises, warns
from reference.markov_classifier_reference import Reference, interaction

NAMES = ("a", "b", "c", "d")


def make_frame(rows=200, seed=0):
    """Four columns of letters; a and c tell the class together, with noise."""
    rng = np.random.default_rng(seed)
    codes = {name: rng.integers(0, 2 + k % 2, rows) for k, name in enumerate(NAMES)}
    noise = (rng.random(rows) < 0.3) * rng.integers(0, 3, rows)
    labels = (codes["a"] * codes["c"] + noise) % 3
    frame = pd.DataFrame({name: np.array(list("xyz"))[codes[name]] for name in NAMES})
    return frame, np.array(["no", "so-so", "yes"])[labels]


def reference_of(frame, labels, **options):
    letters = {name: sorted(set(frame[name])) for name in NAMES}
    rows = [tuple(letters[n].index(v) for n, v in zip(NAMES, r, strict=True)) for r in frame.values]
    classes = sorted(set(labels))
    codes = [classes.index(label) for label in labels]
    cards = [len(letters[name]) for name in NAMES]
    return Reference(rows, codes, [1.0] * len(rows), cards, len(classes), **options), rows


def columns_of(structure):
    return [tuple(NAMES.index(name) for name in h) for h in structure["hyperedges"]]


def test_predictions_are_the_average_of_the_reference():
    frame, labels = make_frame()
    learner = cp.MarkovClassifier(outliers=0.7).fit(frame, labels)
    twin, rows = reference_of(frame, labels, outliers=0.7)
    assert len(learner.structures_) > 3
    expected = sum(
        s["posterior"] * np.array([twin.predict(columns_of(s), row) for row in rows])
        for s in learner.structures_
    )
    np.testing.assert_allclose(learner.predict_proba(frame), expected, atol=1e-12)
    assert sum(s["posterior"] for s in learner.structures_) == pytest.approx(1)
    for structure in learner.structures_:
        assert structure["df"] == twin.freedom(columns_of(structure))
        shares = [interaction(twin, h) for h in columns_of(structure)]
        assert structure["interactions"] == pytest.approx(shares, abs=1e-12)
        assert structure["step"] == len(structure["hyperedges"])


def test_what_is_averaged():
    frame, labels = make_frame()
    all_of_them = cp.MarkovClassifier().fit(frame, labels)
    accepted = cp.MarkovClassifier(average="accepted").fit(frame, labels)
    best = cp.MarkovClassifier(average=False).fit(frame, labels)
    assert len(best.structures_) == 1
    assert best.structures_[0]["posterior"] == 1
    assert 1 < len(accepted.structures_) < len(all_of_them.structures_)
    assert all(s["accepted"] for s in accepted.structures_)
    assert not all(s["accepted"] for s in all_of_them.structures_)
    for learner in (all_of_them, accepted, best):
        assert learner.hyperedges_ == best.hyperedges_ == learner.structures_[0]["hyperedges"]
        assert learner.log_posterior_ == learner.structures_[0]["log_posterior"]
    with raises(ParameterError, parameter="average", value="some"):
        cp.MarkovClassifier(average="some").fit(frame, labels)


@pytest.mark.filterwarnings("ignore::counterpane.data.encoding.UnknownCells")
def test_a_state_not_seen_leaves_the_model_of_the_other_columns():
    frame, labels = make_frame()
    learner = cp.MarkovClassifier().fit(frame, labels)
    twin, rows = reference_of(frame, labels)
    assert {"a", "c"} <= {name for h in learner.hyperedges_ for name in h}
    for column in ("a", "c", "d"):
        changed = frame.assign(**{column: "never seen"})
        blank = [
            tuple(9 if n == column else v for n, v in zip(NAMES, r, strict=True)) for r in rows
        ]
        expected = sum(
            s["posterior"] * np.array([twin.predict(columns_of(s), row) for row in blank])
            for s in learner.structures_
        )
        np.testing.assert_allclose(learner.predict_proba(changed), expected, atol=1e-12)
        missing = frame.assign(**{column: None})  # missing was not seen either
        np.testing.assert_array_equal(
            learner.predict_proba(changed), learner.predict_proba(missing)
        )


def test_the_model_says_the_same():
    frame, labels = make_frame()
    learner = cp.MarkovClassifier().fit(frame, labels)
    expected = learner.predict_proba(frame)
    model = learner.model_
    assert {type(m) for m in model.models} == {cp.MarkovNetwork}
    rows = model.query_many("class", frame).probabilities
    np.testing.assert_allclose(rows, expected, atol=1e-12)
    one = model.query("class", frame.iloc[7].to_dict()).probabilities
    np.testing.assert_allclose(one, expected[7], atol=1e-12)
    conditionals = np.exp(model.full_conditionals(frame.assign(**{"class": labels}), ["class"]))
    np.testing.assert_allclose(conditionals, expected, atol=1e-12)
    assert set(learner.graph_.nodes) == {*NAMES, "class"}
    assert all(learner.graph_.has_edge(name, "class") for h in learner.hyperedges_ for name in h)
    assert model.record.learner.text == "MarkovClassifier()"


def test_small_probabilities_are_not_lost():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 200)
    X = np.where(rng.random((400, 150)) < 0.001, 1 - labels[:, None], labels[:, None])
    cards = np.full(150, 2)
    rows = group_rows(X.T, cards, labels, 2, None)
    path = tuple((c,) for c in range(150))
    structures = [
        FaceStructure(path, 150, 0.0, 151),
        FaceStructure((*path, (0, 1)), 150, -1.0, 152),
    ]
    all_columns = FaceAverage(rows, cards, 2, 1.0, structures, np.array([0.7, 0.3]))
    found = all_columns.log_proba(np.zeros((150, 1), dtype=np.uint8))
    assert found[0, 1] < -750
    expected = all_columns.values(np.zeros((150, 1), dtype=np.uint8))
    odds = expected[:-1].sum(axis=0)
    first = odds[1] - odds[0]
    second = first + expected[-1, 1] - expected[-1, 0]
    assert found[0, 1] == pytest.approx(np.logaddexp(np.log(0.7) + first, np.log(0.3) + second))


def test_explanations_add_up_to_the_log_odds():
    frame, labels = make_frame()
    for average in (True, False):
        learner = cp.MarkovClassifier(average=average).fit(frame, labels)
        log_proba = learner.predict_log_proba(frame.iloc[[5]])[0]
        row = frame.iloc[5].to_dict()
        for given in (row, frame.iloc[5], frame.iloc[[5]], list(row.values())):
            records = learner.explain(given)
            total = {c: sum(r["contributions"][c] for r in records) for c in learner.classes_}
            assert total["yes"] - total["no"] == pytest.approx(log_proba[2] - log_proba[0])
            assert sum(total.values()) == pytest.approx(0, abs=1e-9)
            sizes = [r["size"] for r in records]
            assert sizes == sorted(sizes, reverse=True)
        assert None not in [r["face"] for r in records]
        record = next(r for r in records if r["face"] == ("a", "c"))
        assert record["states"] == (row["a"], row["c"])
        assert 0 < record["share"] <= 1
        assert next(r for r in records if r["face"] == ())["share"] == 1
    with raises(DataError, about="200 rows"):
        learner.explain(frame)


@pytest.mark.filterwarnings("ignore::counterpane.data.encoding.UnknownCells")
def test_an_explanation_leaves_out_what_is_not_known():
    frame, labels = make_frame()
    learner = cp.MarkovClassifier().fit(frame, labels)
    records = learner.explain(frame.iloc[0].to_dict() | {"a": "never seen"})
    silent = [r for r in records if r["face"] and "a" in r["face"]]
    assert silent
    assert {r["size"] for r in silent} == {0.0}


def test_a_time_limit_keeps_the_best_so_far(monkeypatch):
    frame, labels = make_frame()
    with warns(StoppedEarly, about="searching"):
        learner = cp.MarkovClassifier(time_limit=1e-9).fit(frame, labels)
    assert learner.hyperedges_ == []
    shares = np.unique(labels, return_counts=True)[1]
    expected = (shares + 1 / 3) / (len(labels) + 1)
    np.testing.assert_allclose(learner.predict_proba(frame)[0], expected)


def test_a_checkpoint_leads_to_the_same_result(tmp_path, monkeypatch):
    frame, labels = make_frame()
    whole = cp.MarkovClassifier().fit(frame, labels)
    path, original = tmp_path / "climb.cp", FaceSearch.step
    for steps in (1, 4, 7):
        made = 0

        def step(self, state, ctl, steps=steps):
            nonlocal made
            made += 1
            if made > steps:
                raise KeyboardInterrupt
            return original(self, state, ctl)

        with monkeypatch.context() as patch:
            patch.setattr(FaceSearch, "step", step)
            with warns(StoppedEarly, about="Ctrl-C"):
                cp.MarkovClassifier(checkpoint=path).fit(frame, labels)
        assert path.exists()
        again = cp.MarkovClassifier(checkpoint=path).fit(frame, labels)
        assert not path.exists()
        np.testing.assert_array_equal(again.predict_proba(frame), whole.predict_proba(frame))
        assert again.structures_ == whole.structures_
        for a, b in zip(again.trace_, whole.trace_, strict=True):
            assert {**a, "seconds": 0} == {**b, "seconds": 0}
    with pytest.warns(StoppedEarly):
        cp.MarkovClassifier(checkpoint=path, time_limit=1e-9).fit(frame, labels)
    with raises(FitError, about="climb.cp"):
        cp.MarkovClassifier(checkpoint=path).fit(frame.iloc[1:], labels[1:])


def test_progress_is_told():
    frame, labels = make_frame()
    told = []
    learner = cp.MarkovClassifier(progress=lambda *what: told.append(what)).fit(frame, labels)
    steps = sum("hyperedge" in r for r in learner.trace_)
    assert told[-1] == ("searching", steps, None)


def test_a_fit_forgets_the_one_before():
    frame, labels = make_frame()
    learner = cp.MarkovClassifier().fit(frame, labels)
    before = learner.model_, learner.structures_, learner.graph_
    learner.fit(frame[["a", "b"]], labels)
    assert learner.model_ is not before[0]
    assert learner.structures_ != before[1]
    assert set(learner.graph_.nodes) == {"a", "b", "class"}


def test_pickles_and_files(tmp_path):
    frame, labels = make_frame()
    learner = cp.MarkovClassifier().fit(frame, labels)
    expected = learner.predict_proba(frame)
    twin = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(twin.predict_proba(frame), expected)
    learner.model_.save(tmp_path / "model.cp")
    model = cp.load(tmp_path / "model.cp")
    assert model.fixed
    rows = model.query_many("class", frame).probabilities
    np.testing.assert_allclose(rows, expected, atol=1e-12)


def test_the_posterior_of_the_floor_is_that_of_the_class_alone():
    """The search went on and was discarded; it must leave no trace in the posterior."""
    rng = np.random.default_rng(0)
    noise = {name: rng.integers(0, 3, 300).astype(str) for name in ("a", "b")}
    noise["y"] = rng.choice(["no", "yes"], 300)
    learner, alone = (
        cp.MarkovClassifier(max_order=order).fit(noise, "y") for order in (4, 1)
    )  # fmt: skip
    assert cp.MarkovClassifier(floor=False).fit(noise, "y").hyperedges_
    assert learner.hyperedges_ == []
    assert learner.log_posterior_ == alone.log_posterior_
