"""The kernels of scores beside scores of families one by one, and a row store beside a list."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane._core import scores
from reference.core_counts import bit_sets
from reference.core_scores import child_last, ranked, row_scores, table_score

CODES = [np.uint8, np.uint16, np.uint32]
KINDS = [scores.LIKELIHOOD, scores.EQUIVALENT, scores.CONSTANT, scores.AVERAGE]
KIND_IDS = ["likelihood", "equivalent", "constant", "average"]
kinds = pytest.mark.parametrize("kind", KINDS, ids=KIND_IDS)
counted = pytest.mark.parametrize("dtype", [np.int64, np.float64])


def logs(size=30):
    out = np.empty(size)
    scores.fill_clogc(out)
    return out


def some_counts(shape, dtype):
    """Small and large counts, some 0; real ones are not all whole."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 60, shape) * rng.integers(0, 2, shape)
    return values if dtype is np.int64 else values / 4


# ---- tables --------------------------------------------------------------------------------------


def test_fill_clogc():
    assert logs(5) == pytest.approx([0, 0, 2 * np.log(2), 3 * np.log(3), 4 * np.log(4)], rel=1e-15)


@kinds
@pytest.mark.parametrize("shape", [(1, 3, 1), (4, 2, 1), (3, 1, 2), (6, 3, 5)])
def test_score_table(kind, shape):
    table = some_counts(shape, np.float64)
    got = scores.score_table(table.ravel(), *shape, kind, 0.7, logs())
    assert got == pytest.approx(table_score(child_last(table), kind, 0.7), rel=1e-12)


def test_an_empty_table():
    empty = np.zeros(6)
    given = [scores.score_table(empty, 2, 3, 1, kind, 0.5, logs()) for kind in KINDS]
    assert given == [-2.0, 0.0, 0.0, -np.inf]


@kinds
@counted
def test_score_tables(kind, dtype):
    tables = [some_counts(shape, dtype) for shape in ((1, 2), (4, 3), (2, 1))]
    values = np.concatenate([t.ravel() for t in tables])
    out_from = np.cumsum([0, *(t.size for t in tables)])
    out = np.empty(3)
    scores.score_tables(values, out_from, np.array([2, 3, 1]), kind, 0.3, logs(), out)
    assert out == pytest.approx([table_score(t, kind, 0.3) for t in tables], rel=1e-12)


@kinds
@counted
def test_score_pairs(kind, dtype):
    left, right = np.array([0, 2, 3, 7]), np.array([0, 3, 5])
    counts = some_counts((7, 5), dtype)
    out = np.empty((3, 2))
    scores.score_pairs(counts, left, right, kind, 0.3, logs(), out)
    for i in range(3):
        for j in range(2):
            table = counts[left[i] : left[i + 1], right[j] : right[j + 1]].T
            assert out[i, j] == pytest.approx(table_score(table, kind, 0.3), rel=1e-12)


# ---- the row store -------------------------------------------------------------------------------


