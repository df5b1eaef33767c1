"""Columns of odd kinds and names: a source reads of them what a table in memory does."""

from __future__ import annotations

import pickle
import sqlite3
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import counterpane as cp
from counterpane.counts import MemoryCounts
from counterpane.counts.engines.arrow import FrameSource
from counterpane.counts.engines.arrow_cells import ArrowCodes
from counterpane.counts.engines.file_readers import open_files
from counterpane.counts.engines.frame_readers import _watched, has_duckdb
from counterpane.counts.engines.partitioned import split_files
from counterpane.counts.engines.schema_scan import plan_schema_scan
from counterpane.data import Table, Variable
from counterpane.data.files import read_table
from counterpane.errors import DataError, ParameterError

needs_duckdb = pytest.mark.skipif(not has_duckdb(), reason="DuckDB is not installed")
ENGINES = pytest.mark.parametrize(
    "engine", ["pyarrow", pytest.param("duckdb", marks=needs_duckdb), "auto"]
)


def written(folder, *tables):
    """A folder of parquet files, one for each table."""
    folder.mkdir(exist_ok=True)
    for i, columns in enumerate(tables):
        pq.write_table(pa.table(columns), folder / f"{i}.parquet")
    return folder


def same_as(source, table):
    """The source has the table's states, and gives its counts and its distinct rows."""
    assert source.schema == table.schema
    memory, everything = MemoryCounts(table), range(len(table.schema))
    for mine, theirs in zip(
        source.counts([[v] for v in everything], missing="state"),
        memory.counts([[v] for v in everything], missing="state"),
        strict=True,
    ):
        assert mine.tolist() == theirs.tolist()
    mine, theirs = source.distinct(everything), memory.distinct(everything)
    assert mine.codes.tolist() == theirs.codes.tolist()
    assert mine.weights.tolist() == theirs.weights.tolist()


# ---- values ------------------------------------------------------------------------------------


@ENGINES
@pytest.mark.parametrize("first", [[1.0, 2.0, None], [1.0, float("nan"), 4.0]])
def test_whole_numbers_may_be_stored_as_floats_in_some_files(tmp_path, engine, first):
    folder = written(tmp_path / "f", {"a": pa.array(first)}, {"a": [3, 4]}, {"a": [2]})
    source = cp.FileSource(folder, engine=engine, cache=False)
    same_as(source, Table.from_frame({"a": [*first, 3, 4, 2]}))


@ENGINES
def test_numbers_beyond_floats_are_cut_beside_missing_cells(tmp_path, engine):
    columns = {"a": pa.array([2**60 + 1, None, 3, 2**60 + 7])}
    folder = written(tmp_path / "f", columns)
    for rule in {"a": [10.0]}, "quantile":
        options = {"discretize": rule, "max_states": 1}
        source = cp.FileSource(folder, engine=engine, cache=False, **options)
        same_as(source, Table.from_frame(pa.table(columns), **options))


def test_numbers_above_the_signed_ones(tmp_path):
    columns = {"a": pa.array([2**63 + 1, 2**63 + 3, 2**63 + 3], pa.uint64())}
    source = cp.FileSource(written(tmp_path / "f", columns))
    same_as(source, Table.from_frame(pa.table(columns)))


def test_whole_numbers_beyond_floats_in_a_text_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"a,b\n{2**53},x\n{2**53 + 1},y\n{2**53 + 1},x\n-7,y\n")
    same_as(cp.FileSource(path), read_table(path))


def test_booleans_may_be_declared_categories(tmp_path):
    frame = pd.DataFrame({"a": pd.Categorical([True, False, False], categories=[True, False])})
    path = tmp_path / "t.feather"
    feather.write_feather(pa.Table.from_pandas(frame), path)
    same_as(cp.FileSource(path), Table.from_frame(frame))


@needs_duckdb
def test_an_enum_may_have_values_that_are_no_states_if_no_row_has():
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TYPE size AS ENUM ('s', 'm', 'l')")
        connection.execute("CREATE TABLE t (a size)")
        connection.execute("INSERT INTO t VALUES ('s'), ('l'), (NULL)")
        source = cp.SqlSource(connection, "t", states={"a": ["l", "s"]})
        same_as(source, Table.from_frame({"a": ["s", "l", None]}, states={"a": ["l", "s"]}))


def test_texts_of_a_collation_without_case_in_sqlite():
    rows = {"a": ["x", "X", "y", "x"], "b": ["u", "v", "v", "v"]}
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a TEXT COLLATE NOCASE, b TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", zip(*rows.values(), strict=True))
    for keep in 0, 100:
        same_as(cp.SqlSource(connection, "t", keep_distinct=keep), Table.from_frame(rows))
    connection.close()


@needs_duckdb
def test_texts_of_a_collation_without_case_in_duckdb():
    import duckdb

    rows = {"a": ["x", "X", "y", "x"], "n": [1, 2, 3, 4]}
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (a TEXT COLLATE NOCASE, n INTEGER)")
        connection.executemany(
            "INSERT INTO t VALUES (?, ?)", list(zip(*rows.values(), strict=True))
        )
        table = Table.from_frame(rows, weights="n")
        for keep in 0, 100:
            source = cp.SqlSource(connection, "t", weights="n", keep_distinct=keep)
            same_as(source, table)
        same_as(FrameSource(connection.table("t"), weights="n", cache=False), table)


# ---- names -------------------------------------------------------------------------------------


