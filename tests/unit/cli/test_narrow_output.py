"""Commands whose output goes to an encoding without dashes, arrows and bars, as on Windows."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import counterpane as cp


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "ascii"])
def test_output_is_written_in_any_encoding(tmp_path, encoding):
    model = tmp_path / "m.cp"
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}

    def call(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "counterpane", *words], env=environment, capture_output=True
        )
        text = done.stdout.decode(encoding) + done.stderr.decode(encoding)
        assert done.returncode == 0, text
        return text

    learned = call("learn", "titanic", "-o", str(model), "--bootstrap", "0")
    assert "survived -" in learned or "survived —" in learned
    assert "#" in call("query", str(model), "survived", "--given", "sex=female")


def test_names_that_cannot_be_encoded_do_not_stop_a_command(tmp_path):
    model = cp.ChowLiu().fit({"größe": ["a", "b"] * 20, "☃": ["x", "y"] * 20}).model_
    model.save(tmp_path / "m.cp")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "counterpane", "query", str(tmp_path / "m.cp"), "größe", "--json"],
        env=environment, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
