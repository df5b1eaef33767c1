"""Evidence on the command line: sets, ranges, columns named twice, and numbers in samples."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ks_2samp

import counterpane as cp


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A model whose column names and states have the signs of evidence in them."""
    columns = {
        "a": ["x", "y", "b=x", "b=x"] * 6,
        "a=b": ["x", "<5", "y|z", "y"] * 6,
        "n>m": ["p", "q"] * 12,
        "n": [1, 2, 3, 4] * 6,
    }
    cp.ChowLiu().fit(columns).model_.save(tmp_path / "odd.cp")
    return tmp_path / "odd.cp"


def given(run, model: object, *options: str) -> dict[str, object]:
    words = [w for option in options for w in ("-g", option)]
    code, out, err = run("query", str(model), "a", *words, "--json")
    assert code == 0, err
    return json.loads(out)["given"]  # type: ignore[no-any-return]


def test_names_and_states_with_signs_in_them_come_first(run, odd: Path) -> None:
    assert given(run, odd, "a=b=x") == {"a=b": "x"}  # the longer name
    assert given(run, odd, "a=b=y|z") == {"a=b": "y|z"}  # a state as it is
    assert given(run, odd, "a=b=y|x") == {"a=b": ["y", "x"]}
    assert given(run, odd, "a=b=<5") == {"a=b": "<5"}
    assert given(run, odd, "n>m=p") == {"n>m": "p"}
    ends = {"low": 2, "high": None, "include_low": False, "include_high": False}
    assert given(run, odd, "n>2") == {"n": ends}
    assert given(run, odd, "n > 1", "n <= 3") == given(run, odd, "1<n<=3")


def test_a_column_given_twice_is_refused(run) -> None:
    run("learn", "titanic", "-o", "m.cp", "--method", "chow-liu")
    code, out, err = run("query", "m.cp", "survived", "-g", "sex=female", "-g", "sex=male")
    assert code == 2 and not out
    assert "--given names the column 'sex' twice (sex=female, sex=male); give it once" in err
    code, _, err = run("sample", "m.cp", "-g", "sex=female", "-g", "sex=female")
    assert code == 2 and "twice" in err


def test_a_set_answers_as_the_rows_do(run) -> None:
    run("learn", "titanic", "-o", "m.cp", "--method", "structure-search")
    code, out, _ = run("query", "m.cp", "survived", "-g", "status=first|second", "-g", "sex=female")
    assert code == 0 and "P(survived | status=first|second, sex=female)" in out
    shares = [line.split()[1] for line in out.splitlines() if line.split()[0] in ("no", "yes")]
    assert float(shares[1]) == pytest.approx(234 / 251, abs=0.01)


def test_json_says_columns(run) -> None:
    run("learn", "titanic", "-o", "m.cp", "--method", "chow-liu")
    facts = json.loads(run("query", "m.cp", "survived", "sex", "--json")[1])
    assert set(facts) == {"columns", "given", "cells", "training_rows", "estimated"}
    assert facts["columns"] == ["survived", "sex"]


@pytest.mark.parametrize(
    "option, words",
    [
        ("sepal>5", "column 'sepal' is not known; did you mean"),
        ("petal_width", "is not of the form column=state; write it as sex=female, port=a|b"),
        ("petal_width>9", "no value of 'petal_width' lies in petal_width > 9; its values are from"),
        ("petal_width>x", "'x' is not a number and 'petal_width' holds numbers"),
        ("3<petal_width<2", "no value of 'petal_width' lies in 3 < petal_width < 2"),
        ("class>2", "class > 2 is a range, and the states of 'class' are no numbers"),
        ("class=setosa|rose", "'rose' is not one of 3 states"),
    ],
)
def test_evidence_that_cannot_be_is_refused_in_one_sentence(run, option: str, words: str) -> None:
    run("learn", "iris", "-o", "m.cp", "--method", "chow-liu")
    code, out, err = run("query", "m.cp", "petal_length", "-g", option)
    assert code == 2 and not out
    assert words in " ".join(err.split())


