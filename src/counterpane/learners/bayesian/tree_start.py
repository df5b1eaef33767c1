"""The Chow–Liu tree of a search's score, as the network that the search starts from."""

from __future__ import annotations

import numpy as np

from counterpane.errors import GraphError
from counterpane.graphs import Dag
from counterpane.graphs.bits import unpack
from counterpane.learners.bayesian.chow_liu import DIGITS, maximum_branching, maximum_forest
from counterpane.learners.bayesian.moves import Moves, is_symmetric
from counterpane.typing import Floats, Words

CHOW_LIU = "chow-liu"
"""The value of `start` that names the tree."""


def chow_liu_parents(moves: Moves) -> Words:
    """The parent rows of the best forest by the score of `moves`, within its limits.

    The gains s(i | j) − s(i) are those of the empty network's rows, which every search reads, so
    the tree costs no count. Limits on directions make it a maximum branching. Required edges come
    first; the tree's edges follow by falling gain, without those that would close a cycle or exceed
    `max_parents`.

    >>> import counterpane as cp
    >>> from counterpane.learners.bayesian.moves import make_limits
    >>> from counterpane.learners.bayesian.network import make_moves
    >>> source = cp.MemoryCounts(cp.load_dataset("titanic"))
    >>> moves = make_moves(source, cp.BIC(), make_limits(source.schema, (), (), None), 10)
    >>> Dag.from_bits(chow_liu_parents(moves)).edges
    ((0, 1), (0, 2), (2, 3))
    """
    gains = _edge_gains(moves)
    if is_symmetric(moves.limits) and moves.cache.score.is_score_equivalent:
        chosen = maximum_forest(np.maximum(gains, gains.T))
    else:
        chosen = maximum_branching(gains)
    edges = [(int(p), x) for x, p in enumerate(chosen) if p >= 0]
    if not moves.limits.required.any():
        return Dag(moves.n, edges).parent_bits.copy()
    parents = [np.flatnonzero(row).tolist() for row in unpack(moves.limits.required, moves.n)]
    new = [(p, x) for p, x in edges if p not in parents[x]]
    for p, x in sorted(new, key=lambda edge: (-gains[edge], edge)):
        if len(parents[x]) < moves.max_parents:
            parents[x].append(p)
            try:
                Dag.from_parents(parents)
            except GraphError:
                parents[x].pop()
    return Dag.from_parents(parents).parent_bits.copy()


def _edge_gains(moves: Moves) -> Floats:
    """The gain of each edge (parent, child) alone; −∞ where it is not allowed."""
    gains = np.full((moves.n, moves.n), -np.inf)
    for x in range(moves.n):
        row = moves.cache.row(x, [])
        if row.score > -np.inf:
            gains[:, x] = row.toggled - row.score
    gains[~unpack(moves.limits.allowed, moves.n).T] = -np.inf
    # As in ChowLiu: the last bits must not decide between equal gains, nor between directions.
    gains /= gains.max(initial=0.0) or 1.0
    rounded: Floats = np.round(gains, DIGITS)
    return rounded
