"""A table in a database: states, names, refusals, and learners that only send statements."""

from __future__ import annotations

import sqlite3
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from contract.count_source_suite import assert_counts, make_table, scopes_of_all_sizes
from counterpane.data import Table
from counterpane.errors import (
    DataError,
    DiscretizeError,
    ParameterError,
    StateError,
    UnknownNameError,
    WeightError,
)
from error_checks import raises

ODD = {
    'size "L"': ["b", "a", None, "a"],
    "select; --": [3, 1, 1, 2],
    "100%s ?": ["x'y", "é", "?", "%"],
}


class PlainConnection:
    """As little as the DB-API asks for: cursors, and nothing else."""

    def __init__(self, inner):
        self._inner = inner

    def cursor(self):
        return self._inner.cursor()


def sqlite_of(frame, name="t"):
    connection = sqlite3.connect(":memory:")
    frame.to_sql(name, connection, index=False)
    return connection


def plain_of(frame, name="t"):
    return PlainConnection(sqlite_of(frame, name))


def duckdb_of(frame, name="t"):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: extra [duckdb]")
    connection = duckdb.connect()
    connection.register("given", frame)
    connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given')
    connection.unregister("given")
    return connection


ENGINES = pytest.mark.parametrize("connect", [sqlite_of, plain_of, duckdb_of])


def titanic():
    table = cp.load_dataset("titanic")
    return table, pd.DataFrame({v.name: table.column(v.name) for v in table.schema})


@ENGINES
def test_states_are_those_of_a_frame(connect):
    frame = pd.DataFrame({**ODD, "flag": [True, False, True, None], "half": [0.0, 1.0, None, 7.0]})
    source = cp.SqlSource(connect(frame), "t")
    expected = Table.from_frame(frame)
    assert source.schema.names == expected.schema.names
    for ours, theirs in zip(source.schema, expected.schema, strict=True):
        assert ours.states == theirs.states
    assert source.has_missing.tolist() == expected.has_missing.tolist()
    memory = cp.MemoryCounts(expected)
    scopes = [list(s) for k in (1, 2, 3) for s in combinations(range(5), k)]
    for missing in ("drop", "state"):
        pairs = zip(source.counts(scopes, missing=missing), memory.counts(scopes, missing=missing),
                    strict=True)  # fmt: skip
        assert all(np.array_equal(a, b) for a, b in pairs)


@ENGINES
def test_columns_states_and_schema(connect):
    connection = connect(pd.DataFrame(ODD))
    name = "select; --"
    source = cp.SqlSource(connection, "t", columns=[name], states={name: [3, 2, 1, 0]})
    assert source.counts([[name]])[0].tolist() == [1, 1, 2, 0]
    again = cp.SqlSource(connection, "t", schema=source.schema)
    assert again.schema == source.schema
    assert again.counts([[name]])[0].tolist() == [1, 1, 2, 0]
    cut = Table.from_frame({name: [1, 2, 3, 4]}, discretize={name: [1.5]}).schema
    assert cp.SqlSource(connection, "t", schema=cut).counts([[name]])[0].tolist() == [2, 2]


def test_values_are_never_written_into_statements():
    nasty = "'); DROP TABLE t; --"
    connection = sqlite_of(pd.DataFrame({"a": [nasty, "b"], "b": [0, 1]}))
    sent = []
    connection.set_trace_callback(sent.append)
    source = cp.SqlSource(connection, "t")
    source.counts([["a", "b"]])
    source.distinct(["a"])
    source.pair_counts()
    assert sent
    assert not any("DROP" in statement for statement in sent)
    assert all(statement.startswith("SELECT") for statement in sent)
    assert connection.execute("SELECT COUNT(*) FROM t").fetchone() == (2,)


def test_statements_are_counted():
    table, frame = titanic()
    source = cp.SqlSource(sqlite_of(frame), "t", keep_distinct=0)
    assert source.n_queries == 2 + 4  # names, size, and the states of four columns
    assert source.rows_scanned == 5 * table.n_rows
    batch = source.counts([["sex"], ["sex", "age"], ["age", "sex"], ["survived", "status"], []])
    assert batch.scans == 2
    assert source.n_queries == 8
    source.pair_counts()
    source.distinct(["sex", "age"])
    assert source.n_queries == 10
    assert source.rows_scanned == 9 * table.n_rows


