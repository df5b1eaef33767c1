"""What every test of data promises, whatever its statistic."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from counterpane.counts import MemoryCounts, StreamCounts
from counterpane.data import Schema, Table
from counterpane.independence import (
    BayesianTest,
    ChiSquare,
    GTest,
    IndependenceTest,
    Ledger,
    StratifiedTest,
    Verdict,
)

CARDS = [2, 3, 2, 3, 4]
TESTS = [
    ChiSquare(),
    ChiSquare(0.01, degrees_of_freedom="full"),
    GTest(),
    GTest(degrees_of_freedom="full"),
    BayesianTest(),
    BayesianTest(hyper="consistent", slices="all"),
    BayesianTest(prior=0.8),
    StratifiedTest(),
    StratifiedTest(0.05, heterogeneity=False),
    Ledger(GTest()),
]
QUESTIONS = [(0, 1, ()), (1, 4, (0,)), (2, 3, (0, 1)), (0, 3, (1, 2, 4))]

pytestmark = pytest.mark.parametrize("test", TESTS, ids=repr)


def numbers(verdict: Verdict) -> list[float]:
    """All that a verdict says, as numbers."""
    log_likelihoods = verdict.log_likelihoods or ()
    rest = [v for v in verdict if v is not None and not isinstance(v, tuple)]
    return [float(v) for v in (*rest, *log_likelihoods)]


def same(a: list[Verdict], b: list[Verdict]) -> bool:
    pairs = zip(map(numbers, a), map(numbers, b), strict=True)
    return all(p == pytest.approx(q, rel=1e-9, abs=1e-9) for p, q in pairs)


def ask(test: IndependenceTest, codes: np.ndarray, weights: object = None) -> list[Verdict]:
    table = Table(Schema.from_cards(CARDS), codes, weights)
    return test.bind(MemoryCounts(table)).verdicts(QUESTIONS)


@pytest.fixture(scope="module")
def codes() -> np.ndarray:
    rng = np.random.default_rng(9)
    codes = np.array([rng.integers(0, r, 250) for r in CARDS])
    codes[1] = np.where(rng.random(250) < 0.3, codes[0], codes[1])
    return codes


def test_symmetric_and_blind_to_the_order_of_given(
    test: IndependenceTest, codes: np.ndarray
) -> None:
    bound = test.bind(MemoryCounts(Table(Schema.from_cards(CARDS), codes)))
    for x, y, given in QUESTIONS:
        first = bound(x, y, given)
        for order in permutations(given):
            assert bound(x, y, order) == first == bound(y, x, order)


def test_answers_are_finite_and_consistent(test: IndependenceTest, codes: np.ndarray) -> None:
    for verdict in ask(test, codes):
        assert np.isfinite(numbers(verdict)).all()
        assert type(verdict.independent) is bool
        if verdict.log_likelihoods is None:
            assert verdict.probability is None
            assert 0 <= verdict.p_value <= 1
        else:
            assert verdict.p_value is verdict.statistic is verdict.degrees_of_freedom is None
            assert 0 <= verdict.probability <= 1


def test_names_of_states_do_not_matter(test: IndependenceTest, codes: np.ndarray) -> None:
    rng = np.random.default_rng(2)
    relabelled = np.array([rng.permutation(r)[c] for r, c in zip(CARDS, codes, strict=True)])
    assert same(ask(test, relabelled), ask(test, codes))


def test_order_of_rows_does_not_matter(test: IndependenceTest, codes: np.ndarray) -> None:
    assert ask(test, codes[:, ::-1]) == ask(test, codes)


def test_a_constant_column_is_independent_of_all(test: IndependenceTest, codes: np.ndarray) -> None:
    constant = codes.copy()
    constant[0] = 1
    source = MemoryCounts(Table(Schema.from_cards(CARDS), constant))
    assert all(test.bind(source).verdicts([(0, 1, ()), (4, 0, (1,))]))
    one_state = Table(Schema.from_cards([1, *CARDS[1:]]), np.vstack([codes[:1] * 0, codes[1:]]))
    assert all(test.bind(MemoryCounts(one_state)).verdicts([(0, 1, ()), (0, 4, (1, 2))]))


def test_a_duplicated_column_is_dependent(test: IndependenceTest, codes: np.ndarray) -> None:
    twice = codes.copy()
    twice[3] = twice[1]
    bound = test.bind(MemoryCounts(Table(Schema.from_cards(CARDS), twice)))
    assert not any(bound.verdicts([(1, 3, ()), (3, 1, (0,)), (1, 3, (0, 2))]))


def test_independent_columns_are_found_so(test: IndependenceTest, codes: np.ndarray) -> None:
    grid = np.array(np.meshgrid(*map(range, CARDS), indexing="ij")).reshape(5, -1)
    assert all(ask(test, grid, np.full(grid.shape[1], 10)))


def test_weights_are_repetitions(test: IndependenceTest, codes: np.ndarray) -> None:
    weights = np.random.default_rng(5).integers(0, 4, codes.shape[1])
    repeated = ask(test, np.repeat(codes, weights, axis=1))
    assert ask(test, codes, weights) == repeated
    assert same(ask(test, codes, weights.astype(float)), repeated)


def test_fractional_weights_are_allowed(test: IndependenceTest, codes: np.ndarray) -> None:
    halves = ask(test, np.repeat(codes, 2, axis=1), np.full(2 * codes.shape[1], 0.5))
    assert same(halves, ask(test, codes))


def test_rows_with_missing_cells_are_dropped_per_question(
    test: IndependenceTest, codes: np.ndarray
) -> None:
    holes = codes.copy()
    holes[1, :60] = CARDS[1]
    holes[4, 40:90] = CARDS[4]
    found = ask(test, holes)
    for i, (x, y, given) in enumerate(QUESTIONS):
        scope = [x, y, *given]
        complete = (holes[scope] < np.array(CARDS)[scope, None]).all(axis=0)
        assert found[i] == ask(test, codes[:, complete])[i]


def test_any_source_of_counts_will_do(test: IndependenceTest, codes: np.ndarray) -> None:
    table = Table(Schema.from_cards(CARDS), codes)
    halves = [table.take(range(100)), table.take(range(100, 250))]
    stream = StreamCounts(table.schema, lambda: halves)
    assert test.bind(stream).verdicts(QUESTIONS) == ask(test, codes)
