"""The kernels of wide searches beside plain counts, and their patterns beside Meek's rules."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pytest

import counterpane as cp
from counterpane._core import search, wide
from counterpane.learners.bayesian.constraints import no_limits
from counterpane.learners.bayesian.wide_search import (
    WideSearch,
    both_ways,
    lane_blocks,
    strongest_pairs,
    wide_data,
)
from counterpane.progress import Control
from counterpane.scores.edge_price import edge_prices
from reference.core_wide import arrows_by_meek, best_change, family_score, has_cycle

SCORES = {"likelihood": cp.BIC(), "equivalent": cp.BDeu(2.0)}


def random_codes(rng, cards, rows):
    """Columns that depend on one or two before them, with noise."""
    codes = np.zeros((len(cards), rows), dtype=np.uint8)
    for v, r in enumerate(cards):
        codes[v] = rng.integers(0, r, rows)
        for p in rng.integers(0, v, rng.integers(0, 3)) if v else ():
            copied = rng.random(rows) < 0.5
            codes[v][copied] = codes[p][copied] % r
    return codes


def data_of(codes, cards, kind="likelihood", weights=None, rate=0.02, max_parents=10):
    table = cp.Table(cp.Schema.from_cards(cards), codes, weights)
    order = np.arange(len(cards))
    return wide_data(cp.MemoryCounts(table), SCORES[kind], rate, max_parents, order)


def naive_score(codes, cards, kind, weights=None, rate=0.02):
    total = codes.shape[1] if weights is None else float(weights.sum())
    prices = edge_prices(SCORES[kind], total, len(cards), rate)
    a = 0.5 * math.log(total) if kind == "likelihood" else 2.0
    each = np.ones(codes.shape[1]) if weights is None else weights
    return cache(
        lambda child, parents: family_score(codes, each, cards, prices, kind, a, child, parents)
    )


def screened(data):
    keep = np.full(len(data.price), 1e-7)
    room = 64 * len(data.lanes) ** 2 + 64
    pairs, gains = np.empty((room, 2), np.int32), np.empty(room)
    n = wide.screen_pairs(data, keep, 0, len(data.lanes), np.zeros(1, np.int64), pairs, gains)
    return {tuple(p): g for p, g in zip(pairs[:n].tolist(), gains[:n], strict=True)}


def searched(data, pairs, every=True, passes=2, classes=True):
    """(parents, arrows) that the search reaches from no edges."""
    n = len(data.cards)
    ends = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    lists = both_ways(ends, np.array([pairs[tuple(p)] for p in ends.tolist()]), n)
    room = n * data.max_parents
    dag = search.ParentLists(np.zeros(n + 1, np.int64), np.zeros(room, np.int32))
    arrows = np.zeros(room, dtype=bool)
    limits = no_limits(n)._replace(max_parents=data.max_parents)
    wide.search_wide(data, *lists, every, limits, classes, passes, dag, arrows, np.zeros(3))
    found = [tuple(dag.nodes[a:b].tolist()) for a, b in pairwise(dag.begins)]
    edges = [(p, x) for x in range(n) for p in found[x]]
    return found, {edge for edge, arrow in zip(edges, arrows, strict=False) if arrow}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", SCORES)
def test_screen_keeps_the_pairs_that_gain(kind, weighted):
    rng = np.random.default_rng(1)
    cards = [2, 3, 2, 5, 4, 2, 2, 3, 2, 2, 2, 2, 4, 1, 3]
    codes = random_codes(rng, cards, 130)
    weights = rng.choice([0.5, 1.25, 2.0], 130) if weighted else None
    score = naive_score(codes, cards, kind, weights)
    kept = screened(data_of(codes, cards, kind, weights))
    gains = {
        (i, j): score(i, (j,)) - score(i, ())
        for i, j in combinations(range(len(cards)), 2)
        if cards[i] > 1 and cards[j] > 1
    }
    assert kept == pytest.approx({pair: gain for pair, gain in gains.items() if gain > 1e-7})
    assert 5 < len(kept) < len(gains)


def test_screen_in_spans_keeps_each_pair_once():
    rng = np.random.default_rng(2)
    cards = [2] * 30 + [3] * 11
    data = data_of(random_codes(rng, cards, 200), cards)
    pairs, gains = np.empty((4096, 2), np.int32), np.empty(4096)
    kept = []
    for begin, end in ((0, 2), (2, 3), (3, len(data.lanes))):
        cursor = np.zeros(1, np.int64)
        while cursor[0] < end:
            room = 64 * (end - begin)  # for one block at a time
            n = wide.screen_pairs(
                data, np.full(len(data.price), 1e-7), begin, end, cursor, pairs[:room],
                gains[:room],
            )  # fmt: skip
            kept += map(tuple, pairs[:n].tolist())
    assert len(kept) == len(set(kept))
    assert set(kept) == set(screened(data))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", SCORES)
def test_search_ends_where_no_edge_gains(kind, weighted):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        cards = rng.integers(2, 6, 14).tolist()
        codes = random_codes(rng, cards, 200)
        weights = rng.choice([0.5, 1.25, 2.0], 200) if weighted else None
        score = naive_score(codes, cards, kind, weights)
        data = data_of(codes, cards, kind, weights)
        found, _ = searched(data, screened(data))
        assert sum(map(len, found)) > 3
        assert best_change(len(cards), found, score) < 1e-6


def test_search_counts_large_families_row_by_row():
    rng = np.random.default_rng(5)
    cards = [7, 7, 6, 5, 2, 2]
    codes = random_codes(rng, cards, 3000)
    codes[4] = (codes[0] + codes[1] + codes[2]) % 2
    score = naive_score(codes, cards, "likelihood", rate=None)
    data = data_of(codes, cards, rate=None)
    found, _ = searched(data, screened(data))
    assert best_change(len(cards), found, score) < 1e-6


@pytest.mark.parametrize("kind", SCORES)
def test_scores_and_gains_of_edges(kind):
    rng = np.random.default_rng(3)
    cards = [2, 3, 4, 2, 5, 2]
    codes = random_codes(rng, cards, 150)
    score = naive_score(codes, cards, kind)
    parents = [(), (0,), (0, 1), (), (1, 3), (0, 2, 4)]
    offsets = np.cumsum([0, *map(len, parents)])
    lists = np.array([p for own in parents for p in own], np.int32)
    scores, gains = np.zeros(6), np.zeros(len(lists))
    wide.score_lists(data_of(codes, cards, kind), offsets, lists, scores, gains)
    assert scores == pytest.approx([score(x, own) for x, own in enumerate(parents)])
    lost = [
        score(x, own) - score(x, tuple(v for v in own if v != p))
        for x, own in enumerate(parents)
        for p in own
    ]
    assert gains == pytest.approx(lost)


def test_second_screen_sees_what_pairs_do_not_show():
    rng = np.random.default_rng(4)
    n_rows = 2000
    codes = rng.integers(0, 2, (60, n_rows)).astype(np.uint8)
    codes[7] = codes[3] ^ codes[11] ^ (rng.random(n_rows) < 0.05)  # neither parent shows alone
    codes[3] = np.where(rng.random(n_rows) < 0.2, codes[7], codes[3])
    data = data_of(codes, [2] * 60)
    offsets = np.zeros(61, np.int64)
    offsets[8:] = 1
    children = np.zeros(61, np.int64)
    children[4:] = 1
    best = np.empty((60, 8), np.int32)
    wide.screen_families(
        data, offsets, np.array([3], np.int32), children, np.array([7], np.int32), 0, best
    )
    assert (3, 7) in screened(data)
    assert 11 in best[7].tolist()
    assert 3 not in best[7].tolist()
    score = naive_score(codes, [2] * 60, "likelihood")
    gain = [score(7, tuple(sorted((3, x)))) - score(7, (3,)) for x in range(60) if x not in (3, 7)]
    assert (best[7] >= 0).sum() == min(8, sum(g > 1e-7 for g in gain))
    assert (best[[0, 1, 2]] == -1).all()


@pytest.mark.parametrize("density", [0.1, 0.3, 0.6])
def test_arrows_are_those_of_meek(density):
    rng = np.random.default_rng(int(10 * density))
    for _ in range(60):
        n = int(rng.integers(4, 13))
        place = rng.permutation(n)
        parents = [
            [u for u in range(n) if place[u] < place[v] and rng.random() < density]
            for v in range(n)
        ]
        offsets = np.cumsum([0, *map(len, parents)])
        lists = np.array([p for own in parents for p in own], np.int32)
        arrows = np.zeros(len(lists), dtype=bool)
        wide.find_arrows(offsets, lists, arrows)
        edges = [(p, x) for x in range(n) for p in parents[x]]
        assert {e for e, a in zip(edges, arrows, strict=True) if a} == arrows_by_meek(n, parents)


@pytest.mark.parametrize("classes", [True, False])
@pytest.mark.parametrize("passes", [0, 3])
def test_searches_keep_the_pattern_of_their_network(passes, classes):
    """The stress test of the local repair: scores look fine when it is wrong."""
    moved = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(8, 40))
        cards = rng.choice([2, 2, 2, 3], n).tolist()
        codes = random_codes(rng, cards, int(rng.integers(60, 500)))
        data = data_of(codes, cards, rate=None)  # many edges
        found, arrows = searched(data, screened(data), passes=passes, classes=classes)
        assert not has_cycle(n, found)
        assert arrows == arrows_by_meek(n, found)
        moved += sum(map(len, found))
    assert moved > 500


def test_candidates_are_all_that_is_tried():
    rng = np.random.default_rng(6)
    cards = [2] * 20
    data = data_of(random_codes(rng, cards, 400), cards)
    pairs = screened(data)
    some = {pair: pairs[pair] for pair in sorted(pairs)[::2]}
    found, _ = searched(data, some, every=False)
    assert {tuple(sorted((p, x))) for x in range(20) for p in found[x]} <= set(some)
    everything, _ = searched(data, pairs, every=False)
    assert sum(map(len, everything)) > sum(map(len, found)) > 0


def test_steps_of_a_screened_search(monkeypatch):
    """Screens, beside every column."""
    rng = np.random.default_rng(7)
    cards = [2] * 80
    codes = random_codes(rng, cards, 600)
    data = data_of(codes, cards)
    results = {}
    monkeypatch.setattr("counterpane.learners.bayesian.wide_search.SECOND_BATCH", 32)
    for effort in ("thorough", "default"):
        for n_jobs in (1, 2):
            search = WideSearch(data, effort=effort, n_jobs=n_jobs)
            state = search.start()
            while not search.done(state):
                state, _ = search.step(state, Control())
            results[effort, n_jobs] = state
    for effort in ("thorough", "default"):
        one, two = results[effort, 1], results[effort, 2]
        assert one.every == two.every == (effort == "thorough")
        assert one.parents.tolist() == two.parents.tolist()
        assert one.pairs.tolist() == two.pairs.tolist()
    edges = [len(results[effort, 1].parents) for effort in ("thorough", "default")]
    assert edges[1] == pytest.approx(edges[0], rel=0.1)


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("rows", [90, 700])
def test_families_screened_by_lanes_miss_nothing(rows, kind):
    """Rare states, configurations that are left out, and columns of other numbers of states."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        cards = rng.choice([2, 2, 2, 2, 3], 40).tolist()
        n, codes = len(cards), random_codes(rng, cards, rows)
        rare = rng.random(codes.shape) < rng.choice([0.0, 0.5, 0.9], n)[:, None]
        codes[rare] = 0
        data = data_of(codes, cards, kind, rate=rng.choice([0.02, 0.5]))
        parents = [sorted(rng.choice(v, min(v, int(rng.integers(0, 3))), False)) for v in range(n)]
        offsets = np.cumsum([0, *map(len, parents)])
        above = np.array([p for own in parents for p in own], np.int32)
        none = np.zeros(n + 1, np.int64)
        lists = offsets, above, none, np.zeros(0, np.int32), 0
        best, again = np.empty((n, 8), np.int32), np.empty((n, 8), np.int32)
        families = np.empty((n, 2), np.int32)
        wide.screen_families(data, *lists, best)
        wide.choose_families(data, *lists, families)
        asked = families[:, 0] >= 0
        starts = np.concatenate([[0], np.cumsum(asked * n)])
        every = np.tile(np.arange(n, dtype=np.int32), int(asked.sum()))
        wide.judge_families(data, offsets, above, 0, families, starts, every, again)
        assert best.tolist() == again.tolist()


