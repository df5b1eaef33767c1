"""Counts on a Spark cluster of two executors: conformance, files, DataFrames, accidents."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpane as cp
from contract import spark_cluster
from contract.count_source_suite import (
    CARDS,
    CountSourceSuite,
    assert_counts,
    make_table,
    scopes_of_all_sizes,
    sum_and_rows,
)
from contract.spark_accidents import Accident, dies, fails, slow
from contract.test_learners_on_sources import LEARNERS, in_memory, table_of
from counterpane.counts.engines.spark import files_of
from counterpane.data import Table
from counterpane.errors import (
    DataError,
    DiscretizeError,
    NoFileError,
    ParameterError,
    ScopeError,
    StateError,
    UnknownNameError,
    WeightError,
)
from counterpane.progress import Control, Stopped

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")

WEIGHT = "how `many`"  # a name that must be quoted


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session of a cluster of this process."""
    reason = spark_cluster.reason_for_absence()
    if reason is not None:
        pytest.skip(reason)
    with spark_cluster.cluster() as session:
        yield session


@pytest.fixture(scope="session")
def connected(spark: Any) -> Iterator[Any]:
    """A session over Spark Connect to the same cluster."""
    reason = spark_cluster.reason_without_connect()
    if reason is not None:
        pytest.skip(reason)
    session = spark_cluster.connect(spark)
    yield session
    session.stop()


def arrow_of(table: Table) -> Any:
    """The codes of a table as the values of an Arrow table."""
    columns = {}
    for variable, codes in zip(table.schema, table.codes, strict=True):
        columns[variable.name] = pa.array(codes.astype(np.int32), mask=codes == variable.card)
    if table.weights is not None:
        columns[WEIGHT] = pa.array(table.weights)
    return pa.table(columns)


