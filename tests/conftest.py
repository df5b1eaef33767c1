"""Where the benchmark data is, and the command line, for tests that need them."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from counterpane import _core
from counterpane.cli.app import run_program

# An editable install builds the core again when it is imported; once is enough for all tests.
os.environ.setdefault("SKBUILD_EDITABLE_SKIP", str(Path(_core.__file__).parents[3]))

# Examples of laws have no deadline: a busy machine is no failure.
settings.register_profile("counterpane", deadline=None)
settings.load_profile("counterpane")

collect_ignore_glob = ["*/conftest.py"]  # their examples; several modules of one name clash


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of benchmark data; the test is skipped where there is none."""
    folder = os.environ.get("COUNTERPANE_DATA")
    if not folder:
        pytest.skip("COUNTERPANE_DATA is not set: this test reads the benchmark data")
    return Path(folder)


@pytest.fixture(scope="session")
def pyagrum() -> Any:
    """pyAgrum, the oracle; its import warns, and crashes where warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("pyagrum")


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """The command line, called in an empty folder: (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["counterpane", *words])
        with pytest.raises(SystemExit) as stop:
            run_program()
        out = capsys.readouterr()
        return int(stop.value.code or 0), out.out, out.err

    return call
