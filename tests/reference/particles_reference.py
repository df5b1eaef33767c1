"""Graphs as Python sets of pairs, tests as (x, y, given): particles the slow way."""

from __future__ import annotations

import math
from itertools import combinations


def all_pairs(n):
    return [frozenset(pair) for pair in combinations(range(n), 2)]


def all_graphs(n):
    """Every graph on n nodes, as a frozenset of pairs."""
    pairs = all_pairs(n)
    return [
        frozenset(p for k, p in enumerate(pairs) if code >> k & 1)
        for code in range(2 ** len(pairs))
    ]


def is_separated(graph, x, y, given):
    seen, todo = {x}, [x]
    while todo:
        here = todo.pop()
        for edge in graph:
            if here in edge:
                (there,) = edge - {here}
                if there not in seen and there not in given:
                    seen.add(there)
                    todo.append(there)
    return y not in seen


def signature(graph, tests):
    return tuple(is_separated(graph, *test) for test in tests)


def log_likelihood(graph, tests, gaps):
    """Minus the gaps of the tests that the graph gets wrong."""
    said = signature(graph, tests)
    return -sum(abs(gap) for s, gap in zip(said, gaps, strict=True) if s != (gap > 0))


def log_prior(graph, n, kind):
    m, k = math.comb(n, 2), len(graph)
    if kind == "graphs":
        return 0.0
    return -math.log(math.comb(m, k)) - (2 * math.log(k + 1) if kind == "sparse" else 0.0)


def posterior(n, tests, gaps, kind):
    """The probability of every graph."""
    logs = {g: log_prior(g, n, kind) + log_likelihood(g, tests, gaps) for g in all_graphs(n)}
    top = max(logs.values())
    weights = {g: math.exp(v - top) for g, v in logs.items()}
    total = sum(weights.values())
    return {g: w / total for g, w in weights.items()}


def entropy(counts):
    total = sum(counts)
    return -sum(c / total * math.log2(c / total) for c in counts if c)


def information(graphs, tests, new):
    """Σ over classes of n_c/N · H(what the class says of the new test), in bits."""
    classes = {}
    for graph in graphs:
        classes.setdefault(signature(graph, tests), []).append(is_separated(graph, *new))
    return sum(
        len(said) / len(graphs) * entropy([sum(said), len(said) - sum(said)])
        for said in classes.values()
    )


def entropy_within(graphs, tests):
    """Σ over classes of n_c/N · H(graphs of the class), in bits."""
    classes = {}
    for graph in graphs:
        classes.setdefault(signature(graph, tests), []).append(graph)
    return sum(
        len(members) / len(graphs) * entropy([members.count(g) for g in set(members)])
        for members in classes.values()
    )