def test_pairs_are_grouped_where_that_sends_less():
    frame = pd.DataFrame({"a": [0, 1] * 8, "b": [0, 0, 1, 1] * 4, "c": [i % 6 for i in range(16)]})
    connection = sqlite_of(frame)
    source = cp.SqlSource(connection, "t", keep_distinct=0)
    sent = []
    connection.set_trace_callback(sent.append)
    assert source.pair_counts(["a"], against=["b"]).counts.tolist() == [[4, 4], [4, 4]]
    assert source.pair_counts().counts.sum() == 9 * 16
    assert ["GROUP BY" in statement for statement in sent] == [True, False]


@ENGINES
@pytest.mark.parametrize("weights", [None, "whole", "eighths"])
def test_kept_rows_give_the_same_counts(connect, weights):
    table = make_table((2, 3, 4, 2, 3), 900, missing=0.05, weights=weights)
    frame = pd.DataFrame({v.name: table.column(v.name) for v in table.schema}).astype("Int64")
    named = None if weights is None else "w"
    if named:
        frame["w"] = table.weights
    connection = connect(frame)
    scopes = scopes_of_all_sizes(5, seed=1)
    sent = []
    for limit in (0, 1, 60, 500, 65_536):
        source = cp.SqlSource(
            connection, "t", schema=table.schema, weights=named, keep_distinct=limit
        )
        before = source.n_queries
        for missing in ("drop", "state"):
            for scope in scopes:
                assert_counts(source, table, [scope], missing)
            assert_counts(source, table, scopes, missing)
        pairs = source.pair_counts([4, 0], against=[1, 0]).counts
        assert np.array_equal(
            pairs, cp.MemoryCounts(table).pair_counts([4, 0], against=[1, 0]).counts
        )
        rows, known = (s.distinct([3, 1]) for s in (source, cp.MemoryCounts(table)))
        assert np.array_equal(rows.codes, known.codes)
        assert rows.weights.tolist() == known.weights.tolist()
        sent.append(source.n_queries - before)
    assert sent[-1] == 1
    assert sent[0] > sent[2] > sent[3]
    assert sent[1] == sent[0] + 1  # one look at the first rows


def test_all_columns_are_kept_where_that_is_likely_to_work():
    rng = np.random.default_rng(0)

    def asked(columns, limit):
        source = cp.SqlSource(sqlite_of(pd.DataFrame(columns)), "t", keep_distinct=limit)
        before, scanned = source.n_queries, source.rows_scanned
        for name in columns:
            source.counts([[name]])
        source.pair_counts()
        return source.n_queries - before, source.rows_scanned - scanned

    few = {"a": [0, 1] * 500, "b": [0, 1, 2, 3] * 250, "c": [*range(10)] * 100}
    assert asked(few, 1000) == (1, 1000)  # by the rows
    assert asked(few, 80) == (1, 1000)  # by the joint states
    assert asked(few, 60) == (2, 1060)  # by the first rows, of which 20 differ
    assert asked(few, 39) == (1 + 3 + 1, 39 + 4 * 1000)
    many = {name: rng.integers(0, 9, 1000) for name in "abc"}
    assert asked(many, 200) == (1 + 3 + 1, 200 + 4 * 1000)  # the first rows differ
    late = {"a": [0] * 500 + [*range(10)] * 50, "b": [0] * 500 + [*range(10)] * 50,
            "c": [0] * 500 + rng.integers(0, 9, 500).tolist()}  # fmt: skip
    assert asked(late, 60) == (1 + 1 + 3 + 1, 60 + 5 * 1000)  # more came than expected
    wide = {f"x{i}": [0] * 200 + rng.integers(0, 2, 150).tolist() for i in range(64)}
    table = cp.Table.from_frame(wide)
    source = cp.SqlSource(sqlite_of(pd.DataFrame(wide)), "t", keep_distinct=200)
    assert_counts(source, table, [[0, 1], [5]])  # 151 differ: more than were looked at
    assert source._cache.find(range(64)) is not None
    wide = {f"x{i}": rng.integers(0, 2, 100) for i in range(64)}
    assert asked(wide, 100)[0] > 64
    assert asked(wide, 200)[0] == 1


def test_the_oldest_kept_rows_go_first():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(0, 8, 2000) for name in "abcd"})
    source = cp.SqlSource(sqlite_of(frame), "t", keep_distinct=20)
    before = source.n_queries
    source.counts([["a"]])
    source.counts([["b"]])
    assert source.n_queries == before + 3  # the first rows, a, b
    source.counts([["a"], ["b"]])
    assert source.n_queries == before + 3
    source.counts([["c"]])
    source.counts([["b"], ["c"]])
    assert source.n_queries == before + 4
    source.counts([["a"]])
    assert source.n_queries == before + 5
    with raises(ParameterError, parameter="keep_distinct", value=-1):
        cp.SqlSource(sqlite_of(frame), "t", keep_distinct=-1)


