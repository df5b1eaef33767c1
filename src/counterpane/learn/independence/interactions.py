"""A second look at triples: interactions of three columns that no pair of them shows, such as xor.

Learners that start from pairs cannot see them. One test of x ⊥ y | z for each triple whose three
pairs are unconditionally independent tells: without pair effects the interaction is symmetric in
the three, so that one of the three tests is enough.
"""

from __future__ import annotations

from itertools import combinations

from counterpane.errors import ParameterError
from counterpane.graphs import UndirectedGraph
from counterpane.independence import Ledger
from counterpane.learn.independence.separators import is_separated

MOST_TRIPLES = 200_000
TOGETHER = 1000


def with_interactions(graph: UndirectedGraph, ledger: Ledger) -> UndirectedGraph:
    """The graph with the three edges of each triple that turns out dependent.

    Triples that the graph joins otherwise are left out: their association was judged already.
    """
    n = graph.n
    answered = ledger.answered.items()
    apart = {(x, y) for (x, y, given), v in answered if not given and v.independent}
    rows = [sum(1 << v for v in graph.neighbors(i)) for i in range(n)]
    triples = [
        (x, y, z)
        for x, y, z in combinations(range(n), 3)
        if {(x, y), (x, z), (y, z)} <= apart and is_separated(rows, x, y, 1 << z)
    ]
    if len(triples) > MOST_TRIPLES:
        raise ParameterError(
            f"interactions=True asks about {len(triples):,} triples of columns; at most "
            f"{MOST_TRIPLES:,} are allowed: choose fewer columns."
        )
    edges = list(graph.edges)
    for start in range(0, len(triples), TOGETHER):
        part = triples[start : start + TOGETHER]
        verdicts = ledger.answer([(x, y, (z,)) for x, y, z in part])
        for (x, y, z), verdict in zip(part, verdicts, strict=True):
            if not verdict.independent:
                edges += [(x, y), (x, z), (y, z)]
    return UndirectedGraph(n, sorted({(min(e), max(e)) for e in edges}))
