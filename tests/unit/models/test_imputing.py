"""Gaps filled by models: right against brute force, calibrated, and nothing else is touched."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import counterpane as cp
from counterpane.data.schema import Schema, Variable
from counterpane.errors import DataError, ParameterError
from counterpane.graphs import Dag
from error_checks import raises, warns


def small_network(seed=0):
    """Four variables in a diamond, with skewed tables."""
    schema = Schema([Variable(n, tuple(f"{n}{k}" for k in range(r))) for n, r in
                     (("a", 2), ("b", 3), ("c", 2), ("d", 3))])  # fmt: skip
    dag = Dag(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    rng = np.random.default_rng(seed)
    tables = [
        rng.dirichlet(np.ones(schema.cards[i]) / 2, tuple(schema.cards[list(dag.parents(i))]))
        for i in range(4)
    ]
    return cp.BayesianNetwork(schema, dag, tables)


def joint_table(network):
    """P(all variables) by the product of the tables, without the library's inference."""
    cards = network.schema.cards.tolist()
    joint = np.ones(cards)
    for states in itertools.product(*map(range, cards)):
        for i, table in enumerate(network.tables):
            joint[states] *= table[tuple(states[v] for v in (*network.dag.parents(i), i))]
    return joint


def given(joint, row):
    """P(variables | those of the row that are not None), with the observed axes kept."""
    part = joint.copy()
    for axis, code in enumerate(row):
        if code is not None:
            mask = np.zeros(joint.shape[axis])
            mask[code] = 1
            part *= mask.reshape([-1 if k == axis else 1 for k in range(joint.ndim)])
    return part / part.sum()


def test_every_pattern_agrees_with_brute_force():
    network = small_network()
    joint, cards = joint_table(network), network.schema.cards.tolist()
    rows = list(itertools.product(*([None, *range(r)] for r in cards)))
    frame = {
        v.name: [None if row[i] is None else v.states[row[i]] for row in rows]
        for i, v in enumerate(network.schema)
    }
    cells = {(c.row, c.column): c for c in network.impute(frame, cells=True)}
    filled = network.impute(frame)
    assert len(cells) == sum(code is None for row in rows for code in row)
    for r, row in enumerate(rows):
        table = given(joint, row)
        for i, v in enumerate(network.schema):
            if row[i] is not None:
                assert filled[v.name][r] == frame[v.name][r]
                continue
            p = table.sum(axis=tuple(k for k in range(4) if k != i))
            cell = cells[r, v.name]
            assert cell.probability == pytest.approx(p.max(), abs=1e-12)
            assert p[v.code(cell.value)] == pytest.approx(p.max(), abs=1e-12)
            assert filled[v.name][r] == cell.value


def drawn_shares(frames, names, schema):
    codes = [[schema[n].code(s) for f in frames for s in f[n]] for n in names]
    counts = np.zeros(schema.cards[[schema.index(n) for n in names]])
    np.add.at(counts, tuple(map(np.array, codes)), 1)
    return counts / counts.sum(), counts.sum()


@pytest.mark.parametrize("kind", ["network", "markov", "mixture", "dependency"])
def test_draws_follow_the_joint_distribution_of_the_gaps(kind):
    network = small_network(2)
    model = {
        "network": lambda: network,
        "markov": lambda: cp.MarkovNetwork(network.schema, network.to_potentials()),
        "mixture": lambda: cp.Mixture([network, network], [1, 3]),
        "dependency": lambda: cp.DependencyNetwork(
            network.schema, [[p for p in network.to_potentials() if v in p.scope] for v in range(4)]
        ),
    }[kind]()
    n = 4000
    frame = {"a": [None] * n, "b": [None] * n, "d": ["d1"] * n}
    draws = model.impute(frame, draws=3, random_state=0)
    shares, total = drawn_shares(draws, ["a", "b"], network.schema)
    wanted = given(joint_table(network), (None, None, None, 1)).sum(axis=(2, 3))
    error = np.sqrt(wanted * (1 - wanted) / total)
    assert (np.abs(shares - wanted) < 4.5 * error + 1e-9).all()
    assert draws[0] != draws[1]
    same = np.mean([x == y for x, y in zip(draws[0]["a"], draws[1]["a"], strict=True)])
    p = wanted.sum(axis=1)
    assert same == pytest.approx((p**2).sum(), abs=4.5 * 0.5 / np.sqrt(n))  # as if independent


