"""Laws that hold for every graph."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from counterpane.graphs import (
    Dag,
    UndirectedGraph,
    consistent_extension,
    cpdag,
    d_separated,
    degrees_of_freedom,
    face_coefficients,
    faces,
    is_chordal,
    junction_tree,
    min_fill,
    moralize,
    region_graph,
    same_class,
    separated,
)
from reference.graph_reference import running_intersection, signature

SIZES = st.sampled_from([1, 2, 3, 5, 9, 64, 65, 130])


@st.composite
def undirected_graphs(draw):
    n = draw(SIZES)
    node = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=3 * min(n, 25)))
    return UndirectedGraph(n, [(a, b) for a, b in pairs if a != b])


@st.composite
def dags(draw):
    graph = draw(undirected_graphs())
    place = draw(st.permutations(range(graph.n)))
    return Dag(graph.n, [(place[a], place[b]) for a, b in graph.edges])


@st.composite
def disjoint_sets(draw, n):
    parts = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return tuple([i for i, part in enumerate(parts) if part == k] for k in range(3))


@given(undirected_graphs())
def test_least_fill_gives_a_chordal_supergraph_and_a_junction_tree(graph):
    result = min_fill(graph)
    filled = UndirectedGraph(graph.n, graph.edges + result.fill_edges)
    assert is_chordal(filled)
    assert filled.n_edges == graph.n_edges + len(result.fill_edges)
    assert sorted(result.order) == list(range(graph.n))
    for a, b in filled.edges:
        assert any(a in clique and b in clique for clique in result.cliques)
    tree = junction_tree(result)
    assert running_intersection(tree.cliques, [(i, j) for i, j, _ in tree.edges])
    empty = sum(separator == () for _, _, separator in tree.edges)
    assert empty == len(graph.components()) - 1


@given(dags())
def test_order_puts_parents_first(dag):
    place = {v: k for k, v in enumerate(dag.topological_order())}
    assert len(place) == dag.n
    assert all(place[a] < place[b] for a, b in dag.edges)


@given(dags(), st.data())
def test_a_node_is_separated_from_the_rest_by_its_blanket(dag, data):
    v = data.draw(st.integers(0, dag.n - 1))
    blanket = dag.markov_blanket(v)
    rest = set(range(dag.n)) - {v, *blanket}
    assert d_separated(dag, v, rest, blanket)
    assert blanket == moralize(dag).neighbors(v)
    local = set(range(dag.n)) - {v, *dag.descendants(v), *dag.parents(v)}
    assert d_separated(dag, v, local, dag.parents(v))


@given(dags(), st.data())
def test_d_separation_is_separation_in_the_moral_ancestral_graph(dag, data):
    x, y, z = data.draw(disjoint_sets(dag.n))
    kept = {*x, *y, *z, *dag.ancestors([*x, *y, *z])}
    ancestral = Dag(dag.n, [(a, b) for a, b in dag.edges if b in kept])
    expected = separated(moralize(ancestral), x, y, z)
    assert d_separated(dag, x, y, z) == d_separated(dag, y, x, z) == expected


@given(dags(), st.data())
def test_equivalent_dags_separate_alike(dag, data):
    other = consistent_extension(cpdag(dag))
    assert same_class(dag, other)
    assert signature(frozenset(dag.edges)) == signature(frozenset(other.edges))
    x, y, z = data.draw(disjoint_sets(dag.n))
    assert d_separated(dag, x, y, z) == d_separated(other, x, y, z)


@given(st.lists(st.frozensets(st.integers(0, 80), max_size=5), max_size=8))
def test_counting_numbers_are_the_nonzero_face_coefficients(edges):
    counts = region_graph(edges)
    coefficients = face_coefficients(faces(edges))
    assert {r: c for r, c in counts.items() if c} == {r: c for r, c in coefficients.items() if c}
    assert sum(counts.values()) == 1


@given(st.lists(st.frozensets(st.integers(0, 6), max_size=4), max_size=6), st.integers(2, 5))
def test_one_more_hyperedge_never_frees_parameters(edges, card):
    freedom = [degrees_of_freedom(faces(edges[:k]), [card] * 7, 2) for k in range(len(edges) + 1)]
    assert freedom == sorted(freedom)
    assert freedom[0] == 1
