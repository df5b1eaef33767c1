"""Shared tables: the same counts as the source, fewer of them counted."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import counterpane as cp
from counterpane.counts import MemoryCounts
from counterpane.counts import shared_tables as module
from counterpane.counts.shared_tables import SharedTables, pair_blocks, table_scopes
from counterpane.data import Schema, Table

CARDS = [2, 3, 2, 4, 2, 2, 3]


def some_source(*, missing=False, weights=None):
    rng = np.random.default_rng(0)
    codes = np.array([rng.integers(0, r, 300) for r in CARDS])
    if missing:
        codes[1, :40] = CARDS[1]
        codes[4, 20:90] = CARDS[4]
    return MemoryCounts(Table(Schema.from_cards(CARDS), codes, weights))


def random_scopes(size=60):
    rng = np.random.default_rng(1)
    return [rng.permutation(len(CARDS))[: rng.integers(1, 6)].tolist() for _ in range(size)]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 300)])
@pytest.mark.parametrize("max_cells", [None, 24])
def test_counts_are_those_of_the_source(missing, weights, max_cells):
    source = some_source(missing=missing, weights=weights)
    shared = SharedTables(source)
    if max_cells:
        shared.count_blocks(max_cells)
    for part in (random_scopes()[:30], random_scopes()[30:]):
        for ours, theirs in zip(shared.counts(part), source.counts(part), strict=True):
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_tables_above_the_limit_come_sparse():
    source = some_source()
    batch = SharedTables(source).counts([(0, 1), (0, 1, 2, 3)], max_cells=20)
    assert not batch.is_sparse(0) and batch.is_sparse(1)
    expected = source.counts([(0, 1, 2, 3)], max_cells=20).sparse(0)
    assert (batch.sparse(1).values == expected.values).all()


def test_a_table_within_another_is_not_counted():
    shared = SharedTables(some_source())
    shared.counts([(2, 0, 1)])
    shared.counts([(0, 1), (1, 2), (2,)])
    assert shared.scopes == [(0, 1, 2)]
    shared.counts([(0, 4), (0, 4, 5)])
    assert shared.scopes == [(0, 1, 2), (0, 4, 5)]


def test_forgotten_tables_are_counted_again(monkeypatch):
    monkeypatch.setattr(module, "MOST_CELLS_TOGETHER", 60)
    source = some_source()
    shared = SharedTables(source)
    for scope in random_scopes():
        assert (shared.counts([scope])[0] == source.counts([scope])[0]).all()


def test_large_tables_are_not_kept(monkeypatch):
    monkeypatch.setattr(module, "MOST_CELLS", 12)
    source = some_source()
    shared = SharedTables(source)
    tables = shared.counts([(0, 1, 3), (0, 2), (3, 6)])
    for ours, theirs in zip(tables, source.counts([(0, 1, 3), (0, 2), (3, 6)]), strict=True):
        assert (ours == theirs).all()
    shared.counts([(0, 1, 3)])
    assert shared.scopes.count((0, 1, 3)) == 2


@pytest.mark.parametrize(
    ("n", "card", "max_cells", "cost", "n_blocks"),
    [(16, 2, 64, 70, 14), (20, 2, 64, 110, 23), (20, 2, 256, 80, 11), (20, 4, 64, 216, 74),
     (5, 9, 64, 20, 10), (1, 2, 64, 0, 0)],
)  # fmt: skip
def test_blocks_hold_every_pair(n, card, max_cells, cost, n_blocks):
    blocks = pair_blocks(np.full(n, card), max_cells)
    assert {pair for block in blocks for pair in combinations(block, 2)} == set(
        combinations(range(n), 2)
    )
    assert all(card ** len(block) <= max(max_cells, card**2) for block in blocks)
    assert (sum(map(len, blocks)), len(blocks)) == (cost, n_blocks)


@pytest.mark.parametrize(
    ("learner", "options"),
    [
        (learner, options)
        for learner in (cp.GSMN, cp.GSIMN, cp.PFMN)
        for options in ({}, {"table_cells": None}, {"variant": "paper"})
        if options.keys() <= learner().get_params().keys()
    ]
    + [(cp.ParticleFilterMN, {})],
)
def test_reported_tables_are_those_that_were_counted(learner, options, monkeypatch):
    made = []
    first = SharedTables.__init__

    def remember(self, source):
        made.append(self)
        first(self, source)

    monkeypatch.setattr(SharedTables, "__init__", remember)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (8, 1000))
    for i in range(1, 8):
        codes[i] = np.where(rng.random(1000) < 0.3, codes[i], codes[i // 2])
    if learner in (cp.PFMN, cp.ParticleFilterMN):
        options = options | {"random_state": 0}
    found = learner(potentials=False, **options).fit(Table(Schema.from_cards([2] * 8), codes))
    assert found.n_tables_ == len(made[0].scopes)
    assert found.table_cost_ == sum(map(len, made[0].scopes)) <= found.cost_


def test_the_order_of_questions_decides_what_is_new():
    tests = [(0, 1, (2,)), (0, 1, ()), (1, 2, (3,))]
    assert table_scopes(tests, np.full(4, 2)) == [(0, 1, 2), (1, 2, 3)]
    assert table_scopes(tests, np.full(4, 2), [(0, 1, 2, 3)]) == [(0, 1, 2, 3)]