def test_draws_are_repeatable():
    network = small_network()
    frame = {"a": [None] * 50, "b": ["b0", None] * 25}
    first = network.impute(frame, draws=2, random_state=3)
    assert network.impute(frame, draws=2, random_state=3) == first
    assert network.impute(frame, draws=2, random_state=4) != first


@pytest.mark.parametrize("name", ["titanic", "iris", "wine", "monks1"])
def test_hidden_cells_are_predicted_better_than_by_their_column_and_calibrated(name):
    whole = cp.load_dataset(name)
    rng = np.random.default_rng(11)
    order = rng.permutation(whole.n_rows)
    train, test = whole.take(order[::2]), whole.take(order[1::2])
    model = cp.HillClimb().fit(train).model_
    hidden = rng.random(test.codes.shape) < 0.15
    holes = cp.Table(test.schema, np.where(hidden, test.schema.cards[:, None], test.codes))
    losses, base_losses, hits, shares = [], [], [], []
    for cell in model.impute(holes, cells=True):
        v = test.schema.index(cell.column)
        truth = test.schema[v].states[test.codes[v, cell.row]]
        counts = np.bincount(train.codes[v], minlength=test.schema[v].card)
        base = (counts.max() + 1) / (counts.sum() + len(counts))
        hit = truth == cell.value
        base_hit = truth == test.schema[v].states[counts.argmax()]
        losses.append(-np.log(cell.probability if hit else 1 - cell.probability))
        base_losses.append(-np.log(base if base_hit else 1 - base))
        hits.append(hit)
        shares.append(cell.probability)
    hits, shares = np.array(hits, dtype=float), np.array(shares)
    assert len(hits) == hidden.sum()
    gain = np.array(base_losses) - np.array(losses)
    assert gain.mean() > 2 * gain.std() / np.sqrt(len(gain)) or name == "monks1"
    # The mean probability of the filled values is the share that is right, in each third as well.
    for some in np.array_split(np.argsort(shares), 3):
        spread = np.sqrt((shares[some] * (1 - shares[some])).sum()) / len(some)
        assert abs(hits[some].mean() - shares[some].mean()) < 4 * spread + 0.04


def test_all_kinds_of_models_fill_all_gaps():
    table = cp.load_dataset("titanic")
    rng = np.random.default_rng(0)
    gaps = rng.random(table.codes.shape) < 0.3
    holes = cp.Table(table.schema, np.where(gaps, table.schema.cards[:, None], table.codes))
    dependency = cp.DependencyNetworkLearner().fit(table).model_
    models = [
        cp.ChowLiu().fit(table).model_,
        cp.to_markov_network(dependency),
        dependency,
        cp.HybridRandomFieldLearner().fit(table).model_,
    ]
    models.append(cp.Mixture([models[0], models[0]]))
    some = holes.take(np.arange(300))
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cp.InexactAnswer)
            filled = model.impute(some)
            (drawn,) = model.impute(some, draws=1, random_state=0)
            cells = model.impute(some, cells=True)
        for done in (filled, drawn):
            assert not done.has_missing.any()
            assert (done.codes == table.codes[:, :300])[~gaps[:, :300]].all()
        for cell in cells[:40]:
            row = {n: some.column(n)[cell.row] for n in some.schema.names}
            evidence = {n: s for n, s in row.items() if s is not None}
            answer = model.query(cell.column, evidence)
            near = 1e-9 if answer.certainty is None else 0.03  # of Gibbs sampling
            assert cell.probability == pytest.approx(answer[cell.value], abs=near)


def test_a_dependency_network_fills_single_gaps_exactly():
    table = cp.load_dataset("titanic")
    model = cp.DependencyNetworkLearner().fit(table).model_
    frame = {n: table.column(n)[:5].tolist() for n in table.schema.names}
    frame["survived"] = [None] * 5
    cells = model.impute(frame, cells=True)
    for cell in cells:
        row = {n: frame[n][cell.row] for n in frame if n != "survived"}
        answer = model.query("survived", row)
        assert cell.probability == pytest.approx(answer[cell.value], abs=1e-12)