def test_second_screen_of_weighted_rows():
    rng = np.random.default_rng(9)
    cards = [2, 3, 2, 2, 2, 3, 2, 2, 2, 2]
    codes, weights = random_codes(rng, cards, 400), rng.choice([0.5, 1.25, 2.0], 400)
    codes[7] = codes[3] ^ codes[4] ^ (rng.random(400) < 0.1)
    data = data_of(codes, cards, weights=weights)
    offsets = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1])
    best = np.empty((10, 8), np.int32)
    none = np.zeros(11, np.int64), np.zeros(0, np.int32)
    wide.screen_families(data, offsets, np.array([3], np.int32), *none, 0, best)
    score = naive_score(codes, cards, "likelihood", weights)
    gains = {
        x: score(7, tuple(sorted((3, x)))) - score(7, (3,)) for x in range(10) if x not in (3, 7)
    }
    expected = sorted((x for x in gains if gains[x] > 1e-7), key=lambda x: -gains[x])
    assert [x for x in best[7].tolist() if x >= 0] == expected
    assert 4 in expected


def test_what_parents_leave_of_a_column():
    rng = np.random.default_rng(11)
    codes = rng.integers(0, 3, (5, 200)).astype(np.uint8)
    codes[3] = (codes[0] + codes[1]) % 3
    codes[4] = 1
    cards = [3] * 5
    parents = [(), (0,), (), (0, 1), (2,)]
    offsets = np.cumsum([0, *map(len, parents)])
    left = np.empty(5)
    lists = np.array([p for own in parents for p in own], np.int32)
    wide.fill_left(data_of(codes, cards), offsets, lists, left)
    plain = [
        [
            family_score(codes, np.ones(200), cards, np.zeros(9), "likelihood", 0.0, x, own)
            for own in (parents[x], ())
        ]
        for x in range(4)
    ]
    assert left[:4] == pytest.approx([given / alone for given, alone in plain])
    assert left[3] == pytest.approx(0.0, abs=1e-12)
    assert left[4] == 1.0  # a constant has nothing to leave


