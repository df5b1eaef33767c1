"""Columns in the names of folders: read as others read them, and never in the way."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, feather

import counterpane as cp
from counterpane.data import Table
from counterpane.errors import DataError
from error_checks import raises

WRITERS = {"parquet": pq.write_table, "feather": feather.write_feather, "csv": csv.write_csv}


def store(folder, kind="parquet", /, **columns):
    folder.mkdir(parents=True, exist_ok=True)
    WRITERS[kind](pa.table(columns), folder / f"part.{kind}")


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("cache", [True, False])
def test_folders_are_columns(tmp_path, kind, cache):
    store(tmp_path / "year=2024" / "month=01", kind, a=["x", "y"])
    store(tmp_path / "year=2024" / "month=11", kind, a=["x", "x"])
    store(tmp_path / "year=2019" / "month=2", kind, a=["y"])
    source = cp.read(tmp_path, cache=cache)
    assert [(v.name, v.states) for v in source.schema] == [
        ("a", ("x", "y")), ("year", (2019, 2024)), ("month", (1, 2, 11))]  # fmt: skip
    assert source.counts([["a", "year"], ["month"], ["year", "month"]])[0].tolist() == [
        [0, 3], [1, 1]]  # fmt: skip
    assert source.counts([["month"]])[0].tolist() == [2, 1, 2]
    assert source.distinct(["year", "month"]).weights.tolist() == [1, 2, 2]
    assert source.distinct(["a"]).weights.tolist() == [3, 2]
    assert not source.has_missing.any()


@pytest.mark.parametrize("kind", WRITERS)
def test_texts_signs_and_missing_values(tmp_path, kind):
    for folder in ("place=K%C3%B6ln %2F 1", "place=7", "place=__HIVE_DEFAULT_PARTITION__"):
        store(tmp_path / folder, kind, a=[0, 1])
    source = cp.read(tmp_path)
    assert source.schema["place"].states == ("7", "Köln / 1")
    assert source.counts([["place", "a"]], missing="state")[0].tolist() == [
        [1, 1, 0], [1, 1, 0], [1, 1, 0]]  # fmt: skip
    assert source.has_missing.tolist() == [False, True]


@pytest.mark.parametrize("kind", WRITERS)
def test_whole_numbers_may_be_missing(tmp_path, kind):
    for folder in ("n=-3", "n=__HIVE_DEFAULT_PARTITION__"):
        store(tmp_path / folder, kind, a=[0, 1])
    source = cp.read(tmp_path)
    assert source.schema["n"].states == (-3,)
    assert source.counts([["n"]], missing="state")[0].tolist() == [2, 2]


def test_what_pyarrow_writes_comes_back(tmp_path):
    frame = pd.DataFrame({"a": [0, 1, 1, 0], "g": ["u/v", "w", None, "w"], "k": [1, 1, 2, 2]})
    table = pa.Table.from_pandas(frame)
    ds.write_dataset(table, tmp_path, format="parquet", partitioning_flavor="hive",
                     partitioning=["g", "k"])  # fmt: skip
    source = cp.read(tmp_path)
    memory = Table.from_frame(frame)
    assert source.schema == memory.schema
    assert source.distinct(["a", "g", "k"]).codes.tolist() == memory.distinct().codes.tolist()


def test_patterns_and_lists_say_where_folders_begin(tmp_path):
    root = tmp_path / "run=9"
    for year in (2020, 2021):
        store(root / f"year={year}", a=[0, 1])
    assert cp.read(root).schema.names == ("a", "year")
    assert cp.read(str(root / "year=*" / "*.parquet")).schema.names == ("a", "year")
    assert cp.read(root / "year=2020").schema.names == ("a",)
    files = sorted(root.rglob("*.parquet"))
    assert cp.read(files, discretize=None).schema.names == ("a", "run", "year")
    assert cp.FileSource(files[0]).schema.names == ("a",)
    assert cp.read(root, columns=["year"]).counts([[0]])[0].tolist() == [2, 2]


def test_a_column_in_the_files_goes_first(tmp_path):
    store(tmp_path / "year=1", a=[0, 1], year=[5, 6])
    store(tmp_path / "year=2", a=[0, 1], year=[6, 7])
    for options in ({}, {"cache": False}):
        source = cp.read(tmp_path, **options)
        assert source.schema["year"].states == (5, 6, 7)
        assert source.distinct(["year"]).weights.tolist() == [1, 2, 1]


def test_folder_columns_are_columns(tmp_path):
    for n in (1, 2, 3):
        store(tmp_path / f"n={n}", a=[0, 1, 1])
    weighted = cp.read(tmp_path, weights="n")
    assert weighted.counts([["a"]])[0].tolist() == [6, 12]
    cut = cp.read(tmp_path, discretize={"n": [2]})
    assert cut.counts([["n", "a"]])[0].tolist() == [[1, 2], [2, 4]]
    assert cp.read(tmp_path, states={"n": [3, 2, 1, 0]}).schema["n"].card == 4


def test_refusals(tmp_path):
    store(tmp_path / "year=1", a=[0, 1])
    store(tmp_path / "more", a=[0, 1])
    with raises(DataError, about=("'year'", "year=1")):
        cp.read(tmp_path)
