"""Moves through the layers of a partition, and through its networks.

The first layer holds the nodes without parents; every other node needs a parent in the layer before
its own. So each network has one partition (Kuipers & Moffa 2017). Tables as in `_chain_kernels`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterpane._jit import kernel
from counterpane.learn.posterior._chain_kernels import choose, draw_set

NEGLIGIBLE = -1e-10  # parent sets of a smaller share than this count as none


@kernel
def needing(sums: Any, i: int, before: int, previous: int) -> float:
    """The log of the sum over the parent sets inside `before` that touch `previous`."""
    gap = sums[i, before & ~previous] - sums[i, before]
    if gap > NEGLIGIBLE:
        return -np.inf
    return sums[i, before] + math.log(-math.expm1(gap))  # type: ignore[no-any-return]


@kernel
def _masks(candidates: Any, layer: Any, i: int, level: int) -> tuple[int, int]:
    """The candidates of i in the layers before `level`, and those in the last of them."""
    before = previous = 0
    for k in range(candidates.shape[1]):
        j = candidates[i, k]
        if layer[j] < level:
            before |= 1 << k
            if layer[j] == level - 1:
                previous |= 1 << k
    return before, previous


@kernel
def _own(tables: Any, layer: Any, i: int, level: int) -> float:
    """The log-weight of node i in the layer `level`: a parent from the layer before, or none."""
    if level == 0:
        return tables.sums[i, 0]  # type: ignore[no-any-return]
    before, previous = _masks(tables.candidates, layer, i, level)
    return needing(tables.sums, i, before, previous)


@kernel
def _take_out(layer: Any, v: int) -> int:
    """Put v behind all layers, close the gap it may leave, and return the number of layers."""
    n_layers = 0
    alone = True
    for i in range(layer.size):
        if i != v:
            n_layers = max(n_layers, layer[i] + 1)
            alone = alone and layer[i] != layer[v]
    if alone and layer[v] < n_layers:
        n_layers -= 1
        for i in range(layer.size):
            if layer[i] > layer[v]:
                layer[i] -= 1
    layer[v] = layer.size
    return n_layers


@kernel
def _move_in_layers(tables: Any, layer: Any, v: int, uniform: float, parts: Any,
                    logs: Any) -> None:  # fmt: skip
    """Draw a new place for v from its conditional: in any layer, or alone between two; O(n k)."""
    sums, candidates, bits = tables.sums, tables.candidates, tables.bits
    n_layers = _take_out(layer, v)
    # parts[·, t] sums over the nodes of layer t when v comes nowhere before them (0), well before
    # them (1), joins the layer before them (2), or is alone right before them (3).
    parts[:] = 0.0
    for i in range(layer.size):
        if i != v:
            t, bit = layer[i], bits[i, v]
            before, previous = _masks(candidates, layer, i, t)
            parts[3, t] += needing(sums, i, before | bit, bit)
            if t == 0:
                parts[0, 0] += sums[i, 0]
            else:
                parts[0, t] += needing(sums, i, before, previous)
                parts[1, t] += needing(sums, i, before | bit, previous)
                parts[2, t] += needing(sums, i, before | bit, previous | bit)
    for t in range(n_layers - 1, -1, -1):
        parts[1, t] += parts[1, t + 1]
    earlier = 0.0
    for t in range(n_layers + 1):
        own = _own(tables, layer, v, t)
        logs[2 * t] = own + earlier + parts[3, t] + parts[1, t + 1]
        earlier += parts[0, t]
        logs[2 * t + 1] = own + earlier + parts[2, t + 1] + parts[1, t + 2]
    drawn = choose(logs[: 2 * n_layers + 1], uniform)
    if drawn % 2 == 0:
        for i in range(layer.size):
            if layer[i] >= drawn // 2:
                layer[i] += 1
    layer[v] = drawn // 2


@kernel
def draw_network(tables: Any, layer: Any, uniforms: Any, chosen: Any) -> None:
    """Fill `chosen` with a parent set for each node, drawn from the networks of the partition."""
    for i in range(layer.size):
        before, previous = _masks(tables.candidates, layer, i, layer[i])
        chosen[i] = draw_set(tables.scores[i], tables.sets, before, previous, uniforms[i])


@kernel
def fill_layers(candidates: Any, chosen: Any, layer: Any) -> None:
    """Fill the layers of a network: one more than the last of a node's parents."""
    layer[:] = 0
    settled = False
    while not settled:
        settled = True
        for i in range(layer.size):
            for k in range(candidates.shape[1]):
                if chosen[i] >> k & 1 and layer[i] <= layer[candidates[i, k]]:
                    layer[i] = layer[candidates[i, k]] + 1
                    settled = False


