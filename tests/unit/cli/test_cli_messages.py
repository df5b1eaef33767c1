"""What the command says: errors made from parts, and notes that do not mix with progress."""

from __future__ import annotations

import os
import pickle
import pty
import select
import sys
import warnings
from pathlib import Path

import pytest

import counterpane as cp
from counterpane.cli.app import _show_warning, notes
from counterpane.errors import Advice, ParameterError, Setting
from counterpane.progress import TextBar
from error_checks import raises

ODD_NAMES = ("user=idx", "missing='state'", "--target", "encoding=", "n_jobs=2")


@pytest.fixture
def odd_table(tmp_path: Path) -> Path:
    """A file whose columns are named like parameters and options."""
    rows = [[f"{'abc'[(i * k + i // 7) % 3]}" for k in range(1, 6)] for i in range(60)]
    lines = [",".join(ODD_NAMES), *(",".join(row) for row in rows)]
    path = tmp_path / "odd.csv"
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("name", ODD_NAMES)
def test_column_names_stay_as_they_are(run, odd_table: Path, name: str) -> None:
    code, _, err = run("learn", "odd.csv", "--target", name + "x")
    assert code == 2
    assert f"column {name + 'x'!r} is not known" in err
    assert "did you mean" in err
    assert repr(name) in err


def test_states_that_look_like_parameters_stay(run, odd_table: Path) -> None:
    run("learn", "odd.csv", "--method", "chow-liu", "-o", "odd.cp")
    code, _, err = run("query", "odd.cp", "encoding=", "-g", "--target=missing=1")
    assert code == 2
    assert "column '--target': 'missing=1' is not one of 3 states" in err


def test_parameters_are_written_as_options(run) -> None:
    for words, message in [
        (("learn", "titanic", "--missing", "zero"), "--missing 'zero';"),
        (("learn", "titanic", "--jobs", "0"), "--jobs 0;"),
        (("compare", "titanic", "--folds", "1"), "--folds 1 of"),
        (("compare", "titanic", "--holdout", "7.0"), "--holdout 7.0 of"),
        (("learn", "titanic", "--time-limit", "-1"), "--time-limit -1.0;"),
    ]:
        code, _, err = run(*words)
        assert code == 2
        assert message in err


def test_a_message_keeps_its_parts() -> None:
    error = ParameterError("pass ", Setting("folds", 3), Advice(" or call fit", " or try"), ".")
    assert str(error) == "pass folds=3 or call fit."
    assert isinstance(error.parts[1], Setting)
    assert (error.parts[1].name, error.parts[1].value) == ("folds", 3)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert str(Setting("encoding")) == "encoding=…"


def test_the_name_of_the_file_that_could_not_be_written(run, tmp_path: Path, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device", "secret temporary name")

    monkeypatch.setattr(os, "replace", refuse)
    code, _, err = run("learn", "titanic", "--method", "chow-liu", "-o", "m.cp")
    assert code == 2
    assert "'m.cp' cannot be written: No space left on device" in err


def test_a_note_does_not_mix_with_the_progress_line(monkeypatch) -> None:
    shown, terminal = pty.openpty()
    with os.fdopen(terminal, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(notes, "quiet", False)
        with TextBar(stream, after=-1.0) as bar:
            bar("searching", 3, 10)
            _show_warning(UserWarning("something to know"), UserWarning)
            bar._drawn = 0.0  # as if time had passed
            bar("searching", 4, 10)
        stream.flush()
        text = b""
        while select.select([shown], [], [], 0.2)[0]:  # what a terminal has comes in pieces
            text += os.read(shown, 2**16)
    screen = _screen(text.decode())
    assert screen == ["Note: something to know"]


def _screen(text: str) -> list[str]:
    """The lines that a terminal shows after `text`; colors are passed over."""
    plain = ""
    for k, part in enumerate(text.split("\x1b[")):
        plain += part if k == 0 else part.partition("m")[2]
    lines, line, place = [], "", 0
    for letter in plain.replace("\r\n", "\n"):
        if letter == "\n":
            lines.append(line.rstrip())
            line, place = "", 0
        elif letter == "\r":
            place = 0
        else:
            line = line[:place] + letter + line[place + 1 :]
            place += 1
    return [*lines, *([line.rstrip()] if line.strip() else [])]


def test_a_stopped_fit_names_the_option(run) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, _, err = run("learn", "titanic", "--method", "hill-climb", "--time-limit", "1e-9")
    assert "pass --checkpoint FILE to be able to go on" in err


def test_python_messages_are_those_of_python(tmp_path: Path) -> None:
    with raises(cp.CounterpaneError, parameter="missing", value="zero"):
        cp.ChowLiu(missing="zero").fit(cp.load_dataset("titanic"))  # type: ignore[arg-type]
