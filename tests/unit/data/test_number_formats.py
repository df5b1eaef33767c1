"""Numbers as people write them: marks, separators, currencies and percent signs."""

from __future__ import annotations

import csv as csv_module
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpane as cp
from counterpane.data.columns import Labels, Numbers
from counterpane.data.encoding import as_written
from counterpane.data.number_formats import NumberFormat, file_decimal, find_format
from counterpane.data.prepare import prepare
from counterpane.data.reading import read_columns
from counterpane.data.schema import formats_of
from counterpane.errors import ParameterError
from error_checks import raises


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1,5", "2", "0,25"], [1.5, 2, 0.25]),
        (["1,234", "22,50"], [1.234, 22.5]),
        (["1,234", "22,500"], [1234, 22500]),
        (["1,234,567", "5"], [1234567, 5]),
        (["1.234.567", "5"], [1234567, 5]),
        (["1.234,50", "7"], [1234.5, 7]),
        (["1,234.50", "7"], [1234.5, 7]),
        (["1 234,5", "1\u00a0000"], [1234.5, 1000]),
        (["1'234.50", "12"], [1234.5, 12]),
        (["12.3%", "5%", "100 %"], [12.3, 5, 100]),
        (["$1,234", "$5.20", "-$3", "$-4", "($1,000)"], [1234, 5.2, -3, -4, -1000]),
        (["1.234 €", "12 €"], [1234, 12]),
        (["€1.234,99", "€7"], [1234.99, 7]),
        (["USD 5", "1,000 USD"], [5, 1000]),
        (["2,5e-3", "1e2"], [0.0025, 100]),
        (["−5", "+6"], [-5, 6]),
    ],
)
def test_formats_are_recognized(texts: list[str], numbers: list[float]) -> None:
    form = find_format(texts)
    assert form is not None
    assert [form.number(text) for text in texts] == numbers


@pytest.mark.parametrize(
    "texts",
    [["$5", "€5"], ["12%", "0.12"], ["0123", "7"], ["1,2,3"], ["1.5", "1,5"], ["192.168.1.1"],
     ["3-4"], ["1,23,4"], ["$5%"], ["(5"], ["--5"], ["%5"], [""]],
)  # fmt: skip
def test_other_texts_are_no_numbers(texts: list[str]) -> None:
    assert find_format(texts) is None


def test_what_decides_between_two_readings() -> None:
    unclear = ["1,234", "5,678"]
    for options, number in [({}, 1234), ({"semicolons": True}, 1.234), ({"decimal": ","}, 1.234),
                            ({"decimal": ".", "semicolons": True}, 1234)]:  # fmt: skip
        form = find_format(unclear, **options)
        assert form is not None
        assert form.number("1,234") == number
        assert f"'1,234' is {number:g}, as " in form.words()
        assert f"it would be {1234 if number < 2 else 1.234}" in form.words()
    points = find_format(["1.234", "5.678"], decimal=",")
    assert points is not None
    assert points.number("5.678") == 5678
    assert find_format(["0.234", "5.678"], decimal=",") == NumberFormat()  # no group begins with 0
    assert file_decimal([["1,5"], ["1.5"]]) is None


@given(
    st.lists(st.decimals(-(10**9), 10**9, places=2, allow_nan=False), min_size=1, max_size=20),
    st.sampled_from([(".", ","), (",", "."), (",", " "), (".", "'"), (".", "")]),
    st.sampled_from(["", "$", "€", "%"]),
)
def test_what_is_written_is_read_back(numbers, marks: tuple[str, str], unit: str) -> None:
    decimal, group = marks
    texts = []
    for number in numbers:
        text = f"{abs(number):,.2f}".replace(",", "g").replace(".", decimal).replace("g", group)
        before, after = ("", unit) if unit == "%" else (unit, "")
        texts.append(("-" if number < 0 else "") + before + text + after)
    form = find_format(texts)
    assert form is not None
    assert [form.number(text) for text in texts] == [float(number) for number in numbers]


def euro_file(path: Path, n: int = 200) -> None:
    """A file as German Excel writes it: semicolons, decimal commas, points between thousands."""
    rng = np.random.default_rng(0)
    price, weight = rng.uniform(1, 9000, n), rng.uniform(0, 9, n).round(3) + 1
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv_module.writer(file, delimiter=";")
        writer.writerow(["preis", "gewicht", "stück", "teuer"])
        for p, w in zip(price.tolist(), weight.tolist(), strict=True):
            text = f"{p:,.2f}".translate(str.maketrans(",.", ".,"))
            pieces = f"{1000 + int(p):,}".replace(",", ".")
            writer.writerow([f"{text} €", f"{w:.3f}".replace(".", ","), pieces, "nj"[p > 4000]])


