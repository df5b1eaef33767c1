"""What each edge gains on the cells that were observed, in a network that was learned by EM.

A network that has an edge fills missing cells as the edge says, so expected counts confirm the edge
in rows that tell nothing about it. The score of what was observed does not: the log-likelihood of
the observed cells, less what the score charges, which is how far it is below the log-likelihood of
the expected counts (Cheeseman & Stutz 1996).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from counterpane.graphs import Dag
from counterpane.learners.parameters import EMSearch, EMState
from counterpane.progress import Control
from counterpane.scores import LocalScore, LogLikelihood
from counterpane.typing import Floats

Edge = tuple[int, int]
"""Parent and child, by position."""


def observed_gains(
    em: EMSearch, state: EMState, score: LocalScore, edges: Sequence[Edge], ctl: Control
) -> Floats:
    """The score of the observed cells that is lost without each edge of `edges`, in nats.

    Without an edge, the child's table is that of its counts summed over the parent, and the other
    tables stay. This is exact for these tables; the best tables without the edge may lose less. A
    penalty that grows with the rows is that of the rows that show both columns (Laplace's
    approximation: other rows tell little about the parameters of the edge).
    """
    model, counts, complete = em.model(state), em.cut(state.expected), em.cut(em.shown)
    gains, changes = np.zeros(len(edges)), []
    for i, (parent, child) in enumerate(edges):
        parents = em.dag.parents(child)
        axis = parents.index(parent)
        fewer = parents[:axis] + parents[axis + 1 :]
        summed = counts[child].sum(axis=axis)
        strengths = summed + em.alpha[child].sum(axis=axis)
        rows_of = np.maximum(strengths.sum(axis=-1, keepdims=True), np.finfo(np.float64).tiny)
        without = np.expand_dims(strengths / rows_of, axis)
        ratios = np.ones(counts[child].shape)  # also in cells that no row can be in
        table = model.tables[child]
        np.divide(without, table, out=ratios, where=(table > 0) & (without > 0))
        changes.append((child, ratios))
        rows = _shown_weight(em, [parent, child])
        more = _penalty(score, counts[child], rows, child, parents)
        price = more - _penalty(score, summed, rows, child, fewer)
        prior = score.structure_prior.families(em.schema.cards, [(child, parents), (child, fewer)])
        gains[i] = prior[0] - prior[1] - price - (complete[child] * np.log(ratios)).sum()
    potentials = [p.log_values for p in model.to_potentials()]
    return gains - em.completion.compared(potentials, em.weights, changes, ctl=ctl)


def _penalty(
    score: LocalScore, counts: Floats, rows: float, child: int, parents: Sequence[int]
) -> float:
    """How far a score of a family is below its log-likelihood, for data of the weight `rows`."""
    fit = LogLikelihood().family(counts, rows, child, parents)
    return fit - score.family(counts, rows, child, parents)


def _shown_weight(em: EMSearch, columns: list[int]) -> float:
    """The weight of the rows that show all of some columns, two at least."""
    assert em.table.weights is not None
    seen = (em.table.codes[columns] < em.schema.cards[columns, None]).all(axis=0)
    return max(2.0, float(em.table.weights[seen].sum()))


def doubtful_edges(em: EMSearch, fixed: Collection[Edge]) -> list[Edge]:
    """The edges of families with missing cells, but for those that are `fixed`."""
    gaps = (em.table.codes == em.schema.cards[:, None]).any(axis=1)
    return [
        (p, x)
        for p, x in em.dag.edges
        if (p, x) not in fixed and gaps[[*em.dag.parents(x), x]].any()
    ]


def without_weak_edges(
    em: EMSearch, state: EMState, score: LocalScore, fixed: Collection[Edge], ctl: Control
) -> tuple[Dag, list[Floats]] | None:
    """The network without edges for which the observed cells do not pay, and its expected counts.

    None if all edges pay. Of edges that share a column only the weakest is dropped, since the
    others may gain by that; so it is to be asked again after EM.
    """
    edges = doubtful_edges(em, fixed)
    gains = observed_gains(em, state, score, edges, ctl) if edges else np.zeros(0)
    least = score.least_gain(float(em.table.total_weight))
    counts, touched, dropped = em.cut(state.expected), set[int](), set[Edge]()
    for i in np.argsort(gains, kind="stable").tolist():
        parent, child = edges[i]
        if gains[i] >= -least or not math.isfinite(gains[i]):
            break
        if touched & {parent, child}:
            continue
        touched |= {parent, child}
        dropped.add((parent, child))
        counts[child] = counts[child].sum(axis=em.dag.parents(child).index(parent))
    if not dropped:
        return None
    return Dag(em.dag.n, [edge for edge in em.dag.edges if edge not in dropped]), counts
