"""`--discretize trees` on the command line: the choice is printed, kept, and refused elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import counterpane as cp


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """Two numbers that tell the class together, and nothing alone."""
    a, b = np.random.default_rng(0).random((2, 800))
    colors = np.where((a > 0.5) != (b > 0.5), "black", "white")
    path = tmp_path / "board.csv"
    lines = [f"{x:.4f},{y:.4f},{color}" for x, y, color in zip(a, b, colors, strict=True)]
    path.write_text("\n".join(["a,b,color", *lines]) + "\n")
    return path


def test_the_choice_is_printed_and_kept(run, board: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.cp"
    options = ["--target", "color", "--method", "tan", "--discretize", "trees"]
    code, out, err = run("learn", str(board), *options, "-o", str(model))
    assert code == 0, err
    assert "cut where boosted trees split them" in " ".join(out.split())
    loaded = cp.load(model)
    assert "boosted trees" in loaded.provenance["cuts"]
    assert len(loaded.schema["a"].cuts) >= 1
    answer = loaded.query("color", {"a": 0.25, "b": 0.25})
    assert answer["white"] > 0.9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--target", "color"], "InteractionClassifier finds its intervals itself"),
        ([], "is for the classifiers naive-bayes, tan, bnc and markov"),
    ],
)
def test_other_methods_say_who_takes_it(run, board: Path, options: list[str], words: str) -> None:
    code, _, err = run("learn", str(board), *options, "--discretize", "trees")
    assert code != 0
    assert words in " ".join(err.split())
