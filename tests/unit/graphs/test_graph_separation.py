"""d-separation, vertex separation and the moral graph."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from counterpane.errors import GraphError, ScopeError
from counterpane.graphs import Dag, UndirectedGraph, d_separated, moralize, separated
from error_checks import raises
from reference.graph_reference import (
    ancestral,
    moral_edges,
    random_dag,
    random_graph,
    reachable,
    subsets,
    trail_separated,
)


@pytest.mark.parametrize("n", [5, 64, 65, 130])
def test_vertex_separation(n):
    rng = np.random.default_rng(n)
    seen = set()
    for _ in range(30):
        edges = random_graph(rng, n, 1.6 / n)
        graph = UndirectedGraph(n, edges)
        x, y, *given = rng.permutation(n)[: int(rng.integers(2, 6))].tolist()
        got = separated(graph, x, y, given)
        assert got == (y not in reachable(edges, {x}, given))
        seen.add(got)
    assert seen == {True, False}


def test_empty_sets_are_separated():
    assert d_separated(Dag(2, [(0, 1)]), (), 1)
    assert separated(UndirectedGraph(2, [(0, 1)]), 0, ())


@pytest.mark.parametrize(
    ("test", "graph"), [(d_separated, Dag(3)), (separated, UndirectedGraph(3))]
)
def test_separation_refuses_overlaps_and_strangers(test, graph):
    for x, y, given in [(0, 0, ()), (0, 1, [1]), ([0, 2], 1, 2)]:
        with pytest.raises(ScopeError, match="more than one of x, y and given"):
            test(graph, x, y, given)
    with raises(GraphError, about="node 3"):
        test(graph, 0, 1, 3)


@pytest.mark.parametrize("seed", range(12))
def test_d_separation_of_all_triples_by_trails_and_by_the_moral_ancestral_graph(seed):
    rng = np.random.default_rng(seed)
    edges = random_dag(rng, 5, 0.5)
    dag = Dag(5, edges)
    for x, y in combinations(range(5), 2):
        for given in subsets(set(range(5)) - {x, y}):
            got = d_separated(dag, x, y, given)
            assert got == trail_separated(edges, x, y, given), (edges, x, y, given)
            kept = ancestral(edges, {x, y, *given})
            moral = UndirectedGraph(5, moral_edges(edges, kept))
            assert got == separated(moral, x, y, given)


@pytest.mark.parametrize("n", [8, 64, 65, 130])
def test_d_separation_of_sets_as_networkx(n):
    rng = np.random.default_rng(n)
    seen = set()
    for _ in range(25):
        edges = random_dag(rng, n, 1.5 / n)
        dag, graph = Dag(n, edges), nx.DiGraph(edges)
        graph.add_nodes_from(range(n))
        for _ in range(8):
            parts = rng.permutation(n)[: int(rng.integers(3, 8))].tolist()
            x, y, given = set(parts[:2]), {parts[2]}, set(parts[3:])
            got = d_separated(dag, x, y, given)
            assert got == nx.is_d_separator(graph, x, y, given) == d_separated(dag, y, x, given)
            seen.add(got)
    assert seen == {True, False}


@pytest.mark.parametrize("n", [1, 6, 64, 65, 130])
def test_moral_graph(n):
    edges = random_dag(np.random.default_rng(n), n, 2 / n)
    assert set(moralize(Dag(n, edges)).edges) == moral_edges(edges, set(range(n)))
