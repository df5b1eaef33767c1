"""Undirected graphs as neighbor lists."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import SupportsIndex, final

import numpy as np

from counterpane.errors import GraphError
from counterpane.graphs.bits import BitGraph, node
from counterpane.graphs.reach import reached
from counterpane.typing import Words


@final
class UndirectedGraph(BitGraph):
    """An undirected graph on the nodes 0 … n−1.

    A loop, an unknown node or asymmetric bit rows raise `GraphError`.

    Parameters
    ----------
    n : int
        The number of nodes.
    edges : iterable of (int, int)
        Pairs of nodes, in either order.

    Attributes
    ----------
    neighbor_bits : array of uint64, shape (n, ceil(n / 64))
        Read-only, symmetric sets of nodes: bit j of row i is set if i – j.

    Examples
    --------
    >>> graph = UndirectedGraph(4, [(2, 0), (0, 1)])
    >>> graph.neighbors(0), graph.edges, graph.components()
    ((1, 2), ((0, 1), (0, 2)), ((0, 1, 2), (3,)))
    """

    directed = False

    def _check(self, names: Sequence[Hashable]) -> None:
        there, back = self._heads * self.n + self._into, self._into * self.n + self._heads
        odd = np.setdiff1d(there, back)
        if len(odd):
            i, j = divmod(int(odd[0]), self.n)
            raise GraphError(
                f"row {names[i]!r} names the neighbor {names[j]!r} but not the reverse; "
                "bit rows of an undirected graph must be symmetric."
            )

    @property
    def neighbor_bits(self) -> Words:
        """Row i holds the neighbors of node i."""
        return self._rows

    def neighbors(self, i: SupportsIndex) -> tuple[int, ...]:
        """The neighbors of node i, rising."""
        return self._members[node(i, self.n)]

    def components(self) -> tuple[tuple[int, ...], ...]:
        """The connected components, each rising, by their smallest node."""
        components: list[tuple[int, ...]] = []
        lists, done = self._members, set[int]()
        for i in range(self.n):
            if i in done:
                continue
            seen = reached(lists, [i])
            components.append(tuple(sorted(seen)))
            done |= seen
        return tuple(components)
