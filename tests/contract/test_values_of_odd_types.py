"""Decimals, dates, wide integers and texts that are no UTF-8: read, or refused in one message."""

from __future__ import annotations

import datetime
import sqlite3
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import counterpane as cp
from counterpane.errors import CounterpaneError, DataError
from counterpane.learners.registry import learners
from error_checks import raises

ROWS = 60
GROUP = ["u", "v"] * (ROWS // 2)
CLASSIFIERS = [entry.learner_class for entry in learners("classifier").values()]


def over_arrow(table):
    return table.to_pandas(types_mapper=pd.ArrowDtype)


FRAMES = {
    "pyarrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "pandas over arrow": over_arrow,
    "polars": pl.from_arrow,
    "polars lazy": lambda table: pl.from_arrow(table).lazy(),
    "dataset": ds.dataset,
    "batches": lambda table: lambda: table.to_reader(),
}
EACH = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)


def written(path, table):
    """A parquet or a Feather file."""
    (pq.write_table if path.suffix == ".parquet" else feather.write_feather)(table, path)
    return path


def same(one, other):
    """The schemas are equal, also in what their comparison leaves out."""
    return [v.to_record() for v in one.schema] == [v.to_record() for v in other.schema]


# ---- decimals ------------------------------------------------------------------------------------

DECIMALS = {
    str(kind): kind
    for kind in (
        pa.decimal32(6, 2), pa.decimal64(12, 2), pa.decimal128(20, 2), pa.decimal128(30, 20),
        pa.decimal128(20, 0), pa.decimal256(50, 2),
    )
}  # fmt: skip


def decimal_cells(kind):
    cells = [Decimal(7 * i) if kind.scale == 0 else Decimal(7 * i) / 100 for i in range(ROWS)]
    return [None if i % 9 == 0 else cell for i, cell in enumerate(cells)]


def decimal_table(kind):
    return pa.table({"a": pa.array(decimal_cells(kind), kind), "b": GROUP})


def as_floats(kind):
    """The table of the same numbers as doubles."""
    cells = [None if cell is None else float(cell) for cell in decimal_cells(kind)]
    return cp.read({"a": cells, "b": GROUP})


@EACH
@pytest.mark.parametrize("kind", DECIMALS.values(), ids=DECIMALS)
def test_decimals_are_numbers(kind, make, request):
    if kind == pa.decimal256(50, 2) and "polars" in request.node.callspec.id:
        pytest.skip("polars has no decimals of 256 bits")
    assert same(cp.read(make(decimal_table(kind))), as_floats(kind))


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@pytest.mark.parametrize("kind", DECIMALS.values(), ids=DECIMALS)
def test_decimals_of_files_are_numbers(kind, suffix, tmp_path):
    path = written(tmp_path / f"rows{suffix}", decimal_table(kind))
    assert same(cp.read(path), as_floats(kind))


@pytest.mark.parametrize("make", [dict, pd.DataFrame], ids=["mapping", "pandas"])
def test_decimal_objects_are_numbers(make):
    kind = pa.decimal128(20, 2)
    assert same(cp.read(make({"a": decimal_cells(kind), "b": GROUP})), as_floats(kind))


@EACH
def test_long_decimals_without_a_point_are_told_apart(make):
    cells = [Decimal(2**60 + i % 3) for i in range(ROWS)]
    table = pa.table({"a": pa.array(cells, pa.decimal128(20, 0)), "b": GROUP})
    assert cp.read(make(table)).schema["a"].states == (2**60, 2**60 + 1, 2**60 + 2)


def test_decimals_that_a_driver_returns_are_numbers():
    """As those of NUMERIC columns that PostgreSQL's drivers return."""
    sqlite3.register_converter("EXACT", lambda text: Decimal(text.decode()))
    connection = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES)
    connection.execute("CREATE TABLE rows (a EXACT, b TEXT, w EXACT)")
    rows = [(str(i % 3), b, "0.5") for i, b in enumerate(GROUP)]
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
    source = cp.SqlSource(connection, "rows", weights="w")
    assert source.schema["a"].states == (0, 1, 2)
    assert source.total_weight == ROWS / 2
    assert source.counts([["a", "b"]])[0].tolist() == [[5, 5]] * 3


def test_decimals_may_be_given_wherever_numbers_are():
    table = decimal_table(pa.decimal128(20, 2)).to_pandas().dropna()
    weights = [Decimal("0.5")] * len(table)
    assert cp.read(table, weights=weights).total_weight == len(table) / 2
    cut = cp.read(table, discretize={"a": [Decimal("0.7"), Decimal("2.1")]})
    assert cut.schema["a"].cuts == (0.7, 2.1)
    model = cp.ChowLiu().fit(cut).model_
    for one, other in (
        ({"a": Decimal("0.35")}, {"a": 0.35}),
        ({"a": cp.Range(Decimal("0.1"), Decimal("1.5"))}, {"a": cp.Range(0.1, 1.5)}),
    ):
        assert model.query("b", one)["u"] == model.query("b", other)["u"]
    states = cp.read({"a": [Decimal(1), Decimal(2)]}, states={"a": [Decimal(2), Decimal(1)]})
    assert [type(state) for state in states.schema["a"].states] == [int, int]


def test_whole_decimals_may_be_classes():
    classes = [Decimal(i % 3) for i in range(ROWS)]
    frame = pd.DataFrame({"a": [float(i % 3) for i in range(ROWS)], "y": classes})
    assert cp.NaiveBayes().fit(frame, "y").predict(frame).tolist() == classes
    assert cp.NaiveBayes().fit(frame[["a"]], classes).score(frame, classes) == 1


