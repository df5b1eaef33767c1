"""Forests and branchings of greatest weight: against all of them, and against networkx."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from counterpane.learners.bayesian.chow_liu import maximum_branching, maximum_forest

KINDS = ("positive", "mixed", "negative", "tied", "holes")


def random_weights(rng, n, kind, *, symmetric):
    weights = {
        "positive": rng.gamma(1.0, 1.0, (n, n)),
        "mixed": rng.normal(size=(n, n)),
        "negative": -rng.gamma(1.0, 1.0, (n, n)),
        "tied": rng.integers(-1, 3, (n, n)).astype(float),
        "holes": np.where(rng.random((n, n)) < 0.4, -np.inf, rng.normal(size=(n, n))),
    }[kind]
    return np.maximum(weights, weights.T) if symmetric else weights


def weight_of(parents, weights):
    return sum(weights[p, c] for c, p in enumerate(parents) if p >= 0)


def assert_acyclic(parents):
    for node in range(len(parents)):
        for _ in range(len(parents)):
            node = parents[node] if node >= 0 else node
        assert node < 0


def n_edges(parents):
    return int((np.asarray(parents) >= 0).sum())


# ---- forests -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [12, 40])
def test_networkx_agrees_on_forests(n, kind):
    rng = np.random.default_rng(n)
    for spanning in (False, True):
        weights = random_weights(rng, n, kind, symmetric=True)
        graph = nx.Graph()
        graph.add_nodes_from(range(n))
        for i, j in itertools.combinations(range(n), 2):
            if weights[i, j] > (-np.inf if spanning else 0.0):
                graph.add_edge(i, j, weight=weights[i, j])
        theirs = sum(d["weight"] for *_, d in nx.maximum_spanning_edges(graph, data=True))
        parents = maximum_forest(weights, root=n // 2, spanning=spanning)
        assert weight_of(parents, weights) == pytest.approx(theirs)
        assert n_edges(parents) == n - nx.number_connected_components(graph)


def test_trees_are_rooted_as_asked():
    rng = np.random.default_rng(0)
    for root in range(7):
        parents = maximum_forest(random_weights(rng, 7, "positive", symmetric=True), root=root)
        assert np.flatnonzero(parents < 0).tolist() == [root]


def test_other_trees_are_rooted_at_their_lowest_node():
    weights = np.full((6, 6), -1.0)
    for a, b in ((5, 3), (4, 1), (1, 2)):
        weights[a, b] = weights[b, a] = 1.0
    assert maximum_forest(weights, root=5).tolist() == [-1, -1, 1, 5, 1, -1]


def test_ties_go_to_the_lowest_position():
    assert maximum_forest(np.ones((5, 5))).tolist() == [-1, 0, 0, 0, 0]
    assert maximum_forest(np.ones((5, 5)), root=3).tolist() == [3, 3, 3, -1, 3]
    assert maximum_forest(np.zeros((4, 4))).tolist() == [-1, -1, -1, -1]
    assert maximum_forest(np.zeros((4, 4)), spanning=True).tolist() == [-1, 0, 0, 0]
    assert maximum_branching(np.ones((4, 4))).tolist() == [-1, 0, 0, 0]


# ---- branchings ----------------------------------------------------------------------------------


def best_branching(weights):
    """The greatest weight of all branchings."""
    n = len(weights)
    best = 0.0
    for parents in itertools.product(range(-1, n), repeat=n):
        if any(p == c for c, p in enumerate(parents)):
            continue
        edges = [(p, c) for c, p in enumerate(parents) if p >= 0]
        if nx.is_directed_acyclic_graph(nx.DiGraph(edges)):
            best = max(best, sum(weights[e] for e in edges))
    return best


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [8, 30])
def test_networkx_agrees_on_branchings(n, kind):
    rng = np.random.default_rng(n)
    for _ in range(3):
        weights = random_weights(rng, n, kind, symmetric=False)
        graph = nx.DiGraph()
        graph.add_nodes_from(range(n))
        for i, j in itertools.permutations(range(n), 2):
            if weights[i, j] > 0:
                graph.add_edge(i, j, weight=weights[i, j])
        theirs = nx.maximum_branching(graph).size(weight="weight")
        parents = maximum_branching(weights)
        assert_acyclic(parents)
        assert weight_of(parents, weights) == pytest.approx(theirs)


def test_nested_cycles_are_contracted():
    # Two cycles that together form a third: one edge of each must go, and then the cheapest way in.
    weights = np.zeros((5, 5))
    for p, c, w in ((0, 1, 9), (1, 0, 8), (2, 3, 9), (3, 2, 8), (1, 2, 5), (3, 0, 6), (4, 3, 1)):
        weights[p, c] = w
    parents = maximum_branching(weights)
    assert parents.tolist() == [3, 0, 3, 4, -1]
    assert weight_of(parents, weights) == best_branching(weights)


def test_symmetric_weights_give_a_forest_of_the_same_weight():
    rng = np.random.default_rng(2)
    for _ in range(10):
        weights = random_weights(rng, 9, "mixed", symmetric=True)
        forest, branching = maximum_forest(weights), maximum_branching(weights)
        assert weight_of(forest, weights) == pytest.approx(weight_of(branching, weights))


def test_edges_without_gain_are_left_out():
    assert maximum_branching(np.zeros((4, 4))).tolist() == [-1] * 4
    assert maximum_branching(np.full((4, 4), -np.inf)).tolist() == [-1] * 4


def test_many_nodes():
    rng = np.random.default_rng(1)
    weights = random_weights(rng, 300, "positive", symmetric=True)
    assert n_edges(maximum_forest(weights)) == 299
    skewed = random_weights(rng, 300, "positive", symmetric=False)
    parents = maximum_branching(skewed)
    assert_acyclic(parents)
    assert n_edges(parents) == 299


def best_forest(weights, *, spanning):
    """The greatest weight of all forests; of those with the most finite edges where spanning."""
    n = len(weights)
    edges = [e for e in itertools.combinations(range(n), 2) if weights[e] > -np.inf]
    best = (0, -np.inf)
    for k in range(n):
        for chosen in itertools.combinations(edges, k):
            graph = nx.Graph(chosen)
            if not chosen or nx.is_forest(graph):
                best = max(best, (k if spanning else 0, sum(weights[e] for e in chosen)))
    return best


@pytest.mark.parametrize("spanning", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_no_forest_is_heavier(n, kind, spanning):
    rng = np.random.default_rng(n)
    for _ in range(4 if n == 5 else 12):
        weights = random_weights(rng, n, kind, symmetric=True)
        root = int(rng.integers(n))
        given = weights.copy()
        parents = maximum_forest(weights, root=root, spanning=spanning)
        assert np.array_equal(weights, given)
        assert_acyclic(parents)
        edges, best = best_forest(weights, spanning=spanning)
        assert weight_of(parents, weights) == pytest.approx(best)
        if spanning:
            assert n_edges(parents) == edges
        else:
            assert all(weights[p, c] > 0 for c, p in enumerate(parents) if p >= 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_no_branching_is_heavier(n, kind):
    rng = np.random.default_rng(n)
    for _ in range(10):
        weights = random_weights(rng, n, kind, symmetric=False)
        given = weights.copy()
        parents = maximum_branching(weights)
        assert np.array_equal(weights, given)
        assert_acyclic(parents)
        assert weight_of(parents, weights) == pytest.approx(best_branching(weights))
        assert all(weights[p, c] > 0 for c, p in enumerate(parents) if p >= 0)