def test_a_european_file(tmp_path: Path) -> None:
    euro_file(tmp_path / "euro.csv")
    found = prepare(read_columns(tmp_path / "euro.csv"))
    price, weight, pieces, _ = found.columns
    assert isinstance(price, Numbers) and isinstance(weight, Numbers)
    assert price.values.min() >= 1 and 8000 < price.values.max() < 9000
    assert weight.values.min() >= 1 and 9 < weight.values.max() < 10
    assert isinstance(pieces, Numbers)
    assert pieces.values.min() >= 1000  # by the decimal mark of the other columns
    assert found.read_as["preis"].startswith("numbers: '")
    assert set(formats_of(table_of(found).schema)) == {"preis", "gewicht", "stück"}
    table = cp.read(tmp_path / "euro.csv", discretize="quantile", n_bins=3)
    assert [len(v.cuts or ()) for v in table.schema] == [2, 2, 2, 0]
    with raises(ParameterError, parameter="decimal", value=";"):
        cp.read(tmp_path / "euro.csv", decimal=";")


def table_of(done):
    return cp.Table.from_frame(done.columns, discretize="quantile")


def test_the_decimal_mark_can_be_given(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("x\ty\n" + "".join(f"{i},{100 + i}\t{'ab'[i % 2]}\n" for i in range(1, 60)))
    thousands, decimals = read_columns(path)[0], read_columns(path, decimal=",")[0]
    assert thousands.values[:2].tolist() == [1101, 2102]
    assert decimals.values[:2].tolist() == [1.101, 2.102]


def test_gaps_and_odd_cells() -> None:
    texts = [f"${i},500" for i in range(1, 99)] + ["NA", ""]
    found = prepare({"x": texts, "y": list("ab") * 50})
    column = found.columns[0]
    assert isinstance(column, Numbers)
    assert np.flatnonzero(column.missing).tolist() == [98, 99]
    texts[3] = "call us"
    again = prepare({"x": texts, "y": list("ab") * 50})
    assert "1 other cell ('call us') taken as missing" in again.read_as["x"]
    assert isinstance(prepare({"x": ["$5", "none"] * 50, "y": list("ab") * 50}).columns[0], Labels)


def test_new_cells_are_read_as_the_old_ones(run, tmp_path: Path) -> None:
    euro_file(tmp_path / "euro.csv")
    assert run("learn", "euro.csv", "--target", "teuer", "--method", "tan", "-o", "m.cp")[0] == 0
    model = cp.load(tmp_path / "m.cp")
    assert model.schema["gewicht"].written.number == NumberFormat(",")
    # Of itself, each of these would be read in the other way.
    (tmp_path / "new.csv").write_text("preis|gewicht|stück\n1.234 €|2,345|8.500\n")
    assert run("predict", "m.cp", "new.csv", "-o", "p.csv")[0] == 0
    with (tmp_path / "p.csv").open() as file:
        (row,) = csv_module.DictReader(file)
    plain = {"preis": [1234.0], "gewicht": [2.345], "stück": [8500]}
    expected = model.predict_proba(plain)[0]
    assert [float(row["P(j)"]), float(row["P(n)"])] == pytest.approx(expected, abs=1e-6)


def test_evidence_is_read_as_the_cells_were(run, tmp_path: Path) -> None:
    euro_file(tmp_path / "euro.csv")
    run("learn", "euro.csv", "--method", "chow-liu", "-o", "m.cp")
    model = cp.load(tmp_path / "m.cp")
    words = ("query", "m.cp", "teuer", "--json")
    _, out, _ = run(*words, "-g", "preis=1.234 €", "-g", "gewicht=2,345")
    found = {cell["states"][0]: cell["probability"] for cell in json.loads(out)["cells"]}
    plain = model.query("teuer", {"preis": 1234, "gewicht": 2.345}).to_dict()
    assert found == pytest.approx(plain)
    _, out, _ = run(*words, "-g", "preis>1.234,00 €")
    _, same, _ = run(*words, "-g", "preis>1234")
    assert json.loads(out)["cells"] == json.loads(same)["cells"]


def test_dropping_all_but_an_id_leaves_it() -> None:
    table = {"id": [f"n{i}" for i in range(50)], "kind": ["a", "b"] * 25}
    found = prepare(table, drop=["kind"], leave_some=True)
    assert [column.name for column in found.columns] == ["id"]


def test_frames_of_texts_are_read_alike(tmp_path: Path) -> None:
    euro_file(tmp_path / "euro.csv")
    done = prepare(read_columns(tmp_path / "euro.csv"))
    table = table_of(done)
    raw = cp.Table.from_frame({"preis": ["1.234 €"], "gewicht": ["2,345"], "stück": ["8.500"]})
    labels = [Labels(c.name, c.states, c.codes) for c in raw.labels()]
    numbers = list(map(as_written, labels, table.schema))
    assert [c.values[0] for c in numbers] == [1234.0, 2.345, 8500]
