"""The curves along which edges of a laid-out graph are drawn, and their arrowheads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

Point = tuple[float, float]


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
