"""Columns of odd kinds and names: a source reads of them what a table in memory does."""

from __future__ import annotations

import pickle
import sqlite3

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import counterpane as cp
from counterpane.counts import MemoryCounts
from counterpane.counts.blocks import FrameSource
from counterpane.counts.engines.partitioned import split_files
from counterpane.data import Table, Variable
from counterpane.data.encoding import ValueCodes
from counterpane.data.readers.text_files import FileOptions
from counterpane.data.reading import open_files, read_table
from counterpane.data.tallies import TableTally
from counterpane.errors import DataError, ParameterError
from error_checks import raises


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


@pytest.mark.parametrize("first", [[1.0, 2.0, None], [1.0, float("nan"), 4.0]])
def test_whole_numbers_may_be_stored_as_floats_in_some_files(tmp_path, first):
    folder = written(tmp_path / "f", {"a": pa.array(first)}, {"a": [3, 4]}, {"a": [2]})
    source = cp.FileSource(folder, cache=False)
    same_as(source, Table.from_frame({"a": [*first, 3, 4, 2]}))


def test_numbers_beyond_floats_are_cut_beside_missing_cells(tmp_path):
    columns = {"a": pa.array([2**60 + 1, None, 3, 2**60 + 7])}
    folder = written(tmp_path / "f", columns)
    for rule in {"a": [10.0]}, "quantile":
        options = {"discretize": rule, "max_states": 1}
        source = cp.FileSource(folder, cache=False, **options)
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


def test_an_enum_may_have_values_that_are_no_states_if_no_row_has():
    duckdb = pytest.importorskip("duckdb")

    with duckdb.connect() as connection:
        connection.execute("CREATE TYPE size AS ENUM ('s', 'm', 'l')")
        connection.execute("CREATE TABLE t (a size)")
        connection.execute("INSERT INTO t VALUES ('s'), ('l'), (NULL)")
        source = cp.SqlSource(connection, "t", states={"a": ["l", "s"]})
        same_as(source, Table.from_frame({"a": ["s", "l", None]}, states={"a": ["l", "s"]}))


@pytest.mark.parametrize("step", [1, 3])
def test_integers_of_a_type_that_cannot_hold_their_range(tmp_path, step):
    columns = {"a": np.arange(-100, 101, step, dtype=np.int8).repeat(3)}
    columns["b"] = np.arange(len(columns["a"]), dtype=np.int16) % 2
    table = Table.from_frame(columns, max_states=300)
    assert table.schema["a"].states == tuple(range(-100, 101, step))
    assert (np.bincount(table.codes[0]) == 3).all()
    same_as(cp.FileSource(written(tmp_path / "f", columns), max_states=300), table)


def test_texts_of_a_collation_without_case_in_sqlite():
    rows = {"a": ["x", "X", "y", "x"], "b": ["u", "v", "v", "v"]}
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a TEXT COLLATE NOCASE, b TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", zip(*rows.values(), strict=True))
    for keep in 0, 100:
        same_as(cp.SqlSource(connection, "t", keep_distinct=keep), Table.from_frame(rows))
    connection.close()


def test_texts_of_a_collation_without_case_in_duckdb():
    duckdb = pytest.importorskip("duckdb")

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


def test_a_file_whose_name_is_a_pattern(tmp_path):
    for name, cells in ("t[1]", ["x", "y"]), ("t1", ["x", "x"]), ("t*", ["y", "y"]):
        pq.write_table(pa.table({"a": cells}), tmp_path / f"{name}.parquet")
    for name, cells in ("t[1]", ["x", "y"]), ("t*", ["y", "y"]):
        source = cp.FileSource(tmp_path / f"{name}.parquet", cache=False)
        same_as(source, Table.from_frame({"a": cells}))


@pytest.mark.parametrize("weights", [None, "n"])
def test_any_name_can_be_grouped_by_duckdb(weights):
    duckdb = pytest.importorskip("duckdb")

    columns = {"Weight": ["x", "y", "x"], "b.c": ["u", "u", "v"], "n": [1, 2, 3]}
    with duckdb.connect() as connection:
        connection.register("t", pa.table(columns))
        source = FrameSource(connection.table("t"), weights=weights, cache=False)
        same_as(source, Table.from_frame(columns, weights=weights))


# ---- weights and columns asked for -------------------------------------------------------------


def test_weights_may_be_written_as_texts(tmp_path):
    columns = {"a": ["x", "y", "x"], "w": ["1", "2", "3.0"]}
    table = Table.from_frame({"a": columns["a"]}, weights=[1, 2, 3])
    folder = written(tmp_path / "f", columns)
    same_as(cp.FileSource(folder, weights="w", cache=False), table)
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
    parts = split_files(open_files(tmp_path, FileOptions()), 2)
    assert len(parts) > 10
    for part in parts:
        assert set(part.files.folders["year"]) == {path for path, _ in part.places}


def test_what_was_looked_up_does_not_travel():
    codes = ValueCodes(Variable("a", (0, 60_000)))
    fresh = len(pickle.dumps(codes))
    assert [codes[60_000], codes[0]] == [1, 0]
    for other in range(1000):
        assert codes[0.5 + other] == -1
    assert len(pickle.dumps(codes)) < 2 * fresh
    assert pickle.loads(pickle.dumps(codes))[60_000] == 1


def test_a_tally_does_not_grow_by_each_block_with_nan(tmp_path):
    files = open_files(written(tmp_path / "f", {"a": [1.0, float("nan")]}), FileOptions())
    tally, sizes = TableTally(["a"], weighted=False), []
    for _ in range(3):
        for block in files.blocks(["a"]):
            tally.add(block)
        tally.columns["a"].column()  # merges what was added
        sizes.append(len(pickle.dumps(tally)))
    assert sizes[0] == sizes[1] == sizes[2]


def test_groups_of_other_rows_are_refused(tmp_path):
    folder = written(tmp_path / "f", {"a": ["x", "y", "x"]})
    source = cp.FileSource(folder, cache=False)
    written(folder, {"a": ["x", "y", "y", "x"]})
    with raises(DataError, about="3 rows"):
        source.distinct(["a"])
