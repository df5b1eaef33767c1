"""Layered drawings of directed graphs: layers, order within layers, then coordinates.

The steps are those of Sugiyama, Tagawa and Toda (1981). Edges that span layers pass through a
placeholder in each layer between, so that all edges run between the boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from counterpane.drawing.layer_order import order_layers
from counterpane.typing import Floats

Point = tuple[float, float]
Neighbors = list[list[int]]

MAX_PLACEHOLDERS = 20_000  # with more, a layered drawing would be illegible
ASPECT = 3.0  # width over height of the drawing that limits the width of a layer
LANE = 0.35  # width of a placeholder, in units
GAP = 0.6  # space between neighbors in a layer, in units
SWEEPS = 24
TOUCHING = 1e-6


def layered(
    edges: Sequence[tuple[int, int]], sizes: Floats, unit: float
) -> tuple[Floats, list[list[Point]]] | None:
    """(centers, points of each edge) of a connected graph; None where edges span too much.

    `sizes`, shape (n, 2), are the widths and heights of the boxes; spaces between them are
    multiples of `unit`. An edge starts at the border of its first box and ends at that of its
    second. Cost: a number of sweeps over all nodes, edges and placeholders.
    """
    n = len(sizes)
    order = _order(n, edges)
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    down = [(a, b) if rank[a] < rank[b] else (b, a) for a, b in edges]
    layer = _layers(order.tolist(), down, sizes, unit)
    if sum(layer[b] - layer[a] - 1 for a, b in down) > MAX_PLACEHOLDERS:
        return None
    chains, layers, below = _placeholders(layer, down)
    order_layers(layers, below)
    lanes = np.tile([LANE * unit, 0.0], (len(below) - n, 1))
    boxes = np.concatenate([sizes, lanes])
    steps = [_steps(members, boxes[:, 0], n, GAP * unit) for members in layers]
    xs = _abscissas(layers, below, steps, n)
    _straighten(chains, layers, steps, xs)
    bands = _bands(layers, below, xs, boxes[:, 1], unit)
    band = np.empty((len(below), 2))
    for members, ends in zip(layers, bands, strict=True):
        band[members] = ends
    centers = np.column_stack([xs, band.mean(axis=1)])
    routes = _routes(chains, centers, band, sizes, unit)
    turned = [r[::-1] if e != d else r for r, e, d in zip(routes, edges, down, strict=True)]
    return centers[:n], turned


def _order(n: int, edges: Sequence[tuple[int, int]]) -> np.ndarray:
    """The nodes in an order against which few edges run; none where there is no cycle.

    Nodes without parents among the rest come first, else the one with most children over parents
    (Eades, Lin and Smyth, 1993).
    """
    parents, children = _neighbors(n, edges)
    into, out = np.array([len(p) for p in parents]), np.array([len(c) for c in children])
    alive = np.ones(n, dtype=bool)
    order = np.empty(n, dtype=np.int64)
    for k in range(n):
        key = np.where(into == 0, -(2**40), into - out)
        v = int(np.argmin(np.where(alive, key, 2**40)))
        order[k] = v
        alive[v] = False
        into[children[v]] -= 1
        out[parents[v]] -= 1
    return order


def _neighbors(n: int, edges: Sequence[tuple[int, int]]) -> tuple[Neighbors, Neighbors]:
    """(the parents of each node, its children)."""
    parents: Neighbors = [[] for _ in range(n)]
    children: Neighbors = [[] for _ in range(n)]
    for a, b in edges:
        parents[b].append(a)
        children[a].append(b)
    return parents, children


def _layers(
    order: list[int], edges: Sequence[tuple[int, int]], sizes: Floats, unit: float
) -> list[int]:
    """The layer of each node: below all parents, edges short, no layer much too wide."""
    n = len(order)
    parents, children = _neighbors(n, edges)
    layer = [0] * n
    for v in order:
        layer[v] = max((layer[p] + 1 for p in parents[v]), default=0)
    for _ in range(10):
        before = list(layer)
        for v in reversed(order):  # a node with as many children as parents goes down
            if children[v] and len(children[v]) >= len(parents[v]):
                layer[v] = min(layer[c] for c in children[v]) - 1
        for v in order:
            if parents[v] and len(parents[v]) > len(children[v]):
                layer[v] = max(layer[p] for p in parents[v]) + 1
        if layer == before:
            break
    room = sizes[:, 0] + GAP * unit
    area = float((room * (sizes[:, 1] + 2 * unit)).sum())
    _narrow(layer, children, room, max((ASPECT * area) ** 0.5, 2 * float(room.max())))
    levels = {k: i for i, k in enumerate(sorted(set(layer)))}
    return [levels[k] for k in layer]


def _narrow(layer: list[int], children: Neighbors, taken: Floats, limit: float) -> None:
    """Push nodes down, those with the farthest children first, until no layer is too wide."""

    def push(v: int, to: int) -> None:
        stack = [(v, to)]
        while stack:
            v, to = stack.pop()
            if layer[v] < to:
                layer[v] = to
                stack += [(c, to + 1) for c in children[v]]

    k = 0
    while k <= max(layer):
        members = [v for v in range(len(layer)) if layer[v] == k]
        room = float(taken[members].sum())
        far = 2 * len(layer)  # than any child
        slack = {v: min((layer[c] for c in children[v]), default=far) for v in members}
        for v in sorted(members, key=lambda v: (-slack[v], -v))[:-1]:
            if room <= limit:
                break
            push(v, k + 1)
            room -= taken[v]
        k += 1


def _placeholders(
    layer: list[int], edges: Sequence[tuple[int, int]]
) -> tuple[list[list[int]], list[list[int]], Neighbors]:
    """(each edge's nodes and placeholders, the members of the layers, the neighbors below)."""
    below: Neighbors = [[] for _ in layer]
    layers: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for v, k in enumerate(layer):
        layers[k].append(v)
    chains = []
    for a, b in edges:
        chain = [a]
        for k in range(layer[a] + 1, layer[b]):
            layers[k].append(len(below))
            chain.append(len(below))
            below.append([])
        chain.append(b)
        for u, v in pairwise(chain):
            below[u].append(v)
        chains.append(chain)
    return chains, layers, below


def _steps(members: list[int], widths: Floats, n: int, gap: float) -> Floats:
    """The least distances between neighbors in a layer; edges may run closer than boxes stand."""
    half = widths[members] / 2
    apart = np.where(np.array(members) < n, 0.5, 0.1) * gap
    steps: Floats = half[1:] + half[:-1] + apart[1:] + apart[:-1]
    return steps


def _abscissas(layers: list[list[int]], below: Neighbors, steps: list[Floats], n: int) -> Floats:
    """The x of each node: near its neighbors, in the order of its layer, and clear of the next.

    Sweeps over the layers; each minimizes Σ weight · (x − mean x of the neighbors)² under the
    separations, an isotonic regression. Edges between placeholders weigh most, and in the later
    sweeps a placeholder follows the neighbor before it alone, so that long edges run straight.
    """
    near: list[list[tuple[int, float]]] = [[] for _ in below]
    for u, others in enumerate(below):
        for v in others:
            weight = (1.0, 2.0, 8.0)[(u >= n) + (v >= n)]
            near[u].append((v, weight))
            near[v].append((u, weight))
    xs = np.zeros(len(below))
    offsets = []
    for members, ends in zip(layers, steps, strict=True):
        offset = np.concatenate([[0.0], np.cumsum(ends)])
        offsets.append(offset.tolist())
        xs[members] = offset - offset[-1] / 2
    x = xs.tolist()
    total = [sum(w for _, w in ends) for ends in near]
    sweeps = SWEEPS if len(below) < 4_000 else SWEEPS // 3
    for sweep in range(sweeps):
        down = sweep % 2 == 0
        aligned = sweep >= sweeps // 2
        for k in range(len(layers)) if down else reversed(range(len(layers))):
            members, offset = layers[k], offsets[k]
            targets = []
            for v, o in zip(members, offset, strict=True):
                if aligned and v >= n:
                    targets.append(x[near[v][0 if down else 1][0]] - o)
                else:
                    targets.append(sum(w * x[u] for u, w in near[v]) / total[v] - o)
            fitted = _rising(targets, [total[v] for v in members])
            for v, value, o in zip(members, fitted, offset, strict=True):
                x[v] = value + o
    return np.array(x)


def _straighten(
    chains: list[list[int]], layers: list[list[int]], steps: list[Floats], xs: Floats
) -> None:
    """Give runs of each edge's placeholders one x, as long as their neighbors leave room."""
    left: dict[int, tuple[int, float]] = {}
    right: dict[int, tuple[int, float]] = {}
    for members, distances in zip(layers, steps, strict=True):
        for u, v, step in zip(members, members[1:], distances.tolist(), strict=False):
            right[u], left[v] = (v, step), (u, step)
    for chain in chains:
        run: list[int] = []
        low, high = -np.inf, np.inf
        for v in chain[1:-1]:
            least = xs[left[v][0]] + left[v][1] if v in left else -np.inf
            most = xs[right[v][0]] - right[v][1] if v in right else np.inf
            if run and max(low, least) > min(high, most):
                xs[run] = min(max(float(np.median(xs[run])), low), high)
                run, low, high = [], -np.inf, np.inf
            low, high = max(low, least), min(high, most)
            run.append(v)
        if run:
            xs[run] = min(max(float(np.median(xs[run])), low), high)


def _rising(values: list[float], weights: list[float]) -> list[float]:
    """The nearest sequence that never falls, by weighted squares: pools of adjacent violators."""
    pools: list[tuple[float, float, int]] = []  # mean, weight, length
    for value, weight in zip(values, weights, strict=True):
        length = 1
        while pools and pools[-1][0] > value:
            mean, w, k = pools.pop()
            value = (mean * w + value * weight) / (w + weight)
            weight, length = weight + w, length + k
        pools.append((value, weight, length))
    return [mean for mean, _, length in pools for _ in range(length)]


def _bands(
    layers: list[list[int]], below: Neighbors, xs: Floats, heights: Floats, unit: float
) -> Floats:
    """The upper and lower border of each layer; edges that run far sideways get more room."""
    bands = np.zeros((len(layers), 2))
    top = 0.0
    for k, members in enumerate(layers):
        bands[k] = top, top + float(heights[members].max())
        runs = [abs(xs[u] - xs[v]) for u in members for v in below[u]]
        top = bands[k, 1] + min(max(1.3 * unit, 0.16 * max(runs, default=0.0)), 5 * unit)
    return bands


def _routes(
    chains: list[list[int]], centers: Floats, band: Floats, sizes: Floats, unit: float
) -> list[list[Point]]:
    """Each edge's points: from the lower border of its upper box, straight down past each layer.

    In a layer of higher boxes an edge leaves a lower one straight down, too.
    """
    out: dict[int, list[tuple[float, int]]] = {}
    into: dict[int, list[tuple[float, int]]] = {}
    for e, chain in enumerate(chains):
        out.setdefault(chain[0], []).append((float(centers[chain[1], 0]), e))
        into.setdefault(chain[-1], []).append((float(centers[chain[-2], 0]), e))
    starts, stops = (_ports(ends, centers, sizes, unit) for ends in (out, into))
    routes = []
    for e, (first, *between, last) in enumerate(chains):
        points = [(starts[e], float(centers[first, 1] + sizes[first, 1] / 2))]
        points.append((starts[e], float(band[first, 1])))
        for v in between:
            points += [(float(centers[v, 0]), float(y)) for y in band[v]]
        points.append((stops[e], float(band[last, 0])))
        points.append((stops[e], float(centers[last, 1] - sizes[last, 1] / 2)))
        routes.append([p for p, q in pairwise(points) if abs(q[1] - p[1]) > TOUCHING] + points[-1:])
    return routes


def _ports(
    ends: dict[int, list[tuple[float, int]]], centers: Floats, sizes: Floats, unit: float
) -> dict[int, float]:
    """Where on its box's border each edge ends: side by side, in the order of what they lead to."""
    ports = {}
    for v, edges in ends.items():
        step = min(0.4 * unit, 0.7 * sizes[v, 0] / max(len(edges) - 1, 1))
        for k, (_, e) in enumerate(sorted(edges)):
            ports[e] = float(centers[v, 0] + step * (k - (len(edges) - 1) / 2))
    return ports
