"""Mean field beside a naive one, exact answers and bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counterpane.errors import EvidenceError, ParameterError
from counterpane.features import Blanket, Potential, Rules, Tree
from counterpane.inference.mean_field import MeanField, mean_field
from error_checks import raises
from reference import sampling_reference as reference

CARDS = (2, 3, 1, 2)
RULES = [
    (0.8, [(0, 1, False), (1, 2, True), (1, 0, True)]),
    (-1.1, [(3, 1, False), (1, 2, False), (0, 0, False)]),
    (0.6, [(3, 1, False), (2, 0, False)]),
    (1.5, []),
]
TIGHT = MeanField(500, 1e-13)


def network(scale=1.0):
    rng = np.random.default_rng(0)
    potentials = [(s, scale * rng.normal(size=[CARDS[v] for v in s])) for s in [(3, 0), (1, 2, 3)]]
    made = [Potential(*p) for p in potentials]
    return potentials, Blanket(CARDS, [*made, Rules.from_list(CARDS, RULES)])


@pytest.mark.parametrize("evidence", [{}, {1: 2}])
def test_the_log_weight_is_a_lower_bound_and_near_for_weak_potentials(evidence):
    for scale, gap in ((1.0, 0.5), (0.0, 0.1)):
        potentials, blanket = network(scale)
        logs = [
            reference.log_weight(x, potentials, RULES)
            for x in reference.rows_of(CARDS)
            if all(x[v] == code for v, code in evidence.items())
        ]
        exact = math.log(math.fsum(map(math.exp, logs)))
        bound = mean_field(blanket, evidence, settings=TIGHT).log_weight
        assert exact - gap < bound < exact
    found = mean_field(blanket, {}, {3: np.array([1.0, 4.0])}, settings=TIGHT)
    rows = reference.rows_of(CARDS)
    exact = sum(math.exp(reference.log_weight(x, potentials, RULES)) * (1, 4)[x[3]] for x in rows)
    assert math.log(exact) - 0.2 < found.log_weight < math.log(exact)


def test_independent_variables_are_exact():
    alone = [Potential((0,), np.log([0.2, 0.8])), Potential((1,), np.log([0.5, 0.3, 0.2]))]
    blanket = Blanket([2, 3], [*alone, Rules.from_list([2, 3], [(-np.inf, [(1, 0, False)])])])
    found = mean_field(blanket, {}, {1: np.array([1.0, 1.0, 3.0])})
    np.testing.assert_allclose(found.marginals[0], [0.2, 0.8])
    np.testing.assert_allclose(found.marginals[1], [0, 0.3 / 0.9, 0.6 / 0.9])
    assert found.log_weight == pytest.approx(math.log(0.9))


def test_conditionals_one_by_one_have_no_bound():
    cards = [2, 3]
    leaves = np.log([[1, 1], [0.9, 0.1], [1, 1], [0.3, 0.7], [0.5, 0.5]])
    tree = Tree(
        cards, 0, [1, -1, 1, -1, -1], [2, 0, 0, 0, 0],
        [[1, 2], [-1, -1], [3, 4], [-1, -1], [-1, -1]], leaves,
    )  # fmt: skip
    prior = Potential((1,), np.log([0.2, 0.3, 0.5]))
    blanket = Blanket.of_conditionals(cards, [[tree], [prior]])
    found = mean_field(blanket, {})
    logs = 0.5 * leaves[1] + 0.2 * leaves[3] + 0.3 * leaves[4]  # the tree asks twice
    np.testing.assert_allclose(found.marginals[0], np.exp(logs) / np.exp(logs).sum())
    np.testing.assert_allclose(found.marginals[1], [0.2, 0.3, 0.5])
    assert found.log_weight is None
    given = mean_field(blanket, {1: 0}).marginals[0]
    np.testing.assert_allclose(given, [0.3, 0.7])


def test_zeros_are_right_or_refused():
    copy = Potential((0, 1), [[0.0, -np.inf], [-np.inf, 0.0]])
    with raises(EvidenceError, about="variable 0"):
        mean_field(Blanket([2, 2], [copy]), {})
    with raises(EvidenceError, about="'a'"):
        mean_field(Blanket([2, 2], [copy]), {}, names=["a", "b"])
    found = mean_field(Blanket([2, 2], [copy]), {1: 1})
    assert found.marginals[0].tolist() == [0.0, 1.0]
    assert found.log_weight == 0.0
    with raises(EvidenceError, about="possible"):
        mean_field(Blanket([2, 2], [copy]), {0: 0, 1: 1})


@pytest.mark.parametrize("settings", [{"max_iter": 0}, {"tolerance": 0.0}, {"max_iter": 1.5}])
def test_bad_settings(settings):
    with raises(ParameterError, about="tolerance"):
        MeanField(**settings)


@pytest.mark.parametrize("evidence", [{}, {1: 2}, {0: 1, 3: 0}])
def test_the_fixed_point_is_that_of_a_naive_iteration(evidence):
    potentials, blanket = network()
    found = mean_field(blanket, evidence, settings=TIGHT)
    expected = reference.mean_field(
        CARDS, reference.expected_log(CARDS, potentials, RULES), evidence, found.n_iter
    )
    assert found.converged
    assert found.marginals.keys() == set(range(4)) - set(evidence)
    for v, q in found.marginals.items():
        np.testing.assert_allclose(q, expected[v], atol=1e-12)
    one = mean_field(blanket, evidence, settings=MeanField(1, 1e-9))
    naive = reference.mean_field(
        CARDS, reference.expected_log(CARDS, potentials, RULES), evidence, 1
    )
    assert (one.n_iter, one.converged) == (1, False)
    for v, q in one.marginals.items():
        np.testing.assert_allclose(q, naive[v], atol=1e-12)
