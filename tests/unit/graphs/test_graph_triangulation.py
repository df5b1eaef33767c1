"""Least-fill elimination, chordality and junction trees."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from counterpane.errors import GraphError, ParameterError
from counterpane.graphs import (
    JunctionTree,
    Triangulation,
    UndirectedGraph,
    is_chordal,
    junction_tree,
    min_fill,
)
from error_checks import raises
from reference.graph_reference import (
    least_fill,
    maximal_cliques,
    random_graph,
    running_intersection,
)


def test_known_widths():
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4))
    assert min_fill(UndirectedGraph.from_networkx(grid, range(16))).width == 4
    assert min_fill(UndirectedGraph(70, [(i, i + 1) for i in range(69)])).width == 1
    assert min_fill(UndirectedGraph(70, [(i, (i + 1) % 70) for i in range(70)])).width == 2
    assert min_fill(UndirectedGraph(5)).width == 0


def test_ties_prefer_the_smaller_table_then_the_smaller_index():
    square = UndirectedGraph(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    assert min_fill(square).fill_edges == ((1, 3),)
    assert min_fill(square, [2, 9, 2, 9]).fill_edges == ((0, 2),)


@pytest.mark.parametrize("seed", range(30))
def test_is_chordal_as_networkx(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    edges = random_graph(rng, n, 0.6)
    reference = nx.Graph(edges)
    reference.add_nodes_from(range(n))
    assert is_chordal(UndirectedGraph(n, edges)) == nx.is_chordal(reference)


def test_empty_graph():
    result = min_fill(UndirectedGraph(0))
    assert (result.order, result.fill_edges, result.cliques, result.width) == ((), (), (), -1)
    assert junction_tree(result) == JunctionTree((), ())


def test_components_are_joined_by_empty_separators():
    tree = junction_tree(min_fill(UndirectedGraph(4, [(0, 1), (2, 3)])))
    assert tree.edges == ((0, 1, ()),)


def test_tree_takes_the_larger_separator():
    cliques = ((0, 1, 2), (2, 3), (1, 2, 4))
    tree = junction_tree(Triangulation(tuple(range(5)), (), cliques))
    assert tree.edges == ((0, 2, (1, 2)), (0, 1, (2,)))


@pytest.mark.parametrize(
    ("cliques", "edges", "message"),
    [
        (((0, 1), (1, 2)), ((0, 1, ()),), r"separator \(\); its cliques share \(1,\)"),
        (((0, 1), (1, 2)), (), "needs 1 edges, got 0"),
        (((0, 1), (1, 2)), ((1, 0, (1,)),), "reached clique to a new one"),
        (((0, 1), (1, 2)), ((0, 1, (1,)), (0, 1, (1,))), "reached clique to a new one"),
        (((0, 1), (2,), (1, 3)), ((0, 1, ()), (1, 2, ())), "node 1 form 2 separate parts"),
    ],
)
def test_malformed_junction_trees_are_refused(cliques, edges, message):
    with pytest.raises(GraphError, match=message):
        JunctionTree(cliques, edges)


def test_cliques_of_a_cycle_have_no_junction_tree():
    cycle = Triangulation((0, 1, 2, 3), (), ((0, 1), (1, 2), (2, 3), (0, 3)))
    with raises(GraphError, about="intersection"):
        junction_tree(cycle)


@pytest.mark.parametrize("cards", [[2], [2, 0], [2, float("nan")], [[2, 2]]])
def test_malformed_cards_are_refused(cards):
    with raises(ParameterError, parameter="cards"):
        min_fill(UndirectedGraph(2), cards)


@pytest.mark.parametrize("seed", range(25))
def test_elimination_matches_a_recount_at_every_step(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 10))
    edges = random_graph(rng, n, rng.uniform(0.1, 0.9))
    cards = rng.integers(1, 8, size=n)
    for given, weights in ((cards, cards.tolist()), (None, [2] * n)):
        result = min_fill(UndirectedGraph(n, edges), given)
        order, added = least_fill(n, edges, weights)
        assert result.order == tuple(order)
        assert result.fill_edges == tuple(sorted(added))
        assert set(result.cliques) == maximal_cliques(n, [*edges, *added])
        assert len(set(result.cliques)) == len(result.cliques)
        assert result.width == max(map(len, result.cliques)) - 1


@pytest.mark.parametrize("n", [1, 63, 64, 65, 130, 724])
def test_result_is_chordal_and_contains_the_graph(n):
    rng = np.random.default_rng(n)
    edges = random_graph(rng, n, 2.5 / n)
    result = min_fill(UndirectedGraph(n, edges))
    assert not set(edges) & set(result.fill_edges)
    filled = nx.Graph([*edges, *result.fill_edges])
    filled.add_nodes_from(range(n))
    assert nx.is_chordal(filled)
    assert set(result.cliques) == {tuple(sorted(c)) for c in nx.find_cliques(filled)}
    tree = junction_tree(result)
    assert running_intersection(tree.cliques, [(i, j) for i, j, _ in tree.edges])
    assert len(tree.edges) == len(tree.cliques) - 1
