"""The order of nodes within the layers of a drawing: few crossings between adjacent layers."""

from __future__ import annotations

from bisect import bisect_right, insort

import numpy as np

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
        found = _improve(first, above, below, size <= SIFTED_EDGES)
        if best is None or found[0] < best[0]:
            best = found
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
    for _ in range(3):
        helped = False
        for members in layers:
            for v in sorted(members, key=lambda v: -len(above[v]) - len(below[v])):
                at = place[v]
                best, to = 0, at
                for others in (range(at + 1, len(members)), range(at - 1, -1, -1)):
                    total = 0
                    for i in others:
                        pair = (v, members[i]) if i > at else (members[i], v)
                        total += _excess(above[pair[0]], above[pair[1]], place)
                        total += _excess(below[pair[0]], below[pair[1]], place)
                        if total > best:
                            best, to = total, i
                if best:
                    members.insert(to, members.pop(at))
                    _number(members, place)
                    helped = True
        if not helped:
            break


def _excess(left: list[int], right: list[int], place: list[int]) -> int:
    """Crossings of two adjacent nodes' edges as they stand, less those when they are swapped."""
    excess = 0
    for a in left:
        at = place[a]
        for b in right:
            excess += (at > place[b]) - (at < place[b])
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
