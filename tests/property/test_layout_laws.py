"""Drawings of any graph: no boxes overlap, all is inside, edges end at boxes, always the same."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from counterpane.drawing.layout import lay_out_graph, lay_out_in_frame
from law_settings import examples
from reference.drawing_reference import cut_boxes, on_border, outside, overlapping


@st.composite
def graphs(draw):
    """Names, edges (cycles and both directions included) and sizes of boxes."""
    n = draw(st.integers(1, 12))
    names = [f"{'long ' * draw(st.integers(0, 4))}{i}" for i in range(n)]
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1])
    edges = draw(st.lists(pairs, max_size=25)) if n > 1 else []
    sizes = {name: (draw(st.floats(2, 300)), draw(st.floats(2, 120))) for name in names}
    return names, list(dict.fromkeys((names[a], names[b]) for a, b in edges)), sizes


def check(layout, names, edges, sizes):
    assert list(layout.positions) == names
    assert list(layout.routes) == edges
    assert not overlapping(layout.positions, sizes)
    assert not outside(layout.positions, sizes, layout.size)
    for (a, b), points in layout.routes.items():
        assert on_border(points[0], layout.positions[a], sizes[a])
        assert on_border(points[-1], layout.positions[b], sizes[b])
        assert all(-1e-6 <= x <= layout.size[0] + 1e-6 for x, _ in points)
        assert all(-1e-6 <= y <= layout.size[1] + 1e-6 for _, y in points)


@examples(120)
@given(graphs(), st.booleans(), st.sampled_from([10.0, 24.0]))
def test_boxes_and_edges(graph, directed, height):
    names, edges, sizes = graph
    layout = lay_out_graph(names, edges, directed=directed, sizes=sizes, height=height)
    check(layout, names, edges, sizes)
    assert lay_out_graph(names, edges, directed=directed, sizes=sizes, height=height) == layout


@examples(80)
@given(graphs(), st.booleans(), st.sampled_from([(1200.0, 600.0), (300.0, 700.0)]))
def test_a_frame_changes_neither_boxes_nor_ends_of_edges(graph, directed, frame):
    names, edges, sizes = graph
    layout = lay_out_in_frame(
        names, edges, directed=directed, sizes=sizes, height=24.0, frame=frame
    )
    check(layout, names, edges, sizes)


def test_an_arc_whose_top_lies_in_a_box_is_not_drawn():
    """Found by the law above: the edge ended inside of its box."""
    names, edges = [str(i) for i in range(8)], ["01", "04", "05", "12", "13", "34", "35", "46"]
    sizes = dict.fromkeys(names, (2.0, 2.0))
    sizes |= {"0": (61.0, 37.0), "3": (65.0, 69.0), "6": (226.0, 2.0)}
    pairs = [(edge[0], edge[1]) for edge in edges]
    layout = lay_out_in_frame(
        names, pairs, directed=False, sizes=sizes, height=24.0, frame=(300.0, 700.0)
    )
    check(layout, names, pairs, sizes)


@examples(80)
@given(graphs())
def test_layered_edges_run_between_boxes(graph):
    names, edges, sizes = graph
    layout = lay_out_graph(names, edges, directed=True, sizes=sizes)
    assert not cut_boxes(layout.routes, layout.positions, sizes)
    for points in layout.routes.values():  # up or down, never back
        steps = [q[1] - p[1] for p, q in itertools.pairwise(points)]
        assert all(s > 0 for s in steps) or all(s < 0 for s in steps)


@examples(80)
@given(graphs())
def test_parents_stand_above_children(graph):
    names, edges, _ = graph
    place = {name: i for i, name in enumerate(names)}
    down = list(dict.fromkeys((a, b) if place[a] < place[b] else (b, a) for a, b in edges))
    layout = lay_out_graph(names, down, directed=True)
    assert all(layout.positions[a][1] < layout.positions[b][1] for a, b in down)
