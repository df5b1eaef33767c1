"""The order of nodes within the layers of a drawing: few crossings between adjacent layers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable

import numpy as np

Neighbors = list[list[int]]

SWEEPS = 24
PATIENCE = 6  # sweeps without fewer crossings
STARTED_EDGES = 4_500  # in all starts together
MAX_STARTS = 20


def order_layers(layers: list[list[int]], below: Neighbors) -> None:
    """Reorder each layer in place; `below[v]` are the neighbors of v in the next layer.

    From several first orders (depth first, as given, and drawn with a fixed seed where the graph is
    small), sweeps down and up sort each layer by the mean place of the neighbors in the layer
    before, then exchange adjacent nodes as long as edges cross less (Gansner et al., 1993). The
    order with fewest crossings wins.
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
    best = min((_improve(first, above, below) for first in firsts), key=lambda found: found[0])
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
    layers: list[list[int]], above: Neighbors, below: Neighbors
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
        _exchange(layers, above, below, place)
        count = crossings(layers, below)
        idle += 1
        if count < best[0]:
            best, idle = (count, [list(members) for members in layers]), 0
        if idle == PATIENCE or not best[0]:
            break
    return best


def _number(members: Iterable[int], place: list[int]) -> None:
    for i, v in enumerate(members):
        place[v] = i


def _sort_by_mean(members: list[int], toward: Neighbors, place: list[int]) -> None:
    """Sort by the mean place of the neighbors; nodes without any keep theirs."""
    free = [v for v in members if toward[v]]
    key = {v: sum(place[u] for u in toward[v]) / len(toward[v]) for v in free}
    ordered = iter(sorted(free, key=key.__getitem__))  # stable
    members[:] = [next(ordered) if toward[v] else v for v in members]
    _number(members, place)


def _exchange(
    layers: list[list[int]], above: Neighbors, below: Neighbors, place: list[int]
) -> None:
    """Exchange adjacent nodes where their edges cross less then, until nothing changes."""
    again = True
    while again:
        again = False
        for members in layers:
            ends = [
                (sorted(place[u] for u in above[v]), sorted(place[u] for u in below[v]))
                for v in members
            ]
            for i in range(len(members) - 1):
                left, right = ends[i], ends[i + 1]
                if sum(map(_excess, left, right)) > 0:
                    members[i], members[i + 1] = members[i + 1], members[i]
                    ends[i], ends[i + 1] = right, left
                    again = True
            _number(members, place)


def _excess(left: list[int], right: list[int]) -> int:
    """Crossings of the edges of two adjacent nodes, less those if they change places."""
    return sum(len(left) - bisect_right(left, end) - bisect_left(left, end) for end in right)


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
