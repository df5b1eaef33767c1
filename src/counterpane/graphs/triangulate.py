"""Chordal graphs: elimination by least fill, maximal cliques, junction trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from counterpane._core.graphs import eliminate, spanning_tree
from counterpane.errors import GraphError, ParameterError, Setting
from counterpane.graphs.bits import Edge, mask, members, n_words, unpack
from counterpane.graphs.undirected import UndirectedGraph
from counterpane.typing import Floats, Words

Clique = tuple[int, ...]


@dataclass(frozen=True)
class Triangulation:
    """An elimination order, the edges it adds, and the maximal cliques of the chordal result.

    Cliques are rising tuples, in the order in which elimination completes them.
    """

    order: tuple[int, ...]
    fill_edges: tuple[Edge, ...]
    cliques: tuple[Clique, ...]

    @property
    def width(self) -> int:
        """The size of the largest clique less one; an upper bound on the graph's tree width."""
        return max(map(len, self.cliques), default=0) - 1


@dataclass(frozen=True)
class JunctionTree:
    """Cliques and the edges (i, j, separator) of one tree over them, rooted at clique 0.

    Edges run outwards: i was reached before j. So their reverse is a schedule for collecting
    messages at the root, and they themselves one for distributing them. Components of a
    disconnected graph are joined by edges with an empty separator: k cliques, k − 1 edges, always.
    The constructor checks the tree, each separator (the intersection), and the running
    intersection property.
    """

    cliques: tuple[Clique, ...]
    edges: tuple[tuple[int, int, Clique], ...]

    def __post_init__(self) -> None:
        reached = {0} if self.cliques else set()
        balance = Counter(v for clique in self.cliques for v in clique)
        for i, j, separator in self.edges:
            if i not in reached or j in reached or not 0 <= j < len(self.cliques):
                raise GraphError(
                    f"edge ({i}, {j}) of a junction tree must lead from a reached clique to a new "
                    f"one of {len(self.cliques)}; order the edges outwards from clique 0."
                )
            reached.add(j)
            common = tuple(sorted(set(self.cliques[i]) & set(self.cliques[j])))
            if separator != common:
                raise GraphError(
                    f"edge ({i}, {j}) of a junction tree has the separator {separator}; "
                    f"its cliques share {common}."
                )
            balance.subtract(separator)
        if len(reached) < len(self.cliques):
            raise GraphError(
                f"a junction tree of {len(self.cliques)} cliques needs {len(self.cliques) - 1} "
                f"edges, got {len(self.edges)}."
            )
        # In a tree, the cliques with v form one subtree iff they have one edge fewer than members.
        for v, parts in balance.items():
            if parts != 1:
                raise GraphError(
                    f"the cliques that hold node {v} form {parts} separate parts of the tree; the "
                    "running intersection property needs one: take the cliques of a chordal graph."
                )


def min_fill(graph: UndirectedGraph, cards: npt.ArrayLike | None = None) -> Triangulation:
    """A triangulation by eliminating, at each step, the node that adds the fewest edges.

    Ties go to the smaller clique table (the product of `cards`; without them the smaller clique),
    then to the smaller index. A chordal graph gets no fill edge. Cost: O(n²) to choose, and
    O(n / 64 + common neighbors) per added edge.

    >>> square = UndirectedGraph(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> result = min_fill(square)
    >>> result.fill_edges, result.cliques, result.width
    (((1, 3),), ((0, 1, 3), (1, 2, 3)), 2)
    """
    rows = graph.neighbor_bits.copy()
    order = np.empty(graph.n, dtype=np.int64)
    cliques = np.zeros_like(rows)
    eliminate(rows, _checked_cards(graph.n, cards), mask(graph.n, range(graph.n)), order, cliques)
    in_clique = unpack(cliques, graph.n)
    filled = np.zeros((graph.n, graph.n), dtype=np.bool_)
    filled[order] = in_clique
    added = np.triu(filled | filled.T, 1) & ~unpack(graph.neighbor_bits, graph.n)
    return Triangulation(
        order=tuple(order.tolist()),
        fill_edges=tuple((a, b) for a, b in np.argwhere(added).tolist()),
        cliques=tuple(members(cliques[k]) for k in _maximal(order.tolist(), cliques)),
    )


def is_chordal(graph: UndirectedGraph) -> bool:
    """Whether every cycle of four or more nodes has a chord.

    A chordal graph always has a node whose neighbors are all joined, so least fill adds nothing.

    >>> is_chordal(UndirectedGraph(4, [(0, 1), (1, 2), (2, 3), (3, 0)]))
    False
    """
    return not min_fill(graph).fill_edges


def junction_tree(triangulation: Triangulation) -> JunctionTree:
    """A maximum spanning tree of the cliques by separator size (Jensen & Jensen 1994).

    Components are joined by empty separators; see `JunctionTree`. Cost: O(cliques² · n / 64).

    >>> path = UndirectedGraph(4, [(0, 1), (1, 2)])
    >>> tree = junction_tree(min_fill(path))
    >>> tree.cliques, tree.edges
    (((3,), (0, 1), (1, 2)), ((0, 1, ()), (1, 2, (1,))))
    """
    cliques = triangulation.cliques
    n = len(triangulation.order)
    rows = np.zeros((len(cliques), n_words(n)), dtype=np.uint64)
    for k, clique in enumerate(cliques):
        rows[k] = mask(n, clique)
    nearest, order = np.zeros((2, len(cliques)), dtype=np.int64)
    spanning_tree(rows, nearest, order)
    edges = []
    for j in order[1:].tolist():
        i = int(nearest[j])
        edges.append((i, j, members(rows[i] & rows[j])))
    return JunctionTree(cliques, tuple(edges))


def _maximal(order: Sequence[int], cliques: Words) -> list[int]:
    """The steps of an elimination whose clique lies in no other.

    Let w be the first node eliminated after v among v's clique: then clique(v) − v ⊆ clique(w),
    and clique(w) is not maximal iff equality holds for one such v.
    """
    step = {v: k for k, v in enumerate(order)}
    maximal = [True] * len(order)
    sizes = np.bitwise_count(cliques).sum(axis=1).tolist()
    for k, row in enumerate(cliques):
        later = min((step[v] for v in members(row) if v != order[k]), default=None)
        if later is not None and sizes[later] == sizes[k] - 1:
            maximal[later] = False
    return [k for k, keep in enumerate(maximal) if keep]


def _checked_cards(n: int, cards: npt.ArrayLike | None) -> Floats:
    """`cards` as floats: products of them are exact up to 2⁵³, so ties are the same everywhere."""
    values = np.full(n, 2.0) if cards is None else np.array(cards, dtype=np.float64)
    if values.shape != (n,) or not (values >= 1).all():
        raise ParameterError(
            Setting("cards", cards),
            f" does not fit; one number of states, 1 or more, is needed for each of {n} nodes.",
        )
    return values
