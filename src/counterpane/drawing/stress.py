"""Drawings of undirected graphs by stress, then boxes pushed apart."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from counterpane.typing import Floats

ITERATIONS = 200
PUSHES = 60
FLATTER = 0.75
GAP = 0.5  # least space between boxes, in box heights


def spread(edges: Sequence[tuple[int, int]], widths: Floats, height: float) -> Floats:
    """Centers, shape (n, 2), of a connected graph's boxes, as far apart as their shortest paths.

    Minimizes Σ (‖x_i − x_j‖ − d_ij)² / d_ij² by majorization (Gansner, Koren and North, 2004) from
    classical scaling. Cost: O(n³) once and O(n²) an iteration.
    """
    distances = _distances(edges, len(widths))
    length = float(widths.mean()) + 2 * height
    # Boxes are wider than high, and so is the drawing.
    centers = _majorize(_scale(distances), distances) * [length, FLATTER * length]
    boxes = np.column_stack([widths, np.full(len(widths), height)]) + GAP * height
    return _part(centers, boxes)


def _distances(edges: Sequence[tuple[int, int]], n: int) -> Floats:
    """Numbers of edges on shortest paths between all pairs."""
    near: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    out = np.zeros((n, n))
    for start in range(n):
        far = {start: 0}
        queue = deque([start])
        while queue:
            v = queue.popleft()
            for u in near[v]:
                if u not in far:
                    far[u] = far[v] + 1
                    queue.append(u)
        out[start, list(far)] = list(far.values())
    return out


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