def test_too_large_tables_are_filled_by_sampling_with_a_warning(monkeypatch):
    network = small_network()
    calls = []

    def too_large(*_, **__):
        calls.append(1)
        raise cp.tools.imputing.TableSizeError("the table would have 2^40 cells; use fewer")

    frame = {"a": [None, "a0"], "b": [None, None], "d": ["d1", "d2"], "c": ["c0", None]}
    exact = network.impute(frame, cells=True)
    monkeypatch.setattr(type(network.engine), "ask_rows", too_large)
    with warns(cp.InexactAnswer, about="Gibbs"):
        cells = network.impute(frame, cells=True)
    assert calls
    for ours, sure in zip(cells, exact, strict=True):
        assert ours.probability == pytest.approx(sure.probability, abs=0.05)


def test_a_gap_is_never_filled_with_the_missing_state():
    rng = np.random.default_rng(0)
    n = 600
    x = rng.integers(0, 3, n)
    frame = pd.DataFrame({"x": x, "y": np.where(x == 2, None, np.where(x == 1, "p", "q"))})
    table = cp.Table.from_frame(frame).resolve_missing("state")
    model = cp.ChowLiu().fit(table).model_
    assert model.query("y", {"x": 2})[None] > 0.9
    filled = model.impute(frame)
    assert not filled["y"].isna().any()
    (cell, *_) = model.impute(frame.iloc[np.flatnonzero(x == 2)[:1]], cells=True)
    answer = model.query("y", {"x": 2})
    rest = {s: answer[s] / (1 - answer[None]) for s in ("p", "q")}
    assert cell.probability == pytest.approx(max(rest.values()))
    for drawn in model.impute(frame, draws=2, random_state=0):
        assert set(drawn["y"]) == {"p", "q"}
    mixture = cp.Mixture([model, model])
    assert mixture.impute(frame, cells=True)[0].probability == pytest.approx(cell.probability)


def test_rows_that_the_model_forbids_are_filled_as_if_nothing_were_known():
    schema = Schema([Variable(n, ("no", "yes")) for n in "abc"])
    tables = [[0.3, 0.7], [[1, 0], [0, 1]], [0.2, 0.8]]
    model = cp.BayesianNetwork(schema, Dag(3, [(0, 1)]), tables)
    frame = {"a": ["no"], "b": ["yes"], "c": [None]}
    (cell,) = model.impute(frame, cells=True)
    assert cell[:3] == (0, "c", "yes") and cell.probability == pytest.approx(0.8)
    (drawn,) = model.impute(frame, draws=1, random_state=0)
    assert (drawn["a"], drawn["b"]) == (["no"], ["yes"]) and drawn["c"][0] in ("no", "yes")


def messy(n=500):
    rng = np.random.default_rng(4)
    x = rng.normal(10, 3, n)
    return pd.DataFrame(
        {
            "x": x.round(2),
            "count": (x * 30).round().astype(int),
            "k": rng.integers(0, 4, n),
            "c": pd.Categorical(np.where(x > 10, "hi", "lo"), categories=["lo", "hi", "never"]),
            "t": np.where(x > 8, "a", "b"),
            "flag": x > 9,
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta((x * 30).round(), unit="D"),
            "zone": pd.Timestamp("2020-01-01", tz="Europe/Paris")
            + pd.to_timedelta((x * 30).round(), unit="D"),
            "dur": pd.to_timedelta((x * 3600).round(), unit="s"),
            "note": [f"n{i}" for i in range(n)],
        },
        index=[f"r{i}" for i in range(n)],
    )


@pytest.fixture(scope="module")
def messy_case():
    """(model, frame with gaps, which cells are gaps) of numbers, dates, categories and more."""
    frame = messy()
    table = cp.Table.from_frame(frame.drop(columns="note"), discretize="quantile")
    model = cp.ChowLiu().fit(table).model_
    holes = frame.astype({"flag": object, "count": "Int64"})
    gaps = np.random.default_rng(1).random(frame.shape) < 0.2
    gaps[:, frame.columns.get_loc("note")] = False
    for j, name in enumerate(frame.columns):
        holes.loc[gaps[:, j], name] = None
    return model, holes, gaps


