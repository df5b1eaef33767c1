"""Where the benchmark data is, for tests that need it."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# The first example of a law may compile a kernel: no example has a deadline.
settings.register_profile("counterpane", deadline=None)
settings.load_profile("counterpane")


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
