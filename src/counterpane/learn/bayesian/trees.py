"""Trees and branchings of greatest total weight, on dense matrices of weights.

Ties are broken by rule: the lowest position wins.
"""

from __future__ import annotations

import numpy as np

from counterpane._core.bayesian import grow_forest
from counterpane.typing import Bools, Floats, Ints


def maximum_forest(weights: Floats, *, root: int = 0, spanning: bool = False) -> Ints:
    """The parent of each node in the forest of greatest weight, −1 for roots.

    Prim's algorithm, O(n²). `weights` is symmetric. Only edges of positive weight are
    taken, unless `spanning`. The tree of `root` is rooted there, others at their lowest node.
    """
    parents = np.full(len(weights), -1, dtype=np.int64)
    grow_forest(np.ascontiguousarray(weights), root, -np.inf if spanning else 0.0, parents)
    return parents


def maximum_branching(weights: Floats) -> Ints:
    """The parent of each node in the branching of greatest weight, −1 for roots.

    Edmonds' algorithm: `weights[p, c]` is the gain of the edge p → c; only positive gains are worth
    an edge. All cycles of a round are contracted at once, so there are at most log₂ n rounds of
    O(n²) each.
    """
    n = len(weights)
    rooted = np.full((n + 1, n + 1), -np.inf)
    rooted[:n, :n] = np.where(weights > 0, weights, -np.inf)
    np.fill_diagonal(rooted, -np.inf)
    rooted[n, :n] = 0.0  # a virtual root: to be a root oneself gains nothing
    parents = _arborescence(rooted, n)[:n]
    parents[parents == n] = -1
    return parents


def _arborescence(weights: Floats, root: int) -> Ints:
    """The parent of each node in the greatest arborescence from `root`; −1 for the root."""
    parents: Ints = np.argmax(weights, axis=0)
    parents[root] = -1
    cycle = _cycles(parents)
    if cycle.max(initial=-1) < 0:
        return parents
    # Each cycle becomes one node, in the place of its lowest member; entering it at v costs the
    # cycle its own edge into v.
    on_cycle: Bools = cycle >= 0
    lowest = np.unique(cycle, return_index=True)[1][-int(cycle.max()) - 1 :]
    place = np.where(on_cycle, lowest[cycle], np.arange(len(weights)))
    label = np.unique(place, return_inverse=True)[1]
    size = int(label.max()) + 1
    gain = weights.copy()
    gain[:, on_cycle] -= weights[parents[on_cycle], np.flatnonzero(on_cycle)]
    small = np.full((size, size), -np.inf)
    tail = np.zeros((size, size), dtype=np.int64)
    head = np.zeros((size, size), dtype=np.int64)
    groups = [np.flatnonzero(label == k) for k in range(size)]
    by_row = np.array([gain[g].max(axis=0) for g in groups])
    row_of = np.array([g[gain[g].argmax(axis=0)] for g in groups])
    for k, g in enumerate(groups):
        enter = g[by_row[:, g].argmax(axis=1)]
        small[:, k] = by_row[np.arange(size), enter]
        tail[:, k] = row_of[np.arange(size), enter]
        head[:, k] = enter
    np.fill_diagonal(small, -np.inf)
    inner = _arborescence(small, int(label[root]))
    for k in range(size):
        if inner[k] >= 0:
            parents[head[inner[k], k]] = tail[inner[k], k]
    return parents


def _cycles(parents: Ints) -> Ints:
    """The number of the cycle each node lies on, −1 for none, following the parents."""
    n = len(parents)
    seen = np.full(n, -1, dtype=np.int64)
    cycle = np.full(n, -1, dtype=np.int64)
    count = 0
    for start in range(n):
        node = start
        while node >= 0 and seen[node] < 0:
            seen[node] = start
            node = int(parents[node])
        if node >= 0 and seen[node] == start:
            while cycle[node] < 0:
                cycle[node] = count
                node = int(parents[node])
            count += 1
    return cycle
