"""Layouts that people look at: few crossings, straight long edges, rows, and their time."""

from __future__ import annotations

import itertools
import time
import xml.etree.ElementTree as ET

import networkx as nx
import numpy as np
import pytest

import counterpane as cp
from counterpane.drawing import layer_order, layered
from counterpane.drawing.layout import (
    MAX_LETTERS,
    MAX_NODES,
    label_width,
    lay_out_graph,
    lay_out_networkx,
)
from counterpane.drawing.svg import arrow, edge_curve, graph_svg, svg_path
from counterpane.errors import GraphError
from error_checks import raises
from reference.drawing_reference import crossings, cut_boxes, on_border, overlapping


def alarm_like(n=37, m=46, seed=0):
    """A random DAG whose edges join nodes not far apart in its order."""
    rng = np.random.default_rng(seed)
    edges = set()
    while len(edges) < m:
        child = int(rng.integers(1, n))
        edges.add((f"node{rng.integers(max(0, child - 9), child)}", f"node{child}"))
    return [f"node{i}" for i in range(n)], sorted(edges)


def springs(nodes, edges):
    where = nx.spring_layout(nx.Graph(edges), seed=0)
    return crossings([[tuple(where[a]), tuple(where[b])] for a, b in edges])


def test_far_fewer_crossings_than_springs():
    counts = np.zeros(3)
    for seed in range(6):
        nodes, edges = alarm_like(seed=seed)
        drawn = [lay_out_graph(nodes, edges, directed=d).routes.values() for d in (True, False)]
        counts += [springs(nodes, edges), *map(crossings, drawn)]
    assert counts[1] < 0.65 * counts[0]
    assert counts[2] < 0.65 * counts[0]


