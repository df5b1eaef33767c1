"""The search kernels beside searches that list every neighbor, and χ² beside its formula."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from counterpane._core import bayesian, graphs, independence
from reference.core_structure import (
    TIE,
    Classes,
    Naive,
    bit_rows,
    chi_square,
    descendants,
    equivalent_scores,
    graph_of,
    heaviest_forest,
    random_scores,
    row_store,
    toggled,
)

SEEDS = range(6)
EMPTY = (frozenset(),) * 5
START = (frozenset(), frozenset({0}), frozenset({0, 1}), frozenset({2}), frozenset())


def requests(n, scores, families=None):
    store = row_store(n, scores, families)
    return bayesian.RowRequests(
        store,
        np.zeros(1, np.int64),
        np.zeros(9, np.int64),
        np.zeros((9, 1), np.uint64),
        np.zeros(1, np.int64),
    )


def dag_of(graph):
    n = len(graph)
    dag = bayesian.DagState(
        bit_rows(EMPTY[:n]),
        bit_rows(EMPTY[:n]),
        bit_rows([{u} for u in range(n)]),
        np.full(n, -1),
        *np.zeros((3, n)),
    )
    bayesian.add_edges(dag, bit_rows(graph))
    return dag


def is_whole(dag, graph):
    """Whether all rows of a state are those of a graph."""
    children = [{x for x, own in enumerate(graph) if u in own} for u in range(len(graph))]
    reach = [descendants(graph, u) for u in range(len(graph))]
    return (
        graph_of(dag.parents) == graph
        and graph_of(dag.children) == tuple(map(frozenset, children))
        and graph_of(dag.reach) == tuple(map(frozenset, reach))
    )


def limits_of(naive):
    allowed = [{p for p in range(naive.n) if (p, x) in naive.allowed} for x in range(naive.n)]
    required = [{p for p in range(naive.n) if (p, x) in naive.required} for x in range(naive.n)]
    return bayesian.Limits(bit_rows(allowed), bit_rows(required), TIE)


def some_search(seed):
    """A naive search over five nodes, every second one with limits."""
    scores = random_scores(5, seed)
    if seed % 2 == 0:
        return Naive(5, scores)
    everything = Naive(5, scores).allowed
    return Naive(5, scores, everything - {(4, 0), (1, 3), (3, 4)}, [(2, 3)])


def start_of(naive):
    return START if naive.required else EMPTY


def test_edges_and_moves():
    dag = dag_of(START)
    assert is_whole(dag, START)
    bayesian.make_move(dag, bayesian.ADD, 3, 4)
    graph = toggled(START, 3, 4)
    assert is_whole(dag, graph)
    bayesian.make_move(dag, bayesian.DROP, 2, 3)
    graph = toggled(graph, 2, 3)
    assert is_whole(dag, graph)
    bayesian.make_move(dag, bayesian.TURN, 1, 2)
    graph = toggled(toggled(graph, 1, 2), 2, 1)
    assert is_whole(dag, graph)
    assert dag.slot.tolist() == [-1] * 5


def test_rows_that_are_missing_are_noted():
    scores = random_scores(5, 0)
    families = [(x, frozenset(own)) for x, own in enumerate(START)]
    rows, dag = requests(5, scores, families[:2] + families[3:4]), dag_of(START)
    assert bayesian.load_families(rows, dag) == bayesian.MISS
    assert rows.n_wanted.tolist() == [2]
    wanted = zip(rows.children[:2].tolist(), graph_of(rows.families[:2]), strict=True)
    assert list(wanted) == [families[2], families[4]]
    rows = requests(5, scores)
    assert bayesian.load_families(rows, dag) == 0
    assert dag.score.tolist() == [scores[family] for family in families]
    few, limits = requests(5, scores, families), limits_of(Naive(5, scores))
    assert bayesian.climb(few, dag_of(START), limits, 9) == bayesian.MISS


@pytest.mark.parametrize("seed", SEEDS)
def test_climb(seed):
    naive = some_search(seed)
    expected, moves = naive.climb(start_of(naive))
    rows, dag = requests(5, naive.scores), dag_of(start_of(naive))
    assert bayesian.climb(rows, dag, limits_of(naive), 1) == min(moves, 1)
    assert bayesian.climb(rows, dag, limits_of(naive), 99) == moves - min(moves, 1)
    assert is_whole(dag, expected)
    assert rows.n_moves[0] == moves
    assert dag.score.sum() == pytest.approx(naive.score(expected))


@pytest.mark.parametrize("seed", SEEDS)
def test_tabu_walk(seed):
    naive = some_search(seed)
    expected, moves = naive.tabu_walk(start_of(naive), 6)
    rows, dag, best = requests(5, naive.scores), dag_of(start_of(naive)), dag_of(EMPTY)
    cursor, tabu = np.zeros(2, np.int64), np.zeros(6, np.uint64)
    assert bayesian.tabu_walk(rows, dag, best, limits_of(naive), tabu, cursor) == 0
    assert is_whole(dag, expected)
    assert cursor[0] == moves


@pytest.mark.parametrize("kind", ["reinsert", "knock_out"])
@pytest.mark.parametrize("seed", SEEDS)
def test_passes(kind, seed):
    naive = some_search(seed)
    start = naive.climb(start_of(naive))[0] if seed < 4 else start_of(naive)
    expected, gains = getattr(naive, kind)(start)
    rows, dag, kept = requests(5, naive.scores), dag_of(start), dag_of(EMPTY)
    limits, cursor = limits_of(naive), np.zeros(4, np.int64)
    search = bayesian.reinsert if kind == "reinsert" else bayesian.knock_out
    assert search(rows, dag, kept, limits, cursor, 3) == 0
    assert search(rows, dag, kept, limits, cursor, 5) == 0
    assert is_whole(dag, expected)
    assert cursor.tolist() == [5, 0, 0, gains]
    assert (limits.allowed == limits_of(naive).allowed).all()


def pattern_of(graph):
    n, rows = len(graph), bit_rows(graph)
    pattern = bayesian.Pattern(
        *(np.zeros_like(rows) for _ in range(3)),
        rows,
        np.zeros_like(rows),
        np.full(n, -np.inf),
        np.full(n, -np.inf),
        np.full(n, -1),
        np.zeros_like(rows),
        np.ones(n, bool),
    )
    bayesian.relabel(pattern)
    return pattern


def reached(pattern, y):
    """The nodes to which lines and arrows lead from y, one step at a time."""
    children, neighbors = graph_of(pattern.children), graph_of(pattern.neighbors)
    seen = {y}
    while more := set().union(*(children[v] | neighbors[v] for v in seen)) - seen:
        seen |= more
    return seen


def is_class(pattern, members):
    """Whether a pattern is that of a class: common edges directed, the others not."""
    n = len(pattern.dirty)
    assert all(graph_of(pattern.reach)[y] == reached(pattern, y) for y in range(n))
    edges = [{(p, x) for x, own in enumerate(g) for p in own} for g in members]
    compelled = set.intersection(*edges)
    free = set.union(*edges) - compelled
    return graph_of(pattern.member) in members and all(
        (
            graph_of(pattern.parents)[x] == {p for p, c in compelled if c == x}
            and graph_of(pattern.children)[x] == {c for p, c in compelled if p == x}
            and graph_of(pattern.neighbors)[x] == {p for p, c in free if c == x}
        )
        for x in range(n)
    )


def test_relabel():
    classes = Classes(4, {})
    for graph, members in classes.of.items():
        assert is_class(pattern_of(graph), members)
    pattern = pattern_of(EMPTY[:4])
    pattern.dirty[:] = False
    pattern.member[:] = bit_rows([{3}, set(), set(), set()])
    bayesian.relabel(pattern)
    assert pattern.dirty.tolist() == [True, False, False, True]


@pytest.mark.parametrize("seed", range(12))
def test_ges(seed):
    naive = Classes(4, equivalent_scores(4, seed))
    if seed % 3 == 1:
        naive.allowed -= {(0, 2), (2, 0)}
    expected, steps = naive.ges(naive.of[EMPTY[:4]])
    rows, pattern, limits = requests(4, naive.scores), pattern_of(EMPTY[:4]), limits_of(naive)
    pattern.dirty[:] = True
    assert bayesian.ges(rows, pattern, limits, 3, 1) == min(steps, 1)
    assert bayesian.ges(rows, pattern, limits, 3, 99) == steps - min(steps, 1)
    assert is_class(pattern, expected)
    assert rows.n_moves[0] == steps


def test_ges_keeps_to_the_most_parents():
    scores = equivalent_scores(4, 0)
    scores = {(x, p): value + 20.0 * len(p) for (x, p), value in scores.items()}
    rows, pattern = requests(4, scores), pattern_of(EMPTY[:4])
    pattern.dirty[:] = True
    bayesian.ges(rows, pattern, limits_of(Naive(4, scores)), 1, 99)
    assert (
        max(map(len, graph_of(pattern.member))) == 2
    )  # of one conditioning parent and the new one


@pytest.mark.parametrize("seed", range(12))
def test_knock_out_classes(seed):
    naive = Classes(4, equivalent_scores(4, seed))
    start, _ = naive.ges(naive.of[EMPTY[:4]])
    expected, gains = naive.knock_out_classes(start)
    rows, limits = requests(4, naive.scores), limits_of(naive)
    pattern, kept = pattern_of(min(start, key=str)), pattern_of(EMPTY[:4])
    pattern.dirty[:] = True
    cursor = np.zeros(4, np.int64)
    bayesian.knock_out_classes(rows, pattern, kept, limits, 3, cursor, 2)
    assert bayesian.knock_out_classes(rows, pattern, kept, limits, 3, cursor, 4) == 0
    assert is_class(pattern, expected)
    assert cursor.tolist() == [4, 0, 0, gains]
    assert (limits.allowed == limits_of(naive).allowed).all()


@pytest.mark.parametrize("shrink", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_parents_in_order(seed, shrink):
    naive = some_search(seed)
    order = [4, 2, 0, 3, 1]
    expected = naive.in_order(order, shrink)
    parents, total = bit_rows(EMPTY), np.zeros(1)
    rows, limits = requests(5, naive.scores), limits_of(naive)
    result = bayesian.parents_in_order(rows, limits, np.array(order), shrink, parents, total)
    assert result == 0
    assert graph_of(parents) == expected
    assert total[0] == pytest.approx(naive.score(expected))


@pytest.mark.parametrize("seed", SEEDS)
def test_place_nodes(seed):
    naive = some_search(seed)
    expected, moved = naive.place_nodes([4, 2, 0, 3, 1])
    order, cursor = np.array([4, 2, 0, 3, 1]), np.zeros(4, np.int64)
    rows, limits = requests(5, naive.scores), limits_of(naive)
    assert bayesian.place_nodes(rows, order, limits, cursor, 2) == 0
    assert bayesian.place_nodes(rows, order, limits, cursor, 5) == 0
    assert order.tolist() == expected
    assert cursor.tolist() == [5, 0, 0, moved]


@pytest.mark.parametrize("threshold", [-np.inf, 0.0, 0.5])
def test_grow_forest(threshold):
    rng = np.random.default_rng(3)
    weights = rng.standard_normal((8, 8)) - 0.4
    weights = weights + weights.T
    parents = np.full(8, -1)
    graphs.grow_forest(weights, 3, threshold, parents)
    edges = {(min(v, p), max(v, p)) for v, p in enumerate(parents.tolist()) if p >= 0}
    assert edges == heaviest_forest(weights, threshold)
    assert parents[3] == -1
    assert all(weights[v, p] > threshold for v, p in enumerate(parents) if p >= 0)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_fill_chi_squares(kind):
    rng = np.random.default_rng(5)
    left, right = np.array([0, 2, 5, 6]), np.array([0, 3, 5, 9])
    counts = rng.integers(0, 9, (6, 9)).astype(kind)
    counts[2] = counts[:, 6] = 0  # states without rows
    out = np.zeros((3, 3))
    independence.fill_chi_squares(counts, left, right, out)
    expected = [
        [chi_square(counts[a:b, c:d]) for c, d in pairwise(right)] for a, b in pairwise(left)
    ]
    assert out == pytest.approx(np.array(expected))


def test_fill_binary_chi_squares():
    rng = np.random.default_rng(6)
    states = rng.integers(0, 2, (6, 50))
    states[4] = 1  # a constant
    ones = np.array([np.sum(column == s) for column in states for s in (0, 1)])
    chosen = states[2:5]
    joint = (1 - chosen) @ (1 - states).T
    out = np.zeros((3, 6))
    independence.fill_binary_chi_squares(joint, 2, ones, out)
    for i, column in enumerate(chosen):
        for j, other in enumerate(states):
            table = [[np.sum((column == s) & (other == t)) for t in (0, 1)] for s in (0, 1)]
            assert out[i, j] == pytest.approx(chi_square(table))


def test_keep_largest():
    rng = np.random.default_rng(7)
    values = rng.integers(0, 5, (4, 9)) / 2.0
    values[2, 3:] = 0.0
    order, out = rng.permutation(9), np.zeros((4, 3), np.int64)
    independence.keep_largest(values, 1, order, out)
    for i, row in enumerate(values):
        ranked = [j for j in order if j != i + 1 and row[j] > 0]
        ranked = sorted(ranked, key=lambda j: (row[j], order.tolist().index(j)))[::-1][:3]
        assert out[i].tolist() == ranked + [-1] * (3 - len(ranked))
