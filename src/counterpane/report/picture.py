"""The drawing of a model in a report: its columns and links, and their places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from counterpane.drawing.layout import lay_out_graph
from counterpane.models.links import Link, ModelLinks

MOST_JOINED = 6  # columns of a link up to which the links within it are looked for
CLEAR, ASIDE = 26.0, 90.0  # least distance of boxes; that of the class from the rest
HUB = 16.0  # the width of a hyperedge's mark
CANVAS = (1360.0, 780.0)  # which the drawing is to fill
LAYERS = (34.0, 56.0)  # heights at which layers are planned, before boxes get theirs
ROOMY = 30  # edges up to which layers stand apart, so that there is room for numbers
LETTER, STATE_LETTER = 8.4, 6.6  # widths of a letter of a name and of a state
WIDTHS = (120.0, 200.0)  # the least and the largest of a box
HEAD, ROW, MOST_ROWS = 34.0, 17.0, 6  # heights of a head with borders, of a state; states in sight
MOST_COLUMNS = 110  # that are all drawn
STRONGEST = 60  # columns that are drawn if there are more
MOST_HYPEREDGES = 40
FEW_LINKS = 30
LINKS_PER_COLUMN = 1.5  # drawn at most
WHOLE_DAG = 3  # edges per column up to which all edges of a network are drawn
MOST_LONELY = 12  # columns without a link that are drawn

Edge = tuple[str, str]
Box = tuple[float, float]  # width and height


def picture_of(
    names: Sequence[str], boxes: Sequence[Box], links: ModelLinks, target: int | None
) -> dict[str, Any]:
    """Boxes, edges and hyperedges with their places, and a sentence on what was left out."""
    candidates = [k for k in links.links if len(k.scope) > 1 or links.shape != "faces"]
    joined = maximal_links(candidates)
    all_drawn = links.shape == "dag" and len(joined) <= WHOLE_DAG * len(names)
    drawn = joined if all_drawn else _backbone(joined)
    hyper = [link for link in drawn if len(link.scope) > 2][:MOST_HYPEREDGES]
    columns = list(range(len(names)))
    shown = _shown(columns, links, drawn, target)
    pairs = [k for k in drawn if len(k.scope) == 2 and shown.issuperset(k.scope)]
    hyper = [k for k in hyper if shown.issuperset(k.scope)]
    edges: list[Edge] = [(str(k.scope[0]), str(k.scope[1])) for k in pairs]
    for place, link in enumerate(hyper):
        edges += [(f"h{place}", str(c)) for c in link.scope]
    nodes = [str(c) for c in columns if c in shown]
    sizes = {node: boxes[int(node)] for node in nodes}
    hubs = [f"h{place}" for place in range(len(hyper))]
    down = bool(pairs) and links.shape == "dag"
    if down:
        both = _layered(nodes, edges, sizes), _sideways(nodes, edges, sizes)
        drawing = max(both, key=lambda d: min(CANVAS[0] / d.size[0], CANVAS[1] / d.size[1]))
    else:
        apart = str(target) if links.shape == "faces" and target is not None else None
        drawing = _spread([*nodes, *hubs], edges, sizes | dict.fromkeys(hubs, (HUB, HUB)), apart)
    routes = iter(drawing.routes)
    return {
        "size": _rounded(drawing.size),
        "nodes": [[int(n), *_rounded(drawing.places[n]), *sizes[n]] for n in nodes],
        "edges": [{**_drawn_link(k), "r": next(routes)} for k in pairs],
        "hyperedges": [
            {
                **_drawn_link(k),
                "hub": _rounded(drawing.places[h]),
                "r": [next(routes) for _ in k.scope],
            }
            for k, h in zip(hyper, hubs, strict=True)
        ],
        "arcs": not down,
        "note": _note(columns, shown, joined, len(pairs) + len(hyper)),
    }


@dataclass(frozen=True)
class ReportDrawing:
    """Centers of boxes, and the points of each edge as x, y, x, y, …"""

    places: dict[str, tuple[float, float]]
    routes: list[list[float]]
    size: tuple[float, float]


def box_size(name: str, states: Sequence[str]) -> Box:
    """(width, height) of the box of a column, which shows its name and bars of its states.

    >>> box_size("sex", ["male", "female"])
    (133.2, 68.0)
    """
    name_width = LETTER * _letters(name) + 26.0
    state_width = STATE_LETTER * min(13.0, max(map(_letters, states), default=1.0)) + 92.0
    width = min(max(WIDTHS[0], name_width, state_width), WIDTHS[1])
    return round(width, 1), HEAD + ROW * min(max(len(states), 1), MOST_ROWS)


def _letters(text: str) -> float:
    """How wide a text is, in letters of usual width."""
    wide = (
        2.0 if ord(x) > 0x2E7F else 1.25 if x.isupper() or x in "mw%@" else 1.0 for x in text[:40]
    )
    return sum(wide)


def _spread(
    nodes: Sequence[str], edges: Sequence[Edge], sizes: dict[str, Box], apart: str | None
) -> ReportDrawing:
    """Places by stress, as close as boxes may stand; the node `apart` stands left of the others."""
    rest = [n for n in nodes if n != apart]
    widths, height = {n: sizes[n][0] for n in rest}, max(h for _, h in sizes.values())
    layout = lay_out_graph(rest, edges, directed=False, widths=widths, height=height)
    factor = _closest(layout.positions, sizes)
    left = sizes[apart][0] + ASIDE if apart is not None else 0.0
    places = {n: (factor * x, factor * y) for n, (x, y) in layout.positions.items()}
    low = [min((xy[k] - sizes[n][k] / 2 for n, xy in places.items()), default=0.0) for k in (0, 1)]
    places = {n: (left + x - low[0], y - low[1]) for n, (x, y) in places.items()}
    routes = []
    for a, b in edges:
        ends = [_border(places[u], places[v], sizes[u]) for u, v in ((a, b), (b, a))]
        bends = layout.routes[a, b][1:-1]
        middle = [v for x, y in bends for v in (left + factor * x - low[0], factor * y - low[1])]
        routes.append(_rounded([*ends[0], *middle, *ends[1]]))
    width = max((x + sizes[n][0] / 2 for n, (x, _) in places.items()), default=left)
    tall = max((y + sizes[n][1] / 2 for n, (_, y) in places.items()), default=height)
    if apart is not None:
        places[apart] = sizes[apart][0] / 2, max(tall, sizes[apart][1]) / 2
    return ReportDrawing(places, routes, (width, max(tall, height)))


def _closest(places: dict[str, tuple[float, float]], sizes: dict[str, Box]) -> float:
    """The factor by which places can be scaled so that boxes just keep their distance."""
    if len(places) < 2:
        return 1.0
    xy = np.array(list(places.values()))
    wh = np.array([sizes[n] for n in places])
    a, b = np.triu_indices(len(xy), 1)
    gaps = (wh[a] + wh[b]) / 2 + CLEAR
    needed = np.min(gaps / np.maximum(np.abs(xy[a] - xy[b]), 1e-9), axis=1)  # in x or in y
    return float(min(needed.max(), 1.0))


def _border(
    center: tuple[float, float], other: tuple[float, float], size: Box
) -> tuple[float, float]:
    """Where the line from a box's center to another point leaves the box."""
    dx, dy = other[0] - center[0], other[1] - center[1]
    share = min(size[0] / 2 / max(abs(dx), 1e-9), size[1] / 2 / max(abs(dy), 1e-9), 1.0)
    return center[0] + dx * share, center[1] + dy * share


