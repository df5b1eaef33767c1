"""Local Bayesian networks by steepest ascent: one kernel call learns those of many variables.

Local columns are numbered 0, 1, … and parents are bit sets. gains[x, y] is what adding y to the
parents of x brings, or dropping it if it is one; a move changes one row of it, a turn two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane._jit import kernel
from counterpane.learn.hybrid._local_kernels import (
    Data,
    Scratch,
    Terms,
    compress,
    conditional_log_likelihood,
    family_score,
    fill_table,
    group_by,
    product,
    refine,
)
from counterpane.typing import Floats, Ints

NONE, TOGGLE, TURN = 0, 1, 2


@kernel
def refresh(x: int, parents: Ints, cards: Ints, rows: int, use: Scratch, terms: Terms,
            gains: Floats) -> None:  # fmt: skip
    """Score all families of x that differ from its own by one parent."""
    groups, other = use.groups[0, :rows], use.groups[1, :rows]
    r = cards[x]
    q = product(parents[x], cards)
    n = group_by(parents[x], cards, use, groups)
    own = family_score(groups, n, q, x, r, use, terms)
    for y in range(cards.size):
        if y == x:
            continue
        if parents[x] >> y & 1:
            m = group_by(parents[x] & ~(1 << y), cards, use, other)
            gains[x, y] = family_score(other, m, q / cards[y], x, r, use, terms) - own
        else:
            m = refine(groups, n, use.codes[y, :rows], cards[y], use.found, other)
            gains[x, y] = family_score(other, m, q * cards[y], x, r, use, terms) - own


@kernel
def fill_reach(parents: Ints, reach: Ints) -> None:
    """Fill reach[u] with the bit set of u and its descendants."""
    size = parents.size
    for u in range(size):
        reach[u] = 1 << u
    changed = True
    while changed:
        changed = False
        for c in range(size):
            for p in range(size):
                if parents[c] >> p & 1 and reach[c] & ~reach[p]:
                    reach[p] |= reach[c]
                    changed = True


@kernel
def turnable(p: int, x: int, parents: Ints, reach: Ints) -> bool:
    """Whether p → x may be turned: no other way leads from p to x."""
    for c in range(parents.size):
        if c != x and parents[c] >> p & 1 and reach[c] >> x & 1:
            return False
    return True


@kernel
def best_move(parents: Ints, gains: Floats, reach: Ints, tolerance: float) -> Any:
    """(kind, parent, child) of the best improving move; of equals the first.

    Children come in order, for each its parents in order, dropping one before turning it. `best`
    is kept a tolerance above the gain found: both directions of an edge score alike but for
    rounding, and rounding must not choose between them.
    """
    best = tolerance
    kind, parent, child = NONE, -1, -1
    for x in range(parents.size):
        for y in range(parents.size):
            if y == x:
                continue
            gain = gains[x, y]
            held = parents[x] >> y & 1
            if gain > best and (held or not reach[x] >> y & 1):
                best, kind, parent, child = gain + tolerance, TOGGLE, y, x
            if held and gain + gains[y, x] > best and turnable(y, x, parents, reach):
                best, kind, parent, child = gain + gains[y, x] + tolerance, TURN, y, x
    return kind, parent, child


@kernel
def climb(cards: Ints, rows: int, use: Scratch, terms: Terms, parents: Ints) -> None:
    """Fill `parents` with the network that no addition, deletion or turn of one edge improves."""
    size = cards.size
    gains = np.empty((size, size))
    reach = np.empty(size, np.int64)
    parents[:] = 0
    for x in range(size):
        refresh(x, parents, cards, rows, use, terms, gains)
    while True:
        fill_reach(parents, reach)
        kind, p, x = best_move(parents, gains, reach, terms.tolerance)
        if kind == NONE:
            return
        parents[x] ^= 1 << p
        refresh(x, parents, cards, rows, use, terms, gains)
        if kind == TURN:
            parents[p] ^= 1 << x
            refresh(p, parents, cards, rows, use, terms, gains)


@kernel
def members_of(row: Ints) -> Ints:
    """The columns in a row that −1 fills up."""
    size = 0
    while size < row.size and row[size] >= 0:
        size += 1
    return row[:size]


@kernel
def place_of(v: int, columns: Ints) -> int:
    """Where v is among the columns."""
    place = 0
    while columns[place] != v:
        place += 1
    return place


@kernel
def learn_networks(data: Data, terms: Terms, variables: Ints, members: Ints, use: Scratch,
                   parents: Ints, scores: Floats) -> None:  # fmt: skip
    """Learn the networks over members[v] for some v: bit sets parents[v], and v's likelihood."""
    for v in variables:
        columns = members_of(members[v])
        cards = data.cards[columns]
        rows = compress(data, columns, use)
        found = parents[v, : columns.size]
        climb(cards, rows, use, terms, found)
        scores[v] = conditional_log_likelihood(place_of(v, columns), found, cards, rows, use,
                                               terms.prior)  # fmt: skip


@kernel
def fill_tables(data: Data, terms: Terms, variables: Ints, members: Ints, parents: Ints,
                use: Scratch, table_from: Ints, out: Floats) -> None:  # fmt: skip
    """Fill in the tables of v and its children in the network of v, for some v, in local order.

    Those of v begin at out[table_from[v]].
    """
    for v in variables:
        columns = members_of(members[v])
        cards = data.cards[columns]
        rows = compress(data, columns, use)
        me = place_of(v, columns)
        start = table_from[v]
        for c in range(columns.size):
            if c == me or parents[v, c] >> me & 1:
                stop = start + int(product(parents[v, c], cards)) * cards[c]
                fill_table(c, parents[v, c], cards, rows, use, terms.prior, out[start:stop])
                start = stop
