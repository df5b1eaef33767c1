"""Schemas: positions, and states that are refused."""

from __future__ import annotations

import numpy as np

import counterpane as cp
from error_checks import raises


def test_positions_are_integers_of_any_kind():
    schema = cp.load_dataset("titanic").schema
    assert schema[np.int64(1)] is schema[1]
    assert schema[np.uint8(0)].name == schema.names[0]


def test_nan_is_no_state():
    with raises(cp.CounterpaneError, about="'x'"):
        cp.Variable("x", (1.0, float("nan")))
