"""Scores of rows: pseudo-likelihood and conditional marginals, beside brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

import counterpane as cp
from counterpane import MarkovNetwork, Schema, Table
from counterpane.errors import DataError, EvidenceError, ParameterError, UnknownNameError
from counterpane.evaluate import cmll, normalized_pll, pll
from counterpane.features import Potential
from error_checks import raises
from reference import sampling_reference as reference

CARDS = (2, 3, 2, 2, 2)


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(4)
    return [
        (s, rng.normal(size=[CARDS[v] for v in s])) for s in [(0, 1), (1, 2, 3), (4, 0), (2, 4)]
    ]


@pytest.fixture(scope="module")
def model(parts):
    return MarkovNetwork(Schema.from_cards(CARDS), [Potential(*p) for p in parts])


@pytest.fixture(scope="module")
def table(model):
    return model.sample(60, random_state=0)


def expected_cmll(parts, table, groups):
    rows = []
    for x in table.codes.T.tolist():
        total = 0.0
        for group in groups:
            given = {v: x[v] for v in range(5) if v not in group}
            p = reference.distribution(CARDS, parts, [], given)
            total += sum(math.log(reference.marginal(p, CARDS, [v])[x[v]]) for v in group)
        rows.append(total)
    return np.array(rows)


def test_pseudo_likelihood_and_its_error(model, table):
    rows = model.pseudo_log_likelihood(table).sum(axis=1)
    found = pll(model, table)
    assert found.mean == pytest.approx(rows.mean())
    assert found.standard_error == pytest.approx(rows.std() / math.sqrt(60))
    np.testing.assert_allclose(found.rows, rows)
    each = normalized_pll(model, table)
    assert each.mean == pytest.approx(found.mean / 5)
    assert each.standard_error == pytest.approx(found.standard_error / 5)


def test_weights_count_rows(model, table):
    weights = np.random.default_rng(0).integers(0, 4, size=60)
    twice = Table(table.schema, np.repeat(table.codes, weights, axis=1))
    weighed = Table(table.schema, table.codes, weights)
    for score in (pll, lambda m, t: cmll(m, t, method="exact")):
        a, b = score(model, twice), score(model, weighed)
        assert a.mean == pytest.approx(b.mean)
        assert a.standard_error == pytest.approx(b.standard_error)


def test_conditional_marginals_are_those_of_brute_force(model, parts, table):
    groups = [[0, 3], [1], [4, 2]]
    names = [[f"x{v}" for v in group] for group in groups]
    expected = expected_cmll(parts, table, groups)
    exact = cmll(model, table, groups=names, method="exact")
    np.testing.assert_allclose(exact.rows, expected, atol=1e-9)
    assert exact.mean == pytest.approx(expected.mean())
    assert exact.standard_error == pytest.approx(expected.std() / math.sqrt(60))
    found = cmll(model, table, groups=names, n_samples=20_000)
    np.testing.assert_allclose(found.rows, expected, atol=0.1)
    assert found.mean == pytest.approx(exact.mean, abs=0.01)


def test_one_group_has_no_evidence(model, parts, table):
    expected = expected_cmll(parts, table, [list(range(5))])
    np.testing.assert_allclose(cmll(model, table, groups=1, method="exact").rows, expected)
    found = cmll(model, table, groups=1, n_samples=20_000)
    np.testing.assert_allclose(found.rows, expected, atol=0.1)


def test_groups_are_drawn_by_the_seed_alone(model, table):
    scores = {
        seed: cmll(model, table, groups=2, method="exact", random_state=seed).mean
        for seed in range(6)
    }
    assert len({round(score, 9) for score in scores.values()}) > 2
    assert cmll(model, table, groups=2, method="exact", random_state=3).mean == scores[3]
    apart = cmll(model, table, groups=9, method="exact")  # no more groups than variables
    assert apart.mean == pytest.approx(pll(model, table).mean)


def test_threads_and_seeds(model, table):
    one = cmll(model, table, n_samples=50, random_state=1)
    two = cmll(model, table, n_samples=50, random_state=1, n_jobs=2)
    np.testing.assert_array_equal(one.rows, two.rows)
    groups = [["x0", "x1"], ["x2", "x3", "x4"]]
    a, b = (cmll(model, table, n_samples=50, groups=groups, random_state=s).mean for s in (1, 2))
    assert a != b
    assert a == pytest.approx(b, abs=0.2)


def test_the_prior_keeps_scores_finite():
    never = Potential((0, 1), [[0.0, -np.inf], [-np.inf, 0.0]])
    model = MarkovNetwork(Schema.from_cards([2, 2]), [never])
    odd = Table(model.schema, np.array([[0], [1]]))  # what the model holds impossible
    found = cmll(model, odd, groups=2, n_samples=99)
    assert found.mean == pytest.approx(2 * math.log(0.5 / 100))
    for how in ({"prior": 0.0}, {"method": "exact"}):
        hard = cmll(model, odd, groups=2, **how)
        assert (hard.mean, hard.standard_error) == (-math.inf, math.inf)
    with raises(EvidenceError, about="'x0'"):
        pll(
            MarkovNetwork(Schema.from_cards([2]), [Potential((0,), [-np.inf, -np.inf])]),
            np.array([[0]]),
        )


def test_dependency_networks_are_scored_by_their_own_conditionals(parts, table):
    conditionals = [[Potential(*p) for p in parts if v in p[0]] for v in range(5)]
    network = cp.DependencyNetwork(table.schema, conditionals)
    model = MarkovNetwork(table.schema, [Potential(*p) for p in parts])
    assert pll(network, table).mean == pytest.approx(pll(model, table).mean)
    a, b = (cmll(m, table, n_samples=300).rows for m in (network, model))
    np.testing.assert_allclose(a, b, rtol=1e-9)  # the chains are the same


def test_what_is_refused(model, table):
    codes = table.codes.copy()
    codes[1, 5] = 3
    for score in (pll, normalized_pll, cmll):
        with raises(DataError, about="'x1'"):
            score(model, Table(table.schema, codes))
    with raises(ParameterError, about="groups"):
        cmll(model, table, groups=[["x0"], ["x1", "x0"]])
    with raises(UnknownNameError, parameter="column", value="x9"):
        cmll(model, table, groups=[["x9"]])
    for bad in ({"groups": 0}, {"method": "bp"}, {"prior": -1.0}, {"n_samples": 0}):
        with pytest.raises(ParameterError):
            cmll(model, table, **bad)
