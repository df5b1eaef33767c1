"""The drawing of a model in a report: which columns and links are drawn, and their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from counterpane.drawing.layout import GraphLayout, lay_out_in_frame
from counterpane.lazy import lazy
from counterpane.models.edges import mark_of
from counterpane.tools.links import Link, ModelLinks

nx = lazy("networkx")

FRAME = (1195.0, 590.0)  # of a page in a window of 1,300 × 800 pixels
READABLE = 0.8  # the scale at which names and states can be read
# States in sight and space between boxes: the first at which the drawing is readable.
TRIED = ((6, 40.0), (6, 28.0), (6, 20.0), (4, 28.0), (4, 20.0))
MOST_TRIED = 30  # boxes up to which more than the last is tried
HUB = 16.0  # the width of a hyperedge's mark
LETTER, STATE_LETTER = 9.0, 6.6  # widths of a letter of a name and of a state
WIDTHS = (120.0, 200.0)  # the least and the largest of a box
HEAD, SECOND_LINE = 32.0, 10.0  # heights of a name with borders, and of what a long one adds
ROW, MOST_ROWS = 17.0, 6  # the height of a state; states in sight
MOST_COLUMNS = 60  # that are drawn
FEW_COLUMNS = 20  # up to which all are drawn at once, and of those around a column
MOST_LONELY = 12  # columns without a link that are drawn
MOST_INTERACTIONS = 12  # of a classifier
WHOLE_DAG = 3  # edges per column up to which all edges of a network are drawn
FEW_LINKS, LINKS_PER_COLUMN = 30, 1.5  # drawn at most
MOST_JOINED = 6  # columns of a link up to which the links within it are looked for

Box = tuple[float, float]  # width and height


def pictures_of(
    names: Sequence[str], boxes: Sequence[Box], links: ModelLinks, target: int | None
) -> dict[str, Any]:
    """The picture of a model, and `focus`: what is around its class or its strongest column.

    There is a focus where the names in the picture of many columns would be too small.
    """
    joined = [k for k in links.links if len(k.scope) > 1]
    joined = joined if links.shape == "faces" else maximal_links(joined)
    drawn = _drawn(joined, links.shape, len(names))
    shown = _shown(len(names), links, drawn, target)
    picture = _picture(boxes, links.shape, drawn, shown, target)
    picture["note"] = _note(len(names), shown, joined, picture)
    found: dict[str, Any] = {"picture": picture}
    few = len(shown) <= FEW_COLUMNS or links.shape == "faces"
    if not few and not _fits(picture["size"]):
        center, near = _around(joined, target)
        inside = _drawn([k for k in joined if near.issuperset(k.scope)], links.shape, len(near))
        focus = _picture(boxes, links.shape, inside, near, target)
        found["focus"] = focus | {"center": center}
    return found


def _picture(
    boxes: Sequence[Box], shape: str, links: Sequence[Link], shown: set[int], target: int | None
) -> dict[str, Any]:
    """Boxes, edges and hyperedges with their places."""
    columns = sorted(shown, key=lambda c: (c != target, c))
    drawn = [k for k in links if shown.issuperset(k.scope)]
    hubs = {k: f"h{place}" for place, k in enumerate(k for k in drawn if len(k.scope) > 2)}
    sizes = {str(c): boxes[c] for c in columns} | dict.fromkeys(hubs.values(), (HUB, HUB))
    lines = {k: [(hubs[k], str(c)) for c in k.scope] for k in hubs}
    lines |= {k: [(str(k.scope[0]), str(k.scope[1]))] for k in drawn if k not in hubs}
    edges = [edge for each in lines.values() for edge in each]
    layout = _laid_out(sizes, edges, directed=shape == "dag")
    routes = {k: [_flat(layout.routes[e]) for e in lines[k]] for k in drawn}
    records = {k: link_record(k, shape) for k in drawn}
    return {
        "size": _rounded(layout.size),
        "nodes": [[c, *_rounded(layout.positions[str(c)]), *layout.sizes[str(c)]] for c in columns],
        "edges": [records[k] | {"route": routes[k][0]} for k in drawn if k not in hubs],
        "hyperedges": [
            records[k] | {"route": routes[k], "hub": _rounded(layout.positions[hubs[k]])}
            for k in hubs
        ],
        "arcs": not layout.curved,
    }


def box_size(name: str, states: Sequence[str]) -> Box:
    """(width, height) of the box of a column, which shows its name and bars of its states.

    >>> box_size("sex", ["male", "female"])
    (133.2, 66.0)
    """
    name_width = LETTER * _letters(name) + 26.0
    state_width = STATE_LETTER * min(13.0, max(map(_letters, states), default=1.0)) + 92.0
    width = min(max(WIDTHS[0], name_width, state_width), WIDTHS[1])
    head = HEAD if name_width <= WIDTHS[1] else HEAD + SECOND_LINE
    return round(width, 1), head + ROW * min(max(len(states), 1), MOST_ROWS)


def _letters(text: str) -> float:
    """How wide a text is, in letters of usual width."""
    wide = (
        2.0 if ord(x) > 0x2E7F else 1.25 if x.isupper() or x in "mw%@" else 1.0 for x in text[:40]
    )
    return sum(wide)


def maximal_links(links: Sequence[Link]) -> list[Link]:
    """The links whose columns are not all in a larger link; both directions of an edge stay."""
    inside = {
        part
        for link in links
        for k in range(2, min(len(link.scope), MOST_JOINED + 1))
        for part in combinations(sorted(link.scope), k)
    }
    return [link for link in links if tuple(sorted(link.scope)) not in inside]


def _laid_out(
    sizes: dict[str, Box], edges: Sequence[tuple[str, str]], *, directed: bool
) -> GraphLayout:
    """The first layout of those tried that can be read in the frame, else the largest there."""
    layouts = []
    for rows, space in TRIED if len(sizes) <= MOST_TRIED else TRIED[-1:]:
        layout = lay_out_in_frame(
            sizes,
            edges,
            directed=directed,
            sizes={node: (width, _cut(high, rows)) for node, (width, high) in sizes.items()},
            height=space,
            frame=FRAME,
            readable=READABLE,
        )
        if _fits(layout.size):
            return layout
        layouts.append(layout)
    return min(
        layouts, key=lambda layout: max(layout.size[0] / FRAME[0], layout.size[1] / FRAME[1])
    )


def _cut(height: float, rows: int) -> float:
    """The height of a box in which so many states are in sight."""
    return height - ROW * max(0, int((height - HEAD) // ROW) - rows)


def _fits(size: Sequence[float]) -> bool:
    return all(one * READABLE <= room for one, room in zip(size, FRAME, strict=True))


def _around(joined: Sequence[Link], target: int | None) -> tuple[int, set[int]]:
    """(a column, those nearest to it): the class if it has links, else the strongest column."""
    weights: dict[int, float] = {}
    for link in joined:
        for c in link.scope:
            weights[c] = weights.get(c, 0.0) + link.strength
    center = target if target in weights else max(weights, key=lambda c: (weights[c], -c))
    assert center is not None
    near = edge = {center}
    while edge and len(near) < FEW_COLUMNS:
        touching = [k for k in joined if edge & set(k.scope)]
        found = [c for k in sorted(touching, key=lambda k: -k.strength) for c in k.scope]
        edge = set([c for c in dict.fromkeys(found) if c not in near][: FEW_COLUMNS - len(near)])
        near = near | edge
    return center, near


def _drawn(joined: Sequence[Link], shape: str, columns: int) -> list[Link]:
    """The links that stay legible, the strongest first.

    Those of a graph hold a maximum spanning forest: columns that are connected in the model stay
    connected in the drawing.
    """
    ranked = sorted(joined, key=lambda k: (-(k.share or 0.0), -k.strength, k.scope))
    if shape == "faces":
        return sorted(joined, key=lambda k: -k.strength)[:MOST_INTERACTIONS]
    if shape == "dag" and len(joined) <= WHOLE_DAG * columns:
        return ranked
    parts = nx.utils.UnionFind()
    forest = set()
    for link in ranked:
        if len({parts[c] for c in link.scope}) > 1:
            forest.add(link)
            parts.union(*link.scope)
    most = max(FEW_LINKS, round(LINKS_PER_COLUMN * len({c for k in joined for c in k.scope})))
    rest = [link for link in ranked if link not in forest][: max(0, most - len(forest))]
    return [link for link in ranked if link in forest or link in rest]


def _shown(columns: int, links: ModelLinks, drawn: Sequence[Link], target: int | None) -> set[int]:
    """The class, the columns of the strongest links, and some without links."""
    shown = set() if target is None else {target}
    for link in drawn:
        if len(shown | set(link.scope)) <= MOST_COLUMNS:
            shown |= set(link.scope)
    if len(shown) < MOST_COLUMNS:
        effects = {k.scope[0]: k.strength for k in links.links if len(k.scope) == 1}
        joined = {c for k in links.links if len(k.scope) > 1 for c in k.scope}
        alone = [c for c in range(columns) if c not in shown and (c in effects or c not in joined)]
        room = min(MOST_LONELY // 2, max(0, FEW_COLUMNS - len(shown))) if effects else MOST_LONELY
        shown.update(sorted(alone, key=lambda c: -effects.get(c, 0.0))[:room])
    return shown


def link_record(link: Link, shape: str) -> dict[str, Any]:
    """Return an edge with the keys of `Edge`, its columns by position; or an interaction.

    An interaction has `columns` and `share` instead of `source`, `target`, `mark` and
    `share_of_mark`.
    """
    strength = float(f"{link.strength:.6g}")
    share = None if link.share is None else round(link.share, 4)
    if shape == "faces" or len(link.scope) != 2:
        return {"columns": list(link.scope), "strength": strength, "share": share}
    source, target = link.scope
    return {
        "source": source,
        "target": target,
        "mark": mark_of(link.directed),
        "strength": strength,
        "share_of_mark": share,
    }


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(v, 1) for v in values]


def _flat(points: Iterable[tuple[float, float]]) -> list[float]:
    return _rounded(v for point in points for v in point)


def _note(columns: int, shown: set[int], joined: Sequence[Link], picture: Mapping[str, Any]) -> str:
    lines = []
    if len(shown) < columns:
        lines.append(
            f"{len(shown):,} of {columns:,} columns are drawn: those of the strongest links; "
            "search for any other to see what is around it."
        )
    n_drawn = len(picture["edges"]) + len(picture["hyperedges"])
    if n_drawn < len(joined):
        lines.append(f"The strongest {n_drawn:,} of {len(joined):,} links are drawn.")
    return " ".join(lines)
