"""Small sets that separate two variables in a graph. Sets are integers, bit v for variable v."""

from __future__ import annotations

import numpy as np

from counterpane.typing import Bools, Floats, Ints


def bit_rows(graph: Bools) -> list[int]:
    """The neighbors of each variable of a matrix of flags."""
    return [sum(1 << int(v) for v in np.flatnonzero(row)) for row in graph]


def is_separated(rows: list[int], x: int, y: int, given: int) -> bool:
    """Whether every path between x and y passes `given`, apart from an edge of the two.

    >>> chain = [0b010, 0b101, 0b010]
    >>> is_separated(chain, 0, 2, 0), is_separated(chain, 0, 2, 0b010)
    (False, True)
    """
    free = ~given
    seen = 1 << x
    waiting = rows[x] & free & ~(1 << y)
    while waiting:
        if waiting >> y & 1:
            return False
        seen |= waiting
        reached = 0
        while waiting:
            lowest = waiting & -waiting
            reached |= rows[lowest.bit_length() - 1]
            waiting ^= lowest
        waiting = reached & free & ~seen
    return True


def smallest_separator(
    rows: list[int], x: int, y: int, cards: Ints, log_odds: Floats, max_slices: float
) -> list[int]:
    """The smaller of two minimal separators: among the neighbors of x, among those of y.

    Where it has more than `max_slices` configurations, the members with the weakest edges to x or
    y are left out.
    """
    best: list[int] | None = None
    for near in (x, y):
        given = rows[near] & ~(1 << x | 1 << y)
        members = [v for v in range(len(rows)) if given >> v & 1]
        for v in list(members):
            if is_separated(rows, x, y, given & ~(1 << v)):
                given &= ~(1 << v)
                members.remove(v)
        while members and np.prod(cards[members].astype(np.float64)) > max_slices:
            members.remove(min(members, key=lambda v: min(log_odds[x, v], log_odds[y, v])))
        if best is None or len(members) < len(best):
            best = members
    return best or []
