"""The search kernels beside searches that list every neighbor, and χ² beside its formula."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from counterpane._core import graphs, independence, scores, search
from reference.core_structure import (
    TIE,
    Classes,
    Naive,
    bit_rows,
    chi_square,
    equivalent_scores,
    heaviest_forest,
    random_scores,
    row_store,
    signature,
)

SEEDS = range(6)
EMPTY = (frozenset(),) * 5
START = (frozenset(), frozenset({0}), frozenset({0, 1}), frozenset({2}), frozenset())


def rows_of(n, scores):
    """The rows of all families; none is missing."""
    wanted = np.zeros(1, np.int64), np.zeros(9, np.int64), np.zeros((9, 1), np.uint64)

    def fill():
        raise AssertionError("no row is missing")

    return search.RowRequests(row_store(n, scores), *wanted, fill)


def lists_of(graph):
    n = len(graph)
    begins = np.cumsum([0, *map(len, graph)])
    nodes = np.zeros(n * (n - 1) // 2, np.int32)
    nodes[: begins[-1]] = [p for own in graph for p in sorted(own)]
    return search.ParentLists(begins, nodes)


def graph_of_lists(lists):
    parts = pairwise(lists.begins.tolist())
    graph = tuple(frozenset(lists.nodes[a:b].tolist()) for a, b in parts)
    assert all((np.diff(lists.nodes[a:b]) > 0).all() for a, b in pairwise(lists.begins.tolist()))
    return graph


def limits_of(naive, max_parents=9):
    allowed = [{p for p in range(naive.n) if (p, x) in naive.allowed} for x in range(naive.n)]
    required = [{p for p in range(naive.n) if (p, x) in naive.required} for x in range(naive.n)]
    return search.Limits(bit_rows(allowed), bit_rows(required), max_parents, TIE)


NOTHING = np.zeros((0, 1), np.uint64)


def some_search(seed):
    """A naive search over five nodes, every second one with limits."""
    scores = random_scores(5, seed)
    if seed % 2 == 0:
        return Naive(5, scores)
    everything = Naive(5, scores).allowed
    return Naive(5, scores, everything - {(4, 0), (1, 3), (3, 4)}, [(2, 3)])


def start_of(naive):
    return START if naive.required else EMPTY


def test_score_dag():
    scores = random_scores(5, 0)
    lists = lists_of(START)
    edges = [(p, x) for x, own in enumerate(START) for p in sorted(own)]
    families, gains = np.zeros(5), np.zeros(len(edges))
    nodes = lists.nodes[: len(edges)].copy()
    search.score_dag(rows_of(5, scores), lists.begins, nodes, families, gains)
    assert families.tolist() == [scores[x, own] for x, own in enumerate(START)]
    expected = [scores[x, START[x]] - scores[x, START[x] - {p}] for p, x in edges]
    assert gains == pytest.approx(np.array(expected))


def test_missing_rows_are_filled_by_the_callback():
    """A store of few rows asks for those that it lacks, together, and gives the same result."""
    naive = Naive(5, random_scores(5, 0))
    everything = row_store(5, naive.scores)
    own = [(x, frozenset()) for x in range(5)]
    store = scores.RowStore(*row_store(5, naive.scores, [*own, *list(naive.scores)[:40]]))
    calls = []

    def fill():
        count = int(rows.n_wanted[0])
        calls.append(count)
        slots = np.zeros(count, np.int64)
        claimed = scores.claim_missing(store, rows.children[:count], rows.families[:count], slots)
        for slot in slots[:claimed]:
            where = np.flatnonzero(
                (everything[4] == store.child[slot])
                & (everything[5] == store.parents[slot]).all(axis=1)
            )[0]
            store.scores[slot] = everything[6][where]
        scores.rank_rows(store, slots[:claimed])

    wanted = np.zeros(1, np.int64), np.zeros(9, np.int64), np.zeros((9, 1), np.uint64)
    rows = search.RowRequests(store, *wanted, fill)
    lists = lists_of(EMPTY)
    store.head[:] = 0  # nothing is found
    store.ring[:] = 0
    moves = search.climb(rows, limits_of(naive), lists)
    assert (graph_of_lists(lists), moves) == naive.climb(EMPTY)
    assert calls[0] == 5  # the rows of the start come together


@pytest.mark.parametrize("constrained", [False, True])
def test_interrupted_searches_leave_a_whole_network(constrained):
    naive = some_search(int(constrained))
    empty = scores.RowStore(*row_store(5, naive.scores, [(0, frozenset())]))
    for kernel in (search.climb, search.ges, search.reinsert, search.knock_out):

        def fill():
            raise KeyboardInterrupt

        wanted = np.zeros(1, np.int64), np.zeros(9, np.int64), np.zeros((9, 1), np.uint64)
        rows, lists = search.RowRequests(empty, *wanted, fill), lists_of(START)
        more = [3] if kernel is search.reinsert else []
        with pytest.raises(KeyboardInterrupt):
            kernel(rows, limits_of(naive), lists, *more)
        assert signature(graph_of_lists(lists)) == signature(START)


@pytest.mark.parametrize("seed", SEEDS)
def test_climb(seed):
    naive = some_search(seed)
    lists = lists_of(start_of(naive))
    moves = search.climb(rows_of(5, naive.scores), limits_of(naive), lists)
    assert (graph_of_lists(lists), moves) == naive.climb(start_of(naive))


def test_climb_without_limits():
    """Limits without rows allow every edge and require none."""
    naive = Naive(5, random_scores(5, 0))
    lists = lists_of(EMPTY)
    free = search.Limits(NOTHING, NOTHING, 9, TIE)
    search.climb(rows_of(5, naive.scores), free, lists)
    assert graph_of_lists(lists) == naive.climb(EMPTY)[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_tabu_walk(seed):
    naive = some_search(seed)
    lists, tabu = lists_of(start_of(naive)), np.zeros(6, np.uint64)
    moves = search.tabu_walk(rows_of(5, naive.scores), limits_of(naive), lists, tabu)
    assert (graph_of_lists(lists), moves) == naive.tabu_walk(start_of(naive), 6)


@pytest.mark.parametrize("seed", SEEDS)
def test_reinsert(seed):
    naive = some_search(seed)
    start = naive.climb(start_of(naive))[0] if seed < 4 else start_of(naive)
    rows, lists = rows_of(5, naive.scores), lists_of(start)
    gains = search.reinsert(rows, limits_of(naive), lists, 1)
    assert (graph_of_lists(lists), gains) == naive.reinsert(start)
    again, more = naive.reinsert(naive.reinsert(start)[0])
    lists = lists_of(start)
    assert search.reinsert(rows, limits_of(naive), lists, 2) == gains + (more if gains else 0)
    assert graph_of_lists(lists) == again


@pytest.mark.parametrize("seed", SEEDS)
def test_knock_out(seed):
    naive = some_search(seed)
    start = naive.climb(start_of(naive))[0] if seed < 4 else start_of(naive)
    lists = lists_of(start)
    gains = search.knock_out(rows_of(5, naive.scores), limits_of(naive), lists)
    assert (graph_of_lists(lists), gains) == naive.knock_out(start)


@pytest.mark.parametrize("seed", range(12))
def test_ges(seed):
    naive = Classes(4, equivalent_scores(4, seed))
    if seed % 3 == 1:
        naive.allowed -= {(0, 2), (2, 0)}
    expected, steps = naive.ges(naive.of[EMPTY[:4]])
    lists = lists_of(EMPTY[:4])
    assert search.ges(rows_of(4, naive.scores), limits_of(naive), lists) == steps
    assert graph_of_lists(lists) in expected


def test_ges_keeps_to_the_most_parents():
    values = equivalent_scores(4, 0)
    values = {(x, p): value + 20.0 * len(p) for (x, p), value in values.items()}
    lists = lists_of(EMPTY[:4])
    search.ges(rows_of(4, values), limits_of(Naive(4, values), max_parents=1), lists)
    assert max(map(len, graph_of_lists(lists))) == 2  # of one conditioning parent and the new one


@pytest.mark.parametrize("seed", range(12))
def test_knock_out_classes(seed):
    naive = Classes(4, equivalent_scores(4, seed))
    start, _ = naive.ges(naive.of[EMPTY[:4]])
    expected, gains = naive.knock_out_classes(start)
    lists = lists_of(min(start, key=str))
    assert search.knock_out_classes(rows_of(4, naive.scores), limits_of(naive), lists) == gains
    assert graph_of_lists(lists) in expected


@pytest.mark.parametrize("shrink", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_parents_in_order(seed, shrink):
    naive = some_search(seed)
    order = [4, 2, 0, 3, 1]
    expected = naive.in_order(order, shrink)
    rows, lists = rows_of(5, naive.scores), lists_of(EMPTY)
    total = search.parents_in_order(rows, limits_of(naive), np.array(order), shrink, lists)
    assert graph_of_lists(lists) == expected
    assert total == pytest.approx(naive.score(expected))


@pytest.mark.parametrize("seed", SEEDS)
def test_place_nodes(seed):
    naive = some_search(seed)
    order = np.array([4, 2, 0, 3, 1])
    moved = search.place_nodes(rows_of(5, naive.scores), limits_of(naive), order)
    assert (order.tolist(), moved) == naive.place_nodes([4, 2, 0, 3, 1])


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