def _layered(nodes: Sequence[str], edges: Sequence[Edge], sizes: dict[str, Box]) -> ReportDrawing:
    """Parents above children: laid out with flat boxes, then each layer gets its height."""
    widths, flat = {n: sizes[n][0] for n in nodes}, LAYERS[len(edges) <= ROOMY]
    layout = lay_out_graph(nodes, edges, directed=True, widths=widths, height=flat)
    heights = {n: sizes[n][1] for n in nodes}
    stretch = _Stretch({n: y for n, (_, y) in layout.positions.items()}, heights, flat)
    places = {n: (x, stretch(y)) for n, (x, y) in layout.positions.items()}
    routes = []
    for a, b in edges:
        points = [(x, stretch(y)) for x, y in layout.routes[a, b]]
        below = 1 if places[b][1] > places[a][1] else -1
        points[0] = points[0][0], places[a][1] + below * sizes[a][1] / 2
        points[-1] = points[-1][0], places[b][1] - below * sizes[b][1] / 2
        routes.append(_rounded(v for point in points for v in point))
    return ReportDrawing(places, routes, (layout.size[0], stretch(layout.size[1])))


def _sideways(nodes: Sequence[str], edges: Sequence[Edge], sizes: dict[str, Box]) -> ReportDrawing:
    """Parents left of children: laid out downwards with boxes on end, then turned."""
    turned = _layered(nodes, edges, {n: (h, w) for n, (w, h) in sizes.items()})
    places = {n: (y, x) for n, (x, y) in turned.places.items()}
    routes = [[r[i ^ 1] for i in range(len(r))] for r in turned.routes]
    return ReportDrawing(places, routes, (turned.size[1], turned.size[0]))


