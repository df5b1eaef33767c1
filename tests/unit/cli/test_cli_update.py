"""`counterpane update`, `query --interval`, and advice that can be followed."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.errors import ParameterError, StateError
from error_checks import raises


@pytest.fixture
def halves(tmp_path):
    rng = np.random.default_rng(1)
    wet = rng.random(400) < 0.4
    slow = np.where(wet, rng.random(400) < 0.8, rng.random(400) < 0.3)
    frame = pd.DataFrame({"wet": np.where(wet, "yes", "no"), "slow": np.where(slow, "yes", "no")})
    frame["week"] = rng.integers(1, 5, 400)
    frame.iloc[:200].to_csv(tmp_path / "first.csv", index=False)
    frame.iloc[200:].to_csv(tmp_path / "second.csv", index=False)
    return frame


def test_rows_are_added_to_a_saved_network(run, halves, tmp_path):
    run("learn", "first.csv", "-o", "m.cp", "--bootstrap", "0")
    code, out, _ = run("update", "m.cp", "second.csv", "-o", "all.cp", "--json")
    assert code == 0
    assert json.loads(out) == {
        "model": "all.cp", "rows_added": 200, "rows_before": 200, "rows": 400,
    }  # fmt: skip
    model, whole = cp.load(tmp_path / "m.cp"), cp.load(tmp_path / "all.cp")
    expected = cp.fit_parameters(cp.MemoryCounts(cp.read(halves)), model.dag).query("slow")
    assert whole.query("slow").to_dict() == pytest.approx(expected.to_dict())
    code, _, errors = run("update", "m.cp", "second.csv")
    assert "keeps no training rows" in errors
    assert code == 0 and cp.load(tmp_path / "m.cp").record.data.rows == 400


def test_unknown_values_are_refused_with_advice_that_works(run, halves, tmp_path):
    run("learn", "first.csv", "-o", "m.cp", "--bootstrap", "0")
    odd = halves.iloc[200:].replace({"wet": {"yes": "maybe"}})
    odd.to_csv(tmp_path / "odd.csv", index=False)
    model = cp.load(tmp_path / "m.cp")
    with raises(StateError, parameter="wet", value="maybe"):
        model.update(odd)
    assert model.update(odd, unseen="missing", missing="drop").record.data.rows == 400
    code, _, errors = run("update", "m.cp", "odd.csv", "-o", "n.cp")
    assert code == 2 and "leave such rows out" in errors
    words = ("--unseen", "missing", "--missing", "drop")
    assert run("update", "m.cp", "odd.csv", "-o", "n.cp", *words)[0] == 0


def test_intervals_of_a_query(run, halves):
    run("learn", "first.csv", "-o", "m.cp", "--bootstrap", "0")
    code, out, _ = run("query", "m.cp", "slow", "-g", "wet=yes", "--interval", "0.9", "--json")
    assert code == 0
    first = halves.iloc[:200]
    share = first["slow"][first["wet"] == "yes"].eq("yes").mean()
    rows = first["wet"].eq("yes").sum()
    cells = {cell["states"][0]: cell for cell in json.loads(out)["cells"]}
    low, high = cells["yes"]["interval"]
    assert low < share < high
    assert high - low == pytest.approx(2 * 1.645 * np.sqrt(share * (1 - share) / rows), rel=0.15)
    assert cells["no"]["interval"] == pytest.approx([1 - high, 1 - low])
    code, out, errors = run("query", "m.cp", "slow", "--interval", "0.95")
    assert code == 0 and "interval" in out and "the graph is taken as certain" in errors
    run("learn", "first.csv", "-o", "c.cp", "--target", "slow")
    code, _, errors = run("query", "c.cp", "slow", "-g", "wet=yes", "--interval", "0.95")
    assert code == 2 and "an AdditiveClassifier has no credible intervals" in errors


def test_a_dropped_column_in_a_tier_is_named(run, halves):
    words = ("learn", "first.csv", "--drop", "week", "--tier", "week,wet", "--tier", "slow")
    code, _, errors = run(*words)
    assert code == 2 and "'week' is dropped by --drop and named in a constraint" in errors
    with raises(ParameterError, about="InteractionClassifier"):
        cp.plots.trace(cp.InteractionClassifier())
