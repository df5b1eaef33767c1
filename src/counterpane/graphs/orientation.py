"""Directions of the edges of a skeleton: colliders, knowledge, and what follows from them.

C. Meek, Causal inference and causal explanation with background knowledge, UAI 1995.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from counterpane.errors import GraphError
from counterpane.graphs.dag import Dag
from counterpane.graphs.equivalence import Cpdag, consistent_extension
from counterpane.graphs.reach import reached
from counterpane.graphs.undirected import UndirectedGraph

Arc = tuple[int, int]
Collider = tuple[int, int, int]
"""a → b ← c as (a, b, c), with a < c and no edge between them."""


class Orientation:
    """A skeleton that gets its directions one by one.

    An arc is refused if it is forbidden, if the edge has the other direction already, or if it
    would close a directed cycle. The skeleton never changes.

    Parameters
    ----------
    skeleton : UndirectedGraph
        The edges.
    known : iterable of (int, int)
        Arcs that are known from elsewhere; their reverses are refused.

    Attributes
    ----------
    refused : list of (int, int)
        The arcs that were refused, in order.

    Examples
    --------
    >>> work = Orientation(UndirectedGraph(4, [(0, 2), (1, 2), (2, 3)]))
    >>> work.add_collider((0, 2, 1))
    True
    >>> work.close()
    >>> work.pattern().compelled.edges
    ((0, 2), (1, 2), (2, 3))
    """

    def __init__(self, skeleton: UndirectedGraph, known: Iterable[Arc] = ()) -> None:
        self.skeleton = skeleton
        self.joined = [set(skeleton.neighbors(v)) for v in range(skeleton.n)]
        self.parents: list[set[int]] = [set() for _ in self.joined]
        self.children: list[set[int]] = [set() for _ in self.joined]
        self.refused: list[Arc] = []
        for arc in known:
            self.add(*arc)

    def add(self, a: int, b: int) -> bool:
        """Direct a → b; whether the edge has this direction now."""
        if a in self.parents[b]:
            return True
        if b in self.parents[a] or a in reached(self.children, [b]):
            self.refused.append((a, b))
            return False
        self.parents[b].add(a)
        self.children[a].add(b)
        return True

    def add_collider(self, collider: Collider) -> bool:
        """Direct a → b ← c if both arcs can be; whether they could."""
        a, b, c = collider
        for arc in ((a, b), (c, b)):
            if b in self.parents[arc[0]] or arc[0] in reached(self.children, [b]):
                self.refused.append(arc)
                return False
        return self.add(a, b) and self.add(c, b)

    def close(self) -> None:
        """Add the arcs that follow by Meek's four rules."""
        waiting = [v for v in range(len(self.joined)) if self.parents[v] or self.children[v]]
        dirty = set(waiting)
        while waiting:
            v = waiting.pop(0)
            dirty.discard(v)
            for a, b in self._following(v):
                before = a in self.parents[b]
                if not before and self.add(a, b):
                    for u in sorted({a, b, *self.joined[a], *self.joined[b]} - dirty):
                        dirty.add(u)
                        waiting.append(u)

    def _following(self, v: int) -> list[Arc]:
        """The arcs at node v that a rule gives."""
        arcs = []
        for u in sorted(self.free(v)):
            if self._follows(u, v):
                arcs.append((u, v))
            elif self._follows(v, u):
                arcs.append((v, u))
        return arcs

    def free(self, v: int) -> set[int]:
        """The nodes whose edge to v has no direction yet."""
        return self.joined[v] - self.parents[v] - self.children[v]

    def _follows(self, a: int, b: int) -> bool:
        """Whether a rule turns a – b to a → b."""
        joined, parents = self.joined, self.parents
        if any(c not in joined[b] for c in parents[a]):  # else c → a ← b were a new collider
            return True
        if self.children[a] & parents[b]:  # else a → c → b → a were a cycle
            return True
        tips = sorted(parents[b] & self.free(a))
        if any(d not in joined[c] for i, c in enumerate(tips) for d in tips[:i]):
            return True
        # a – d → c → b with a joined to c, and d not joined to b
        corners = parents[b] & joined[a]
        return any(self.free(a) & parents[c] - joined[b] for c in corners)

    def pattern(self) -> Cpdag:
        """The graph with its arcs, and the edges that have no direction."""
        arcs = Dag.from_parents(self.parents)
        free = [(a, b) for a, b in self.skeleton.edges if b in self.free(a)]
        return Cpdag(arcs, UndirectedGraph(arcs.n, free))

    def member(self) -> tuple[Dag, list[Collider]]:
        """A DAG with all arcs and edges, and the colliders that it has beyond the arcs'.

        There are such colliders only if the arcs contradict each other; there are then as few as
        taking away the best sink at each step finds.
        """
        pattern = self.pattern()
        try:
            return consistent_extension(pattern), []
        except GraphError:
            dag = self._forced_member()
        before = set(colliders_of(pattern.compelled, self.skeleton))
        return dag, [c for c in colliders_of(dag, self.skeleton) if c not in before]

    def _forced_member(self) -> Dag:
        """Dor & Tarsi's algorithm that, without a sink, takes the one with the fewest colliders."""
        left = set(range(len(self.joined)))
        parents: list[set[int]] = [set() for _ in self.joined]
        while left:
            best: tuple[int, int] | None = None
            for v in sorted(left):
                if self.children[v] & left:
                    continue
                around = (self.joined[v] & left) - {v}
                made = sum(len(around - self.joined[u] - {u}) for u in around - self.parents[v])
                if best is None or made < best[0]:
                    best = made, v
                if made == 0:
                    break
            assert best is not None  # the arcs have no cycle, so some node has no child left
            sink = best[1]
            parents[sink] = self.joined[sink] & left
            left.discard(sink)
        return Dag.from_parents(parents)


