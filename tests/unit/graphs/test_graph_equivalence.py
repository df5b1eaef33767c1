"""Completed partially directed graphs against every graph on up to four nodes."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane.errors import GraphError
from counterpane.graphs import (
    Cpdag,
    Dag,
    UndirectedGraph,
    consistent_extension,
    cpdag,
    same_class,
)
from error_checks import raises
from reference.graph_reference import classes, random_dag, signature


@pytest.mark.parametrize(
    ("n", "n_dags", "n_classes"), [(1, 1, 1), (2, 3, 2), (3, 25, 11), (4, 543, 185)]
)
def test_cpdag_of_every_dag(n, n_dags, n_classes):
    grouped = classes(n)
    assert sum(map(len, grouped.values())) == n_dags
    found = {}
    for key, graphs in grouped.items():
        compelled = frozenset.intersection(*graphs)
        reversible = {tuple(sorted(e)) for e in frozenset.union(*graphs) - compelled}
        for edges in graphs:
            result = cpdag(Dag(n, edges))
            assert set(result.compelled.edges) == compelled
            assert set(result.reversible.edges) == reversible
            assert {frozenset(e) for e in result.skeleton.edges} == key[0]
        assert frozenset(consistent_extension(result).edges) in graphs
        found[result] = key
    assert len(found) == len(grouped) == n_classes


def test_same_class_for_every_pair_on_three_nodes():
    keyed = [(key, Dag(3, e)) for key, graphs in classes(3).items() for e in graphs]
    for key, dag in keyed:
        for other_key, other in keyed:
            assert same_class(dag, other) == (key == other_key)
    assert not same_class(Dag(3), Dag(4))


def test_extension_honors_directions_that_are_not_complete():
    pattern = Cpdag(Dag(3, [(2, 1)]), UndirectedGraph(3, [(0, 1)]))
    assert consistent_extension(pattern).edges == ((1, 0), (2, 1))


@pytest.mark.parametrize(
    "pattern",
    [
        # A chordless square: any direction makes a collider or a cycle.
        Cpdag(Dag(4), UndirectedGraph(4, [(0, 1), (1, 2), (2, 3), (3, 0)])),
        # 0 → 1 – 2 ← 3 with 0, 2 and 1, 3 not joined: either way 1 – 2 makes a new collider.
        Cpdag(Dag(4, [(0, 1), (3, 2)]), UndirectedGraph(4, [(1, 2)])),
    ],
)
def test_patterns_without_extension_are_refused(pattern):
    with raises(GraphError, about="directed"):
        consistent_extension(pattern)


def test_malformed_patterns_are_refused():
    with raises(GraphError, about="2 nodes"):
        Cpdag(Dag(2), UndirectedGraph(3))
    with raises(GraphError, about="directed"):
        Cpdag(Dag(2, [(1, 0)]), UndirectedGraph(2, [(0, 1)]))


@pytest.mark.parametrize("n", [0, 1, 64, 65, 130])
def test_extension_stays_in_the_class(n):
    rng = np.random.default_rng(n)
    for density in (1, 3, 8):
        dag = Dag(n, random_dag(rng, n, density / max(n, 1)))
        pattern = cpdag(dag)
        extension = consistent_extension(pattern)
        assert signature(frozenset(extension.edges)) == signature(frozenset(dag.edges))
        assert cpdag(extension) == pattern
        assert set(pattern.compelled.edges) <= set(extension.edges)
