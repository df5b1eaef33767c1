"""One word for a missing cell: what is shown is also what finds it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import counterpane as cp
from counterpane.errors import EvidenceError, StateError
from error_checks import raises

FRAME = {"a": ["x", "y", None, "y"] * 20, "b": ["u", "v", "v", None] * 20}


@pytest.fixture(name="model")
def made_model():
    return cp.HillClimb("aic", missing="state").fit(FRAME).model_


def test_it_is_found_by_the_word_it_is_shown_by():
    for variable in (
        cp.Variable("a", ("x", None)),
        cp.Variable("age", ("<18", "≥18", None), cuts=(18.0,)),
        cp.Variable("day", ("<2020-01-01", "≥2020-01-01", None), cuts=(18262.0,)),
    ):
        assert variable.find("(missing)") == variable.find(None) == variable.card - 1
        assert variable.find("None") is None
    assert cp.Variable("a", ("x", "(missing)", None)).find("(missing)") == 1
    assert cp.Variable("a", ("x", "y")).find("(missing)") is None


def test_answers_and_messages(model):
    answer = model.query("a", {"b": "(missing)"})
    assert repr(answer).splitlines()[3].startswith("(missing)")
    assert ">(missing)</td>" in answer._repr_html_()
    assert answer["(missing)"] == answer[None]
    with raises(StateError, parameter="a", value="z"):
        model.query("b", {"a": "z"})
    names = list(model.query_many("a", {"b": ["u"]}).to_dict())
    assert names[-1] == "a=(missing)"
    assert "None" not in cp.read(FRAME).resolve_missing("state")._repr_html_()


def test_impossible_evidence():
    schema = cp.Schema([cp.Variable("a", ("x", None)), *cp.Schema.from_cards([2, 2])])
    tables = [[0.5, 0.5], [[0.5, 0.5], [1.0, 0.0]], [0.5, 0.5]]
    network = cp.BayesianNetwork(schema, cp.Dag(3, [(0, 1)]), tables)
    with raises(EvidenceError, about=("a=(missing)", "x0=1")):
        network.query("x1", {"a": None, "x0": 1})


def test_the_command(run, tmp_path: Path):
    with (tmp_path / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(FRAME)
        cells = zip(*FRAME.values(), strict=True)
        writer.writerows(["" if c is None else c for c in row] for row in cells)
    learn = ("learn", "t.csv", "--missing", "state", "--score", "aic", "--method", "hill-climb")
    assert run(*learn)[0] == 0
    code, out, _ = run("query", "t.cp", "a", "-g", "b=(missing)")
    assert code == 0
    assert "P(a | b=(missing))" in out
    assert "\n(missing) " in out
    code, out, err = run("query", "t.cp", "a", "-g", "b=")
    assert code == 2  # an empty text is no state; the message shows how to write it
    assert "'' is not one of 3 states ('u', 'v', (missing))" in err
    cells = json.loads(run("query", "t.cp", "a", "--json")[1])["cells"]
    assert cells[2]["states"] == [None]
    out = run("predict", "t.cp", "t.csv", "--target", "a", "-q")[1]
    header = next(csv.reader(io.StringIO(out)))
    assert header == ["predicted", "P(x)", "P(y)", "P((missing))"]
