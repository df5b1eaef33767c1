"""The Chow–Liu tree of a search's score, as the network that the search starts from."""

from __future__ import annotations

import numpy as np

from counterpane.errors import GraphError
from counterpane.graphs import Dag
from counterpane.learners.bayesian.chow_liu import DIGITS, maximum_branching, maximum_forest
from counterpane.learners.bayesian.constraints import allowed_matrix, is_symmetric, required_edges
from counterpane.learners.bayesian.engine import SearchEngine
from counterpane.typing import Floats

CHOW_LIU = "chow-liu"
"""The value of `start` that names the tree."""


def chow_liu_forest(engine: SearchEngine) -> Dag:
    """The best forest by the score of `engine`, within its limits.

    The gains s(i | j) − s(i) are those of the empty network's rows, which every search reads, so
    the tree costs no count. Limits on directions make it a maximum branching. Required edges come
    first; the tree's edges follow by falling gain, without those that would close a cycle or exceed
    `max_parents`.

    >>> import counterpane as cp
    >>> from counterpane.learners.bayesian.constraints import no_limits
    >>> from counterpane.learners.bayesian.network import make_engine
    >>> source = cp.MemoryCounts(cp.load_dataset("titanic"))
    >>> chow_liu_forest(make_engine(source, cp.BIC(), no_limits(4), 10)).edges
    ((0, 1), (0, 2), (2, 3))
    """
    gains = _edge_gains(engine)
    if is_symmetric(engine.limits) and engine.cache.score.is_score_equivalent:
        chosen = maximum_forest(np.maximum(gains, gains.T))
    else:
        chosen = maximum_branching(gains)
    edges = [(int(p), x) for x, p in enumerate(chosen) if p >= 0]
    required = required_edges(engine.limits)
    if not required:
        return Dag(engine.n, edges)
    parents = [list(own) for own in map(Dag(engine.n, required).parents, range(engine.n))]
    new = [(p, x) for p, x in edges if p not in parents[x]]
    for p, x in sorted(new, key=lambda edge: (-gains[edge], edge)):
        if len(parents[x]) < engine.limits.max_parents:
            parents[x].append(p)
            try:
                Dag.from_parents(parents)
            except GraphError:
                parents[x].pop()
    return Dag.from_parents(parents)


def _edge_gains(engine: SearchEngine) -> Floats:
    """The gain of each edge (parent, child) alone; −∞ where it is not allowed."""
    gains = np.full((engine.n, engine.n), -np.inf)
    for x in range(engine.n):
        row = engine.cache.row(x, [])
        if row.score > -np.inf:
            gains[:, x] = row.toggled - row.score
    gains[~allowed_matrix(engine.limits, engine.n).T] = -np.inf
    # As in ChowLiu: the last bits must not decide between equal gains, nor between directions.
    gains /= gains.max(initial=0.0) or 1.0
    rounded: Floats = np.round(gains, DIGITS)
    return rounded
