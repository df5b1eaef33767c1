"""`counterpane uai`: the four tasks of the UAI competitions, from files to files."""

from __future__ import annotations

import itertools
import json
import math
import re

import pytest

from counterpane.inference.fallback import SHARES

MODEL = """MARKOV
3
2 2 3
3
2 0 1
2 1 2
1 2
4 1 2 3 4
6 1 0 2 2 5 1
3 0.5 1 2
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "m.uai").write_text(MODEL)
    (tmp_path / "m.uai.evid").write_text("1 0 1")
    (tmp_path / "two.evid").write_text("1\n1 0 1\n")
    (tmp_path / "m.query").write_text("2 1 2")
    return tmp_path


def weight(x, y, z):
    pair = ((1, 2), (3, 4))[x][y]
    other = ((1, 0, 2), (2, 5, 1))[y][z]
    return pair * other * (0.5, 1, 2)[z]


ROWS = {(1, y, z): weight(1, y, z) for y, z in itertools.product(range(2), range(3))}


@pytest.fixture
def ask(run, folder):
    def call(task, *arguments):
        code, out, err = run("uai", str(folder / "m.uai"), task, *map(str, arguments))
        return code, out + err

    return call


@pytest.mark.parametrize("name", ["m.uai.evid", "two.evid"])
def test_marginals(ask, folder, name):
    code, text = ask("MAR", "--evidence", folder / name)
    assert code == 0, text
    head, *numbers = text.split()
    total = sum(ROWS.values())
    y = [sum(w for row, w in ROWS.items() if row[1] == s) / total for s in range(2)]
    z = [sum(w for row, w in ROWS.items() if row[2] == s) / total for s in range(3)]
    assert head == "MAR"
    expected = [3, 2, 0, 1, 2, *y, 3, *z]
    assert [float(x) for x in numbers] == pytest.approx(expected, abs=1e-8)


def test_the_partition_function_is_a_logarithm_to_base_10(ask, folder):
    _, text = ask("pr", "--evidence", folder / "m.uai.evid")
    head, number = text.split()
    assert head == "PR" and float(number) == pytest.approx(math.log10(sum(ROWS.values())))


def test_the_best_row(ask, folder):
    _, text = ask("MPE", "--evidence", folder / "m.uai.evid")
    assert tuple(map(int, text.split()[2:])) == max(ROWS, key=ROWS.get)


def test_marginal_map_goes_to_a_file(ask, folder):
    (folder / "m.query").write_text("1 2")
    out = folder / "result"
    code, text = ask(
        "MMAP", "--evidence", folder / "m.uai.evid", "--query", folder / "m.query", "-o", out,
    )  # fmt: skip
    assert code == 0, text
    sums = [sum(w for row, w in ROWS.items() if row[2] == s) for s in range(3)]
    assert out.read_text().split() == ["MMAP", "1", "2", str(sums.index(max(sums)))]


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        ("1 7 0", "no such variable"),
        ("2 0 1", "samples|pairs"),
        ("1 0 x", "whole number"),
        ("2 0 0 0 1", "twice"),
    ],
)
def test_bad_evidence_is_refused(ask, folder, evidence, words):
    (folder / "bad.evid").write_text(evidence)
    code, text = ask("MAR", "--evidence", folder / "bad.evid")
    assert code != 0
    assert any(word in " ".join(text.split()) for word in words.split("|"))


def test_unknown_tasks_and_missing_columns_are_refused(ask):
    assert "known: 'MAR', 'PR', 'MPE', 'MMAP'" in " ".join(ask("ALL")[1].split())
    assert "pass a query file, or name them" in ask("MMAP")[1]


@pytest.fixture
def grid(tmp_path):
    """A grid of strong ties, 6 × 6, which plain chains and propagation see differently."""
    side, pairs = 6, []
    for r, c in itertools.product(range(side), repeat=2):
        pairs += [(side * r + c, side * r + c + 1)] if c + 1 < side else []
        pairs += [(side * r + c, side * (r + 1) + c)] if r + 1 < side else []
    tie = math.exp(3.0)
    lines = ["MARKOV", str(side**2), " ".join(["2"] * side**2), str(len(pairs))]
    lines += [f"2 {a} {b}" for a, b in pairs] + [f"4 {tie} 1 1 {tie}"] * len(pairs)
    (tmp_path / "grid.uai").write_text("\n".join(lines))
    return tmp_path / "grid.uai"


def test_an_estimate_says_first_that_it_is_not_trusted(run, grid, monkeypatch):
    monkeypatch.setitem(SHARES, "tempered", 0.0)
    question = ("query", str(grid), "x0", "--exact", "0")
    code, out, err = run(*question)
    assert code == 0, err
    assert out.startswith("not trusted: ")
    code, out, err = run(*question, "--json")
    facts = json.loads(out)
    assert next(iter(facts)) == "trusted"
    assert facts["trusted"] is False and facts["doubt"].startswith("not trusted: ")
    code, out, err = run(*question, "--strict")
    assert code != 0
    assert "not trusted" in err and "--exact" in err and "drop --strict" in err


def test_a_partition_function_beyond_the_limit_has_bounds(run, grid, monkeypatch):
    monkeypatch.setattr("counterpane.inference.join_graph.BOUNDS", (8.0,))
    monkeypatch.setattr("counterpane.inference.join_graph.CUT_CELLS", 100.0)
    code, out, err = run("uai", str(grid), "PR", "--exact", "0")
    assert code == 0, err
    assert "Not exact: log10 Z lies between" in err
    low, high = (float(x) for x in re.findall(r"[\d.]+(?= and|;)", err)[:2])
    for only in (("--strict",), ("--method", "exact")):
        code, _, err = run("uai", str(grid), "PR", "--exact", "1e-9", *only)
        assert code and err.startswith("Error: an exact answer needs") and "--exact" in err
    exact = float(run("uai", str(grid), "PR")[1].split()[1])
    assert low < exact < high
    assert low <= float(out.split()[1]) <= high
    code, out, err = run("uai", str(grid), "MPE", "--exact", "0")
    assert code == 0
    assert "that of no row is above" in err