def make_store(n, slots, buckets=16):
    rng = np.random.default_rng(0)
    words = -(-n // 64)
    return scores.RowStore(
        zobrist=rng.integers(0, 2**64, (2, n), dtype=np.uint64),
        head=np.zeros(buckets, np.int64),
        next=np.zeros(slots, np.int64),
        keys=np.zeros(slots, np.uint64),
        child=np.zeros(slots, np.int64),
        parents=np.zeros((slots, words), np.uint64),
        scores=np.zeros((slots, n)),
        improving=np.zeros((slots, n), np.int64),
        n_improving=np.zeros(slots, np.int64),
        ring=np.zeros(4, np.int64),
    )


def bits_of(n, members):
    words = np.zeros(-(-n // 64), np.uint64)
    for v in members:
        words[v // 64] |= np.uint64(1) << np.uint64(v % 64)
    return words


@pytest.mark.parametrize("colliding", [False, True])
def test_a_store_keeps_the_last_rows(colliding):
    n, slots = 70, 5
    store = make_store(n, slots)
    if colliding:
        store.zobrist[:] = 0
    rng = np.random.default_rng(1)
    families = [(int(rng.integers(3)), tuple(sorted(rng.choice(n, 2, False)))) for _ in range(12)]
    kept: list[tuple] = []  # the newest last
    claimed = 0
    for step in rng.integers(0, len(families), 200):
        child, parents = families[step]
        slot = scores.find_row(store, child, bits_of(n, parents))
        assert (slot >= 0) == (families[step] in kept)
        if slot < 0:
            assert scores.claim_slot(store, child, bits_of(n, parents)) == claimed % slots
            kept = [*kept, families[step]][-slots:]
            claimed += 1
        else:
            assert store.child[slot] == child
            assert (store.parents[slot] == bits_of(n, parents)).all()
    assert store.ring.tolist() == [slots, claimed % slots, 0, claimed]


def test_claim_missing():
    store = make_store(4, 8)
    scores.claim_slot(store, 2, bits_of(4, [0]))
    families = np.array([bits_of(4, members) for members in ([1], [0], [0], [1])])
    slots = np.full(4, -1)
    assert scores.claim_missing(store, np.array([2, 2, 3, 2]), families, slots) == 2
    assert slots.tolist() == [1, 2, -1, -1]
    assert store.child[:3].tolist() == [2, 2, 3]


def test_rank_row():
    n = 70
    store = make_store(n, 2)
    slot = scores.claim_slot(store, 66, bits_of(n, [2, 65]))
    rng = np.random.default_rng(2)
    store.scores[slot] = rng.integers(0, 9, n)
    store.scores[slot, [1, 40]] = -np.inf
    store.scores[slot, 66] = 4
    scores.rank_rows(store, np.array([slot]))
    found = store.improving[slot, : store.n_improving[slot]].tolist()
    assert found == ranked(store.scores[slot], 66, (2, 65))


# ---- rows ----------------------------------------------------------------------------------------

CARDS = np.array([2, 3, 1, 4, 2, 5, 30])
N, ROWS = len(CARDS), 900  # cells of few rows, and tables that bits do not pay for
FAMILIES = [(0, ()), (3, (1,)), (5, (0, 2, 3)), (1, (0, 3, 4)), (1, (0, 3, 4, 5))]


def make_data(codes, weights, kind, a, gaps, *, priors, max_parents, max_cells):
    """RowData for codes in which a missing cell is the code after the last state."""
    words, first = bit_sets(codes, CARDS + 1)
    ones = np.array([sum(int(w).bit_count() for w in row) for row in words.tolist()])
    return scores.RowData(
        codes, words, ones, first, CARDS, np.empty(0) if weights is None else weights,
        logs(), kind, a, *priors, max_parents, max_cells,
        np.array(gaps, dtype=bool),
    )  # fmt: skip


def some_codes(dtype, missing=0.0):
    """Columns that depend on each other, one of them with rare states."""
    rng = np.random.default_rng(3)
    common = rng.random(ROWS)
    mixed = [np.where(rng.random(ROWS) < 0.5, common, rng.random(ROWS)) for _ in CARDS]
    mixed[3] **= 6
    codes = np.array([(m * r).astype(int) for m, r in zip(mixed, CARDS, strict=True)])
    return np.where(rng.random(codes.shape) < missing, CARDS[:, None], codes).astype(dtype)


def check_rows(codes, weights, kind, gaps=(), **limits):
    """Rows of FAMILIES that `fill_slots` fills, beside families one by one."""
    rng = np.random.default_rng(4)
    limits = {"max_parents": N, "max_cells": 2**20} | limits
    for with_edges in (False, True):
        by_edge = rng.random((N, N)) if with_edges else np.empty((0, 0))
        priors = rng.random(N + 1), by_edge, -0.01 if with_edges else 0.0
        data = make_data(codes, weights, kind, 0.3, gaps, priors=priors, **limits)
        store = make_store(N, 8)
        slots = [scores.claim_slot(store, c, bits_of(N, parents)) for c, parents in FAMILIES]
        for first, stop in ((0, 2), (2, N)):
            scores.fill_slots(data, store, np.array(slots), first, stop)
        scores.rank_rows(store, np.array(slots))
        for slot, (child, parents) in zip(slots, FAMILIES, strict=True):
            expected = row_scores(
                codes, weights, CARDS, kind, 0.3, child, parents, priors, *limits.values()
            )
            assert store.scores[slot] == pytest.approx(expected, rel=1e-10)
            improving = store.improving[slot, : store.n_improving[slot]].tolist()
            assert improving == ranked(store.scores[slot], child, parents)


@kinds
@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("weighted", [False, True])
def test_fill_slots(kind, dtype, weighted):
    codes = some_codes(dtype)
    weights = np.random.default_rng(5).integers(0, 9, ROWS) / 4 if weighted else None
    check_rows(codes, weights, kind)


@pytest.mark.parametrize("limits", [{"max_parents": 1}, {"max_cells": 24}])
def test_fill_slots_up_to_a_limit(limits):
    check_rows(some_codes(np.uint8), None, scores.LIKELIHOOD, **limits)


@kinds
@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("weighted", [False, True])
def test_fill_slots_with_gaps(kind, dtype, weighted):
    codes = some_codes(dtype, missing=0.1)
    codes[0] %= 2  # two columns without gaps
    codes[3] %= 4
    gaps = np.array([(c == r).any() for c, r in zip(codes, CARDS, strict=True)])
    assert gaps.tolist() == [False, True, True, False, True, True, True]
    weights = np.random.default_rng(5).integers(0, 9, ROWS) / 4 if weighted else None
    check_rows(codes, weights, kind, gaps)


@kinds
@pytest.mark.parametrize("limits", [{}, {"max_parents": 1}, {"max_cells": 24}])
def test_fill_counted(kind, limits):
    codes = some_codes(np.uint8).astype(np.int64)
    limits = {"max_parents": N, "max_cells": 2**20} | limits
    priors = np.zeros(N + 1), np.empty((0, 0)), -0.01
    data = make_data(codes.astype(np.uint8), None, kind, 0.3, (), priors=priors, **limits)
    kept_from = np.concatenate([[0], np.cumsum(CARDS - 1)])
    kept = [(v, s) for v in range(N) for s in range(CARDS[v] - 1)]
    states = np.array([codes[v] == s for v, s in kept]).astype(np.int64)
    counts, totals = [], []
    for child, parents in FAMILIES:
        cell = np.zeros(ROWS, dtype=np.int64)
        for v in (*parents, child):
            cell = cell * CARDS[v] + codes[v]
        inside = cell == np.arange(np.prod(CARDS[[*parents, child]]))[:, None]
        counts.append(inside.astype(np.int64) @ states.T)
        totals.append(inside.sum(axis=1))
    stores = [make_store(N, 8) for _ in range(2)]
    slots = [[scores.claim_slot(s, c, bits_of(N, p)) for c, p in FAMILIES] for s in stores]
    scores.fill_slots(data, stores[0], np.array(slots[0]), 0, N)
    cells_from = np.concatenate([[0], np.cumsum([len(t) for t in totals])])
    rows = np.array(slots[1]), cells_from, np.concatenate(totals)
    for first, stop in ((0, 3), (3, N)):
        scores.fill_counted(data, stores[1], *rows, kept_from, np.concatenate(counts), first, stop)
    scores.finish_counted(data, stores[1], *rows)
    for a, b in zip(*slots, strict=True):
        assert (stores[0].scores[a] == stores[1].scores[b]).all()


@pytest.mark.parametrize("limits", [{}, {"max_parents": 1}, {"max_cells": 24}])
def test_fill_summed(limits):
    """Sums without penalties, which the rows of a score with a = 0 have."""
    codes = some_codes(np.uint8)
    limits = {"max_parents": N, "max_cells": 2**20} | limits
    none = np.zeros(N + 1), np.empty((0, 0)), 0.0
    priors = np.zeros(N + 1), np.empty((0, 0)), -0.01
    store, plain, summed = (make_store(N, 8) for _ in range(3))
    for rows in (store, plain, summed):
        slots = np.array([scores.claim_slot(rows, c, bits_of(N, p)) for c, p in FAMILIES])
    data = make_data(codes, None, scores.LIKELIHOOD, 0.0, (), priors=none, **limits)
    scores.fill_slots(data, store, slots, 0, N)
    data = make_data(codes, None, scores.LIKELIHOOD, 0.3, (), priors=priors, **limits)
    scores.fill_slots(data, plain, slots, 0, N)
    scores.fill_summed(data, summed, slots, store.scores[slots].copy())
    for slot, (child, parents) in zip(slots, FAMILIES, strict=True):
        others = [y for y in range(N) if y != child and y not in parents]
        assert (summed.scores[slot, others] == plain.scores[slot, others]).all()
        assert (summed.scores[slot, [child, *parents]] == -np.inf).all()