def test_pandas_frames_keep_index_types_and_observed_cells(messy_case):
    model, holes, gaps = messy_case
    before = holes.copy()
    filled = model.impute(holes)
    pd.testing.assert_frame_equal(holes, before)
    assert not filled.isna().any().any()
    assert filled.index.equals(holes.index)
    assert filled.dtypes.equals(holes.dtypes)
    for j, name in enumerate(holes.columns):
        assert filled[name][~gaps[:, j]].equals(holes[name][~gaps[:, j]])
    near = (filled["x"] - messy()["x"])[gaps[:, 0]].abs()
    assert near.median() < 2  # of a standard deviation of 3, by the columns beside it
    for drawn in model.impute(holes, draws=2, random_state=0):
        assert drawn.dtypes.equals(holes.dtypes) and not drawn.isna().any().any()


@pytest.mark.parametrize("library", ["polars", "pyarrow", "mapping", "records"])
def test_other_frames_keep_types_and_observed_cells(messy_case, library):
    model, holes, _ = messy_case
    plain = holes.reset_index(drop=True).astype({"flag": "boolean"})
    frame = {
        "polars": lambda: pl.from_pandas(plain),
        "pyarrow": lambda: pa.Table.from_pandas(plain, preserve_index=False),
        "mapping": lambda: {n: pl.from_pandas(plain)[n].to_list() for n in plain.columns},
        "records": lambda: plain[["x"]].to_records(index=False),
    }[library]()
    filled = model.impute(frame)
    if library == "records":
        assert not np.isnan(filled["x"]).any()
        kept = ~np.isnan(frame["x"])
        assert (filled["x"][kept] == frame["x"][kept]).all()
        return
    rows = [pl.DataFrame(f) if library == "mapping" else pl.from_arrow(f)
            if library == "pyarrow" else f for f in (frame, filled)]  # fmt: skip
    assert type(filled) is type(frame)
    if library != "mapping":
        assert rows[1].schema == rows[0].schema
    for name in rows[0].columns:
        kept = rows[0][name].is_not_null()
        assert rows[1][name].is_not_null().all()
        assert rows[1].filter(kept)[name].to_list() == rows[0].filter(kept)[name].to_list()


def test_arrays_are_filled_by_place():
    frame = messy()[["x", "count"]]
    model = cp.ChowLiu().fit(cp.Table.from_frame(frame, discretize="quantile")).model_
    array = frame.to_numpy(dtype=float)
    array[::7, 0] = np.nan
    filled = model.impute(array)
    assert not np.isnan(filled).any() and np.isnan(array[0, 0])
    assert (filled[:, 1] == array[:, 1]).all()


def test_numbers_are_the_medians_of_their_intervals_and_draws_lie_in_them():
    frame = messy()
    model = (
        cp.ChowLiu()
        .fit(cp.Table.from_frame(frame[["x", "count", "t"]], discretize="quantile"))
        .model_
    )
    cuts = np.array(model.schema["count"].cuts)
    place = np.searchsorted(cuts, frame["count"], side="right")
    for value in {
        c.value for c in model.impute({"count": [None] * 3, "x": [5.0, 10, 15]}, cells=True)
    }:
        inside = frame["count"][place == np.searchsorted(cuts, value, side="right")]
        assert isinstance(value, int)
        assert abs((inside < value).mean() - 0.5) < 0.06
    n = 3000
    (drawn,) = model.impute({"count": [None] * n, "x": [None] * n}, draws=1, random_state=0)
    for name in ("count", "x"):
        ours, theirs = np.sort(drawn[name]), np.sort(frame[name])
        grid = np.quantile(theirs, [0.1, 0.25, 0.5, 0.75, 0.9])
        shares = [np.searchsorted(v, grid) / len(v) for v in (ours, theirs)]
        assert np.abs(shares[0] - shares[1]).max() < 4 * 0.5 / np.sqrt(n) + 0.02


def test_a_model_without_quantiles_takes_the_numbers_of_the_frame(tmp_path):
    schema = Schema([Variable("x", ("<1", "[1, 5)", "≥5"), (1.0, 5.0)), Variable("y", ("a", "b"))])
    tables = [[0.2, 0.5, 0.3], [[1, 0], [0.9, 0.1], [0.1, 0.9]]]
    model = cp.BayesianNetwork(schema, Dag(2, [(0, 1)]), tables)
    frame = {"x": [None, 2.0, 3.0, 9.0, 7.0, 8.0], "y": ["b", "a", "a", "b", "b", "b"]}
    assert model.impute(frame)["x"][0] == 8.0
    assert model.impute({"x": [None], "y": ["b"]})["x"] == [5.0]
    assert model.impute({"x": [None], "y": ["a"]})["x"] == [3.0]


