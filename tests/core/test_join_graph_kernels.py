"""The kernels of approximations beside enumeration: clusters, bounds, cuts, and found rows."""

from __future__ import annotations

import numpy as np
import pytest

from core.test_exact_answer import random_network
from counterpane._core import inference
from counterpane.ragged import flatten, join, offsets_of
from reference import core_inference

LARGE = 2.0**20


def factor_list(cards, tables):
    logs, value_from = join([t.reshape(-1) for _, t in tables], np.float64)
    scope_from = offsets_of(len(scope) for scope, _ in tables)
    return inference.FactorList(cards, scope_from, flatten(s for s, _ in tables), value_from, logs)


def planned(factors, evidence):
    """(order, cells; −1 variables if no row is possible)."""
    order, report = np.zeros_like(factors.cards), np.zeros(3)
    n = inference.plan_order(factors, evidence, 1e6, 1.0, order, report)
    return order[: max(n, 0)], n, report


def propagate(factors, evidence, order, most, iterations=50, best=None):
    """(whether a row is possible, beliefs, report); the best row goes to `best`."""
    out, report = np.zeros(int(factors.cards.sum())), np.zeros(inference.JOIN_ENTRIES)
    row = np.zeros_like(factors.cards) if best is None else best
    maximize = best is not None
    possible = inference.propagate_clusters(
        factors, evidence, order, most, iterations, 0.0, 1e-12, maximize, out, row, report
    )
    return possible, out, report


@pytest.fixture(params=range(60))
def case(request):
    rng = np.random.default_rng(request.param)
    cards, tables = random_network(rng)
    tables = [(s, np.clip(t, -100, 100) if np.isfinite(t).all() else t) for s, t in tables]
    evidence = np.full(cards.size, -1)
    if rng.random() < 0.5:
        v = int(rng.integers(cards.size))
        evidence[v] = rng.integers(cards[v])
    logs = core_inference.log_joint(cards, tables, evidence)
    return factor_list(cards, tables), evidence, logs


def test_bounds_hold_and_are_exact_without_division(case):
    factors, evidence, logs = case
    order, n, _ = planned(factors, evidence)
    top = logs.max()
    total = top + np.log(np.exp(logs - top).sum()) if top > -np.inf else -np.inf
    for maximize, value in ((False, total), (True, top)):
        exact = inference.bound_weight(factors, evidence, order, LARGE, maximize)
        loose = inference.bound_weight(factors, evidence, order, 2.0, maximize)
        if value == -np.inf:
            assert n < 0 or exact == -np.inf
        else:
            np.testing.assert_allclose(exact, value, rtol=1e-9, atol=1e-9)
            assert loose >= value - 1e-9 * max(1, abs(value))


def test_clusters_that_are_not_divided_are_exact(case):
    factors, evidence, logs = case
    order, n, _ = planned(factors, evidence)
    top = logs.max()
    if top == -np.inf or n < 0:
        return
    p = np.exp(logs - top)
    p /= p.sum()
    if p[p > 0].min() < 1e-100:
        return
    possible, out, report = propagate(factors, evidence, order, LARGE)
    assert possible and 0 <= report[2] < 1e-9
    start = 0
    for v, card in enumerate(factors.cards):
        expected = p.sum(axis=tuple(u for u in range(p.ndim) if u != v))
        np.testing.assert_allclose(out[start : start + card], expected, atol=1e-8)
        start += card
    np.testing.assert_allclose(report[3], top + np.log(np.exp(logs - top).sum()), rtol=1e-7)