@pytest.fixture(scope="session", params=["files", "frame"])
def make(request: Any, spark: Any, tmp_path_factory: Any) -> Callable[[Table], cp.SparkSource]:
    """A backend's factory for the conformance suite; some tests add those of `OVER_CONNECT`."""
    kind, _, way = request.param.partition(" ")
    spark = request.getfixturevalue("connected") if way else spark

    @cache
    def made(table: Table) -> cp.SparkSource:
        rows = arrow_of(table)
        folder = tmp_path_factory.mktemp("rows")
        ends = [0, 0, rows.num_rows // 3, rows.num_rows]  # the first file is empty
        if kind == "frame":
            ends = [0, rows.num_rows]  # Spark would take larger files first
        for i, (a, b) in enumerate(pairwise(ends)):
            pq.write_table(rows.slice(a, b - a), folder / f"{i}.parquet", row_group_size=50_000)
        data: Any = folder
        if kind == "frame":
            read = spark.read.parquet(str(folder))
            data = read.where("x0 < 0").union(read)  # no plain read, and the first part is empty
        weights = None if table.weights is None else WEIGHT
        return cp.SparkSource(data, schema=table.schema, weights=weights, spark=spark)

    return made


PROMISES = [
    ("tables_of_every_size", {"rows": 1, "weights": "whole"}),
    ("tables_of_every_size", {"rows": 131_073, "weights": "eighths"}),
    ("missing_cells", {"rows": 700, "weights": None, "missing": "drop"}),
    ("missing_cells", {"rows": 131_073, "weights": "whole", "missing": "state"}),
    ("missing_cells_only_in_rows_of_no_weight", {"rows": 200}),
    ("missing_cells_can_be_refused", {}),
    ("all_rows_dropped", {}),
    ("constant_columns_and_unobserved_states", {"rows": 1000}),
    ("many_states", {"rows": 900}),
    ("asking_again_gives_the_same", {"rows": 500}),
    ("names_and_positions", {}),
    ("no_tables", {}),
    ("tables_above_the_cell_limit_come_sparse", {"missing": "state", "weights": "eighths"}),
    ("more_cells_than_an_integer_counts", {"missing": "drop"}),
    ("a_batch_too_large_is_refused_before_memory_goes", {"n": 39, "copies": 5}),
    ("pairs_too_large_are_refused", {}),
    ("pairs", {"rows": 3000, "weights": None, "missing": 0.1}),
    ("pairs", {"rows": 64, "weights": "eighths", "missing": 0.0}),
    ("distinct_rows", {"scope": (8, 4, 2, 1, 6), "rows": 700, "weights": None}),
    ("distinct_rows", {"scope": (0, 1), "rows": 700, "weights": "whole"}),
    ("distinct_rows", {"scope": (0, 1), "rows": 700, "weights": "eighths"}),
    ("too_many_distinct_rows", {"scope": (8, 4, 2, 1, 6), "rows": 700}),
    ("any_sum_over_rows", {"rows": 500, "weights": "eighths"}),
    ("blocks_are_added_in_order", {}),
    ("a_faster_source_gives_the_same", {}),
    ("bad_scopes", {"scope": [3, 10], "error": ScopeError, "culprit": r"\[3, 10\].* 0 to 9"}),
    ("progress_and_cancellation", {"ask": "counts"}),
    ("progress_and_cancellation", {"ask": "distinct"}),
    ("progress_and_cancellation", {"ask": "map_reduce"}),
    ("a_stopped_source_still_counts", {}),
    ("errors_are_ours", {}),
]
"""Every kind of promise of the suite; all of its cases would start a thousand jobs."""


@pytest.mark.parametrize(("promise", "given"), PROMISES)
def test_conformance(make, promise, given):
    getattr(CountSourceSuite(), f"test_{promise}")(make, **given)


# ---- what a DataFrame or files hold --------------------------------------------------------------

MIXED = {
    "text": ["b", "a", None, "b", "c d", ""],
    "whole": [3, 1, 3, None, 2, 1],
    "real": [1.0, float("nan"), 0.0, 1.0, None, -0.0],
    "truth": [True, None, True, True, True, True],
    "shout": ["TRUE", "true", "no", "no", "TRUE", None],
    "exact": [Decimal("1.0"), Decimal("2.0"), None, Decimal("2.0"), Decimal("1.0"), Decimal("2.0")],
    "odd `name`.x": ["u", "v", "u", "v", "u", "v"],
}
KINDS = ("string", "int", "double", "boolean", "string", "decimal(5,1)", "string")


OVER_CONNECT = ["files connect", "frame connect"]


@pytest.mark.parametrize("make", OVER_CONNECT, indirect=True)
@pytest.mark.parametrize(
    ("promise", "given"),
    [PROMISES[i] for i in (1, 3, 12, 16, 19, 23, 28, 30)],
)
def test_conformance_over_connect(make, promise, given):
    getattr(CountSourceSuite(), f"test_{promise}")(make, **given)


def mixed_frame(spark: Any) -> Any:
    rows = list(zip(*MIXED.values(), strict=True))
    quoted = ["`" + name.replace("`", "``") + "`" for name in MIXED]
    listed = ", ".join(f"{name} {kind}" for name, kind in zip(quoted, KINDS, strict=True))
    return spark.createDataFrame(rows, listed)


def test_states_are_those_of_a_frame(spark, tmp_path):
    frame = mixed_frame(spark)
    frame.coalesce(1).write.parquet(str(tmp_path / "rows"))
    table = cp.Table.from_frame(pa.table({**MIXED, "real": pa.array(MIXED["real"], pa.float64())}))
    scopes = [[name] for name in MIXED] + [["text", "real"], ["whole", "truth", "exact"]]
    expected = cp.MemoryCounts(table).counts(scopes, missing="state")
    for data in (frame, tmp_path / "rows", spark.read.parquet(str(tmp_path / "rows"))):
        source = cp.SparkSource(data, spark=spark)
        assert source.schema == table.schema
        assert source.has_missing.tolist() == table.has_missing.tolist()
        found = source.counts(scopes, missing="state")
        assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
        assert_same_rows(source, table, ["whole", "truth"])


def assert_same_rows(source: Any, table: Table, columns: Any) -> None:
    """The distinct rows are those of memory."""
    found, expected = source.distinct(columns), cp.MemoryCounts(table).distinct(columns)
    assert found.codes.tolist() == expected.codes.tolist()
    assert found.weights.tolist() == expected.weights.tolist()


def test_options_declare_states_and_cuts(spark):
    frame = spark.range(10).selectExpr("id % 3 AS a", "CAST(id AS double) AS b", "1 AS c")
    source = cp.SparkSource(
        frame, columns=["b", "a"], states={"a": [2, 1, 0, 300]}, discretize={"b": [2.5]}
    )
    assert source.schema.names == ("b", "a")
    assert source.counts([["b", "a"]])[0].tolist() == [[1, 1, 1, 0], [2, 2, 3, 0]]
    assert source.distinct(["b", "a"]).n_rows == 6
    again = cp.SparkSource(frame, schema=source.schema)
    assert again.schema == source.schema


@pytest.mark.parametrize(
    ("query", "options", "error", "words"),
    [
        ("id AS a", {}, DiscretizeError, "'a' holds 1000 different whole numbers"),
        ("id % 2 AS a", {"columns": ["b"]}, UnknownNameError, "column 'b' is not known"),
        ("id % 2 AS a", {"states": {"a": [0]}}, StateError, "1 is not one of 1 states"),
        ("array(id) AS a", {}, DataError, "'a' holds .*[lL]ist"),
        ("id % 2 AS a, -1 AS w", {"weights": "w"}, WeightError, "'w' holds -1"),
        ("1 AS a, 2 AS a", {}, DataError, "'a' occurs twice"),
    ],
)
def test_refusals_of_workers_come_as_they_are(spark, query, options, error, words):
    with pytest.raises(error, match=words) as raised:
        cp.SparkSource(spark.range(1000).selectExpr(*query.split(", ")), **options)
    assert "java" not in str(raised.value).lower()


def test_no_rows(spark):
    with pytest.raises(DataError, match="no rows"):
        cp.SparkSource(spark.range(0))


def test_other_sessions_are_refused():
    with pytest.raises(ParameterError, match="a SparkSession is needed"):
        cp.SparkSource("rows.parquet", spark="local[2]")


def test_only_a_plain_read_is_left_to_the_workers(spark, tmp_path):
    folder, parted = str(tmp_path / "rows"), str(tmp_path / "parted")
    rows = spark.range(100).selectExpr("id % 2 AS a", "CAST(id % 3 AS string) AS b")
    rows.write.parquet(folder)
    rows.write.partitionBy("a").parquet(parted)
    plain = spark.read.parquet(folder)
    for frame in (plain, plain.select("b"), plain.alias("p").select("p.b", "p.a")):
        reader = files_of(frame)
        assert reader is not None
        assert list(reader.names) == frame.columns
    kept = plain.select("b", "a").persist()
    others = [
        plain.where("a = 1"), plain.limit(3), plain.union(plain), plain.selectExpr("b AS a"),
        plain.distinct(), plain.sample(0.5, seed=1), plain.withColumnRenamed("a", "c"), kept,
        spark.read.parquet(folder, folder), spark.read.parquet(parted), spark.read.csv(folder),
        spark.read.schema("a bigint, b string, c int").parquet(folder), spark.range(3),
    ]  # fmt: skip
    assert [files_of(frame) for frame in others] == [None] * len(others)
    kept.unpersist()
    for frame in (others[0], others[8], others[9]):
        counted = cp.SparkSource(frame.select("b")).counts([["b"]])[0]
        groups = {row["b"]: row["count"] for row in frame.groupBy("b").count().collect()}
        assert counted.tolist() == [groups[state] for state in "012"]


def test_packed_rows_stay_on_the_workers(spark, make):
    table = make_table(rows=3000, missing=0.05, weights="whole")
    scopes = scopes_of_all_sizes(len(CARDS), seed=7)
    source = make(table)
    source.prepare()
    assert_counts(source, table, scopes)
    assert_counts(source, table, scopes)
    assert_same_rows(source, table, [4, 1])
    assert source.map_reduce(sum_and_rows, []).tolist() == [3000, table.weights.sum()]


def test_kept_rows_go_with_their_source(spark):
    gc.collect()
    before = held(spark)
    source = cp.SparkSource(spark.range(100).selectExpr("id % 2 AS a", "id % 3 AS b"))
    source.prepare()
    assert source.counts([["a"]])[0].tolist() == [50, 50]
    assert held(spark) == before + 1
    del source
    gc.collect()
    assert held(spark) == before


def held(spark: Any) -> int:
    """How many tables or lists the workers hold."""
    return int(spark.sparkContext._jsc.sc().getPersistentRDDs().size())


FAMILIES = [
    "hill-climb", "exact-posterior", "tan", "markov", "interaction", "gsimn",
    "dn-tree", "to-markov-network", "hybrid",
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "name"),
    [("files", name) for name in FAMILIES]
    + [("frame", name) for name in FAMILIES[:3]]
    + [("frame connect", name) for name in FAMILIES]
    + [("files connect", name) for name in ("structure-search", *FAMILIES[2:5])],
    indirect=["make"],
)
def test_a_learner_of_each_family_gives_the_same(make, name):
    kind = "weighted" if name == "hybrid" else "complete"
    assert LEARNERS[name](make(table_of(kind, name))) == in_memory(name, kind)


