"""Files larger than memory: states, refusals, scans, and learners that see no difference."""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import counterpane as cp
from counterpane.counts import MemoryCounts
from counterpane.counts.packed_rows import PackedRows, packed_bytes
from counterpane.data import Table
from counterpane.data.reading import read_table
from counterpane.errors import (
    DataError,
    DiscretizeError,
    FileFormatError,
    MissingExtraError,
    NoFileError,
    ParameterError,
    StateError,
    TableSizeError,
    UnknownNameError,
    WeightError,
)
from counterpane.progress import Control, Stopped
from error_checks import raises


def frame_of(rows=400, seed=0):
    """Columns of every kind that a state can have, some with missing cells."""
    rng = np.random.default_rng(seed)
    smoke = rng.random(rows) < 0.3
    cough = smoke ^ (rng.random(rows) < 0.2)
    return pd.DataFrame({
        "smoke": np.where(smoke, "yes", "no"),
        "cough": cough,
        "packs": smoke * rng.integers(1, 4, rows) + 5,
        "size": pd.Categorical(
            rng.choice(["s", "l"], rows), categories=["s", "m", "l"], ordered=True
        ),
        "level": np.where(cough, 1.0, rng.integers(0, 3, rows)),
        "far": np.where(smoke, 10**12, -3),
    })  # fmt: skip


def folder_of(frame, folder, n=3, group=70):
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), n)):
        frame.iloc[rows].to_parquet(folder / f"part{i}.parquet", index=False, row_group_size=group)
    return folder


def same_as_memory(source, table, columns=None):
    """The source has the table's schema and missing cells, and counts all pairs alike."""
    assert source.schema == table.schema
    assert source.has_missing.tolist() == table.has_missing.tolist()
    assert (source.n_rows, source.total_weight) == (table.n_rows, table.total_weight)
    memory = MemoryCounts(table).pair_counts()
    assert np.array_equal(source.pair_counts().counts, memory.counts)
    assert source.pair_counts().counts.dtype == memory.counts.dtype


# ---- the same as memory ----------------------------------------------------------------------


@pytest.mark.parametrize("cache", [True, False])
def test_a_folder_of_parquet_is_a_table(tmp_path, cache):
    frame = frame_of()
    source = cp.FileSource(folder_of(frame, tmp_path), cache=cache)
    same_as_memory(source, Table.from_frame(frame))
    assert source.schema["size"].states == ("s", "m", "l")
    assert source.schema["packs"].states == (5, 6, 7, 8)


def test_missing_cells_of_every_kind(tmp_path):
    frame = frame_of()
    frame["packs"] = frame["packs"].astype("Int16")
    frame["cough"] = frame["cough"].astype("boolean")
    for i, name in enumerate(frame):
        frame.loc[i::7, name] = None
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(arrow, tmp_path / "a.parquet", row_group_size=33)
    source = cp.FileSource(tmp_path / "a.parquet")
    assert source.has_missing.all()
    same_as_memory(source, Table.from_frame(arrow))


def test_nan_is_missing_beside_null(tmp_path):
    column = pa.array([1.0, float("nan"), None, 2.0, 1.0])
    pq.write_table(pa.table({"a": column, "b": [1, 1, 1, 2, 2]}), tmp_path / "a.parquet")
    source = cp.FileSource(tmp_path, cache=False)
    assert source.schema["a"].states == (1, 2)
    assert source.counts([["a", "b"]], missing="state")[0].tolist() == [
        [1, 1, 0], [0, 1, 0], [2, 0, 0]]  # fmt: skip
    rows = source.distinct(["a", "b"], limit=4)
    assert (rows.codes.T.tolist(), rows.weights.tolist()) == (
        [[0, 0], [0, 1], [1, 1], [2, 0]], [1, 1, 1, 2])  # fmt: skip
    with raises(TableSizeError, about="distinct"):
        source.distinct(["a", "b"], limit=3)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv"])
def test_delimited_text_is_read_as_tables_are(tmp_path, name):
    text = (
        "what;n;yes;code;real\na;1;TRUE;01;0.5\n;2.0;false;1;1.5\nNA;?;true;01;\n"
        'b;NA;;1;2.5\n"a";+1;True;01;NaN\n'
    )
    text = text.replace(";", "\t") if name == "a.tsv" else text
    data = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    cuts = {"real": [1.0, 2.0]}
    table = read_table(tmp_path / name, discretize=cuts, on_unusable="error")
    source = cp.FileSource(tmp_path / name, discretize=cuts, on_unusable="error")
    assert source.schema["what"].states == ("NA", "a", "b")
    assert source.schema["yes"].states == (False, True)
    assert source.schema["code"].states == ("01", "1")
    same_as_memory(source, table)


