"""The Bayesian test: published reference values, a high-precision twin, extremes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counterpane.counts import MemoryCounts
from counterpane.data import Schema, Table
from counterpane.errors import ParameterError
from counterpane.independence import BayesianTest
from reference import independence_reference as naive

DIAGONAL, FLAT = [[10, 0], [0, 10]], [[5, 5], [5, 5]]
EMPTY = [[0, 0], [0, 0]]

# slices, ln P(D|CI), ln P(D|not CI), P(CI|D) for uniform and for consistent hyper-parameters
REFERENCE = [
    ([DIAGONAL], -30.342628, -19.606091, 0.000022, 0.000045),
    ([FLAT], -30.342628, -30.664949, 0.579890, 0.739688),
    ([[[25, 25], [25, 25]]], -142.797924, -143.808018, 0.733038, 0.858333),
    ([DIAGONAL, FLAT], -60.685255, -50.567652, 0.000040, 0.000094),
    ([FLAT, FLAT], -60.685255, -61.056005, 0.591640, 0.761736),
    ([EMPTY, FLAT], -30.342628, -30.518654, 0.543893, 0.617145),
]


def source_of(slices: list[list[list[int]]]) -> MemoryCounts:
    """Counts of columns (given, x, y) with these tables; cells are weighted rows."""
    counts = np.array(slices)
    where = np.nonzero(counts)
    return MemoryCounts(Table(Schema.from_cards(counts.shape), np.array(where), counts[where]))


@pytest.mark.parametrize(("slices", "log_t", "log_f", "uniform", "consistent"), REFERENCE)
def test_reference_values(slices, log_t, log_f, uniform, consistent) -> None:
    source = source_of(slices)
    verdict = BayesianTest(slices="all").bind(source)("x1", "x2", ["x0"])
    assert verdict.log_likelihoods == pytest.approx((log_t, log_f), abs=1e-6)
    assert verdict.probability == pytest.approx(uniform, abs=1e-6)
    assert verdict.independent == (uniform > 0.5)
    other = BayesianTest(slices="all", hyper="consistent").bind(source)("x1", "x2", ["x0"])
    assert other.probability == pytest.approx(consistent, abs=1e-6)


def test_only_occurring_slices_count_by_default() -> None:
    with_empty = BayesianTest().bind(source_of([EMPTY, FLAT]))(1, 2, [0])
    alone = BayesianTest().bind(source_of([FLAT]))(1, 2, [0])
    assert with_empty == alone
    assert alone == BayesianTest().bind(source_of([FLAT]))(1, 2)


@pytest.mark.parametrize(
    "slices",
    [
        np.full((1, 40, 40), 4).tolist(),  # e_k underflows: independence beyond any doubt
        np.full((2, 40, 40), 4).tolist(),
        (np.eye(3, dtype=int) * 700)[None].tolist(),  # exp(t) overflows: dependence likewise
        [np.full((3, 3), 50).tolist(), (np.eye(3, dtype=int) * 400).tolist()],
    ],
)
def test_extremes_stay_finite_and_right(slices) -> None:
    verdict = BayesianTest().bind(source_of(slices))(1, 2, 0)
    expected = naive.bayesian(slices, consistent=False)
    assert verdict.log_likelihoods == pytest.approx(expected[:2], rel=1e-12)
    assert verdict.probability == pytest.approx(expected[2], rel=1e-9)


def test_ties_go_to_independence() -> None:
    one_state = Table(Schema.from_cards([1, 3]), [[0] * 7, [0, 1, 2, 2, 1, 1, 1]])
    no_rows = Table(Schema.from_cards([2, 2]), [[0, 1, 2], [2, 2, 1]])
    for table in (one_state, no_rows):
        for hyper in ("uniform", "consistent"):
            verdict = BayesianTest(hyper=hyper).bind(MemoryCounts(table))(0, 1)
            assert verdict.independent
            assert verdict.probability == pytest.approx(0.5)
            assert verdict.log_likelihoods[0] == pytest.approx(verdict.log_likelihoods[1])


@pytest.mark.parametrize("every", [False, True])
def test_sparse_tables(every: bool) -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, (16, 200))
    codes[2:] = codes[2]
    codes[9, :20] = 1
    source = MemoryCounts(Table(Schema.from_cards([3] * 16), codes))
    given = tuple(range(2, 16))
    assert source.counts([(*given, 0, 1)]).is_sparse(0)
    found = naive.slices(list(zip(*codes.tolist(), strict=True)), 0, 1, given)
    tables = [[[t[i, j] for j in range(3)] for i in range(3)] for t in found.values()]
    test = BayesianTest(slices="all" if every else "observed").bind(source)
    verdict = test(0, 1, given)
    if not every:
        expected = naive.bayesian(tables, consistent=False)
        assert verdict.log_likelihoods == pytest.approx(expected[:2], rel=1e-12)
        assert verdict.probability == pytest.approx(expected[2], rel=1e-10)
    else:  # so many slices leave each almost surely independent, and the prior where it was
        assert verdict.probability == pytest.approx(0.5, abs=1e-3)
        assert np.isfinite(verdict.log_likelihoods).all()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"hyper": "flat"}, "'uniform' or 'consistent'"),
        ({"slices": "some"}, "'observed' or 'all'"),
        ({"prior": 0.0}, "between 0 and 1"),
        ({"prior": 1.0}, "between 0 and 1"),
    ],
)
def test_parameters_are_checked(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        BayesianTest(**parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize("consistent", [False, True])
@pytest.mark.parametrize("prior", [0.5, 0.9, 0.01])
@pytest.mark.parametrize("every", [False, True])
def test_definition_in_high_precision(consistent: bool, prior: float, every: bool) -> None:
    rng = np.random.default_rng(11)
    slices = rng.integers(0, 9, (5, 3, 4))
    slices[3] = 0
    slices[4] *= rng.integers(0, 2, (3, 4))
    hyper = "consistent" if consistent else "uniform"
    test = BayesianTest(hyper=hyper, prior=prior, slices="all" if every else "observed")
    verdict = test.bind(source_of(slices.tolist()))(1, 2, 0)
    tables = [t for t in slices.tolist() if np.any(t)]
    log_t, log_f, probability = naive.bayesian(tables, consistent, 5 if every else 4, prior)
    assert verdict.log_likelihoods == pytest.approx((log_t, log_f), rel=1e-12)
    assert verdict.probability == pytest.approx(probability, rel=1e-10)


def test_bayes_rule_ties_the_numbers_together() -> None:
    prior = 0.3
    verdict = BayesianTest(prior=prior).bind(source_of([DIAGONAL, FLAT]))(1, 2, 0)
    log_t, log_f = verdict.log_likelihoods
    odds = math.exp(log_t - log_f) * prior / (1 - prior)
    assert verdict.probability == pytest.approx(odds / (1 + odds), rel=1e-12)
