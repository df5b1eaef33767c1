"""A test that answers by separation in a graph that is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.errors import FitError, ParameterError, Setting
from counterpane.graphs import Dag, MixedGraph, UndirectedGraph, d_separated, separated
from counterpane.graphs.bits import n_words
from counterpane.graphs.mixed import canonical_dag
from counterpane.graphs.separation import d_separated_pairs, smallest_separating_sets
from counterpane.independence.base import IndependenceTest, Question, Verdict, VerdictColumns
from counterpane.progress import Control
from counterpane.typing import Floats, Ints, Words


class Oracle(IndependenceTest):
    """Independence by d-separation in a `Dag`, or by separation in another graph.

    Parameters
    ----------
    graph : Dag, MixedGraph or UndirectedGraph
        The graph that decides; of a `MixedGraph` by m-separation.
    names : sequence of str, optional
        The names of its nodes; by default their numbers, or the names of a `MixedGraph`.

    Examples
    --------
    >>> rain = Dag(3, [(0, 2), (1, 2)])
    >>> test = Oracle(rain, names=["rain", "sprinkler", "wet"])
    >>> test("rain", "sprinkler").independent, test("rain", "sprinkler", "wet").independent
    (True, False)
    """

    def __init__(
        self, graph: Dag | MixedGraph | UndirectedGraph, names: Sequence[str] | None = None
    ) -> None:
        if not isinstance(graph, (Dag, MixedGraph, UndirectedGraph)):
            raise ParameterError(
                Setting("graph", graph), "; a Dag, MixedGraph or UndirectedGraph is needed."
            )
        self.graph = graph
        self._given: tuple[int, ...] = ()
        self._dag: Dag | UndirectedGraph
        if isinstance(graph, MixedGraph):  # its separations are those of a DAG
            self._dag, self._given = canonical_dag(graph)
            nodes = graph.names
        else:
            self._dag, nodes = graph, tuple(map(str, range(graph.n)))
        self._names = nodes if names is None else tuple(names)
        if len(self._names) != len(nodes):
            raise ParameterError(f"{len(self._names)} names were given for {len(nodes)} nodes.")

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def bind(self, source: CountSource, *, ctl: Control | None = None) -> Self:
        """The same oracle, with the column names of `source` for its nodes."""
        if len(source.schema) != len(self._names):
            raise FitError(
                f"the oracle's graph has {len(self._names)} nodes and the data "
                f"{len(source.schema)} columns; node i must be column i."
            )
        return type(self)(self.graph, source.schema.names)

    def answer(self, questions: Sequence[Question]) -> list[Verdict]:
        graph = self._dag
        if isinstance(graph, UndirectedGraph):
            return [Verdict(separated(graph, *question)) for question in questions]
        fixed = self._given
        return [Verdict(d_separated(graph, x, y, (*z, *fixed))) for x, y, z in questions]

    def judge_all(self, pairs: Ints, conditions: Ints) -> VerdictColumns:
        if isinstance(self._dag, UndirectedGraph):
            return super().judge_all(pairs, conditions)
        independent = d_separated_pairs(self._dag, pairs, conditions, self._given)
        if conditions.shape[1]:
            return VerdictColumns.made_of(independent)
        nearness = 1.0 / np.maximum(_distances(self._dag, pairs), 1.0)
        return VerdictColumns.made_of(independent, statistic=nearness)

    def separating_sets(
        self, pairs: Ints, candidates: Words, most: int
    ) -> tuple[Ints, Words] | None:
        """The smallest sets that separate pairs, without trying all; of a `Dag` or `MixedGraph`."""
        if isinstance(self._dag, UndirectedGraph):
            return None
        wide: Words = np.zeros((len(pairs), n_words(self._dag.n)), dtype=np.uint64)
        wide[:, : candidates.shape[1]] = candidates  # the DAG may have hidden nodes beyond
        sizes, sets = smallest_separating_sets(self._dag, pairs, wide, most, self._given)
        return sizes, np.ascontiguousarray(sets[:, : candidates.shape[1]])


def _distances(dag: Dag, pairs: Ints) -> Floats:
    """The number of edges between the two nodes of each pair; what is near depends strongly."""
    near = [{*dag.parents(v), *dag.children(v)} for v in range(dag.n)]
    distance: Floats = np.full((dag.n, dag.n), np.inf)
    for v in np.unique(pairs[:, 0]).tolist():
        seen, frontier, steps = {v}, {v}, 0
        while frontier:
            distance[v, list(frontier)] = steps
            frontier = {u for w in frontier for u in near[w]} - seen
            seen |= frontier
            steps += 1
    values: Floats = distance[pairs[:, 0], pairs[:, 1]]
    return values
