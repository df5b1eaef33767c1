"""Where the boxes and edges of a drawn graph go: components side by side, single nodes in rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
MAX_ROOMY = 400  # edges of a component up to which other room is tried
ROOMS = ((1.0, 0.9, 0.8), (1.0, 1.2, 1.45))  # within a frame, and without one
ASIDE = 8.0  # between two edges of one pair
ASPECT = 1.6  # width over height that components are packed for
MAX_SCALE, MAX_STRETCH = 1.5, 1.5  # of a drawing that leaves room in its frame

Point = tuple[float, float]
Edge = tuple[str, str]
Marks = Mapping[Edge, tuple[int, int]]
"""The marks at the first and at the second end of each edge: `TAIL`, `ARROW` or `CIRCLE`."""


@dataclass(frozen=True)
class GraphLayout:
    """Places of a drawn graph, y growing downwards.

    `positions` are the centers of the node boxes, `sizes` their widths and heights; the letters of
    a label are half as high as `height`. `routes` give
    for each edge the points that it passes, the first on the border of its first node's box and the
    last on that of its second; where `curved`, edges run straight up and down at all these points,
    as `counterpane.drawing.svg.edge_curve` draws them (or to the left and right, where the layers
    run across). `size` is the width and height of the whole.
    """

    positions: dict[str, Point]
    routes: dict[Edge, tuple[Point, ...]]
    size: Point
    sizes: dict[str, Point]
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
    sizes: Mapping[str, Point] | None = None,
    height: float = BOX_HEIGHT,
) -> GraphLayout:
    """Places for the nodes and edges of a graph; boxes of the given `sizes` never overlap.

    Directed graphs are drawn in layers, parents above children as far as there is no cycle
    (Sugiyama, Tagawa and Toda, 1981), and their edges pass between the boxes. Others are drawn by
    stress majorization (Gansner, Koren and North, 2004), with straight edges. The same arguments
    always give the same places. By default a box has the size of its label; spaces between boxes
    are multiples of `height`.

    >>> layout = lay_out_graph("abc", [("a", "b"), ("a", "c")], directed=True)
    >>> layout.positions["a"][1] < layout.positions["b"][1] == layout.positions["c"][1]
    True
    """
    names = list(nodes)
    if sizes is None:
        sizes = {name: (label_width(name, height), height) for name in names}
    return _lay_out(names, edges, directed, sizes, height, None)


def lay_out_in_frame(
    nodes: Iterable[str],
    edges: Iterable[Edge],
    *,
    directed: bool,
    sizes: Mapping[str, Point],
    height: float,
    frame: Point,
    readable: float = 1.0,
) -> GraphLayout:
    """The layout that fills a frame best: the one that is largest when it is scaled to fit.

    A directed graph is drawn in layers that run down or across where either fits at the scale
    `readable`; else by stress as well, which folds long chains. What is narrower than the frame is
    spread.
    """
    names, pairs = list(nodes), list(edges)
    turned = {name: (h, w) for name, (w, h) in sizes.items()}
    layouts = []
    if directed:
        layouts.append(_lay_out(names, pairs, True, sizes, height, frame))
        layouts.append(_turned(_lay_out(names, pairs, True, turned, height, frame[::-1])))
    if max((_scale(layout, frame) for layout in layouts), default=0.0) < readable:
        layouts.append(_lay_out(names, pairs, False, sizes, height, frame))
    return _filling(max(layouts, key=lambda layout: _scale(layout, frame)), frame)


def _scale(layout: GraphLayout, frame: Point) -> float:
    """The factor by which a layout fits into a frame."""
    return min(room / size for room, size in zip(frame, layout.size, strict=True))


def _turned(layout: GraphLayout) -> GraphLayout:
    """The layout with its axes exchanged."""
    return _moved(
        replace(
            layout,
            sizes={name: (h, w) for name, (w, h) in layout.sizes.items()},
            size=layout.size[::-1],
        ),
        lambda point: point[::-1],
    )


def _filling(layout: GraphLayout, frame: Point) -> GraphLayout:
    """The layout, its boxes farther apart along the axis on which the frame has room."""
    scale = min(_scale(layout, frame), MAX_SCALE)
    gaps = [
        min(MAX_STRETCH, room / scale / size) for room, size in zip(frame, layout.size, strict=True)
    ]
    if len(layout.positions) < 2 or max(gaps) < 1.01:
        return layout
    across, down = gaps
    ends = {}
    for edge, route in layout.routes.items():
        ends[edge] = [
            (x - layout.positions[name][0], y - layout.positions[name][1])
            for name, (x, y) in zip(edge, (route[0], route[-1]), strict=True)
        ]
    moved = _moved(layout, lambda point: (across * point[0], down * point[1]))
    routes = {}
    for (a, b), route in moved.routes.items():  # they still end where they did on the boxes
        first, last = (
            (moved.positions[name][0] + dx, moved.positions[name][1] + dy)
            for name, (dx, dy) in zip((a, b), ends[a, b], strict=True)
        )
        routes[a, b] = (first, *route[1:-1], last)
    return replace(moved, routes=routes, size=(across * layout.size[0], down * layout.size[1]))


def _moved(layout: GraphLayout, move: Callable[[Point], Point]) -> GraphLayout:
    return replace(
        layout,
        positions={name: move(point) for name, point in layout.positions.items()},
        routes={edge: tuple(map(move, route)) for edge, route in layout.routes.items()},
    )


def _lay_out(
    names: list[str],
    edges: Iterable[Edge],
    directed: bool,
    sizes: Mapping[str, Point],
    height: float,
    frame: Point | None,
) -> GraphLayout:
    pairs = list(dict.fromkeys((str(a), str(b)) for a, b in edges))
    _check(names, pairs)
    place = {name: i for i, name in enumerate(names)}
    ends = [(place[a], place[b]) for a, b in pairs]
    boxes = np.array([sizes[name] for name in names], dtype=np.float64).reshape(-1, 2)
    centers = np.zeros((len(names), 2))
    routes: list[list[Point]] = [[] for _ in pairs]
    components = _components(len(names), ends)
    single = [part[0] for part in components if len(part) == 1]
    joined = [part for part in components if len(part) > 1]
    parts = []
    if frame is not None and not directed and joined:
        rows = _rows(boxes[single], height, frame[0] - height)
        below = float((rows[:, 1] + boxes[single, 1] / 2).max()) + 2.5 * height if single else 0.0
        room = np.array([frame[0], max(frame[1] - below, frame[1] / 2)]) - height
        together = sorted(v for part in joined for v in part)
        parts.append(_lay_out_part(together, ends, _ties(joined, ends), boxes, height, False, room))
    else:
        parts += [_lay_out_part(part, ends, [], boxes, height, directed, None) for part in joined]
    wide = 0.0 if frame is None else frame[0] - height
    size = _pack(parts, single, boxes, height, wide, centers, routes)
    return GraphLayout(
        {name: (float(x), float(y)) for name, (x, y) in zip(names, centers, strict=True)},
        {pair: tuple(route) for pair, route in zip(pairs, routes, strict=True)},
        size,
        {name: sizes[name] for name in names},
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


def _ties(
    components: Sequence[Sequence[int]], ends: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Pairs of nodes of several components that stand near each other: their busiest ones."""
    degrees = Counter(v for edge in ends for v in edge)
    first, *others = (max(part, key=lambda v: (degrees[v], -v)) for part in components)
    return [(first, other) for other in others]