def test_unknown_states_and_columns_stay(tmp_path):
    model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    frame = {"sex": ["other", None], "survived": [None, "yes"], "cabin": [None, 3]}
    filled = model.impute(frame)
    assert filled["sex"] == ["other", "male"] or filled["sex"] == ["other", "female"]
    assert filled["cabin"] == [None, 3] and filled["survived"][1] == "yes"
    prior = model.query("survived")
    (cell, *_) = model.impute(frame, cells=True)
    assert cell.probability == pytest.approx(max(prior.to_dict().values()))
    with raises(DataError, about="'cabin'"):
        model.impute({"cabin": [None]})
    for wrong in (0, 2.5, -1, 10**6):
        with raises(ParameterError, parameter="draws"):
            model.impute(frame, draws=wrong)


def test_a_frame_without_gaps_comes_back(messy_case):
    model, *_ = messy_case
    frame = messy()
    pd.testing.assert_frame_equal(model.impute(frame), frame)
    assert model.impute(frame, cells=True) == []
    assert len(model.impute(frame, draws=2)) == 2


def test_the_command(run, tmp_path):
    frame = messy().drop(columns=["dur", "zone"])
    gaps = np.random.default_rng(1).random(frame.shape) < 0.1
    holes = frame.mask(gaps)
    holes["note"] = frame["note"]
    holes.loc["r3", "x"] = None
    holes.to_csv(tmp_path / "holes.csv", index=False)
    text = (tmp_path / "holes.csv").read_text().replace("\n,", "\n?,", 1)
    (tmp_path / "holes.csv").write_text(text)
    assert run("learn", "holes.csv", "-o", "m.cp", "--missing", "em", "-q")[0] == 0
    code, out, _ = run("impute", "m.cp", "holes.csv", "-o", "f.csv", "--probabilities", "p.csv")
    assert code == 0 and "Saved to f.csv" in out
    filled, before = pd.read_csv("f.csv"), pd.read_csv("holes.csv", na_values=["?"])
    assert list(filled.columns) == list(before.columns) and not filled.isna().any().any()
    for name in before.columns:
        kept = before[name].notna()
        assert (filled[name][kept] == before[name][kept]).all()
    cells = pd.read_csv("p.csv")
    assert len(cells) == before.isna().sum().sum()
    for _, row, name, value, _ in cells.itertuples(name=None):
        cell = filled[name][row - 1]
        assert str(cell) == value or float(cell) == float(value)
    assert cells["probability"].between(0, 1).all()
    assert run("impute", "m.cp", "holes.csv", "-o", "d.csv", "--draws", "2", "--seed", "1")[0] == 0
    one, two = pd.read_csv("d-1.csv"), pd.read_csv("d-2.csv")
    assert not one.equals(two) and not one.isna().any().any()
    code, out, _ = run("impute", "m.cp", "holes.csv")
    assert code == 0 and out.splitlines()[0] == ",".join(before.columns)
    code, _, errors = run("impute", "m.cp", "holes.csv", "--draws", "2")
    assert code == 2 and "name their files with --output" in errors
    run("learn", "titanic", "--target", "survived", "-o", "s.cp", "-q")
    code, _, errors = run("impute", "s.cp", "titanic")
    assert code == 2 and "`impute` fills whole rows" in errors


def test_a_word_for_missing_is_a_gap_and_an_odd_text_among_numbers_is_not(run, tmp_path):
    rng = np.random.default_rng(0)
    values = [f"{v:.2f}" for v in rng.normal(0, 1, 400)]
    values[5], values[6], values[7] = "broken", "NA", ""
    values[8:12] = ["k.A."] * 4
    lines = ["x,y", *(f"{v},{'p' if i % 2 else 'q'}" for i, v in enumerate(values))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    run("learn", "t.csv", "-o", "m.cp", "--missing", "em", "-q")
    code, out, errors = run("impute", "m.cp", "t.csv", "-o", "f.csv")
    assert code == 0 and "6 cells filled in 6 rows" in out
    assert "5 cells that are no number, such as 'broken', are taken as missing" in errors
    assert "1 such cell stays as written" in errors
    filled = (tmp_path / "f.csv").read_text().splitlines()
    assert filled[6] == "broken,p"
    assert all(float(line.split(",")[0]) for line in filled[7:13])
    assert filled[1:6] == lines[1:6] and filled[13:] == lines[13:]