def with_known_directions(graph: Cpdag, known: Iterable[Arc]) -> Cpdag:
    """The class of the graphs in `graph`'s class that have the directions `known` (Meek 1995).

    An edge stays undirected if two of these graphs turn it differently.

    >>> from counterpane.graphs import cpdag
    >>> with_known_directions(cpdag(Dag(3, [(0, 1), (1, 2)])), [(0, 1)]).compelled.edges
    ((0, 1), (1, 2))
    """
    free = graph.reversible.has_edge
    chosen = [arc for arc in known if free(*arc)]
    work = Orientation(graph.skeleton, [*graph.compelled.edges, *chosen])
    work.close()
    return work.pattern()


def colliders_of(dag: Dag, skeleton: UndirectedGraph) -> list[Collider]:
    """The unshielded colliders a → b ← c of `dag`: a and c are not joined in `skeleton`.

    >>> colliders_of(Dag(3, [(0, 1), (2, 1)]), UndirectedGraph(3, [(0, 1), (1, 2)]))
    [(0, 1, 2)]
    """
    return [
        (a, b, c)
        for b in range(dag.n)
        for i, c in enumerate(dag.parents(b))
        for a in dag.parents(b)[:i]
        if not skeleton.has_edge(a, c)
    ]


def unshielded_triples(skeleton: UndirectedGraph) -> list[Collider]:
    """All (a, b, c) with edges a – b – c, a < c, and no edge between a and c.

    >>> unshielded_triples(UndirectedGraph(3, [(0, 1), (1, 2)]))
    [(0, 1, 2)]
    """
    joined = [set(skeleton.neighbors(v)) for v in range(skeleton.n)]
    return [
        (a, b, c)
        for b in range(skeleton.n)
        for i, c in enumerate(skeleton.neighbors(b))
        for a in skeleton.neighbors(b)[:i]
        if c not in joined[a]
    ]


def orient(
    skeleton: UndirectedGraph, colliders: Sequence[Collider], known: Iterable[Arc] = ()
) -> Orientation:
    """The directions of a skeleton by knowledge, then colliders in this order, then Meek's rules.

    >>> work = orient(UndirectedGraph(3, [(0, 1), (1, 2)]), [], known=[(0, 1)])
    >>> work.pattern().compelled.edges
    ((0, 1), (1, 2))
    """
    work = Orientation(skeleton, known)
    for collider in colliders:
        work.add_collider(collider)
    work.close()
    return work
