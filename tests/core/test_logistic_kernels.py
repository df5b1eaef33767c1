"""The kernels of logistic regressions beside naive references."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane._core import dependency
from reference import core_dependency as naive
from reference.core_counts import bit_sets
from reference.dependent_codes import CARDS, CODES, ROWS, ints, offsets_of, some_codes


def design_of(codes, row_weights):
    """The design of all states but the first, and its dense features."""
    pairs = [(v, s) for v, r in enumerate(CARDS) for s in range(1, r)]
    columns, values = ints([-1, *(v for v, _ in pairs)]), ints([0, *(s for _, s in pairs)])
    dense = naive.indicators(codes, columns, values)
    flipped = dense.sum(axis=1) * 2 > codes.shape[1]
    lists = [np.flatnonzero(x != f) for x, f in zip(dense, flipped, strict=True)]
    rows = np.concatenate(lists).astype(np.int32)
    design = dependency.LogisticDesign(
        codes, row_weights, columns, values, flipped, offsets_of(lists), rows
    )
    return design, dense


def test_list_feature_rows():
    words, first = bit_sets(some_codes(), CARDS)
    design, _ = design_of(some_codes(), np.ones(ROWS))
    every = np.bitwise_or.reduce(words[:2])
    sets = first[design.columns[1:]] + design.values[1:]
    rows = np.empty_like(design.rows)
    dependency.list_feature_rows(
        np.concatenate([[every], words[sets]]), design.flipped, ROWS, design.starts, rows
    )
    assert (rows == design.rows).all()
    assert design.flipped.any()
    assert not design.flipped.all()


@pytest.mark.parametrize("dtype", CODES)
def test_add_margins(dtype):
    design, dense = design_of(some_codes(dtype), np.ones(ROWS))
    features = np.array([0, 3, 1, 6])
    weights = np.array([0.5, -2.0, 0.0, 1.25])
    out = np.ones(ROWS)
    dependency.add_margins(design, features, weights, out)
    np.testing.assert_allclose(out, 1 + weights @ dense[features])


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("target", [0, 1, 3])
def test_logistic_log_likelihood(dtype, target):
    rng = np.random.default_rng(4)
    codes, weights = some_codes(dtype), rng.random(ROWS)
    margins = rng.normal(size=(CARDS[target] - 1, ROWS))
    logs = naive.log_softmax(np.vstack([np.zeros(ROWS), margins]))
    design, _ = design_of(codes, weights)
    assert dependency.logistic_log_likelihood(design, target, margins) == pytest.approx(
        weights @ logs[codes[target], np.arange(ROWS)]
    )


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("target", [0, 1, 3])
@pytest.mark.parametrize("l1", [0.5, 20.0])
def test_solve_logistic(dtype, target, l1):
    """No weight is far from optimal, and the margins are those of the weights."""
    codes = some_codes(dtype)
    row_weights = np.random.default_rng(5).integers(1, 4, ROWS).astype(float)
    design, dense = design_of(codes, row_weights)
    heads = CARDS[target] - 1
    weights, margins = np.zeros((heads, len(dense))), np.zeros((heads, ROWS))
    far = dependency.solve_logistic(design, target, l1, 1e-3 * l1, 4096, weights, margins)
    assert far <= 1e-3 * l1
    others = design.columns != target
    assert (weights[:, ~others] == 0.0).all()
    np.testing.assert_allclose(margins, weights @ dense, atol=1e-9)
    distances = naive.distances(dense, codes[target].astype(int), row_weights, weights, l1)
    assert distances[:, others].max() <= far * (1 + 1e-6)
    assert 0 < np.count_nonzero(weights) < weights.size


def test_solve_logistic_without_room():
    design, dense = design_of(some_codes(), np.ones(ROWS))
    weights, margins = np.zeros((1, len(dense))), np.zeros((1, ROWS))
    assert dependency.solve_logistic(design, 0, 0.1, 1e-4, 1, weights, margins) == np.inf
