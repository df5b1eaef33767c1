"""`cp.learn`: everything that the command does, with the same model, notes, measures and pages."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.errors import ParameterError, UnknownNameError
from counterpane.workflow import comparing, measuring
from error_checks import raises


@pytest.fixture
def rows(tmp_path):
    """A file with an identifier, numbers and missing values."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400).round(3)
    frame = pd.DataFrame({"id": [f"c{i}" for i in range(400)], "x": x})
    frame["kind"] = np.where(x + rng.normal(size=400) > 0, "a", "b")
    frame["place"] = rng.choice(["n", "s"], 400)
    frame.loc[::9, "place"] = None
    frame.to_csv(tmp_path / "x.csv", index=False)
    return frame


def test_learn_writes_the_page_of_the_command(run, rows, tmp_path) -> None:
    for options in ((), ("--target", "kind")):
        learned = cp.learn("x.csv", *options[1:])
        learned.save("m.cp")
        own = learned.report("own.html").read_bytes()
        assert run("report", "m.cp", "--data", "x.csv", "-o", "theirs.html")[0] == 0
        assert own == (tmp_path / "theirs.html").read_bytes()
        learned.explore("own.html")
        run("explore", "m.cp", "--data", "x.csv", "-o", "theirs.html", "--no-open")
        assert (tmp_path / "own.html").read_bytes() == (tmp_path / "theirs.html").read_bytes()


def test_learn_has_the_results_of_the_command(run, rows) -> None:
    for options in ((), ("--target", "kind"), ("--method", "pc")):
        facts = json.loads(run("learn", "x.csv", *options, "--json", "-o", "m.cp")[1])
        named = dict(zip((o.removeprefix("--") for o in options[::2]), options[1::2], strict=True))
        found = cp.learn("x.csv", **named)
        for key in ("method", "edges", "interactions", "left_out", "missing", "held_out", "why"):
            assert json.loads(json.dumps(found.to_dict().get(key))) == facts.get(key), key
        assert cp.load("m.cp").record.measures == found.measures


def test_learn_reads_frames_tables_and_weights(rows) -> None:
    learned = cp.learn(rows)
    assert learned.record.preparation.left_out.keys() == {"id"}
    assert any("id" in note for note in learned.notes)
    assert learned.edges[0].samples is not None
    table = cp.learn(cp.load_dataset("titanic"), "survived")
    assert table.measures.log_loss.value == pytest.approx(0.484, abs=0.001)
    counted = rows.assign(n=2).drop(columns=["id", "x"])
    assert cp.learn(counted, weights="n").record.data.rows == 800
    limited = cp.learn(rows, required_edges=[("x", "kind")], drop=["place"])
    assert limited.record.constraints.required == (("x", "kind"),)
    assert limited.method == "structure-search"


def test_learn_warns_of_a_leak(rows) -> None:
    learned = cp.learn(rows.assign(same=rows["kind"] + "!"), "kind")
    assert learned.leak == "same" and "same alone nearly tells kind" in learned.notes[-1]
    assert "log-loss, in nats" in learned._repr_html_()


def test_learn_refuses_unknown_methods() -> None:
    with raises(UnknownNameError, parameter="method", value="majic"):
        cp.learn("titanic", method="majic")


def test_learned_prints_the_table_of_the_command() -> None:
    learned = cp.learn("titanic", target="survived", method="tan")
    assert learned.measures is not None
    table = learned.measures.table()
    assert table.rows[0][0].startswith("log-loss")
    assert f"{learned.measures.log_loss.value:.3f} ± " in table.rows[0][1]
    assert str(table) in repr(learned)
    assert "class shares" in learned._repr_html_()


def test_learn_names_parameters_and_the_command_its_options(rows) -> None:
    with raises(ParameterError, parameter="method", value="tan") as caught:
        cp.learn(rows, method="tan")
    assert "--" not in str(caught.value)
    with raises(ParameterError, parameter="device", value="tpu") as caught:
        cp.learn(rows, device="tpu")
    assert "--" not in str(caught.value)


def test_learn_notes_name_parameters_and_the_command_its_options(run, rows) -> None:
    rows.assign(same=rows["kind"] + "!").to_csv("leak.csv", index=False)
    note = cp.learn("leak.csv", "kind").notes[-1]
    assert note.endswith("drop=['same'] learns without it.")
    assert "--drop same learns without it." in run("learn", "leak.csv", "--target", "kind")[1]
    counts = rows[["kind", "place"]].dropna().value_counts().reset_index(name="n")
    counts.to_csv("counts.csv", index=False)
    assert any("weights='n' counts each row" in note for note in cp.learn("counts.csv").notes)
    assert "--weights n counts each row" in run("learn", "counts.csv")[1]
    users = np.repeat(np.arange(24), 6)
    links = pd.DataFrame({"who": users, "what": (users * 7 + np.tile(np.arange(6), 24) * 5) % 24})
    links.astype(str).radd("u").to_csv("links.csv", index=False)
    notes = cp.learn("links.csv", method="chow-liu").notes
    assert any("user='who', item='what' learns" in note for note in notes)
    out = run("learn", "links.csv", "--method", "chow-liu")[1]
    assert "--user who --item what learns to rank items." in out