@kernel
def _free(candidates: Any, chosen: Any, i: int, below: Any) -> int:
    """The candidates of i that are not its descendants; fills `below` with who is."""
    below[:] = False
    below[i] = True
    settled = False
    while not settled:
        settled = True
        for u in range(chosen.size):
            if not below[u]:
                for k in range(candidates.shape[1]):
                    if chosen[u] >> k & 1 and below[candidates[u, k]]:
                        below[u] = True
                        settled = False
    free = 0
    for k in range(candidates.shape[1]):
        if not below[candidates[i, k]]:
            free |= 1 << k
    return free


@kernel
def _reverse(tables: Any, chosen: Any, uniforms: Any, below: Any) -> None:
    """Turn a random edge i → j, with new parents for both (Grzegorczyk & Husmeier 2008)."""
    candidates, bits, sums = tables.candidates, tables.bits, tables.sums
    n_edges = 0
    for i in range(chosen.size):
        for k in range(candidates.shape[1]):
            n_edges += chosen[i] >> k & 1
    if n_edges == 0:
        return
    pick = min(n_edges - 1, int(uniforms[0] * n_edges))
    i = j = 0
    for u in range(chosen.size):
        for k in range(candidates.shape[1]):
            if chosen[u] >> k & 1:
                if pick == 0:
                    i, j = candidates[u, k], u
                pick -= 1
    if bits[i, j] == 0:
        return
    old_i, old_j = chosen[i], chosen[j]
    # As if the edge were turned back: j first, with i among its parents, then i.
    chosen[i] = chosen[j] = 0
    backward = needing(sums, j, _free(candidates, chosen, j, below), bits[j, i])
    free_i = _free(candidates, chosen, i, below)
    chosen[j] = old_j
    backward += sums[i, _free(candidates, chosen, i, below)]
    chosen[j] = 0
    forward = needing(sums, i, free_i, bits[i, j])
    chosen[i] = draw_set(tables.scores[i], tables.sets, free_i, bits[i, j], uniforms[1])
    free_j = _free(candidates, chosen, j, below)
    forward += sums[j, free_j]
    chosen[j] = draw_set(tables.scores[j], tables.sets, free_j, 0, uniforms[2])
    now = n_edges
    for k in range(candidates.shape[1]):
        now += (chosen[i] >> k & 1) + (chosen[j] >> k & 1)
        now -= (old_i >> k & 1) + (old_j >> k & 1)
    if not uniforms[3] * now < n_edges * math.exp(min(forward - backward, 700.0)):
        chosen[i], chosen[j] = old_i, old_j


@kernel
def walk_layers(tables: Any, layer: Any, uniforms: Any, edges: Any, squares: Any,
                log_scores: Any) -> None:  # fmt: skip
    """Take the moves of `uniforms` (samples, n + 6 moves), and add up each sample's edges.

    A sample is so many moves of nodes, a network of the partition, and as many turned edges.
    """
    n = layer.size
    moves = (uniforms.shape[1] - n) // 6
    logs, parts = np.empty(2 * n + 2), np.empty((4, n + 3))
    chosen, below = np.empty(n, np.int64), np.empty(n, np.bool_)
    for sample in range(uniforms.shape[0]):
        rest = uniforms[sample, n:]
        draw_network(tables, layer, uniforms[sample], chosen)
        for move in range(moves):
            _reverse(tables, chosen, rest[4 * move :], below)
        fill_layers(tables.candidates, chosen, layer)
        for move in range(moves):
            at = 4 * moves + 2 * move
            _move_in_layers(tables, layer, min(n - 1, int(rest[at] * n)), rest[at + 1], parts, logs)
        log_scores[sample] = _add_edges(tables, layer, edges, squares)


@kernel
def _add_edges(tables: Any, layer: Any, edges: Any, squares: Any) -> float:
    """Add each edge's probability given the partition, and its square; return the log-score."""
    sums, candidates = tables.sums, tables.candidates
    total = 0.0
    for i in range(layer.size):
        before, previous = _masks(candidates, layer, i, layer[i])
        total += _own(tables, layer, i, layer[i])
        whole = sums[i, before]
        needed = -math.expm1(sums[i, before & ~previous] - whole)
        for k in range(candidates.shape[1]):
            bit = 1 << k
            if before & bit:
                share = -math.expm1(sums[i, before & ~bit] - whole)
                if not previous & bit:  # without j and without the layer before
                    share += math.exp(sums[i, before & ~bit & ~previous] - whole)
                    share -= math.exp(sums[i, before & ~previous] - whole)
                share = min(1.0, max(0.0, share / needed))
                edges[i, k] += share
                squares[i, k] += share * share
    return total
