"""Odd cells and weights of tables: each value keeps its place, or is refused in one sentence."""

from __future__ import annotations

import sqlite3

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterpane as cp
from counterpane.counts.blocks import FileSource
from counterpane.counts.engines.sql import SqlSource
from counterpane.data.columns import columns_of
from counterpane.data.encoding import encode_column
from counterpane.data.number_formats import widened
from counterpane.errors import DataError, WeightError
from error_checks import raises

# ---- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [[1e308, 1e308, 1.0], [1e200, 1.0, 1.0], [1e-320, 0.0, 0.0]])
def test_weights_whose_sum_is_no_use_are_refused(weights, tmp_path):
    frame = pd.DataFrame({"a": ["x", "y", "x"], "b": ["u", "v", "v"], "w": weights})
    with raises(WeightError, about="weights"):
        cp.Table.from_frame(frame, weights="w")
    with raises(WeightError, about="weights"):
        cp.InteractionClassifier().fit(frame[["a"]], frame["b"], sample_weight=weights)
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    with raises(WeightError, about="weights"):
        FileSource(path, weights="w")
    connection = sqlite3.connect(":memory:")
    frame.to_sql("t", connection)
    with pytest.raises(WeightError, match="sum"):
        SqlSource(connection, "t", columns=["a", "b"], weights="w")


# ---- unknown cells -------------------------------------------------------------------------------


def unknown_rows():
    rng = np.random.default_rng(0)
    a = rng.choice(np.array(["x", "y", None], dtype=object), 400)
    likely = np.where(pd.isna(a), 0.2, 0.7)
    frame = pd.DataFrame({"a": a, "b": np.where(rng.random(400) < likely, "yes", "no")})
    new = pd.DataFrame({"a": ["z", "x", None], "c": ["p", "q", "p"]})
    schema = cp.Schema([cp.Variable("a", ("x", "y", None)), cp.Variable("c", ("p", "q"))])
    table = cp.Table.from_frame(new, schema=schema, unseen="unknown")
    assert table.codes[0].tolist() == [3, 0, 2]  # an unknown cell is not the missing one
    return frame.assign(c=rng.choice(["p", "q"], 400)), new, table


