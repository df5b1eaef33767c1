"""A laid-out graph as SVG text: named boxes and edges, in the colors of the text around it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape

from counterpane.drawing.curves import arrow, edge_curve
from counterpane.drawing.layout import Edge, GraphLayout, Point, short_label

ARROW = 7.0  # length of an arrowhead
MARGIN = 10.0  # around a picture that is a file of its own


def graph_svg(
    layout: GraphLayout,
    *,
    strengths: Mapping[Edge, float] | None = None,
    arrows: Collection[Edge] | None = None,
    marked: Collection[str] = (),
    titles: Mapping[str | Edge, str] | None = None,
    page: bool = False,
) -> str:
    """The `<svg>` element of a graph, without scripts, styles or ids, so that many share a page.

    `strengths`, 0 to 1, are drawn as widths; `arrows` are the edges with an arrowhead, by default
    all of a directed graph; `marked` nodes are filled more strongly; `titles` are shown over nodes
    and edges. With `page` it is a file of its own: black on white, with margins.

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
        drawn = _edge(points, layout.curved, pointed, 0.6 + 1.6 * min(max(strength, 0.0), 1.0))
        parts.append(_titled(drawn, titles.get(edge)))
    for name, (x, y) in layout.positions.items():
        width, height = layout.widths[name], layout.height
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


def _edge(points: Sequence[Point], curved: bool, pointed: bool, width: float) -> str:
    head = ""
    if pointed:
        points, corners = arrow(points, curved=curved, length=ARROW)
        triangle = "L".join(map(_pair, corners))
        head = f'<path d="M{triangle}Z" fill="currentColor" fill-opacity="0.7"/>'
    return (
        f'<path d="{svg_path(points, curved=curved)}" fill="none" stroke="currentColor" '
        f'stroke-opacity="0.7" stroke-width="{width:.2f}"/>{head}'
    )


def _titled(drawn: str, title: str | None) -> str:
    return f"<g>{drawn}</g>" if title is None else f"<g><title>{escape(title)}</title>{drawn}</g>"
