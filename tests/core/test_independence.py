"""The kernels of independence beside sums over cells with exact likelihoods."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from counterpane._core import independence
from reference.independence_reference import asymptotic, bayesian

CARDS = np.array([2, 3, 1, 4, 2])
SCOPES = [(0, 1), (3, 1, 0), (0, 4, 1, 3), (2, 0), (1, 2, 3)]
SCOPE_FROM = np.cumsum([0, *map(len, SCOPES)])
FLAT = np.array([v for scope in SCOPES for v in scope])
OUT_FROM = np.cumsum([0, *(int(np.prod(CARDS[list(scope)])) for scope in SCOPES)])
counted = pytest.mark.parametrize("dtype", [np.int64, np.float64])
N_CONFIGURATIONS = [1, 4, 4, 1, 3]


def some_tables(dtype):
    """Flat counts, and the slices of each table as nested lists of whole numbers; some empty."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 9, OUT_FROM[-1]) * rng.integers(0, 2, OUT_FROM[-1])
    values[OUT_FROM[2] : OUT_FROM[2] + 12] = 0
    tables = [
        values[OUT_FROM[q] : OUT_FROM[q + 1]].reshape(-1, *CARDS[list(SCOPES[q][-2:])]).tolist()
        for q in range(len(SCOPES))
    ]
    return values.astype(dtype), tables


def occurring(slices):
    return [table for table in slices if any(map(any, table))]


def call(kernel, dtype, *options, every_slice):
    values, _ = some_tables(dtype)
    n_slices = np.array(N_CONFIGURATIONS, float) if every_slice else np.zeros(len(SCOPES))
    out = np.full((len(SCOPES), 3), np.nan)
    kernel(values, CARDS, FLAT, SCOPE_FROM, OUT_FROM, n_slices, *options, out)
    return out


def test_count_configurations():
    out = np.empty(len(SCOPES))
    independence.count_configurations(CARDS, FLAT, SCOPE_FROM, out)
    assert out.tolist() == N_CONFIGURATIONS
    out = np.empty(1)
    many = np.full(400, 10)
    independence.count_configurations(many, np.arange(400), np.array([0, 400]), out)
    assert out[0] == 1e300


@counted
@pytest.mark.parametrize("pearson", [False, True])
@pytest.mark.parametrize("every_slice", [False, True])
def test_asymptotic(dtype, pearson, every_slice):
    out = call(independence.asymptotic, dtype, pearson, every_slice=every_slice)
    for q, slices in enumerate(some_tables(dtype)[1]):
        cells = [
            Counter({(i, j): n for i, row in enumerate(t) for j, n in enumerate(row) if n})
            for t in occurring(slices)
        ]
        statistic, freedom = asymptotic(cells, pearson)
        if every_slice:
            x, y = SCOPES[q][-2:]
            freedom = N_CONFIGURATIONS[q] * (CARDS[x] - 1) * (CARDS[y] - 1)
        assert out[q, :2] == pytest.approx([statistic, freedom], rel=1e-12, abs=1e-12)


@counted
@pytest.mark.parametrize("consistent", [False, True])
@pytest.mark.parametrize("every_slice", [False, True])
def test_bayesian(dtype, consistent, every_slice):
    out = call(independence.bayesian, dtype, consistent, 0.3, every_slice=every_slice)
    for q, slices in enumerate(some_tables(dtype)[1]):
        k = N_CONFIGURATIONS[q] if every_slice else None
        expected = bayesian(occurring(slices), consistent, k=k, prior=0.3)
        assert out[q] == pytest.approx(expected, rel=1e-10)


def test_tables_without_cells():
    """A table that is stored sparsely has no cells here: no statistic, and the prior."""
    args = np.empty(0, np.int64), CARDS, np.array([0, 1]), np.array([0, 2]), np.array([0, 0])
    out = np.empty((1, 3))
    independence.asymptotic(*args, np.zeros(1), True, out)
    assert out[0, :2].tolist() == [0, 0]
    independence.bayesian(*args, np.zeros(1), False, 0.3, out)
    assert out[0, 2] == pytest.approx(0.3)


@counted
def test_pair_information(dtype):
    rng = np.random.default_rng(1)
    starts = np.cumsum([0, *CARDS])
    counts = rng.integers(0, 5, (12, 12)).astype(dtype)
    counts[:2, 2:5] = 0
    out = np.empty((5, 5))
    independence.pair_information(counts, starts, out)
    for i in range(5):
        for j in range(i, 5):
            p = counts[starts[i] : starts[i + 1], starts[j] : starts[j + 1]].astype(float)
            p /= max(p.sum(), 1)
            margins = np.outer(p.sum(axis=1), p.sum(axis=0))
            expected = sum(
                x * math.log(x / m) for x, m in zip(p.flat, margins.flat, strict=True) if x > 0
            )
            assert out[i, j] == out[j, i] == pytest.approx(expected, rel=1e-12, abs=1e-12)
