"""The interaction classifier as a whole: what it finds, chooses, averages, explains and keeps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.additive.classifier import AdditiveClassifier
from counterpane.learners import StoppedEarly
from counterpane.learners.classifiers.interactions.canonical_rows import sort_distinct
from counterpane.learners.classifiers.interactions.interaction_search import (
    TURNED,
    InteractionSearch,
)
from counterpane.progress import Control
from error_checks import warns

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def make_frame(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.choice(["x", "y"], rows),
            "b": rng.choice(["x", "y"], rows),
            "c": rng.choice(["p", "q", "r"], rows),
            "n": rng.normal(size=rows),
            "m": rng.normal(size=rows),
        }
    )
    frame.loc[rng.random(rows) < 0.1, "m"] = np.nan
    signal = 3.0 * (frame["a"] == frame["b"]) + 2 * frame["n"] + (frame["c"] == "p") - 2
    chance = rng.random(rows)
    frame["y"] = np.where(chance < 1 / (1 + np.exp(-signal)), "yes", "no")
    return frame


@pytest.fixture(scope="module")
def frame():
    return make_frame()


@pytest.fixture(scope="module")
def fitted(frame):
    return cp.InteractionClassifier(bootstrap="auto").fit(frame, "y")


def log_loss(classifier, frame, target="y"):
    log_proba = classifier.predict_log_proba(frame)
    places = {c: i for i, c in enumerate(classifier.classes_)}
    return -np.mean([log_proba[i, places[c]] for i, c in enumerate(frame[target])])


def test_tic_tac_toe_is_its_eight_lines():
    table = cp.load_dataset("tictactoe")
    target = table.schema.names[-1]
    found = cp.InteractionClassifier(bootstrap="auto").fit(table, target)
    names = table.schema.names
    lines = {tuple(names[c] for c in line) for line in LINES}
    # Of all triples the eight lines have the largest effects, and half of the rows shows them.
    triples = [r for r in found.interactions_ if r["order"] == 3]
    assert {tuple(r["columns"]) for r in triples[:8]} == lines
    assert {tuple(r["columns"]) for r in triples if r["share"] > 0.9} == lines
    assert found.structure_ == "leave-one-out"
    assert found.inner_log_loss_ < 0.01


def test_permuted_labels_are_no_better_than_the_classes_shares():
    table = cp.load_dataset("tictactoe")
    codes = pd.DataFrame(table.codes[:-1].T).astype(str)
    rng = np.random.default_rng(0)
    y = rng.permutation(table.codes[-1])
    half = len(y) // 2
    found = cp.InteractionClassifier().fit(codes[:half], y[:half])
    log_proba = found.predict_log_proba(codes[half:])
    loss = -log_proba[np.arange(len(y) - half), y[half:]].mean()
    share = y[:half].mean()
    prior = -np.where(y[half:], np.log(share), np.log(1 - share)).mean()
    assert loss > prior - 0.005
    assert found.inner_log_loss_ > prior - 0.02


def test_it_finds_the_interaction_and_predicts(frame, fitted):
    pairs = [r for r in fitted.interactions_ if r["order"] == 2]
    assert pairs[0]["columns"] == ["a", "b"]
    assert pairs[0]["share"] > 0.9
    assert pairs[0]["samples"] == 20
    singles = {tuple(r["columns"]) for r in fitted.interactions_ if r["order"] == 1}
    assert singles == {(c,) for c in "abcnm"}
    sizes = [r["effect"] for r in fitted.interactions_]
    assert sizes == sorted(sizes, reverse=True)
    assert fitted.interactions_[-1]["effect"] < sizes[0] / 3
    fresh = make_frame(2000, seed=1)
    main = cp.InteractionClassifier().fit(frame.drop(columns=["b"]), "y")
    assert log_loss(fitted, fresh) < log_loss(main, fresh) - 0.05
    assert fitted.inner_log_loss_ == pytest.approx(log_loss(fitted, fresh), abs=0.06)


def test_the_trace_tells_what_was_tried(fitted):
    structures, trees = fitted.trace_[:4], fitted.trace_[4:]
    names = ["score", "leave-one-out", "tables", "numbers"]
    assert [r["structure"] for r in structures] == names
    best = min(structures, key=lambda r: r["inner_log_loss"])
    assert (best["structure"], best["penalty"]) == (fitted.structure_, fitted.penalty_)
    assert best["inner_log_loss"] == fitted.pool_["log_loss_tables"]
    assert [r["trees"] for r in trees] == ["small", "large", "four", "few sets"]


def test_an_explanation_sums_to_the_log_odds(frame, fitted):
    for i in (0, 7):
        row = frame.drop(columns="y").iloc[[i]]
        records = fitted.explain(row)
        total = {c: sum(r["contributions"][c] for r in records) for c in ("yes", "no")}
        log_proba = fitted.predict_log_proba(row)[0]
        assert total["yes"] == pytest.approx(log_proba[1] - log_proba[0], abs=1e-9)
        assert total["no"] == pytest.approx(-total["yes"], abs=1e-9)
        assert records[0]["size"] == max(r["size"] for r in records)
    same = fitted.explain(frame.drop(columns="y").iloc[7].to_dict())
    assert same == records
    states = next(r for r in records if r["face"] == ("a", "b"))["states"]
    assert states == (frame["a"][7], frame["b"][7])


def test_results_depend_on_neither_threads_nor_order(frame, fitted):
    expected = fitted.predict_log_proba(frame)
    threads = cp.InteractionClassifier(bootstrap="auto", n_jobs=2).fit(frame, "y")
    assert (threads.predict_log_proba(frame) == expected).all()
    assert threads.interactions_ == fitted.interactions_
    turned = frame.sample(frac=1, random_state=3)
    assert np.allclose(
        cp.InteractionClassifier().fit(turned, "y").predict_log_proba(frame), expected, atol=1e-12
    )
    other = cp.InteractionClassifier(random_state=1).fit(frame, "y")
    assert (other.predict_log_proba(frame) != expected).any()


def test_the_model_is_saved_and_predicts_the_same(frame, fitted, tmp_path):
    fitted.model_.save(tmp_path / "m.cp")
    again = cp.load(tmp_path / "m.cp")
    assert isinstance(again, AdditiveClassifier)
    assert (np.log(again.predict_proba(frame)) == np.log(fitted.predict_proba(frame))).all()
    assert again.record.data.target == "y"
    assert again.record.data.rows == 300


@pytest.mark.parametrize("done", [0, 1])
def test_a_time_limit_returns_what_there_is(frame, monkeypatch, done):
    plain = InteractionSearch.step

    def step(self, state, ctl):
        if state.done == done:
            ctl.cancel()
        return plain(self, state, ctl)

    monkeypatch.setattr(InteractionSearch, "step", step)
    with warns(StoppedEarly, about="interactions"):
        some = cp.InteractionClassifier().fit(frame, "y")
    assert len(some.trace_) == done
    assert some.structure_ == ("score" if done else "singles")
    assert len(some.model_.members) == (5 if done else 1)
    assert np.isnan(some.inner_log_loss_) == (not done)
    assert log_loss(some, frame) < 0.69


def test_a_checkpoint_goes_on_to_the_same_result(frame, fitted, monkeypatch, tmp_path):
    calls = []
    plain = InteractionSearch.step

    def step(self, state, ctl):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plain(self, state, ctl)

    monkeypatch.setattr(InteractionSearch, "step", step)
    path = tmp_path / "state.cp"
    with pytest.warns(StoppedEarly):
        cp.InteractionClassifier(checkpoint=path).fit(frame, "y")
    resumed = cp.InteractionClassifier(checkpoint=path).fit(frame, "y")
    assert len(resumed.trace_) == len(fitted.trace_)
    assert (resumed.predict_log_proba(frame) == fitted.predict_log_proba(frame)).all()


def test_progress_counts_structures(frame):
    seen = []
    report = lambda *told: seen.append(told)  # noqa: E731
    cp.InteractionClassifier(bootstrap=21, progress=report).fit(frame, "y")
    steps = [1, 2, 3, 4, 5, 6, 8, 9]  # trees on all rows, the eighth, are skipped
    assert [told[1:] for told in seen[:8]] == [(float(k), 9.0) for k in steps]
    assert [told[1:] for told in seen[8:]] == [(k, 21.0) for k in [*range(2, 21, 2), 21]]


def test_a_picture_shows_the_faces(fitted):
    pytest.importorskip("matplotlib").use("Agg")
    ax = fitted.plot()
    texts = " ".join(t.get_text() for t in ax.texts)
    assert all(name in texts for name in "abcnm")


# ---- inside --------------------------------------------------------------------------------------


def make_search(frame, seed=0, n_jobs=1):
    X = frame.drop(columns="y")
    codes = np.array([pd.factorize(X[c], sort=True)[0] if c in "abc" else X[c] * 0 for c in X])
    cards = np.array([2, 2, 3, 1, 1])
    labels = (frame["y"] == "yes").to_numpy().astype(np.int64)
    numbers = X[["n", "m"]].to_numpy().T
    codes = np.nan_to_num(codes).astype(np.uint16)
    rows, weights = sort_distinct(codes, cards, np.array([3, 4]), numbers, labels, 2, None)
    return InteractionSearch(rows, weights, np.random.default_rng(seed), n_jobs=n_jobs)


def run(search):
    state, ctl = search.start(), Control()
    while not search.done(state):
        state, _ = search.step(state, ctl)
    return state


def test_a_path_ends_where_it_has_turned_and_the_rest_falls_on():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (12, 120)).astype(np.uint16)
    labels = ((codes[0] > 1) ^ (rng.random(120) < 0.2)).astype(np.int64)
    none = np.empty((0, 120))
    rows, weights = sort_distinct(codes, np.full(12, 4), np.empty(0, int), none, labels, 2, None)
    search = InteractionSearch(rows, weights, rng)
    run(search)
    turned = 0
    for path in search._paths.values():
        drops = path.scores.max() - path.scores
        past = np.flatnonzero(drops > TURNED)
        past = past[past > drops.argmin()]
        if len(past):
            turned += 1
            assert np.allclose(np.diff(path.scores[past[0] :]), -drops[past[0]])
    assert turned > 3


def test_fits_let_go_are_made_again_alike(frame):
    search = make_search(frame)
    choice = search.choose(run(search))
    kept = search._paths[choice.structure, 2].at(choice.strength)
    again = search._folds[2].fit(kept.structure, choice.strength)
    assert (kept.ridge.w == again.ridge.w).all()
    others = [p for (name, _), p in search._paths.items() if name != choice.structure]
    assert any(not p._fits for p in others)


def test_structures_are_what_their_names_say(frame):
    part = make_search(frame)._all_rows
    found = {name: part.structure(name) for name in ("leave-one-out", "tables", "numbers")}
    whole, tables, numbers = found.values()
    assert whole.interactions == tables.interactions
    assert (whole.terms, tables.terms, numbers.terms) == (True, False, True)
    numeric = {(3,), (4,)}
    assert set(numbers.interactions) == set(whole.interactions) - numeric
    singles = {(c,) for c in range(5)}
    cut = {(c,) for c, cuts in zip((3, 4), part.fold.coding.cuts, strict=True) if len(cuts)}
    assert singles - numeric | cut <= set(whole.interactions)
    assert not whole.same_as(tables)
    assert whole.same_as(part.structure("leave-one-out"))


def test_held_out_rows_change_nothing_in_their_own_fold(frame):
    search = make_search(frame)
    structures = search._folds[0]
    part = structures.fold
    garbled = part.rows.numbers.copy()
    garbled[:, part.n_train :] = 1e6
    before = structures.structure("score"), part.coding.cuts
    others = make_search(frame)._folds[0]
    twin = others.fold
    twin.rows = twin.rows._replace(numbers=garbled)
    after = others.structure("score"), twin.coding.cuts
    assert before[0].interactions == after[0].interactions
    for a, b in zip(before[1], after[1], strict=True):
        assert (a == b).all()


def test_weights_may_be_fractions(frame):
    weights = np.random.default_rng(0).random(len(frame)) * 0.02
    found = cp.InteractionClassifier().fit(frame, "y", sample_weight=weights)
    assert np.isfinite(found.predict_log_proba(frame)).all()
    light = cp.InteractionClassifier().fit(frame, "y", sample_weight=weights / weights.mean())
    assert log_loss(light, frame) < 0.6


@pytest.mark.parametrize("size", [1e-310, 1e300, 4e307])
def test_numbers_of_any_size_are_learned_and_kept(size, tmp_path):
    rng = np.random.default_rng(0)
    x, z = rng.uniform(-1, 1, (2, 120))
    frame = {"x": x * size * 4, "z": z, "y": np.where(x + 0.3 * z > 0, "p", "q")}
    classifier = cp.InteractionClassifier(parts="tables").fit(frame, "y")
    model = classifier.model_
    assert classifier.inner_log_loss_ < 0.3
    model.save(tmp_path / "model.cp")
    again = cp.load(tmp_path / "model.cp")
    evidence = {"x": frame["x"][0], "z": z[0]}
    assert again.query("y", evidence)["p"] == pytest.approx(model.query("y", evidence)["p"])


def test_a_column_of_hundreds_of_states_is_kept():
    rng = np.random.default_rng(0)
    town, effect = rng.integers(0, 300, 4000), rng.normal(0, 2, 300)
    frame = pd.DataFrame({"town": [f"t{k}" for k in town], "x": rng.normal(size=4000)})
    labels = np.where(rng.random(4000) < 1 / (1 + np.exp(-effect[town])), "yes", "no")
    kept = cp.InteractionClassifier(parts="tables").fit(frame, labels)
    assert kept.interactions_[0]["columns"] == ["town"]
    assert kept.inner_log_loss_ < 0.62
    notes = cp.NaiveBayes().fit(frame, labels).notes_  # its tables have no penalty
    assert notes[0] == "Left out town: too many states: 300 values in 4,000 rows."


def test_a_missing_number_that_tells_is_not_drowned_by_other_numbers():
    """Numeric terms of noise cost more than they gain in few rows: then there are none."""
    rows = np.arange(120)
    frame = pd.DataFrame({"amount": 1000.0 + 7 * rows, "day": 1 + rows % 28, "price": rows % 13})
    frame["price"] = frame["price"].where(rows % 9 > 0)
    frame["town"] = np.array(list("abc"))[rows % 3]
    fitted = cp.InteractionClassifier().fit(frame, "town")
    assert fitted.inner_log_loss_ < np.log(3) - 0.1
