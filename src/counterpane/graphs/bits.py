"""Sets of nodes as rows of 64-bit words, and graphs as one such row for each node."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self, SupportsIndex, TypeAlias

import numpy as np

from counterpane.errors import GraphError, unknown_name
from counterpane.lazy import lazy
from counterpane.memory import FEWER_COLUMNS, need_memory
from counterpane.typing import Bools, Words

nx = lazy("networkx")

Nodes: TypeAlias = SupportsIndex | Iterable[SupportsIndex]
"""One node or several, by index."""


def n_words(n: int) -> int:
    """The number of words that hold `n` bits."""
    return -(-n // 64)


def pack(flags: Bools) -> Words:
    """Words of shape (…, n_words(n)) whose bits are `flags` of shape (…, n)."""
    n = flags.shape[-1]
    octets = np.zeros((*flags.shape[:-1], 8 * n_words(n)), dtype=np.uint8)
    octets[..., : -(-n // 8)] = np.packbits(flags, axis=-1, bitorder="little")
    return octets.view("<u8").astype(np.uint64, copy=False)


def unpack(words: Words, n: int) -> Bools:
    """The first `n` bits of each row: the inverse of `pack`."""
    octets = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    return np.unpackbits(octets, axis=-1, bitorder="little")[..., :n].astype(np.bool_)


def node(i: SupportsIndex, n: int) -> int:
    """`i` as an int, checked to be one of the nodes 0 … n−1."""
    index = operator.index(i)
    if not 0 <= index < n:
        raise GraphError(f"node {index} is not in the graph; its {n} nodes are 0 … {n - 1}.")
    return index


def mask(n: int, nodes: Nodes) -> Words:
    """A fresh row of words with the bits of `nodes` set.

    >>> mask(70, (0, 65)).tolist()
    [1, 2]
    """
    several = nodes if isinstance(nodes, Iterable) else (nodes,)
    flags = np.zeros(n, dtype=np.bool_)
    flags[[node(i, n) for i in several]] = True
    return pack(flags)


def members(row: Words) -> tuple[int, ...]:
    """The set bits of one row, rising.

    >>> members(mask(70, (65, 0)))
    (0, 65)
    """
    if row.size > 64:  # many nodes: numpy's fixed price is worth it
        return tuple(np.flatnonzero(unpack(row, 64 * row.size)).tolist())
    nodes = []
    for w, word in enumerate(row.tolist()):
        while word:
            low = word & -word
            nodes.append(64 * w + low.bit_length() - 1)
            word ^= low
    return tuple(nodes)


Edge = tuple[int, int]


class BitGraph(ABC):
    """A final graph on the nodes 0 … n−1; bit a of row b stands for the edge a → b, or a – b.

    Subclasses say whether it is `directed` and `_check` their own law.
    """

    directed: ClassVar[bool]
    _rows: Words

    def __init__(
        self, n: SupportsIndex, edges: Iterable[tuple[SupportsIndex, SupportsIndex]] = ()
    ) -> None:
        n = operator.index(n)
        if n < 0:
            raise GraphError(f"a graph cannot have {n} nodes; 0 or more are allowed.")
        self._settle(n, [(node(a, n), node(b, n)) for a, b in edges], range(n))

    @classmethod
    def from_bits(cls, bits: Words) -> Self:
        """The graph with a copy of these rows, a uint64 array of shape (n, ceil(n / 64))."""
        rows = np.array(bits, order="C")
        n = rows.shape[0] if rows.ndim else 0
        if rows.dtype != np.uint64 or rows.shape != (n, n_words(n)):
            raise GraphError(
                f"bit rows have type {rows.dtype} and shape {rows.shape}; "
                f"uint64 and ({n}, {n_words(n)}) are needed for {n} nodes."
            )
        if n % 64 and (rows[:, -1] >> np.uint64(n % 64)).any():
            raise GraphError(f"bit rows name a node outside the {n} nodes 0 … {n - 1}.")
        graph = cls.__new__(cls)
        graph._own(rows, range(n))
        return graph

    @classmethod
    def from_networkx(cls, graph: Any, names: Sequence[Hashable]) -> Self:
        """The graph whose node i is called `names[i]`; names that `graph` lacks stand alone."""
        if graph.is_directed() != cls.directed:
            kind = "a directed" if cls.directed else "an undirected"
            raise GraphError(f"{cls.__name__} needs {kind} networkx graph, got {graph}.")
        index = _positions(names)
        for name in graph:
            if name not in index:
                raise unknown_name("node", name, index)
        result = cls.__new__(cls)
        result._settle(len(names), [(index[a], index[b]) for a, b in graph.edges()], names)
        return result

    def to_networkx(self, names: Sequence[Hashable]) -> Any:
        """A networkx graph (DiGraph where directed) with `names` as its nodes, in order."""
        if len(_positions(names)) != self.n:
            raise GraphError(f"{len(names)} names were given for {self.n} nodes.")
        graph: Any = nx.DiGraph() if self.directed else nx.Graph()
        graph.add_nodes_from(names)
        graph.add_edges_from((names[a], names[b]) for a, b in self.edges)
        return graph

    def _settle(self, n: int, edges: list[Edge], names: Sequence[Hashable]) -> None:
        need_memory(2 * n * n, f"a graph of {n:,} nodes", FEWER_COLUMNS)
        flags = np.zeros((n, n), dtype=np.bool_)
        if edges:
            tails, heads = zip(*edges, strict=True)
            flags[heads, tails] = True
        self._own(pack(flags if self.directed else flags | flags.T), names)

    def _own(self, rows: Words, names: Sequence[Hashable]) -> None:
        i = np.arange(len(rows))
        loops = (rows[i, i >> 6] >> (i & 63).astype(np.uint64)) & np.uint64(1)
        if loops.any():
            name = names[int(np.argmax(loops))]
            raise GraphError(f"node {name!r} has an edge to itself; loops are not allowed.")
        rows.flags.writeable = False
        self._rows = rows
        self._check(names)

    @abstractmethod
    def _check(self, names: Sequence[Hashable]) -> None:
        """Raise `GraphError` if the rows break the law of the graph."""

    @property
    def n(self) -> int:
        """The number of nodes."""
        return len(self._rows)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """All edges, sorted: (tail, head) where directed, else (smaller, larger)."""
        flags = unpack(self._rows, self.n).T
        return tuple(
            (a, b) for a, b in np.argwhere(flags if self.directed else np.triu(flags)).tolist()
        )

    @property
    def n_edges(self) -> int:
        """The number of edges."""
        return int(np.bitwise_count(self._rows).sum()) // (1 if self.directed else 2)

    def has_edge(self, a: SupportsIndex, b: SupportsIndex) -> bool:
        """Whether the edge a → b, or a – b, is there."""
        tail, head = node(a, self.n), node(b, self.n)
        return bool(int(self._rows[head, tail >> 6]) >> (tail & 63) & 1)

    def _members(self, rows: Words, i: SupportsIndex) -> tuple[int, ...]:
        return members(rows[node(i, self.n)])

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and np.array_equal(self._rows, other._rows)

    def __hash__(self) -> int:
        return hash((self.directed, self.n, self._rows.tobytes()))

    def __repr__(self) -> str:
        more = f", … {self.n_edges} in all" if self.n_edges > 12 else ""
        shown = ", ".join(map(str, self.edges[:12]))
        return f"{type(self).__name__}({self.n}, [{shown}{more}])"

    def __reduce__(self) -> tuple[Callable[[Words], Self], tuple[Words]]:
        return type(self).from_bits, (self._rows,)  # a plain unpickled array could be written to


def _positions(names: Sequence[Hashable]) -> dict[Hashable, int]:
    index = {name: i for i, name in enumerate(names)}
    if len(index) != len(names):
        twice = next(name for i, name in enumerate(names) if index[name] != i)
        raise GraphError(f"the node name {twice!r} occurs more than once; each needs its own.")
    return index
