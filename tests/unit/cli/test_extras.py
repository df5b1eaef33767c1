"""The extras that `doctor` and `pyproject.toml` offer are those that the package imports."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import counterpane as cp
from counterpane.cli import doctor

PROJECT = Path(__file__).parents[3] / "pyproject.toml"
FOR_DEVELOPERS = {"test", "check", "docs", "bench"}


@pytest.mark.skipif(not PROJECT.exists(), reason="pyproject.toml is not beside the tests")
def test_doctor_lists_the_extras_of_the_package() -> None:
    extras = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(extras) - FOR_DEVELOPERS == set(doctor.EXTRAS)


@pytest.mark.parametrize("extra", sorted(doctor.EXTRAS))
def test_an_extra_is_used(extra: str) -> None:
    source = Path(cp.__file__).parent
    files = [path for path in source.rglob("*.py") if path.name != "doctor.py"]
    text = "".join(path.read_text("utf-8") for path in files)
    modules, _ = doctor.EXTRAS[extra]
    for module in modules:
        assert re.search(rf"(?:import|from|lazy\(\"|module\(\")\s*{module}\b|\"{module}\"", text)
