"""Directed acyclic graphs as bit rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Self, SupportsIndex, final

import numpy as np

from counterpane._core.graphs import spread, topological, transpose
from counterpane.errors import GraphError
from counterpane.graphs.bits import BitGraph, Nodes, mask, members, node
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
        Read-only sets of nodes: bit p of row c of `parent_bits` is set if p → c.

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
    child_bits: Words
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
        self.child_bits = np.zeros_like(self._rows)
        transpose(self._rows, self.child_bits)
        self.child_bits.flags.writeable = False
        self._order = np.empty(self.n, dtype=np.int64)
        placed = topological(self._rows, self.child_bits, self._order)
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

    def parents(self, i: SupportsIndex) -> tuple[int, ...]:
        """The parents of node i, rising."""
        return self._families[node(i, self.n)]

    @cached_property
    def _families(self) -> list[tuple[int, ...]]:
        return [members(row) for row in self._rows]

    def children(self, i: SupportsIndex) -> tuple[int, ...]:
        """The children of node i, rising."""
        return self._members(self.child_bits, i)

    def topological_order(self) -> tuple[int, ...]:
        """All nodes, parents before children; among the ready ones the smallest comes first."""
        return tuple(self._order.tolist())

    def ancestors(self, nodes: Nodes) -> tuple[int, ...]:
        """The nodes outside `nodes` from which a directed path leads into them, rising."""
        return self._reached(self._rows, nodes)

    def descendants(self, nodes: Nodes) -> tuple[int, ...]:
        """The nodes outside `nodes` to which a directed path leads from them, rising."""
        return self._reached(self.child_bits, nodes)

    def _reached(self, rows: Words, nodes: Nodes) -> tuple[int, ...]:
        start = mask(self.n, nodes)
        seen = start.copy()
        spread(rows, np.zeros_like(start), seen)
        return members(seen & ~start)

    def markov_blanket(self, i: SupportsIndex) -> tuple[int, ...]:
        """The parents, children and children's other parents of node i, rising."""
        i = node(i, self.n)
        children = self.children(i)
        row = self._rows[i] | self.child_bits[i]
        row |= np.bitwise_or.reduce(self._rows[list(children)], axis=0)
        return members(row & ~mask(self.n, i))
