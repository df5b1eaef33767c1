"""The kernels of posteriors over networks beside their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counterpane._core import bayesian
from reference.core_posterior import (
    Candidates,
    drawn,
    log_sum,
    set_terms,
    subsets,
    sum_over_orders,
)
from reference.posterior_reference import brute_force, squeezed

LIKELIHOOD, EQUIVALENT, CONSTANT = 0, 1, 2
LN2 = math.log(2.0)


def close(value):
    return pytest.approx(value, rel=1e-9, abs=1e-9)


def walkable(seed, n=5, k=3, max_parents=2):
    """Random tables of candidates, as the kernels take them and as lists."""
    rng = np.random.default_rng(seed)
    candidates = np.array(
        [np.sort(rng.permutation(np.delete(np.arange(n), i))[:k]) for i in range(n)]
    )
    bits = np.zeros((n, n), np.int64)
    for i, row in enumerate(candidates):
        bits[i, row] = 1 << np.arange(k)
    sets = np.array([m for m in range(2**k) if m.bit_count() <= max_parents])
    scores = np.full((n, 2**k), -np.inf)
    scores[:, sets] = rng.normal(0.0, 2.0, (n, len(sets)))
    sums = scores.copy()
    for row in sums:
        bayesian.log_sum_subsets(row)
    ranked = sets[np.argsort(-scores[:, sets], axis=1, kind="stable")]
    naive = Candidates(candidates.tolist(), sets.tolist(), scores.tolist())
    return rng, bayesian.Tables(candidates, bits, ranked, scores, sums), naive


def test_log_sum_subsets():
    logs = np.random.default_rng(0).normal(0.0, 5.0, 16)
    logs[[0, 3, 5]] = -np.inf
    sums = logs.copy()
    bayesian.log_sum_subsets(sums)
    for mask in range(16):
        assert sums[mask] == close(log_sum([logs[m] for m in subsets(mask)]))


@pytest.mark.parametrize("seed", range(8))
def test_walk_orders(seed):
    """One move drawn from its conditional; then the score and the edges of the order."""
    n = 5
    rng, tables, naive = walkable(seed)
    order, uniforms = rng.permutation(n), rng.random((1, 1, 2))
    before = order.tolist()
    edges, log_scores = np.ones((n, 3)), np.empty(1)
    bayesian.walk_orders(tables, order, uniforms, edges, log_scores)
    node = before.pop(int(uniforms[0, 0, 0] * n))
    orders = [[*before[:q], node, *before[q:]] for q in range(n)]
    scores = [naive.order_score(o) for o in orders]
    after = drawn(orders, scores, uniforms[0, 0, 1])
    assert order.tolist() == after
    assert log_scores[0] == close(naive.order_score(after))
    for q, i in enumerate(after):
        shares = np.array(naive.shares(i, after[:q]))
        assert edges[i] == close(1 + shares)


@pytest.mark.parametrize("seed", range(8))
def test_draw_by_order(seed):
    rng, tables, naive = walkable(seed)
    order, uniforms, chosen = rng.permutation(5), rng.random(5), np.empty(5, np.int64)
    bayesian.draw_by_order(tables, order, uniforms, chosen)
    for q, i in enumerate(order.tolist()):
        masks = naive.inside(i, order[:q].tolist())
        masks.sort(key=naive.scores[i].__getitem__, reverse=True)
        assert chosen[i] == drawn(masks, [naive.scores[i][m] for m in masks], uniforms[i])


def layers_of(parents):
    """The longest path to each node, where the parents of node i are listed."""
    layer = [0] * len(parents)
    for _ in parents:
        layer = [max((layer[p] + 1 for p in own), default=0) for own in parents]
    return layer


def network_of(tables, chosen):
    return [
        [int(j) for c, j in enumerate(own) if mask >> c & 1]
        for own, mask in zip(tables.candidates, chosen.tolist(), strict=True)
    ]


def some_layers(rng, tables):
    """The layers of a network drawn from a random order."""
    n = len(tables.candidates)
    chosen, layer = np.empty(n, np.int64), np.full(n, 7)
    bayesian.draw_by_order(tables, rng.permutation(n), rng.random(n), chosen)
    bayesian.fill_layers(tables.candidates, chosen, layer)
    return chosen, layer


@pytest.mark.parametrize("seed", range(8))
def test_fill_layers(seed):
    rng, tables, _ = walkable(seed)
    chosen, layer = some_layers(rng, tables)
    assert layer.tolist() == layers_of(network_of(tables, chosen))


@pytest.mark.parametrize("seed", range(8))
def test_draw_by_layers(seed):
    rng, tables, naive = walkable(seed)
    _, layer = some_layers(rng, tables)
    uniforms, chosen = rng.random(5), np.empty(5, np.int64)
    bayesian.draw_by_layers(tables, layer, uniforms, chosen)
    for i in range(5):
        masks = naive.inside(i, *naive.allowed_by(layer, i))
        masks.sort(key=naive.scores[i].__getitem__, reverse=True)
        assert chosen[i] == drawn(masks, [naive.scores[i][m] for m in masks], uniforms[i])


@pytest.mark.parametrize("turns", [0, 1, 6])
@pytest.mark.parametrize("seed", range(5))
def test_walk_layers(seed, turns):
    """The score and the edges of the partition; what it converges to: test_order_mcmc.py."""
    n = 5
    rng, tables, naive = walkable(seed)
    _, layer = some_layers(rng, tables)
    edges, log_scores = np.zeros((n, 3)), np.empty(1)
    uniforms = rng.random((1, 9 * n + 4 + 114 * turns))
    bayesian.walk_layers(tables, layer, uniforms, edges, log_scores)
    assert set(layer.tolist()) == set(range(layer.max() + 1))
    weights = [naive.log_weight(i, *naive.allowed_by(layer, i)) for i in range(n)]
    assert log_scores[0] == close(math.fsum(weights))
    for i in range(n):
        shares = np.array(naive.shares(i, *naive.allowed_by(layer, i)))
        assert edges[i] == close(shares)


@pytest.mark.parametrize("kind", [LIKELIHOOD, EQUIVALENT, CONSTANT])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("max_size", [0, 2, 4])
def test_fill_terms(kind, whole, max_size):
    rng = np.random.default_rng(1)
    cards = np.array([2, 3, 1, 4])
    codes = np.array([rng.integers(0, r, 30) for r in cards], np.uint32)
    weights = rng.integers(0, 40, 30).astype(np.float64) if whole else 90 * rng.random(30)
    ranks = np.unique(cards)
    logs = np.array([0.0, *(c * math.log(c) for c in range(1, 50))])
    terms = np.full((5, 16), -7.0)
    for prefix in range(4):
        bayesian.fill_terms(
            codes, weights, cards, 2, prefix, max_size, kind, 1.5, ranks, logs, terms
        )
    for mask in range(16):
        members = [v for v in range(4) if mask >> v & 1]
        if len(members) > max_size:
            assert (terms[:, mask] == -7.0).all()
            continue
        alpha = {LIKELIHOOD: None, EQUIVALENT: 1.5 / np.prod(cards[members]), CONSTANT: 1.5}[kind]
        assert terms[0, mask] == close(set_terms(codes, weights, members, alpha))
        if kind == CONSTANT:
            expected = [set_terms(codes, weights, members, 1.5 * r) for r in ranks]
            assert terms[1:, mask] == close(expected)


@pytest.mark.parametrize("kind", [LIKELIHOOD, EQUIVALENT, CONSTANT])
def test_fill_families(kind):
    rng = np.random.default_rng(2)
    cards = np.array([2, 3, 1, 4])
    whole, parents = rng.normal(size=16), rng.normal(size=16)
    by_count, by_edge = rng.normal(size=4), rng.normal(size=4)
    for child in range(4):
        out = np.empty(8)
        bayesian.fill_families(
            whole, parents, cards, child, 2, kind, 0.7, by_count, by_edge, -0.2, out
        )
        for mask in range(16):
            members = [v for v in range(4) if mask >> v & 1]
            if child in members:
                continue
            expected = whole[mask | 1 << child] - parents[mask] + by_count[len(members)]
            expected += by_edge[members].sum()
            parameters = np.prod(cards[members]) * (cards[child] - 1)
            expected -= (0.9 if kind == LIKELIHOOD else 0.2) * parameters
            expected = expected if len(members) <= 2 else -np.inf
            assert out[squeezed(mask, child)] == close(expected)


def alpha_of(scores):
    alpha = bayesian.Alpha(np.empty_like(scores), np.empty(scores.shape, np.int64))
    for row, value, exponent in zip(scores, *alpha, strict=True):
        bayesian.sum_subsets(row, value, exponent)
    return alpha


@pytest.mark.parametrize("offset", [0.0, -3e3, -5e9, 2e12])
def test_sum_subsets(offset):
    """Sums far beyond what a double or an exponent of 32 bits holds."""
    scores = np.random.default_rng(3).normal(0.0, 40.0, (1, 16)) + offset
    scores[0, [1, 6]] = -np.inf
    value, exponent = alpha_of(scores)
    for mask in range(16):
        expected = log_sum([scores[0, m] - offset for m in subsets(mask)])
        got = math.log(value[0, mask]) + (int(exponent[0, mask]) * LN2 - offset)
        assert 0.999 < value[0, mask] < 2.0  # below 1 where large scores are rounded
        assert got == pytest.approx(expected, abs=1e-9 + 1e-14 * abs(offset))


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_sums_over_orders(scale):
    scores = np.random.default_rng(4).normal(-700.0, scale, (4, 8))
    alpha = alpha_of(scores)
    out = np.empty(16)
    bayesian.sum_orders(alpha, out)

    def log_alpha(i, before):
        mask = squeezed(sum(1 << j for j in before), i)
        return log_sum([scores[i, m] for m in subsets(mask)])

    for mask in range(16):
        members = [v for v in range(4) if mask >> v & 1]
        assert out[mask] == close(sum_over_orders(log_alpha, members))
    total, shares, _ = brute_force(scores, by_order=True)
    assert out[-1] == close(total)
    backward, edges, at = np.zeros(16), np.zeros((4, 4)), 15
    while at >= 0:
        at = bayesian.weigh_orders(alpha, out, at, 50, backward, edges)
    assert backward[0] == close(total)
    assert edges == close(shares + np.eye(4))


@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("budget", [1, 20, 10**6])
def test_sums_over_networks(scale, budget):
    scores = np.random.default_rng(5).normal(-700.0, scale, (4, 8))
    alpha = alpha_of(scores)
    orders = np.empty(16)
    bayesian.sum_orders(alpha, orders)
    units = np.floor(orders / LN2).astype(np.int64)
    forward, at, n_calls = np.zeros(16), 0, 0
    forward[0] = 1.0
    while at < 16:
        at, n_calls = bayesian.sum_networks(alpha, units, at, budget, forward), n_calls + 1
    assert (n_calls > 1) == (budget < 100)
    total, shares, _ = brute_force(scores)
    assert math.log(forward[-1]) + units[-1] * LN2 == close(total)
    backward, edges, at = np.zeros(16), np.zeros((4, 4)), 15
    backward[-1] = 1.0 / forward[-1]
    while at >= 0:
        at = bayesian.weigh_networks(alpha, units, forward, at, budget, backward, edges)
    assert edges == close(shares + np.eye(4))


def test_best_network():
    scores = np.random.default_rng(6).normal(size=(4, 8))
    best = scores.copy()
    for row, raised in zip(scores, best, strict=True):
        bayesian.best_subsets(raised)
        assert raised.tolist() == [max(row[m] for m in subsets(mask)) for mask in range(8)]
    score = np.empty(16)
    bayesian.best_of_sets(best, score)
    assert score[-1] == close(brute_force(scores)[2])
    for mask in range(1, 16):
        rests = {i: mask ^ 1 << i for i in range(4) if mask >> i & 1}
        totals = {i: score[rest] + best[i, squeezed(rest, i)] for i, rest in rests.items()}
        assert score[mask] == max(totals.values())
