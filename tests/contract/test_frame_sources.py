"""The conformance suite over lazy frames, and which source each of them gets."""

from __future__ import annotations

import importlib.util
import sqlite3
from functools import cache

import narwhals as newest
import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import counterpane as cp
from contract.count_source_suite import CountSourceSuite
from contract.test_learners_on_sources import LEARNERS, in_memory, table_of
from counterpane.counts import open as opening
from counterpane.data import Table
from counterpane.data.columns import n_rows
from counterpane.data.readers import streams
from counterpane.errors import DataError, ParameterError, StateError, TableSizeError
from counterpane.progress import Control, Stopped
from error_checks import raises

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: extra [duckdb]")
pytestmark = pytest.mark.filterwarnings(  # Ibis calls what DuckDB and pandas are about to drop
    "ignore:fetch_arrow_table:DeprecationWarning", "ignore:.*infer_string:DeprecationWarning"
)
WEIGHT = "how many"  # a name that must be quoted


def arrow_of(table):
    """The codes of a table as an Arrow table; missing cells are NULL."""
    missing = table.codes == table.schema.cards[:, None]
    columns = {
        v.name: pa.array(codes.astype(np.int32), mask=gaps)
        for v, codes, gaps in zip(table.schema, table.codes, missing, strict=True)
    }
    if table.weights is not None:
        columns[WEIGHT] = pa.array(table.weights)
    return pa.table(columns)


def polars_frame(arrow):
    return pl.from_arrow(arrow).lazy()


def duckdb_relation(arrow):
    connection = duckdb.connect()
    connection.register("given", arrow)
    connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    return connection.table("rows")


def ibis_table(arrow):
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed: extra [test]")
    backend = ibis.duckdb.connect()
    backend.con.register("given", arrow)
    backend.con.execute("CREATE TABLE rows AS SELECT * FROM given")
    return backend.table("rows")


def ibis_on_sqlite(arrow):
    """An engine that narwhals knows only through Ibis."""
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed: extra [test]")
    backend = ibis.sqlite.connect()
    names = {pa.string(): "TEXT", pa.float64(): "REAL"}
    kinds = [names.get(kind, "INTEGER") for kind in arrow.schema.types]
    fields = [f'"{n}" {k}' for n, k in zip(arrow.column_names, kinds, strict=True)]
    backend.con.execute(f"CREATE TABLE rows ({', '.join(fields)})")
    cells = zip(*(column.to_pylist() for column in arrow.columns), strict=True)
    marks = ", ".join("?" * len(kinds))
    backend.con.executemany(f"INSERT INTO rows VALUES ({marks})", cells)
    backend.con.commit()
    return backend.table("rows")


FRAMES = {"polars": polars_frame, "duckdb": duckdb_relation, "ibis": ibis_table}
EACH = pytest.mark.parametrize("lazy", [pytest.param(f, id=name) for name, f in FRAMES.items()])
ALL = pytest.mark.parametrize(
    "lazy",
    [pytest.param(f, id=n) for n, f in {**FRAMES, "ibis-sqlite": ibis_on_sqlite}.items()],
)


def source_of(lazy, **options):
    @cache  # tables are cached too, and a source only reads
    def make(table):
        weights = None if table.weights is None else WEIGHT
        return cp.FrameSource(
            lazy(arrow_of(table)), schema=table.schema, weights=weights, **options
        )

    return make


@pytest.mark.parametrize("make", [
    pytest.param(source_of(lazy, cache=False), id=name) for name, lazy in FRAMES.items()
] + [pytest.param(source_of(polars_frame), id="polars-packed")])  # fmt: skip
class TestFrameSource(CountSourceSuite):
    """Every promise, for every engine."""


@pytest.mark.filterwarnings("ignore::counterpane.UnsettledChains")  # of few samples
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("lazy", [polars_frame, duckdb_relation])
def test_a_learner_gives_the_same(lazy, name):
    kind = "weighted" if name in ("chow-liu", "tan", "hybrid") else "complete"
    make = source_of(lazy, cache=False)
    assert LEARNERS[name](make(table_of(kind, name))) == in_memory(name, kind)


# ---- states --------------------------------------------------------------------------------------


ROWS = pa.table({
    "smoke": ["yes", "no", "yes", None, "no", "no"],
    "packs": pa.array([3, 0, 1, None, 0, 0], pa.int16()),
    "score": [0.5, 1.5, 2.5, 3.5, float("nan"), 0.5],
    "n": pa.array([1, 2, 0, 3, 250, 1], pa.uint8()),
})  # fmt: skip


@ALL
@pytest.mark.parametrize("cached", [True, False])
def test_a_lazy_frame_is_a_table(lazy, cached):
    frame = lazy(ROWS)
    source = cp.read(frame, weights="n", discretize="quantile", cache=cached)
    assert type(source) is cp.FrameSource
    table = Table.from_frame(ROWS, weights="n", discretize="quantile")
    assert source.schema == table.schema
    assert source.schema["score"].cuts
    assert source.has_missing.tolist() == table.has_missing.tolist()
    memory = cp.MemoryCounts(table)
    assert np.array_equal(source.pair_counts().counts, memory.pair_counts().counts)
    for scope in (["smoke", "packs"], ["packs", "score"]):  # by the engine, and by us
        rows, expected = source.distinct(scope), memory.distinct(scope)
        assert np.array_equal(rows.codes, expected.codes)
        assert np.array_equal(rows.weights, expected.weights)
    assert rows.weights.sum() == 257  # more than a byte holds


