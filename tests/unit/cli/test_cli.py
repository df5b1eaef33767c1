"""The command line: what it prints, what it writes, how it fails."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import counterpane as cp
from counterpane.cli.app import run_program


def test_learn_writes_a_model_that_answers(run, tmp_path: Path) -> None:
    code, out, _ = run("learn", "titanic", "--target", "survived", "--method", "chow-liu")
    assert code == 0
    assert "3 edges" in out
    assert out.index("survived") < out.index("sex")
    model = cp.load(tmp_path / "titanic.cp")
    code, out, _ = run("query", "titanic.cp", "survived", "--given", "sex=female", "--json")
    answer = json.loads(out)
    expected = model.query("survived", {"sex": "female"}).to_dict()
    assert {c["states"][0]: c["probability"] for c in answer["cells"]} == pytest.approx(expected)
    assert answer["given"] == {"sex": "female"}


@pytest.mark.parametrize("method", ["structure-search", "hill-climb", "ges", "k2"])
def test_other_methods(run, tmp_path: Path, method: str) -> None:
    code, out, _ = run("learn", "titanic", "--method", method, "-o", "m.cp")
    assert code == 0
    assert "— survived" in out or "survived —" in out
    assert cp.load(tmp_path / "m.cp").dag.n_edges >= 3


def test_learn_as_json(run) -> None:
    code, out, _ = run("learn", "titanic", "--json", "-o", "x.cp")
    facts = json.loads(out)
    assert code == 0
    assert facts["model"] == "x.cp"
    assert facts["method"] == "structure-search"
    assert "4 columns are few" in facts["why"]
    assert len(facts["edges"]) == 5
    assert all(0 < edge["share_of_mark"] <= 1 for edge in facts["edges"])
    assert facts["rows"] == 2201


@pytest.mark.parametrize("suffix", ["bif", "xmlbif", "uai", "net", "xdsl.gz"])
def test_convert(run, tmp_path: Path, suffix: str) -> None:
    run("learn", "titanic", "-o", "m.cp")
    code, _, _ = run("convert", "m.cp", f"m.{suffix}")
    assert code == 0
    same, other = cp.load(tmp_path / "m.cp"), cp.load(tmp_path / f"m.{suffix}")
    for ours, theirs in zip(same.tables, other.tables, strict=True):
        assert (ours == theirs).all()


def test_a_file_with_numbers_and_gaps(run, tmp_path: Path) -> None:
    lines = [f"{i / 7:.3f},{'' if i % 5 == 0 else i % 2},{'ab'[i > 50]}" for i in range(100)]
    (tmp_path / "mixed.csv").write_text("height,flag,kind\n" + "\n".join(lines))
    code, out, _ = run("learn", "mixed.csv", "--target", "kind")
    assert code == 0
    assert "Cut into intervals: height" in out
    assert "Missing cells: 20 in 1 column (flag); kept as the state (missing)." in out
    code, out, _ = run("query", "mixed.cp", "kind", "-g", "height=13.5")
    assert code == 0
    assert "P(kind | height=13.5)" in out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["learn", "titanik"], "did you mean 'titanic'"),
        (["learn", "nowhere.csv"], "nowhere.csv"),
        (["learn", "titanic", "--method", "chowliu"], "did you mean 'chow-liu'"),
        (["learn", "titanic", "--target", "survive"], "did you mean 'survived'"),
        (["learn", "titanic", "--score", "bick"], "did you mean 'bic'"),
        (["learn", "titanic", "--discretize", "mld"], "did you mean 'mdl'"),
        (["learn", "titanic", "--missing", "zero"], "--missing 'zero'"),
        (["learn", "titanic", "--jobs", "0"], "--jobs 0"),
        (["query", "titanic.cp", "survive"], "did you mean 'survived'"),
        (["query", "titanic.cp", "survived", "-g", "sex=femal"], "'male', 'female'"),
        (["query", "titanic.cp", "survived", "-g", "sex"], "column=state"),
        (["query", "titanic.cp", "sex", "-g", "sex=male"], "both asked and given"),
        (["compare", "titanic", "--method", "gess"], "did you mean 'ges'"),
        (["convert", "titanic.cp", "titanic.xyz"], ".xyz"),
        (["query", "absent.cp", "sex"], "absent.cp"),
        (["query", "broken.cp", "sex"], "broken.cp"),
    ],
)
def test_mistakes_get_one_sentence_and_write_nothing(
    run, tmp_path: Path, words: list[str], hint: str
) -> None:
    cp.ChowLiu().fit(cp.load_dataset("titanic")).model_.save(tmp_path / "titanic.cp")
    (tmp_path / "broken.cp").write_bytes((tmp_path / "titanic.cp").read_bytes()[:-9])
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    code, out, err = run(*words, *(["-o", "new.cp"] if words[0] == "learn" else []))
    assert code == 2
    assert out == ""
    flat = err.splitlines()[-1]
    assert flat.startswith("Error: ")
    assert hint in flat
    assert "Traceback" not in err
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_debug_shows_the_traceback(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["counterpane", "--debug", "learn", "nowhere.csv"])
    with pytest.raises(cp.CounterpaneError):
        run_program()


def test_version_and_help(run) -> None:
    assert cp.__version__ in run("--version")[1]
    code, out, _ = run("--help")
    assert code == 0
    assert "learn" in out
    assert "query" in out
