"""What each edge adds to the score of a network, in nats.

What is shown to people is another measure: `counterpane.independence.edge_strength`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from counterpane.counts.source import CountSource
from counterpane.graphs import Dag
from counterpane.scores import LocalScore, score_families

EdgeGain = tuple[str, str, float]
"""Parent, child, and the score that would be lost without the edge, in nats."""


def score_and_gains(
    score: LocalScore, source: CountSource, dag: Dag
) -> tuple[float, list[EdgeGain]]:
    """The score of `dag` and the gain of each edge, largest first, from one batch of counts."""
    without = [(x, [q for q in dag.parents(x) if q != p]) for p, x in dag.edges]
    families = [(x, list(dag.parents(x))) for x in range(dag.n)]
    values = score_families(score, source, [*families, *without])
    gains = ((p, x, float(values[x] - values[dag.n + i])) for i, (p, x) in enumerate(dag.edges))
    return float(values[: dag.n].sum()), named_gains(source.schema.names, gains)


def named_gains(names: Sequence[str], gains: Iterable[tuple[int, int, float]]) -> list[EdgeGain]:
    """Gains by position as gains by name, largest first, equal ones in the order of the columns."""
    ranked = sorted(gains, key=lambda edge: (-edge[2], edge[0], edge[1]))
    return [(names[p], names[x], gain) for p, x, gain in ranked]
