"""What each edge of a network is worth."""

from __future__ import annotations

from counterpane.counts.source import CountSource
from counterpane.graphs import Dag
from counterpane.scores import LocalScore, score_families

EdgeGain = tuple[str, str, float]
"""Parent, child, and the score that would be lost without the edge, in nats."""


def edge_gains(score: LocalScore, source: CountSource, dag: Dag) -> list[EdgeGain]:
    """The gain of each edge of `dag`, largest first, from one batch of counts."""
    names = source.schema.names
    without = [(x, [q for q in dag.parents(x) if q != p]) for p, x in dag.edges]
    families = [(x, list(dag.parents(x))) for x in range(dag.n)]
    values = score_families(score, source, [*families, *without])
    found = [
        (names[p], names[x], float(values[x] - values[dag.n + i]))
        for i, (p, x) in enumerate(dag.edges)
    ]
    return sorted(found, key=lambda edge: -edge[2])