@EACH
def test_fit_takes_lazy_frames(lazy):
    table = cp.load_dataset("titanic")
    arrow = pa.table({name: pa.array(table.column(name).tolist()) for name in table.schema.names})
    expected = cp.HillClimb("bic").fit(Table.from_frame(arrow))
    for frame in (lazy(arrow), nw.from_native(lazy(arrow)), newest.from_native(lazy(arrow))):
        found = cp.HillClimb("bic").fit(frame)
        assert found.graph_.edges == expected.graph_.edges
        assert found.score_ == expected.score_
        assert cp.ChowLiu().fit(frame).score_ == cp.ChowLiu().fit(arrow).score_


def test_queries_are_frames_too():
    frame = (
        polars_frame(ROWS).filter(pl.col("packs") < 2).select("smoke", twice=pl.col("packs") * 2)
    )
    source = cp.read(frame)
    assert source.schema["twice"].states == (0, 2)
    assert source.n_rows == 4
    relation = duckdb_relation(ROWS).filter("packs < 2").project("smoke, packs * 2 AS twice")
    assert cp.read(relation).schema == source.schema


@EACH
def test_a_column_may_be_called_weight(lazy):
    rows = pa.table({"weight": [1, 2, 2], "weight_": [0, 1, 1]})
    source = cp.FrameSource(lazy(rows), cache=False)
    found = source.distinct(["weight", "weight_"])
    assert (found.codes.tolist(), found.weights.tolist()) == ([[0, 1], [0, 1]], [1, 2])


def test_enums_declare_their_states():
    frame = pl.LazyFrame({
        "enum": pl.Series(["b", "a", None], dtype=pl.Enum(["b", "c", "a"])),
        "category": pl.Series(["y", "x", "y"], dtype=pl.Categorical),
    })  # fmt: skip
    source = cp.read(frame)
    assert source.schema == Table.from_frame(frame.collect()).schema
    assert [v.states for v in source.schema] == [("b", "c", "a"), ("x", "y")]
    assert source.counts([[0, 1]])[0].tolist() == [[0, 1], [0, 0], [1, 0]]


@pytest.mark.parametrize("through_ibis", [False, True])
def test_enums_of_duckdb_declare_their_states(through_ibis):
    connection = duckdb.connect()
    if through_ibis:
        backend = pytest.importorskip("ibis", reason="Ibis is not installed").duckdb.connect()
        connection = backend.con
    connection.execute("CREATE TYPE grade AS ENUM ('mid', 'high', 'low')")
    connection.execute("CREATE TABLE t AS SELECT 'low'::grade AS g UNION ALL SELECT NULL")
    frame = backend.table("t") if through_ibis else connection.table("t")
    assert cp.read(frame).schema["g"].states == ("mid", "high", "low")


# ---- which source --------------------------------------------------------------------------------


@pytest.mark.skipif(
    importlib.util.find_spec("counterpane.counts.engines.dask") is None,
    reason="DaskSource is not there",
)
def test_dask_frames_get_their_own_source():
    dask = pytest.importorskip("dask.dataframe", reason="Dask is not installed: extra [dask]")
    frame = dask.from_pandas(ROWS.select(["smoke", "packs"]).to_pandas(), npartitions=2)
    assert type(cp.read(frame)) is cp.DaskSource
    assert cp.read(frame).n_rows == 6


def test_a_table_of_a_connection_is_counted_like_its_relation():
    connection = duckdb.connect()
    connection.register("given", ROWS)
    connection.execute("CREATE SCHEMA clinic; CREATE TABLE clinic.visits AS SELECT * FROM given")
    for options in ({}, {"discretize": None, "columns": ["smoke", "packs"], "cache": False}):
        source = cp.read(connection, table=("clinic", "visits"), **options)
        expected = cp.read(connection.table("clinic.visits"), **options)
        assert type(source) is type(expected) is cp.FrameSource
        assert source.schema == expected.schema
        assert source.notes == expected.notes
        names = [[name] for name in source.schema.names]
        for ours, theirs in zip(source.counts(names), expected.counts(names), strict=True):
            assert np.array_equal(ours, theirs)
        assert source.n_scans == expected.n_scans
    with raises(ParameterError, about="database"):
        cp.read(connection)
    with raises(ParameterError, about="'given.csv'"):
        cp.read(connection, table="given.csv")
    with raises(ParameterError, about="'keep_distinct'"):
        cp.read(connection, table="given", keep_distinct=0)


def test_a_table_of_another_database_is_counted_by_statements():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE visits (a TEXT, b TEXT)")
    connection.executemany("INSERT INTO visits VALUES (?, ?)", [("x", "u"), ("y", "v"), ("x", "v")])
    source = cp.read(connection, table="visits", keep_distinct=0)
    assert type(source) is cp.SqlSource
    assert source.counts([["a", "b"]])[0].tolist() == [[1, 1], [0, 1]]
    connection.close()


