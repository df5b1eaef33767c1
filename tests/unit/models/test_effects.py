"""Effects: known ones are found, said alike everywhere, and do not depend on order."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.additive.classifier import AdditiveClassifier
from counterpane.additive.effects import log_odds, measure_effects
from counterpane.additive.purified import lower_order, purified
from error_checks import raises

ROWS = 20_000


def known(seed=0):
    """Log-odds ±1 by x, ±0.5 by whether a and b are equal, nothing by z."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.choice(["n", "y"], ROWS) for name in "xabz"})
    eta = np.where(frame["x"] == "y", 1.0, -1.0) + np.where(frame["a"] == frame["b"], 0.5, -0.5)
    frame["class"] = np.where(rng.random(ROWS) < 1 / (1 + np.exp(-eta)), "yes", "no")
    return frame


def effects_of(learner):
    return {tuple(sorted(r["columns"])): r["effect"] for r in learner.interactions_}


@pytest.fixture(scope="module")
def learner():
    return cp.InteractionClassifier().fit(known(), "class")


def test_known_effects_are_found(learner):
    # The standard error of a log-odds ratio on 20,000 rows is about 2 / sqrt(20,000 × .2) = .03.
    found = effects_of(learner)
    assert found["x",] == pytest.approx(1.0, abs=0.05)
    assert found["a", "b"] == pytest.approx(0.5, abs=0.05)
    for small in ("a", "b", "z"):
        assert found[small,] < 0.06
    explained = {tuple(sorted(r["columns"])): r["explained"] for r in learner.interactions_}
    assert explained["x",] == pytest.approx(0.8, abs=0.03)  # 1² of 1² + .5²
    assert explained["a", "b"] == pytest.approx(0.2, abs=0.03)
    assert sum(explained.values()) == pytest.approx(1)


def test_everything_says_the_same_effect(learner, tmp_path):
    size = effects_of(learner)["x",]
    records = {r["face"]: r for r in learner.explain({"x": "y", "a": "n", "b": "n", "z": "n"})}
    assert records["x",]["contributions"]["yes"] == pytest.approx(size, abs=0.02)
    assert records["x",]["contributions"]["no"] == pytest.approx(
        -records["x",]["contributions"]["yes"]
    )
    assert records["a", "b"]["contributions"]["yes"] == pytest.approx(0.5, abs=0.05)
    path = tmp_path / "report.html"
    cp.write_report(learner.model_, known().head(500), path)
    text = path.read_text()
    content = json.loads(text.split('type="application/json">')[1].split("</script>")[0])
    names = [c["n"] for c in content["columns"]]
    listed = {
        tuple(sorted(names[c] for c in k["columns"])): k["strength"] for k in content["listed"]
    }
    assert listed["x",] == pytest.approx(size, rel=0.01)
    block = next(b for b in content["panels"]["blocks"] if b["c"] == [names.index("x"), 4])
    assert np.abs(block["v"][0]).tolist() == pytest.approx([size] * 2, abs=0.02)
    learner.model_.save(tmp_path / "model.cp")
    assert cp.load(tmp_path / "model.cp").interactions() == learner.interactions_


def test_three_classes_are_relative_to_their_geometric_mean():
    rng = np.random.default_rng(0)
    x = rng.choice(["n", "y"], ROWS)
    logits = np.where(x == "y", 1.0, -1.0)[:, None] * np.array([1.0, 0.0, -1.0])
    chance = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (rng.random(ROWS)[:, None] > chance.cumsum(axis=1)).sum(axis=1)
    found = cp.InteractionClassifier().fit({"x": x}, labels)
    shares = np.bincount(labels) / ROWS
    want = np.sqrt(shares @ np.array([1.0, 0.0, 1.0]))
    assert found.interactions_[0]["effect"] == pytest.approx(want, abs=0.04)
    contributions = {r["face"]: r["contributions"] for r in found.explain({"x": ["y"]})}
    assert [*contributions["x",].values()] == pytest.approx([1.0, 0.0, -1.0], abs=0.05)


def test_titanic_is_ranked_as_permutation_importance_says():
    found = cp.InteractionClassifier().fit(cp.load_dataset("titanic"), "survived")
    singles = [r["columns"][0] for r in found.interactions_ if r["order"] == 1]
    assert singles == ["sex", "status", "age"]
    assert found.interactions_[0]["columns"] == ["sex"]


def test_a_number_has_its_known_effect():
    rng = np.random.default_rng(0)
    x = rng.normal(size=ROWS)
    labels = rng.random(ROWS) < 1 / (1 + np.exp(-1.5 * x))
    found = cp.InteractionClassifier().fit({"x": x}, labels)
    # The deviation of 1.5 x is 1.5; its standard error is about .02.
    assert found.interactions_[0]["effect"] == pytest.approx(1.5, abs=0.06)


