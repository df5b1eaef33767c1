"""Directed acyclic graphs as parent lists."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Self, SupportsIndex, final

import numpy as np

from counterpane._core.graphs import order_lists
from counterpane.errors import GraphError
from counterpane.graphs.bits import BitGraph, Nodes, as_tuples, bit_rows, node
from counterpane.graphs.reach import reached
from counterpane.ragged import groups_of
from counterpane.typing import Ints, Words


@final
class Dag(BitGraph):
    """A directed acyclic graph on the nodes 0 … n−1.

    A cycle, a loop or an unknown node raises `GraphError`.

    Parameters
    ----------
    n : int
        The number of nodes.
    edges : iterable of (int, int)
        The (parent, child) pairs.

    Attributes
    ----------
    parent_bits, child_bits : array of uint64, shape (n, ceil(n / 64))
        Read-only sets of nodes: bit p of row c of `parent_bits` is set if p → c. Made when they
        are first asked for; the graph itself is stored as lists.

    Examples
    --------
    >>> dag = Dag(4, [(0, 2), (1, 2), (2, 3)])
    >>> dag.parents(2), dag.children(2), dag.topological_order()
    ((0, 1), (3,), (0, 1, 2, 3))
    >>> dag.markov_blanket(0)
    (1, 2)
    >>> Dag(3, [(0, 1), (1, 2), (2, 0)])
    Traceback (most recent call last):
    counterpane.errors.GraphError: the edges form the cycle 0 → 1 → 2 → 0; drop or turn one of them.
    """

    directed = True
    _children: tuple[Ints, Ints]  # offsets and nodes
    _order: Ints

    @classmethod
    def from_parents(cls, parents: Iterable[Iterable[SupportsIndex]]) -> Self:
        """The graph in which node i has the parents `parents[i]`.

        >>> Dag.from_parents([(), (0,), (0, 1)]).edges
        ((0, 1), (0, 2), (1, 2))
        """
        families = [tuple(family) for family in parents]
        return cls(len(families), ((p, c) for c, family in enumerate(families) for p in family))

    def _check(self, names: Sequence[Hashable]) -> None:
        below = np.argsort(self._into, kind="stable")
        self._children = groups_of(self._into[below], self.n), self._heads[below]
        self._order = np.empty(self.n, dtype=np.int64)
        placed = order_lists(self._from, *self._children, self._order)
        if placed < self.n:
            cycle = self._cycle(set(range(self.n)) - set(self._order[:placed].tolist()))
            path = " → ".join(str(names[i]) for i in cycle)
            raise GraphError(f"the edges form the cycle {path}; drop or turn one of them.")
        self._order.flags.writeable = False

    def _cycle(self, unplaced: set[int]) -> list[int]:
        """A cycle from its smallest node back to it: every unplaced node has an unplaced parent."""
        walk = [min(unplaced)]
        while walk[-1] not in walk[:-1]:
            walk.append(next(p for p in self.parents(walk[-1]) if p in unplaced))
        cycle = walk[walk.index(walk[-1]) + 1 :][::-1]
        first = cycle.index(min(cycle))
        return [*cycle[first:], *cycle[: first + 1]]

    @property
    def parent_bits(self) -> Words:
        """Row i holds the parents of node i."""
        return self._rows

    @cached_property
    def child_bits(self) -> Words:
        """Row i holds the children of node i."""
        return bit_rows(*self._children)

    def parents(self, i: SupportsIndex) -> tuple[int, ...]:
        """The parents of node i, rising."""
        return self._members[node(i, self.n)]

    @cached_property
    def _child_lists(self) -> list[tuple[int, ...]]:
        return as_tuples(*self._children)

    def children(self, i: SupportsIndex) -> tuple[int, ...]:
        """The children of node i, rising."""
        return self._child_lists[node(i, self.n)]

    def topological_order(self) -> tuple[int, ...]:
        """All nodes, parents before children; among the ready ones the smallest comes first."""
        return tuple(self._order.tolist())

    def ancestors(self, nodes: Nodes) -> tuple[int, ...]:
        """The nodes outside `nodes` from which a directed path leads into them, rising."""
        return self._reached(self._members, nodes)

    def descendants(self, nodes: Nodes) -> tuple[int, ...]:
        """The nodes outside `nodes` to which a directed path leads from them, rising."""
        return self._reached(self._child_lists, nodes)

    def _reached(self, lists: list[tuple[int, ...]], nodes: Nodes) -> tuple[int, ...]:
        several = nodes if isinstance(nodes, Iterable) else (nodes,)
        start = {node(i, self.n) for i in several}
        return tuple(sorted(reached(lists, start) - start))

    def n_parameters(self, cards: Ints) -> int:
        """The number of free parameters of tables on this graph, Σ_i q_i (r_i − 1).

        >>> Dag(2, [(0, 1)]).n_parameters(np.array([2, 3]))
        5
        """
        sizes = cards.tolist()
        return sum(
            (sizes[i] - 1) * math.prod(sizes[p] for p in self.parents(i)) for i in range(self.n)
        )

    def markov_blanket(self, i: SupportsIndex) -> tuple[int, ...]:
        """The parents, children and children's other parents of node i, rising."""
        i = node(i, self.n)
        children = self.children(i)
        spouses = (p for c in children for p in self.parents(c))
        return tuple(sorted({*self.parents(i), *children, *spouses} - {i}))
