"""Dag, UndirectedGraph and the bit rows below them."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from counterpane.errors import GraphError, UnknownNameError
from counterpane.graphs import Dag, UndirectedGraph
from counterpane.graphs.bits import mask, members, n_words, pack, unpack
from error_checks import raises
from reference.graph_reference import ancestral, find_cycle, random_dag, random_graph, reachable

SIZES = [0, 1, 2, 63, 64, 65, 128, 130]


@pytest.mark.parametrize("n", SIZES)
def test_bits_round_trip(n):
    flags = np.random.default_rng(n).random((3, n)) < 0.4
    words = pack(flags)
    assert words.shape == (3, n_words(n))
    assert words.dtype == np.uint64
    assert np.array_equal(unpack(words, n), flags)
    for row, row_flags in zip(words, flags, strict=True):
        assert members(row) == tuple(np.flatnonzero(row_flags))
        assert np.array_equal(mask(n, members(row)), row)


@pytest.mark.parametrize("n", SIZES)
def test_dag_matches_sets(n):
    rng = np.random.default_rng(n)
    edges = random_dag(rng, n, min(0.3, 3 / max(n, 1)))
    dag = Dag(n, edges)
    assert dag.n == n
    assert dag.n_edges == len(edges)
    assert dag.edges == tuple(sorted(edges))
    for v in range(n):
        assert dag.parents(v) == tuple(sorted(a for a, b in edges if b == v))
        assert dag.children(v) == tuple(sorted(b for a, b in edges if a == v))
    for v in range(0, n, 9):
        assert dag.ancestors(v) == tuple(sorted(ancestral(edges, [v]) - {v}))
        turned = [(b, a) for a, b in edges]
        assert dag.descendants(v) == tuple(sorted(ancestral(turned, [v]) - {v}))
        others = range(0, n, 5)
        assert all(dag.has_edge(v, u) == ((v, u) in edges) for u in others)
    chosen = {0, n // 2, n - 1} if n else set()
    assert set(dag.ancestors(chosen)) == ancestral(edges, chosen) - chosen
    assert Dag.from_parents([dag.parents(v) for v in range(n)]) == dag
    assert Dag.from_bits(dag.parent_bits) == dag


@pytest.mark.parametrize("n", SIZES)
def test_topological_order_takes_smallest_ready(n):
    edges = random_dag(np.random.default_rng(n), n, min(0.3, 3 / max(n, 1)))
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(range(n))
    assert Dag(n, edges).topological_order() == tuple(nx.lexicographical_topological_sort(graph))


def test_markov_blanket():
    dag = Dag(6, [(0, 2), (1, 2), (2, 3), (4, 3), (3, 5)])
    assert dag.markov_blanket(2) == (0, 1, 3, 4)
    assert dag.markov_blanket(0) == (1, 2)
    assert Dag(1).markov_blanket(0) == ()


@pytest.mark.parametrize("n", SIZES)
def test_undirected_matches_sets(n):
    rng = np.random.default_rng(n)
    edges = random_graph(rng, n, min(0.4, 1 / max(n, 1)))
    graph = UndirectedGraph(n, [(b, a) for a, b in edges])
    assert graph.edges == tuple(sorted(edges))
    assert graph.n_edges == len(edges)
    assert UndirectedGraph.from_bits(graph.neighbor_bits) == graph
    for v in range(n):
        assert graph.neighbors(v) == tuple(sorted({a + b - v for a, b in edges if v in (a, b)}))
    expected = sorted({tuple(sorted(reachable(edges, [v]))) for v in range(n)})
    assert graph.components() == tuple(expected)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", [Dag, UndirectedGraph])
def test_networkx_round_trip(kind, n):
    rng = np.random.default_rng(n)
    graph = kind(n, random_dag(rng, n, min(0.4, 4 / max(n, 1))))
    names = [f"v{i}" for i in rng.permutation(n)]
    there = graph.to_networkx(names)
    assert list(there) == names
    assert there.number_of_edges() == graph.n_edges
    assert all(graph.has_edge(names.index(a), names.index(b)) for a, b in there.edges())
    assert kind.from_networkx(there, names) == graph


def test_networkx_names_absent_from_the_graph_stand_alone():
    graph = nx.DiGraph([("b", "a")])
    assert Dag.from_networkx(graph, ["a", "x", "b"]).edges == ((2, 0),)


@pytest.mark.parametrize("kind", [Dag, UndirectedGraph])
def test_graphs_are_values(kind):
    graph, same, other = kind(3, [(0, 1)]), kind(3, [(0, 1), (0, 1)]), kind(3, [(0, 2)])
    assert graph == same
    assert hash(graph) == hash(same)
    assert graph != other
    assert graph != kind(4, [(0, 1)])
    assert Dag(3) != UndirectedGraph(3)
    for copied in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph)):
        assert copied == graph
        with raises(ValueError, about="read-only"):
            copied._rows[0, 0] = 1
    assert repr(graph) == f"{kind.__name__}(3, [(0, 1)])"
    assert "15 in all" in repr(kind(6, random_dag(np.random.default_rng(0), 6, 1.1)))


def test_from_bits_copies():
    rows = np.zeros((2, 1), dtype=np.uint64)
    graph = Dag.from_bits(rows)
    rows[1, 0] = 1
    assert graph.n_edges == 0


@pytest.mark.parametrize("seed", range(20))
def test_every_cycle_is_found_and_named(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 70))
    edges = [(a, b) for a, b in rng.integers(n, size=(n + n // 4, 2)).tolist() if a != b]
    if not find_cycle(n, edges):
        assert find_cycle(n, Dag(n, edges).edges) is False
        return
    with raises(GraphError, about="cycle") as caught:
        Dag(n, edges)
    nodes = [int(v) for v in str(caught.value).split("cycle ")[1].split(";")[0].split(" → ")]
    assert nodes[0] == nodes[-1] == min(nodes)
    assert len(set(nodes)) == len(nodes) - 1
    assert set(pairwise(nodes)) <= set(edges)


def test_cycle_is_named_by_names():
    with raises(GraphError, about="rain"):
        Dag.from_networkx(nx.DiGraph([("rain", "mud"), ("mud", "rain")]), ["rain", "mud"])


@pytest.mark.parametrize("kind", [Dag, UndirectedGraph])
@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda kind: kind(3, [(1, 1)]), "node 1 has an edge to itself"),
        (lambda kind: kind(3, [(0, 3)]), "node 3 is not in the graph; its 3 nodes are 0 … 2"),
        (lambda kind: kind(3, [(-1, 0)]), "node -1 is not in the graph"),
        (lambda kind: kind(-1), "cannot have -1 nodes"),
        (lambda kind: kind(3).has_edge(0, 3), "node 3"),
        (lambda kind: kind.from_bits(np.zeros((65, 1), np.uint64)), r"\(65, 2\) are needed"),
        (lambda kind: kind.from_bits(np.zeros((2, 1), np.int64)), "type int64"),
        (lambda kind: kind.from_bits(np.full((2, 1), 4, np.uint64)), "outside the 2 nodes"),
        (lambda kind: kind.from_bits(np.ones((1, 1), np.uint64)), "node 0 has an edge to itself"),
        (lambda kind: kind(2).to_networkx(["a"]), "1 names were given for 2"),
        (lambda kind: kind(2).to_networkx(["a", "a"]), "'a' occurs more than once"),
    ],
)
def test_malformed_graphs_are_refused(kind, build, message):
    with pytest.raises(GraphError, match=message):
        build(kind)


def test_other_refusals():
    with raises(GraphError, about="row 1"):
        UndirectedGraph.from_bits(np.array([[0], [1]], dtype=np.uint64))
    with raises(GraphError, about="directed"):
        Dag.from_networkx(nx.Graph(), [])
    with raises(GraphError, about="UndirectedGraph"):
        UndirectedGraph.from_networkx(nx.DiGraph(), [])
    with raises(UnknownNameError, parameter="node", value="smoke"):
        Dag.from_networkx(nx.DiGraph([("smoke", "lung")]), ["smoker", "lung"])
    with raises(GraphError, about="node"):
        Dag(2).parents(-1)
