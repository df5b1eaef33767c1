"""Hybrid random fields as models: conditionals, questions, views, files, refusals."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import GraphError, ParameterError, ScopeError, UnknownNameError
from counterpane.features import Potential
from counterpane.models.record import LearnerRecord, LearningRecord
from error_checks import raises

RECORD = LearningRecord(LearnerRecord(text="by hand"))


def random_network(seed, cards, edges, names=None):
    rng = np.random.default_rng(seed)
    dag = cp.Dag(len(cards), edges)
    tables = []
    for v in range(dag.n):
        table = rng.gamma(1.0, 1.0, [cards[u] for u in (*dag.parents(v), v)]) + 0.05
        tables.append(table / table.sum(axis=-1, keepdims=True))
    schema = cp.Schema.from_cards(cards)
    if names is not None:
        schema = cp.Schema(cp.Variable(a, v.states) for a, v in zip(names, schema, strict=True))
    return cp.BayesianNetwork(schema, dag, tables)


NETWORK = random_network(0, [2, 3, 2, 2, 3], [(0, 2), (1, 2), (2, 3), (1, 4)])
ROWS = cp.Table(
    NETWORK.schema, np.array(list(product(*(range(r) for r in NETWORK.schema.cards)))).T
)


def copies_of(network):
    """The field in which each variable has the whole network."""
    return cp.HybridRandomField(network.schema, [network] * len(network.schema))


def test_a_network_is_a_field():
    """Theorem 1 of the paper, by conditionals; and no blanket has more than it needs."""
    field = copies_of(NETWORK)
    expected = NETWORK.full_conditionals(ROWS)
    assert np.allclose(field.full_conditionals(ROWS), expected, rtol=0, atol=1e-12)
    assert np.allclose(
        field.pseudo_log_likelihood(ROWS), NETWORK.pseudo_log_likelihood(ROWS), atol=1e-12
    )
    names = NETWORK.schema.names
    assert field.blankets == {
        a: tuple(names[u] for u in NETWORK.dag.markov_blanket(v)) for v, a in enumerate(names)
    }
    assert repr(field) == "HybridRandomField(5 variables, 10 blanket members)"


def test_networks_that_disagree_serve_their_own_variable():
    others = [random_network(s, [2, 3, 2, 2, 3], NETWORK.dag.edges) for s in range(5)]
    field = cp.HybridRandomField(NETWORK.schema, others)
    found = np.split(field.full_conditionals(ROWS), np.cumsum(NETWORK.schema.cards)[:-1], axis=1)
    for v, name in enumerate(NETWORK.schema.names):
        assert np.allclose(found[v], others[v].full_conditionals(ROWS, [name]), atol=1e-12)


def test_a_network_over_some_columns_in_another_order():
    small = random_network(1, [3, 2], [(0, 1)], names=["x4", "x0"])
    alone = [random_network(2, [r], [], names=[f"x{i}"]) for i, r in enumerate([2, 3, 2, 2, 3])]
    field = cp.HybridRandomField(NETWORK.schema, [small, *alone[1:4], small])
    assert field.blankets == {"x0": ("x4",), "x1": (), "x2": (), "x3": (), "x4": ("x0",)}
    answer = field.query("x4", {"x0": 1}).probabilities
    assert np.allclose(answer, small.query("x4", {"x0": 1}).probabilities)


def test_views():
    field = copies_of(NETWORK)
    assert set(field.graph.predecessors("x2")) == {"x0", "x1", "x3"}
    assert field.graph.is_directed()
    assert field.undirected.edges == ((0, 1), (0, 2), (1, 2), (1, 4), (2, 3))
    assert set(field.local_graph("x0").edges) == {("x0", "x2"), ("x1", "x2")}
    assert set(field.local_graph("x3").edges) == {("x2", "x3")}
    assert set(field.local_graph("x1").edges) == {("x0", "x2"), ("x1", "x2"), ("x1", "x4")}
    lonely = cp.HybridRandomField(cp.Schema.from_cards([2]), [[Potential([0], np.log([0.5, 0.5]))]])
    assert list(lonely.local_graph("x0").nodes) == ["x0"]
    with raises(UnknownNameError, parameter="column", value="x9"):
        field.local_graph("x9")


def test_questions_and_samples():
    field = copies_of(NETWORK)
    told = {"x0": 1, "x1": 2, "x3": 0}
    exact = field.query("x2", told).probabilities
    assert np.allclose(exact, NETWORK.query("x2", told).probabilities, atol=1e-12)
    sampled = field.query("x2", {"x0": 1}).probabilities
    assert np.allclose(sampled, NETWORK.query("x2", {"x0": 1}).probabilities, atol=0.02)
    drawn = field.sample(4000, random_state=0)
    assert np.mean(drawn.column("x0") == 1) == pytest.approx(NETWORK.query("x0", {})[1], abs=0.03)
    with raises(ParameterError, about="distribution"):
        field.score_samples(ROWS)


def test_a_field_whose_networks_agree_becomes_a_markov_network():
    markov = cp.to_markov_network(copies_of(NETWORK))
    assert np.allclose(markov.score_samples(ROWS), NETWORK.score_samples(ROWS), atol=1e-9)


@pytest.mark.parametrize("name", ["field.cp", "field.dn", "field.cn.gz"])
def test_files(tmp_path, name):
    others = [random_network(s, [2, 3, 2, 2, 3], NETWORK.dag.edges) for s in range(5)]
    field = cp.HybridRandomField(NETWORK.schema, others, record=RECORD)
    field.save(tmp_path / name)
    loaded = cp.load(tmp_path / name)
    codes = ROWS.codes  # Libra's files keep no names
    expected = field.full_conditionals(ROWS)
    assert np.allclose(loaded.engine.blanket.full_conditionals(codes), expected, rtol=0, atol=1e-12)
    if name.endswith(".cp"):
        assert type(loaded) is cp.HybridRandomField
        assert np.array_equal(loaded.full_conditionals(ROWS), expected)
        assert loaded.record == RECORD
        assert loaded.blankets == field.blankets


# ---- refusals ------------------------------------------------------------------------------------

TWO = cp.Schema.from_cards([2, 2])
COIN = [Potential([v], np.log([0.5, 0.5])) for v in range(2)]
GIVEN = [Potential((1 - v, v), np.log([[0.9, 0.1], [0.2, 0.8]])) for v in range(2)]


@pytest.mark.parametrize(
    "networks, error, message",
    [
        ([[COIN[0]]], ScopeError, "1 networks were given for 2 variables"),
        ([[COIN[1]], [COIN[1]]], ScopeError, "'x0' must hold one table of 'x0' itself"),
        ([[COIN[0], COIN[0]], [COIN[1]]], ScopeError, "at most one of every other"),
        ([[COIN[0], COIN[1]], [COIN[1]]], ScopeError, "a table of 'x1', which is no child"),
        ([[GIVEN[0], GIVEN[1]], [COIN[1]]], GraphError, "'x0' has a cycle among 'x0', 'x1'"),
        ([[Potential([0], [0.0, 0.0])], [COIN[1]]], ParameterError, "'x0' has a row that does not"),
        ([[COIN[0]], [COIN[1], Potential((1, 0), GIVEN[1].log_values.T)]], ParameterError,
         "table of 'x0' in the network of 'x1'"),
        ([[COIN[0], Potential([], 0.0)], [COIN[1]]], ParameterError, "made of potentials of scope"),
        ([[COIN[0]], [Potential([1], np.log([0.2, 0.3, 0.5]))]], ScopeError, "cards"),
        ([[COIN[0]], ["x1"]], ParameterError, "cannot hold a str"),
    ],
)  # fmt: skip
def test_what_is_no_field_is_refused(networks, error, message):
    with pytest.raises(error, match=message):
        cp.HybridRandomField(TWO, networks)


def test_networks_of_other_columns_are_refused():
    with raises(ScopeError, about="'x0'"):
        cp.HybridRandomField(TWO, [random_network(0, [2], [], names=["x1"]), [COIN[1]]])
    with raises(ScopeError, about="'x0'"):
        cp.HybridRandomField(TWO, [random_network(0, [3], [], names=["x0"]), [COIN[1]]])
    with raises(UnknownNameError, parameter="column", value="x7"):
        cp.HybridRandomField(TWO, [random_network(0, [2], [], names=["x7"]), [COIN[1]]])
