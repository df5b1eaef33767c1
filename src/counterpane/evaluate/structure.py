"""Distances between network structures."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane.errors import GraphError
from counterpane.graphs import Cpdag, Dag, cpdag
from counterpane.graphs.bits import unpack
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.typing import Ints


class StructureComparison(NamedTuple):
    """A comparison of the learned edges with the true edges, without their directions."""

    precision: float
    recall: float
    f1: float
    missing: int
    extra: int
    structural_hamming_distance: int


def structural_hamming_distance(found: Any, true: Any) -> int:
    """The number of pairs of nodes that are joined differently in the two equivalence classes.

    An edge that is missing, extra, or directed otherwise counts 1 (Tsamardinos, Brown & Aliferis
    2006). Both are converted to CPDAGs first, because data cannot tell the members of a class
    apart.

    Parameters
    ----------
    found, true : network or DAG
        Over the same nodes; networks are matched by the names of their variables.

    Returns
    -------
    int
        0 for members of the same class.

    Examples
    --------
    >>> structural_hamming_distance(Dag(3, [(0, 1), (1, 2)]), Dag(3, [(2, 1), (1, 0)]))
    0
    >>> structural_hamming_distance(Dag(3, [(0, 1), (2, 1)]), Dag(3, [(2, 1), (1, 0)]))
    2
    """
    a, b = _aligned(found, true)
    return int((_marks(cpdag(a)) != _marks(cpdag(b))).sum())


def hamming_distance(found: Any, true: Any) -> int:
    """The number of pairs of nodes that are joined in one graph and not in the other.

    Parameters
    ----------
    found, true : network or DAG
        Over the same nodes; networks are matched by the names of their variables.

    Returns
    -------
    int
        Directions do not count.

    Examples
    --------
    >>> hamming_distance(Dag(3, [(0, 1), (1, 2)]), Dag(3, [(1, 0)]))
    1
    """
    a, b = _aligned(found, true)
    return int(((_marks(cpdag(a)) > 0) != (_marks(cpdag(b)) > 0)).sum())


def compare_structures(found: Any, true: Any) -> StructureComparison:
    """Precision, recall and F1 of the learned edges, and the distances between the two graphs.

    Without learned edges precision is 1; without true edges recall is 1.

    Parameters
    ----------
    found, true : network or DAG
        Over the same nodes; networks are matched by the names of their variables.

    Returns
    -------
    StructureComparison
        The measures, without the directions of edges, and the structural Hamming distance.

    Examples
    --------
    >>> compare_structures(Dag(3, [(0, 1)]), Dag(3, [(0, 1), (1, 2)])).recall
    0.5
    """
    a, b = _aligned(found, true)
    learned_pairs, true_pairs = _marks(cpdag(a)) > 0, _marks(cpdag(b)) > 0
    both = int((learned_pairs & true_pairs).sum())
    n_learned, n_true = int(learned_pairs.sum()), int(true_pairs.sum())
    precision = both / n_learned if n_learned else 1.0
    recall = both / n_true if n_true else 1.0
    f1 = 2 * precision * recall / (precision + recall) if both else float(n_learned == n_true)
    distance = structural_hamming_distance(a, b)
    return StructureComparison(precision, recall, f1, n_true - both, n_learned - both, distance)


def _marks(pattern: Cpdag) -> Ints:
    """For each pair i < j: 0 not joined, 1 undirected, 2 directed i → j, 3 directed j → i."""
    n = pattern.n
    into = unpack(pattern.compelled.parent_bits, n)  # [child, parent]
    free = unpack(pattern.reversible.neighbor_bits, n)
    marks: Ints = free * 1 + into.T * 2 + into * 3
    return marks[np.triu_indices(n, 1)]


def _aligned(found: Any, true: Any) -> tuple[Dag, Dag]:
    """Both as DAGs over the same nodes; networks are matched by name."""
    if isinstance(found, BayesianNetwork) and isinstance(true, BayesianNetwork):
        if set(found.schema.names) != set(true.schema.names):
            raise GraphError("the two networks have different variables; compare like with like.")
        place = [true.schema.index(name) for name in found.schema.names]
        return Dag(found.dag.n, [(place[p], place[c]) for p, c in found.dag.edges]), true.dag
    if isinstance(found, Dag) and isinstance(true, Dag) and found.n == true.n:
        return found, true
    raise GraphError(
        f"cannot compare {type(found).__name__} with {type(true).__name__}; two networks, or two "
        "DAGs with the same number of nodes, are needed."
    )