def test_a_tree_has_no_crossing_and_no_cut_box():
    nodes = [str(i) for i in range(40)]
    edges = [(str((i - 1) // 2), str(i)) for i in range(1, 40)]
    for directed in (True, False):
        layout = lay_out_graph(nodes, edges, directed=directed)
        assert crossings(layout.routes.values()) == 0
        if directed:
            assert not cut_boxes(layout.routes, layout.positions, layout.sizes)


def test_few_undirected_edges_run_through_boxes():
    nodes, edges = alarm_like()
    layout = lay_out_graph(nodes, edges, directed=False)
    straight = {(a, b): (layout.positions[a], layout.positions[b]) for a, b in edges}
    boxes = layout.positions, layout.sizes
    curves = {e: sampled(points) for e, points in layout.routes.items()}
    assert len(cut_boxes(curves, *boxes)) < len(cut_boxes(straight, *boxes))
    assert len(cut_boxes(curves, *boxes)) <= 1


def sampled(points):
    """An edge as it is drawn: a line, or points on its Bézier curve."""
    (piece,) = edge_curve(points, curved=False)
    if len(piece) == 1:
        return points
    controls = np.array([points[0], *piece])
    return [
        tuple(np.array([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3]) @ controls)
        for t in np.linspace(0, 1, 20)
    ]


def test_a_long_edge_runs_straight_past_its_layers():
    chain = [(str(i), str(i + 1)) for i in range(6)]
    layout = lay_out_graph([str(i) for i in range(7)], [*chain, ("0", "6")], directed=True)
    inner = layout.routes["0", "6"][1:-1]
    assert len(inner) == 10
    assert max(x for x, _ in inner) - min(x for x, _ in inner) < 1e-6


def test_a_wide_layer_is_parted():
    leaves = [f"leaf{i}" for i in range(100)]
    for edges in ([("hub", x) for x in leaves], [(x, "hub") for x in leaves]):
        layout = lay_out_graph(["hub", *leaves], edges, directed=True)
        assert layout.size[0] < 5 * layout.size[1]


def test_components_and_single_nodes_stand_apart_in_rows():
    nodes = [*"abcdef", *(f"single{i}" for i in range(9))]
    edges = [("a", "b"), ("c", "d"), ("e", "f")]
    layout = lay_out_graph(nodes, edges, directed=True)
    rows = {layout.positions[f"single{i}"][1] for i in range(9)}
    assert min(rows) > max(layout.positions[x][1] for x in "abcdef")
    assert len(rows) < 9
    assert len({layout.positions[x][1] for x in "ace"}) == 1  # side by side
    assert lay_out_graph([], [], directed=True).positions == {}


def test_unknown_nodes_loops_and_repeats_are_refused():
    with raises(GraphError, about="('a', 'x')"):
        lay_out_graph("ab", [("a", "x")], directed=True)
    with raises(GraphError, about="'a'"):
        lay_out_graph("ab", [("a", "a")], directed=True)
    with raises(GraphError, about=("3 nodes", "2 names")):
        lay_out_graph("aba", [], directed=True)


@pytest.mark.parametrize("directed", [True, False])
def test_hundred_nodes_are_quick_and_too_many_stand_in_rows(directed):
    nodes, edges = alarm_like(100, 150)
    began = time.process_time()
    layout = lay_out_graph(nodes, edges, directed=directed)
    assert time.process_time() - began < 1.0
    many = [str(i) for i in range(MAX_NODES + 1)]
    chain = list(itertools.pairwise(many))
    began = time.process_time()
    layout = lay_out_graph(many, chain, directed=directed)
    assert time.process_time() - began < 4.0
    assert layout.size[0] < 3 * layout.size[1]
    assert not layout.curved


def test_dense_graphs_stay_clear_of_overlaps():
    graph = nx.gnp_random_graph(60, 0.4, seed=1)
    layout, _ = lay_out_networkx(nx.relabel_nodes(graph, str))
    assert not overlapping(layout.positions, layout.sizes)


def test_directions_of_a_graph_with_cycles():
    graph = nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c"), ("c", "c")])
    layout, arrows = lay_out_networkx(graph)
    assert set(layout.routes) == {("a", "b"), ("b", "c")}
    assert arrows == {("b", "c")}
    assert not layout.directed
    acyclic, arrows = lay_out_networkx(nx.DiGraph([("a", "b")]))
    assert acyclic.directed
    assert acyclic.curved
    assert arrows == {("a", "b")}


def test_edges_of_a_cycle_start_and_end_at_their_own_boxes():
    cycle = [("a", "b"), ("b", "c"), ("c", "a"), ("b", "a")]
    layout = lay_out_graph("abc", cycle, directed=True)
    for (a, b), points in layout.routes.items():
        assert on_border(points[0], layout.positions[a], layout.sizes[a])
        assert on_border(points[-1], layout.positions[b], layout.sizes[b])


def test_labels_take_the_room_of_their_letters():
    assert label_width("") == label_width("i") < label_width("WWWW") < label_width("統計統計")
    assert label_width("x" * 500) == label_width("x" * (MAX_LETTERS - 1) + "…")


def test_arcs_pass_their_top_and_arrows_end_at_the_border():
    ((leave, arrive, end),) = edge_curve([(0, 0), (5, 4), (10, 0)], curved=False)
    middle = [(3 * leave[k] + 3 * arrive[k] + end[k]) / 8 for k in (0, 1)]
    assert middle == [5, 4]
    points, head = arrow([(0, 0), (30, 40)], curved=False, length=5)
    assert points[-1] == pytest.approx((27, 36))
    assert head[0] == (30, 40)
    assert arrow([(0, 0), (9, 40)], curved=True, length=5).points[-1] == (9, 35)
    bent = arrow([(0, 0), (5, 4), (10, 0)], curved=False, length=1).points[-1]
    assert bent[1] == pytest.approx(1.6 * (10 - bent[0]))  # the arc's slope there


def test_svg_is_xml_with_every_name_and_edge():
    names = ["<script>alert(1)</script>", 'a"b', "x" * 60]
    layout = lay_out_graph(names, [(names[0], names[1])], directed=True)
    text = graph_svg(layout, titles={(names[0], names[1]): "A & B"}, marked=[names[1]])
    root = ET.fromstring(text)
    told = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert told == [*names[:2], "x" * (MAX_LETTERS - 1) + "…"]
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["A & B", names[2]]
    assert "script>" not in text
    assert text.count('fill-opacity="0.25"') == 1
    assert graph_svg(layout, arrows=()).count("<path") == 1


def test_svg_widths_grow_with_strength():
    layout = lay_out_graph("abc", [("a", "b"), ("b", "c")], directed=False)
    text = graph_svg(layout, strengths={("a", "b"): 1.0, ("b", "c"): 0.25})
    assert 'stroke-width="2.20"' in text
    assert 'stroke-width="1.00"' in text
    assert svg_path([(0, 0), (0, 5)], curved=True) == "M0,0L0,5"


def test_edges_end_on_borders_in_large_graphs_too():
    nodes, edges = alarm_like(100, 150)
    layout = lay_out_graph(nodes, edges, directed=True)
    for (a, b), points in layout.routes.items():
        assert on_border(points[0], layout.positions[a], layout.sizes[a])
        assert on_border(points[-1], layout.positions[b], layout.sizes[b])


@pytest.mark.parametrize(("name", "most"), [("alarm", 6), ("insurance", 22)])
def test_known_networks_have_few_crossings(name, most, shared_data, monkeypatch):
    """Sifting after each sweep, which took three times the code, left 6 and 20."""
    model = cp.load(shared_data / "networks" / f"{name}.bif.gz")
    counts = []

    def counted(layers, below):
        order_layers(layers, below)
        counts.append(layer_order.crossings(layers, below))

    order_layers = layer_order.order_layers
    monkeypatch.setattr(layered, "order_layers", counted)
    lay_out_networkx(model.graph)
    assert sum(counts) <= most
