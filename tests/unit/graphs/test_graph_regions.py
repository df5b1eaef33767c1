"""Counting numbers by intersections and by faces: one model, two forms."""

from __future__ import annotations

from math import comb

import numpy as np

from counterpane.errors import ScopeError, TableSizeError
from counterpane.graphs import degrees_of_freedom, face_coefficients, faces, region_graph
from error_checks import raises
from reference.graph_reference import all_intersections, coefficient, subsets


def test_nested_intersection_counts_zero():
    """The case that the printed algorithm gets wrong: it gives {3} the number −2."""
    counts = region_graph([{2, 3, 4}, {0, 1, 3}, {1, 3, 4}])
    assert counts[frozenset({3})] == 0
    assert sum(counts.values()) == 1


def test_known_models():
    empty = frozenset()
    naive_bayes = region_graph([{i} for i in range(70)])
    assert naive_bayes[empty] == -69
    assert region_graph([]) == {empty: 1}
    assert faces([]) == (empty,)
    assert region_graph([{0}, {0, 1}]) == {frozenset({0, 1}): 1}
    pairs = region_graph([{i, j} for i in range(12) for j in range(i)])
    assert pairs[frozenset({3})] == 1 - 11
    assert pairs[empty] == 1 - comb(12, 2) + 12 * 10


def test_regions_come_by_falling_size_and_faces_by_rising_size():
    edges = [{2, 3, 4}, {0, 1, 3}, {1, 3, 4}]
    assert [len(r) for r in region_graph(edges)] == [3, 3, 3, 2, 2, 1]
    assert [sorted(f) for f in faces([{1, 0}, {2}])] == [[], [0], [1], [2], [0, 1]]


def test_titanic_structure_has_twelve_degrees_of_freedom():
    """Status (4), sex and age with status×sex and status×age; the paper's model."""
    assert degrees_of_freedom(faces([{0, 1}, {0, 2}]), [4, 2, 2], 2) == 12


def test_sizes_are_guarded_before_building():
    with raises(TableSizeError, about="40 attributes"):
        faces([range(40)])
    with raises(TableSizeError, about="allowed"):
        faces([{0, 1, 2, 3}], limit=8)
    assert len(faces([{0, 1, 2}], limit=8)) == 8
    with raises(TableSizeError, about="20000 intersections"):
        region_graph([set(range(40)) - {i} for i in range(40)])
    assert len(region_graph([{0, 1}, {1, 2}], limit=3)) == 3


def test_malformed_input_is_refused():
    with raises(ScopeError, about="[-1, 0]"):
        region_graph([{0, -1}])
    with raises(ScopeError, about=("[0]", "[]")):
        face_coefficients([frozenset({0})])
    with raises(ScopeError, about="cards"):
        degrees_of_freedom(faces([{2}]), [2, 2], 2)


def random_hypergraph(rng, n):
    return [
        frozenset(rng.choice(n, size=int(rng.integers(0, n + 1)), replace=False).tolist())
        for _ in range(int(rng.integers(1, 6)))
    ]


def test_faces_and_intersections_agree_on_400_hypergraphs():
    rng = np.random.default_rng(0)
    n = 5
    for _ in range(400):
        edges = random_hypergraph(rng, n)
        counts, complex_ = region_graph(edges), faces(edges)
        coefficients = face_coefficients(complex_)
        facets = [e for e in edges if not any(e < f for f in edges)]
        assert set(counts) == all_intersections(facets)
        assert set(complex_) == {u for e in edges for u in subsets(e)}
        for face in complex_:
            assert coefficients[face] == counts.get(face, 0) == coefficient(complex_, face)

        cards = rng.integers(2, 4, size=n).tolist()
        target = int(rng.integers(2, 4))
        table = rng.dirichlet(np.ones(np.prod(cards) * target)).reshape(*cards, target)
        log_marginal = {
            u: np.log(table.sum(axis=tuple(set(range(n)) - u), keepdims=True)) for u in complex_
        }
        by_regions = sum(c * log_marginal[r] for r, c in counts.items())
        by_faces = sum((-1) ** len(t - u) * log_marginal[u] for t in complex_ for u in subsets(t))
        assert np.allclose(*np.broadcast_arrays(by_regions, by_faces), rtol=0, atol=1e-10)

        parameters = sum(
            c * (target - 1) * np.prod([cards[a] for a in r], dtype=int) for r, c in counts.items()
        )
        assert degrees_of_freedom(complex_, cards, target) == parameters