def test_strongest_pairs_bound_what_is_kept():
    n = 50
    pairs = np.array(list(combinations(range(n), 2)))
    gains = np.random.default_rng(0).random(len(pairs))
    kept, values = strongest_pairs(pairs, gains, n, 4)
    assert len(kept) <= 4 * n
    for v in range(n):
        mine = (pairs == v).any(axis=1)
        best = np.sort(gains[mine])[-4:]
        assert set(best) <= set(values)


def test_lanes_hold_each_column_once():
    cards = np.array([2, 3, 1, 2, 5] * 7)
    lanes = lane_blocks(cards)
    assert sorted(lanes[lanes >= 0].tolist()) == np.flatnonzero(cards > 1).tolist()
    for block in lanes:
        assert len(set(cards[block[block >= 0]].tolist())) == 1


def test_joined_pairs_are_a_maximum_forest():
    rng = np.random.default_rng(8)
    n = 12
    pairs = np.array(list(combinations(range(n), 2)), np.int32)[rng.random(66) < 0.25]
    pairs = pairs[rng.permutation(len(pairs))]
    root, kept = np.empty(n, np.int64), np.empty(len(pairs), dtype=bool)
    parts = wide.join_pairs(pairs, root, kept)
    labels = list(range(n))
    for (a, b), joins in zip(pairs.tolist(), kept, strict=True):
        assert joins == (labels[a] != labels[b])
        labels = [labels[a] if label == labels[b] else label for label in labels]
    assert parts == len(set(labels)) == len(set(root.tolist()))
    assert all((root[u] == root[v]) == (labels[u] == labels[v]) for u in range(n) for v in range(n))


