"""Where the boxes and edges of a drawn graph go: components side by side, single nodes in rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpane.drawing.layered import layered
from counterpane.drawing.stress import routes_around, spread
from counterpane.errors import GraphError
from counterpane.graphs.dag import Dag
from counterpane.graphs.mixed import ARROW, MixedEdge
from counterpane.lazy import lazy
from counterpane.typing import Floats

nx = lazy("networkx")

BOX_HEIGHT = 24.0
MAX_NODES = 1_200  # of one component; a larger one stands in rows, as no drawing would be legible
MAX_LETTERS = 32  # of a label
MAX_ROOMY = 400  # edges of a component up to which more room is tried
ASIDE = 8.0  # between two edges of one pair
ASPECT = 1.6  # width over height that components are packed for

Point = tuple[float, float]
Edge = tuple[str, str]
Marks = Mapping[Edge, tuple[int, int]]
"""The marks at the first and at the second end of each edge: `TAIL`, `ARROW` or `CIRCLE`."""


@dataclass(frozen=True)
class GraphLayout:
    """Places of a drawn graph, y growing downwards.

    `positions` are the centers of the node boxes, `widths` and `height` their sizes. `routes` give
    for each edge the points that it passes, the first on the border of its first node's box and the
    last on that of its second; where `curved`, edges run straight up and down at all these points,
    as `counterpane.drawing.svg.edge_curve` draws them. `size` is the width and height of the whole.
    """

    positions: dict[str, Point]
    routes: dict[Edge, tuple[Point, ...]]
    size: Point
    widths: dict[str, float]
    height: float
    directed: bool
    curved: bool


def label_width(label: str, height: float = BOX_HEIGHT) -> float:
    """The width of a box of `height` around a label, for a sans-serif font of half that size."""
    letters = sum(_letter_width(letter) for letter in short_label(label))
    return height * (0.6 + max(letters, 0.6))


def short_label(label: str) -> str:
    """The label as it is drawn, cut where it is long."""
    return label if len(label) <= MAX_LETTERS else label[: MAX_LETTERS - 1] + "…"


def _letter_width(letter: str) -> float:
    if ord(letter) > 0x2E7F:  # East Asian scripts
        return 0.55
    return 0.42 if letter in "mwMW%@" else 0.37 if letter.isupper() else 0.31


def lay_out_graph(
    nodes: Iterable[str],
    edges: Iterable[Edge],
    *,
    directed: bool,
    widths: Mapping[str, float] | None = None,
    height: float = BOX_HEIGHT,
) -> GraphLayout:
    """Places for the nodes and edges of a graph; boxes of the given `widths` never overlap.

    Directed graphs are drawn in layers, parents above children as far as there is no cycle
    (Sugiyama, Tagawa and Toda, 1981), and their edges pass between the boxes. Others are drawn by
    stress majorization (Gansner, Koren and North, 2004), with straight edges. The same arguments
    always give the same places. `widths` are those of the labels by default.

    >>> layout = lay_out_graph("abc", [("a", "b"), ("a", "c")], directed=True)
    >>> layout.positions["a"][1] < layout.positions["b"][1] == layout.positions["c"][1]
    True
    """
    names = list(nodes)
    pairs = list(dict.fromkeys((str(a), str(b)) for a, b in edges))
    _check(names, pairs)
    sizes = {name: label_width(name, height) if widths is None else widths[name] for name in names}
    place = {name: i for i, name in enumerate(names)}
    ends = [(place[a], place[b]) for a, b in pairs]
    wide = np.array([sizes[name] for name in names], dtype=np.float64)
    centers = np.zeros((len(names), 2))
    routes: list[list[Point]] = [[] for _ in pairs]
    parts: list[_Part] = []
    single: list[int] = []
    for component in _components(len(names), ends):
        if len(component) == 1:
            single += component
            continue
        parts.append(_lay_out_part(component, ends, wide, height, directed))
    size = _pack(parts, single, wide, height, centers, routes)
    return GraphLayout(
        {name: (float(x), float(y)) for name, (x, y) in zip(names, centers, strict=True)},
        {pair: tuple(route) for pair, route in zip(pairs, routes, strict=True)},
        size,
        sizes,
        height,
        directed,
        all(part.curved for part in parts) and directed,
    )


def lay_out_networkx(
    graph: Any, arrows: Collection[Edge] | None = None
) -> tuple[GraphLayout, frozenset[Edge]]:
    """(a layout of a networkx graph, the edges with an arrowhead).

    `arrows` are the edges of an acyclic graph that have one, by default all. A directed graph with
    cycles, such as that of a dependency network or of an equivalence class, is laid out as an
    undirected one: an edge in both directions is a line, one in a single direction an arrow.
    """
    nodes = [str(node) for node in graph.nodes]
    edges = [(str(a), str(b)) for a, b in graph.edges if a != b]
    if not graph.is_directed():
        return lay_out_graph(nodes, edges, directed=False), frozenset()
    place = {name: i for i, name in enumerate(nodes)}
    try:
        Dag(len(nodes), [(place[a], place[b]) for a, b in edges])
        layout = lay_out_graph(nodes, edges, directed=True)
        return layout, frozenset(edges if arrows is None else arrows)
    except GraphError:
        arcs = set(edges)
    heads = frozenset((a, b) for a, b in edges if (b, a) not in arcs)
    lines = [(a, b) for a, b in edges if (a, b) in heads or a < b]
    return lay_out_graph(nodes, lines, directed=False), heads


def lay_out_mixed(
    nodes: Sequence[str], edges: Iterable[MixedEdge]
) -> tuple[GraphLayout, dict[Edge, tuple[int, int]]]:
    """(a layout of a graph with marks, the marks of its edges).

    Edges → and o→ lead down, as far as there is no cycle. An edge a ↔ b beside a → b is an arc, and
    stands in the layout as (b, a).

    >>> from counterpane.graphs.mixed import TAIL
    >>> layout, marks = lay_out_mixed("ab", [MixedEdge("a", "->", "b"), MixedEdge("a", "<->", "b")])
    >>> marks == {("a", "b"): (TAIL, ARROW), ("b", "a"): (ARROW, ARROW)}
    True
    """
    ordered = sorted(edges, key=lambda edge: edge.kind == "<->")
    first: dict[frozenset[str], MixedEdge] = {}
    marks: dict[Edge, tuple[int, int]] = {}
    for edge in ordered:
        beside = first.setdefault(frozenset((edge.a, edge.b)), edge)
        marks[(edge.a, edge.b) if beside is edge else (beside.b, beside.a)] = edge.marks
    pairs = [(edge.a, edge.b) for edge in first.values()]
    pointed = any(ARROW in ends and ends != (ARROW, ARROW) for ends in marks.values())
    layout = lay_out_graph(nodes, pairs, directed=pointed)
    routes = dict(layout.routes)
    for a, b in marks.keys() - routes.keys():
        (x, y), (to_x, to_y) = ((u + ASIDE, v) for u, v in (routes[b, a][-1], routes[b, a][0]))
        aside = 0.2 * max(abs(to_y - y), abs(to_x - x), layout.height)
        middle = (x + to_x) / 2 + aside, (y + to_y) / 2 + aside * (abs(to_x - x) > abs(to_y - y))
        routes[a, b] = ((x, y), middle, (to_x, to_y))
    return replace(layout, routes=routes), marks


@dataclass(frozen=True)
class _Part:
    """A component: its nodes, its edges by number, and their places from (0, 0) on."""

    nodes: list[int]
    edges: list[int]
    centers: Floats
    routes: list[list[Point]]
    size: Point
    curved: bool


def _check(names: Sequence[str], pairs: Sequence[Edge]) -> None:
    distinct = set(names)
    if len(distinct) < len(names):
        raise GraphError(f"{len(names)} nodes have {len(distinct)} names; each needs its own.")
    for a, b in pairs:
        if a not in distinct or b not in distinct:
            raise GraphError(f"the edge ({a!r}, {b!r}) ends at a node that is not in the graph.")
        if a == b:
            raise GraphError(f"node {a!r} has an edge to itself; drop it.")


def _components(n: int, ends: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The connected components, each in the order of its nodes, by their first nodes."""
    graph = nx.Graph(ends)
    graph.add_nodes_from(range(n))
    return sorted(map(sorted, nx.connected_components(graph)))