# ---- purification --------------------------------------------------------------------------------


def raw(learner):
    """The model before anything moved."""
    members = [m.__class__(**{**vars_of(m), "moved": ()}) for m in learner.model_.members]
    return AdditiveClassifier(learner.model_.schema, members, learner.model_.total)


def vars_of(member):
    return {name: getattr(member, name) for name in member.__dataclass_fields__}


def mixed(rows=600, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.choice(["x", "y", "z"], rows, p=[0.6, 0.3, 0.1]),
            "n": rng.normal(size=rows),
        }
    )
    frame["b"] = np.where(rng.random(rows) < 0.7, frame["a"], "x")  # depends on a; some cells empty
    frame["c"] = rng.choice([1, 2], rows)
    frame.loc[rng.random(rows) < 0.1, "n"] = np.nan
    eta = 2.0 * (frame["a"] == frame["b"]) * frame["c"] - 2.5 + frame["n"].fillna(0) * frame["c"]
    frame["y"] = np.where(rng.random(rows) < 1 / (1 + np.exp(-eta)), "p", "q")
    return frame


def test_purification_changes_no_prediction_not_even_of_unknown_states():
    frame = mixed()
    found = cp.InteractionClassifier().fit(frame, "y")
    assert any(r["order"] > 1 for r in found.interactions_)
    strange = frame.drop(columns="y").copy()
    strange.loc[::3, "a"] = "new"
    strange.loc[::4, "b"] = "z"
    strange.loc[::5, "n"] = np.nan
    plain = raw(found)
    for rows in (frame, strange):
        codes, numbers = found.model_.encode(rows)
        assert (plain.log_proba(codes, numbers) == found.model_.log_proba(codes, numbers)).all()
        one = found.model_.contributions(codes, numbers).sum(axis=0)
        two = plain.contributions(codes, numbers).sum(axis=0)
        assert np.abs(one - two).max() < 1e-9


@pytest.mark.parametrize("name", ["titanic", "tictactoe", "simulated"])
def test_each_interaction_sums_to_zero_over_each_of_its_columns(name):
    if name == "simulated":
        table = cp.Table.from_frame(mixed(3000).drop(columns="n"))
    else:
        table = cp.load_dataset(name)
    target = table.schema.names[-1]
    found = cp.InteractionClassifier().fit(table, target)
    frame = pd.DataFrame(
        {c.name: np.array(c.states, dtype=object)[c.codes] for c in table.labels()}
    )
    model = found.model_
    parts = model.contributions(*model.encode(frame))[1:, :, 1]
    looked = 0
    for names, part in zip(model.hyperedges, parts, strict=True):
        for others in combinations(names, len(names) - 1):
            sums = frame.assign(part=part).groupby(list(others) or (lambda _: 0))["part"].sum()
            assert sums.abs().max() < 1e-9 * len(frame)
            looked += len(others) > 0
    assert looked


def test_a_pair_of_main_effects_is_no_interaction():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.choice(["n", "y"], ROWS) for name in "ab"})
    both = (frame["a"] == "y").astype(float) + (frame["b"] == "y")
    frame["y"] = np.where(rng.random(ROWS) < 1 / (1 + np.exp(1 - both)), 1, 0)
    found = cp.InteractionClassifier().fit(frame, "y")
    sizes = effects_of(found)
    assert sizes["a",] == pytest.approx(0.5, abs=0.04)  # log-odds of ±.5 around their mean
    assert sizes.get(("a", "b"), 0.0) < 0.05


def test_lower_orders_are_weighted_least_squares_and_columns_that_agree_share_evenly():
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, 3, 40), rng.integers(0, 4, 40)
    values, weights = rng.normal(size=(40, 2)), rng.random(40)
    design = np.hstack([np.eye(3)[one], np.eye(4)[two]])
    root = np.sqrt(weights)[:, None]
    want = design @ np.linalg.lstsq(design * root, values * root, rcond=None)[0]
    parts = lower_order(values, weights, [one, two])
    assert parts[0][one] + parts[1][two] == pytest.approx(want, abs=1e-9)
    same = lower_order(values[:3], weights[:3], [np.arange(3), np.arange(3)])
    assert same[0] == pytest.approx(values[:3] / 2)
    assert same[1] == pytest.approx(values[:3] / 2)


