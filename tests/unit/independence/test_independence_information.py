"""Entropies and informations: a naive twin, sparse tables, missing cells, borders."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counterpane.counts import MemoryCounts
from counterpane.data import Schema, Table
from counterpane.errors import ParameterError, ScopeError, UnknownNameError
from counterpane.independence import (
    GTest,
    entropy,
    interaction_information,
    mutual_information,
    mutual_information_matrix,
)
from error_checks import raises
from reference import independence_reference as naive


def source_of(codes: np.ndarray, cards: list[int], weights: object = None) -> MemoryCounts:
    return MemoryCounts(Table(Schema.from_cards(cards), codes, weights))


@pytest.fixture(scope="module")
def codes() -> np.ndarray:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (5, 300))
    codes[1] = (codes[0] + codes[2] * (rng.random(300) < 0.6)) % 3
    return codes


@pytest.fixture(scope="module")
def source(codes: np.ndarray) -> MemoryCounts:
    return source_of(codes, [3] * 5)


def test_interaction_has_jakulins_sign(source: MemoryCounts) -> None:
    for a, b, c in [(0, 1, 2), (2, 3, 4)]:
        expected = mutual_information(source, a, b, c) - mutual_information(source, a, b)
        assert interaction_information(source, [a, b, c]) == pytest.approx(expected, abs=1e-12)
    pair = interaction_information(source, ["x0", "x1"])
    assert pair == pytest.approx(mutual_information(source, 0, 1), abs=1e-12)
    four = interaction_information(source, [0, 1, 2], [3]) - interaction_information(
        source, [0, 1, 2]
    )
    assert interaction_information(source, [0, 1, 2, 3]) == pytest.approx(four, abs=1e-12)


def test_exclusive_or_is_pure_synergy() -> None:
    source = source_of(np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]]), [2, 2, 2])
    assert interaction_information(source, [0, 1, 2], base=2) == pytest.approx(1)
    copies = source_of(np.array([[0, 1]] * 3), [2, 2, 2])
    assert interaction_information(copies, [0, 1, 2], base=2) == pytest.approx(-1)


def test_matrix_agrees_with_single_pairs(codes: np.ndarray) -> None:
    with_missing = codes.copy()
    with_missing[3, :50] = 3
    for source in (
        source_of(codes, [3] * 5),
        source_of(with_missing, [3] * 5),
        source_of(codes, [3] * 5, np.linspace(0.1, 2, 300)),
    ):
        matrix = mutual_information_matrix(source, base=2)
        assert (matrix == matrix.T).all()
        for i in range(5):
            assert matrix[i, i] == pytest.approx(entropy(source, i, base=2), rel=1e-12)
            for j in range(i):
                expected = mutual_information(source, i, j, base=2)
                assert matrix[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-14)
        part = mutual_information_matrix(source, [4, 1], base=2)
        assert part == pytest.approx(matrix[np.ix_([4, 1], [4, 1])], rel=1e-12)


def test_sparse_tables_are_measured_alike() -> None:
    codes = np.random.default_rng(2).integers(0, 4, (14, 60))
    source = source_of(codes, [4] * 14)
    assert source.counts([range(14)]).is_sparse(0)
    rows = list(zip(*codes.tolist(), strict=True))
    every = list(range(14))
    expected = naive.entropy(rows, every[:7]) + naive.entropy(rows, every[7:])
    expected -= naive.entropy(rows, every)
    found = mutual_information(source, every[:7], every[7:])
    assert found == pytest.approx(expected, rel=1e-12)


def test_rows_with_missing_cells_are_left_out() -> None:
    source = source_of(np.array([[0, 1, 0, 1, 2], [0, 1, 0, 1, 0]]), [2, 2])
    assert mutual_information(source, 0, 1) == pytest.approx(math.log(2))
    none = source_of(np.array([[0, 2], [2, 1]]), [2, 2])
    assert mutual_information(none, 0, 1) == 0.0
    assert mutual_information_matrix(none)[0, 1] == 0.0


def test_bad_arguments_are_refused(source: MemoryCounts) -> None:
    with raises(ParameterError, parameter="base", value=1):
        entropy(source, 0, base=1)
    with raises(ParameterError, parameter="base"):
        mutual_information_matrix(source, base=float("nan"))
    with raises(ScopeError, about="columns"):
        interaction_information(source, [0, 0])
    with raises(UnknownNameError, parameter="column", value="x9"):
        mutual_information(source, "x0", "x9")
    with pytest.raises(ScopeError):
        entropy(source, [7])


def test_entropy_is_the_naive_one(codes: np.ndarray, source: MemoryCounts) -> None:
    rows = list(zip(*codes.tolist(), strict=True))
    for columns in ([0], [1, 2], [0, 1, 2, 3, 4]):
        expected = naive.entropy(rows, columns)
        assert entropy(source, columns) == pytest.approx(expected, rel=1e-12)
        assert entropy(source, columns, base=2) == pytest.approx(expected / math.log(2), rel=1e-12)
    conditional = naive.entropy(rows, [0, 1, 2]) - naive.entropy(rows, [2])
    assert entropy(source, ["x0", "x1"], "x2") == pytest.approx(conditional, rel=1e-12)
    assert entropy(source, [], [0]) == 0


def test_mutual_information_is_g2_over_2n(source: MemoryCounts) -> None:
    test = GTest().bind(source)
    for x, y, given in [(0, 1, ()), (0, 2, (1,)), (1, 4, (0, 2))]:
        expected = test(x, y, given).statistic / 600
        assert mutual_information(source, x, y, given) == pytest.approx(expected, rel=1e-9)


def test_information_is_never_negative() -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        a, b = rng.integers(1, 50, 3), rng.integers(1, 50, 4)
        grid = np.array([(i, j) for i in range(3) for j in range(4)]).T
        source = source_of(grid, [3, 4], np.outer(a, b).ravel())
        assert 0 <= mutual_information(source, 0, 1) < 1e-12
        assert 0 <= mutual_information_matrix(source)[0, 1] < 1e-12
