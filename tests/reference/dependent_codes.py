"""Columns that depend on each other, for the kernels of the field learners."""

from __future__ import annotations

import numpy as np

CODES = [np.uint8, np.uint16, np.uint32]
CARDS = np.array([2, 3, 1, 4, 2])
ROWS = 300


def some_codes(dtype=np.uint8, seed=1, rows=ROWS):
    """Columns that depend on each other."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 4, rows)
    noise = rng.random((CARDS.size, rows)) < 0.3
    codes = [np.where(noise[v], rng.integers(0, r, rows), hidden % r) for v, r in enumerate(CARDS)]
    return np.array(codes, dtype)


def offsets_of(lists):
    return np.cumsum([0, *map(len, lists)])


def ints(values):
    return np.array(values, dtype=np.int64)
