"""Files whose first row is not simply the names of the columns."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import openpyxl
import pytest

import counterpane as cp
from counterpane.data.headers import HeaderGuessed, table_below, title_lines
from counterpane.errors import DataError, FileFormatError
from error_checks import raises, warns

RNG = np.random.default_rng(0)
ROWS = [
    [str(x), str(s), str(n)]
    for x, s, n in zip(
        RNG.integers(1, 90, 60),
        RNG.choice(["agree", "neutral"], 60),
        RNG.choice(["yes", "no"], 60),
        strict=True,
    )
]
NAMES = ["age", "easy", "again"]


def written(path: Path, rows: list[list[str]], mark: str = ",") -> Path:
    path.write_text("\n".join(mark.join(row) for row in rows) + "\n")
    return path


def plain(path: Path) -> cp.Table:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return cp.read(written(path, [NAMES, *ROWS]))


def same(a: cp.Table, b: cp.Table) -> bool:
    return a.schema == b.schema and bool((a.codes == b.codes).all())


@pytest.mark.parametrize("mark", [",", ";"])
@pytest.mark.parametrize(
    "titles", [[["Survey of 2024"]], [["Survey of 2024", "", ""], [""], ["made", "", ""], []]]
)
def test_titles_above_the_header(tmp_path: Path, titles: list[list[str]], mark: str) -> None:
    path = written(tmp_path / "t.csv", [*titles, NAMES, *ROWS], mark)
    lines = "line is" if len(titles) == 1 else "4 lines are"
    with pytest.warns(HeaderGuessed, match=f"the first {lines} above the names .*'Survey of 2024'"):
        table = cp.read(path)
    assert same(table, plain(tmp_path / "p.csv"))


def test_what_is_no_title() -> None:
    assert title_lines(["a,b", "1,2,3,4"]) == 0  # as many as half
    assert title_lines(["a,,,", "1,2,3,4"]) == 0  # numbers are no names
    assert title_lines(["a,,,", "x,y,y,z"]) == 0  # nor are words that repeat
    assert title_lines(['"a', 'line",b,c,d', "x,y,z,w"]) == 0  # a name of two lines
    assert title_lines([]) == title_lines(["a"]) == 0


def test_a_line_with_an_error_keeps_its_number(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", [["title"], NAMES, *ROWS[:3], ["x"]])
    with pytest.warns(HeaderGuessed), raises(FileFormatError, about=("line 6", "1 fields")):
        cp.read(path)


@pytest.mark.parametrize(
    "below",
    [
        [["your age", "it is easy to use", "I would buy it again"]],
        [["your age", "", ""], ["Q1", "Q2", "Q3"]],
    ],
)
def test_rows_that_describe_columns(tmp_path: Path, below: list[list[str]]) -> None:
    rows = [[*row, str(i / 7)] for i, row in enumerate(ROWS)]
    path = written(
        tmp_path / "t.csv",
        [[*NAMES, "z"], *([*row, f"in {i} kg"] for i, row in enumerate(below)), *rows],
    )
    with warns(HeaderGuessed, about="t.csv") as seen:
        table = cp.read(path)
    assert table.n_rows == 60 and len(seen) == len(below)
    assert table.schema["easy"].states == ("agree", "neutral")


def test_a_first_row_of_data_is_kept() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for first in (
            ["41", "strange", "else"],  # a number
            ["unknown", "agree", "else"],  # a state that occurs again
            ["", "strange", "else"],  # states that are not longer than others
        ):
            names, rows = table_below(NAMES, iter([first, *ROWS]), "t", None)
            assert names == NAMES and list(rows) == [first, *ROWS]
        few = [["a", "b", "c"], *ROWS[:19]]
        assert list(table_below(NAMES, iter(few), "t", None)[1]) == few


def test_a_file_without_a_header(tmp_path: Path) -> None:
    with warns(HeaderGuessed, about="t.csv"):
        table = cp.read(written(tmp_path / "t.csv", ROWS))
    assert table.schema.names == ("column 1", "column 2", "column 3") and table.n_rows == 60
    numbers = [[f"{x:.2f}" for x in row] for row in RNG.normal(size=(30, 3))]
    with pytest.warns(HeaderGuessed):
        assert cp.read(written(tmp_path / "n.csv", numbers)).n_rows == 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        years = [["2020", "2021"], *(row[:2] for row in numbers)]
        assert cp.read(written(tmp_path / "y.csv", years)).schema.names == ("2020", "2021")


def headless(name):
    """Rows like those of well-known files without a header."""
    rng = np.random.default_rng(4)
    n = 60

    def pick(*values):
        return rng.choice(values, n).tolist()

    columns = {
        "haberman": [rng.integers(30, 80, n), rng.integers(58, 69, n), rng.integers(0, 20, n),
                     rng.integers(1, 3, n)],
        "cancer": [rng.integers(10**6, 10**7, n), *rng.integers(1, 11, (4, n)), pick("2", "4")],
        "horses": [pick("1", "2", "?"), pick("530101", "534817"), rng.normal(38, 1, n).round(1),
                   pick("?", "3"), pick("?", "4", "5")],
        "autos": [pick("3", "1", "2"), pick("?", "164"), pick("audi", "bmw"), pick("gas", "diesel"),
                  rng.normal(90, 5, n).round(1), pick("?", "2548")],
        "longley": [range(1947, 1963), rng.normal(83, 9, 16).round(1),
                    rng.normal(300, 80, 16).round(3)],
    }[name]  # fmt: skip
    return [list(map(str, row)) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("name", ["haberman", "cancer", "horses", "autos", "longley"])
def test_files_without_a_header_keep_their_first_row(tmp_path, name):
    rows = headless(name)
    path = written(tmp_path / "t.csv", rows)
    with warns(HeaderGuessed, about="header=True"):
        table = cp.read(path)
    assert table.n_rows == len(rows)
    assert all(column.startswith("column ") for column in table.schema.names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cp.read(path, header=False).n_rows == len(rows)
        names = [f"name {place}" for place in range(len(rows[0]))]
        named = cp.read(written(tmp_path / "named.csv", [names, *rows]))
        assert set(named.schema.names) <= set(names) and named.n_rows == len(rows)
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert cp.read(tmp_path / "t.xlsx", header=False).n_rows == len(rows)


def test_numbers_that_are_names(tmp_path):
    rows = [["Italy", *map(str, RNG.integers(100, 999, 4))] for _ in range(40)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for names in (["land", "1990", "1991", "1995", "2000"], ["land", "0", "1", "2", "3"]):
            table = cp.read(written(tmp_path / "t.csv", [names, *rows]), drop=["land"])
            assert table.schema.names == tuple(names[1:]) and table.n_rows == 40


def test_the_command_is_told_of_the_header(run, tmp_path):
    written(tmp_path / "t.csv", headless("haberman"))
    code, out, errors = run("learn", "t.csv", "-o", "m.cp", "--bootstrap", "0", "--no-header")
    assert code == 0 and "header" not in out + errors
    assert cp.load(tmp_path / "m.cp").record.data.rows == 60
    assert "pass --header" in run("learn", "t.csv", "-o", "m.cp", "--bootstrap", "0")[2]
    code, _, errors = run("learn", "t.csv", "-o", "m.cp", "--bootstrap", "0", "--header")
    assert code == 0 and cp.load(tmp_path / "m.cp").record.data.rows == 59


def test_names_that_occur_twice(run, tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", [["a", "a", "a (2)"], *ROWS])
    with warns(HeaderGuessed, about="'a (3)'"):
        assert cp.read(path).schema.names == ("a", "a (3)", "a (2)")
    with raises(DataError, about="'a'"):
        cp.read(path, discretize="quantile")
    code, _, errors = run("learn", "t.csv", "-q", "--json")
    assert (code, errors) == (0, "")


def test_lists_and_nested_objects_of_json(tmp_path: Path) -> None:
    records = [{"n": i % 3, "user": {"land": "DE", "at": {"x": i % 2}}} for i in range(9)]
    records[4]["user"] = {}
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "t.json").write_text("\n" + json.dumps(records, indent=1))
    lines, listed = (cp.read(tmp_path / name) for name in ("t.jsonl", "t.json"))
    assert same(lines, listed)
    assert set(lines.schema.names) == {"n", "user.land", "user.at.x"} and lines.has_missing.any()
    (tmp_path / "t.json").write_text("[1]")
    with raises(FileFormatError, about="t.json"):
        cp.read(tmp_path / "t.json")


@pytest.mark.filterwarnings("ignore::counterpane.data.headers.HeaderGuessed")
def test_a_messy_file_is_read_alike_by_all(tmp_path: Path) -> None:
    rows = [[*row, str(i / 7)] for i, row in enumerate(ROWS)]
    described = [["in years", "", "", "in kg"]]
    path = written(tmp_path / "t.csv", [["age", "easy", "easy", "z"], *described, *rows])
    table = cp.read(path)
    model = cp.StructureSearch().fit(path).model_
    assert model.schema == table.schema and "easy (2)" in model.schema.names
    assert cp.write_report(model, path, tmp_path / "r.html").exists()
    assert cp.explore_model(model, tmp_path / "e.html", data=path).exists()
    again = [model.update(rows).tables for rows in (path, table)]
    assert all((a == b).all() for a, b in zip(*again, strict=True))
    (record, *_) = cp.evaluate.compare([cp.NaiveBayes()], path, "easy", folds=2).records
    assert record["failed"] is None


def test_a_header_that_files_put_together_repeat_is_no_value(tmp_path):
    path = tmp_path / "together.csv"
    path.write_text("sex,survived\nmale,\n,yes\n" * 50)
    assert cp.read(path).schema.names == ("sex", "survived")
