"""Excel sheets and JSON lines as tables."""

from __future__ import annotations

import datetime
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import counterpane as cp
from counterpane.data.columns import Labels, Numbers, columns_of
from counterpane.data.excel import SheetChosen
from counterpane.data.headers import HeaderGuessed
from counterpane.data.reading import read_columns
from counterpane.errors import DataError, FileFormatError, MissingExtraError, ParameterError
from error_checks import raises, warns

ROWS = [
    {"id": i, "height": i / 7, "kind": "ab"[i % 2], "seen": i % 3 == 0, "n": i % 4}
    for i in range(60)
]


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        page = book.create_sheet(name)
        for row in rows:
            page.append(row)
    book.save(path)
    return path


def lines(path: Path, records: list[Any]) -> Path:
    path.write_text("\n".join(json.dumps(record) for record in records))
    return path


def csv(path: Path) -> Path:
    texts = [",".join(str(value) for value in row.values()) for row in ROWS]
    path.write_text("\n".join([",".join(ROWS[0]), *texts]))
    return path


def test_all_kinds_of_files_hold_the_same_table(tmp_path: Path) -> None:
    table = [list(ROWS[0]), *(list(row.values()) for row in ROWS)]
    files = [
        csv(tmp_path / "a.csv"),
        lines(tmp_path / "a.jsonl", ROWS),
        lines(tmp_path / "a.ndjson", ROWS),
        workbook(tmp_path / "a.xlsx", {"rows": table}),
    ]
    packed = tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(files[1].read_bytes()))
    options = {"discretize": "quantile", "drop": ["id"]}
    tables = [cp.read(path, **options) for path in [*files, packed]]
    for other in tables[1:]:
        assert other.schema == tables[0].schema
        assert (other.codes == tables[0].codes).all()


def test_cells_of_json(tmp_path: Path) -> None:
    records = [{"a": 1, "b": "x"}, {"b": None, "c": "$1,500"}, {"a": "NA", "c": "$20"}]
    a, b, c = columns_of(read_columns(lines(tmp_path / "t.jsonl", records)))
    assert isinstance(a, Numbers) and a.missing.tolist() == [False, True, True]
    assert isinstance(b, Labels) and b.codes.tolist() == [0, -1, -1]
    assert isinstance(c, Numbers) and c.values[1:].tolist() == [1500, 20]


def test_lists_in_json_are_refused_or_left_out(run, tmp_path: Path) -> None:
    records = [{**row, "tags": ["x"], "more": {"y": 1}} for row in ROWS]
    lines(tmp_path / "t.jsonl", records)
    with raises(DataError, about="'tags'"):
        cp.read(tmp_path / "t.jsonl", discretize="quantile")
    code, out, _ = run("learn", "t.jsonl", "--target", "kind")
    assert code == 0
    assert "Left out tags: list values, which have no states." in out
    assert "Left out more.y: the same value in all rows" in out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ('{"a": 1}\n[1, 2]', "line 2 is a JSON list"),
        ('{"a": 1}\n{"a": ', "line 2 is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ('{"": 1}', "empty key"),
        ('{"a": ' + "9" * 10_000 + "}", "is no JSON"),
    ],
)
def test_damaged_json(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "t.jsonl").write_text(text)
    with pytest.raises(FileFormatError, match=words):
        cp.read(tmp_path / "t.jsonl")


