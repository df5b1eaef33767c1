"""Metropolis–Hastings moves of particles: graphs as bit rows, and what they say of executed tests.

`rows` of one graph are (n, words). `pairs` (tests, 2), `given` (tests, words) and `logs` (tests, 2)
are the tests and the log-likelihoods of independent and dependent. `reached` (tests, 2, words)
holds, for one graph, all that each end of a test reaches outside of its given set: a test is
independent where the second end is not among what the first reaches. With these sets most proposals
are judged by a few bits a test: an added edge joins two ends only if it joins their sets, and a
removed one matters only inside them.

Randomness is passed in. Scratch is made once a call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane._jit import inlined, kernel, popcount, trailing_zeros
from counterpane.graphs._kernels import bit, has

ZERO = np.uint64(0)
ONE = np.uint64(1)
TOGGLE, SWAP, SLIDE = 0, 1, 2  # the rest are exchanges


@inlined
def flip(rows: Any, u: int, v: int) -> None:
    """Toggle the edge u – v."""
    rows[u, v >> 6] ^= bit(v)
    rows[v, u >> 6] ^= bit(u)


@kernel
def toggle(rows: Any, cut: Any, tie: Any) -> None:
    """Make a change of edges, or take it back."""
    if cut[0] >= 0:
        flip(rows, cut[0], cut[1])
    if tie[0] >= 0:
        flip(rows, tie[0], tie[1])


@kernel
def exchange(rows: Any, u: int, v: int) -> None:
    """Let two variables change places: each gets the neighbors of the other."""
    for k in range(rows.shape[1]):
        rows[u, k], rows[v, k] = rows[v, k], rows[u, k]
    for w in range(rows.shape[0]):
        if has(rows[w], u) != has(rows[w], v):
            rows[w, u >> 6] ^= bit(u)
            rows[w, v >> 6] ^= bit(v)


@kernel
def flood(rows: Any, blocked: Any, start: int, goal: int, seen: Any, front: Any) -> bool:
    """Grow `seen` from `start` to all it reaches outside `blocked`; stop early at `goal`, if any.

    True where the goal was met.
    """
    words = seen.size
    if words == 1:
        free = ~blocked[0]
        found = bit(start)
        todo = found
        aim = bit(goal) if goal >= 0 else ZERO
        while todo != ZERO and found & aim == ZERO:
            v = trailing_zeros(todo)
            todo &= todo - ONE
            fresh = rows[v, 0] & free & ~found
            found |= fresh
            todo |= fresh
        seen[0] = found
        return bool(found & aim != ZERO)
    seen[:] = ZERO
    seen[start >> 6] |= bit(start)
    front[:] = seen
    w = 0
    while w < words:
        if front[w] == ZERO:
            w += 1
            continue
        v = 64 * w + trailing_zeros(front[w])
        front[w] &= front[w] - ONE
        for k in range(words):
            fresh = rows[v, k] & ~blocked[k] & ~seen[k]
            if fresh != ZERO:
                seen[k] |= fresh
                front[k] |= fresh
                w = min(w, k)
        if goal >= 0 and has(seen, goal):
            return True
    return False


@kernel
def settle(rows: Any, tests: Any, reached: Any, t: int, front: Any) -> bool:
    """Fill what the ends of one test reach; whether they are joined."""
    pairs, given, _ = tests
    flood(rows, given[t], pairs[t, 0], -1, reached[t, 0], front)
    joined = has(reached[t, 0], pairs[t, 1])
    if joined:
        reached[t, 1] = reached[t, 0]
    else:
        flood(rows, given[t], pairs[t, 1], -1, reached[t, 1], front)
    return joined


@kernel
def measure(graphs: Any, tests: Any, first: int, reached: Any, totals: Any) -> None:
    """Fill `reached` of all graphs for the tests from `first` on; add their logs to `totals`."""
    pairs, given, logs = tests
    front = np.empty(given.shape[1], dtype=np.uint64)
    for p in range(graphs.shape[0]):
        for t in range(first, pairs.shape[0]):
            joined = settle(graphs[p], tests, reached[p], t, front)
            totals[p] += logs[t, 1] if joined else logs[t, 0]


@inlined
def inside(block: Any, t: int, side: int, v: int) -> bool:
    """Whether v is in what an end of a test reaches."""
    return bool((block[t, side, v >> 6] >> np.uint64(v & 63)) & ONE)


@inlined
def open_edge(given: Any, t: int, u: int, v: int) -> bool:
    """Whether neither end of an edge is given in a test."""
    return not (has(given[t], u) or has(given[t], v))


@kernel
def close(rows: Any, given: Any, t: int, u: int, v: int) -> bool:
    """Whether u and v have a common neighbor that is not given."""
    for k in range(given.shape[1]):
        if rows[u, k] & rows[v, k] & ~given[t, k] != ZERO:
            return True
    return False


@kernel
def change(rows: Any, tests: Any, reached: Any, cut: Any, tie: Any, need: float, slack: float,
           scratch: Any) -> float:  # fmt: skip
    """What the log-likelihood gains by a change of edges, already made in `rows`.

    `cut` and `tie` are the removed and the added edge, −1 for none. Newest tests come first; no
    change can gain more than `slack` in all, so it ends with −∞ once `need` is out of reach.
    """
    pairs, given, logs = tests
    gained = 0.0
    for t in range(pairs.shape[0] - 1, -1, -1):
        a, b = pairs[t, 0], pairs[t, 1]
        if inside(reached, t, 0, b):
            u, v = cut
            if u < 0 or not inside(reached, t, 0, u) or not open_edge(given, t, u, v):
                continue
            if close(rows, given, t, u, v):
                continue
            if flood(rows, given[t], a, b, scratch[0], scratch[1]):
                continue
            gained += logs[t, 0] - logs[t, 1]
        else:
            u, v = tie
            if u < 0:
                continue
            if not (
                (inside(reached, t, 0, u) and inside(reached, t, 1, v))
                or (inside(reached, t, 0, v) and inside(reached, t, 1, u))
            ):
                continue
            if cut[0] >= 0 and not flood(rows, given[t], a, b, scratch[0], scratch[1]):
                continue
            gained += logs[t, 1] - logs[t, 0]
        if gained + slack < need:
            return -np.inf
    return gained


@kernel
def follow(rows: Any, tests: Any, reached: Any, cut: Any, tie: Any, scratch: Any) -> None:
    """Bring `reached` up to date after an accepted change."""
    pairs, given, _ = tests
    for t in range(pairs.shape[0]):
        touched = False
        u, v = cut
        if u >= 0 and (inside(reached, t, 0, u) or inside(reached, t, 1, u)):
            touched = open_edge(given, t, u, v)
        u, v = tie
        if u >= 0 and not touched:
            touched = (
                inside(reached, t, 0, u) != inside(reached, t, 0, v)
                or inside(reached, t, 1, u) != inside(reached, t, 1, v)
            ) and open_edge(given, t, u, v)
        if touched:
            settle(rows, tests, reached, t, scratch[1])


@kernel
def oriented(rows: Any, index: int) -> tuple[int, int]:
    """The edge at a place among all edges, each counted in both directions."""
    for u in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            word = rows[u, k]
            n_here = popcount(word)
            if index < n_here:
                for _ in range(index):
                    word &= word - ONE
                return u, 64 * k + trailing_zeros(word)
            index -= n_here
    return -1, -1


@kernel
def propose(rows: Any, size: int, shares: Any, draw: Any) -> tuple[Any, Any]:
    """A removed and an added edge, (−1, −1) for none, from three uniform numbers.

    Toggle a pair; or swap an edge for a pair; or slide one end of an edge. The way back is as
    likely in each. Where the pair to add is an edge already, nothing is proposed.
    """
    n = rows.shape[0]
    none = (-1, -1)
    if draw[0] < shares[TOGGLE] or n < 3:
        u = int(draw[1] * n)
        v = int(draw[2] * (n - 1))
        v += v >= u
        if has(rows[u], v):
            return (u, v), none
        return none, (u, v)
    if size == 0:
        return none, none
    u, v = oriented(rows, int(draw[1] * 2 * size))
    if draw[0] < shares[TOGGLE] + shares[SWAP]:
        place = int(draw[2] * n * (n - 1))
        a, b = place // (n - 1), place % (n - 1)
        b += b >= a
    else:
        a, b = u, int(draw[2] * (n - 2))
        b += b >= min(u, v)
        b += b >= max(u, v)
    if has(rows[a], b):
        return none, none
    return (u, v), (a, b)


@kernel
def rejudge(rows: Any, tests: Any, reached: Any, need: float, slack: float, scratch: Any) -> float:
    """As `change`, for a graph that may differ in any edge."""
    pairs, given, logs = tests
    gained = 0.0
    for t in range(pairs.shape[0] - 1, -1, -1):
        joined = flood(rows, given[t], pairs[t, 0], pairs[t, 1], scratch[0], scratch[1])
        if joined == inside(reached, t, 0, pairs[t, 1]):
            continue
        gained += logs[t, 1] - logs[t, 0] if joined else logs[t, 0] - logs[t, 1]
        if gained + slack < need:
            return -np.inf
    return gained


@kernel
def try_exchange(rows: Any, tests: Any, reached: Any, size: int, nearby: bool, draw: Any,
                 slack: float, scratch: Any) -> float:  # fmt: skip
    """Let two variables change places, as likely as the likelihood gains; the gain, or NaN.

    Where `nearby`, the two are neighbors. They stay neighbors, so the way back is as likely.
    """
    n = rows.shape[0]
    u, v = int(draw[1] * n), int(draw[2] * (n - 1))
    v += v >= u
    if nearby and size > 0:
        u, v = oriented(rows, int(draw[1] * 2 * size))
    need = np.log(draw[3])
    exchange(rows, u, v)
    gained = rejudge(rows, tests, reached, need, slack, scratch)
    if gained > need:
        remeasure(rows, tests, reached, scratch)
        return gained
    exchange(rows, u, v)
    return np.nan


@kernel
def remeasure(rows: Any, tests: Any, reached: Any, scratch: Any) -> None:
    """Fill `reached` of one graph anew."""
    for t in range(tests[0].shape[0]):
        settle(rows, tests, reached, t, scratch[1])


@kernel
def walk(graphs: Any, tests: Any, reached: Any, sizes: Any, totals: Any, log_prior: Any,
         shares: Any, draws: Any, ratios: Any) -> None:  # fmt: skip
    """Move each graph by symmetric proposals, `draws` (graphs, moves, 4).

    `sizes` are numbers of edges, `totals` log-likelihoods, `log_prior` is by number of edges. A
    proposal is taken with probability min(1, exp(ratio)); `ratios` (graphs, moves) is filled with
    the ratio where it was taken, with NaN where not.
    """
    logs = tests[2]
    n, words = graphs.shape[1:]
    scratch = np.empty((2, words), dtype=np.uint64)
    local = shares.sum()
    ceiling = 0.0
    for t in range(logs.shape[0]):
        ceiling += max(logs[t, 0], logs[t, 1])
    for p in range(graphs.shape[0]):
        rows = graphs[p]
        for m in range(draws.shape[1]):
            ratios[p, m] = np.nan
            slack = ceiling - totals[p] + 1e-9
            if draws[p, m, 0] >= local and n > 2:
                nearby = draws[p, m, 0] < 0.5 * (1.0 + local)
                gained = try_exchange(
                    rows, tests, reached[p], sizes[p], nearby, draws[p, m], slack, scratch
                )
                if gained == gained:
                    totals[p] += gained
                    ratios[p, m] = gained
                continue
            cut, tie = propose(rows, sizes[p], shares, draws[p, m])
            grown = (tie[0] >= 0) - (cut[0] >= 0)
            if cut[0] < 0 and tie[0] < 0:
                continue
            prior = log_prior[sizes[p] + grown] - log_prior[sizes[p]]
            need = np.log(draws[p, m, 3]) - prior
            if slack < need:
                continue
            toggle(rows, cut, tie)
            gained = change(rows, tests, reached[p], cut, tie, need, slack, scratch)
            if gained > need:
                follow(rows, tests, reached[p], cut, tie, scratch)
                totals[p] += gained
                sizes[p] += grown
                ratios[p, m] = gained + prior
                continue
            toggle(rows, cut, tie)


@kernel
def jump(graphs: Any, tests: Any, reached: Any, sizes: Any, totals: Any, log_prior: Any,
         masks: Any, draws: Any, ratios: Any) -> None:  # fmt: skip
    """Propose to toggle, in each graph, all edges of its symmetric mask (n, words) at once.

    Symmetric where the mask does not depend on the graph. `draws` has a uniform number a graph.
    """
    scratch = np.empty((2, graphs.shape[2]), dtype=np.uint64)
    for p in range(graphs.shape[0]):
        rows = graphs[p]
        size = 0
        for u in range(rows.shape[0]):
            for k in range(rows.shape[1]):
                rows[u, k] ^= masks[p, u, k]
                size += popcount(rows[u, k])
        size //= 2
        prior = log_prior[size] - log_prior[sizes[p]]
        need = np.log(draws[p]) - prior
        gained = rejudge(rows, tests, reached[p], need, np.inf, scratch)
        if gained > need:
            remeasure(rows, tests, reached[p], scratch)
            totals[p] += gained
            sizes[p], ratios[p] = size, gained + prior
        else:
            ratios[p] = np.nan
            for u in range(rows.shape[0]):
                for k in range(rows.shape[1]):
                    rows[u, k] ^= masks[p, u, k]
