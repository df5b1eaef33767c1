"""The drawing of a model in a report: the places of boxes and links in the frame of a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from counterpane.drawing.layout import GraphLayout, lay_out_in_frame
from counterpane.report.drawn_links import (
    FEW_COLUMNS,
    columns_around,
    drawn_links,
    link_record,
    maximal_links,
    shown_columns,
)
from counterpane.tools.links import Link, ModelLinks

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

Box = tuple[float, float]  # width and height


def pictures_of(
    names: Sequence[str], boxes: Sequence[Box], links: ModelLinks, target: int | None
) -> dict[str, Any]:
    """The picture of a model, and `focus`: what is around its class or its strongest column.

    There is a focus where the names in the picture of many columns would be too small.
    """
    joined = [k for k in links.links if len(k.scope) > 1]
    joined = joined if links.shape == "faces" else maximal_links(joined)
    drawn = drawn_links(joined, links.shape, len(names))
    shown = shown_columns(len(names), links, drawn, target)
    picture = _picture(boxes, links.shape, drawn, shown, target)
    picture["note"] = _note(len(names), shown, joined, picture)
    found: dict[str, Any] = {"picture": picture}
    few = len(shown) <= FEW_COLUMNS or links.shape == "faces"
    if not few and not _fits(picture["size"]):
        center, near = columns_around(joined, target)
        inside = drawn_links(
            [k for k in joined if near.issuperset(k.scope)], links.shape, len(near)
        )
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
