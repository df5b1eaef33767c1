"""Markov equivalence: which edges all graphs with the same independences share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpane._core.graphs import extend, label_lists
from counterpane.errors import GraphError
from counterpane.graphs.dag import Dag
from counterpane.graphs.undirected import UndirectedGraph
from counterpane.lazy import lazy
from counterpane.ragged import groups_of
from counterpane.typing import Ints

nx = lazy("networkx")


@dataclass(frozen=True)
class Cpdag:
    """A partially directed graph; from `cpdag`, the completed one that stands for a class.

    `compelled` holds the directed edges, those of every graph in the class; `reversible` the
    undirected ones, which occur in both directions. Each has its bit rows and sorted `edges`. The
    constructor checks that no two nodes are joined in both ways (and `Dag` that the directed part
    has no cycle), not that the graph is complete: a pattern with required directions fits too.
    """

    compelled: Dag
    reversible: UndirectedGraph

    def __post_init__(self) -> None:
        if self.compelled.n != self.reversible.n:
            raise GraphError(
                f"the directed part has {self.compelled.n} nodes, the undirected one "
                f"{self.reversible.n}; both need the same nodes."
            )
        twice = np.intersect1d(_pair_keys(self.compelled), _pair_keys(self.reversible))
        if len(twice):
            i, j = divmod(int(twice[0]), self.n)
            raise GraphError(
                f"nodes {i} and {j} have a directed and an undirected edge; one is allowed."
            )

    @property
    def n(self) -> int:
        """The number of nodes."""
        return self.compelled.n

    @property
    def skeleton(self) -> UndirectedGraph:
        """All edges without their directions."""
        return UndirectedGraph(self.n, [*self.compelled.edges, *self.reversible.edges])

    def to_networkx(self, names: Sequence[str]) -> Any:
        """A networkx `DiGraph` with an undirected edge a — b as the two edges a → b and b → a.

        The edge attribute `directed` tells the two kinds apart.

        >>> graph = cpdag(Dag(2, [(0, 1)])).to_networkx(["a", "b"])
        >>> list(graph.edges(data="directed"))
        [('a', 'b', False), ('b', 'a', False)]
        """
        graph = nx.DiGraph()
        graph.add_nodes_from(names)
        for a, b in self.compelled.edges:
            graph.add_edge(names[a], names[b], directed=True)
        for a, b in self.reversible.edges:
            graph.add_edge(names[a], names[b], directed=False)
            graph.add_edge(names[b], names[a], directed=False)
        return graph


def cpdag(dag: Dag) -> Cpdag:
    """The completed partially directed graph of `dag`'s equivalence class (Chickering 1995).

    Cost: O(n + edges · log of the most parents).

    >>> chain, collider = Dag(3, [(0, 1), (1, 2)]), Dag(3, [(0, 1), (2, 1)])
    >>> cpdag(chain).reversible.edges, cpdag(collider).compelled.edges
    (((0, 1), (1, 2)), ((0, 1), (2, 1)))
    """
    offsets, parents = dag.lists
    compelled = np.zeros(len(parents), dtype=bool)
    order = np.array(dag.topological_order(), dtype=np.int64)
    label_lists(offsets, parents, order, compelled)
    heads = np.repeat(np.arange(dag.n), np.diff(offsets))
    arcs = Dag.from_lists(groups_of(heads[compelled], dag.n), parents[compelled])
    free = np.column_stack([parents, heads])[~compelled]
    return Cpdag(arcs, UndirectedGraph(dag.n, free.tolist()))


def _pair_keys(graph: Dag | UndirectedGraph) -> Ints:
    """The two ends of each edge, smaller one first, as one number."""
    ends = np.sort(np.array(graph.edges, dtype=np.int64).reshape(-1, 2), axis=1)
    keys: Ints = ends[:, 0] * graph.n + ends[:, 1]
    return keys


def consistent_extension(graph: Cpdag) -> Dag:
    """A DAG that keeps all directed edges, directs the others, and adds no collider.

    A collider is a → c ← b with a, b not joined. Dor & Tarsi (1992); among the possible sinks the
    largest index is taken. Raises `GraphError` where there is no such DAG; the `cpdag` of a DAG
    always has one, and every one of its extensions is in the class.

    >>> consistent_extension(cpdag(Dag(3, [(2, 1), (1, 0)]))).edges
    ((0, 1), (1, 2))
    """
    parents = np.zeros_like(graph.compelled.parent_bits)
    children, links = graph.compelled.child_bits, graph.reversible.neighbor_bits
    if not extend(children.copy(), links.copy(), graph.skeleton.neighbor_bits.copy(), parents):
        raise GraphError(
            f"the {graph.reversible.n_edges} undirected edges cannot all be directed without a "
            "cycle or a new collider; drop or turn a directed edge."
        )
    return Dag.from_bits(parents)


def same_class(a: Dag, b: Dag) -> bool:
    """Whether two DAGs imply the same independences: equal skeletons and colliders.

    >>> same_class(Dag(2, [(0, 1)]), Dag(2, [(1, 0)]))
    True
    """
    return a.n == b.n and cpdag(a) == cpdag(b)
