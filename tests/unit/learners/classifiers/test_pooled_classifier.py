"""The interaction classifier with boosted trees: what is pooled, and what works with the pool."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.additive.boosted_member import BoostedMember
from counterpane.errors import ParameterError
from counterpane.learners import StoppedEarly
from counterpane.learners.boosting.boosting_search import MANY_ROWS, BoostingSearch
from counterpane.learners.boosting.fold_boosting import FoldFits
from counterpane.learners.classifiers.folds import HeldOut
from counterpane.learners.classifiers.interactions import table_trial
from counterpane.learners.classifiers.interactions.pooled_search import Pool
from error_checks import raises


def crescents(rows=400, seed=0):
    """Two numbers that tell the class only together, a state, and a number that tells nothing."""
    rng = np.random.default_rng(seed)
    y, t = rng.integers(0, 2, rows), rng.random(rows) * np.pi
    frame = pd.DataFrame(
        {
            "a": np.where(y == 0, np.cos(t), 1 - np.cos(t)) + rng.normal(0, 0.15, rows),
            "b": np.where(y == 0, np.sin(t), 0.5 - np.sin(t)) + rng.normal(0, 0.15, rows),
            "s": rng.choice(["p", "q", "r"], rows),
            "idle": rng.normal(size=rows),
        }
    )
    frame.loc[::23, "idle"] = np.nan
    frame["y"] = np.where(y == 1, "in", "out")
    return frame


@pytest.fixture(scope="module")
def frame():
    return crescents()


@pytest.fixture(scope="module")
def fitted(frame):
    return cp.InteractionClassifier().fit(frame, "y")


def test_trees_are_pooled_where_held_out_rows_want_them(frame, fitted):
    alone = cp.InteractionClassifier(parts="tables").fit(frame, "y")
    assert alone.pool_ is None and alone.pool_note_ == ""
    assert fitted.pool_["trees"] > 0
    assert fitted.pool_["log_loss_tables"] == pytest.approx(alone.inner_log_loss_)
    assert fitted.inner_log_loss_ == fitted.pool_["log_loss"] < alone.inner_log_loss_ - 0.01
    fresh = crescents(2000, seed=1)
    losses = [
        -np.log([p[list(c.classes_).index(y)] for p, y in zip(proba, fresh["y"], strict=True)])
        for c, proba in ((c, c.predict_proba(fresh.drop(columns="y"))) for c in (fitted, alone))
    ]
    assert losses[0].mean() < losses[1].mean()


def test_the_weights_are_those_of_the_model(fitted):
    model = fitted.model_
    trees = np.array([isinstance(member, BoostedMember) for member in model.members])
    assert model.shares[trees].sum() == pytest.approx(fitted.pool_["trees"])
    assert model.shares[~trees].sum() == pytest.approx(fitted.pool_["tables"])
    assert "boosted trees" in repr(model)


def test_the_parts_of_interactions_add_up_to_the_prediction(frame, fitted):
    model = fitted.model_
    codes, numbers = model.encode(frame.drop(columns="y"))
    odds = model.contributions(codes, numbers).sum(axis=0)[:, 1]
    eta = sum(
        share * member.predictor(codes, numbers)
        for share, member in zip(model.shares, model.members, strict=True)
    )
    assert odds == pytest.approx(eta[:, 1] - eta[:, 0], abs=1e-6)


def test_a_sentence_tells_the_pool_everywhere(frame, fitted, tmp_path):
    note = fitted.pool_note_
    assert note == fitted.pool_["note"] == fitted.model_.record.pool.note
    assert f"{fitted.pool_['trees']:.2f} times those of boosted trees" in note
    assert note in fitted._repr_html_()
    cp.write_report(fitted.model_, frame, tmp_path / "r.html")
    assert note in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_files_queries_and_explanations_know_the_trees(frame, fitted, tmp_path):
    fitted.model_.save(tmp_path / "m.cp")
    model = cp.load(tmp_path / "m.cp")
    rows = frame.drop(columns="y").head(30)
    assert (model.predict_proba(rows) == fitted.predict_proba(rows)).all()
    assert model.record.pool.note == fitted.pool_["note"]
    assert model.query("y", {"a": 0.0, "b": 1.0})["out"] > 0.8
    records = model.explain(rows.iloc[0].to_dict())
    odds = sum(r["contributions"]["in"] for r in records)
    p = fitted.predict_proba(rows)[0]
    assert odds == pytest.approx(np.log(p[0] / p[1]), abs=1e-6)
    assert ["a", "b"] in [r["columns"] for r in records]


@pytest.mark.parametrize("step_stopped", [1, 3])
def test_a_checkpoint_within_the_trees_goes_on(frame, fitted, monkeypatch, tmp_path, step_stopped):
    calls, plain = [], BoostingSearch.step

    def step(self, state, ctl):
        calls.append(1)
        if len(calls) == step_stopped:
            raise KeyboardInterrupt
        return plain(self, state, ctl)

    monkeypatch.setattr(BoostingSearch, "step", step)
    path = tmp_path / "state.cp"
    with pytest.warns(StoppedEarly):
        some = cp.InteractionClassifier(checkpoint=path).fit(frame, "y")
    assert some.predict_proba(frame).shape == (400, 2)
    assert (some.pool_ is None) == (step_stopped == 1)
    if step_stopped == 1:
        assert "stopped" in some.pool_note_
    resumed = cp.InteractionClassifier(checkpoint=path).fit(frame, "y")
    assert (resumed.predict_proba(frame) == fitted.predict_proba(frame)).all()


def test_many_rows_choose_on_one_fold_and_stop_in_time(monkeypatch):
    frame = crescents(MANY_ROWS + 500)
    fitted = cp.InteractionClassifier(parts="trees").fit(frame, "y")
    assert fitted.trace_[-1]["trees"] == "all folds"
    calls, plain = [], BoostingSearch.step

    def step(self, state, ctl):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plain(self, state, ctl)

    monkeypatch.setattr(BoostingSearch, "step", step)
    with pytest.warns(StoppedEarly):
        some = cp.InteractionClassifier(parts="trees").fit(frame, "y")
    assert set(some.held_out_.folds.tolist()) == {0}  # the trees of one fold, no more
    assert some.inner_log_loss_ < 0.5


def test_no_trees_where_nothing_is_left_to_gain():
    table = cp.load_dataset("tictactoe")
    classifier = cp.InteractionClassifier().fit(table, table.schema.names[-1])
    assert classifier.pool_ is None
    assert "leave too little log-loss" in classifier.pool_note_


def test_noise_gets_the_shares_of_the_classes():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 2, 200)
    prior = np.bincount(y) / 200
    for classifier in (cp.InteractionClassifier(), cp.InteractionClassifier(parts="trees")):
        proba = classifier.fit(X, y).predict_proba(X)
        assert proba == pytest.approx(np.tile(prior, (200, 1)), abs=0.12)


def test_parts_are_chosen(frame):
    always = cp.InteractionClassifier(parts="both").fit(frame, "y")
    assert always.pool_["trees"] > 0
    trees = cp.InteractionClassifier(parts="trees").fit(frame, "y")
    assert trees.structure_ == "none"
    assert (trees.pool_["tables"], trees.pool_["note"]) == (0.0, "")
    assert [type(m) for m in trees.model_.members] == [BoostedMember]
    with raises(ParameterError, parameter="parts", value="yes"):
        cp.InteractionClassifier(parts="yes").fit(frame, "y")


@pytest.mark.parametrize("least", [0.05, 2.0])
def test_costly_tables_are_tried_first(frame, monkeypatch, tmp_path, least):
    many = crescents(1200)
    monkeypatch.setattr(table_trial, "COSTLY", 1)
    monkeypatch.setattr(table_trial, "TRIAL", 4000)
    monkeypatch.setattr(table_trial, "LEAST_WEIGHT", least)
    classifier = cp.InteractionClassifier().fit(many, "y")
    trial = classifier.trace_[0]
    assert trial["trial_rows"] == 1000
    if trial["weight_of_tables"] < least:
        assert classifier.structure_ == "none"
        assert (classifier.pool_["tables"], classifier.pool_["log_loss_tables"]) == (0.0, None)
        assert "a trial on 1,000 rows gave them the weight" in classifier.pool_note_
        assert [type(m) for m in classifier.model_.members] == [BoostedMember]
    else:
        assert classifier.structure_ == trial["structures"]
        assert f"only {classifier.structure_!r} was fitted" in classifier.pool_note_
        assert sum("structure" in r for r in classifier.trace_) == 1
    assert classifier.inner_log_loss_ < 0.2
    calls, plain = [], BoostingSearch.step

    def step(self, state, ctl):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(self, state, ctl)

    monkeypatch.setattr(BoostingSearch, "step", step)
    path = tmp_path / "state.cp"
    with pytest.warns(StoppedEarly):
        cp.InteractionClassifier(checkpoint=path).fit(many, "y")
    resumed = cp.InteractionClassifier(checkpoint=path).fit(many, "y")
    assert (resumed.predict_proba(many) == classifier.predict_proba(many)).all()
    assert resumed.pool_note_ == classifier.pool_note_


def test_stopped_before_the_first_trees_it_tells_the_shares(monkeypatch):
    many = crescents(1200)
    monkeypatch.setattr(table_trial, "COSTLY", 1)
    monkeypatch.setattr(table_trial, "MOST_TRIAL", 1)

    def step(self, state, ctl):
        raise KeyboardInterrupt

    monkeypatch.setattr(BoostingSearch, "step", step)
    with pytest.warns(StoppedEarly):
        classifier = cp.InteractionClassifier().fit(many, "y")
    assert classifier.structure_ == "none"
    share = (many["y"] == "in").mean()
    assert classifier.predict_proba(many)[:, 0] == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize(
    ("table_loss", "words"),
    [
        (0.60, "do not lower"),
        (0.6921, "too little"),
        (0.75, "not clearly better than class"),
    ],
)
def test_the_note_says_why_trees_were_left_out(table_loss, words):
    labels = np.array([0, 1] * 30)
    odds = np.log(np.where(np.arange(60) % 3 == 0, 0.40, 0.56))  # hardly better than a coin
    logs = np.log1p(-np.exp(odds))
    proba = np.where(labels[:, None] == np.arange(2), odds[:, None], logs[:, None])
    held = HeldOut(proba, labels, np.ones(60), np.zeros(60, dtype=np.int64))
    pool = Pool(0.5, 0.5, "small", FoldFits([], 3, 0.0), held, table_loss, 0.7, "")
    assert held.log_loss == pytest.approx(0.69198, abs=1e-5)
    assert not pool.pays
    assert words in pool.to_dict(used=False)["note"]


def test_a_pool_of_nothing_says_so():
    held = HeldOut(np.log(np.full((3, 2), 0.5)), np.array([0, 1, 0]), np.ones(3), np.zeros(3, int))
    pool = Pool(0.0, 0.0, "small", FoldFits([], 1, 0.0), held, 0.9, 0.9, "")
    assert "all classes the same probability" in pool.to_dict(used=True)["note"]


def test_no_shares_of_selection_where_trees_weigh_more():
    fitted = cp.InteractionClassifier(bootstrap=20).fit(crescents(300), "y")
    assert fitted.pool_["trees"] > fitted.pool_["tables"]
    assert not any("share" in record for record in fitted.interactions_)


@pytest.mark.parametrize("used", [True, False])
def test_the_note_of_few_rows_has_a_standard_error(used):
    def pool_of(rows):
        proba = np.resize([0.9, 0.6, 0.5], rows)
        log_proba = np.log(np.column_stack([proba, 1 - proba]))
        held_out = HeldOut(log_proba, np.zeros(rows, int), np.ones(rows), np.zeros(rows, int))
        fits = FoldFits([], 3, 0.0)
        return Pool(0.5, 0.5, "small", fits, held_out, 0.5, 0.6, ""), -np.log(proba)

    pool, losses = pool_of(12)
    error = losses.std(ddof=1) / np.sqrt(12)
    note = pool.to_dict(used=used)["note"]
    assert "With only 12 held-out rows" in note and note.endswith(f" about {error:.2g}.")
    assert "standard error" not in pool_of(100)[0].to_dict(used=used)["note"]


def test_a_table_of_few_rows_is_learned_with_a_caution():
    frame = crescents(rows=12)
    assert "With only 12 held-out rows" in cp.InteractionClassifier().fit(frame, "y").pool_note_