@pytest.mark.parametrize(
    "learner",
    [
        cp.InteractionClassifier(),
        cp.InteractionClassifier(parts="trees"),
        cp.MarkovClassifier(),
        cp.TAN(),
        cp.NaiveBayes(),
        cp.BayesNetClassifier(),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_an_unknown_cell_of_a_table_is_that_of_the_frame(learner):
    frame, new, table = unknown_rows()
    learner.fit(frame, "b")
    by_frame, by_table = learner.predict_proba(new), learner.predict_proba(table)
    np.testing.assert_array_equal(by_table, by_frame)
    assert abs(by_frame[0, 1] - by_frame[2, 1]) > 0.2


def test_a_model_asked_by_table_answers_as_by_frame():
    frame, new, table = unknown_rows()
    model = cp.StructureSearch(missing="state").fit(frame).model_
    expected = model.query_many("b", new, unseen="unknown").probabilities
    for rows in (table, table.select([1, 0]), table.select([0])):
        answers = model.query_many("b", rows, unseen="unknown").probabilities
        np.testing.assert_allclose(answers, expected, rtol=0, atol=1e-12)


# ---- rows that change ----------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize("keep", [0, 65_536])
def test_rows_that_change_between_scans_are_noticed(weights, keep):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a TEXT, b TEXT, w REAL)")
    rows = [("xy"[i % 2], "uv"[i % 3 // 2], 1.5) for i in range(300)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    source = SqlSource(connection, "t", columns=["a", "b"], weights=weights, keep_distinct=keep)
    if not keep:
        assert source.counts([["a"]])[0].sum() == source.total_weight
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    for scan in (
        lambda: source.counts([["a", "b"]]),
        lambda: source.pair_counts(),
        lambda: source.map_reduce(lambda codes, _: codes.shape[1], [0]),
    ):
        with raises(DataError, about='"t"'):
            scan()


# ---- numbers -------------------------------------------------------------------------------------


def test_narrow_numbers_are_read_as_they_are_written():
    rng = np.random.default_rng(0)
    sizes = rng.normal(0, 1, 2000) * 10.0 ** rng.integers(-6, 7, 2000)
    wide = np.array([float(f"{x:.{d}g}") for d in range(1, 7) for x in sizes])
    np.testing.assert_array_equal(widened(wide.astype(np.float32)), wide)
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3e-45, 3.4e38], dtype=np.float32)
    np.testing.assert_array_equal(widened(odd).astype(np.float32), odd)
    random = rng.integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
    np.testing.assert_array_equal(widened(random).astype(np.float32), random)
    finite = random[np.isfinite(random)]
    np.testing.assert_allclose(widened(finite), [float(str(x)) for x in finite], rtol=1e-14)


def label_holds(label: str, value: float) -> bool:
    """Whether a value lies in the interval that a label names."""
    if label == "all":
        return True
    if label[0] == "<":
        return value < float(label[1:])
    if label[0] == "≥":
        return value >= float(label[1:])
    low, high = label[1:-1].split(", ")
    return float(low) <= value < float(high)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rule", ["quantile", "mdl"])
@pytest.mark.parametrize("seed", range(6))
def test_values_lie_in_the_interval_of_their_label(dtype, rule, seed, tmp_path):
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 10.0 ** rng.integers(-3, 4), 300)
    values = np.array([float(f"{v:.{rng.integers(1, 5)}g}") for v in values])
    values[:20] = -0.02
    frame = pd.DataFrame({"x": values.astype(dtype), "y": np.where(values >= -0.02, "p", "q")})
    table = cp.Table.from_frame(frame, discretize=rule, target="y")
    variable = table.schema["x"]
    for value in values:
        assert label_holds(variable.states[variable.code(float(value))], value)
    assert [variable.states[c] for c in table.codes[0]] == [
        variable.states[variable.code(float(v))] for v in values
    ]
    path = tmp_path / "x.parquet"
    pq.write_table(pa.Table.from_pandas(frame), path)
    assert FileSource(path, discretize=rule, target="y").schema["x"] == variable


def test_numbers_beyond_doubles_stay_apart(tmp_path):
    cells = [10**30, 10**30 + 1, None, 10**30]
    table = cp.Table.from_frame({"n": cells, "b": [1, 2, 1, 2]})
    assert table.schema["n"].states == (10**30, 10**30 + 1)
    assert table.codes[0].tolist() == [0, 1, 2, 0]
    path = tmp_path / "n.csv"
    path.write_text(
        "n,b\n" + "\n".join(f"{c or ''},{b}" for c, b in zip(cells, "xyxy", strict=True)) + "\n"
    )
    read = cp.read(path)
    assert read.schema["n"].card == 2
    assert read.codes[0].tolist() == [0, 1, 2, 0]
    (column,) = columns_of({"n": [10**30, 10**30 + 1]})
    assert encode_column(column, table.schema["n"]).tolist() == [0, 1]


@pytest.mark.parametrize("rule", ["mdl", "quantile"])
@pytest.mark.parametrize("end", [np.inf, -np.inf])
def test_infinite_cells_do_not_hide_a_cut(rule, end, tmp_path):
    rng = np.random.default_rng(0)
    values = np.where(np.arange(200) % 2, rng.normal(size=200), end)
    frame = pd.DataFrame({"x": values, "y": np.where(np.isinf(values), "p", "q")})
    table = cp.Table.from_frame(frame, discretize=rule, target="y")
    infinite = table.codes[0][np.isinf(values)]
    finite = table.codes[0][~np.isinf(values)]
    assert not set(infinite) & set(finite)
    assert all(len(state) < 40 for state in table.schema["x"].states)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.Table.from_pandas(frame), path)
    assert FileSource(path, discretize=rule, target="y").schema["x"] == table.schema["x"]


@pytest.mark.parametrize(
    "learner", [cp.InteractionClassifier(), cp.InteractionClassifier(parts="trees"), cp.TAN()]
)
@pytest.mark.parametrize("end", [np.inf, -np.inf])
def test_an_infinite_number_is_predicted_as_a_missing_one(learner, end):
    rng = np.random.default_rng(0)
    x = np.where(rng.random(300) < 0.2, np.nan, rng.normal(size=300))
    frame = pd.DataFrame({"x": x, "y": np.where(np.nan_to_num(x) > 0.3, "p", "q")})
    learner.fit(frame, "y")
    shares = learner.predict_proba(pd.DataFrame({"x": [end, np.nan]}))
    np.testing.assert_array_equal(shares[0], shares[1])
    assert np.isfinite(shares).all()