def test_feather_and_dictionaries_that_grow(tmp_path):
    frames = [pd.DataFrame({"a": pd.Categorical(list(v)), "b": [1, 2]}) for v in ("xy", "yz")]
    for i, frame in enumerate(frames):
        feather.write_feather(frame, tmp_path / f"{i}.feather")
    source = cp.read(tmp_path)
    assert source.schema["a"].states == ("x", "y", "z")
    assert source.counts([["a", "b"]])[0].tolist() == [[1, 0], [1, 1], [0, 1]]
    assert isinstance(cp.read(tmp_path / "0.feather"), cp.FileSource)


def test_polars_enums_views_decimals_and_wide_numbers(tmp_path):
    frame = pl.DataFrame({
        "enum": pl.Series(["b", "a", None], dtype=pl.Enum(["b", "c", "a"])),
        "text": ["u", "u", "v"],
        "wide": pl.Series([2**63 + 1, 2**63, 2**63 + 1], dtype=pl.UInt64),
        "dec": pl.Series(["1.00", "2.00", "1.00"]).cast(pl.Decimal(10, 2)),
    })  # fmt: skip
    frame.write_parquet(tmp_path / "a.parquet")
    same_as_memory(
        cp.FileSource(tmp_path / "a.parquet"), read_table(tmp_path / "a.parquet"))  # fmt: skip


@pytest.mark.parametrize("kind", ["whole", "real"])
def test_weights_and_what_is_asked_for(tmp_path, kind):
    frame = frame_of(300_000)
    rng = np.random.default_rng(1)
    frame["n"] = rng.integers(0, 5, len(frame)) if kind == "whole" else rng.random(len(frame))
    names = ["packs", "smoke", "cough"]
    folder = folder_of(frame, tmp_path, group=70_000)
    source = cp.FileSource(folder, columns=names, weights="n")
    table = Table.from_frame(frame[[*names, "n"]], weights="n")
    memory = MemoryCounts(table)
    for _ in range(2):  # from the files, and packed
        found = source.counts([[0, 1], [2], [0, 1, 2]])
        expected = memory.counts([[0, 1], [2], [0, 1, 2]])
        assert found.values.tobytes() == expected.values.tobytes()
        assert found.values.dtype == expected.values.dtype
    if kind == "whole":
        rows, expected = source.distinct([2, 0]), memory.distinct([2, 0])
        assert np.array_equal(rows.codes, expected.codes)
        assert np.array_equal(rows.weights, expected.weights)


def test_numbers_are_cut_where_told(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=500), "k": rng.integers(0, 999, 500)})
    frame.loc[3, "x"] = None
    frame["y"] = frame.x > 0.3
    cuts = {"x": [-0.5, 0.3], "k": [500]}
    source = cp.FileSource(folder_of(frame, tmp_path), discretize=cuts, cache=False)
    table = Table.from_frame(frame, discretize=cuts)
    same_as_memory(source, table)
    assert np.array_equal(source.distinct(["x", "y"]).codes, table.distinct(["x", "y"]).codes)


def test_states_may_be_declared(tmp_path):
    frame = frame_of(50)[["smoke", "packs"]]
    states = {"smoke": ("yes", "no", "rarely"), "packs": (8, 7, 6, 5)}
    source = cp.FileSource(folder_of(frame, tmp_path), states=states)
    same_as_memory(source, Table.from_frame(frame, states=states))
    other = cp.FileSource(tmp_path, schema=source.schema, columns=["packs"])
    assert other.schema.names == ("packs",)


def test_declared_numbers_may_come_in_any_order(tmp_path):
    frame = pd.DataFrame({"a": [0, 1, 1, 2, 3, 3, 3]})
    source = cp.FileSource(folder_of(frame, tmp_path, 1), states={"a": (0, 2, 1, 3)})
    assert source.counts([["a"]])[0].tolist() == [1, 1, 2, 3]


def test_widths_may_differ_between_files(tmp_path):
    for i, (kind, last) in enumerate(((pa.int8(), 0), (pa.int64(), 300), (pa.float32(), 2))):
        table = pa.table({"a": pa.array([0, 1, last], kind), "b": ["x", "y", "x"]})
        pq.write_table(table, tmp_path / f"{i}.parquet")
    source = cp.FileSource(tmp_path, cache=False)
    assert source.schema["a"].states == (0, 1, 2, 300)
    assert source.counts([["a", "b"]])[0].tolist() == [[4, 0], [0, 3], [1, 0], [1, 0]]


# ---- scans and memory ----------------------------------------------------------------------------


