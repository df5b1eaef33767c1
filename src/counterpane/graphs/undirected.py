"""Undirected graphs as bit rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import SupportsIndex, final

import numpy as np

from counterpane._core.graphs import spread, transpose
from counterpane.errors import GraphError
from counterpane.graphs.bits import BitGraph, mask, members, unpack
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
        turned = np.zeros_like(self._rows)
        transpose(self._rows, turned)
        odd = self._rows & ~turned
        if odd.any():
            i, j = np.argwhere(unpack(odd, self.n))[0]
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
        return self._members(self._rows, i)

    def components(self) -> tuple[tuple[int, ...], ...]:
        """The connected components, each rising, by their smallest node."""
        components: list[tuple[int, ...]] = []
        done: set[int] = set()
        for i in range(self.n):
            if i not in done:
                seen = mask(self.n, i)
                spread(self._rows, np.zeros_like(seen), seen)
                components.append(members(seen))
                done.update(components[-1])
        return tuple(components)