def test_the_best_row_of_clusters_that_are_not_divided(case):
    factors, evidence, logs = case
    order, n, _ = planned(factors, evidence)
    top = logs.max()
    spread = logs[logs > -np.inf]
    if n < 0 or not spread.size or spread.min() < top - 200:
        return
    best = np.zeros_like(factors.cards)
    propagate(factors, evidence, order, LARGE, best=best)
    np.testing.assert_allclose(logs[tuple(best)], top, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("most", [0.0, 4.0])
def test_beliefs_are_distributions_however_small_the_clusters(case, most):
    factors, evidence, logs = case
    order, n, _ = planned(factors, evidence)
    possible, out, _ = propagate(factors, evidence, order, most)
    assert possible == (n >= 0)
    if possible and logs.max() > -np.inf:
        ends = np.cumsum(factors.cards)
        sums = [part.sum() for part in np.split(out, ends[:-1])]
        np.testing.assert_allclose(sums, 1.0)
        assert np.isfinite(out).all()


def test_a_row_is_found_wherever_there_is_one(case):
    factors, evidence, logs = case
    beliefs = np.repeat(1.0 / factors.cards, factors.cards)
    for noise in (False, True):
        codes = np.zeros_like(factors.cards)
        outcome = inference.find_solution(factors, evidence, beliefs, 5, noise, 1000, codes)
        assert outcome == int(logs.max() > -np.inf)
        if outcome:
            assert logs[tuple(codes)] > -np.inf


def test_cut_columns_leave_little(case):
    factors, evidence, _ = case
    order, n, report = planned(factors, evidence)
    if n < 1:
        return
    cut = np.zeros_like(factors.cards)
    k = inference.cut_columns(factors, evidence, order, 4.0, cut)
    assert set(cut[:k]) <= set(order) and len(set(cut[:k])) == k
    assert k > 0 or report[0] <= 4.0


def test_search_backtracks_out_of_a_pigeonhole():
    """Five columns of four states, all different: no row; of five states: a permutation."""
    for states, expected in ((4, 0), (5, 1)):
        cards = np.full(5, states)
        differ = np.where(np.eye(states, dtype=bool), -np.inf, 0.0)
        tables = [((a, b), differ) for a in range(5) for b in range(a)]
        factors = factor_list(cards, tables)
        codes = np.zeros(5, dtype=np.int64)
        beliefs = np.full(5 * states, 1 / states)
        none = np.full(5, -1)
        outcome = inference.find_solution(factors, none, beliefs, 0, False, 100_000, codes)
        assert outcome == expected
    assert sorted(codes) == list(range(5))


def test_order_graph_is_a_permutation_that_costs_what_it_says():
    rng = np.random.default_rng(3)
    for n in (1, 7, 70):
        cards = rng.integers(2, 4, n)
        joined = np.triu(rng.random((n, n)) < 3 / n, 1)
        joined |= joined.T
        rows = np.zeros((n, (n + 63) // 64), dtype=np.uint64)
        for a, b in np.argwhere(joined).tolist():
            rows[a, b // 64] |= np.uint64(1) << np.uint64(b % 64)
        order = np.zeros(n, dtype=np.int64)
        total = inference.order_graph(rows, cards, 1e6, 10.0, order)
        assert sorted(order) == list(range(n))
        around, cells = [set(np.flatnonzero(row)) for row in joined], 0.0
        for v in order:
            cells += np.prod([float(cards[u]) for u in (*around[v], v)])
            for u in around[v]:
                around[u] = (around[u] | around[v]) - {u, v}
        np.testing.assert_allclose(total, cells)


def test_temper():
    """Means along the chain beside enumeration; nothing where a row is impossible."""
    rng = np.random.default_rng(0)
    cards, scopes = np.array([2, 3, 2]), [(0, 1), (1, 2), (0, 2)]
    tables = [(np.array(s), rng.normal(size=cards[list(s)])) for s in scopes]
    evidence, means = np.array([-1, -1, 1]), np.zeros((20, 7))
    n_powers = inference.temper(factor_list(cards, tables), evidence, 7, 1e7, means)
    p = np.exp(tables[0][1] + tables[1][1][None, :, 1] + tables[2][1][:, 1, None])
    p /= p.sum()
    found = means.mean(axis=0)
    assert n_powers > 0
    assert found[:5] == pytest.approx([*p.sum(axis=1), *p.sum(axis=0)], abs=0.01)
    tables[0][1][0, 0] = -np.inf
    assert inference.temper(factor_list(cards, tables), evidence, 7, 1e7, means) == 0