class _Stretch:
    """A rising map of y that gives each layer of boxes the height of its highest."""

    def __init__(self, centers: dict[str, float], heights: dict[str, float], flat: float) -> None:
        extra: dict[float, float] = {}
        for node, y in centers.items():
            extra[round(y, 3)] = max(extra.get(round(y, 3), 0.0), heights[node] - flat)
        self.flat = flat
        self.tops = np.array([y - flat / 2 for y in extra])
        self.extra = np.array(list(extra.values()))

    def __call__(self, y: float) -> float:
        return y + float((self.extra * np.clip((y - self.tops) / self.flat, 0.0, 1.0)).sum())


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(v, 1) for v in values]


def _shown(
    columns: Sequence[int], links: ModelLinks, drawn: Sequence[Link], target: int | None
) -> set[int]:
    """The class, and all columns of a small model, else those of the strongest links."""
    joined = {c for link in drawn for c in link.scope} | ({target} if target is not None else set())
    if len(joined) <= MOST_COLUMNS:
        alone = [c for c in columns if c not in joined]
        effects = {link.scope[0]: link.strength for link in links.links if len(link.scope) == 1}
        alone.sort(key=lambda c: -effects.get(c, 0.0))
        room = max(MOST_LONELY, STRONGEST - len(joined)) if effects else MOST_LONELY
        return joined | set(alone[:room])
    shown = set() if target is None else {target}
    for link in sorted(drawn, key=lambda k: (-(k.share or 0.0), -k.strength)):
        if len(shown | set(link.scope)) <= STRONGEST:
            shown |= set(link.scope)
    return shown


def _backbone(links: Sequence[Link]) -> list[Link]:
    """The strongest links, as many as stay legible, with a maximum spanning forest of all links.

    Columns that are connected in the model so stay connected in the drawing.
    """
    ranked = sorted(links, key=lambda k: (-(k.share or 0.0), -k.strength, k.scope))
    root: dict[int, int] = {c: c for link in links for c in link.scope}

    def find(c: int) -> int:
        while root[c] != c:
            root[c] = root[root[c]]
            c = root[c]
        return c

    tree = []
    for link in ranked:
        tops = {find(c) for c in link.scope}
        if len(tops) > 1:
            tree.append(link)
            for top in tops:
                root[top] = min(tops)
    most = max(FEW_LINKS, round(LINKS_PER_COLUMN * len(root)))
    needed = set(tree)
    rest = [link for link in ranked if link not in needed]
    return tree + rest[: max(0, most - len(tree))]


def _drawn_link(link: Link) -> dict[str, Any]:
    record: dict[str, Any] = {"c": list(link.scope), "s": float(f"{link.strength:.6g}")}
    if link.share is not None:
        record["p"] = round(link.share, 4)
    if link.directed:
        record["d"] = 1
    return record


def _note(columns: Sequence[int], shown: set[int], joined: Sequence[Link], n_drawn: int) -> str:
    lines = []
    if len(shown) < len(columns):
        lonely = set(columns) - {c for link in joined for c in link.scope}
        if set(columns) - shown <= lonely:
            what = "the others have no link"
        else:
            what = "those of the strongest links; search for any other to see what is around it"
        lines.append(f"{len(shown):,} of {len(columns):,} columns are drawn: {what}.")
    if n_drawn < len(joined):
        lines.append(f"The strongest {n_drawn:,} of {len(joined):,} links are drawn.")
    return " ".join(lines)


def maximal_links(links: Sequence[Link]) -> list[Link]:
    """The links whose columns are not all in a larger link; both directions of an edge stay."""
    inside = {
        part
        for link in links
        for k in range(2, min(len(link.scope), MOST_JOINED + 1))
        for part in combinations(sorted(link.scope), k)
    }
    return [
        link for link in links if len(link.scope) > 1 and tuple(sorted(link.scope)) not in inside
    ]
