"""The order of nodes within the layers of a drawing: few crossings between adjacent layers."""

from __future__ import annotations

from bisect import bisect_right, insort

import numpy as np

from counterpane.ragged import offsets_of
from counterpane.typing import Array

Neighbors = list[list[int]]

SWEEPS = 16
PATIENCE = 4  # sweeps without fewer crossings
SIFTED_EDGES = 3_000  # with more, nodes are only sorted
STARTED_EDGES = 1_500  # in all starts together
MAX_STARTS = 12


def order_layers(layers: list[list[int]], below: Neighbors) -> None:
    """Reorder each layer in place; `below[v]` are the neighbors of v in the next layer.

    From several first orders (depth first, as given, and drawn with a fixed seed where the graph is
    small), sweeps down and up sort each layer by the mean place of the neighbors in the layer
    before, then move single nodes to where they cross least. The order with fewest crossings wins.
    """
    above: Neighbors = [[] for _ in below]
    for u, others in enumerate(below):
        for v in others:
            above[v].append(u)
    size = sum(map(len, below))
    rng = np.random.default_rng(0)
    firsts = [_depth_first(layers, below), [list(members) for members in layers]]
    while len(firsts) * size < STARTED_EDGES and len(firsts) < MAX_STARTS:
        firsts.append([rng.permutation(members).tolist() for members in layers])
    best: tuple[int, list[list[int]]] | None = None
    for first in firsts:
        improved = _improve(first, above, below, size <= SIFTED_EDGES)
        if best is None or improved[0] < best[0]:
            best = improved
    assert best is not None
    for members, ordered in zip(layers, best[1], strict=True):
        members[:] = ordered


def crossings(layers: list[list[int]], below: Neighbors) -> int:
    """The number of pairs of edges that cross, O(edges · log edges)."""
    total = 0
    for k in range(len(layers) - 1):
        place = {v: i for i, v in enumerate(layers[k + 1])}
        seen: list[int] = []
        for u in layers[k]:
            ends = sorted(place[v] for v in below[u])
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _improve(
    layers: list[list[int]], above: Neighbors, below: Neighbors, sift: bool
) -> tuple[int, list[list[int]]]:
    place = [0] * len(below)
    for members in layers:
        _number(members, place)
    best = crossings(layers, below), [list(members) for members in layers]
    idle = 0
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for k in range(1, len(layers)) if down else range(len(layers) - 2, -1, -1):
            _sort_by_mean(layers[k], above if down else below, place)
        if sift:
            _sift(layers, above, below, place)
        count = crossings(layers, below)
        idle += 1
        if count < best[0]:
            best, idle = (count, [list(members) for members in layers]), 0
        if idle == PATIENCE or not best[0]:
            break
    return best


def _number(members: list[int], place: list[int]) -> None:
    for i, v in enumerate(members):
        place[v] = i


def _sort_by_mean(members: list[int], toward: Neighbors, place: list[int]) -> None:
    """Sort by the mean place of the neighbors; nodes without any keep theirs."""
    free = [v for v in members if toward[v]]
    key = {v: sum(place[u] for u in toward[v]) / len(toward[v]) for v in free}
    ordered = iter(sorted(free, key=key.__getitem__))  # stable
    members[:] = [next(ordered) if toward[v] else v for v in members]
    _number(members, place)


def _sift(layers: list[list[int]], above: Neighbors, below: Neighbors, place: list[int]) -> None:
    """Move each node to the place in its layer with the fewest crossings, a few times over."""
    stale = [True] * len(layers)  # layers in which, or next to which, a node was moved
    for _ in range(3):
        for k, members in enumerate(layers):
            if stale[k]:
                stale[k] = _sift_layer(members, above, below, place)
                for near in (k - 1, k + 1) if stale[k] else ():
                    if 0 <= near < len(layers):
                        stale[near] = True
        if not any(stale):
            break


def _sift_layer(members: list[int], above: Neighbors, below: Neighbors, place: list[int]) -> bool:
    """Move each node of one layer, those with most edges first; whether any was moved."""
    n = len(members)
    if n == 1:
        return False
    excess = _excess(members, above, place) + _excess(members, below, place)
    # gains[v, g] − gains[v, where[v]] crossings go if v moves into the gap before place g.
    gains = np.zeros((n, n + 1), dtype=np.int32)
    np.cumsum(excess, axis=1, out=gains[:, 1:])
    nodes, order, where = np.array(members), np.arange(n), np.arange(n)
    useful = gains.max(axis=1) > gains[order, where]
    if not useful.any():
        return False
    degrees = [len(above[v]) + len(below[v]) for v in members]
    for v in sorted(range(n), key=lambda v: -degrees[v]):
        if not useful[v]:
            continue
        at = int(where[v])
        right = at + int(np.argmax(gains[v, at + 1 :]))
        left = at - int(np.argmax(gains[v, at::-1]))
        to = right if gains[v, right + 1] >= gains[v, left] else left
        low, high = min(at, to), max(at, to) + 1
        between = order[low:high]  # a view
        between[:] = np.roll(between, 1 if to < at else -1)
        where[between] = np.arange(low, high)
        gains[:, low + 1 : high + 1] = gains[:, low, None] + excess[:, between].cumsum(axis=1)
        useful = gains.max(axis=1) > gains[np.arange(n), where]
    members[:] = nodes[order].tolist()
    _number(members, place)
    return True


def _excess(members: list[int], toward: Neighbors, place: list[int]) -> Array:
    """[v, u]: crossings of the edges of v and u if v is left of u, less those if it is right.

    Both are given by their places in the layer. Cost: O(members · edges).
    """
    n = len(members)
    sizes = np.array([len(toward[v]) for v in members])
    excess = np.zeros((n, n), dtype=np.int32)
    ends = np.array([place[u] for v in members for u in toward[v]], dtype=np.int64)
    width = int(ends.max(initial=0)) + 1
    if width == 1:  # no edges, or all to one node
        return excess
    cells = np.repeat(np.arange(n) * width, sizes) + ends
    counts = np.bincount(cells, minlength=n * width).reshape(n, width).astype(np.int32)
    up_to = counts.cumsum(axis=1, dtype=np.int32)
    beyond = up_to[:, -1:] - 2 * up_to + counts  # edge ends right of a place, less those left of it
    starts = offsets_of(sizes)
    single, several = np.flatnonzero(sizes == 1), np.flatnonzero(sizes > 1)
    excess[:, single] = beyond[:, ends[starts[single]]]  # placeholders: nearly all nodes
    for u in several.tolist():
        excess[:, u] = beyond[:, ends[starts[u] : starts[u + 1]]].sum(axis=1)
    return excess


def _depth_first(layers: list[list[int]], below: Neighbors) -> list[list[int]]:
    """The layers with their nodes in the order of a depth-first walk from the top."""
    visited: dict[int, int] = {}
    for members in layers:
        for start in members:
            stack = [start]
            while stack:
                v = stack.pop()
                if v not in visited:
                    visited[v] = len(visited)
                    stack += reversed(below[v])
    return [sorted(members, key=visited.__getitem__) for members in layers]