def test_samples_are_numbers_again_as_the_messy_table_had_them(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    n = 900
    age = np.round(rng.gamma(8, 5, n)).astype(int)
    price = np.round(np.exp(rng.normal(3, 0.6, n) + age / 80), 2)
    days = np.datetime64("2021-01-01") + rng.integers(0, 700, n)
    region = np.where(age > 40, "north", "so,uth")
    rows = [
        ["" if i % 17 == 0 else age[i], f"{price[i]:.2f}", days[i], region[i]] for i in range(n)
    ]
    with (tmp_path / "shop.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=";").writerows([["age", "price", "day", "region"], *rows])
    assert run("learn", "shop.csv", "--method", "hill-climb")[0] == 0
    code, out, _ = run("sample", "shop.cp", "-n", "3000", "--seed", "1")
    assert code == 0 and run("sample", "shop.cp", "-n", "3000", "--seed", "1")[1] == out
    drawn = list(csv.DictReader(io.StringIO(out)))
    ages = [int(r["age"]) for r in drawn if r["age"]]  # whole numbers stay whole
    assert ks_2samp(ages, [int(r[0]) for r in rows if r[0] != ""]).statistic < 0.06
    prices = [r["price"] for r in drawn]
    assert all(len(p.partition(".")[2]) <= 2 for p in prices)
    assert ks_2samp([float(p) for p in prices], price).statistic < 0.06
    when = np.array([r["day"] for r in drawn], dtype="M8[D]")
    assert ks_2samp(when.astype(int), days.astype(int)).statistic < 0.06
    code, out, _ = run("sample", "shop.cp", "-n", "5", "--seed", "1", "--as-intervals")
    assert all(r["price"][0] in "<[≥" for r in csv.DictReader(io.StringIO(out)))
    options = ("-g", "price>40", "-g", "day>=2021-06-01", "-g", "day<2021-09-01", "-g", "age=33")
    code, out, err = run("sample", "shop.cp", "-n", "200", *options)
    assert code == 0, err
    for row in csv.DictReader(io.StringIO(out)):
        assert float(row["price"]) > 40 and row["age"] == "33"
        assert "2021-06-01" <= row["day"] < "2021-09-01"
    facts = json.loads(run("sample", "shop.cp", "-n", "3", "--seed", "1", "--json")[1])
    assert isinstance(facts["columns"]["price"][0], float)
    near = {"price": cp.Range(low=40, include_low=False)}
    expected = float((price > 40).mean())
    found = math.exp(cp.load(tmp_path / "shop.cp").log_evidence(near))
    assert found == pytest.approx(expected, abs=0.02)


def test_dates_are_read_as_the_model_read_them(run, tmp_path: Path) -> None:
    days = [f"{1 + i % 28}/{1 + i // 28 % 12}/{2020 + i // 336}" for i in range(600)]
    lines = [f"{day},{'ab'[i > 300]}" for i, day in enumerate(days)]
    (tmp_path / "d.csv").write_text("day,kind\n" + "\n".join(lines))
    run("learn", "d.csv", "--method", "chow-liu", "--discretize", "quantile")
    code, out, err = run("query", "d.cp", "kind", "-g", "day>=2/3/2021", "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert answer["given"]["day"]["low"] == "2021-03-02"
    assert answer["cells"][1]["probability"] > 0.95


def test_a_numeric_target_is_numbers_in_samples_and_takes_ranges(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    weight = np.round(rng.normal(1500, 300, 400))
    mpg = np.round(60 - weight / 40 + rng.normal(0, 3, 400), 1)
    lines = [f"{m},{w:.0f}" for m, w in zip(mpg, weight, strict=True)]
    (tmp_path / "cars.csv").write_text("mpg,weight\n" + "\n".join(lines))
    assert run("learn", "cars.csv", "--target", "mpg", "--method", "tan")[0] == 0
    code, out, _ = run("sample", "cars.cp", "-n", "2000", "--seed", "0")
    drawn = [float(row["mpg"]) for row in csv.DictReader(io.StringIO(out))]
    assert code == 0 and ks_2samp(drawn, mpg).statistic < 0.06
    code, out, _ = run("query", "cars.cp", "weight", "-g", "mpg>28", "--json")
    assert code == 0
    facts = json.loads(run("predict", "cars.cp", "cars.csv", "--json")[1])
    assert facts["accuracy"] > 0.6 and len(facts["predicted"]) == 4


def test_a_range_that_parts_an_interval_is_called_approximate(run, tmp_path: Path) -> None:
    rows = "".join(f"{i % 97},{'ab'[i % 97 > 60]}\n" for i in range(970))
    (tmp_path / "t.csv").write_text("n,c\n" + rows)
    run("learn", str(tmp_path / "t.csv"), "-o", str(tmp_path / "m.cp"))
    model = cp.load(tmp_path / "m.cp")
    cut = model.schema["n"].cuts[0]
    _, _, whole = run("query", str(tmp_path / "m.cp"), "c", "-g", f"n>={cut:g}")
    assert "approximate" not in whole
    _, _, parted = run("query", str(tmp_path / "m.cp"), "c", "-g", f"n>={cut + 1:g}")
    assert "ends within the interval" in parted and "approximate" in parted
    (note,) = model.query("c", {"n": cp.Range(cut + 1)}).notes
    assert "ends within the interval" in note
    assert model.query("c", {"n": cp.Range(cut)}).notes == ()


@pytest.mark.parametrize("options", [(), ("--target", "c")])
def test_a_number_outside_the_training_range_is_noted(run, tmp_path: Path, options) -> None:
    rows = "".join(f"{18 + i % 73},{'ab'[i % 73 > 40]}\n" for i in range(730))
    (tmp_path / "t.csv").write_text("n,c\n" + rows)
    run("learn", str(tmp_path / "t.csv"), *options, "-o", str(tmp_path / "m.cp"))
    _, out, err = run("query", str(tmp_path / "m.cp"), "c", "-g", "n=200")
    assert "n=200 is outside the range seen in training, from 18 to 90" in " ".join(err.split())
    out = run("query", str(tmp_path / "m.cp"), "c", "-g", "n=200", "--json")[1]
    model = cp.load(tmp_path / "m.cp")
    (note,) = model.query("c", {"n": 200}).notes
    assert note.startswith("n=200 is outside") and json.loads(out)["notes"][0] == note
    for inside in (18, 90, 50.5):
        assert model.query("c", {"n": inside}).notes == ()
    assert model.query("c", {"n": model.schema["n"].states[0]}).notes == ()


def test_notes_of_sets_interventions_dates_and_marginals() -> None:
    days = np.arange("2020-01-01", "2021-01-01", dtype="datetime64[D]")
    columns = {"day": days, "n": np.arange(len(days)) % 50, "c": np.arange(len(days)) % 50 > 20}
    model = cp.StructureSearch().fit(cp.Table.from_frame(columns, discretize="quantile")).model_
    late = model.query("c", {"day": "2031-05-06"}).notes
    assert "from 2020-01-01 to 2020-12-31" in late[0]
    assert len(model.query("c", {"n": {-7, 3, 70}}).notes) == 2
    assert len(model.query("c", do={"n": 70}).notes) == 1
    assert [len(a.notes) for a in model.marginals({"n": 70}).values()] == [1, 1]


def test_missing_is_called_so_where_it_is_no_state(run, tmp_path: Path) -> None:
    run("learn", "titanic", "-o", str(tmp_path / "m.cp"))
    code, _, err = run("query", str(tmp_path / "m.cp"), "survived", "-g", "sex=(missing)")
    assert code == 2 and "(missing) is not one of" in err
