"""Separation in a graph, with sets of variables as Python integers: bit v for variable v."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from counterpane.errors import ParameterError
from counterpane.graphs import UndirectedGraph
from counterpane.independence import Ledger
from counterpane.typing import Bools, Floats, Ints

MAX_TRIPLES = 200_000
TESTS_PER_BATCH = 1000


def bit_set(variables: tuple[int, ...] | list[int]) -> int:
    """The integer that stands for a set of variables.

    >>> bit_set([0, 3])
    9
    """
    return sum(1 << v for v in variables)


def neighbor_sets(graph: UndirectedGraph | Bools) -> list[int]:
    """The set of neighbors of each variable, of a graph or of its adjacency matrix."""
    if isinstance(graph, UndirectedGraph):
        return [bit_set(graph.neighbors(v)) for v in range(graph.n)]
    return [bit_set(np.flatnonzero(row).tolist()) for row in graph]


def is_separated(neighbors: list[int], x: int, y: int, given: int) -> bool:
    """Whether every path between x and y passes through `given`, apart from the edge x — y.

    >>> chain = [0b010, 0b101, 0b010]
    >>> is_separated(chain, 0, 2, 0), is_separated(chain, 0, 2, 0b010)
    (False, True)
    """
    free = ~given
    seen = 1 << x
    frontier = neighbors[x] & free & ~(1 << y)
    while frontier:
        if frontier >> y & 1:
            return False
        seen |= frontier
        reached = 0
        while frontier:
            lowest = frontier & -frontier
            reached |= neighbors[lowest.bit_length() - 1]
            frontier ^= lowest
        frontier = reached & free & ~seen
    return True


def smallest_separating_set(
    neighbors: list[int], x: int, y: int, cards: Ints, log_odds: Floats, max_slices: float
) -> list[int]:
    """The smaller of two minimal separating sets: among the neighbors of x, among those of y.

    If it has more than `max_slices` configurations, the members with the weakest edges to x or y
    are left out.
    """
    best: list[int] | None = None
    for end in (x, y):
        given = neighbors[end] & ~(1 << x | 1 << y)
        members = [v for v in range(len(neighbors)) if given >> v & 1]
        for v in list(members):
            if is_separated(neighbors, x, y, given & ~(1 << v)):
                given &= ~(1 << v)
                members.remove(v)
        while members and np.prod(cards[members].astype(np.float64)) > max_slices:
            members.remove(min(members, key=lambda v: min(log_odds[x, v], log_odds[y, v])))
        if best is None or len(members) < len(best):
            best = members
    return best or []


def contradicted_share(ledger: Ledger, graph: UndirectedGraph) -> float:
    """The share of executed tests that `graph` contradicts.

    It contradicts a dependence of two variables that it separates, and an independence of two
    adjacent variables. An inconclusive test (a gap of 0) is not contradicted.
    """
    if not ledger.n_tests:
        return 0.0
    neighbors = neighbor_sets(graph)
    wrong = 0
    for (x, y, given), verdict in ledger.answered.items():
        adjacent = bool(neighbors[x] >> y & 1)
        if verdict.independent:
            wrong += adjacent and verdict.log_evidence != 0
        elif not adjacent:
            wrong += is_separated(neighbors, x, y, bit_set(given))
    return wrong / ledger.n_tests


def with_pure_triples(graph: UndirectedGraph, ledger: Ledger) -> UndirectedGraph:
    """The graph with the three edges of each triple that interacts without pair effects, as xor.

    Learners that start from pairs cannot find such triples. They are found by one test of
    x ⊥ y | z for each triple whose three pairs are unconditionally independent: without pair
    effects the interaction is symmetric, so that one of the three tests is enough. Triples whose
    x and y the graph does not separate are left out: their association was judged already.
    """
    n = graph.n
    answered = ledger.answered.items()
    unlinked = {(x, y) for (x, y, given), v in answered if not given and v.independent}
    neighbors = neighbor_sets(graph)
    triples = [
        (x, y, z)
        for x, y, z in combinations(range(n), 3)
        if {(x, y), (x, z), (y, z)} <= unlinked and is_separated(neighbors, x, y, 1 << z)
    ]
    if len(triples) > MAX_TRIPLES:
        raise ParameterError(
            f"interactions=True asks about {len(triples):,} triples of columns; at most "
            f"{MAX_TRIPLES:,} are allowed: choose fewer columns."
        )
    edges = list(graph.edges)
    for start in range(0, len(triples), TESTS_PER_BATCH):
        batch = triples[start : start + TESTS_PER_BATCH]
        verdicts = ledger.answer([(x, y, (z,)) for x, y, z in batch])
        for (x, y, z), verdict in zip(batch, verdicts, strict=True):
            if not verdict.independent:
                edges += [(x, y), (x, z), (y, z)]
    return UndirectedGraph(n, sorted({(min(e), max(e)) for e in edges}))
