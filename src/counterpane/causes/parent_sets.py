"""Which parents a treatment has in the graphs of an equivalence class: IDA.

By Maathuis, Kalisch & Bühlmann (2009) an effect depends on a graph of the class only through the
parents of the treatment, and each set of parents can be checked at the treatment's own edges. With
directions that a user required, or with several treatments (Nandy, Maathuis & Richardson 2017), a
set counts if the class has a graph with it: if a consistent extension exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from counterpane.errors import GraphError, ParameterError
from counterpane.graphs import Cpdag, Dag, UndirectedGraph, consistent_extension


class ParentSets(NamedTuple):
    """The parents of each treatment in some graphs of a class, and one of these graphs."""

    parents: tuple[tuple[int, ...], ...]
    example: Dag


def parent_sets(shape: Cpdag, treatments: Sequence[int], most: int) -> list[ParentSets]:
    """Every combination of parents of the treatments that a graph of the class has.

    The combination with the fewest parents comes first. More than `most` raise `ParameterError`.

    >>> from counterpane.graphs import cpdag
    >>> [sets.parents for sets in parent_sets(cpdag(Dag(3, [(0, 1), (1, 2)])), [1], 10)]
    [((),), ((0,),), ((2,),)]
    """
    sets: list[ParentSets] = []
    for tried, oriented in enumerate(_orientations(shape, list(treatments))):
        if tried >= 100 * most or len(sets) > most:
            break
        graph = _extended(oriented)
        if graph is not None:
            parents = tuple(graph.parents(v) for v in treatments)
            sets.append(ParentSets(parents, graph))
    else:
        return sorted(sets, key=lambda s: (sum(map(len, s.parents)), s.parents))
    raise ParameterError(
        f"the class has more than {most} sets of parents of the treatment; raise max_sets, require "
        "some directions, or set fewer columns at once."
    )


class _Oriented(NamedTuple):
    """Edges of the class: directed ones by child, and those still without a direction."""

    parents: tuple[frozenset[int], ...]
    links: tuple[frozenset[int], ...]

    def directed(self, v: int, into: frozenset[int]) -> _Oriented:
        """With the edges `into` directed into v, and its other open edges out of it."""
        parents, links = list(self.parents), list(self.links)
        parents[v] |= into
        for u in links[v]:
            links[u] -= {v}
            if u not in into:
                parents[u] |= {v}
        links[v] = frozenset()
        return _Oriented(tuple(parents), tuple(links))


def _orientations(shape: Cpdag, treatments: list[int]) -> Iterator[_Oriented]:
    """The class with all edges at the treatments directed, without a new collider at them."""
    joined = [frozenset(shape.skeleton.neighbors(v)) for v in range(shape.n)]
    start = _Oriented(
        tuple(frozenset(shape.compelled.parents(v)) for v in range(shape.n)),
        tuple(frozenset(shape.reversible.neighbors(v)) for v in range(shape.n)),
    )

    def directed(graph: _Oriented, left: list[int]) -> Iterator[_Oriented]:
        if not left:
            yield graph
            return
        v = left[0]
        for into in _cliques(sorted(graph.links[v]), joined):
            turned = graph.directed(v, into)
            if _no_new_collider(turned, shape, [v, *graph.links[v]], joined):
                yield from directed(turned, left[1:])

    return directed(start, treatments)


def _cliques(nodes: Sequence[int], joined: Sequence[frozenset[int]]) -> Iterator[frozenset[int]]:
    """The subsets of `nodes` whose members are all joined, smaller ones first."""
    level = [frozenset[int]()]
    while level:
        yield from level
        level = [
            clique | {v}
            for clique in level
            for v in nodes
            if v > max(clique, default=-1) and clique <= joined[v]
        ]


def _no_new_collider(
    graph: _Oriented, shape: Cpdag, nodes: Sequence[int], joined: Sequence[frozenset[int]]
) -> bool:
    for v in nodes:
        before = frozenset(shape.compelled.parents(v))
        for a, b in combinations(sorted(graph.parents[v]), 2):
            if b not in joined[a] and not {a, b} <= before:
                return False
    return True


def _extended(graph: _Oriented) -> Dag | None:
    """A graph of the class with these directions; None if there is none."""
    free = [(a, b) for a, links in enumerate(graph.links) for b in links if a < b]
    n = len(graph.parents)
    try:
        return consistent_extension(
            Cpdag(Dag.from_parents(graph.parents), UndirectedGraph(n, free))
        )
    except GraphError:  # a cycle, or a collider that cannot be avoided
        return None
