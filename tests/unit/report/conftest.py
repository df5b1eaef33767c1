"""The table of most reports."""

from __future__ import annotations

import pytest

import counterpane as cp


@pytest.fixture(scope="module")
def titanic() -> cp.Table:
    return cp.load_dataset("titanic")
