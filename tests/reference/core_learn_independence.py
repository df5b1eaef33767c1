"""Bit rows of graphs that are sets of pairs, as in particles_reference."""

from __future__ import annotations

from itertools import combinations, zip_longest

import numpy as np


def bit_row(members, n):
    """The words of a set."""
    words = [0] * ((n + 63) // 64)
    for v in members:
        words[v // 64] |= 1 << v % 64
    return words


def bit_rows(graph, n):
    """(n, words): bit v of row u says u – v."""
    rows = [bit_row([v for v in range(n) if frozenset((u, v)) in graph], n) for u in range(n)]
    return np.array(rows, dtype=np.uint64)


def members_of(words):
    return [64 * k + b for k, word in enumerate(words) for b in range(64) if int(word) >> b & 1]


def graph_of(rows):
    """The edges of bit rows, which must be symmetric."""
    pairs = {(u, v) for u, row in enumerate(rows) for v in members_of(row)}
    assert all((v, u) in pairs and u != v for u, v in pairs)
    return frozenset(frozenset(p) for p in pairs)


def reachable(graph, start, given):
    """All that `start` reaches outside of `given`, itself included."""
    neighbors = {}
    for edge in graph:
        u, v = edge
        neighbors.setdefault(u, set()).add(v)
        neighbors.setdefault(v, set()).add(u)
    seen, todo = {start}, [start]
    while todo:
        fresh = neighbors.get(todo.pop(), set()) - seen - set(given)
        seen |= fresh
        todo += fresh
    return seen


def both_ways(graph):
    """The edges in both directions, in the order of (u, v)."""
    return sorted(pair for edge in graph for pair in (tuple(edge), tuple(edge)[::-1]))


def pair_of(n, u, v):
    """The ordered pair for uniform numbers u and v."""
    a, b = int(u * n), int(v * (n - 1))
    return a, b + (b >= a)


def conditioning_sets(left, right, level):
    """The sets of `level` members of `left` or of `right`, each once, in turns."""
    known = set(left)
    others = (s for s in subsets_of(right, level) if not known.issuperset(s))
    for one, two in zip_longest(subsets_of(left, level), others):
        if one is not None:
            yield one
        if two is not None:
            yield two


def subsets_of(members, size):
    """The subsets of one size, those of the first members first."""
    if size == 0:
        yield ()
    for last in range(size - 1, len(members)):
        for others in combinations(members[:last], size - 1):
            yield (*others, members[last])
