"""Graphs with marks at both ends of an edge, beside paths that are followed one by one."""

import pickle
from itertools import combinations

import numpy as np
import pytest

from counterpane.errors import CounterpaneError, GraphError, ScopeError
from counterpane.graphs import Dag, MixedGraph, m_separated
from counterpane.graphs.mixed import ARROW, CIRCLE, NONE, TAIL, canonical_dag
from error_checks import raises
from reference.graph_reference import random_dag, trail_separated

NAMES = tuple("abcdefgh")


def test_edges_have_one_normal_form():
    one = MixedGraph("abc", [("b", "<-", "a"), ("c", "<->", "b"), ("c", "<-o", "a")])
    two = MixedGraph("abc", [("a", "o->", "c"), ("b", "<->", "c"), ("a", "->", "b")])
    assert one == two and hash(one) == hash(two)
    assert str(one) == "a → b\na o→ c\nb ↔ c"
    assert pickle.loads(pickle.dumps(one)) == one
    assert str(MixedGraph("ab")) == "2 nodes without edges"


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "->", "b"), ("b", "->", "c"), ("c", "->", "a")], "cycle a → b → c → a"),
        ([("a", "->", "a")], "'a' has an edge to itself"),
        ([("a", "->", "d")], "node 'd' is not known"),
        ([("a", "=>", "b")], "kind '=>'; known: '->'"),
        ([("a", "->", "b"), ("a", "--", "b")], "'a' and 'b' have 2 edges"),
        ([("a", "->", "b"), ("b", "->", "a")], "'a' and 'b' have 2 edges"),
    ],
)
def test_malformed_graphs_are_refused_in_a_sentence(edges, message):
    with pytest.raises(CounterpaneError, match=message):
        MixedGraph("abc", edges)


def test_a_name_occurs_once():
    with raises(GraphError, about="'a'"):
        MixedGraph("aba")


def test_relatives_come_in_the_order_of_the_names():
    graph = MixedGraph(
        "dcba", [("a", "->", "b"), ("c", "->", "b"), ("b", "->", "d"), ("a", "<->", "d")]
    )
    assert graph.parents("b") == ("c", "a")
    assert graph.children(["a", "b"]) == ("d", "b")
    assert graph.ancestors("d") == ("c", "b", "a")
    assert graph.descendants("c") == ("d", "b")
    assert graph.spouses("a") == ("d",)
    assert graph.neighbors("d") == ("b", "a")
    assert graph.districts() == (("d", "a"), ("c",), ("b",))
    assert graph.subgraph(["a", "b"]).edges == (("a", "->", "b"),)
    assert graph.without_edges_into("d").neighbors("d") == ()
    assert graph.without_edges_out_of("b").neighbors("d") == ("a",)
    order = graph.topological_order()
    assert all(order.index(a) < order.index(b) for a, kind, b in graph.edges if kind == "->")
    with raises(CounterpaneError, parameter="node", value="z"):
        graph.parents("z")


def test_marks_are_a_table_and_back():
    graph = MixedGraph("abcd", [("a", "o-o", "b"), ("c", "<-o", "b"), ("d", "--", "a"),
                                ("d", "-o", "c")])  # fmt: skip
    marks = graph.marks
    assert marks[0, 1] == marks[1, 0] == CIRCLE
    assert (marks[1, 2], marks[2, 1]) == (ARROW, CIRCLE)
    assert (marks[3, 2], marks[2, 3]) == (CIRCLE, TAIL)
    assert marks[1, 3] == NONE
    assert MixedGraph.from_marks(graph.names, marks) == graph
    assert graph.has_circles and not graph.subgraph(["a", "d"]).has_circles
    with raises(GraphError, about="'a'"):
        _ = MixedGraph("ab", [("a", "->", "b"), ("a", "<->", "b")]).marks


@pytest.mark.parametrize("seed", range(40))
def test_the_projection_keeps_the_separations_of_observed_nodes(seed):
    rng = np.random.default_rng(seed)
    n = 7
    edges = random_dag(rng, n, 0.35)
    latent = sorted(rng.choice(n, size=3, replace=False).tolist())
    observed = [v for v in range(n) if v not in latent]
    graph = MixedGraph.from_dag(Dag(n, edges), NAMES[:n], latent=[NAMES[v] for v in latent])
    assert graph.names == tuple(NAMES[v] for v in observed)
    for x, y in combinations(observed, 2):
        rest = [v for v in observed if v not in (x, y)]
        for size in range(len(rest) + 1):
            for given in combinations(rest, size):
                answer = m_separated(graph, NAMES[x], NAMES[y], [NAMES[v] for v in given])
                assert answer == trail_separated(edges, x, y, given)


def test_undirected_edges_are_those_of_selection():
    graph = MixedGraph("abc", [("a", "--", "b"), ("b", "--", "c")])
    assert not m_separated(graph, "a", "c")
    assert m_separated(graph, "a", "c", "b")
    assert canonical_dag(graph)[1] == (3, 4)


def test_separation_refuses_circles_unknown_names_and_overlaps():
    with raises(GraphError, about="determined"):
        m_separated(MixedGraph("ab", [("a", "o->", "b")]), "a", "b")
    graph = MixedGraph("ab", [("a", "->", "b")])
    with raises(CounterpaneError, parameter="node", value="q"):
        m_separated(graph, "a", "q")
    with raises(ScopeError, about="node 0"):
        m_separated(graph, "a", "b", "a")
