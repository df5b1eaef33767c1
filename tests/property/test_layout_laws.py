"""Drawings of any graph: no boxes overlap, all is inside, edges end at boxes, always the same."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from counterpane.drawing.layout import lay_out_graph
from reference.drawing_reference import cut_boxes, on_border, outside, overlapping


@st.composite
def graphs(draw):
    """Names, edges (cycles and both directions included) and widths."""
    n = draw(st.integers(1, 12))
    names = [f"{'long ' * draw(st.integers(0, 4))}{i}" for i in range(n)]
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1])
    edges = draw(st.lists(pairs, max_size=25)) if n > 1 else []
    widths = {name: draw(st.floats(2, 300)) for name in names}
    return names, list(dict.fromkeys((names[a], names[b]) for a, b in edges)), widths


@settings(max_examples=120, deadline=None)
@given(graphs(), st.booleans(), st.sampled_from([10.0, 24.0]))
def test_boxes_and_edges(graph, directed, height):
    names, edges, widths = graph
    layout = lay_out_graph(names, edges, directed=directed, widths=widths, height=height)
    assert list(layout.positions) == names
    assert list(layout.routes) == edges
    assert not overlapping(layout.positions, widths, height)
    assert not outside(layout.positions, widths, height, layout.size)
    for (a, b), points in layout.routes.items():
        assert on_border(points[0], layout.positions[a], widths[a], height)
        assert on_border(points[-1], layout.positions[b], widths[b], height)
        assert all(-1e-6 <= x <= layout.size[0] + 1e-6 for x, _ in points)
        assert all(-1e-6 <= y <= layout.size[1] + 1e-6 for _, y in points)
    assert lay_out_graph(names, edges, directed=directed, widths=widths, height=height) == layout


@settings(max_examples=80, deadline=None)
@given(graphs())
def test_layered_edges_run_between_boxes(graph):
    names, edges, widths = graph
    layout = lay_out_graph(names, edges, directed=True, widths=widths)
    assert not cut_boxes(layout.routes, layout.positions, widths, layout.height)
    for points in layout.routes.values():  # up or down, never back
        steps = [q[1] - p[1] for p, q in itertools.pairwise(points)]
        assert all(s > 0 for s in steps) or all(s < 0 for s in steps)


@settings(max_examples=80, deadline=None)
@given(graphs())
def test_parents_stand_above_children(graph):
    names, edges, _ = graph
    place = {name: i for i, name in enumerate(names)}
    down = list(dict.fromkeys((a, b) if place[a] < place[b] else (b, a) for a, b in edges))
    layout = lay_out_graph(names, down, directed=True)
    assert all(layout.positions[a][1] < layout.positions[b][1] for a, b in down)
