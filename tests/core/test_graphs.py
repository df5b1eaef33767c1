"""The graph kernels beside sets, paths and enumeration."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from counterpane._core import graphs
from reference.core_graphs import both, mask_of, nodes_of, pairs_of, rows_of
from reference.graph_reference import (
    classes,
    find_cycle,
    least_fill,
    moral_edges,
    random_dag,
    random_graph,
    reachable,
    running_intersection,
    signature,
    trail_separated,
)

SIZES = [1, 5, 9, 70, 130]


def some_dag(n, seed=0):
    return random_dag(np.random.default_rng([n, seed]), n, min(0.4, 3 / n))


def parent_rows(n, edges):
    return rows_of(n, [(c, p) for p, c in edges])


@pytest.mark.parametrize("n", SIZES)
def test_transpose(n):
    edges = some_dag(n)
    out = rows_of(n, [])
    graphs.transpose(rows_of(n, edges), out)
    assert pairs_of(out) == {(b, a) for a, b in edges}


@pytest.mark.parametrize("n", SIZES)
def test_spread(n):
    rng = np.random.default_rng(n)
    edges = random_graph(rng, n, 1.5 / n)
    blocked = [v for v in range(1, n) if rng.random() < 0.2]
    seen = mask_of(n, [0])
    graphs.spread(rows_of(n, both(edges)), mask_of(n, blocked), seen)
    assert nodes_of(seen) == reachable(edges, {0}, blocked)


def test_spread_active():
    for seed in range(20):
        n = 7
        edges = some_dag(n, seed)
        observed = {1, 4}
        up, down = mask_of(n, [0]), mask_of(n, [])
        rows = parent_rows(n, edges), rows_of(n, edges)
        graphs.spread_active(*rows, mask_of(n, observed), up, down)
        reached = nodes_of(up) | nodes_of(down)
        for y in {2, 3, 5, 6}:
            assert (y not in reached) == trail_separated(edges, 0, y, observed)


@pytest.mark.parametrize("size", [0, 1, 2])
def test_separate_pairs(size):
    for seed in range(10):
        n = 7
        edges = some_dag(n, seed)
        questions = [
            (x, y, given)
            for x in range(n)
            for given in combinations(range(n), size)
            for y in range(n)
            if len({x, y, *given, 6}) == size + 3
        ]
        pairs = np.array([(x, y) for x, y, _ in questions])
        conditions = np.array([z for *_, z in questions], dtype=np.int64).reshape(len(pairs), size)
        out = np.zeros(len(pairs), dtype=bool)
        rows = parent_rows(n, edges), rows_of(n, edges)
        graphs.separate_pairs(*rows, pairs, conditions, mask_of(n, [6]), out)
        expected = [trail_separated(edges, x, y, {*z, 6}) for x, y, z in questions]
        assert out.tolist() == expected


@pytest.mark.parametrize("n", [5, 7, 8])
@pytest.mark.parametrize("always", [(), (0,)])
def test_smallest_separators(n, always):
    """Beside all subsets of the candidates, the smallest first."""
    for seed in range(25):
        rng = np.random.default_rng([n, seed])
        edges = random_dag(rng, n, 0.35)
        ends = [p for p in combinations(range(n), 2) if not set(p) & set(always)]
        near = [
            [v for v in range(n) if v not in (*p, *always) and rng.random() < 0.7] for p in ends
        ]
        most = int(rng.integers(0, 4))
        sizes, sets = np.empty(len(ends), np.int64), rows_of(len(ends), [])
        graphs.smallest_separators(
            parent_rows(n, edges), rows_of(n, edges), np.array(ends),
            np.array([mask_of(n, some) for some in near]), mask_of(n, always), most, sizes, sets,
        )  # fmt: skip
        for (x, y), some, size, words in zip(ends, near, sizes.tolist(), sets, strict=True):
            found = [
                k
                for k in range(len(some) + 1)
                if any(trail_separated(edges, x, y, {*z, *always}) for z in combinations(some, k))
            ]
            assert size == (min(found[0], most + 1) if found else -1)
            chosen = nodes_of(words)
            assert chosen <= set(some) and len(chosen) == (size if 0 <= size <= most else 0)
            assert not 0 <= size <= most or trail_separated(edges, x, y, {*chosen, *always})


@pytest.mark.parametrize("n", SIZES)
def test_moral(n):
    edges, out = some_dag(n), rows_of(n, [])
    graphs.moral(parent_rows(n, edges), out)
    assert pairs_of(out) == both(moral_edges(edges, set(range(n))))


@pytest.mark.parametrize("n", SIZES)
def test_topological(n):
    edges, order = some_dag(n), np.full(n, -1)
    assert graphs.topological(parent_rows(n, edges), rows_of(n, edges), order) == n
    placed = set()
    for v in order.tolist():
        ready = [u for u in set(range(n)) - placed if all(a in placed for a, b in edges if b == u)]
        assert v == min(ready)
        placed.add(v)


def test_topological_of_a_cycle():
    edges = [(0, 1), (1, 2), (2, 1), (3, 0)]
    assert find_cycle(4, edges)
    order = np.zeros(4, np.int64)
    assert graphs.topological(parent_rows(4, edges), rows_of(4, edges), order) == 2
    assert order[:2].tolist() == [3, 0]


def lists_of(n, pairs):
    """Offsets and nodes: each b of a pair (a, b) at a, rising."""
    rows = [sorted(b for a, b in pairs if a == v) for v in range(n)]
    return np.cumsum([0, *map(len, rows)]), np.array([b for row in rows for b in row], np.int64)


@pytest.mark.parametrize("n", SIZES)
def test_lists_are_ordered_and_labeled_as_bit_rows_are(n):
    edges = some_dag(n)
    parents, children = lists_of(n, [(c, p) for p, c in edges]), lists_of(n, edges)
    rows, order, by_bits = parent_rows(n, edges), np.full(n, -1), np.zeros(n, np.int64)
    assert graphs.order_lists(parents[0], *children, order) == n
    graphs.topological(rows, rows_of(n, edges), by_bits)
    assert order.tolist() == by_bits.tolist()
    compelled, flags = np.zeros_like(rows), np.zeros(len(edges), dtype=bool)
    graphs.label_compelled(rows, order, compelled)
    graphs.label_lists(*parents, order, flags)
    children_of = np.repeat(np.arange(n), np.diff(parents[0]))[flags]
    assert set(zip(children_of.tolist(), parents[1][flags].tolist(), strict=True)) == pairs_of(
        compelled
    )


def test_order_lists_of_a_cycle():
    edges = [(0, 1), (1, 2), (2, 1), (3, 0)]
    order = np.zeros(4, np.int64)
    parents = lists_of(4, [(c, p) for p, c in edges])
    assert graphs.order_lists(parents[0], *lists_of(4, edges), order) == 2
    assert order[:2].tolist() == [3, 0]


def test_label_compelled_and_extend():
    for members in classes(4).values():
        shared = frozenset.intersection(*members)
        skeleton = {tuple(sorted(e)) for e in members[0]}
        free = both(e for e in skeleton if e not in shared and e[::-1] not in shared)
        for edges in members:
            order = np.zeros(4, np.int64)
            rows = parent_rows(4, edges)
            graphs.topological(rows, rows_of(4, edges), order)
            compelled = np.zeros_like(rows)
            graphs.label_compelled(rows, order, compelled)
            assert pairs_of(compelled) == {(c, p) for p, c in shared}
        out = rows_of(4, [])
        inputs = rows_of(4, shared), rows_of(4, free), rows_of(4, both(skeleton))
        assert graphs.extend(*inputs, out)
        assert frozenset((p, c) for c, p in pairs_of(out)) in members


def test_extend_of_a_chordless_cycle():
    cycle = both([(0, 1), (1, 2), (2, 3), (3, 0)])
    rows = rows_of(4, cycle)
    assert not graphs.extend(rows_of(4, []), rows.copy(), rows.copy(), rows_of(4, []))


def test_label_compelled_of_many():
    """Beyond one word: directed edges of a class are in every member, and members differ."""
    edges = some_dag(130)
    rows, order = parent_rows(130, edges), np.zeros(130, np.int64)
    graphs.topological(rows, rows_of(130, edges), order)
    compelled = np.zeros_like(rows)
    graphs.label_compelled(rows, order, compelled)
    forced = {(p, c) for c, p in pairs_of(compelled)}
    skeleton = both(edges)
    free = skeleton - both(forced)
    out = rows_of(130, [])
    graphs.extend(rows_of(130, forced), rows_of(130, free), rows_of(130, skeleton), out)
    other = frozenset((p, c) for c, p in pairs_of(out))
    assert forced <= other
    assert signature(other) == signature(frozenset(edges))


@pytest.mark.parametrize("n", [1, 6, 12, 70])
def test_eliminate(n):
    rng = np.random.default_rng(n)
    edges = random_graph(rng, n, min(0.5, 4 / n))
    cards = rng.integers(2, 5, n)
    order, cliques = np.zeros(n, np.int64), rows_of(n, [])
    rows = rows_of(n, both(edges))
    graphs.eliminate(rows, cards.astype(float), mask_of(n, range(n)), order, cliques)
    expected, added = least_fill(n, edges, cards.tolist())
    assert order.tolist() == expected
    joined, left = both(edges) | both(added), set(range(n))
    for v, clique in zip(order.tolist(), cliques, strict=True):
        assert nodes_of(clique) == {v} | {u for u in left if (u, v) in joined}
        left.remove(v)


def test_spanning_tree():
    cliques = [{0, 1, 2}, {1, 2, 3}, {3, 4}, {2, 5}, {80}, {1, 3, 70}]
    rows = np.array([mask_of(81, c) for c in cliques])
    nearest, order = np.full(6, -1), np.full(6, -1)
    graphs.spanning_tree(rows, nearest, order)
    assert sorted(order.tolist()) == list(range(6))
    assert order[0] == 0
    links = [(int(nearest[j]), int(j)) for j in order[1:]]
    assert running_intersection(cliques, links)
    reached = [0]
    for i, j in links:
        assert i in reached
        weights = [
            len(cliques[a] & cliques[b]) for a in reached for b in set(range(6)) - {*reached}
        ]
        assert len(cliques[i] & cliques[j]) == max(weights)
        reached.append(j)
