"""Undirected drawings: places by stress, boxes pushed apart, edges around the boxes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterpane.lazy import lazy
from counterpane.typing import Floats, Ints

nx = lazy("networkx")

ITERATIONS = 200
PUSHES = 60
FLATTER = 0.75
FAR = 3.0  # space between the boxes of a small graph in a frame, in units
GAP = 0.5  # least space between boxes, in units


def spread(
    edges: Sequence[tuple[int, int]], sizes: Floats, unit: float, frame: Floats | None = None
) -> Floats:
    """Centers, shape (n, 2), of a connected graph's boxes, as far apart as their shortest paths.

    Minimizes Σ (‖x_i − x_j‖ − d_ij)² / d_ij² by majorization (Gansner, Koren and North, 2004) from
    classical scaling, then makes the drawing as large as `frame`, if there is one, or smaller where
    boxes are few. `sizes`, shape (n, 2), are those of the boxes. Cost: O(n³) once and O(n²) an
    iteration.
    """
    distances = _distances(edges, len(sizes))
    centers = _majorize(_scale(distances), distances)
    wide, high = sizes.mean(axis=0).tolist()
    if frame is None:
        length = wide + 2 * unit  # boxes are wider than high, and so is the drawing
        centers = centers * [length, max(FLATTER * length, high + 2 * unit)]
    else:
        mean = sizes.mean(axis=0)
        few = len(sizes) ** 0.5 * (mean + FAR * unit)  # a few boxes stand no farther apart
        room = np.maximum(np.minimum(frame - mean, few), unit)
        centers = centers * room / np.maximum(np.ptp(centers, axis=0), 1e-9)
    return _part(centers, sizes + GAP * unit)


def _distances(edges: Sequence[tuple[int, int]], n: int) -> Floats:
    """Numbers of edges on shortest paths between all pairs of nodes of a connected graph."""
    distances = np.empty((n, n))
    # scipy's csgraph is slower to import, by .25 s, than networkx, which made the graph.
    for start, reached in nx.all_pairs_shortest_path_length(nx.Graph(edges)):
        distances[start, list(reached)] = list(reached.values())
    return distances


def _scale(distances: Floats) -> Floats:
    """Classical scaling to two axes, the longer one across; a little apart where two coincide."""
    squares = distances**2
    centered = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centered / 2)
    axes = vectors[:, [-1, -2]] if len(values) > 1 else vectors[:, [-1, -1]]
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)  # any sign
    start = axes * np.sqrt(np.maximum(values[[-1, -2]], 0.0))
    turn = 2.4 * np.arange(len(start))
    nudge = np.column_stack([np.cos(turn), np.sin(turn)])
    nudged: Floats = start + 0.05 * nudge
    return nudged


def _majorize(start: Floats, distances: Floats) -> Floats:
    n = len(start)
    apart = distances + np.eye(n)
    weights = 1 / apart**2
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.inv(laplacian + 1.0 / n)  # the mean stays where it is
    pull = weights * distances
    centers: Floats = start - start.mean(axis=0)
    for _ in range(ITERATIONS if n <= 300 else ITERATIONS // 4):
        norms = (centers**2).sum(axis=1)
        lengths = centers @ (-2 * centers.T)
        lengths += norms
        lengths += norms[:, None]
        np.sqrt(np.maximum(lengths, 1e-12, out=lengths), out=lengths)
        ratio = np.divide(pull, lengths, out=lengths)
        moved = inverse @ (ratio.sum(axis=1)[:, None] * centers - ratio @ centers)
        done = np.abs(moved - centers).max() < 1e-3 * distances.max() / n
        centers = moved
        if done:
            break
    return centers


def _part(centers: Floats, boxes: Floats) -> Floats:
    """Centers at which no two boxes overlap, pushed along the shorter way; scaled where stuck."""
    need = (boxes[:, None] + boxes[None]) / 2
    while True:
        for _ in range(PUSHES):
            steps = centers[None] - centers[:, None]  # from row to column
            overlap = need - np.abs(steps)
            clash = np.triu((overlap > 1e-9).all(axis=2), 1)
            rows, columns = np.nonzero(clash)
            if not len(rows):
                return centers
            centers = centers.copy()
            for a, b in zip(rows.tolist(), columns.tolist(), strict=True):
                _push(centers, need[a, b], a, b)
        centers = centers * 1.1


def _push(centers: Floats, need: Floats, a: int, b: int) -> None:
    """Move two boxes apart along the axis on which they overlap less, if they still do."""
    step = centers[b] - centers[a]
    overlap = need - np.abs(step)
    if (overlap > 0).all():
        axis = int(overlap[0] > overlap[1])
        half = (overlap[axis] / 2 + 1e-6) * (1.0 if step[axis] >= 0 else -1.0)
        centers[a, axis] -= half
        centers[b, axis] += half


Point = tuple[float, float]

BULGES = (0.0, 0.06, 0.12, 0.18, 0.25, 0.32, 0.4, 0.5)  # of an arc, in lengths of its chord
CLEARANCE = 0.2  # of an edge from a box that it passes, in units
MAX_TESTS = 1_000_000  # edges × nodes beyond which all edges are straight
DENSE = 4  # edges per node, likewise: no arc avoids all boxes


def routes_around(
    edges: Sequence[tuple[int, int]], centers: Floats, sizes: Floats, unit: float
) -> tuple[list[list[Point]], int]:
    """(the points of each edge, how many boxes the edges still run through).

    An edge runs straight from border to border, or by the top of an arc. The arc is the
    flattest of those that run through the fewest boxes.
    """
    boxes = sizes / 2
    wide = boxes + CLEARANCE * unit
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
            top = (start + stop) / 2 + bulge * across
            if bulge and any((abs(top - centers[v]) <= boxes[v]).all() for v in (a, b)):
                continue  # an end on the border of a box must lie between its center and the top
            arc = start + shares * (stop - start) + 4 * bulge * shares * (1 - shares) * across
            cut = _cuts(arc, centers, wide, (a, b))
            if cut < fewest:
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