def test_rows_of_any_shape():
    connection = sqlite_of(pd.DataFrame({"a": [0, 1], "b": [1, 1]}))
    connection.row_factory = lambda cursor, row: dict(enumerate(row))
    source = cp.SqlSource(connection, "t")
    assert source.counts([["b", "a"]])[0].tolist() == [[1, 1]]


def test_a_stopped_call_leaves_no_lock(tmp_path):
    with sqlite3.connect(tmp_path / "rows.db") as connection:
        pd.DataFrame({"a": [0, 1] * 100_000}).to_sql("t", connection, index=False)
    source = cp.SqlSource(connection, "t", keep_distinct=0)
    with pytest.raises(ZeroDivisionError) as caught:
        source.map_reduce(lambda codes, weights: 1 / 0, [0])
    with sqlite3.connect(tmp_path / "rows.db", timeout=0) as other:
        other.execute("DELETE FROM t")
    del caught
    other.close()
    connection.close()


def test_a_stopped_call_leaves_no_answer_open():
    connection = duckdb_of(pd.DataFrame({"a": [0, 1] * 300_000}))
    source = cp.SqlSource(connection, "t", keep_distinct=0)
    with pytest.raises(ZeroDivisionError) as caught:
        source.map_reduce(lambda codes, weights: 1 / 0, [0])
    assert connection.execute("SELECT 5").fetchall() == [(5,)]
    assert source.counts([["a"]])[0].tolist() == [300_000, 300_000]
    del caught


def test_an_answer_of_the_callers_stays_open():
    connection = duckdb_of(pd.DataFrame({"a": [0, 1]}))
    connection.execute("SELECT 5")
    with raises(DataError, about='"t"'):
        cp.SqlSource(connection, "t")
    assert connection.fetchall() == [(5,)]
    assert cp.SqlSource(connection, "t").n_rows == 2


@ENGINES
def test_an_independence_test_is_one_statement(connect):
    table, frame = titanic()
    source = cp.SqlSource(connect(frame), "t", schema=table.schema)
    before = source.n_queries
    verdict = cp.BayesianTest().bind(source)("sex", "survived", ["status", "age"])
    assert source.n_queries == before + 1
    assert verdict == cp.BayesianTest().bind(cp.MemoryCounts(table))(
        "sex", "survived", ["status", "age"]
    )


def test_parquet_through_a_view(tmp_path):
    table, frame = titanic()
    frame.to_parquet(tmp_path / "it's.parquet")
    connection = duckdb_of(pd.DataFrame({"other": [1]}))
    path = str(tmp_path / "it's.parquet").replace("'", "''")
    connection.execute(f"CREATE VIEW passengers AS SELECT * FROM '{path}'")
    source = cp.SqlSource(connection, "passengers", schema=table.schema)
    expected = cp.MemoryCounts(table).counts([["sex", "survived"]])[0]
    assert np.array_equal(source.counts([["sex", "survived"]])[0], expected)


def test_types_of_duckdb():
    connection = duckdb_of(pd.DataFrame({"other": [1]}))
    connection.execute("CREATE TYPE grade AS ENUM ('low', 'mid', 'high')")
    connection.execute(
        "CREATE TABLE s AS SELECT 'high'::grade AS g, 'nan'::DOUBLE AS x, 1.5::DECIMAL(4,2) AS w"
        " UNION ALL SELECT NULL, 2.0, 0.25"
    )
    source = cp.SqlSource(connection, ("main", "s"), weights="w")
    assert [v.states for v in source.schema] == [("low", "mid", "high"), (2,)]
    assert source.has_missing.tolist() == [True, True]
    assert source.counts([["g"]])[0].tolist() == [0.0, 0.0, 1.5]
    assert source.total_weight == 1.75
    numbers = cp.SqlSource(connection, "s", columns=["w"], states={"w": [0.25, 1.5]})
    assert numbers.counts([["w"]])[0].tolist() == [1, 1]


@ENGINES
def test_rows_that_came_later(connect):
    connection = connect(pd.DataFrame({"a": ["x", "y"]}))
    source = cp.SqlSource(connection, "t")
    cursor = connection.cursor() if connect is plain_of else connection
    cursor.execute("INSERT INTO t VALUES ('z')")
    with raises(StateError, parameter="a", value="z"):
        source.counts([["a"]])
    cursor.execute("UPDATE t SET a = NULL WHERE a = 'z'")
    with raises(DataError, about="'a'"):
        source.counts([["a"]])
    cursor.execute("DELETE FROM t")
    with raises(DataError, about='"t"'):
        source.counts([["a"]])
    cursor.execute("DROP TABLE t")
    with raises(DataError, about='"t"'):
        source.counts([["a"]])