def test_packed_rows_are_read_once(tmp_path):
    source = cp.FileSource(folder_of(frame_of(), tmp_path))
    assert source.n_scans == 1
    assert source.counts([[0, 1]]).scans == 1
    assert source.counts([[0, 1], [2]]).scans == 0
    source.pair_counts()
    source.distinct([0, 1])
    assert source.n_scans == 2
    fresh = cp.FileSource(tmp_path)
    fresh.prepare()
    assert fresh.counts([[0, 1]]).scans == 0
    assert fresh.n_scans == 2
    memory = fresh.cache()
    assert isinstance(memory, MemoryCounts)
    assert (memory.table.schema, memory.table.n_rows) == (fresh.schema, 400)


def test_without_a_cache_each_call_is_a_scan(tmp_path):
    source = cp.FileSource(folder_of(frame_of(), tmp_path), cache=False)
    source.prepare()
    for n in (2, 3):
        assert source.counts([[0, 1], [2]]).scans == 1
        assert source.n_scans == n
    assert source.counts([[0, 1], [2]], max_cells=2).scans == 2


def test_what_does_not_fit_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("counterpane.counts.blocks.LEAST_MEMORY", 1)
    source = cp.FileSource(folder_of(frame_of(), tmp_path), max_memory=2000)
    assert source.cache() is source
    assert [source.counts([[0]]).scans for _ in range(2)] == [1, 1]


@pytest.mark.parametrize("rows", [1, 7, 64, 1001])
def test_packed_rows_come_back(rows):
    cards = np.array([1, 2, 3, 4, 5, 16, 17, 256, 300])
    rng = np.random.default_rng(rows)
    blocks = [rng.integers(0, cards[:, None], (9, rows)).astype(np.uint16) for _ in range(2)]
    packed = PackedRows(cards)
    for block in blocks:
        packed.append(block, None)
    for columns in ([*range(9)], [8, 0, 3], []):
        for (codes, _), block in zip(packed.blocks(columns), blocks, strict=True):
            assert np.array_equal(codes, block[columns])
    sizes = [sum(a.nbytes for a in arrays) for _, arrays, _ in packed._blocks]
    assert sum(sizes) <= packed_bytes(cards, 2 * rows, False)


def test_a_stopped_scan_keeps_nothing(tmp_path):
    source = cp.FileSource(folder_of(frame_of(), tmp_path))
    control = Control()
    control.cancel()
    with pytest.raises(Stopped):
        source.counts([[0]], ctl=control)
    with pytest.raises(Stopped):
        cp.FileSource(tmp_path, ctl=control)
    assert source.counts([[0]])[0].sum() == 400


# ---- refusals ------------------------------------------------------------------------------------


def refused(error, words, path, **options):
    with pytest.raises(error, match=words) as caught:
        cp.FileSource(path, **options)
    assert str(caught.value).count("\n") == 0


def test_files_that_are_not_there(tmp_path):
    refused(NoFileError, "no file", tmp_path / "a.parquet")
    refused(NoFileError, "holds no file", tmp_path)
    refused(NoFileError, "holds no file", tmp_path / "*.parquet")
    refused(NoFileError, "list of files is empty", [])
    (tmp_path / "a.xls").write_text("a\n1\n")
    refused(FileFormatError, "known kind", tmp_path / "a.xls")
    (tmp_path / "a.csv").write_text("a\n1\n")
    folder_of(frame_of(9), tmp_path)
    refused(FileFormatError, "one known kind", tmp_path)
    assert len(cp.FileSource([tmp_path / "part1.parquet", tmp_path / "part0.*"])._reader.paths) == 2


@pytest.mark.parametrize("damage", ["head", "middle", "empty"])
def test_a_damaged_file_is_named(tmp_path, damage):
    folder_of(frame_of(5000), tmp_path, 2)
    path = tmp_path / "part1.parquet"
    data = bytearray(path.read_bytes())
    if damage == "middle":
        data[100:3000] = bytes(2900)
    path.write_bytes({"head": data[:-200], "middle": data, "empty": b""}[damage])
    refused(FileFormatError, "part1.parquet", tmp_path)


def test_files_that_change_under_the_source(tmp_path):
    frame = frame_of()
    source = cp.FileSource(folder_of(frame, tmp_path), cache=False)
    (tmp_path / "part2.parquet").unlink()
    with raises((NoFileError, DataError), about="part2.parquet"):
        source.counts([[0]])
    frame.iloc[:300].to_parquet(tmp_path / "part2.parquet")
    with raises(DataError, about="400 rows"):
        source.counts([[0]])
    changed = frame.iloc[-133:].copy()
    changed["smoke"] = "often"
    changed.loc[changed.index[5], "packs"] = 9
    changed.loc[changed.index[7], "level"] = np.nan
    changed.to_parquet(tmp_path / "part2.parquet", index=False)
    for name, words in (("smoke", "'often'"), ("packs", "'packs'"), ("level", "'level'")):
        with raises(DataError, about=words):
            source.counts([[name]])


