"""Messy columns are typed, and those that say nothing are left out, with a reason."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import counterpane as cp
from counterpane.data.columns import Labels, Numbers
from counterpane.data.encoding import as_written
from counterpane.data.prepare import ColumnsLeftOut, cut_notes, prepare
from counterpane.data.reading import read_columns
from counterpane.data.schema import Schema, Variable
from counterpane.errors import DataError, FileFormatError, ParameterError, UnknownNameError
from error_checks import raises, warns

N = 100
KIND = ["a", "b"] * (N // 2)


def why(values, name="x", **more) -> str:
    return prepare({name: values, "kind": KIND}, **more).left_out.get(name, "")


@pytest.mark.parametrize(
    ("values", "name", "words"),
    [
        ([f"n{i}" for i in range(N)], "x", "names the rows: 100 values in 100 rows"),
        ([f"n{i % 60}" for i in range(N)], "x", "names the rows: 60 values"),
        ([f"n{i % 30}" for i in range(N)], "x", "too many states: 30 values"),
        (list(range(N)), "x", "names the rows"),
        (list(range(1000, 1000 + N)), "x", "names the rows"),
        ([i * i * 977 for i in range(N)], "customer_id", "names the rows"),
        ([i * i * 977 for i in range(N)], "customerId", "names the rows"),
        (["same"] * N, "x", "the same value in all rows"),
        ([7.5] * N, "x", "the same value in all rows"),
        ([None] * N, "x", "no value in any row"),
        ([np.nan] * N, "x", "no value in any row"),
        ([[1]] * N, "x", "list values, which have no states"),
        ([datetime.time(1)] * N, "x", "time values, which have no states"),
    ],
)
def test_columns_that_say_nothing_are_left_out(values, name: str, words: str) -> None:
    assert words in why(values, name)
    if "no states" not in words:
        assert why(values, name, keep=[name]) == ""


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([f"n{i % 20}" for i in range(N)], "x"),
        (["x", None] * (N // 2), "x"),  # a tick, or none
        ([i * i * 977 for i in range(N)], "income"),
        ([i * i * 977 for i in range(N)], "humid"),  # ends in id, and is none
        ([i / 7 for i in range(N)], "id"),
        ([datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(N)], "x"),
        ([True, False] * (N // 2), "x"),
        (list(range(N // 2)) * 2, "x"),
    ],
)
def test_columns_that_say_something_stay(values, name: str) -> None:
    assert why(values, name) == ""


def test_small_tables_have_no_ids() -> None:
    assert prepare({"a": ["x", "y", "z"], "b": [1, 2, 3]}).left_out == {}


def test_many_states_need_many_rows() -> None:
    states = [f"s{i % 200}" for i in range(2000)]
    assert prepare({"a": states}).left_out == {}
    with raises(DataError, about="'a'"):
        prepare({"a": [f"s{i % 300}" for i in range(5000)]})


def test_texts_that_are_nearly_all_numbers() -> None:
    texts = [str(i * 37 % 91 + 0.5) for i in range(N)]
    texts[4] = "broken"
    texts[5] = "N/A"
    found = prepare({"x": texts, "kind": KIND})
    column = found.columns[0]
    assert isinstance(column, Numbers)
    assert np.flatnonzero(column.missing).tolist() == [4, 5]
    assert column.values[6] == 6 * 37 % 91 + 0.5
    assert found.read_as == {"x": "numbers, 1 other cell ('broken') taken as missing"}
    texts[:10] = [f"broken {word}" for word in "abcdefghij"]
    assert isinstance(prepare({"x": texts[:90], "y": KIND[:90]}, keep=["x"]).columns[0], Labels)
    marks = ["0", "1"] * 49 + ["unknown"] * 2
    assert isinstance(prepare({"x": marks, "kind": KIND}).columns[0], Labels)


@pytest.mark.parametrize("word", ["n/a", "-", "none", "#N/A", "not known"])
def test_a_word_for_missing_numbers(word: str) -> None:
    """It may stand in up to half of the cells, if it has no digit."""
    texts = [str(i * 37 % 91 + 0.5) for i in range(N)]
    texts[::3] = [word] * len(texts[::3])
    found = prepare({"x": texts, "kind": KIND})
    assert isinstance(found.columns[0], Numbers)
    assert np.flatnonzero(found.columns[0].missing).tolist() == list(range(0, N, 3))
    assert f"({word!r}) taken as missing" in found.read_as["x"]
    texts[::3] = ["90+"] * len(texts[::3])
    assert isinstance(prepare({"x": texts, "y": KIND}, keep=["x"]).columns[0], Labels)


def test_texts_that_are_dates() -> None:
    days = pd.date_range("2020-01-01", periods=N)
    texts = days.strftime("%d/%m/%Y").tolist()
    found = prepare({"x": texts, "kind": KIND})
    column = found.columns[0]
    assert isinstance(column, Numbers)
    assert column.dated
    assert column.values.tolist() == [18262 + i for i in range(N)]
    assert column.written.day_first is True
    assert found.read_as == {"x": "dates, the day first"}
    american = prepare({"x": days.strftime("%m/%d/%Y").tolist(), "kind": KIND})
    assert american.columns[0].written.day_first is False
    assert american.columns[0].values.tolist() == column.values.tolist()
    constant = prepare({"x": ["30/1/2020"] * N, "kind": KIND})
    assert list(constant.left_out) == ["x"]
    assert constant.read_as == {}
    unclear = prepare({"x": ["1/2/2020", "3/4/2020"] * 50, "kind": KIND})
    assert isinstance(unclear.columns[0], Labels)


def test_infinite_numbers_are_missing() -> None:
    values = np.arange(N) / 7
    values[3] = np.inf
    found = prepare({"x": values, "kind": KIND})
    assert np.flatnonzero(found.columns[0].missing).tolist() == [3]
    assert "1 infinite" in found.read_as["x"]


def test_new_texts_are_read_as_they_were() -> None:
    days = pd.date_range("2020-01-01", periods=N).strftime("%d/%m/%Y").tolist()
    found = prepare({"x": days, "n": [f"{i / 3:.2f}" for i in range(N)]})
    schema = cp.Table.from_frame(found.columns, discretize="quantile").schema
    new = prepare({"x": ["3/2/2020", "never"], "n": ["17.5", "much"]}, keep=["x", "n"]).columns
    x, n = map(as_written, new, schema)
    assert x.labels().states == ("2020-02-03",)
    assert x.missing.tolist() == n.missing.tolist() == [False, True]
    assert n.values[0] == 17.5


def test_mistakes() -> None:
    with raises(UnknownNameError, parameter="column", value="kin"):
        prepare({"kind": KIND}, keep=["kin"])
    with raises(DataError, about="rows"):
        prepare({"kind": []})
    column = prepare({"kind": KIND}).columns[0]
    with raises(DataError, about="'kind'"):
        prepare([column, column])
    with raises(ParameterError, parameter="on_unusable", value="skip"):
        cp.read({"a": KIND}, on_unusable="skip")


def test_read_drops_where_asked_and_names_what_it_drops() -> None:
    frame = pl.DataFrame({"id": range(N), "kind": KIND, "list": [[1]] * N})
    with raises(DataError, about="'list'"):
        cp.read(frame, discretize=None)
    with warns(ColumnsLeftOut, about=("'list'", "'id'")):
        table = cp.read(frame, discretize=None, on_unusable="drop")
    assert table.schema.names == ("kind",)
    table = cp.read({"w": list(range(1, N + 1)), "kind": KIND}, weights="w", on_unusable="drop")
    assert table.total_weight == N * (N + 1) / 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_encodings_are_found(tmp_path, encoding: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("größe;,\nä;1\nö;2\nä;1\n", encoding=encoding)
    found = prepare(read_columns(path, delimiter=";"))
    assert [c.name for c in found.columns] == ["größe", ","]
    assert found.columns[0].states == ("ä", "ö")


def test_blank_names_and_strange_bytes(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",kind\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(N)))
    assert list(prepare(read_columns(path)).left_out) == ["column 1"]
    with raises(FileFormatError, about="t.csv"):
        cp.read(path, discretize=None)
    path.write_bytes(b"a,b\n\x8f,\xff\n")
    with raises(FileFormatError, about="t.csv"):
        prepare(read_columns(path))


def test_reading_reports_how_far_it_is(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "x,y\nu,v\n" * 12_000)
    said = []
    prepare(read_columns(path, report=lambda *words: said.append(words)))
    assert [what for what, _, _ in said] == ["reading, megabytes"] * 3
    sizes = [done for _, done, _ in said]
    assert sizes == sorted(sizes)
    assert said[0][2] == path.stat().st_size / 1e6
    assert 0 < sizes[-1] <= said[0][2]


def test_only_columns_that_have_a_cut_are_said_to_be_cut() -> None:
    schema = Schema([Variable("a", ("low", "high"), (3.5,)), Variable("b", ("all",), ())])
    assert cut_notes(schema) == [
        "Cut into intervals: a.",
        "Not discretized (no cut point is informative): b.",
    ]
    assert not cut_notes(Schema([Variable("c", ("x", "y"))]))


def test_infinite_numbers_of_a_file_are_missing(tmp_path) -> None:
    path = tmp_path / "table.csv"
    cells = ["inf", "-inf", "Inf", "Infinity", *(f"{i}.5" for i in range(60))]
    path.write_text("x,k\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells)))
    (column, _) = read_columns(path)
    assert isinstance(column, Numbers) and column.missing.sum() == 4


def test_many_states_are_kept_where_effects_are_penalized() -> None:
    towns = [f"n{i % 300}" for i in range(3000)]
    frame = {"x": towns, "kind": KIND * 30}
    assert prepare(frame).left_out == {"x": "too many states: 300 values in 3,000 rows"}
    assert prepare(frame, many_states=True).left_out == {}
    few_rows = {"x": [f"n{i % 300}" for i in range(1000)], "kind": KIND * 10}
    assert "x" in prepare(few_rows, many_states=True).left_out
    assert "x" in prepare({"x": [f"n{i % 5000}" for i in range(30_000)]} | {"kind": KIND * 300},
                          many_states=True).left_out  # fmt: skip
