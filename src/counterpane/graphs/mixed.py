"""Graphs with marks at both ends of an edge: directed, bidirected, undirected, and circles.

An acyclic directed mixed graph (ADMG) has a → b for a cause and a ↔ b for a common cause that was
not measured; a partial ancestral graph (PAG) also has circles, o, where a mark is not determined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from counterpane.checks import ITERABLE, NAMES, STRING, check
from counterpane.errors import GraphError, unknown_name
from counterpane.graphs.dag import Dag
from counterpane.graphs.separation import d_separated
from counterpane.typing import Array

NONE, TAIL, ARROW, CIRCLE = range(4)
"""The mark at one end of an edge; `NONE` where there is no edge."""

_KINDS = {
    "->": (TAIL, ARROW),
    "<->": (ARROW, ARROW),
    "o->": (CIRCLE, ARROW),
    "o-o": (CIRCLE, CIRCLE),
    "--": (TAIL, TAIL),
    "-o": (TAIL, CIRCLE),
}
_KIND_OF = {marks: kind for kind, marks in _KINDS.items()}
_TURNED = {"<-": "->", "<-o": "o->", "o-": "-o"}
_TEXTS = {"->": "→", "<->": "↔", "o->": "o→", "o-o": "o–o", "--": "–", "-o": "–o"}

Names = str | Iterable[str]
"""One node or several, by name."""


class MixedEdge(NamedTuple):
    """An edge a `kind` b, such as ("smoking", "->", "cancer").

    Kinds are "->", "<->", "o->", "o-o", "--" and "-o"; a graph also takes "<-", "<-o" and "o-",
    and stores them turned.

    >>> str(MixedEdge("a", "o->", "b")), MixedEdge("a", "o->", "b").marks == (CIRCLE, ARROW)
    ('a o→ b', True)
    """

    a: str
    kind: str
    b: str

    @property
    def marks(self) -> tuple[int, int]:
        """The marks at a and at b."""
        return _KINDS[self.kind]

    @property
    def mark(self) -> str:
        """The sign between a and b, such as "o→"."""
        return _TEXTS[self.kind]

    def __str__(self) -> str:
        return f"{self.a} {self.mark} {self.b}"


@dataclass(frozen=True)
class MixedGraph:
    """A graph on named nodes whose edges have a mark at each end.

    Two nodes have one edge, or a → b together with a ↔ b. A directed cycle, a loop, an unknown name
    or a third edge raises `GraphError`.

    Parameters
    ----------
    names : sequence of str
        The nodes.
    edges : iterable of (str, str, str)
        (a, kind, b), with kind "->", "<-", "<->", "o->", "<-o", "o-o", "--", "-o" or "o-".

    Attributes
    ----------
    names : tuple of str
        The nodes, in order.
    edges : tuple of MixedEdge
        The edges in a normal form, so that equal graphs are equal.

    Examples
    --------
    >>> graph = MixedGraph(["smoking", "tar", "cancer"],
    ...     [("smoking", "->", "tar"), ("tar", "->", "cancer"), ("smoking", "<->", "cancer")])
    >>> print(graph)
    smoking → tar
    smoking ↔ cancer
    tar → cancer
    >>> graph.parents("cancer"), graph.spouses("cancer"), graph.districts()
    (('tar',), ('smoking',), (('smoking', 'cancer'), ('tar',)))
    """

    names: tuple[str, ...]
    edges: tuple[MixedEdge, ...] = ()

    def __init__(self, names: Sequence[str], edges: Iterable[tuple[str, str, str]] = ()) -> None:
        check("names", names, NAMES)
        check("edges", edges, ITERABLE)
        names = tuple(names)
        for name in names:
            check("a name", name, STRING)
        place = {name: i for i, name in enumerate(names)}
        if len(place) < len(names):
            twice = next(name for i, name in enumerate(names) if place[name] != i)
            raise GraphError(f"the node name {twice!r} occurs more than once; each needs its own.")
        normal = {_normal(edge, place) for edge in edges}
        ordered = sorted(normal, key=lambda e: (place[e.a], place[e.b], e.kind))
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "edges", tuple(ordered))
        _check_pairs(ordered)
        Dag.from_names(names, [(e.a, e.b) for e in ordered if e.kind == "->"])

    @classmethod
    def from_dag(cls, dag: Dag, names: Sequence[str], *, latent: Names = ()) -> Self:
        """The graph of the observed nodes of `dag`: the latent projection of Verma & Pearl (1990).

        a → b where a directed path from a to b has no observed node between them; a ↔ b where such
        paths lead to both from one latent node.

        >>> confounded = Dag(3, [(0, 1), (0, 2), (1, 2)])
        >>> print(MixedGraph.from_dag(confounded, ["u", "x", "y"], latent="u"))
        x → y
        x ↔ y
        """
        if len(names) != dag.n:
            raise GraphError(f"{len(names)} names were given for {dag.n} nodes.")
        hidden = set(_several(latent))
        for name in hidden:
            if name not in names:
                raise unknown_name("node", name, names)
        edges: list[tuple[str, str, str]] = []
        reached: dict[int, list[str]] = {}  # the first observed nodes on each way down
        for v in reversed(dag.topological_order()):
            below: set[str] = set()
            for child in dag.children(v):
                below |= set(reached[child]) if names[child] in hidden else {names[child]}
            reached[v] = sorted(below)
            if names[v] in hidden:
                edges += [(a, "<->", b) for a in reached[v] for b in reached[v] if a < b]
            else:
                edges += [(names[v], "->", b) for b in reached[v]]
        return cls([name for name in names if name not in hidden], edges)

    @classmethod
    def from_marks(cls, names: Sequence[str], marks: Array) -> Self:
        """The graph in which the edge of nodes i and j has the mark `marks[i, j]` at j.

        >>> print(MixedGraph.from_marks(["a", "b"], np.array([[NONE, ARROW], [CIRCLE, NONE]])))
        a o→ b
        """
        rows, columns = np.nonzero(np.triu(marks, 1))
        edges = []
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
            ends = int(marks[j, i]), int(marks[i, j])
            turned = ends not in _KIND_OF
            kind = _KIND_OF[ends[::-1] if turned else ends]
            edges.append((names[j], kind, names[i]) if turned else (names[i], kind, names[j]))
        return cls(names, edges)

    @property
    def marks(self) -> Array:
        """An int8 array; entry (i, j) is the mark at j of the edge of i and j; see `from_marks`."""
        place = {name: i for i, name in enumerate(self.names)}
        marks = np.zeros((len(place), len(place)), dtype=np.int8)
        for edge in self.edges:
            i, j = place[edge.a], place[edge.b]
            if marks[i, j]:
                raise GraphError(
                    f"{edge.a!r} and {edge.b!r} have two edges; a table of marks holds one a pair."
                )
            marks[j, i], marks[i, j] = edge.marks
        return marks

    @cached_property
    def _lists(self) -> dict[str, dict[str, tuple[list[str], list[str]]]]:
        """For each kind and node, the a of its edges a – node, and the b of its edges node – b."""
        lists: dict[str, dict[str, tuple[list[str], list[str]]]] = {
            kind: {name: ([], []) for name in self.names} for kind in _KINDS
        }
        for a, kind, b in self.edges:
            lists[kind][b][0].append(a)
            lists[kind][a][1].append(b)
        return lists

    def _joined(self, kind: str, nodes: Names, sides: Sequence[int]) -> tuple[str, ...]:
        joined: set[str] = set()
        for name in _several(nodes):
            if name not in self._lists[kind]:
                raise unknown_name("node", name, self.names)
            for side in sides:
                joined.update(self._lists[kind][name][side])
        return tuple(name for name in self.names if name in joined)

    def parents(self, nodes: Names) -> tuple[str, ...]:
        """The nodes with an edge → into any of `nodes`, in the order of `names`."""
        return self._joined("->", nodes, (0,))

    def children(self, nodes: Names) -> tuple[str, ...]:
        """The nodes that an edge → leads to from any of `nodes`."""
        return self._joined("->", nodes, (1,))

    def spouses(self, nodes: Names) -> tuple[str, ...]:
        """The nodes with an edge ↔ to any of `nodes`."""
        return self._joined("<->", nodes, (0, 1))

    def neighbors(self, nodes: Names) -> tuple[str, ...]:
        """The nodes with any edge to any of `nodes`."""
        joined = {name for kind in _KINDS for name in self._joined(kind, nodes, (0, 1))}
        return tuple(name for name in self.names if name in joined)

    def ancestors(self, nodes: Names) -> tuple[str, ...]:
        """The nodes outside `nodes` from which a path of edges → leads into them."""
        return self._reached(nodes, "->", (0,))

    def descendants(self, nodes: Names) -> tuple[str, ...]:
        """The nodes outside `nodes` to which a path of edges → leads from them."""
        return self._reached(nodes, "->", (1,))

    def _reached(self, nodes: Names, kind: str, sides: Sequence[int]) -> tuple[str, ...]:
        start = set(_several(nodes))
        seen, frontier = set(start), set(start)
        while frontier:
            frontier = set(self._joined(kind, frontier, sides)) - seen
            seen |= frontier
        return tuple(name for name in self.names if name in seen - start)

    def districts(self) -> tuple[tuple[str, ...], ...]:
        """The sets of nodes joined by paths of edges ↔ (c-components), by their first node."""
        districts: list[tuple[str, ...]] = []
        seen: set[str] = set()
        for name in self.names:
            if name not in seen:
                members = {name, *self._reached(name, "<->", (0, 1))}
                seen |= members
                districts.append(tuple(other for other in self.names if other in members))
        return tuple(districts)

    def topological_order(self) -> tuple[str, ...]:
        """All nodes, parents before children."""
        dag = Dag.from_names(self.names, [(e.a, e.b) for e in self.edges if e.kind == "->"])
        return tuple(self.names[i] for i in dag.topological_order())

    @property
    def has_circles(self) -> bool:
        """Whether a mark is not determined, as in a PAG."""
        return any(CIRCLE in edge.marks for edge in self.edges)

    def subgraph(self, nodes: Names) -> Self:
        """The graph of these nodes, in the order of `names`, and the edges between them."""
        kept = set(_several(nodes))
        for name in kept - set(self.names):
            raise unknown_name("node", name, self.names)
        names = [name for name in self.names if name in kept]
        return type(self)(names, [e for e in self.edges if e.a in kept and e.b in kept])

    def without_edges_into(self, nodes: Names) -> Self:
        """The graph without the edges that have an arrowhead at any of `nodes`: after do(nodes).

        >>> graph = MixedGraph("xyz", [("x", "->", "y"), ("x", "<->", "y"), ("y", "->", "z")])
        >>> print(graph.without_edges_into("y"))
        y → z
        """
        cut = set(_several(nodes))
        kept = [e for e in self.edges if cut.isdisjoint(_heads(e))]
        return type(self)(self.names, kept)

    def without_edges_out_of(self, nodes: Names) -> Self:
        """The graph without the edges → that start at any of `nodes`."""
        cut = set(_several(nodes))
        kept = [e for e in self.edges if not (e.kind == "->" and e.a in cut)]
        return type(self)(self.names, kept)

    def __str__(self) -> str:
        return "\n".join(map(str, self.edges)) or f"{len(self.names)} nodes without edges"


def m_separated(graph: MixedGraph, x: Names, y: Names, given: Names = ()) -> bool:
    """Whether every path between `x` and `y` is blocked by `given`.

    d-separation for graphs with ↔ and –: an inner node with two arrowheads on the path is a
    collider (Richardson & Spirtes 2002). A graph with circles stands for several graphs and is
    refused.

    >>> graph = MixedGraph("abc", [("a", "->", "b"), ("b", "<->", "c")])
    >>> m_separated(graph, "a", "c"), m_separated(graph, "a", "c", given="b")
    (True, False)
    """
    dag, selected = canonical_dag(graph)
    place = {name: i for i, name in enumerate(graph.names)}
    sets = []
    for nodes in (x, y, given):
        for name in _several(nodes):
            if name not in place:
                raise unknown_name("node", name, graph.names)
        sets.append([place[name] for name in _several(nodes)])
    return d_separated(dag, sets[0], sets[1], [*sets[2], *selected])


def canonical_dag(graph: MixedGraph) -> tuple[Dag, tuple[int, ...]]:
    """A DAG with the same separations, and the further nodes to condition on.

    The nodes of `graph` come first. Each a ↔ b is a further node with the children a and b; each
    a – b a further node with the parents a and b, which is always given (selection).

    >>> canonical_dag(MixedGraph("ab", [("a", "<->", "b")]))
    (Dag(3, [(2, 0), (2, 1)]), ())
    """
    place = {name: i for i, name in enumerate(graph.names)}
    edges, selected, n = [], [], len(place)
    for a, kind, b in graph.edges:
        i, j = place[a], place[b]
        if kind == "->":
            edges.append((i, j))
            continue
        if kind == "<->":
            edges += [(n, i), (n, j)]
        elif kind == "--":
            edges += [(i, n), (j, n)]
            selected.append(n)
        else:
            raise GraphError(
                f"the mark of {MixedEdge(a, kind, b)} is not determined; separation needs a graph "
                "without circles."
            )
        n += 1
    return Dag(n, edges), tuple(selected)


def _several(nodes: Names) -> list[str]:
    return [nodes] if isinstance(nodes, str) else list(nodes)


def _heads(edge: MixedEdge) -> list[str]:
    """The ends with an arrowhead."""
    return [end for end, mark in zip((edge.a, edge.b), edge.marks, strict=True) if mark == ARROW]


def _normal(edge: tuple[str, str, str], place: dict[str, int]) -> MixedEdge:
    """The edge with a kind that is stored; of a symmetric kind, the earlier node first."""
    if not isinstance(edge, tuple | list) or len(edge) != 3:
        raise GraphError(f"{edge!r} is no edge; ('a', '->', 'b') is one.")
    a, kind, b = edge
    for name in (a, b):
        if name not in place:
            raise unknown_name("node", name, place)
    if a == b:
        raise GraphError(f"node {a!r} has an edge to itself; loops are not allowed.")
    if kind in _TURNED:
        a, kind, b = b, _TURNED[kind], a
    if kind not in _KINDS:
        known = ", ".join(map(repr, [*_KINDS, *_TURNED]))
        raise GraphError(f"the edge of {a!r} and {b!r} has the kind {kind!r}; known: {known}.")
    if _KINDS[kind][0] == _KINDS[kind][1] and place[a] > place[b]:
        a, b = b, a
    return MixedEdge(a, kind, b)


def _check_pairs(edges: Sequence[MixedEdge]) -> None:
    """Refuse two edges of a pair, other than → together with ↔."""
    kinds: dict[frozenset[str], list[str]] = {}
    for edge in edges:
        kinds.setdefault(frozenset(edge[::2]), []).append(edge.kind)
    for pair, several in kinds.items():
        if len(several) > 1 and sorted(several) != ["->", "<->"]:
            a, b = sorted(pair)
            raise GraphError(
                f"{a!r} and {b!r} have {len(several)} edges, {', '.join(several)}; one is allowed, "
                "or -> together with <->."
            )
