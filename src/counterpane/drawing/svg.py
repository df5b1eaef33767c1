"""A laid-out graph as SVG text, its edges as curves with arrowheads, and a graph as DOT text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

from counterpane.drawing.layout import Edge, GraphLayout, Marks, Point, short_label
from counterpane.graphs.mixed import ARROW as HEAD
from counterpane.graphs.mixed import CIRCLE, TAIL


class Arrow(NamedTuple):
    """An edge up to where its head begins, and the head's three corners, the tip first."""

    points: tuple[Point, ...]
    head: tuple[Point, Point, Point]


def edge_curve(points: Sequence[Point], *, curved: bool) -> list[tuple[Point, ...]]:
    """The pieces of an edge drawn through `points`: ends of lines, or cubic curves.

    A piece is one point, the end of a line, or three: two controls and the end of a Bézier curve.
    Where `curved`, curves leave and arrive vertically and so stay between the layers; else an edge
    of three points is an arc.

    >>> edge_curve([(0, 0), (0, 2), (4, 6)], curved=True)
    [((0, 2),), ((0, 4.0), (4, 4.0), (4, 6))]
    """
    if not curved and len(points) == 3:
        (x, y), (mid_x, mid_y), (to_x, to_y) = points
        leave = (4 * mid_x - to_x) / 3, (4 * mid_y - to_y) / 3
        arrive = (4 * mid_x - x) / 3, (4 * mid_y - y) / 3
        return [(leave, arrive, (to_x, to_y))]
    pieces: list[tuple[Point, ...]] = []
    for (x, y), (to_x, to_y) in pairwise(points):
        if curved and x != to_x:
            middle = (y + to_y) / 2
            pieces.append(((x, middle), (to_x, middle), (to_x, to_y)))
        else:
            pieces.append(((to_x, to_y),))
    return pieces


def arrow(points: Sequence[Point], *, curved: bool, length: float) -> Arrow:
    """The edge through `points` with a head of `length` at its end.

    >>> arrow([(0, 0), (0, 10)], curved=False, length=5).points
    ((0, 0), (0.0, 5.0))
    """
    (x, y), before = points[-1], points[-2]
    if not curved and len(points) == 3:
        before = edge_curve(points, curved=False)[0][1]
    dx, dy = (0.0, y - before[1]) if curved else (x - before[0], y - before[1])
    size = max((dx * dx + dy * dy) ** 0.5, 1e-9)
    dx, dy = length * dx / size, length * dy / size
    left, right = (x - dx - 0.4 * dy, y - dy + 0.4 * dx), (x - dx + 0.4 * dy, y - dy - 0.4 * dx)
    return Arrow((*points[:-1], (x - dx, y - dy)), ((x, y), left, right))


class MarkedLine(NamedTuple):
    """An edge between the marks at its ends: the arrowheads, and the centers of the circles."""

    points: tuple[Point, ...]
    heads: tuple[tuple[Point, Point, Point], ...]
    circles: tuple[Point, ...]
    radius: float


def marked_line(
    points: Sequence[Point], marks: tuple[int, int], *, curved: bool, length: float
) -> MarkedLine:
    """The edge through `points` with these marks at its first and its last point.

    >>> line = marked_line([(0, 0), (0, 10)], (CIRCLE, HEAD), curved=False, length=4)
    >>> line.points[-1], len(line.heads), len(line.circles)
    ((0.0, 6.0), 1, 1)
    """
    radius = 0.35 * length
    path, heads, circles = tuple(points), [], []
    for mark in marks[::-1]:  # the last point first; then the edge is turned
        if mark != TAIL:
            size = length if mark == HEAD else 2 * radius
            shaft, corners = arrow(path, curved=curved, length=size)
            (x, y), (tip_x, tip_y) = shaft[-1], corners[0]
            path = shaft
            if mark == HEAD:
                heads.append(corners)
            else:
                circles.append(((x + tip_x) / 2, (y + tip_y) / 2))
        path = path[::-1]
    return MarkedLine(path, tuple(heads), tuple(circles), radius)


ARROW = 7.0  # length of an arrowhead
MARGIN = 10.0  # around a picture that is a file of its own


