"""Sets of nodes as rows of 64-bit words, and what directed and undirected graphs share."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self, SupportsIndex, TypeAlias

import numpy as np

from counterpane.checks import INDEX, ITERABLE, check
from counterpane.errors import GraphError, unknown_name
from counterpane.lazy import lazy
from counterpane.memory import FEWER_COLUMNS, need_memory
from counterpane.ragged import groups_of
from counterpane.typing import Bools, Ints, Words

MOST_NODES = 2**31  # the square of their number fits 64 bits

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


def bit_rows(offsets: Ints, nodes: Ints) -> Words:
    """Lists as read-only bit rows.

    >>> bit_rows(np.array([0, 0, 2]), np.array([0, 1])).tolist()
    [[0], [3]]
    """
    n = len(offsets) - 1
    need_memory(8 * n * n_words(n), f"the bit rows of {n:,} nodes", FEWER_COLUMNS)
    rows: Words = np.zeros((n, n_words(n)), dtype=np.uint64)
    heads = np.repeat(np.arange(n), np.diff(offsets))
    bits = np.uint64(1) << (nodes & 63).astype(np.uint64)
    np.bitwise_or.at(rows, (heads, nodes >> 6), bits)
    rows.flags.writeable = False
    return rows


def as_tuples(offsets: Ints, nodes: Ints) -> list[tuple[int, ...]]:
    """Lists as tuples.

    >>> as_tuples(np.array([0, 0, 2]), np.array([0, 1]))
    [(), (0, 1)]
    """
    values, ends = nodes.tolist(), offsets.tolist()
    return [tuple(values[a:b]) for a, b in pairwise(ends)]


Edge = tuple[int, int]


class BitGraph(ABC):
    """A final graph on the nodes 0 … n−1 as lists: node b lists each a with a → b, or a – b.

    Memory is that of the edges. Bit rows (bit a of row b stands for the edge) are made when they
    are asked for. Subclasses say whether it is `directed` and `_check` their own law.
    """

    directed: ClassVar[bool]
    _from: Ints  # node b lists _into[_from[b] : _from[b + 1]], rising
    _into: Ints

    def __init__(
        self, n: SupportsIndex, edges: Iterable[tuple[SupportsIndex, SupportsIndex]] = ()
    ) -> None:
        check("n", n, INDEX)
        check("edges", edges, ITERABLE)
        n = operator.index(n)
        if not 0 <= n < MOST_NODES:
            raise GraphError(f"a graph cannot have {n} nodes; 0 to {MOST_NODES - 1:,} are allowed.")
        try:
            pairs = [(node(a, n), node(b, n)) for a, b in edges]
        except GraphError:
            raise
        except (TypeError, ValueError):
            raise GraphError("an edge of a graph is a pair of nodes, such as (0, 1).") from None
        self._settle(n, pairs, range(n))

    @classmethod
    def from_lists(cls, offsets: Ints, nodes: Ints) -> Self:
        """The graph in which node b lists `nodes[offsets[b] : offsets[b + 1]]`: its parents.

        Of an undirected graph, these are its neighbors, and each edge is listed at both ends.
        """
        n = len(offsets) - 1
        if len(nodes) and not 0 <= int(nodes.min()) <= int(nodes.max()) < n:
            raise GraphError(f"lists name a node outside the {n} nodes 0 … {n - 1}.")
        heads = np.repeat(np.arange(n), np.diff(offsets))
        graph = cls.__new__(cls)
        graph._own(n, heads, np.asarray(nodes, dtype=np.int64), range(n))
        return graph

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
        step = max(1, 2**24 // max(n, 1))
        parts = [np.nonzero(unpack(rows[k : k + step], n)) for k in range(0, n, step)]
        heads = [part[0] + k for part, k in zip(parts, range(0, n, step), strict=True)]
        none: Ints = np.zeros(0, dtype=np.int64)
        tails = np.concatenate([none, *(part[1] for part in parts)])
        graph._own(n, np.concatenate([none, *heads]), tails, range(n))
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
        return cls.from_names(names, graph.edges())

    @classmethod
    def from_names(
        cls, names: Sequence[Hashable], edges: Iterable[tuple[Hashable, Hashable]]
    ) -> Self:
        """The graph whose node i is called `names[i]`, from pairs of names; errors use them."""
        index = _positions(names)
        result = cls.__new__(cls)
        result._settle(len(names), [(index[a], index[b]) for a, b in edges], names)
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
        ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
        tails, heads = ends[:, 0], ends[:, 1]
        if not self.directed:
            tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
        self._own(n, heads, tails, names)

    def _own(self, n: int, heads: Ints, tails: Ints, names: Sequence[Hashable]) -> None:
        loops = heads[heads == tails]
        if len(loops):
            name = names[int(loops.min())]
            raise GraphError(f"node {name!r} has an edge to itself; loops are not allowed.")
        keys = np.unique(heads * max(n, 1) + tails)
        heads, self._into = np.divmod(keys, max(n, 1))
        self._from = groups_of(heads, n)
        self._from.flags.writeable = self._into.flags.writeable = False
        self._check(names)

    @abstractmethod
    def _check(self, names: Sequence[Hashable]) -> None:
        """Raise `GraphError` if the rows break the law of the graph."""

    @property
    def n(self) -> int:
        """The number of nodes."""
        return len(self._from) - 1

    @property
    def lists(self) -> tuple[Ints, Ints]:
        """(offsets, nodes), read-only: those of node b are `nodes[offsets[b] : offsets[b + 1]]`."""
        return self._from, self._into

    @cached_property
    def _rows(self) -> Words:
        """The lists as bit rows: n² / 8 bytes."""
        return bit_rows(self._from, self._into)

    @property
    def _heads(self) -> Ints:
        """The node that lists each entry of `_into`."""
        return np.repeat(np.arange(self.n), np.diff(self._from))

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """All edges, sorted: (tail, head) where directed, else (smaller, larger)."""
        heads, tails = self._heads, self._into
        if not self.directed:
            heads, tails = heads[tails < heads], tails[tails < heads]
        order = np.lexsort((heads, tails))
        return tuple(zip(tails[order].tolist(), heads[order].tolist(), strict=True))

    @property
    def n_edges(self) -> int:
        """The number of edges."""
        return len(self._into) // (1 if self.directed else 2)

    def has_edge(self, a: SupportsIndex, b: SupportsIndex) -> bool:
        """Whether the edge a → b, or a – b, is there."""
        tail, head = node(a, self.n), node(b, self.n)
        listed = self._into[self._from[head] : self._from[head + 1]]
        place = int(np.searchsorted(listed, tail))
        return place < len(listed) and int(listed[place]) == tail

    @cached_property
    def _members(self) -> list[tuple[int, ...]]:
        """What each node lists."""
        return as_tuples(self._from, self._into)

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self)
            and np.array_equal(self._from, other._from)
            and np.array_equal(self._into, other._into)
        )

    def __hash__(self) -> int:
        return hash((self.directed, self.n, self._from.tobytes(), self._into.tobytes()))

    def __repr__(self) -> str:
        more = f", … {self.n_edges} in all" if self.n_edges > 12 else ""
        shown = ", ".join(map(str, self.edges[:12]))
        return f"{type(self).__name__}({self.n}, [{shown}{more}])"

    def __reduce__(self) -> tuple[Callable[[Ints, Ints], Self], tuple[Ints, Ints]]:
        return type(self).from_lists, self.lists  # a plain unpickled array could be written to


def _positions(names: Sequence[Hashable]) -> dict[Hashable, int]:
    index = {name: i for i, name in enumerate(names)}
    if len(index) != len(names):
        twice = next(name for i, name in enumerate(names) if index[name] != i)
        raise GraphError(f"the node name {twice!r} occurs more than once; each needs its own.")
    return index
