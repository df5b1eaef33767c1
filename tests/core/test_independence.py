"""The kernels of independence beside sums over cells with exact likelihoods."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from counterpane._core import independence
from reference.independence_reference import asymptotic, bayesian, stratified

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


@counted
def test_stratified(dtype):
    values, tables = some_tables(dtype)
    out = np.full((len(SCOPES), 5), np.nan)
    independence.stratified(values, CARDS, FLAT, SCOPE_FROM, OUT_FROM, out)
    for q, slices in enumerate(tables):
        expected = (*stratified(np.array(slices)), np.sum(slices))
        assert out[q] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def stratified_numbers(tables):
    """The kernel's row for one array (slices, I, J)."""
    out = np.empty((1, 5))
    shape, layout = np.array(tables.shape), (np.arange(3), np.array([0, 3]))
    independence.stratified(tables.ravel(), shape, *layout, np.array([0, tables.size]), out)
    return out[0]


def test_stratified_is_the_printed_sum_for_two_states():
    """200 tables 2×2×K beside (Σ (a − E))² / Σ Var of Mantel and Haenszel."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        tables = rng.integers(0, 7, (rng.integers(1, 12), 2, 2))
        excess = variance = 0.0
        for (a, b), (c, d) in tables.tolist():
            n = a + b + c + d
            if n > 1:
                excess += a - (a + b) * (a + c) / n
                variance += (a + b) * (c + d) * (a + c) * (b + d) / (n * n * (n - 1))
        expected = excess**2 / variance if variance else 0.0
        assert stratified_numbers(tables)[0] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("n_slices", [1, 50, 250, 400])
def test_stratified_keeps_its_mean_in_thin_slices(n_slices):
    """The mean of Q is its degrees of freedom, whatever the slices; 500 rows of 3 by 4 states."""
    rng = np.random.default_rng(n_slices)
    rows = []
    for _ in range(300):
        k, x, y = (rng.integers(0, m, 500) for m in (n_slices, 3, 4))
        tables = np.zeros((n_slices, 3, 4), dtype=np.int64)
        np.add.at(tables, (k, x, y), 1)
        rows.append(stratified_numbers(tables)[:4])
    statistic, freedom, uneven, mean = np.mean(rows, axis=0)
    assert freedom == pytest.approx(6, abs=0.05)
    assert statistic == pytest.approx(6, abs=0.6)  # three standard errors
    assert uneven == pytest.approx(mean, rel=0.1)


def test_many_states_have_an_association_in_each_slice():
    rng = np.random.default_rng(0)
    tables = rng.integers(0, 2, (3, 25, 25))
    numbers = stratified_numbers(tables)
    assert numbers[0] == numbers[2] and numbers[1] == numbers[3] == 3 * 24 * 24


def test_tables_without_cells():
    """A table that is stored sparsely has no cells here: no statistic, and the prior."""
    args = np.empty(0, np.int64), CARDS, np.array([0, 1]), np.array([0, 2]), np.array([0, 0])
    out = np.empty((1, 3))
    independence.asymptotic(*args, np.zeros(1), True, out)
    assert out[0, :2].tolist() == [0, 0]
    independence.bayesian(*args, np.zeros(1), False, 0.3, out)
    assert out[0, 2] == pytest.approx(0.3)
    out = np.full((1, 5), np.nan)
    independence.stratified(*args, out)
    assert not out.any()


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