CASES = {"a": [0, 1, 1, 0], "A": [0, 0, 1, 0]}


@pytest.mark.parametrize("cache", [False, True])
def test_names_that_differ_by_case_alone(tmp_path, cache):
    folder = written(tmp_path / "f", CASES)
    same_as(cp.FileSource(folder, cache=cache), Table.from_frame(CASES))


@needs_duckdb
def test_duckdb_cannot_tell_names_by_case(tmp_path):
    with pytest.raises(ParameterError, match="differ by case"):
        cp.FileSource(written(tmp_path / "f", CASES), engine="duckdb")


@ENGINES
def test_a_file_whose_name_is_a_pattern(tmp_path, engine):
    for name, cells in ("t[1]", ["x", "y"]), ("t1", ["x", "x"]), ("t*", ["y", "y"]):
        pq.write_table(pa.table({"a": cells}), tmp_path / f"{name}.parquet")
    for name, cells in ("t[1]", ["x", "y"]), ("t*", ["y", "y"]):
        source = cp.FileSource(tmp_path / f"{name}.parquet", engine=engine, cache=False)
        same_as(source, Table.from_frame({"a": cells}))


@needs_duckdb
@pytest.mark.parametrize("weights", [None, "n"])
def test_any_name_can_be_grouped_by_duckdb(weights):
    import duckdb

    columns = {"Weight": ["x", "y", "x"], "b.c": ["u", "u", "v"], "n": [1, 2, 3]}
    with duckdb.connect() as connection:
        connection.register("t", pa.table(columns))
        source = FrameSource(connection.table("t"), weights=weights, cache=False)
        same_as(source, Table.from_frame(columns, weights=weights))


# ---- weights and columns asked for -------------------------------------------------------------


@ENGINES
def test_weights_may_be_written_as_texts(tmp_path, engine):
    columns = {"a": ["x", "y", "x"], "w": ["1", "2", "3.0"]}
    table = Table.from_frame({"a": columns["a"]}, weights=[1, 2, 3])
    folder = written(tmp_path / "f", columns)
    same_as(cp.FileSource(folder, engine=engine, weights="w", cache=False), table)
    same_as(FrameSource(pl.LazyFrame(columns), weights="w", cache=False), table)


@pytest.mark.parametrize(
    ("columns", "error", "words"),
    [
        ([], DataError, "at least one"),
        (["w"], DataError, "at least one"),
        (["a", "a"], ParameterError, "'a' twice"),
    ],
)
def test_columns_are_asked_for_once_and_at_least_one(tmp_path, columns, error, words):
    frame = pd.DataFrame({"a": ["x", "y"], "w": [1, 2]})
    with pytest.raises(error, match=words):
        cp.FileSource(written(tmp_path / "f", frame), columns=columns, weights="w")
    with sqlite3.connect(":memory:") as connection:
        frame.to_sql("t", connection, index=False)
        with pytest.raises(error, match=words):
            cp.SqlSource(connection, "t", columns=columns, weights="w")
    connection.close()


# ---- what travels, and what is stopped ---------------------------------------------------------


def test_a_part_carries_the_folders_of_its_own_files(tmp_path):
    for year in range(64):
        written(tmp_path / f"year={year}", {"a": [0, 1]})
    parts = split_files(open_files(tmp_path), 2)
    assert len(parts) > 10
    for part in parts:
        assert set(part.files.folders["year"]) == {path for path, _ in part.places}


def test_what_was_looked_up_does_not_travel():
    codes = ArrowCodes(Variable("a", (0, 60_000)))
    fresh = len(pickle.dumps(codes))
    out = np.empty(2, dtype=np.uint8)
    codes.encode(pa.array([60_000, 0]), out)
    assert out.tolist() == [1, 0]
    assert len(pickle.dumps(codes)) < 2 * fresh
    pickle.loads(pickle.dumps(codes)).encode(pa.array([0, 60_000]), out)
    assert out.tolist() == [0, 1]


def test_a_survey_does_not_grow_by_each_block_with_nan(tmp_path):
    files = open_files(written(tmp_path / "f", {"a": [1.0, float("nan")]}))
    survey = plan_schema_scan(files, columns=None, states=None, schema=None, weights=None,
                         discretize=None, max_states=20)  # fmt: skip
    sizes = []
    for _ in range(3):
        survey.add([pa.array([1.0, float("nan")])])
        sizes.append(len(pickle.dumps(survey)))
    assert sizes[0] == sizes[1] == sizes[2]


@needs_duckdb
def test_groups_of_other_rows_are_refused(tmp_path):
    folder = written(tmp_path / "f", {"a": ["x", "y", "x"]})
    source = cp.FileSource(folder, cache=False)
    written(folder, {"a": ["x", "y", "y", "x"]})
    with pytest.raises(DataError, match="3 rows when the source was made"):
        source.distinct(["a"])


def test_a_statement_that_begins_late_is_interrupted_too():
    class Connection:
        """The first interrupt comes before the statement has begun, and is lost."""

        asked = 0
        stopped = threading.Event()

        def interrupt(self):
            self.asked += 1
            if self.asked > 1:
                self.stopped.set()

    class Control:
        def check(self):
            raise KeyboardInterrupt

    connection = Connection()
    with pytest.raises(KeyboardInterrupt):
        _watched(lambda: connection.stopped.wait(10), connection, Control())
    assert connection.asked == 2
