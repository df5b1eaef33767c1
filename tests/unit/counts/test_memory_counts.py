"""Counts in memory: what only wide tables show."""

from __future__ import annotations

import numpy as np

import counterpane as cp


def test_distinct_rows_of_more_columns_than_a_float_has_exponents():
    codes = np.zeros((1100, 5), dtype=np.uint8)  # 3^1100 joint states
    codes[7, 2:] = 1
    source = cp.MemoryCounts(cp.Table(cp.Schema.from_cards([2] * 1100), codes))
    rows = source.distinct(range(1100))
    assert rows.n_rows == 2
    assert sorted(rows.weights.tolist()) == [2, 3]
