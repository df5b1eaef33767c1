"""How many training rows match a question is what pandas counts in the raw rows."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.errors import FileFormatError
from counterpane.models.arrays import arrays_of
from error_checks import raises


def people(rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "port": rng.choice(["a", "b", "c"], rows, p=[0.2, 0.5, 0.3]),
        "gain": np.where(rng.random(rows) < 0.7, 0.0, rng.lognormal(6, 1, rows).round()),
        "age": rng.normal(40, 12, rows).round(1),
        "sex": rng.choice(["f", "m"], rows).astype(object),
    })  # fmt: skip
    rich = rng.random(rows) < np.where(frame["gain"] > 500, 0.8, 0.2 + 0.3 * (frame["age"] > 45))
    frame["rich"] = np.where(rich, "yes", "no")
    frame.loc[rng.random(rows) < 0.1, "age"] = np.nan
    frame.loc[rng.random(rows) < 0.1, "sex"] = None
    return frame


QUESTIONS = [
    ({}, lambda f: f["port"] != ""),
    ({"port": "a"}, lambda f: f["port"] == "a"),
    ({"port": {"a", "c"}, "age": cp.Range(high=50)},
     lambda f: f["port"].isin(["a", "c"]) & (f["age"] < 50)),
    ({"gain": cp.Range(low=0, include_low=False)}, lambda f: f["gain"] > 0),
    ({"gain": cp.Range(high=777.5), "age": cp.Range(33.3, 51)},
     lambda f: (f["gain"] < 777.5) & (f["age"] >= 33.3) & (f["age"] < 51)),
]  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("missing", ["em", "state", "drop"])
def test_rows_that_match_are_counted(question, missing):
    frame = people()
    evidence, matches = question
    model = cp.StructureSearch(missing=missing).fit(frame).model_
    answer = model.query("rich", evidence)
    rows = frame[matches(frame)]
    assert answer.support.rows == len(rows) and not answer.support.estimated
    shares = [rows["rich"].eq(state).mean() for state in model.schema["rich"].states]
    assert answer.support.shares == pytest.approx(shares)
    assert str(answer.support) == f"{len(rows):,} training rows match the evidence"
    joint = model.query(["sex", "rich"], evidence)
    known = rows[rows["sex"].notna()] if missing != "state" else rows
    assert joint.support.rows == len(known)
    share = (known["sex"].eq("m") & known["rich"].eq("yes")).mean()
    cell = (model.schema["sex"].find("m"), model.schema["rich"].find("yes"))
    assert joint.support.shares[cell] == pytest.approx(share)


def test_weights_and_no_rows():
    frame = pd.DataFrame({"x": ["a", "a", "b", "b"], "y": ["p", "q", "p", "q"]})
    model = cp.HillClimb().fit(frame, sample_weight=[30, 10, 5, 55]).model_
    answer = model.query("y", {"x": "a"})
    assert (answer.support.rows, answer.support.effective) == (40, 40)
    assert answer.support.shares.tolist() == [0.75, 0.25]
    three = frame.assign(z=["u", "v", "u", "u"])
    model = cp.HillClimb().fit(three).model_
    none = model.query("y", {"x": "b", "z": "v"}).support
    assert none.rows == 0 and np.isnan(none.shares).all()
    assert model.query("y", do={"x": "a"}).support is None


def test_a_model_that_contradicts_its_rows_says_so():
    frame = people()
    apart = cp.HillClimb(forbidden_edges=[("gain", "rich"), ("rich", "gain")]).fit(frame).model_
    evidence = {"gain": cp.Range(low=500)}
    (note,) = (n for n in apart.query("rich", evidence).notes if "sampling error" in n)
    rows = frame[frame["gain"] >= 500]
    assert note.startswith(f"{len(rows)} training rows match the evidence, and ")
    said = [f"rich={s} among them is {rows['rich'].eq(s).mean():.3f}." for s in ("no", "yes")]
    assert any(words in note for words in said)
    joined = cp.HillClimb().fit(frame).model_
    assert not any("sampling error" in n for n in joined.query("rich", {"port": "a"}).notes)
    few = apart.query("rich", {"gain": cp.Range(low=frame["gain"].nlargest(20).min())})
    assert not any("sampling error" in n for n in few.notes)


def test_a_true_model_is_rarely_doubted():
    rng = np.random.default_rng(7)
    doubts = 0
    for seed in range(200):
        x, y = rng.integers(0, 3, 400), rng.integers(0, 4, 400)
        model = cp.HillClimb().fit({"x": x, "y": y}).model_
        doubts += bool(model.query("y", {"x": int(seed % 3)}).notes)
    assert doubts <= 3  # at the level of 0.0027 less than one is expected


def test_many_rows_are_sampled():
    frame = people(60_000)
    model = cp.ChowLiu().fit(frame).model_
    support = model.query("rich", {"port": "a", "gain": cp.Range(low=1)}).support
    rows = frame[(frame["port"] == "a") & (frame["gain"] >= 1)]
    assert support.estimated and str(support).startswith("about ")
    assert support.rows == pytest.approx(len(rows), rel=0.05)
    assert support.effective < 0.7 * len(rows)
    discrete = cp.ChowLiu().fit(frame[["port", "rich"]]).model_.query("rich", {"port": "a"})
    assert discrete.support.rows == (frame["port"] == "a").sum()


def test_rows_are_saved_and_can_be_removed(tmp_path):
    frame = people(500)
    model = cp.StructureSearch().fit(frame).model_
    evidence = {"age": cp.Range(low=30), "port": "b"}
    first = model.query("rich", evidence).support
    model.save(tmp_path / "m.cp")
    for again in (cp.load(tmp_path / "m.cp"), pickle.loads(pickle.dumps(model))):
        other = again.query("rich", evidence).support
        assert other.rows == first.rows and (other.shares == first.shares).all()
    size = (tmp_path / "m.cp").stat().st_size
    model.training_rows = None
    assert model.query("rich", evidence).support is None
    model.save(tmp_path / "m.cp")
    assert (tmp_path / "m.cp").stat().st_size < size - 500 * 2 * 8
    assert cp.load(tmp_path / "m.cp").training_rows is None


def test_damaged_rows_are_refused(tmp_path):
    model = cp.ChowLiu().fit(people(100)).model_
    arrays = {**arrays_of(model), **model._row_arrays()}
    arrays["kept.numeric"] = np.array([1, 99])
    model._row_arrays = lambda: {k: v for k, v in arrays.items() if k.startswith("kept.")}
    model.save(tmp_path / "m.cp")
    with raises(FileFormatError, about="m.cp"):
        cp.load(tmp_path / "m.cp")


def test_networks_of_classifiers_know_their_rows():
    frame = people()
    model = cp.NaiveBayes().fit(frame, "rich").model_
    support = model.query("rich", {"gain": cp.Range(low=100.5)}).support
    assert support.rows == (frame["gain"] >= 100.5).sum()


def test_the_command_prints_the_rows(run, tmp_path):
    frame = people()
    frame.to_csv(tmp_path / "people.csv", index=False)
    run("learn", "people.csv", "-o", "m.cp", "--bootstrap", "0")
    rows = frame[(frame["port"] == "a") & (frame["gain"] > 0)]
    words = ("query", "m.cp", "rich", "-g", "port=a", "-g", "gain>0")
    code, out, errors = run(*words)
    assert code == 0 and f"{len(rows)} training rows match the evidence." in errors
    share = rows["rich"].eq("yes").mean()
    assert "in rows" in out and f"{share:.4f}" in out
    answer = json.loads(run(*words, "--json")[1])
    assert answer["training_rows"] == len(rows) and not answer["estimated"]
    cells = {cell["states"][0]: cell for cell in answer["cells"]}
    assert cells["yes"]["in_rows"] == pytest.approx(share)


@pytest.mark.parametrize("target", [(), ("--target", "rich")])
def test_the_command_leaves_rows_out_on_request(run, tmp_path, target):
    people(400).to_csv(tmp_path / "people.csv", index=False)
    words = ("learn", "people.csv", "--bootstrap", "0", *target)
    assert run(*words, "-o", "with.cp")[0] == run(*words, "-o", "bare.cp", "--no-keep-rows")[0] == 0
    bare = cp.load(tmp_path / "bare.cp")
    assert getattr(bare, "rows", None) is None and getattr(bare, "training_rows", None) is None
    assert (tmp_path / "with.cp").stat().st_size > (tmp_path / "bare.cp").stat().st_size + 4000
