"""Which independences a graph implies: d-separation, vertex separation, the moral graph."""

from __future__ import annotations

import numpy as np

from counterpane._core.graphs import (
    moral,
    separate_pairs,
    smallest_separators,
    spread,
    spread_active,
)
from counterpane.errors import ScopeError
from counterpane.graphs.bits import Nodes, mask, members
from counterpane.graphs.dag import Dag
from counterpane.graphs.undirected import UndirectedGraph
from counterpane.typing import Bools, Ints, Words


def d_separated(dag: Dag, x: Nodes, y: Nodes, given: Nodes = ()) -> bool:
    """Whether every trail between `x` and `y` is blocked by `given`.

    The three are nodes or disjoint sets of nodes. A trail is blocked by a given node that is no
    collider on it, or by a collider that is neither given nor an ancestor of a given node (Pearl
    1988). Cost: O(edges · n / 64), by following active trails from `x`.

    >>> collider = Dag(4, [(0, 2), (1, 2), (2, 3)])
    >>> d_separated(collider, 0, 1), d_separated(collider, 0, 1, given=3)
    (True, False)
    """
    start, end, blocked = _disjoint(dag.n, x, y, given)
    up, down = start, np.zeros_like(start)
    spread_active(dag.parent_bits, dag.child_bits, blocked, up, down)
    return not (end & (up | down)).any()


def d_separated_pairs(dag: Dag, pairs: Ints, conditions: Ints, always: Nodes = ()) -> Bools:
    """Whether the two nodes of each row of `pairs` are d-separated by that row of `conditions`.

    `always` are given in all of them. Questions with one first node and equal conditions cost
    little more than one.

    >>> chain = Dag(3, [(0, 1), (1, 2)])
    >>> d_separated_pairs(chain, np.array([[0, 2], [0, 1]]), np.array([[1], [2]])).tolist()
    [True, False]
    """
    order = np.lexsort((*conditions.T, pairs[:, 0]))
    out: Bools = np.empty(len(pairs), dtype=bool)
    sorted_out: Bools = np.empty(len(pairs), dtype=bool)
    sorted_pairs, sorted_sets = pairs[order].astype(np.int64), conditions[order].astype(np.int64)
    rows = dag.parent_bits, dag.child_bits
    separate_pairs(*rows, sorted_pairs, sorted_sets, mask(dag.n, always), sorted_out)
    out[order] = sorted_out
    return out


def smallest_separating_sets(
    dag: Dag, pairs: Ints, candidates: Words, most: int, always: Nodes = ()
) -> tuple[Ints, Words]:
    """(sizes, sets): the smallest set of `candidates` that d-separates each pair, as bit rows.

    `candidates` has a bit row for each pair, and `always` are given in all. A size is −1 where no
    set separates, and `most` + 1 where only larger ones do; these sets are empty. Cost of a pair:
    a few searches of its ancestors for each member of the set.

    >>> chain = Dag(3, [(0, 1), (1, 2)])
    >>> sizes, sets = smallest_separating_sets(
    ...     chain, np.array([[0, 2], [0, 1]]), np.array([[2], [4]], dtype=np.uint64), 1)
    >>> sizes.tolist(), sets.tolist()
    ([1, -1], [[2], [0]])
    """
    sizes: Ints = np.empty(len(pairs), dtype=np.int64)
    sets: Words = np.empty((len(pairs), dag.parent_bits.shape[1]), dtype=np.uint64)
    rows, fixed = (dag.parent_bits, dag.child_bits), mask(dag.n, always)
    whole = np.ascontiguousarray(pairs, dtype=np.int64)
    smallest_separators(*rows, whole, candidates, fixed, most, sizes, sets)
    return sizes, sets


def separated(graph: UndirectedGraph, x: Nodes, y: Nodes, given: Nodes = ()) -> bool:
    """Whether every path between `x` and `y` meets `given`; nodes or disjoint sets of nodes.

    >>> path = UndirectedGraph(3, [(0, 1), (1, 2)])
    >>> separated(path, 0, 2), separated(path, 0, 2, given=1)
    (False, True)
    """
    seen, end, blocked = _disjoint(graph.n, x, y, given)
    spread(graph.neighbor_bits, blocked, seen)
    return not (end & seen).any()


def moralize(dag: Dag) -> UndirectedGraph:
    """The moral graph: edges lose their direction, and parents of one child are joined.

    >>> moralize(Dag(3, [(0, 2), (1, 2)])).edges
    ((0, 1), (0, 2), (1, 2))
    """
    rows = np.zeros_like(dag.parent_bits)
    moral(dag.parent_bits, rows)
    return UndirectedGraph.from_bits(rows)


def _disjoint(n: int, x: Nodes, y: Nodes, given: Nodes) -> tuple[Words, Words, Words]:
    a, b, c = mask(n, x), mask(n, y), mask(n, given)
    twice = (a & b) | (a & c) | (b & c)
    if twice.any():
        raise ScopeError(
            f"node {members(twice)[0]} occurs in more than one of x, y and given; "
            "separation needs disjoint sets."
        )
    return a, b, c
