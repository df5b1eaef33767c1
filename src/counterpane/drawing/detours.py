"""Edges of a drawing around the boxes that would be in their way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterpane.typing import Floats, Ints

Point = tuple[float, float]

BULGES = (0.0, 0.06, 0.12, 0.18, 0.25, 0.32, 0.4, 0.5)  # of an arc, in lengths of its chord
CLEARANCE = 0.2  # of an edge from a box that it passes, in box heights
MAX_TESTS = 1_000_000  # edges × nodes beyond which all edges are straight
DENSE = 4  # edges a node, likewise: no arc finds a way through


def routes_around(
    edges: Sequence[tuple[int, int]], centers: Floats, widths: Floats, height: float
) -> tuple[list[list[Point]], int]:
    """(the points of each edge, how many boxes the edges still run through).

    An edge runs straight from border to border, or by the top of an arc. The arc is the
    flattest of those that run through the fewest boxes.
    """
    boxes = np.column_stack([widths, np.full(len(widths), height)]) / 2
    wide = boxes + CLEARANCE * height
    bent = len(edges) <= min(MAX_TESTS / len(centers), max(60, DENSE * len(centers)))
    shares = np.linspace(0.0, 1.0, 13)[:, None]
    routes, total = [], 0
    for a, b in edges:
        start, stop = centers[a], centers[b]
        across = np.array([start[1] - stop[1], stop[0] - start[0]])
        best, fewest = [start, stop], len(centers)
        for bulge in [side * bulge for bulge in BULGES for side in (1, -1)][
            1 : None if bent else 2
        ]:
            arc = start + shares * (stop - start) + 4 * bulge * shares * (1 - shares) * across
            cut = _cuts(arc, centers, wide, (a, b))
            if cut < fewest:
                top = (start + stop) / 2 + bulge * across
                best, fewest = [start, top, stop] if bulge else [start, stop], cut
            if not fewest:
                break
        first, last = _border(start, best[1], boxes[a]), _border(stop, best[-2], boxes[b])
        total += fewest
        routes.append([(float(x), float(y)) for x, y in (first, *best[1:-1], last)])
    return routes, total


def _cuts(points: Floats, centers: Floats, boxes: Floats, ends: Sequence[int]) -> int:
    """The number of boxes, other than those of the ends, that a line through points runs through.

    `boxes` are half sizes.
    """
    low = points.min(axis=0) - boxes < centers
    near: Ints = np.flatnonzero((low & (centers < points.max(axis=0) + boxes)).all(axis=1))
    near = near[~np.isin(near, ends)]
    along = np.diff(points, axis=0)
    along = np.where(np.abs(along) < 1e-9, 1e-9, along)[:, None]
    middle = (centers[near] - points[:-1, None]) / along
    half = np.abs(boxes[near] / along)
    enter, leave = (middle - half).max(axis=2), (middle + half).min(axis=2)
    return int((np.maximum(enter, 0.0) < np.minimum(leave, 1.0)).any(axis=0).sum())


def _border(center: Floats, toward: Floats, box: Floats) -> Floats:
    """The point where a line from a box's center leaves the box."""
    step = toward - center
    out: Floats = center + step / max(1.0, float((np.abs(step) / box).max()))
    return out
