"""Odd rows: numbers against brute force, planted cells found, gaps neither odd nor an excuse."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.data.schema import Schema, Variable
from counterpane.errors import DataError, ParameterError
from counterpane.graphs import Dag
from error_checks import raises
from unit.models.test_imputing import given, joint_table, small_network

NETWORKS = Path(os.environ.get("COUNTERPANE_DATA", "")) / "networks"


def frame_of(schema, rows):
    return {
        v.name: [None if row[i] is None else v.states[row[i]] for row in rows]
        for i, v in enumerate(schema)
    }


@pytest.mark.parametrize("kind", ["network", "markov", "mixture"])
def test_numbers_agree_with_brute_force(kind):
    network = small_network(3)
    model = {
        "network": lambda: network,
        "markov": lambda: cp.MarkovNetwork(
            network.schema, [*network.to_potentials(), cp_constant(2.5)]
        ),
        "mixture": lambda: cp.Mixture([network, network]),
    }[kind]()
    joint = joint_table(network)
    rng = np.random.default_rng(0)
    rows = [tuple(rng.integers(network.schema.cards).tolist()) for _ in range(30)]
    rows = [tuple(None if rng.random() < 0.2 else c for c in row) for row in rows]
    found = model.odd_rows(frame_of(network.schema, rows), len(rows), cells=4)
    assert sorted(odd.row for odd in found) == list(range(len(rows)))
    assert [odd.excess for odd in found] == sorted((o.excess for o in found), reverse=True)
    for odd in found:
        row = rows[odd.row]
        part = joint[tuple(slice(None) if c is None else c for c in row)].sum()
        assert odd.log_prob == pytest.approx(np.log(part), abs=1e-10)
        excess = []
        for cell in odd.cells:
            i = network.schema.index(cell.column)
            rest = tuple(None if k == i else c for k, c in enumerate(row))
            p = given(joint, rest).sum(axis=tuple(k for k in range(4) if k != i))
            assert cell.probability == pytest.approx(p[row[i]], abs=1e-10)
            assert network.schema[i].code(cell.expected) == p.argmax()
            assert cell.expected_probability == pytest.approx(p.max(), abs=1e-10)
            entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
            excess.append(-np.log(p[row[i]]) - entropy)
        assert excess == sorted(excess, reverse=True) and all(e > 0 for e in excess)


def cp_constant(log):
    """A factor that weighs all rows alike, so that the Markov network is not normalized."""
    from counterpane.features import Potential

    return Potential((0,), [log, log])


def planted(model, n, rng):
    """Rows of a model with one cell in each of some rows changed to its least probable state."""
    table = model.sample(n, random_state=int(rng.integers(2**31)), as_intervals=True)
    codes = table.codes.astype(np.int64)
    logs = model.full_conditionals(table)
    ends = np.cumsum(model.schema.cards)
    where = {}
    for row in rng.choice(n, 10, replace=False).tolist():
        worst = [logs[row, end - r : end] for end, r in zip(ends, model.schema.cards, strict=True)]
        v = int(np.argmin([w.min() for w in worst]))
        codes[v, row] = int(worst[v].argmin())
        where[row] = model.schema.names[v]
    return cp.Table(model.schema, codes), where


@pytest.mark.skipif(not NETWORKS.is_dir(), reason="COUNTERPANE_DATA has no networks folder")
@pytest.mark.parametrize("name", ["asia", "alarm", "insurance", "child"])
def test_planted_cells_are_found(name):
    model = cp.load(NETWORKS / f"{name}.bif.gz")
    rng = np.random.default_rng(1)
    table, where = planted(model, 1000, rng)
    learned = cp.HillClimb().fit(model.sample(4000, random_state=3)).model_
    for judge in (model, learned):
        found = judge.odd_rows(table, 40, cells=3)
        hits = [odd for odd in found if odd.row in where]
        assert len(hits) >= 7  # of 10, among 40 of 1000
        named = [odd for odd in hits if where[odd.row] in [c.column for c in odd.cells]]
        assert len(named) >= len(hits) - 2


def test_a_column_of_many_states_is_not_odd_and_gaps_are_no_excuse():
    rng = np.random.default_rng(0)
    n = 3000
    a = rng.integers(0, 2, n)
    frame = pd.DataFrame({
        "many": pd.Series(rng.integers(0, 30, n)).map("m{}".format),
        "a": a, "b": a, "c": a,
    })  # fmt: skip
    frame.loc[frame.index[:2900], "many"] = None  # almost always missing
    frame.loc[17, "b"] = 1 - frame.loc[17, "b"]
    model = cp.ChowLiu().fit(cp.Table.from_frame(frame[["a", "b", "c"]])).model_
    schema = Schema([Variable("many", tuple(f"m{k}" for k in range(30))), *model.schema])
    tables = [np.full(30, 1 / 30), *model.tables]
    whole = cp.BayesianNetwork(schema, Dag(4, [(x + 1, y + 1) for x, y in model.dag.edges]), tables)
    first, second, *_ = whole.odd_rows(frame, 5)
    assert first.row == 17 and first.cells[0].column in ("b", "a", "c")
    assert first.excess > second.excess + 3
    assert all(cell.column != "many" for odd in whole.odd_rows(frame, 50) for cell in odd.cells)


def test_unknown_states_and_impossible_rows_come_first():
    schema = Schema([Variable(n, ("no", "yes")) for n in "abc"])
    tables = [[0.3, 0.7], [[1, 0], [0, 1]], [0.01, 0.99]]
    model = cp.BayesianNetwork(schema, Dag(3, [(0, 1)]), tables)
    frame = {
        "a": ["no", "yes", "no", "yes", "yes"],
        "b": ["no", "yes", "yes", "yes", "yes"],
        "c": ["yes", "no", "yes", "maybe", "yes"],
    }
    found = model.odd_rows(frame)
    assert {found[0].row, found[1].row} == {2, 3}
    assert found[0].log_prob == found[1].log_prob == -np.inf
    strange = next(odd for odd in found if odd.row == 3)
    assert strange.cells[0] == ("c", "maybe", 0.0, "yes", pytest.approx(0.99))
    assert found[2].row == 1 and found[2].cells[0].probability == pytest.approx(0.01)


def test_a_dependency_network_uses_its_conditionals():
    table = cp.load_dataset("titanic")
    model = cp.DependencyNetworkLearner().fit(table).model_
    found = model.odd_rows(table, 3)
    total = model.pseudo_log_likelihood(table, total=True)
    assert found[0].log_prob == pytest.approx(total.min())
    assert found[0].row == int(total.argmin())


def test_wrong_input_is_told():
    model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    with raises(DataError, about="'cabin'"):
        model.odd_rows({"cabin": ["a"]})
    for method in (model.odd_rows, model.impute):
        with raises(DataError, about="rows"):
            method({"sex": []})
    for name, value in (("n", 0), ("n", 2.5), ("cells", 0)):
        with raises(ParameterError, parameter=name, value=value):
            model.odd_rows(cp.load_dataset("titanic"), **{name: value})


def test_the_command(run, tmp_path):
    frame = cp.load_dataset("titanic").to_pandas()
    frame.loc[700, ["status", "age"]] = ["crew", "child"]  # there was no child in the crew
    frame["sex"] = frame["sex"].astype(str)
    frame.loc[3, "sex"] = "malee"
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert run("learn", "titanic", "-o", "m.cp", "-q")[0] == 0
    code, out, _ = run("score", "m.cp", "t.csv", "--rows", "-n", "3", "--json")
    rows = json.loads(out)["rows"]
    assert code == 0 and len(rows) == 3
    assert rows[0]["row"] == 4 and rows[0]["cells"][0]["value"] == "malee"
    assert rows[0]["log_prob"] is None and rows[0]["cells"][0]["probability"] == 0
    assert rows[1]["row"] == 701
    assert {c["column"] for c in rows[1]["cells"]} >= {"status", "age"}
    code, out, _ = run("score", "m.cp", "t.csv", "--rows", "-n", "2")
    assert code == 0 and "701" in out and "malee" in out
    run("score", "m.cp", "t.csv", "--rows", "-o", "odd.csv")
    odd = pd.read_csv("odd.csv")
    assert len(odd) == 20 and odd["row"].tolist()[:2] == [4, 701]
    assert run("score", "m.cp", "t.csv", "-o", "x.csv")[0] == 2
