"""A test that answers by separation in a graph that is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from counterpane.counts.source import CountSource
from counterpane.errors import FitError, ParameterError
from counterpane.graphs import Dag, UndirectedGraph, d_separated, separated
from counterpane.independence.base import IndependenceTest, Question, Verdict
from counterpane.progress import Control


class Oracle(IndependenceTest):
    """Independence by d-separation in a `Dag`, or by separation in an `UndirectedGraph`.

    Parameters
    ----------
    graph : Dag or UndirectedGraph
        The graph that decides.
    names : sequence of str, optional
        The names of its nodes; by default their numbers.

    Examples
    --------
    >>> rain = Dag(3, [(0, 2), (1, 2)])
    >>> test = Oracle(rain, names=["rain", "sprinkler", "wet"])
    >>> test("rain", "sprinkler").independent, test("rain", "sprinkler", "wet").independent
    (True, False)
    """

    def __init__(self, graph: Dag | UndirectedGraph, names: Sequence[str] | None = None) -> None:
        if not isinstance(graph, (Dag, UndirectedGraph)):
            raise ParameterError(f"graph={graph!r}; a Dag or an UndirectedGraph is needed.")
        self.graph = graph
        self._names = tuple(map(str, range(graph.n)) if names is None else names)
        if len(self._names) != graph.n:
            raise ParameterError(f"{len(self._names)} names were given for {graph.n} nodes.")

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def bind(self, source: CountSource, *, ctl: Control | None = None) -> Self:
        """The same oracle, with the column names of `source` for its nodes."""
        if len(source.schema) != self.graph.n:
            raise FitError(
                f"the oracle's graph has {self.graph.n} nodes and the data {len(source.schema)} "
                "columns; node i must be column i."
            )
        return type(self)(self.graph, source.schema.names)

    def answer(self, questions: Sequence[Question]) -> list[Verdict]:
        graph = self.graph
        if isinstance(graph, Dag):
            return [Verdict(d_separated(graph, *question)) for question in questions]
        return [Verdict(separated(graph, *question)) for question in questions]