def _lay_out_part(
    nodes: list[int],
    ends: Sequence[tuple[int, int]],
    ties: Sequence[tuple[int, int]],
    boxes: Floats,
    height: float,
    directed: bool,
    frame: Floats | None,
) -> _Part:
    local = {v: i for i, v in enumerate(nodes)}
    numbers = [e for e, (a, _) in enumerate(ends) if a in local]
    pairs = [(local[ends[e][0]], local[ends[e][1]]) for e in numbers]
    sizes = boxes[nodes]
    small = len(nodes) <= MAX_NODES
    drawn = layered(pairs, sizes, height) if directed and small else None
    if drawn is not None:
        centers, routes = drawn
    elif small:
        tied = [(local[a], local[b]) for a, b in ties]
        centers, routes = _spread_clear(pairs, tied, sizes, height, frame)
    else:
        centers = _rows(sizes, height, _row_width(sizes, height))
        routes, _ = routes_around(pairs, centers, sizes, height)
    points = np.array([point for route in routes for point in route])
    low = np.minimum((centers - sizes / 2).min(axis=0), points.min(axis=0))
    high = np.maximum((centers + sizes / 2).max(axis=0), points.max(axis=0))
    moved = [[(float(x - low[0]), float(y - low[1])) for x, y in route] for route in routes]
    size = float(high[0] - low[0]), float(high[1] - low[1])
    return _Part(nodes, numbers, centers - low, moved, size, drawn is not None)


