"""Marginals, virtual evidence and many rows, against brute force on random small models."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from counterpane.data import Schema, Table
from counterpane.errors import EvidenceError
from counterpane.features import Potential
from counterpane.graphs import Dag
from counterpane.inference import CliqueTree, JunctionMarginals, calibration, query_rows
from counterpane.models import BayesianNetwork
from error_checks import raises
from law_settings import examples
from reference import inference_reference as reference

SETTINGS = examples(50, suppress_health_check=list(HealthCheck))


@st.composite
def networks(draw):
    """(model, its weights, rng): 1 to 6 variables of 1 to 4 states, some probabilities zero."""
    n = draw(st.integers(1, 6))
    cards = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    order = draw(st.permutations(range(n)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    parents = [()] * n
    for k, i in enumerate(order):
        parents[i] = tuple(sorted([j for j in order[:k] if rng.random() < 0.5][:3]))
    tables = []
    for i in range(n):
        table = rng.dirichlet(np.full(cards[i], 0.8), size=tuple(cards[p] for p in parents[i]))
        if cards[i] > 1:
            table[rng.random(table.shape) < 0.15] = 0.0
            table[..., 0] += table.sum(axis=-1) == 0
            table /= table.sum(axis=-1, keepdims=True)
        tables.append(table)
    model = BayesianNetwork(Schema.from_cards(cards), Dag.from_parents(parents), tables)
    return model, reference.network_weights(cards, parents, model.tables), rng


def dense(answer, shape):
    return np.array(list(answer.values())).reshape(shape)


def named(evidence):
    return {f"x{v}": code for v, code in evidence.items()}


@st.composite
def known(draw, cards):
    """Evidence and likelihoods for disjoint sets of variables."""
    rest = draw(st.permutations(range(len(cards))))
    n_hard = draw(st.integers(0, len(cards)))
    n_soft = draw(st.integers(0, len(cards) - n_hard))
    evidence = {v: draw(st.integers(0, cards[v] - 1)) for v in rest[:n_hard]}
    weight = st.sampled_from([0.0, 0.5, 1.0, 3.0])
    likelihoods = {
        v: draw(st.lists(weight, min_size=cards[v], max_size=cards[v]).filter(any))
        for v in rest[n_hard : n_hard + n_soft]
    }
    return evidence, likelihoods


@SETTINGS
@given(networks(), st.data())
def test_marginals_and_queries_equal_brute_force(network, data):
    model, weights, _ = network
    cards = model.schema.cards.tolist()
    evidence, likelihoods = data.draw(known(cards))
    told, soft = named(evidence), named(likelihoods)
    rest = [v for v in range(len(cards)) if v not in evidence]
    total = reference.ask(weights, cards, (), evidence, likelihoods)[1]
    if total == 0:
        assert model.log_evidence(told, virtual_evidence=soft) == -math.inf
        with raises(EvidenceError, about="zero"):
            model.marginals(told, virtual_evidence=soft)
        return
    log_total = math.log(total)
    assert math.isclose(model.log_evidence(told, virtual_evidence=soft), log_total, abs_tol=1e-9)
    if len(rest) > 1:
        pair = data.draw(st.permutations(rest))[:2]
        expected = reference.ask(weights, cards, pair, evidence, likelihoods)[0]
        answer = model.query([f"x{v}" for v in pair], told, virtual_evidence=soft)
        shape = [cards[v] for v in pair]
        np.testing.assert_allclose(answer.probabilities, dense(expected, shape), atol=1e-12)
    before = {v: model.query(f"x{v}", told, virtual_evidence=soft) for v in rest}
    marginals = model.marginals(told, virtual_evidence=soft)
    assert list(marginals) == [f"x{v}" for v in rest]
    for v in rest:
        expected = dense(reference.ask(weights, cards, (v,), evidence, likelihoods)[0], cards[v])
        after = model.query(f"x{v}", told, virtual_evidence=soft)  # by the tree, now compiled
        for answer in (before[v], marginals[f"x{v}"], after):
            np.testing.assert_allclose(answer.probabilities, expected, atol=1e-12)
            known_zero = not evidence and not likelihoods
            assert answer.log_evidence == 0.0 if known_zero else True
            assert math.isclose(answer.log_evidence, log_total, abs_tol=1e-9)


@SETTINGS
@given(networks(), st.data(), st.booleans())
def test_many_rows_equal_single_queries(network, data, by_pattern):
    model, weights, rng = network
    cards = model.schema.cards
    asked = data.draw(st.permutations(range(len(cards))))[: data.draw(st.integers(1, 2))]
    others = [v for v in range(len(cards)) if v not in asked]
    n = data.draw(st.integers(1, 12))
    codes = np.array([rng.integers(0, r, n) for r in cards]).reshape(len(cards), n)
    hidden = rng.random(codes.shape) < data.draw(st.sampled_from([0.0, 0.4, 1.0]))
    codes = np.where(hidden, cards[:, None], codes)
    codes[:, -1] = cards  # nothing is observed
    if not others:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "ROW_CELLS", 0 if by_pattern else 2**19)
        names = [f"x{v}" for v in asked]
        answers = model.query_many(names, Table(model.schema, codes), impossible="prior")
    assert answers.probabilities.shape == (n, *cards[list(asked)])
    for r in range(n):
        evidence = {v: int(codes[v, r]) for v in others if codes[v, r] < cards[v]}
        expected, total = reference.ask(weights, cards, asked, evidence, {})
        if expected is None:
            assert answers.log_evidence[r] == -math.inf
            expected, _ = reference.ask(weights, cards, asked, {}, {})
        else:
            assert math.isclose(answers.log_evidence[r], math.log(total), abs_tol=1e-9)
        shape = [cards[v] for v in asked]
        np.testing.assert_allclose(answers.probabilities[r], dense(expected, shape), atol=1e-12)


@st.composite
def fields(draw, spread):
    """Potentials over 2 to 6 variables, of logs from −spread to spread, some −∞."""
    n = draw(st.integers(2, 6))
    cards = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    potentials = []
    for _ in range(draw(st.integers(0, 7))):
        scope = tuple(rng.permutation(n)[: rng.integers(0, 4)].tolist())
        values = rng.uniform(-spread, spread, size=tuple(cards[v] for v in scope))
        potentials.append((scope, np.where(rng.random(values.shape) < 0.1, -np.inf, values)))
    return cards, potentials


@pytest.mark.parametrize("spread", [2.0, 600.0])
@SETTINGS
@given(data=st.data())
def test_propagation_in_any_field_loses_nothing_to_underflow(spread, data):
    cards, potentials = data.draw(fields(spread))
    evidence, _ = data.draw(known(cards))
    logs = reference.field_logs(cards, potentials)
    rest = [v for v in range(len(cards)) if v not in evidence]
    parts = [Potential(scope, values) for scope, values in potentials]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "TREE_CELLS", data.draw(st.sampled_from([0, 2**20])))
        patch.setattr(calibration, "ROW_CELLS", data.draw(st.sampled_from([0, 2**19])))
        found, log_weight = JunctionMarginals(parts, cards).run(rest, evidence)
    expected = reference.ask_logs(logs, cards, (), evidence)[1]
    assert math.isclose(log_weight, expected, rel_tol=1e-12, abs_tol=1e-9)
    if expected == -math.inf:
        return
    for v, answer in zip(rest, found, strict=True):
        single = reference.ask_logs(logs, cards, (v,), evidence)[0]
        np.testing.assert_allclose(answer, dense(single, cards[v]), atol=1e-9)
    if rest:
        asked = data.draw(st.permutations(rest))[:2]
        columns, codes = list(evidence), np.array(list(evidence.values()))[:, None]
        joint, _ = query_rows(
            lambda _: parts, np.array(cards), asked, columns, codes.reshape(-1, 1)
        )
        pair = reference.ask_logs(logs, cards, asked, evidence)[0]
        np.testing.assert_allclose(joint[0], dense(pair, -1), atol=1e-9)


@SETTINGS
@given(fields(1.0), st.data())
def test_every_factor_lies_in_its_clique_and_sizes_are_true(field, data):
    cards, potentials = field
    evidence, _ = data.draw(known(cards))
    keep = [v for v in range(len(cards)) if v not in evidence][:2]
    scopes = [scope for scope, _ in potentials]
    tree = CliqueTree(scopes, cards, keep=keep, observed=evidence)
    live = {v for v in range(len(cards)) if v not in evidence and cards[v] > 1}
    assert set(keep) & live <= set(tree.cliques[0])
    for scope in scopes:
        assert any(set(scope) & live <= set(clique) for clique in tree.cliques)
    effective = np.array([1 if v in evidence else r for v, r in enumerate(cards)])
    total = sum(math.prod(effective[list(c)].tolist()) for c in tree.cliques)
    assert tree.cells(effective) == total