def test_rows_for_predicts_scores_and_imputes_as_the_command(run, rows) -> None:
    cp.learn("x.csv", "kind", method="tan").save("t.cp")
    cp.learn("x.csv", method="structure-search").save("n.cp")
    found = cp.rows_for(cp.load("t.cp"), "x.csv").predict()
    facts = json.loads(run("predict", "t.cp", "x.csv", "--json")[1])
    assert facts["training_rows"] is found.training is True
    assert {k: facts[k] for k in ("log_loss", "accuracy")} == found.losses()
    assert facts["predicted"] == found.counts()
    assert found.to_pandas()["predicted"].value_counts().to_dict() == found.counts()
    network = cp.rows_for(cp.load("n.cp"), "x.csv")
    facts = json.loads(run("score", "n.cp", "x.csv", "--metric", "loglik", "--json")[1])
    score = network.score("log_likelihood")
    assert (facts["mean"], facts["standard_error"]) == score[:2]
    facts = json.loads(run("score", "n.cp", "x.csv", "--rows", "-n", "3", "--json")[1])
    assert [r["row"] - 1 for r in facts["rows"]] == [r.row for r in network.odd_rows(3)]
    imputed = network.impute()
    facts = json.loads(run("impute", "n.cp", "x.csv", "--json")[1])
    assert facts["cells"] == len(imputed.cells) == rows["place"].isna().sum()
    pd.testing.assert_frame_equal(
        imputed.to_pandas().astype({"id": str}),
        cp.load("n.cp").impute(pd.read_csv("x.csv")).astype({"id": str}),
        check_dtype=False, check_categorical=False,
    )  # fmt: skip
    facts = json.loads(run("explain", "t.cp", "--data", "x.csv", "--row", "5", "--json")[1])
    explained = cp.rows_for(cp.load("t.cp"), "x.csv").row(5).explain()
    assert facts["interactions"] == explained.records(explained.predicted)
    with raises(ParameterError, parameter="row", value=401):
        network.row(401)
    facts = json.loads(
        run("update", "n.cp", "x.csv", "-o", "u.cp", "--missing", "drop", "--json")[1]
    )
    assert facts["rows_added"] == network.n_counted == 400
    updated = network.update(missing="drop")
    assert updated.query("kind").to_dict() == cp.load("u.cp").query("kind").to_dict()


def test_compare_methods_has_the_results_of_the_command(run, rows) -> None:
    found = cp.compare_methods("x.csv", "kind", ["tan", "chow-liu"], folds=3, baselines=False)
    words = ("--target", "kind", "--method", "tan", "--method", "chow-liu", "--folds", "3")
    facts = json.loads(run("compare", "x.csv", *words, "--no-baselines", "--json")[1])
    own = found.to_dict()
    for record in [*own["learners"], *facts["learners"]]:
        record.pop("seconds")
    assert facts == json.loads(json.dumps(own))
    assert facts["left_out"].keys() == {"id"} and "Left out id" in found.notes[0]
    with raises(UnknownNameError, parameter="parameter", value="bin"):
        cp.compare_methods("x.csv", "kind", bin=3)


def test_plan_learning_is_that_of_the_command(run, rows) -> None:
    plan = cp.plan_learning("x.csv", "kind", "naive-bayes", bins=3)
    words = ("--target", "kind", "--method", "naive-bayes", "--bins", "3", "--json")
    facts = json.loads(run("plan", "x.csv", *words)[1])
    assert facts["scans"] == list(plan.cost.scans) and facts["method"] == plan.method
    assert "five more fits" in facts["left_out"] == plan.left_out
    assert "bootstrap=0" in cp.plan_learning("x.csv").left_out
    assert "--bootstrap 0" in json.loads(run("plan", "x.csv", "--json")[1])["left_out"]


def test_log_loss_of_learn_and_compare_is_one_or_both_say_why(rows) -> None:
    """The same folds up to SMALL rows; above, both name the folds that chose the structure."""
    options = {"folds": 5, "baselines": False}
    learned = cp.learn(rows, "kind", method="interaction")
    compared = cp.compare_methods(rows, "kind", ["interaction"], **options)
    assert compared.records[0]["log_loss"] == pytest.approx(learned.measures.log_loss.value)
    assert not any("learns structure" in note for note in compared.notes)
    many = pd.concat([rows] * 13)[["place", "kind"]]
    assert len(many) > measuring.SMALL
    learned = cp.learn(many, "kind", method="interaction")
    compared = cp.compare_methods(many, "kind", ["interaction"], **options)
    assert learned.measures.chose and "`compare` learns it again" in learned.tables()[-1].notes[-1]
    assert compared.notes[-1] == comparing.LEARNED_AGAIN
