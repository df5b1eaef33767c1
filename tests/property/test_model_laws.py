"""Laws of blankets, queries and networks, against brute force on random small models."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from counterpane.data.schema import Schema
from counterpane.errors import EvidenceError
from counterpane.features import Blanket, Potential, Rules
from counterpane.graphs import Dag
from counterpane.models import BayesianNetwork
from error_checks import raises
from law_settings import examples
from reference import model_reference as reference

SETTINGS = examples(40, suppress_health_check=list(HealthCheck))


@st.composite
def networks(draw, zeros=True):
    """A network of 1 to 6 variables with 1 to 4 states, some probabilities zero."""
    n = draw(st.integers(1, 6))
    cards = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    order = draw(st.permutations(range(n)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    parents = [()] * n
    for k, i in enumerate(order):
        chosen = [j for j in order[:k] if rng.random() < 0.45]
        parents[i] = tuple(sorted(chosen[:3]))
    tables = []
    for i in range(n):
        table = rng.dirichlet(np.full(cards[i], 0.8), size=tuple(cards[p] for p in parents[i]))
        if zeros and cards[i] > 1:
            table[rng.random(table.shape) < 0.15] = 0.0
            table[..., 0] += table.sum(axis=-1) == 0
            table /= table.sum(axis=-1, keepdims=True)
        tables.append(table)
    return cards, parents, tables, rng


@st.composite
def fields(draw):
    """Random potentials and rules over 2 to 5 variables."""
    n = draw(st.integers(2, 5))
    cards = draw(st.lists(st.integers(2, 4), min_size=n, max_size=n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    potentials = []
    for _ in range(draw(st.integers(0, 4))):
        scope = tuple(rng.permutation(n)[: rng.integers(0, min(n, 3) + 1)].tolist())
        potentials.append((scope, rng.normal(size=tuple(cards[v] for v in scope))))
    rules = []
    for _ in range(draw(st.integers(0, 12))):
        conditions = []
        for v in rng.permutation(n)[: rng.integers(0, n + 1)].tolist():
            values = rng.permutation(cards[v])[: rng.integers(1, cards[v])].tolist()
            if rng.random() < 0.5:
                conditions += [(v, value, True) for value in values]
            else:
                conditions.append((v, values[0], False))
        rules.append((float(rng.normal()), conditions))
    return cards, potentials, rules, rng


def build(cards, parents, tables):
    return BayesianNetwork(Schema.from_cards(cards), Dag.from_parents(parents), tables)


def all_codes(cards):
    return np.array(list(reference.states(cards)), dtype=np.uint8).T


@SETTINGS
@given(fields())
def test_blanket_equals_brute_force(field):
    cards, potentials, rules, _ = field
    logs = reference.log_weights(cards, potentials, rules)
    parts = [Potential(scope, values) for scope, values in potentials]
    blanket = Blanket(cards, [*parts, Rules.from_list(cards, rules)])
    codes = all_codes(cards)
    np.testing.assert_allclose(blanket.log_potential(codes), logs.reshape(-1), atol=1e-12)
    weights = np.exp(logs)
    expected = [
        np.concatenate([reference.conditional(weights, x, v) for v in range(len(cards))])
        for x in reference.states(cards)
    ]
    found = blanket.full_conditionals(codes)
    np.testing.assert_allclose(np.exp(found), expected, atol=1e-12)
    starts = np.concatenate([[0], np.cumsum(cards)[:-1]])
    own = found[np.arange(codes.shape[1])[:, None], starts + codes.T]
    pll = blanket.pseudo_log_likelihood(codes)
    np.testing.assert_allclose(pll, own, atol=1e-12)
    total = blanket.pseudo_log_likelihood(codes, total=True)
    np.testing.assert_allclose(total, own.sum(axis=1), atol=1e-12)


@SETTINGS
@given(fields())
def test_rules_equal_their_dense_expansion(field):
    cards, _, rules, _ = field
    dense = Potential(range(len(cards)), reference.log_weights(cards, [], rules))
    codes = all_codes(cards)
    sparse = Blanket(cards, [Rules.from_list(cards, rules)])
    np.testing.assert_allclose(
        sparse.full_conditionals(codes),
        Blanket(cards, [dense]).full_conditionals(codes),
        atol=1e-12,
    )


@SETTINGS
@given(networks())
def test_score_is_the_sum_of_log_tables(network):
    cards, parents, tables, _ = network
    joint = reference.network_joint(cards, parents, tables).reshape(-1)
    scores = build(*network[:3]).engine.blanket.log_potential(all_codes(cards))
    np.testing.assert_allclose(np.exp(scores), joint, atol=1e-14)
    assert np.array_equal(scores == -np.inf, joint == 0)
    assert math.isclose(np.exp(scores).sum(), 1.0, abs_tol=1e-12)


@SETTINGS
@given(networks(), st.data())
def test_query_equals_brute_force(network, data):
    cards, parents, tables, _ = network
    model = build(cards, parents, tables)
    joint = reference.network_joint(cards, parents, tables)
    variables = data.draw(st.permutations(range(len(cards))))
    n_keep = data.draw(st.integers(1, min(3, len(cards))))
    keep = variables[:n_keep]
    n_given = data.draw(st.integers(0, len(cards) - n_keep))
    evidence = {
        v: data.draw(st.integers(0, cards[v] - 1)) for v in variables[n_keep : n_keep + n_given]
    }
    names = [f"x{v}" for v in keep]
    told = {f"x{v}": code for v, code in evidence.items()}
    weight = joint[tuple(evidence.get(v, slice(None)) for v in range(len(cards)))].sum()
    if weight == 0:
        with raises(EvidenceError, about="zero"):
            model.query(names, told)
        with raises(EvidenceError, about="zero"):
            model.map_query(names, told)
        with raises(EvidenceError, about="zero"):
            model.sample(3, told)
        return
    expected, p_evidence = reference.marginal(joint, keep, evidence)
    answer = model.query(names, told)
    np.testing.assert_allclose(answer.probabilities, expected, atol=1e-12)
    assert math.isclose(answer.log_evidence, math.log(p_evidence), abs_tol=1e-10)
    best = model.map_query(names, told)
    assert expected[tuple(best.values())] >= expected.max() - 1e-12


@SETTINGS
@given(networks(), st.data())
def test_samples_are_possible_and_keep_the_evidence(network, data):
    cards, parents, tables, rng = network
    model = build(cards, parents, tables)
    joint = reference.network_joint(cards, parents, tables)
    x = np.unravel_index(rng.choice(joint.size, p=joint.reshape(-1)), joint.shape)
    given_variables = data.draw(st.sets(st.integers(0, len(cards) - 1)))
    evidence = {f"x{v}": int(x[v]) for v in given_variables}
    codes = model.sample(50, evidence, random_state=7).codes
    assert (joint[tuple(codes.astype(np.int64))] > 0).all()
    assert all((codes[v] == x[v]).all() for v in given_variables)
    again = model.sample(50, evidence, random_state=np.random.default_rng(7)).codes
    assert np.array_equal(codes, again)


@SETTINGS
@given(networks())
def test_renormalizing_twice_changes_nothing(network):
    cards, parents, tables, rng = network
    blurred = [table * (1 + 1e-7 * rng.uniform(-1, 1)) for table in tables]
    once = build(cards, parents, blurred)
    twice = build(cards, parents, once.tables)
    assert all(np.array_equal(a, b) for a, b in zip(once.tables, twice.tables, strict=True))
    assert all(abs(t.sum(axis=-1) - 1).max() < 1e-14 for t in once.tables)


@SETTINGS
@given(networks(zeros=False))
def test_full_conditionals_of_a_network_equal_brute_force(network):
    cards, parents, tables, _ = network
    joint = reference.network_joint(cards, parents, tables)
    assume(joint.min() > 0)
    codes = all_codes(cards)[:, :40]
    found = build(cards, parents, tables).engine.blanket.full_conditionals(codes)
    expected = [
        np.concatenate([reference.conditional(joint, tuple(x), v) for v in range(len(cards))])
        for x in codes.T.tolist()
    ]
    np.testing.assert_allclose(np.exp(found), expected, atol=1e-11)
