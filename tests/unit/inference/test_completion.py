"""Completions of rows, against sums over every way to complete them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import counterpane as cp
from counterpane.data import Schema, Table
from counterpane.errors import TableSizeError
from counterpane.graphs import Dag
from counterpane.inference.completion import Completion
from counterpane.learners.bayesian.structural_em import completed_rows
from counterpane.progress import Control, Stopped
from error_checks import raises
from reference.completion_reference import completions, expected_counts

CARDS = [2, 3, 2, 2, 1, 3]
DAG = Dag(6, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 5), (4, 5)])
PARENTS = [DAG.parents(i) for i in range(6)]


def network(seed=0, floor=0.0):
    rng = np.random.default_rng(seed)
    shapes = [tuple(CARDS[p] for p in PARENTS[i]) for i in range(6)]
    tables = [rng.dirichlet(np.ones(CARDS[i]), shape) + floor for i, shape in enumerate(shapes)]
    tables = [t / t.sum(axis=-1, keepdims=True) for t in tables]
    return cp.BayesianNetwork(Schema.from_cards(CARDS), DAG, tables)


def with_gaps(table, share, seed):
    holes = np.random.default_rng(seed).random(table.codes.shape) < share
    codes = np.where(holes, table.schema.cards[:, None], table.codes)
    return Table(table.schema, codes, table.weights)


def logs_of(model):
    return [p.log_values for p in model.to_potentials()]


def make(model, codes, **options):
    scopes = [p.scope for p in model.to_potentials()]
    return Completion(scopes, model.schema.cards, codes, model.schema.names, **options)


# ---- expected counts of families -----------------------------------------------------------------


def test_numbers_too_small_for_floats_are_logs():
    """Forty rare events in a row: their product is far below the smallest float."""
    n = 40
    dag = Dag(n, [(i, i + 1) for i in range(n - 1)])
    rare = [[1.0 - 1e-12, 1e-12], [1.0 - 1e-12, 1e-12]]
    model = cp.BayesianNetwork(Schema.from_cards([2] * n), dag, [rare[0], *[rare] * (n - 1)])
    codes = np.ones((n, 2), dtype=np.int64)
    codes[::2, 0] = 2
    scopes = [p.scope for p in model.to_potentials()]
    completion = Completion(scopes, model.schema.cards, codes)
    expected, log_weights = completion.expected(logs_of(model), np.ones(2))
    assert log_weights[1] == pytest.approx(40 * np.log(1e-12))
    assert log_weights[0] == pytest.approx(20 * np.log(1e-12))
    assert expected.sum() == pytest.approx(2 * n)
    drawn, again = completion.draws(logs_of(model), 3, 0)
    assert again.tolist() == log_weights.tolist()
    assert drawn[0].tolist() == [0, 0, 0, 1, 1, 1]


def test_small_numbers_are_noticed_where_they_are():
    """Two groups of pairs, taken in turns: the product of one group alone is too small."""
    cards = np.full(24, 2)
    pairs = [list(combinations(range(k, k + 12), 2)) for k in (0, 12)]
    scopes = [scope for both in zip(*pairs, strict=True) for scope in both]
    rare = [np.array([[0.0, -15.0], [-15.0, -15.0]]), np.zeros((2, 2))]
    codes = np.ones((24, 1), dtype=np.int64)
    codes[[5, 17]] = 2
    expected, log_weights = Completion(scopes, cards, codes).expected(rare * 66, np.ones(1))
    assert log_weights[0] == pytest.approx(-15 * 66 + 2 * np.log(2))
    assert expected.sum() == pytest.approx(2 * 66)


def test_an_impossible_row_is_told_and_adds_nothing():
    schema, dag = Schema.from_cards([2, 2]), Dag(2, [(0, 1)])
    model = cp.BayesianNetwork(schema, dag, [[1.0, 0.0], [[1.0, 0.0], [0.5, 0.5]]])
    completion = Completion([(0,), (0, 1)], schema.cards, np.array([[2, 2], [1, 0]]))
    expected, log_weights = completion.expected(logs_of(model), np.ones(2))
    assert log_weights.tolist() == [-np.inf, 0.0]
    assert expected.tolist() == [1.0, 0.0, 1.0, 0.0, 0.0, 0.0]


def test_a_stop_is_heard_between_blocks(monkeypatch):
    monkeypatch.setattr("counterpane.inference.completion.BLOCK_ROWS", 5)
    model = network()
    codes = with_gaps(model.sample(50, random_state=4), 0.4, seed=5).codes
    ctl = Control()
    ctl.cancel()
    for n_jobs in (1, 2):
        with pytest.raises(Stopped):
            make(model, codes, n_jobs=n_jobs).expected(logs_of(model), np.ones(50), ctl=ctl)


def test_what_a_row_shows_makes_a_wide_network_narrow():
    """All of 40 causes of one effect: refused if they are missing at once, answered if one is."""
    n = 40
    schema = Schema.from_cards([2] * n)
    clique = [tuple(sorted(pair)) for pair in combinations(range(n), 2)]
    one_gap = np.zeros((n, 3), dtype=np.int64)
    one_gap[[3, 17, 39], [0, 1, 2]] = 2
    completion = Completion(clique, schema.cards, one_gap)
    tables = [np.zeros((2, 2))] * len(clique)
    assert completion.expected(tables, np.ones(3))[1] == pytest.approx(np.full(3, np.log(2)))
    with raises(TableSizeError, about="39"):
        Completion(clique, schema.cards, np.full((n, 1), 2), schema.names)


# ---- draws ---------------------------------------------------------------------------------------


def test_a_single_gap_is_drawn_in_its_shares():
    """Stratified: no state is off by more than one draw."""
    model = network(10)
    rows = model.sample(30, random_state=11).codes.astype(np.int64)
    rows[5] = 3
    n = 16
    drawn = make(model, rows).draws(logs_of(model), n, seed=0)[0].reshape(6, 30, n)
    shares = model.query_many("x5", Table(model.schema, rows)).probabilities
    for r in range(30):
        counts = np.bincount(drawn[5, r], minlength=3)
        assert np.abs(counts - n * shares[r]).max() < 1.0 + 1e-9


def test_draws_depend_on_the_seed_alone():
    model = network()
    codes = with_gaps(model.sample(50, random_state=12), 0.5, seed=13).codes
    draw = make(model, codes).draws
    a, b, c = (draw(logs_of(model), 4, seed)[0] for seed in (1, 1, 2))
    assert a.tobytes() == b.tobytes() != c.tobytes()


# ---- completed rows ------------------------------------------------------------------------------


def test_few_ways_are_all_taken_so_that_every_count_is_exact():
    model = network(14)
    table = with_gaps(model.sample(60, random_state=15), 0.3, seed=16)
    weights = np.random.default_rng(17).random(60) + 0.1
    rows = completed_rows(table.reweighted(weights), model, most=72, seed=0)
    assert not rows.has_missing.any()
    source = cp.MemoryCounts(rows)
    tables = [np.asarray(t) for t in model.tables]
    for scope in [*combinations(range(6), 2), (1, 3, 5), (0, 1, 2, 3)]:
        counts = source.counts([scope])[0]
        given = table.codes, weights, CARDS, PARENTS, tables, scope
        np.testing.assert_allclose(counts, expected_counts(*given), atol=1e-10)


def test_many_ways_are_drawn():
    model = network(18, floor=0.1)
    table = with_gaps(model.sample(3000, random_state=19), 0.5, seed=20)
    exact, drawn = (completed_rows(table, model, most=m, seed=0) for m in (72, 4))
    assert drawn.total_weight == pytest.approx(3000)
    for scope in combinations(range(6), 2):
        a, b = (cp.MemoryCounts(rows).counts([scope])[0] for rows in (exact, drawn))
        assert np.abs(a - b).max() < 30  # of 3000; complete-case counts are far off
    again, other = (completed_rows(table, model, most=4, seed=s) for s in (0, 1))
    assert again.weights.tobytes() == drawn.weights.tobytes()
    assert other.weights.tobytes() != drawn.weights.tobytes()


def test_a_row_that_occurs_often_gets_more():
    model = network(22)
    row = Table(model.schema, [[c] for c in CARDS], [9])  # 72 ways, nine times eight
    rows = completed_rows(row, model, most=8, seed=0)
    assert (rows.n_rows, rows.total_weight) == (72, pytest.approx(9.0))
    shares = np.exp(model.score_samples(rows))
    np.testing.assert_allclose(rows.weights, 9 * shares, rtol=1e-10)
    fewer = completed_rows(row.reweighted([8]), model, most=8, seed=0)
    assert fewer.n_rows <= 64
    assert fewer.total_weight == pytest.approx(8.0)


def family_reference(model, table, weights):
    tables = [np.asarray(t) for t in model.tables]
    each = [
        expected_counts(table.codes, weights, CARDS, PARENTS, tables, (*PARENTS[i], i))
        for i in range(6)
    ]
    return np.concatenate([t.ravel() for t in each])


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_expected_counts_equal_enumeration(share):
    model = network()
    table = with_gaps(model.sample(40, random_state=1), share, seed=2)
    weights = np.random.default_rng(3).random(40) + 0.5
    expected, log_weights = make(model, table.codes).expected(logs_of(model), weights)
    np.testing.assert_allclose(expected, family_reference(model, table, weights), atol=1e-12)
    tables = [np.asarray(t) for t in model.tables]
    for row, log_weight in zip(table.codes.T, log_weights, strict=True):
        assert log_weight == pytest.approx(np.log(completions(row, CARDS, PARENTS, tables)[1]))


def test_draws_follow_the_distribution_given_the_row():
    model = network(6)
    tables = [np.asarray(t) for t in model.tables]
    codes = with_gaps(model.sample(5, random_state=7), 0.7, seed=8).codes
    n = 20_000
    drawn = make(model, codes).draws(logs_of(model), n, seed=9)[0].reshape(6, 5, n)
    for r in range(5):
        for full, p in completions(codes[:, r], CARDS, PARENTS, tables)[0]:
            seen = (drawn[:, r] == np.array(full)[:, None]).all(axis=0).mean()
            assert seen == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / n) + 1e-9)
        shown = codes[:, r] < np.array(CARDS)
        assert (drawn[shown, r] == codes[shown, r][:, None]).all()