class Foreign:
    """A lazy frame of a library that narwhals is told about by this much."""

    def __init__(self, native, implementation=nw.Implementation.SQLFRAME):
        self.native, self.implementation = native, implementation

    def to_native(self):
        return self.native


@pytest.mark.parametrize("name", ["PYSPARK", "PYSPARK_CONNECT"])
def test_spark_frames_get_their_own_source(name):
    pytest.importorskip("counterpane.counts.engines.spark", reason="SparkSource is not there")
    frame = Foreign(None, nw.Implementation[name])  # a real one needs Java
    assert opening.source_class(frame) is cp.SparkSource


def test_other_engines():
    frame = polars_frame(ROWS.select(["smoke", "packs"]))
    reader = streams.open_frame(Foreign(ROWS))
    assert isinstance(reader, streams.StreamReader)
    assert list(reader.names) == ROWS.column_names
    with raises(DataError, about="sqlframe"):
        streams.open_frame(Foreign(frame))
    assert [n_rows(block[0]) for block in reader.blocks(["packs", "smoke"])] == [6]


# ---- refusals ------------------------------------------------------------------------------------


def test_options_are_checked():
    frame = polars_frame(ROWS)
    with raises(ParameterError, about="'engine'"):
        cp.read(frame, engine="duckdb")
    with raises(ParameterError, about="weights"):
        cp.read(frame, weights=[1, 2, 3, 4, 5, 6])
    with raises(DataError, about="DataFrame"):
        cp.FrameSource(frame.collect())
    with raises(DataError, about="table"):
        cp.FrameSource(frame.filter(pl.col("n") > 999))


@EACH
def test_rows_that_change_between_two_scans(lazy):
    changed = pa.table({"a": [1, 2, 3], "b": ["x", "y", "x"]})
    source = cp.FrameSource(lazy(changed), cache=False)
    fewer = changed.slice(0, 2)
    source._reader = streams.open_frame(nw.from_native(lazy(fewer)))
    with raises(DataError, about="3 rows"):
        source.counts([["a"]])
    other = pa.table({"a": [1, 2, 4], "b": ["x", "y", "x"]})
    source._reader = streams.open_frame(nw.from_native(lazy(other)))
    with raises(StateError, parameter="a", value=4):
        source.counts([["a"]])
    with raises(TableSizeError, about="distinct"):
        source.distinct(["b"], limit=1)


def sentence(words, ask):
    with pytest.raises(DataError, match=words) as caught:
        ask()
    assert str(caught.value).count("\n") == 0


def test_a_connection_that_is_closed_or_busy():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT i % 2 AS a, i % 3 AS b FROM range(300000) r(i)")
    relation = connection.table("t")
    source = cp.FrameSource(relation, cache=False)
    assert source.counts([["a"]])[0].sum() == 300_000
    assert connection.execute("SELECT 1").fetchall() == [(1,)]  # free again

    def stop(codes, weights):
        raise Stopped("here")

    with pytest.raises(Stopped):
        source.map_reduce(stop, [0])
    assert connection.execute("SELECT 1").fetchall() == [(1,)]
    connection.execute("SELECT * FROM t").fetchone()
    sentence("DuckDB cannot run.*unfinished result", lambda: source.counts([["a"]]))
    connection.execute("SELECT 1").fetchall()
    connection.execute("DROP TABLE t")
    sentence("DuckDB cannot run the lazy frame.*still there", lambda: source.counts([["a"]]))
    sentence("DuckDB cannot run the lazy frame.*still there", lambda: source.distinct(["a"]))
    connection.close()
    sentence("DuckDB cannot run.*connection open", lambda: source.counts([["a"]]))
    sentence("DuckDB cannot run", lambda: cp.FrameSource(relation))


def test_a_file_that_vanishes_from_a_scan(tmp_path):
    pl.DataFrame({"a": [1, 2], "b": [0, 1]}).write_parquet(tmp_path / "a.parquet")
    source = cp.read(pl.scan_parquet(tmp_path / "*.parquet"), cache=False)
    assert source.counts([["a", "b"]])[0].tolist() == [[1, 0], [0, 1]]
    (tmp_path / "a.parquet").unlink()
    sentence("polars cannot run the lazy frame", lambda: source.counts([["a"]]))
    sentence("polars cannot run the lazy frame",
             lambda: cp.read(pl.scan_parquet(tmp_path / "b.parquet")))  # fmt: skip


def test_old_polars_is_named(monkeypatch):
    monkeypatch.delattr(pl.LazyFrame, "collect_batches")
    with raises(ImportError, about="1.34"):
        cp.FrameSource(polars_frame(ROWS))


@EACH
def test_grouping_asks_the_control(lazy):
    source = cp.FrameSource(lazy(ROWS), columns=["smoke", "packs"], cache=False)
    control = Control()
    control.cancel()
    with pytest.raises(Stopped):
        source.distinct(["smoke"], ctl=control)
    assert source.distinct(["smoke"]).weights.sum() == 6