def test_sheets(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", {"one": [["a"], ["x"]], "two": [["b"], ["y"]]})
    with warns(SheetChosen, about=("'one'", "'two'")):
        assert cp.read(path).schema.names == ("a",)
    assert cp.read(path, sheet="two").schema.names == ("b",)
    assert cp.read(path, sheet=1).schema.names == ("a",)
    with raises(cp.CounterpaneError, parameter="sheet", value="tow"):
        cp.read(path, sheet="tow")
    notes = [["Sales of 2024"], ["see the next sheet"]]
    rows = [["Orders of 2024"], [], ["kind", "size"], *(["ab"[i % 2], i] for i in range(30))]
    book = workbook(tmp_path / "b.xlsx", {"read me": notes, "orders": rows})
    with (
        warns(SheetChosen, about=("'orders'", "'read me'")),
        warns(HeaderGuessed, about="'Orders of 2024'"),
    ):
        assert cp.read(book, drop=["size"]).schema.names == ("kind",)
    with raises(ParameterError, parameter="sheet", value="3"):
        cp.read(path, sheet="3")
    with raises(ParameterError, parameter="sheet", value="x"):
        cp.read(csv(tmp_path / "a.csv"), sheet="x")


def test_messy_sheets(tmp_path: Path) -> None:
    day = datetime.datetime(2021, 3, 4)
    rows = [
        [],
        ["name ", None, "when", "value", 5, None],
        ["x", None, day, 1, "#N/A", None],
        [],
        [" ", None, day + datetime.timedelta(days=1), "n/a", 2],
        ["y", None, None, 2.5, 3, None, "extra"],
    ]
    path = workbook(tmp_path / "t.xlsx", {"only": rows})
    with raises(FileFormatError, about="column 7"):
        cp.read(path, discretize=None)
    name, when, value, five, last = columns_of(read_columns(path))
    assert (name.name, five.name, last.name) == ("name", "5", "column 7")
    assert isinstance(name, Labels) and name.codes.tolist() == [0, -1, 1]
    assert isinstance(when, Numbers) and when.dated and when.values[1] - when.values[0] == 1
    assert isinstance(value, Labels) and value.states == ("1", "2.5", "n/a")
    assert isinstance(five, Numbers) and five.missing.tolist() == [True, False, False]


def test_empty_and_double_columns(tmp_path: Path) -> None:
    with raises(FileFormatError, about="a.xlsx"):
        cp.read(workbook(tmp_path / "a.xlsx", {"only": []}))
    double = workbook(tmp_path / "b.xlsx", {"only": [["a", "a"], [1, 2]]})
    with raises(DataError, about="'a'"):
        cp.read(double, discretize=None)
    with warns(HeaderGuessed, about="'a (2)'"):
        assert cp.read(double).schema.names == ("a", "a (2)")
    with raises(DataError, about="rows"):
        cp.read(workbook(tmp_path / "c.xlsx", {"only": [["a", "b"]]}))


def test_without_openpyxl(tmp_path: Path, monkeypatch) -> None:
    path = workbook(tmp_path / "t.xlsx", {"one": [["a"], ["x"]]})
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with raises(MissingExtraError, about=("'counterpane[excel]'", "counterpane[excel]")):
        cp.read(path)


@pytest.mark.slow
def test_the_commands_read_them(run, tmp_path: Path) -> None:
    rows = [list(ROWS[0]), *(list(row.values()) for row in ROWS)]
    workbook(tmp_path / "t.xlsx", {"no": [["q"], [1]], "rows": rows})
    lines(tmp_path / "t.jsonl", ROWS)
    words = ("--method", "naive-bayes", "--target", "kind", "--drop", "id")
    assert run("learn", "t.xlsx", "--sheet", "rows", "-o", "x.cp", *words)[0] == 0
    assert run("learn", "t.jsonl", "-o", "j.cp", *words)[0] == 0
    _, out, _ = run("predict", "x.cp", "t.jsonl", "--json")
    _, same, _ = run("predict", "j.cp", "t.xlsx", "--sheet", "2", "--json")
    first, second = json.loads(out), json.loads(same)
    assert first["predicted"] == second["predicted"]
    assert first["log_loss"] == second["log_loss"]
    assert run("score", "j.cp", "t.xlsx", "--sheet", "rows")[0] == 0
    assert run("report", "j.cp", "-d", "t.xlsx", "--sheet", "rows")[0] == 0
    code, out, _ = run("compare", "t.xlsx", "--sheet", "rows", "--target", "kind", "--method",
                       "naive-bayes", "--method", "chow-liu", "--json")  # fmt: skip
    assert code == 0
