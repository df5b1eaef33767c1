"""Prim's algorithm on a dense matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane._jit import kernel


@kernel
def grow_forest(weights: Any, root: int, threshold: float, parents: Any) -> None:
    """Fill `parents` of the heaviest forest whose edges are above `threshold`, from `root` on.

    Roots keep what `parents` holds. Of equal edges the one to the lowest node is taken, and of a
    node's equal edges the first that reached it.
    """
    n = parents.size
    best = np.full(n, -np.inf)
    outside = np.ones(n, np.bool_)
    node = root
    for _ in range(n):
        outside[node] = False
        row = weights[node]
        following = -1
        lowest = -1
        for v in range(n):
            if outside[v]:
                if row[v] > best[v]:
                    best[v] = row[v]
                    parents[v] = node
                if following < 0 or best[v] > best[following]:
                    following = v
                if lowest < 0:
                    lowest = v
        if following < 0:
            return
        node = following
        if not best[node] > threshold:
            node = lowest
            parents[node] = -1