def _lay_out_part(
    nodes: list[int], ends: Sequence[tuple[int, int]], wide: Floats, height: float, directed: bool
) -> _Part:
    local = {v: i for i, v in enumerate(nodes)}
    numbers = [e for e, (a, _) in enumerate(ends) if a in local]
    pairs = [(local[ends[e][0]], local[ends[e][1]]) for e in numbers]
    widths = wide[nodes]
    small = len(nodes) <= MAX_NODES
    drawn = layered(pairs, widths, height) if directed and small else None
    if drawn is not None:
        centers, routes = drawn
    elif small:
        centers, routes = _spread_clear(pairs, widths, height)
    else:
        centers = _rows(widths, height, _row_width(widths, height))
        routes, _ = routes_around(pairs, centers, widths, height)
    half = np.column_stack([widths, np.full(len(nodes), height)]) / 2
    points = np.array([point for route in routes for point in route])
    low = np.minimum((centers - half).min(axis=0), points.min(axis=0))
    high = np.maximum((centers + half).max(axis=0), points.max(axis=0))
    moved = [[(float(x - low[0]), float(y - low[1])) for x, y in route] for route in routes]
    size = float(high[0] - low[0]), float(high[1] - low[1])
    return _Part(nodes, numbers, centers - low, moved, size, drawn is not None)