@pytest.mark.parametrize("kind", SCORES)
def test_pairs_and_families_that_were_screened_elsewhere(kind):
    rng = np.random.default_rng(6)
    cards = [2, 3, 2, 4, 2, 2, 3, 2, 2, 2, 1, 2]
    n = len(cards)
    codes = random_codes(rng, cards, 700)
    data, score = data_of(codes, cards, kind), naive_score(codes, cards, kind)
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1, n) if cards[i] > 1 < cards[j]])
    gains, keep = np.empty(len(pairs)), np.full(len(data.price), 1e-7)
    wide.judge_pairs(data, keep, pairs.astype(np.int32), gains)
    expected = np.array([score(i, (j,)) - score(i, ()) for i, j in pairs.tolist()])
    assert gains == pytest.approx(np.where(expected > 1e-7, expected, -np.inf))

    parents, _ = searched(data, screened(data))
    offsets = np.concatenate([[0], np.cumsum([len(p) for p in parents])])
    above = np.array([p for ps in parents for p in ps], np.int32)
    lists = [[x for x in range(n) if v in parents[x]] for v in range(n)]
    below_from = np.concatenate([[0], np.cumsum([len(x) for x in lists])])
    below = np.array([x for xs in lists for x in xs], np.int32)
    families = np.empty((n, 2), np.int32)
    wide.choose_families(data, offsets, above, below_from, below, 0, families)
    for y in range(n):
        around = parents[y] or lists[y]
        strong = sorted(around, key=lambda x: -score(y, (x,)))[: 2 if parents[y] else 1]
        if len(strong) < 2 or cards[y] * cards[strong[0]] * cards[strong[1]] <= 32:
            assert sorted(x for x in families[y].tolist() if x >= 0) == sorted(strong)
    best, again = np.empty((n, 8), np.int32), np.empty((n, 8), np.int32)
    wide.screen_families(data, offsets, above, below_from, below, 0, best)
    every = np.tile(np.arange(n, dtype=np.int32)[np.array(cards) > 1], n)
    starts = np.arange(n + 1) * (n - 1)
    wide.judge_families(data, offsets, above, 0, families, starts * (families[:, 0].size > 0),
                        every, again)  # fmt: skip
    chosen = families[:, 0] >= 0
    assert (best[chosen] == again[chosen]).all()
