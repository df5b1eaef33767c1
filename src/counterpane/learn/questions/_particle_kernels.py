"""One test for all particles at once: who is separated, and how much a test would tell.

`edges` (n, n, particle words) holds for each pair of variables the set of particles with that edge;
bit p of word p div 64 is particle p. `reach` follows all graphs together, 64 particles a word.
Particles of one class, those that agree on all executed tests, are consecutive, class c from
`bounds[c]` to `bounds[c + 1]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane._jit import inlined, kernel, popcount
from counterpane.graphs._kernels import bit, has, lowest

ZERO = np.uint64(0)
ONE = np.uint64(1)
FULL = ~ZERO


@kernel
def spread_edges(graphs: Any, edges: Any) -> None:
    """Fill `edges` from graphs (particles, n, words)."""
    edges[:] = ZERO
    for p in range(graphs.shape[0]):
        for u in range(graphs.shape[1]):
            v = lowest(graphs[p, u], 0)
            while v >= 0:
                edges[u, v, p >> 6] |= bit(p)
                v = lowest(graphs[p, u], v + 1)


@kernel
def reach(edges: Any, given: Any, start: int, found: Any, waiting: Any) -> None:
    """Fill `found` (n, particle words): the particles in which `start` reaches each variable."""
    n, words = found.shape
    found[:] = ZERO
    waiting[:] = False
    found[start] = FULL
    waiting[start] = True
    more = True
    while more:
        more = False
        for u in range(n):
            if not waiting[u]:
                continue
            waiting[u] = False
            for v in range(n):
                if v == u or has(given, v):
                    continue
                fresh = ZERO
                for k in range(words):
                    here = found[u, k] & edges[u, v, k] & ~found[v, k]
                    found[v, k] |= here
                    fresh |= here
                if fresh != ZERO:
                    waiting[v] = True
                    more = True


@kernel
def answer(edges: Any, pairs: Any, given: Any, met: Any) -> None:
    """Fill `met` (questions, particle words): the particles that join the ends of each question."""
    n, _, words = edges.shape
    found = np.empty((n, words), dtype=np.uint64)
    waiting = np.empty(n, dtype=np.bool_)
    for q in range(pairs.shape[0]):
        reach(edges, given[q], pairs[q, 0], found, waiting)
        met[q] = found[pairs[q, 1]]


@kernel
def gain(found: Any, bounds: Any, x_log_x: Any) -> float:
    """The information of a test in bits: Σ n_c/N · H(share of class c that says independent).

    `found` are the particles in which the ends meet, `x_log_x` of 0 … N to base 2.
    """
    told = 0.0
    for c in range(bounds.size - 1):
        low, high = bounds[c], bounds[c + 1]
        if high - low == 1:
            continue
        met = 0
        for k in range(low >> 6, ((high - 1) >> 6) + 1):
            word = found[k]
            if k == low >> 6:
                word &= FULL << np.uint64(low & 63)
            if k == high >> 6:
                word &= (ONE << np.uint64(high & 63)) - ONE
            met += popcount(word)
        told += x_log_x[high - low] - x_log_x[met] - x_log_x[high - low - met]
    return told / float(bounds[-1])


@kernel
def fits(given: Any, a: int, b: int, sizes: Any, room: float) -> bool:
    """Whether the table of a test has room: the sum of `sizes`, ln of numbers of states."""
    room -= sizes[a] + sizes[b]
    v = lowest(given, 0)
    while v >= 0 and room >= 0.0:
        room -= sizes[v]
        v = lowest(given, v + 1)
    return room >= 0.0


@kernel
def set_size(given: Any) -> int:
    """The number of variables in a set."""
    size = 0
    for word in given:
        size += popcount(word)
    return size


@inlined
def worth(told: float, entropy: float, cost: int) -> float:
    """Information per cost; with the entropy before the test, the paper's −H/W."""
    return (told - entropy) / cost


@kernel
def seek(edges: Any, bounds: Any, x_log_x: Any, entropy: float, log_cards: Any, room: float,
         starts: Any, sets: Any, worths: Any, gains: Any, best: Any) -> None:  # fmt: skip
    """Judge the tests of each start variable with all others given its set, and given less.

    A set that holds the other end is asked without it. `worths`, `gains` (n, n) and `best`
    (n, n, words) keep, above the diagonal, the best of each pair; worths begin at −∞.
    """
    n, words = edges.shape[0], edges.shape[2]
    found = np.empty((n, words), dtype=np.uint64)
    waiting = np.empty(n, dtype=np.bool_)
    given = np.empty(sets.shape[1], dtype=np.uint64)
    for s in range(starts.size):
        a = starts[s]
        left_out = -1
        while True:
            given[:] = sets[s]
            given[a >> 6] &= ~bit(a)
            if left_out >= 0:
                given[left_out >> 6] &= ~bit(left_out)
            reach(edges, given, a, found, waiting)
            cost = set_size(given) + 2
            for b in range(n):
                if b == a or has(given, b):
                    continue
                told = gain(found[b], bounds, x_log_x)
                x, y = min(a, b), max(a, b)
                value = worth(told, entropy, cost)
                if told > 0.0 and value > worths[x, y] and fits(given, a, b, log_cards, room):
                    worths[x, y], gains[x, y] = value, told
                    best[x, y] = given
            left_out = lowest(sets[s], left_out + 1)
            if left_out == a:
                left_out = lowest(sets[s], left_out + 1)
            if left_out < 0:
                break


@kernel
def climb(edges: Any, bounds: Any, x_log_x: Any, entropy: float, log_cards: Any, room: float,
          pairs: Any, draws: Any, worths: Any, gains: Any, best: Any) -> None:  # fmt: skip
    """Improve the best set of each of `pairs` by first-choice climbing.

    A neighbor of a set has one more, one less or one other member; one is drawn at a time, by
    `draws` (pairs, tries, 3), and taken where it is better.
    """
    n, words = edges.shape[0], edges.shape[2]
    found = np.empty((n, words), dtype=np.uint64)
    waiting = np.empty(n, dtype=np.bool_)
    given = np.empty(best.shape[2], dtype=np.uint64)
    for s in range(pairs.shape[0]):
        a, b = pairs[s, 0], pairs[s, 1]
        for m in range(draws.shape[1]):
            given[:] = best[a, b]
            size = set_size(given)
            free = n - 2 - size
            choice = int(draws[s, m, 0] * (free + size + free * size))
            # The first `free` choices add, the next `size` remove, the others replace.
            if choice < free or choice >= free + size:
                add_member(given, a, b, int(draws[s, m, 1] * free))
            if choice >= free:
                drop_member(given, best[a, b], int(draws[s, m, 2] * size))
            if not fits(given, a, b, log_cards, room):
                continue
            reach(edges, given, a, found, waiting)
            told = gain(found[b], bounds, x_log_x)
            value = worth(told, entropy, set_size(given) + 2)
            if told > 0.0 and value > worths[a, b]:
                worths[a, b], gains[a, b] = value, told
                best[a, b] = given


@kernel
def add_member(given: Any, a: int, b: int, place: int) -> None:
    """Add the variable at a place among those that are neither given nor an end."""
    v = 0
    while True:
        if v != a and v != b and not has(given, v):
            if place == 0:
                given[v >> 6] |= bit(v)
                return
            place -= 1
        v += 1


@kernel
def drop_member(given: Any, members: Any, place: int) -> None:
    """Take away the variable at a place among `members`."""
    v = lowest(members, 0)
    for _ in range(place):
        v = lowest(members, v + 1)
    given[v >> 6] &= ~bit(v)
