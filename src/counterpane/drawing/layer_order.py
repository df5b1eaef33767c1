"""The order of nodes within the layers of a drawing: few crossings between adjacent layers."""

from __future__ import annotations

from bisect import bisect_right, insort

import numpy as np

from counterpane.typing import Array

Neighbors = list[list[int]]

SWEEPS = 16
ROUNDS = 3  # of sifting in a sweep; one where the graph is large, which crosses no more
PATIENCE = 4  # sweeps without fewer crossings
SIFTED_EDGES = 3_000  # with more, nodes are only sorted
STARTED_EDGES = 1_500  # in all starts together
MAX_STARTS = 12
SHORT_LAYER = 12  # nodes up to which plain loops are faster than arrays


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
        rounds = 0 if size > SIFTED_EDGES else 1 if size > STARTED_EDGES else ROUNDS
        improved = _improve(first, above, below, rounds)
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
    layers: list[list[int]], above: Neighbors, below: Neighbors, rounds: int
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
        _sift(layers, above, below, place, rounds)
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


def _sift(
    layers: list[list[int]], above: Neighbors, below: Neighbors, place: list[int], rounds: int
) -> None:
    """Move each node to the place in its layer with the fewest crossings, a few times over."""
    stale = [True] * len(layers)  # layers in which, or next to which, a node was moved
    for _ in range(rounds):
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
    if n <= SHORT_LAYER:
        return _sift_short(members, above, below, place)
    excess = _excess(members, above, place) + _excess(members, below, place)
    # gains[v, g] − gains[v, where[v]] crossings go if v moves into the gap before place g.
    gains = np.zeros((n, n + 1), dtype=np.float32)
    np.cumsum(excess, axis=1, out=gains[:, 1:])
    nodes, order, where = np.array(members), np.arange(n), np.arange(n)
    if not (gains.max(axis=1) > gains[order, where]).any():
        return False
    degrees = [len(above[v]) + len(below[v]) for v in members]
    for v in sorted(range(n), key=lambda v: -degrees[v]):
        at, own = int(where[v]), gains[v]
        if not own.max() > own[at]:
            continue
        right = at + int(own[at + 1 :].argmax())
        left = at - int(own[at::-1].argmax())
        to = right if own[right + 1] >= own[left] else left
        low, high = min(at, to), max(at, to) + 1
        between = order[low:high]  # a view
        if to < at:
            between[1:], between[0] = between[:-1].copy(), v
        else:
            between[:-1], between[-1] = between[1:].copy(), v
        where[between] = np.arange(low, high)
        gains[:, low + 1 : high + 1] = gains[:, low, None] + excess[:, between].cumsum(axis=1)
    members[:] = nodes[order].tolist()
    _number(members, place)
    return True


def _sift_short(members: list[int], above: Neighbors, below: Neighbors, place: list[int]) -> bool:
    """The same moves as `_sift_layer`, by counting the crossings of pairs when they are needed."""
    if len(members) == 1:
        return False
    ends = {v: ([place[u] for u in above[v]], [place[u] for u in below[v]]) for v in members}
    excess: dict[tuple[int, int], int] = {}

    def gain(left: int, right: int) -> int:
        """Crossings of two nodes' edges as they stand, less those when they change places."""
        if (left, right) not in excess:
            total = 0
            for mine, others in zip(ends[left], ends[right], strict=True):
                for a in mine:
                    for b in others:
                        total += (a > b) - (a < b)
            excess[left, right], excess[right, left] = total, -total
        return excess[left, right]

    moved = False
    for v in sorted(members, key=lambda v: -len(above[v]) - len(below[v])):
        at, best = place[v], 0
        to, total = at, 0
        for i in range(at + 1, len(members)):
            total += gain(v, members[i])
            if total > best:
                best, to = total, i
        total = 0
        for i in range(at - 1, -1, -1):
            total += gain(members[i], v)
            if total > best:
                best, to = total, i
        if best:
            members.insert(to, members.pop(at))
            _number(members, place)
            moved = True
    return moved


def _excess(members: list[int], toward: Neighbors, place: list[int]) -> Array:
    """[v, u]: crossings of the edges of v and u if v is left of u, less those if it is right.

    Both are given by their places in the layer. Cost: nodes × edges.
    """
    n = len(members)
    ends = [place[u] for v in members for u in toward[v]]
    width = max(ends, default=0) + 1
    if width == 1:  # no edges, or all to one node
        return np.zeros((n, n), dtype=np.float32)
    degrees = [len(toward[v]) for v in members]
    rows = np.repeat(np.arange(n) * width, degrees)
    # Whole numbers of single precision: they are small.
    counts = np.bincount(rows + ends, minlength=n * width).reshape(n, width).astype(np.float32)
    up_to = counts.cumsum(axis=1)
    beyond = up_to[:, -1:] - 2 * up_to + counts  # edge ends right of a place, less those left of it
    sums = np.zeros((n, len(ends) + 1), dtype=np.float32)  # over the edges, node after node
    np.cumsum(beyond[:, ends], axis=1, out=sums[:, 1:])
    stops = np.cumsum(degrees)
    return np.asarray(sums[:, stops] - sums[:, stops - degrees])


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