@ENGINES
def test_what_is_no_table(connect):
    connection = connect(pd.DataFrame({"a": ["x", "y"], "n": [0.5, 1.5], "w": [2, -1]}))
    with raises((DataError, ParameterError), about="table"):
        cp.SqlSource(connection, "tt")
    with raises((DataError, ParameterError), about="DROP"):
        cp.SqlSource(connection, "t; DROP TABLE t")  # a name, and nothing but a name
    for bad in ("", "a\0b", 3, ()):
        with pytest.raises((ParameterError, DataError)):
            cp.SqlSource(connection, bad)
    for options in ({"columns": ["b"]}, {"columns": ["a"], "weights": "ww"}):
        with raises(UnknownNameError, parameter="the table's column"):
            cp.SqlSource(connection, "t", **options)
    with raises(DiscretizeError, about=("'n'", "2 different real")):
        cp.SqlSource(connection, "t", columns=["n"])
    with raises(WeightError, about=("'w'", "0 missing cells")):
        cp.SqlSource(connection, "t", columns=["a"], weights="w")
    with pytest.raises((WeightError, DataError)):
        cp.SqlSource(connection, "t", columns=["n"], weights="a")


def test_an_empty_table_and_a_closed_connection():
    connection = sqlite_of(pd.DataFrame({"a": ["x"]}).iloc[:0])
    with raises(DataError, about='"t"'):
        cp.SqlSource(connection, "t")
    connection = sqlite_of(pd.DataFrame({"a": ["x"], "w": [2]}))
    source = cp.SqlSource(connection, "t", weights="w")
    assert (source.schema.names, source.n_rows, source.total_weight) == (("a",), 1, 2.0)
    connection.close()
    with raises(DataError, about='"t"'):
        source.counts([["a"]])


def test_weights_are_numbers_in_every_row():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a, w)")
    connection.execute("INSERT INTO t VALUES (0, 1), (1, 'x')")
    with raises(WeightError, about="'w'"):
        cp.SqlSource(connection, "t", weights="w")


def test_too_many_states():
    connection = sqlite_of(pd.DataFrame({"a": [f"id{i}" for i in range(70_000)]}))
    with raises(DataError, about="'a'"):
        cp.SqlSource(connection, "t")


def test_more_numbers_than_states_are_cut_by_a_schema():
    numbers = np.append(np.linspace(0, 1, 70_000), np.nan)
    schema = Table.from_frame({"x": [0.0, 1.0]}, discretize={"x": [0.25]}).schema
    source = cp.SqlSource(sqlite_of(pd.DataFrame({"x": numbers})), "t", schema=schema)
    assert source._cells([0]) == 70_001
    assert source.counts([["x"]])[0].tolist() == [17_500, 52_500]
    assert source.counts([["x"]], missing="state")[0].tolist() == [17_500, 52_500, 1]


def test_many_tables_come_from_one_scan_of_the_rows():
    rng = np.random.default_rng(0)
    columns = {f"x{i}": rng.integers(0, 3, 500).tolist() for i in range(12)}
    columns["x3"][7] = None
    weights = rng.integers(1, 4, 500).tolist()
    connection = sqlite3.connect(":memory:")
    names = [*columns, "w"]
    connection.execute(f"CREATE TABLE many ({', '.join(names)})")
    rows = list(zip(*columns.values(), weights, strict=True))
    connection.executemany(f"INSERT INTO many VALUES ({', '.join('?' * len(names))})", rows)
    source = cp.SqlSource(connection, "many", weights="w", keep_distinct=0)
    scopes = [list(scope) for scope in combinations(range(12), 3)]
    before, scanned = source.n_queries, source.rows_scanned
    batch = source.counts(scopes)
    assert source.n_queries == before + 1
    assert source.rows_scanned == scanned + 500
    for scope, table in zip(scopes[::20], list(batch)[::20], strict=True):
        expected = np.zeros((3, 3, 3), dtype=int)
        for row in rows:
            cell = tuple(row[v] for v in scope)
            if None not in cell:
                expected[cell] += row[-1]
        assert table.tolist() == expected.tolist()
    before = source.n_queries
    source.counts(scopes[:12])  # as many as columns: a statement each
    assert source.n_queries == before + 12