def test_files_that_differ(tmp_path):
    write = lambda name, **columns: pq.write_table(pa.table(columns), tmp_path / name)  # noqa: E731
    write("0.parquet", a=[1, 2], b=["x", "y"])
    write("1.parquet", a=[1, 2])
    refused(DataError, r"'b' is in file .*0\.parquet' and not in .*1\.parquet", tmp_path)
    write("1.parquet", a=["1", "2"], b=["x", "y"])
    refused(DataError, "'a' holds numbers in .* and texts in", tmp_path)
    write("1.parquet", b=["z", "y"], a=[3, 2])
    source = cp.FileSource(tmp_path)
    assert source.counts([["a", "b"]])[0].tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, 1]]
    twice = pa.table([[1], [2]], names=["a", "a"])
    pq.write_table(twice, tmp_path / "2.parquet")
    refused(DataError, "'a' occurs 2 times", tmp_path / "2.parquet")


def test_columns_that_cannot_be_used(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "real": rng.random(100), "many": np.arange(100), "ok": 1, "none": [None] * 100,
        "when": pd.Timestamp("2020-01-01"), "half": 0.5, "text": "t",
    })  # fmt: skip
    frame["none"] = frame["none"].astype("string")
    path = folder_of(frame, tmp_path, 1)
    refused(UnknownNameError, "did you mean 'real'", path, columns=["reel"])
    refused(UnknownNameError, "'reel'", path, states={"reel": [1]}, columns=["ok"])
    refused(DiscretizeError, r"discretize=\{'real'", path, columns=["real"])
    refused(DiscretizeError, "max_states=20", path, columns=["ok", "many"])
    refused(DataError, "'none' has no value", path, columns=["none"])
    refused(DiscretizeError, "'text' holds no numbers", path, columns=["text"],
            discretize={"text": [1]})  # fmt: skip
    refused(ParameterError, "discretize='width'", path, columns=["ok"], discretize="width")
    refused(StateError, "'text': 't' is not one of 1 states", path, columns=["text"],
            states={"text": ["u"]})  # fmt: skip
    for constant in ("half", "when"):
        assert cp.FileSource(path, columns=[constant]).schema[0].card == 1
    assert cp.FileSource(path, columns=["many"], max_states=100).schema["many"].card == 100


def test_parameters_are_checked(tmp_path, monkeypatch):
    path = folder_of(frame_of(9), tmp_path)
    refused(ParameterError, "max_memory=1000", path, max_memory=1000)
    assert cp.FileSource(path, cache=False).distinct([0]).n_rows == 2
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    refused(MissingExtraError, "pyarrow", path)


@pytest.mark.parametrize(
    ("weights", "words"),
    [([1, -1], "-1"), ([1, None], "nan"), ([0, 0], "all weights are zero"),
     ([1, float("inf")], "inf"), (["a", "b"], "no numbers")],
)  # fmt: skip
def test_bad_weights(tmp_path, weights, words):
    pq.write_table(pa.table({"a": [1, 2], "w": weights}), tmp_path / "a.parquet")
    refused(WeightError, words, tmp_path, weights="w")


def test_no_rows_at_all(tmp_path):
    folder_of(frame_of(9).iloc[:0], tmp_path, 1)
    refused(DataError, "no rows", tmp_path)


# ---- the way in, and learners --------------------------------------------------------------------


def test_read_chooses(tmp_path, monkeypatch):
    frame = frame_of()
    folder_of(frame, tmp_path)
    one = tmp_path / "part0.parquet"
    assert isinstance(cp.read(one), Table)
    assert isinstance(cp.read(frame), Table)
    for large in (tmp_path, str(tmp_path), str(tmp_path / "part*.parquet"), [one]):
        assert isinstance(cp.read(large, target=None), cp.FileSource)
    with raises(ParameterError, about=("'sheet'", "max_memory")):
        cp.read(tmp_path, sheet="visits")
    monkeypatch.setattr("counterpane.data.reading.LARGE_FILE", 100)
    assert isinstance(cp.read(one), cp.FileSource)
    with pytest.raises(NoFileError):
        cp.read(tmp_path / "part9.parquet")


def test_nothing_is_left_behind(tmp_path):
    before = set(Path(tempfile.gettempdir()).glob("counterpane-*"))
    source = cp.FileSource(folder_of(frame_of(), tmp_path), cache=False)
    source.distinct([0, 1])
    assert set(Path(tempfile.gettempdir()).glob("counterpane-*")) == before
