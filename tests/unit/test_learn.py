"""`cp.learn`: everything that the command does, with the same model, notes, measures and pages."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.errors import ParameterError, UnknownNameError
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
    with pytest.raises(UnknownNameError, match="method"):
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