# ---- accidents -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "victim"),
    [(kind, victim) for kind in ("files", "frame") for victim in ("worker", "executor")]
    + [("files connect", "executor"), ("frame connect", "worker")],
    indirect=["make"],
)
def test_a_worker_that_dies_is_replaced(make, tmp_path, victim):
    table = make_table(rows=3000, weights="whole")
    columns = list(range(len(CARDS)))
    found = make(table).map_reduce(Accident(tmp_path / "mark", victim), columns)
    assert (tmp_path / "mark").exists()
    assert found.tolist() == sum_and_rows(table.codes.astype(float), table.weights).tolist()


@pytest.mark.parametrize("make", ["files", "frame", "frame connect"], indirect=True)
def test_workers_that_always_die_are_given_up(make):
    source = make(make_table())
    with pytest.raises(DataError, match=r"Spark gave up counting rows: .*crashed") as raised:
        source.map_reduce(dies, [0])
    assert "\n" not in str(raised.value)
    with pytest.raises(DataError, match="gave up counting rows: ZeroDivisionError: no such share"):
        source.map_reduce(fails, [0])
    assert_counts(source, make_table(), [[0, 1]])


@pytest.mark.parametrize("make", ["files", "frame", "frame connect"], indirect=True)
@pytest.mark.parametrize("how", ["ctrl-c", "time limit"])
def test_what_is_stopped_ends_on_the_workers(spark, make, how):
    source = make(make_table())
    began = time.monotonic()
    if how == "ctrl-c":
        timer = threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            source.map_reduce(slow, [0])
        timer.join()
    else:
        with pytest.raises(Stopped, match="time limit"):
            source.map_reduce(slow, [0], ctl=Control.within(2))
    assert time.monotonic() - began < 90
    while spark.sparkContext.statusTracker().getActiveJobsIds():  # it hears of it a bit later
        assert time.monotonic() - began < 120
        time.sleep(0.05)
    assert_counts(source, make_table(), [[0, 1]])