def test_purifying_twice_is_purifying_once():
    frame = mixed()
    found = cp.InteractionClassifier().fit(frame, "y")
    codes, numbers = found.model_.encode(frame)
    members = [purified(m, codes, numbers, np.ones(len(frame))) for m in found.model_.members]
    again = AdditiveClassifier(found.model_.schema, members, found.model_.total)
    one = found.model_.contributions(codes, numbers)
    assert again.contributions(codes, numbers) == pytest.approx(one, abs=1e-8)


def test_effects_are_variances_and_covariances_of_the_contributions():
    rng = np.random.default_rng(0)
    logs, weights = rng.normal(size=(3, 50, 4)), rng.random(50)
    parts, classes = log_odds(logs), np.array([0.1, 0.2, 0.3, 0.4])
    found = measure_effects(parts, weights, classes)
    for k in range(3):
        own = [np.cov(parts[k, :, c], aweights=weights, ddof=0) for c in range(4)]
        assert found.sizes[k] ** 2 == pytest.approx(classes @ own)
    assert found.variance_shares.sum() == pytest.approx(1)
    assert found.share_of(0) is None


# ---- order ---------------------------------------------------------------------------------------


def same_model(one, two, frame):
    """Equal structure, predictions and effects; classes may be in another order."""
    assert (one.structure_, one.penalty_) == (two.structure_, two.penalty_)
    assert one.inner_log_loss_ == pytest.approx(two.inner_log_loss_, abs=1e-12)
    order = [one.classes_.tolist().index(c) for c in two.classes_.tolist()]
    difference = one.predict_log_proba(frame)[:, order] - two.predict_log_proba(frame)
    assert np.abs(difference).max() < 1e-9
    for a, b in zip(one.interactions_, two.interactions_, strict=True):
        assert sorted(a["columns"]) == sorted(b["columns"])
        assert a["effect"] == pytest.approx(b["effect"], abs=1e-9)
        assert a["explained"] == pytest.approx(b["explained"], abs=1e-9)
        assert a.get("share") == b.get("share")


@pytest.mark.parametrize("seed", [0, 1])
def test_titanic_from_a_file_is_titanic(tmp_path, seed):
    table = cp.load_dataset("titanic")
    frame = pd.DataFrame(
        {c.name: np.array(c.states, dtype=object)[c.codes] for c in table.labels()}
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    one = cp.InteractionClassifier(random_state=seed, bootstrap="auto").fit(table, "survived")
    two = cp.InteractionClassifier(random_state=seed, bootstrap="auto").fit(
        tmp_path / "people.csv", "survived"
    )
    same_model(one, two, frame.drop(columns="survived"))


def test_rows_columns_states_and_classes_may_be_in_any_order():
    frame = mixed()
    expected = cp.InteractionClassifier(bootstrap=20).fit(frame, "y")
    features = frame.drop(columns="y")
    shuffled = frame.sample(frac=1, random_state=1)
    same_model(expected, cp.InteractionClassifier(bootstrap=20).fit(shuffled, "y"), features)
    turned = frame[["y", "c", "n", "b", "a"]]
    same_model(expected, cp.InteractionClassifier(bootstrap=20).fit(turned, "y"), features)
    declared = frame.assign(
        a=pd.Categorical(frame["a"], ["z", "y", "x", "never"]),
        y=pd.Categorical(frame["y"], ["q", "p"]),
    )
    same_model(expected, cp.InteractionClassifier(bootstrap=20).fit(declared, "y"), features)


# ---- shares --------------------------------------------------------------------------------------


def test_shares_tell_signal_from_noise():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.choice(["n", "y"], 1000) for name in "abcdef"})
    eta = np.where(frame["a"] == frame["b"], 1.0, -1.0)
    frame["y"] = np.where(rng.random(1000) < 1 / (1 + np.exp(-eta)), "p", "q")
    found = cp.InteractionClassifier(bootstrap=40).fit(frame, "y")
    shares = {tuple(r["columns"]): r.get("share") for r in found.interactions_}
    assert shares["a", "b"] == 1.0
    assert all(r["samples"] == 40 for r in found.interactions_ if r["order"] > 1)
    assert all(s < 0.8 for names, s in shares.items() if len(names) == 2 and names != ("a", "b"))


def test_there_are_no_shares_of_few_samples():
    frame = mixed(200)
    for samples in (0, 19):
        found = cp.InteractionClassifier(bootstrap=samples).fit(frame, "y")
        assert not any("share" in r for r in found.interactions_)
        assert found.model_.effects.samples == samples
    with raises(cp.errors.ParameterError, parameter="bootstrap", value=-1):
        cp.InteractionClassifier(bootstrap=-1).fit(frame, "y")
