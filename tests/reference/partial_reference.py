"""Naive twins of partial association: determinants of whole blocks, graphs as sets of neighbors."""

from __future__ import annotations

import math

import numpy as np


def log_det(sigma, starts, columns):
    places = [k for v in columns for k in range(starts[v], starts[v + 1])]
    return np.linalg.slogdet(sigma[np.ix_(places, places)])[1] if places else 0.0


def information(sigma, starts, x, y, given):
    """½ ln (|Σ_x,given| |Σ_y,given| / (|Σ_x,y,given| |Σ_given|))."""
    given = list(given)
    one, two = (log_det(sigma, starts, [*given, v]) for v in (x, y))
    both, none = log_det(sigma, starts, [*given, x, y]), log_det(sigma, starts, given)
    return 0.5 * (one + two - both - none)


def neighbors(graph, i, but):
    return [v for v in range(len(graph)) if graph[i, v] and v != but]


def path(effects, graph, i, j):
    near = [w for w in range(len(graph)) if graph[i, w] and graph[w, j]]
    return sum(effects[i, w] * effects[w, j] for w in near)


def log_odds(reading, graph, i, j, doubt=0.0):
    """M b − ½ df ln M − prior with M = N / (1 + N (s₀ + doubt))."""
    sigma, starts, _, rows, floor, _, prior = reading
    b = 0.5 * (
        information(sigma, starts, i, j, neighbors(graph, i, j))
        + information(sigma, starts, i, j, neighbors(graph, j, i))
    )
    freedom = (starts[i + 1] - starts[i]) * (starts[j + 1] - starts[j])
    m = rows[i, j] / (1 + rows[i, j] * (floor + doubt))
    return m * b - 0.5 * freedom * math.log(max(m, 3.0)) - prior


def tested_log_odds(reading, tested, graph, i, j):
    """With the answer of a test, where there is one; readings count 5 nats at most."""
    trusting = log_odds(reading, graph, i, j)
    if not tested.pairs[i, j]:
        return trusting
    doubting = log_odds(reading, graph, i, j, reading.doubt * path(reading.effects, graph, i, j))
    bounded = [min(max(v, -5.0), 5.0) for v in (trusting, doubting)]
    return sum(bounded) / 2 + tested.evidence[i, j]


def settled(reading, tested, graph):
    """The graph and its log-odds: drop the least likely edge, else add the likeliest."""
    graph = graph.copy()
    n = len(graph)
    flips = np.zeros((n, n), int)
    while True:
        odds = {
            (i, j): tested_log_odds(reading, tested, graph, i, j)
            for i in range(n)
            for j in range(i)
        }
        free = {pair: value for pair, value in odds.items() if flips[pair] < 4}
        drops = {p: v for p, v in free.items() if graph[p] and v < -1e-9}
        adds = {p: v for p, v in free.items() if not graph[p] and v > 1e-9}
        if not drops and not adds:
            return graph, odds
        i, j = min(drops, key=drops.get) if drops else max(adds, key=adds.get)
        graph[i, j] = graph[j, i] = not graph[i, j]
        flips[i, j] += 1