def write_files(folder: Path, *columns: Any) -> Path:
    """Files of one column `a` each."""
    for i, values in enumerate(columns):
        pq.write_table(pa.table({"a": values}), folder / f"{i}.parquet")
    return folder


def test_a_state_that_comes_last(spark, tmp_path):
    write_files(tmp_path, ["x", "y"], ["y"], ["z", None])
    source = cp.SparkSource(tmp_path, spark=spark)
    assert source.schema[0].states == ("x", "y", "z")
    assert source.counts([["a"]])[0].tolist() == [1, 2, 1]
    pq.write_table(pa.table({"a": ["new", None]}), tmp_path / "2.parquet")
    with pytest.raises(StateError, match="'new' is not one of 3 states"):
        source.counts([["a"]])
    pq.write_table(pa.table({"a": ["x", "y", "x"]}), tmp_path / "2.parquet")
    with pytest.raises(DataError, match="had 5 rows"):
        source.counts([["a"]])
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(NoFileError, match=r"1\.parquet"):
        source.counts([["a"]])


def test_a_column_that_changes_its_type(spark, tmp_path):
    write_files(tmp_path, [1, 2], ["x"])
    with pytest.raises(DataError, match=r"'a' holds numbers in .* and texts in .*1\.parquet"):
        cp.SparkSource(tmp_path, spark=spark)
    with pytest.raises(DataError, match="Spark gave up reading states") as raised:
        cp.SparkSource(spark.read.schema("a bigint").parquet(str(tmp_path)))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("way", ["classic", "connect"])
def test_rows_that_change(request, spark, way):
    spark = spark if way == "classic" else request.getfixturevalue("connected")

    def moving(batches: Any) -> Any:
        import time

        for _ in batches:
            rows = time.time_ns() // 1000 % 9973
            yield pa.record_batch({"a": pa.array([0] * rows), "b": pa.array([rows] * rows)})

    frame = spark.range(10).mapInArrow(moving, "a bigint, b bigint")
    source = cp.SparkSource(frame)
    with pytest.raises(DataError, match=r"rows when the source was made.* the same rows each time"):
        source.counts([["a"]])
    with pytest.raises(StateError, match=r"'b': \d+ is not one of .* make the source again"):
        source.counts([["b"]])