def graph_svg(
    layout: GraphLayout,
    *,
    strengths: Mapping[Edge, float] | None = None,
    arrows: Collection[Edge] | None = None,
    marks: Marks | None = None,
    marked: Collection[str] = (),
    titles: Mapping[str | Edge, str] | None = None,
    page: bool = False,
) -> str:
    """The `<svg>` element of a graph, without scripts, styles or ids, so that many share a page.

    `strengths`, 0 to 1, are drawn as widths; `arrows` are the edges with an arrowhead, by default
    all of a directed graph, or `marks` say what is at both ends of each edge; `marked` nodes are
    filled more strongly; `titles` are shown over nodes and edges. With `page` it is a file of its
    own: black on white, with margins.

    >>> from counterpane.drawing.layout import lay_out_graph
    >>> text = graph_svg(lay_out_graph(["<a>", "b"], [("<a>", "b")], directed=True))
    >>> text.count("<rect"), text.count("<path"), "&lt;a&gt;" in text, "<a>" in text
    (2, 2, True, False)
    """
    titles = titles or {}
    parts = []
    for edge, points in layout.routes.items():
        strength = 1.0 if strengths is None else strengths.get(edge, 0.0)
        pointed = layout.directed if arrows is None else edge in arrows
        ends = (TAIL, HEAD if pointed else TAIL) if marks is None else marks[edge]
        drawn = _edge(points, layout.curved, ends, 0.6 + 1.6 * min(max(strength, 0.0), 1.0))
        parts.append(_titled(drawn, titles.get(edge)))
    for name, (x, y) in layout.positions.items():
        width, height = layout.sizes[name]
        opacity = 0.25 if name in marked else 0.07
        box = (
            f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" rx="{height / 4:.1f}" fill="currentColor" '
            f'fill-opacity="{opacity}" stroke="currentColor" stroke-opacity="0.5"/>'
            f'<text x="{x:.1f}" y="{y:.1f}" dy="0.34em" text-anchor="middle" '
            f'fill="currentColor">{escape(short_label(name))}</text>'
        )
        full = name if short_label(name) != name else None
        parts.append(_titled(box, titles.get(name, full)))
    width, height = layout.size
    if page:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 2 * MARGIN:.0f}" '
            f'height="{height + 2 * MARGIN:.0f}" viewBox="{-MARGIN:.0f} {-MARGIN:.0f} '
            f'{width + 2 * MARGIN:.0f} {height + 2 * MARGIN:.0f}" color="black" '
            f'font-family="sans-serif" font-size="{layout.height / 2:g}">'
            f'<rect x="{-MARGIN:.0f}" y="{-MARGIN:.0f}" width="100%" height="100%" fill="white"/>'
            f"{''.join(parts)}</svg>\n"
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" style="max-width:100%;height:auto;color:inherit" role="img" '
        f'font-family="sans-serif" font-size="{layout.height / 2:g}">{"".join(parts)}</svg>'
    )


def svg_path(points: Sequence[Point], *, curved: bool) -> str:
    """The `d` of an SVG path along an edge's points.

    >>> svg_path([(0, 0), (4, 6)], curved=True)
    'M0,0C0,3 4,3 4,6'
    """
    words = [
        ("C" if len(piece) == 3 else "L") + " ".join(map(_pair, piece))
        for piece in edge_curve(points, curved=curved)
    ]
    return "M" + _pair(points[0]) + "".join(words)


def _pair(point: Point) -> str:
    return ",".join(f"{value:.1f}".removesuffix(".0") for value in point)


def _edge(points: Sequence[Point], curved: bool, marks: tuple[int, int], width: float) -> str:
    line = marked_line(points, marks, curved=curved, length=ARROW)
    ends = [
        f'<path d="M{"L".join(map(_pair, corners))}Z" fill="currentColor" fill-opacity="0.7"/>'
        for corners in line.heads
    ] + [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{line.radius:.1f}" fill="none" '
        'stroke="currentColor" stroke-opacity="0.7"/>'
        for x, y in line.circles
    ]
    dashed = ' stroke-dasharray="5 3"' if marks == (HEAD, HEAD) else ""
    return (
        f'<path d="{svg_path(line.points, curved=curved)}" fill="none" stroke="currentColor" '
        f'stroke-opacity="0.7" stroke-width="{width:.2f}"{dashed}/>{"".join(ends)}'
    )


def _titled(drawn: str, title: str | None) -> str:
    return f"<g>{drawn}</g>" if title is None else f"<g><title>{escape(title)}</title>{drawn}</g>"


_DOT_MARKS = {TAIL: "none", HEAD: "normal", CIRCLE: "odot"}


def graph_dot(
    nodes: Iterable[str],
    edges: Iterable[Edge],
    *,
    arrows: Collection[Edge],
    marks: Marks | None = None,
    marked: Collection[str] = (),
    hubs: Collection[str] = (),
) -> Iterator[str]:
    """The lines of a DOT file: `arrows` among the edges have a head, the others have none.

    `marks` say more than `arrows`: what is at both ends of each edge.

    `marked` nodes are filled; `hubs` are drawn as points, which join more than two others.

    >>> print("".join(graph_dot(["a", "b", "c"], [("a", "b"), ("b", "c")], arrows=[("a", "b")])))
    digraph {
      node [shape=box, style=rounded];
      "a";
      "b";
      "c";
      "a" -> "b";
      "b" -> "c" [dir=none];
    }
    <BLANKLINE>
    """
    yield "digraph {\n  node [shape=box, style=rounded];\n"
    for node in nodes:
        look = ' [style="rounded,filled"]' if node in marked else ""
        look = f" [shape=point, xlabel={_quoted(node)}]" if node in hubs else look
        yield f"  {_quoted(node)}{look};\n"
    for a, b in edges:
        look = "" if (a, b) in arrows else " [dir=none]"
        if marks is not None:
            tail, head = (_DOT_MARKS[mark] for mark in marks[a, b])
            dashed = ", style=dashed" if marks[a, b] == (HEAD, HEAD) else ""
            look = f" [dir=both, arrowtail={tail}, arrowhead={head}{dashed}]"
        yield f"  {_quoted(a)} -> {_quoted(b)}{look};\n"
    yield "}\n"


def _quoted(name: str) -> str:
    """A name as a string of DOT, in which backslashes are shown as they are."""
    text = re.sub(r'["\\]', r"\\\g<0>", re.sub(r"[\x00-\x1f]+", " ", name))
    return f'"{text}"'
