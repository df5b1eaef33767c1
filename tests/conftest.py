"""Where the benchmark data is, for tests that need it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of benchmark data; the test is skipped where there is none."""
    folder = os.environ.get("COUNTERPANE_DATA")
    if not folder:
        pytest.skip("COUNTERPANE_DATA is not set: this test reads the benchmark data")
    return Path(folder)
