"""Bad input through the public names: our error, one sentence that names the culprit, no file."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import counterpane as cp
from counterpane.data.headers import HeaderGuessed
from counterpane.data.reading import read_table
from counterpane.errors import (
    DataError,
    FileFormatError,
    NoFileError,
    StateError,
    TableSizeError,
    UnknownNameError,
    WeightError,
)
from error_checks import warns

FRAME = pd.DataFrame({"smoke": ["no", "yes", "no", "yes"], "lung": ["ok", "bad", "ok", "ok"]})


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def refused(tmp_path):
    """Runs a call that must fail, and looks at its error and at the folder."""

    def files():
        return {p.name: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}

    def check(error, culprit, call, *, whole=True):
        before = files()
        with pytest.raises(cp.CounterpaneError) as caught:
            call()
        assert type(caught.value) is error
        message = str(caught.value)
        assert re.search(culprit, message), message
        assert "\n" not in message
        assert message[-1] in ".?" or not whole, message
        assert 20 < len(message) < 400
        assert files() == before
        assert caught.value.__cause__ is None  # nothing of the machinery below is shown

    return check


def model():
    return cp.ChowLiu().fit(FRAME).model_


def test_messages_keep_both_ends_of_what_is_very_long():
    message = str(DataError("a" * 3000 + "b" * 3000))
    assert (message[:9], message[-9:]) == ("a" * 9, "b" * 9)
    assert " … " in message and len(message) < 1000


# ---- tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        FRAME.iloc[:0],
        pl.from_pandas(FRAME).head(0),
        pa.Table.from_pandas(FRAME).slice(0, 0),
        {"smoke": [], "lung": []},
        np.empty((0, 2)),
    ],
    ids=["pandas", "polars", "pyarrow", "dict", "numpy"],
)
def test_a_table_without_rows(refused, frame):
    refused(DataError, "no rows", lambda: cp.ChowLiu().fit(frame))
    refused(DataError, "no rows", lambda: cp.read(frame))


def test_a_table_without_columns(refused):
    refused(DataError, "no columns", lambda: cp.ChowLiu().fit({}))
    refused(DataError, "no columns", lambda: cp.Table(cp.Schema([]), np.empty((0, 3))))


def test_an_empty_file(refused, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    refused(FileFormatError, r"empty\.csv", lambda: cp.ChowLiu().fit("empty.csv"))
    (tmp_path / "header.csv").write_text("a,b\n")
    refused(DataError, "no rows", lambda: cp.ChowLiu().fit("header.csv"))


def test_duplicate_column_names(refused, tmp_path):
    twice = pd.DataFrame([["no", "ok"], ["yes", "bad"]], columns=["lung", "lung"])
    refused(DataError, "lung", lambda: cp.ChowLiu().fit(twice))
    (tmp_path / "twice.csv").write_text("lung,lung\nno,ok\nyes,bad\n")
    with warns(HeaderGuessed, about="'lung (2)'"):
        cp.ChowLiu().fit("twice.csv")
    variables = [cp.Variable("lung", (0, 1)), cp.Variable("lung", (0, 1))]
    refused(DataError, "'lung' occurs 2 times", lambda: cp.Schema(variables))


def test_an_unknown_state(refused):
    found = model()
    new = pd.DataFrame({"smoke": ["no", "rarely"], "lung": ["ok", "ok"]})
    culprit = r"column 'smoke', row 1: 'rarely' is not one of 2 states \('no', 'yes'\)"
    refused(StateError, culprit, lambda: found.score_samples(new))
    refused(StateError, culprit, lambda: cp.Table.from_frame(new, schema=found.schema))
    refused(StateError, "'smoke': 'rarely'", lambda: found.query("lung", {"smoke": "rarely"}))
    stream = cp.StreamCounts(found.schema, lambda: [FRAME, new])
    refused(StateError, culprit, lambda: cp.ChowLiu().fit(stream))


def test_an_unknown_column(refused):
    refused(UnknownNameError, "'lungs'.*'lung'", lambda: model().query("lungs"))
    source = cp.MemoryCounts(cp.read(FRAME))
    refused(UnknownNameError, "'smok'.*'smoke'", lambda: source.counts([["smok"]]))


# ---- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "culprit"),
    [
        ([1, 1, np.nan, 1], "row 2 is nan"),
        ([1, np.inf, 1, 1], "row 1 is inf"),
        ([1, 1, 1, -0.5], r"row 3 is -0\.5"),
        ([0, 0, 0, 0], "all weights are zero"),
        ([1, 1, 1], r"\(3,\); 4 rows"),
        (["a", "b", "c", "d"], "type"),
    ],
    ids=["nan", "infinite", "negative", "zero", "too few", "texts"],
)
def test_bad_weights(refused, weights, culprit):
    refused(WeightError, culprit, lambda: cp.ChowLiu().fit(FRAME, sample_weight=weights))
    refused(WeightError, culprit, lambda: cp.read(FRAME, weights=np.array(weights)))


def test_a_weight_column_with_a_hole(refused):
    frame = FRAME.assign(w=[1.0, None, 2.0, 1.0])
    refused(WeightError, "row 1 is nan", lambda: cp.read(frame, weights="w"))


# ---- scopes and sizes ----------------------------------------------------------------------------


def test_a_table_above_the_cell_limit(refused):
    codes = np.zeros((30, 5), dtype=int)
    source = cp.MemoryCounts(cp.Table(cp.Schema.from_cards([2] * 30), codes))
    batch = source.counts([[0], range(30)])
    refused(TableSizeError, r"table 1 of the batch has 1\.07e\+09 cells", lambda: batch[1])
    refused(
        TableSizeError,
        "1,073,741,824 cells together; the limit is 268,435,456",
        lambda: source.counts([range(30)], max_cells=2**40),
    )


# ---- files ---------------------------------------------------------------------------------------


def test_a_file_that_is_not_there(refused, tmp_path):
    (tmp_path / "adult.csv").write_text("a\n1\n")
    refused(NoFileError, r"no file 'adlt\.csv'.*'adult\.csv'", lambda: cp.read("adlt.csv"))
    refused(NoFileError, "is a folder", lambda: read_table(tmp_path))
    (tmp_path / "empty").mkdir()
    refused(NoFileError, "holds no file", lambda: cp.ChowLiu().fit(tmp_path / "empty"))
    refused(NoFileError, "load_dataset", lambda: cp.read("titanic"))
    refused(NoFileError, r"no\.cp", lambda: cp.load("no.cp"))
    refused(NoFileError, "folder", lambda: cp.load(tmp_path))


def test_a_file_of_no_known_kind(refused, tmp_path):
    (tmp_path / "notes.doc").write_bytes(b"\x00\x01")
    refused(FileFormatError, r"notes\.doc", lambda: cp.read("notes.doc"))
    refused(FileFormatError, r"notes\.doc", lambda: cp.load("notes.doc"))


def test_a_text_file_that_is_no_text(refused, tmp_path):
    (tmp_path / "noise.csv").write_bytes(bytes(range(256)) * 20)
    refused(FileFormatError, r"noise\.csv", lambda: cp.read("noise.csv"))
    (tmp_path / "noise.csv.gz").write_bytes(b"no gzip at all, but long enough to look at")
    refused(FileFormatError, r"noise\.csv\.gz", lambda: cp.read("noise.csv.gz"))


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9, 0.99])
def test_a_csv_file_cut_short(refused, tmp_path, keep):
    rng = np.random.default_rng(0)
    text = "a,b\n" + "".join(f"{x},{y}\n" for x, y in rng.integers(0, 9, (5000, 2)))
    packed = gzip.compress(text.encode())
    (tmp_path / "cut.csv.gz").write_bytes(packed[: int(keep * len(packed))])
    refused(FileFormatError, r"cut\.csv\.gz", lambda: cp.ChowLiu().fit("cut.csv.gz"))


@pytest.mark.parametrize("keep", [0.0, 0.2, 0.9])
def test_a_parquet_file_cut_short(refused, tmp_path, keep):
    path = tmp_path / "cut.parquet"
    FRAME.to_parquet(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data))])
    # The words of the parquet library follow, and may be cut.
    refused(FileFormatError, r"cut\.parquet", lambda: cp.ChowLiu().fit(path), whole=False)
