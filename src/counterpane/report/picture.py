"""The drawing of a model in a report: its columns and links, and their places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from counterpane.drawing.layout import lay_out_graph
from counterpane.models.links import Link, ModelLinks

HEIGHT = 38.0
MOST_JOINED = 6  # columns of a link up to which the links within it are looked for
HUB = 16.0  # the width of a hyperedge's mark
BETWEEN = 44.0  # from layer to layer, where they stand side by side
CANVAS = (1200.0, 640.0)  # which the drawing is to fill
LETTER = 8.6  # the width of one letter of a node's name
MOST_LETTERS = 22
MOST_COLUMNS = 110  # that are all drawn
STRONGEST = 60  # columns that are drawn if there are more
MOST_HYPEREDGES = 40
FEW_LINKS = 30
LINKS_PER_COLUMN = 1.5  # drawn at most
WHOLE_DAG = 3  # edges per column up to which all edges of a network are drawn
MOST_LONELY = 12  # columns without a link that are drawn

Edge = tuple[str, str]


def picture_of(names: Sequence[str], links: ModelLinks, target: int | None) -> dict[str, Any]:
    """Boxes, edges and hyperedges with their places, and a sentence on what was left out."""
    candidates = [k for k in links.links if len(k.scope) > 1 or links.shape != "faces"]
    joined = maximal_links(candidates)
    all_drawn = links.shape == "dag" and len(joined) <= WHOLE_DAG * len(names)
    drawn = joined if all_drawn else _backbone(joined)
    hyper = [link for link in drawn if len(link.scope) > 2][:MOST_HYPEREDGES]
    columns = [c for c in range(len(names)) if links.shape != "faces" or c != target]
    shown = _shown(columns, links, drawn)
    pairs = [k for k in drawn if len(k.scope) == 2 and shown.issuperset(k.scope)]
    hyper = [k for k in hyper if shown.issuperset(k.scope)]
    edges: list[Edge] = [(str(k.scope[0]), str(k.scope[1])) for k in pairs]
    for place, link in enumerate(hyper):
        edges += [(f"h{place}", str(c)) for c in link.scope]
    nodes = [str(c) for c in columns if c in shown]
    widths = {node: box_width(names[int(node)]) for node in nodes}
    hubs = [f"h{place}" for place in range(len(hyper))]
    widths |= dict.fromkeys(hubs, HUB)
    down = bool(pairs) and links.shape == "dag"
    drawing = _downwards([*nodes, *hubs], edges, widths, directed=down)
    if down:
        aside = _sideways(nodes, edges, widths)
        drawing = max(
            drawing, aside, key=lambda d: min(CANVAS[0] / d.size[0], CANVAS[1] / d.size[1])
        )
    routes = iter(drawing.routes)
    return {
        "size": _rounded(drawing.size),
        "height": HEIGHT,
        "letter": LETTER,
        "letters": MOST_LETTERS,
        "nodes": [[int(n), *_rounded(drawing.places[n]), drawing.widths[n]] for n in nodes],
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
    """Centers of boxes, their widths, and the points of each edge as x, y, x, y, …"""

    places: dict[str, tuple[float, float]]
    widths: dict[str, float]
    routes: list[list[float]]
    size: tuple[float, float]


def _downwards(
    nodes: Sequence[str], edges: Sequence[Edge], widths: dict[str, float], *, directed: bool
) -> ReportDrawing:
    layout = lay_out_graph(nodes, edges, directed=directed, widths=widths, height=HEIGHT)
    routes = [_rounded(x for point in layout.routes[e] for x in point) for e in edges]
    return ReportDrawing(dict(layout.positions), widths, routes, layout.size)


def _sideways(
    nodes: Sequence[str], edges: Sequence[Edge], widths: dict[str, float]
) -> ReportDrawing:
    """Parents left of children: laid out downwards with boxes on end, then turned.

    Boxes are all as wide as the widest. The layers, set apart by multiples of that width, are
    brought closer.
    """
    wide = max(widths.values())
    on_end = dict.fromkeys(nodes, HEIGHT)
    layout = lay_out_graph(nodes, edges, directed=True, widths=on_end, height=wide)
    closer = max(0.75, (wide + BETWEEN) / (2.3 * wide))
    layers = np.unique([y for _, y in layout.positions.values()])
    places = {n: (y * closer, x) for n, (x, y) in layout.positions.items()}

    def turned(x: float, y: float) -> tuple[float, float]:
        layer = float(layers[np.abs(layers - y).argmin()])
        return layer * closer + (y - layer), x

    routes = [_rounded(v for xy in layout.routes[e] for v in turned(*xy)) for e in edges]
    width = max(x for x, _ in places.values()) + wide / 2
    return ReportDrawing(places, dict.fromkeys(nodes, wide), routes, (width, layout.size[0]))


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(v, 1) for v in values]


def box_width(name: str) -> float:
    """The width of a node's box, for its name as far as it is shown."""
    wide = sum(2 if ord(letter) > 0x2E7F else 1 for letter in name[: MOST_LETTERS + 1])
    return max(56.0, LETTER * min(wide, MOST_LETTERS) + 26.0)


def _shown(columns: Sequence[int], links: ModelLinks, drawn: Sequence[Link]) -> set[int]:
    """All columns of a small model; else those of the strongest links."""
    joined = {c for link in drawn for c in link.scope}
    if len(joined) <= MOST_COLUMNS:
        alone = [c for c in columns if c not in joined]
        effects = {link.scope[0]: link.strength for link in links.links if len(link.scope) == 1}
        alone.sort(key=lambda c: -effects.get(c, 0.0))
        room = max(MOST_LONELY, STRONGEST - len(joined)) if effects else MOST_LONELY
        return joined | set(alone[:room])
    shown: set[int] = set()
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