# ---- dates ---------------------------------------------------------------------------------------

DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(ROWS)]
SOME_DAYS = [None if i % 9 == 0 else day for i, day in enumerate(DAYS)]


@EACH
@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()], ids=str)
def test_dates_with_missing_values_are_read(kind, make):
    table = pa.table({"a": pa.array(SOME_DAYS, kind), "b": GROUP})
    assert same(cp.read(make(table)), cp.read({"a": SOME_DAYS, "b": GROUP}))


@pytest.mark.parametrize("learner", CLASSIFIERS)
@pytest.mark.parametrize("hours", [24, 5])
def test_a_date_may_be_the_class(learner, hours):
    start = datetime.datetime(2020, 1, 1)
    moments = [start + datetime.timedelta(hours=hours * (i % 3)) for i in range(ROWS)]
    frame = pd.DataFrame({"a": [i % 3 for i in range(ROWS)], "seen": moments})
    fitted = learner().fit(frame, "seen")
    second = start + datetime.timedelta(hours=hours)
    expected = str(second.date() if hours == 24 else second)[:16]
    assert fitted.predict(frame)[1] == expected
    assert fitted.score(frame, "seen") == 1
    assert fitted.model_.predict_proba(frame).argmax(axis=1).tolist() == [0, 1, 2] * 20
    measured = cp.evaluate.held_out_measures(learner(), frame, "seen", folds=2)
    assert measured.accuracy.value == 1


@pytest.mark.parametrize("learner", CLASSIFIERS)
def test_a_class_of_many_dates_is_refused_in_one_message(learner):
    days = [datetime.date(1990, 1, 1) + datetime.timedelta(i) for i in range(3 * ROWS)]
    frame = pd.DataFrame({"a": GROUP * 3, "seen": pd.to_datetime(days)})
    with raises(DataError, about=("'seen'", "180 different values")):
        learner().fit(frame, "seen")


@EACH
def test_a_table_may_be_read_for_a_date(make):
    table = pa.table({"a": pa.array(DAYS, pa.date32()), "b": GROUP})
    read = cp.read(make(table), target="a")
    assert same(read, cp.read({"a": DAYS, "b": GROUP}, target="a"))


# ---- integers of 128 bits ------------------------------------------------------------------------

WIDE = pytest.mark.parametrize("kind", [pl.Int128, pl.UInt128])


@WIDE
def test_integers_of_128_bits_are_read(kind):
    cells = [None if i % 9 == 0 else 7 * i for i in range(ROWS)]
    frame = pl.DataFrame({"a": pl.Series(cells, dtype=kind), "b": GROUP})
    assert same(cp.read(frame), cp.read({"a": cells, "b": GROUP}))


@WIDE
def test_long_integers_of_128_bits_are_told_apart(kind):
    frame = pl.DataFrame({"a": pl.Series([2**70 + i % 3 for i in range(ROWS)], dtype=kind)})
    assert cp.read(frame).schema["a"].states == (2**70, 2**70 + 1, 2**70 + 2)


@WIDE
def test_integers_of_128_bits_of_lazy_frames_are_read(kind):
    cells = [None if i % 9 == 0 else 7 * (i % 5) for i in range(ROWS)]
    frame = pl.LazyFrame({"a": pl.Series(cells, dtype=kind), "b": GROUP})
    assert same(cp.read(frame), cp.read({"a": cells, "b": GROUP}))


# ---- texts that are no UTF-8 ---------------------------------------------------------------------

LONE = ["x\ud800", "y", "z"] * (ROWS // 3)  # half of a surrogate pair


@pytest.mark.parametrize(
    "cells",
    [LONE, np.array(LONE), np.array(LONE, dtype=object), pd.Series(LONE, dtype=object)],
    ids=["list", "array", "array of objects", "pandas"],
)
def test_lone_surrogates_are_read(cells, tmp_path):
    frame = {"a": cells, "b": GROUP}
    assert cp.read(frame).schema["a"].states == ("x\ud800", "y", "z")
    model = cp.ChowLiu().fit(frame).model_
    model.save(tmp_path / "m.cp")
    again = cp.load(tmp_path / "m.cp")
    assert again.query("b", {"a": "x\ud800"})["u"] == model.query("b", {"a": "x\ud800"})["u"]


def invalid_texts(*, coded):
    """Arrow memory of texts of which one is no UTF-8."""
    offsets = pa.array([0, 1, 3, 4], pa.int32()).buffers()[1]
    texts = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"a\xff\xfeb")])
    places = pa.array([0, 1, 2] * (ROWS // 3), pa.int32())
    return pa.DictionaryArray.from_arrays(places, texts) if coded else texts.take(places)


@EACH
@pytest.mark.parametrize("coded", [False, True], ids=["texts", "dictionary"])
def test_texts_that_are_no_utf8_are_refused_in_one_message(coded, make, request):
    if coded and request.node.callspec.id == "dictionary-pandas":
        pytest.skip("pandas refuses them itself")
    table = pa.table({"a": invalid_texts(coded=coded), "b": GROUP})
    with raises(DataError, about="'a'"):
        cp.read(make(table))


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_texts_of_files_that_are_no_utf8_are_refused_in_one_message(suffix, tmp_path):
    path = written(tmp_path / f"rows{suffix}", pa.table({"a": invalid_texts(coded=False)}))
    with raises(CounterpaneError, about="column 0"):
        cp.read(path)
