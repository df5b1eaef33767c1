"""What somebody who tries the command for the first time stumbles over."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import DataError
from error_checks import raises


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """A table with numbers, money, gaps and a class, in a file whose name has dots."""
    rng = np.random.default_rng(5)
    lines = ["plan,age,income,left"]
    for i in range(400):
        plan, age = rng.choice(["basic", "plus"]), int(rng.integers(18, 80))
        left = "yes" if rng.random() < (0.7 if plan == "basic" else 0.2) else "no"
        lines.append(f'{plan},{"" if i % 7 == 0 else age},"€ {1000 + 37 * i:,}",{left}')
    path = tmp_path / "survey.2024.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_name_with_dots_stays_whole(run, survey: Path) -> None:
    assert run("learn", survey.name, "-q")[0] == 0
    assert Path("survey.2024.cp").exists()
    assert run("report", "survey.2024.cp", "-q")[0] == 0
    assert Path("survey.2024.html").exists()


def test_quiet_prints_no_notes(run, survey: Path) -> None:
    _, out, err = run("learn", survey.name, "-q")
    assert "Cut into intervals" not in out
    assert err == ""
    _, out, _ = run("learn", survey.name)
    assert "Cut into intervals: age, income." in out


def test_a_missing_cell_is_explained_as_a_state_where_it_is_one(run, survey: Path) -> None:
    run("learn", survey.name, "--target", "left", "-o", "m.cp")
    assert cp.load("m.cp").schema["age"].find(None) is not None
    _, out, err = run("explain", "m.cp", "--data", survey.name, "--row", "1")
    assert "age = (missing)" in out
    assert "averaged over" not in err
    assert "-0.000" not in out
    assert "+0.000" not in out
    _, _, err = run("explain", "m.cp", "plan=basic")
    assert "Not given, so averaged over: age, income." in err


def test_the_report_says_how_it_was_learned_in_words(run, survey: Path) -> None:
    run("learn", survey.name, "--target", "left", "-o", "m.cp")
    assert run("report", "m.cp", "-o", "r.html")[0] == 0
    page = Path("r.html").read_text(encoding="utf-8")
    assert "held out by learn" in page
    assert "rows kept in the model" in page
    assert "kept_rows" not in page
    assert "number_formats" not in page


def test_the_columns_of_odd_rows_are_explained(run, survey: Path) -> None:
    run("learn", survey.name, "-o", "m.cp")
    _, out, _ = run("score", "m.cp", survey.name, "--rows", "-n", "2")
    assert "below mean: nats" in out


@pytest.mark.parametrize("write", [int, "${:,}".format])
def test_a_class_with_a_value_in_each_row_is_refused_at_once(write) -> None:
    rng = np.random.default_rng(0)
    frame = {"x": rng.choice(["a", "b"], 900), "price": [write(10_000 + 7 * i) for i in range(900)]}
    with raises(DataError, about=("900 different values", "900 rows")):
        cp.InteractionClassifier().fit(frame, "price")


def test_words_for_missing_that_are_kept_as_values_are_told(run, tmp_path: Path) -> None:
    rows = [f"{'ab'[i % 2]},{('y', 'n', 'NA')[i % 3]}" for i in range(60)]
    (tmp_path / "r.csv").write_text("\n".join(["group,garage", *rows]) + "\n")
    words = "Kept 'NA' as a value of garage: leave such cells empty if they are missing."
    for options in ((), ("--target", "group")):
        assert words in run("learn", "r.csv", *options)[1]
    assert words in cp.StructureSearch().fit("r.csv").notes_


def test_the_picture_of_a_classifier_says_what_its_numbers_are() -> None:
    figure = pytest.importorskip("matplotlib.figure")
    learner = cp.InteractionClassifier().fit(cp.load_dataset("titanic"), "survived")
    for model in (learner, learner.model_):
        axes = model.plot(ax=figure.Figure().subplots())
        assert "numbers: effect on log-odds" in " ".join(t.get_text() for t in axes.texts)


def test_the_time_of_held_out_fits_is_printed(run, survey: Path) -> None:
    words = ("learn", survey.name, "--target", "left", "--method", "naive-bayes", "-o", "m.cp")
    _, out, _ = run(*words)
    assert re.search(r"\d s, and \d+\.\d\d s to measure it on held-out rows", out)
    facts = json.loads(run(*words, "--json")[1])
    assert facts["held_out_seconds"] > 0
    assert b"held_out_seconds" not in Path("m.cp").read_bytes()


def test_an_edge_is_one_line_however_long_its_names_are(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 400)
    names = "the first of two long names of columns", "the second of two long names of columns"
    rows = [f"{x},{x if keep else 1 - x}" for x, keep in zip(a, rng.random(400) < 0.9, strict=True)]
    (tmp_path / "long.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    _, out, _ = run("learn", "long.csv")
    [line] = [line for line in out.splitlines() if " — " in line and "bits per row," in line]
    assert all(name in line for name in names)
    assert "of 100 samples" in line
