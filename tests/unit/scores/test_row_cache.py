"""Rows of single-parent toggles: right, equal to the last bit on every way, and bounded."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from counterpane.counts import MemoryCounts, StreamCounts
from counterpane.data import Schema, Table
from counterpane.errors import DataError, ParameterError, ScopeError
from counterpane.graphs import Dag
from counterpane.models import BayesianNetwork
from counterpane.scores import (
    AIC,
    BIC,
    K2,
    BDe,
    BDeu,
    EdgeOdds,
    EdgePrior,
    LogLikelihood,
    ParameterCountPrior,
    ParentCountPrior,
    score_families,
)
from counterpane.scores.row_cache import RowCache
from error_checks import raises
from reference.random_codes import random_codes, random_weights

CARDS = (2, 3, 1, 4, 2, 7, 3, 2, 300)
N = len(CARDS)
ODDS = np.random.default_rng(0).gamma(1.0, 1.0, (N, N)) + 0.1
FLAT = BayesianNetwork(Schema.from_cards(CARDS), Dag(N, []), [np.full(r, 1 / r) for r in CARDS])
SCORES = {
    "loglik": LogLikelihood(),
    "aic": AIC(),
    "bic": BIC(),
    "k2": K2(),
    "k2-half": K2(0.5),
    "bdeu": BDeu(10),
    "bic-edges": BIC(structure_prior=EdgePrior(0.2)),
    "bdeu-number": BDeu(structure_prior=ParentCountPrior()),
    "bdeu-parameters": BDeu(structure_prior=ParameterCountPrior(0.9)),
    "k2-expert": K2(structure_prior=EdgeOdds(ODDS)),
    "bde-expert": BDe(FLAT, 3, structure_prior=EdgeOdds(ODDS)),
}
scores = pytest.mark.parametrize("score", [pytest.param(s, id=n) for n, s in SCORES.items()])
weightings = pytest.mark.parametrize("weights", [None, "whole", "real"])


def make_table(cards=CARDS, rows=400, seed=0, weights=None):
    codes = random_codes(cards, rows, seed)
    return Table(Schema.from_cards(cards), codes, random_weights(weights, rows, seed))


def stream_of(table, parts=1):
    cuts = np.array_split(np.arange(table.n_rows), parts)
    return StreamCounts(table.schema, lambda: [table.take(rows) for rows in cuts])


def some_families(n=N, seed=0, count=12, largest=4):
    """Random children and parents; the column of 300 states is never in a family, only added."""
    rng = np.random.default_rng(seed)
    yield 0, ()
    yield n - 1, ()
    for _ in range(count):
        order = rng.permutation(n - 1).tolist()
        yield order[0], tuple(order[1 : 1 + rng.integers(0, largest + 1)])


def expected_row(score, source, child, parents, max_parents=99, max_cells=2**20):
    """The row, from the scores of its families one by one."""
    cards = source.schema.cards
    row = np.full(len(cards), -np.inf)
    for y in range(len(cards)):
        family = set(parents) ^ ({y} if y != child else set())
        if len(family) > max_parents or np.prod(cards[[*family, child]], dtype=float) > max_cells:
            continue
        row[y] = score_families(score, source, [(child, sorted(family))])[0]
    return row


def assert_same(row, other):
    """Rows equal to the last bit, the order of the improving parents included."""
    assert row.score == other.score
    assert row.toggled.tobytes() == other.toggled.tobytes()
    assert row.improving.tolist() == other.improving.tolist()


# ---- right ---------------------------------------------------------------------------------------


def test_equal_gains_come_by_position():
    codes = random_codes((2, 2), 200, 0)
    table = Table(Schema.from_cards([2] * 5), codes[[1, 0, 1, 0, 0]])
    assert RowCache(MemoryCounts(table), BIC()).row(2).improving.tolist() == [0, 1, 3, 4]


@pytest.mark.parametrize("max_parents", [0, 1, 2, 3])
@pytest.mark.parametrize("max_cells", [7, 40, 2**20])
@pytest.mark.parametrize("make", [MemoryCounts, stream_of])
def test_larger_families_are_minus_infinity(make, max_parents, max_cells):
    source = make(make_table())
    cache = RowCache(source, BIC(), max_parents=max_parents, max_cells=max_cells)
    compared = 0
    for child, parents in some_families(seed=2, count=25):
        cells = np.prod([CARDS[v] for v in (child, *parents)])
        if len(parents) > max_parents or cells > max_cells:
            with pytest.raises(ScopeError, match=f"up to {max_parents} and {max_cells:,}"):
                cache.row(child, parents)
            continue
        expected = expected_row(BIC(), source, child, parents, max_parents, max_cells)
        assert cache.row(child, parents).toggled == pytest.approx(expected, rel=1e-9)
        compared += 1
    assert compared > 3


def test_many_rows_and_many_cells():
    # More rows than a block of codes, more cells than bits would pay for, and large tables.
    table = make_table((2, 3, 4, 5, 6, 7, 1, 9), 20_000)
    source = MemoryCounts(table)
    cache = RowCache(source, BDeu(5))
    for child, parents in ((7, (3, 4, 5)), (0, (3, 4, 5, 7)), (5, (1, 2)), (1, ()), (6, (0, 7))):
        expected = expected_row(BDeu(5), source, child, parents)
        assert cache.row(child, parents).toggled == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_large_tables_are_held_a_few_at_a_time():
    table = make_table((40, 40, 40, *[16] * 6), 300)
    source = MemoryCounts(table)
    cache = RowCache(source, BIC(), max_cells=2**21)
    row = cache.row(0, (1, 2))  # 64,000 cells, 1,024,000 with one more parent, 2**22 at a time
    assert row.toggled == pytest.approx(expected_row(BIC(), source, 0, (1, 2)), rel=1e-9)


def test_bits_serve_small_families_and_rows_large_ones():
    # Columns 2 and 3 are added to 100 cells by rows, 4 and 5 by bits; 14,400 cells get no bits.
    table = make_table((10, 10, 12, 12, 1, 2), 20_000)
    source = MemoryCounts(table)
    cache = RowCache(source, BIC())
    for parents in ((1,), (1, 2, 3), (1, 2, 3, 4, 5)):
        expected = expected_row(BIC(), source, 0, parents)
        assert cache.row(0, parents).toggled == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("score", [BIC(), BDeu(3)], ids=lambda s: s.name)
def test_cells_of_few_rows(score):
    # Of 70,000 rows a cell has some thousands, some dozens or none, in two parts of the masks.
    rng = np.random.default_rng(3)
    rare = rng.choice(4, 70_000, p=[0.98, 0.015, 0.005, 0.0])
    columns = [rare, rng.permutation(rare), rng.integers(0, 3, rare.size), (rare + 1) % 4]
    table = Table(Schema.from_cards((4, 4, 3, 4)), np.array(columns))
    cache = RowCache(MemoryCounts(table), score)
    for child, parents in ((0, ()), (0, (1,)), (1, (0, 2)), (2, (0, 1)), (3, (0, 1))):
        other = RowCache(stream_of(table), score).row(child, parents)
        assert_same(cache.row(child, parents), other)


def test_more_than_64_variables():
    n = 131
    table = make_table((2,) * n, 150)
    source = MemoryCounts(table)
    cache = RowCache(source, BIC())
    rng = np.random.default_rng(0)
    families = [(int(o[0]), tuple(o[1:3].tolist())) for o in (rng.permutation(n) for _ in range(8))]
    families += [(0, (1,)), (0, (65,)), (0, (129,)), (0, (1, 65)), (64, (0, 128)), (64, (0, 63))]
    for child, parents in families:
        row = cache.row(child, parents)
        assert row.toggled == pytest.approx(expected_row(BIC(), source, child, parents), rel=1e-9)
    assert cache.n_filled == len(families)
    for child, parents in families:
        cache.row(child, parents)
    assert (cache.n_filled, cache.n_found) == (len(families), len(families))


def test_one_variable_and_one_row():
    table = Table(Schema.from_cards([3]), [[1]])
    for make in (MemoryCounts, stream_of):
        row = RowCache(make(table), BDeu()).row(0)
        assert row.score == pytest.approx(np.log(1 / 3))
        assert row.improving.size == 0


# ---- equal to the last bit -----------------------------------------------------------------------


@scores
@weightings
def test_a_stream_gives_the_same_rows(score, weights):
    table = make_table(weights=weights)
    parts = 1 if weights == "real" else 3
    fused = RowCache(MemoryCounts(table), score)
    streamed = RowCache(stream_of(table, parts), score)
    for child, parents in some_families(seed=3):
        assert_same(fused.row(child, parents), streamed.row(child, parents))


@pytest.mark.parametrize("name", ["k2-expert", "bdeu-number", "bic"])
def test_a_stream_gives_the_same_rows_for_many_parents(name):
    table = make_table((2,) * 12, 500)
    odds = np.random.default_rng(1).gamma(1.0, 1.0, (12, 12)) + 0.1
    score = K2(structure_prior=EdgeOdds(odds)) if name == "k2-expert" else SCORES[name]
    fused, streamed = RowCache(MemoryCounts(table), score), RowCache(stream_of(table), score)
    for child in range(12):
        others = [v for v in range(12) if v != child]
        for parents in (others[:9], others[1:], others[2:5]):
            assert_same(fused.row(child, parents), streamed.row(child, parents))


@scores
@pytest.mark.parametrize("weights", [None, "whole"])
@pytest.mark.parametrize("limits", [{}, {"max_cells": 13}, {"max_parents": 0}, {"max_cells": 2}])
def test_the_first_fill_gives_the_same_rows(score, weights, limits):
    table = make_table(weights=weights)
    for make in (MemoryCounts, stream_of):
        filled, lazy = (
            RowCache(make(table), score, **limits),
            RowCache(make(table), score, **limits),
        )
        filled.first_fill()
        assert filled.n_filled == N
        for child in range(N):
            if CARDS[child] <= filled.max_cells:
                assert_same(filled.row(child), lazy.row(child))
        assert filled.n_filled == N
        assert filled.n_found == lazy.n_filled > 2


def test_the_first_fill_keeps_rows_already_there():
    cache = RowCache(MemoryCounts(make_table()), BIC())
    cache.row(3)
    cache.first_fill()
    assert cache.n_filled == N


# ---- the store -----------------------------------------------------------------------------------


def random_walk(n, steps, seed):
    """A long walk over families, near each other and often visited again."""
    rng = np.random.default_rng(seed)
    parents = {c: set() for c in range(n)}
    for _ in range(steps):
        child = int(rng.integers(n))
        yield child, tuple(parents[child])
        y = int(rng.integers(n))
        if y != child:
            parents[child] ^= {y}
            if len(parents[child]) > 3:
                parents[child].pop()


@pytest.mark.parametrize("make", [MemoryCounts, stream_of])
def test_a_small_cache_forgets_and_stays_right(make):
    table = make_table((2, 3, 2, 4, 2, 3, 2, 2), 200)
    steps = 3000 if make is MemoryCounts else 400
    small = RowCache(make(table), BDeu(), memory=1)
    large = RowCache(MemoryCounts(table), BDeu())
    assert len(small.store.keys) == 64
    for child, parents in random_walk(8, steps, seed=0):
        assert_same(small.row(child, parents), large.row(child, parents))
    assert small.n_filled > large.n_filled > 64
    assert small.n_filled + small.n_found == steps
    assert small.n_found > 0


def test_a_forgotten_row_is_not_found():
    n = 100  # more children than the 64 slots
    cache = RowCache(MemoryCounts(make_table((2,) * n, 20)), BIC(), memory=1)
    for child in range(n):
        cache.row(child)
    for child in range(n - 64, n):
        cache.row(child)
    assert cache.n_filled == n
    cache.row(0)
    assert cache.n_filled == n + 1


def test_colliding_keys_find_their_own_rows():
    table = make_table((2, 3, 2, 4, 2, 3, 2, 2), 200)
    plain = RowCache(MemoryCounts(table), BIC())
    for memory in (1, 2**24):
        clash = RowCache(MemoryCounts(table), BIC(), memory=memory)
        clash.store.zobrist[:] = 0
        for child, parents in random_walk(8, 500, seed=1):
            assert_same(clash.row(child, parents), plain.row(child, parents))


def test_rows_handed_out_are_copies():
    cache = RowCache(MemoryCounts(make_table()), BIC())
    row = cache.row(0)
    row.toggled[:] = 0.0
    row.improving[:] = 0
    assert cache.row(0).score < 0
    assert len(set(cache.row(0).improving.tolist())) == len(row.improving)


def test_an_interrupted_fill_leaves_no_row_behind(monkeypatch):
    table = make_table()
    cache, plain = RowCache(stream_of(table), BIC()), RowCache(MemoryCounts(table), BIC())

    def interrupt(*args, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(StreamCounts, "map_reduce", interrupt)
        with pytest.raises(KeyboardInterrupt):
            cache.row(0, (1,))
        with pytest.raises(KeyboardInterrupt):
            cache.first_fill()
    assert_same(cache.row(0, (1,)), plain.row(0, (1,)))
    for child in range(N):
        assert_same(cache.row(child), plain.row(child))


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [MemoryCounts, stream_of])
def test_missing_cells_are_refused(make):
    codes = random_codes((2, 3, 2), 100, 0, missing=0.1)
    codes[2] %= 2
    table = Table(Schema.from_cards([2, 3, 2]), codes)
    with raises(DataError, about="'x1'"):
        RowCache(make(table), BIC()).first_fill()
    with raises(DataError, about="'x1'"):
        RowCache(make(table), BIC()).row(0)
    source = make(table)
    source.counts([()])  # its size is known now
    with raises(DataError, about="'x1'"):
        RowCache(source, BIC()).first_fill()


@pytest.mark.parametrize(
    ("child", "parents"),
    [(N, ()), (-1, ()), (0, (0,)), (0, (1, 1)), (0, (1, N)), (0, (-1,))],
)
def test_impossible_families_are_refused(child, parents):
    cache = RowCache(MemoryCounts(make_table()), BIC())
    with pytest.raises(ScopeError, match=str(child if not parents else parents[-1])):
        cache.row(child, parents)


def test_a_negative_number_of_parents_is_refused():
    with raises(ParameterError, parameter="max_parents", value=-1):
        RowCache(MemoryCounts(make_table()), BIC(), max_parents=-1)


def test_all_families_of_a_small_table():
    table = make_table((2, 3, 2, 2), 100)
    source = MemoryCounts(table)
    cache = RowCache(source, K2())
    for child in range(4):
        others = [v for v in range(4) if v != child]
        for k in range(4):
            for parents in itertools.combinations(others, k):
                expected = expected_row(K2(), source, child, parents)
                assert cache.row(child, parents).toggled == pytest.approx(expected, rel=1e-9)


@scores
@weightings
def test_rows_hold_the_scores_of_their_families(score, weights):
    source = MemoryCounts(make_table(weights=weights))
    cache = RowCache(source, score)
    for child, parents in some_families():
        row = cache.row(child, parents)
        expected = expected_row(score, source, child, parents)
        assert row.toggled == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert row.score == row.toggled[child]