def _spread_clear(
    pairs: Sequence[tuple[int, int]],
    ties: Sequence[tuple[int, int]],
    sizes: Floats,
    height: float,
    frame: Floats | None,
) -> tuple[Floats, list[list[Point]]]:
    """Places by stress, with other room where edges would run through boxes otherwise."""
    near = [*pairs, *ties]
    first = spread(near, sizes, height, frame)
    attempts = []
    for room in ROOMS[frame is None] if len(pairs) <= MAX_ROOMY else (1.0,):
        if frame is None:
            centers = room * first
        else:
            centers = first if room == 1.0 else spread(near, sizes, height, room * frame)
        routes, cuts = routes_around(pairs, centers, sizes, height)
        attempts.append((cuts, centers, routes))
        if not cuts:
            break
    return min(attempts, key=lambda attempt: attempt[0])[1:]


def _pack(
    parts: list[_Part],
    single: list[int],
    boxes: Floats,
    height: float,
    wide: float,
    centers: Floats,
    routes: list[list[Point]],
) -> Point:
    """Fill `centers` and `routes`: parts on shelves, the tallest first; the size of it all.

    A shelf is as long as makes a page of the usual shape, or `wide`.
    """
    gap, margin = 1.5 * height, height / 2
    area = sum((p.size[0] + gap) * (p.size[1] + gap) for p in parts)
    limit = max([wide or (ASPECT * area) ** 0.5, *(p.size[0] for p in parts)])
    if not parts and not wide:
        limit = _row_width(boxes[single], height)
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
        rows = _rows(boxes[single], height, max(limit, right))
        top = bottom + gap if parts else 0.0
        centers[single] = rows + np.array([margin, margin + top])
        right = max(right, float((rows[:, 0] + boxes[single, 0] / 2).max()))
        bottom = top + float((rows[:, 1] + boxes[single, 1] / 2).max())
    return right + 2 * margin, bottom + 2 * margin


def _row_width(sizes: Floats, height: float) -> float:
    """The width at which boxes in rows fill a page of the usual shape."""
    return float((ASPECT * (sizes + height / 2).prod(axis=1).sum()) ** 0.5)


def _rows(sizes: Floats, height: float, limit: float) -> Floats:
    """Centers of boxes one after the other, in as many rows as `limit` asks for."""
    centers = np.zeros_like(sizes)
    x = y = tallest = 0.0
    for i, (width, high) in enumerate(sizes.tolist()):
        if x > 0 and x + width > limit:
            x, y, tallest = 0.0, y + tallest + height / 2, 0.0
        centers[i] = x + width / 2, y + high / 2
        x += width + height / 2
        tallest = max(tallest, high)
    return centers