def _spread_clear(
    pairs: Sequence[tuple[int, int]], widths: Floats, height: float
) -> tuple[Floats, list[list[Point]]]:
    """Places by stress, with more room where edges would run through boxes otherwise."""
    first = spread(pairs, widths, height)
    attempts = []
    for room in (1.0, 1.2, 1.45) if len(pairs) <= MAX_ROOMY else (1.0,):
        routes, cuts = routes_around(pairs, room * first, widths, height)
        attempts.append((cuts, room * first, routes))
        if not cuts:
            break
    return min(attempts, key=lambda attempt: attempt[0])[1:]


def _pack(
    parts: list[_Part],
    single: list[int],
    wide: Floats,
    height: float,
    centers: Floats,
    routes: list[list[Point]],
) -> Point:
    """Fill `centers` and `routes`: parts on shelves, the tallest first; the size of it all."""
    gap, margin = 1.5 * height, height / 2
    area = sum((p.size[0] + gap) * (p.size[1] + gap) for p in parts)
    limit = max([(ASPECT * area) ** 0.5, *(p.size[0] for p in parts)])
    if not parts:
        limit = _row_width(wide[single], height)
    x = y = tallest = right = 0.0
    for part in sorted(parts, key=lambda p: (-p.size[1], p.nodes[0])):
        if x > 0 and x + part.size[0] > limit:
            x, y, tallest = 0.0, y + tallest + gap, 0.0
        shift = np.array([margin + x, margin + y])
        centers[part.nodes] = part.centers + shift
        for e, route in zip(part.edges, part.routes, strict=True):
            routes[e] = [(px + float(shift[0]), py + float(shift[1])) for px, py in route]
        right, tallest = max(right, x + part.size[0]), max(tallest, part.size[1])
        x += part.size[0] + gap
    bottom = y + tallest
    if single:
        rows = _rows(wide[single], height, max(limit, right))
        top = bottom + gap if parts else 0.0
        centers[single] = rows + np.array([margin, margin + top])
        right = max(right, float((rows[:, 0] + wide[single] / 2).max()))
        bottom = top + float(rows[:, 1].max()) + height / 2
    return right + 2 * margin, bottom + 2 * margin


def _row_width(widths: Floats, height: float) -> float:
    """The width at which boxes in rows fill a page of the usual shape."""
    return float((ASPECT * ((widths + height / 2) * 1.5 * height).sum()) ** 0.5)


def _rows(widths: Floats, height: float, limit: float) -> Floats:
    """Centers of boxes one after the other, in as many rows as `limit` asks for."""
    centers = np.zeros((len(widths), 2))
    x = y = 0.0
    for i, width in enumerate(widths.tolist()):
        if x > 0 and x + width > limit:
            x, y = 0.0, y + 1.5 * height
        centers[i] = x + width / 2, y + height / 2
        x += width + height / 2
    return centers
