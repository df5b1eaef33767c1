"""Potentials, rules and blankets: what they refuse, and the corners of their answers."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane.errors import DataError, EvidenceError, ParameterError, ScopeError, TableSizeError
from counterpane.features import MAX_CELLS, Blanket, Potential, Rules, blanket
from error_checks import raises

INF = np.inf


@pytest.mark.parametrize(
    ("scope", "values", "error"),
    [
        ((1, 1), [[0, 0], [0, 0]], ScopeError),
        ((-1,), [0, 0], ScopeError),
        ((0, 1), [0, 0], ScopeError),
        ((0,), [], ScopeError),
        ((0,), [0, np.nan], ParameterError),
        ((0,), [0, INF], ParameterError),
    ],
)
def test_potential_refuses(scope, values, error):
    with pytest.raises(error):
        Potential(scope, values)


def test_potential_is_a_read_only_copy():
    given = np.zeros(2)
    potential = Potential((0,), given)
    given[0] = 5
    assert potential.log_values.tolist() == [0, 0]
    with raises(ValueError, about="read-only"):
        potential.log_values[0] = 1


def test_potential_of_too_many_cells_is_refused_before_it_is_copied():
    huge = np.broadcast_to(np.float64(0), (MAX_CELLS // 2, 3))
    with raises(TableSizeError, about="100,663,296 cells"):
        Potential((0, 1), huge)


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ([(0, 1, False), (0, 0, False)], "rule 1 can never hold: it asks variable 0"),
        ([(1, 2, False), (1, 2, True)], "rule 1 .* variable 1 .* = 2, ≠ 2"),
        ([(1, 0, True), (1, 1, True), (1, 2, True)], "rule 1 can never hold"),
        ([(1, 3, False)], "rule 1 names the value 3 of variable 1"),
        ([(2, 0, False)], "rule 1 names the value 0 of variable 2"),
        ([(0, -1, True)], "rule 1 names the value -1"),
    ],
)
def test_rules_refuse(conditions, message):
    with pytest.raises(ScopeError, match=message):
        Rules.from_list([2, 3], [(1.0, [(0, 0, False)]), (1.0, conditions)])


def test_rules_from_arrays_are_checked():
    good = ([2, 2], [1.0], [0, 1], [0], [1], [False])
    assert len(Rules(*good)) == 1
    for place, bad in [(1, [np.nan]), (1, [INF]), (2, [0, 2]), (2, [0]), (2, [1, 1]), (4, [])]:
        with pytest.raises(ParameterError):
            Rules(*good[:place], bad, *good[place + 1 :])


def test_redundant_conditions_and_constants_are_allowed():
    rules = Rules.from_list([3], [(2.0, [(0, 1, False), (0, 2, True)]), (-1.0, [])])
    found = Blanket([3], [rules]).log_potential([[0, 1, 2]])
    assert found.tolist() == [-1.0, 1.0, -1.0]


def test_no_part_means_uniform():
    empty = Blanket([2, 4], [])
    np.testing.assert_allclose(
        np.exp(empty.full_conditionals([[0], [3]])), [[0.5, 0.5, *[0.25] * 4]]
    )
    assert empty.log_potential([[0], [3]]).tolist() == [0.0]
    assert Blanket([2], [Potential((), 1.5)]).log_potential([[1]]).tolist() == [1.5]


def test_extreme_logs_neither_overflow_nor_vanish():
    steep = Blanket([2], [Potential((0,), [-1e6, -1e6 + 1]), Potential((0,), [900.0, 900.0])])
    found = steep.full_conditionals([[0]])
    np.testing.assert_allclose(np.exp(found), [[1 / (1 + np.e), np.e / (1 + np.e)]])


def test_chosen_variables_come_in_the_order_asked():
    potential = Potential((0, 1), np.log([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]))
    whole = Blanket([2, 3], [potential])
    both = whole.full_conditionals([[1], [2]])
    turned = whole.full_conditionals([[1], [2]], variables=[1, 0])
    assert turned.tolist() == [[*both[0, 2:], *both[0, :2]]]
    with pytest.raises(ScopeError):
        whole.full_conditionals([[1], [2]], variables=[2])


def test_neighbors():
    parts = [
        Potential((0, 2), np.zeros((2, 2))),
        Rules.from_list([2] * 4, [(1, [(2, 0, 0), (3, 1, 1)])]),
    ]
    found = Blanket([2] * 4, parts)
    assert [found.neighbors(v) for v in range(4)] == [(2,), (), (0, 3), (2,)]


def test_impossible_row_names_row_and_variable():
    deterministic = Potential((0, 1), [[0.0, -INF], [-INF, -INF]])
    found = Blanket([2, 2], [deterministic], names=["smoke", "lung"])
    codes = np.array([[0, 1], [0, 0]], dtype=np.uint8)
    with raises(EvidenceError, about=("'lung'", "row 1")):
        found.full_conditionals(codes, variables=[1])
    with raises(EvidenceError, about=("'lung'", "row 1")):
        found.pseudo_log_likelihood(codes)
    assert found.log_potential(codes).tolist() == [0.0, -INF]


def test_missing_cells_are_refused_only_where_they_are_read():
    pair = Blanket([2, 2, 2], [Potential((0, 1), np.zeros((2, 2)))], names=["a", "b", "c"])
    codes = [[0, 2], [0, 1], [0, 2]]
    assert pair.full_conditionals(codes, variables=[0]).shape == (2, 2)
    with raises(DataError, about=("'a'", "row 1")):
        pair.full_conditionals(codes, variables=[1])
    for method in (pair.pseudo_log_likelihood, pair.log_potential):
        with raises(DataError, about=("'a'", "row 1")):
            method(codes)


@pytest.mark.parametrize("codes", [[[0]], [[0.0], [0.0]], [[0], [3]], [[-1], [0]], [0, 0]])
def test_codes_that_do_not_fit_are_refused(codes):
    with pytest.raises(DataError):
        Blanket([2, 2], []).log_potential(codes)


def test_parts_that_do_not_fit_are_refused():
    for part in (Potential((0,), [0.0, 0, 0]), Potential((2,), [0.0, 0]), Rules.from_list([2], [])):
        with pytest.raises(ScopeError):
            Blanket([2, 2], [part])


def test_blocks_of_rows_join(monkeypatch):
    rng = np.random.default_rng(0)
    whole = Blanket([3, 2], [Potential((0, 1), rng.normal(size=(3, 2)))])
    codes = np.stack([rng.integers(0, 3, 25), rng.integers(0, 2, 25)])
    expected = [whole.full_conditionals(codes), whole.pseudo_log_likelihood(codes, total=True)]
    monkeypatch.setattr(blanket, "BLOCK_ROWS", 4)
    assert np.array_equal(whole.full_conditionals(codes.astype(np.uint8)), expected[0])
    assert np.array_equal(whole.pseudo_log_likelihood(codes, total=True), expected[1])


def test_an_answer_that_would_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(blanket, "MAX_OUTPUT", 10)
    with raises(TableSizeError, about=("4 rows", "3 states")):
        Blanket([3], []).full_conditionals([[0, 1, 2, 0]])


def test_more_than_256_states():
    wide = Blanket([300, 2], [Potential((0, 1), np.log(np.arange(1, 601).reshape(300, 2)))])
    found = wide.full_conditionals(np.array([[299], [1]], dtype=np.uint16), variables=[1])
    np.testing.assert_allclose(np.exp(found), [[599 / 1199, 600 / 1199]])
