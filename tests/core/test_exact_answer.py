"""The kernels of exact answers beside enumeration: plans, and all tasks under limits of memory."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane._core import inference
from counterpane.ragged import flatten, join, offsets_of
from reference import core_inference

WEIGHT, MARGINALS, JOINT, BEST = range(4)


def random_network(rng):
    """(cards, tables of logs): zeros, constant axes, bijections, ranges beyond that of a float."""
    n = int(rng.integers(3, 9))
    cards = rng.integers(1, 4, n) + (rng.random(n) < 0.3)
    zeros, stretch = 0.6 * rng.random(), rng.choice([1.0, 1.0, 1.0, 300.0])
    tables = []
    for _ in range(int(rng.integers(2, 2 + 2 * n))):
        k = int(rng.integers(1, 4))
        scope = tuple(rng.choice(n, k, replace=False).tolist())
        shape = cards[list(scope)]
        logs = stretch * 3 * (rng.random(shape) - 0.5)
        logs[rng.random(shape) < zeros] = -np.inf
        kind = rng.integers(6)
        if kind == 0:
            logs = np.broadcast_to(
                logs.reshape(shape[0], -1).max(1).reshape(-1, *[1] * (k - 1)), shape
            )
        elif kind == 1 and k > 1:
            first, second = np.indices(shape)[:2]
            logs = np.where(first == shape[0] - 1 - second, logs, -np.inf)
        tables.append((scope, np.ascontiguousarray(logs)))
    return cards, tables


def ask(cards, tables, evidence, stages, limit, task, targets=(), chunks=1):
    """(out, log-weight, best codes, report) of a plan and its run."""
    logs, value_from = join([t.reshape(-1) for _, t in tables], np.float64)
    scope_from = offsets_of(len(scope) for scope, _ in tables)
    scopes = flatten(scope for scope, _ in tables)
    factors = inference.FactorList(cards, scope_from, scopes, value_from, logs)
    order, conditioned = np.zeros_like(cards), np.zeros_like(cards)
    report = np.zeros(inference.PLAN_ENTRIES)
    possible = inference.plan_exact(
        factors, evidence, stages, 1e6, np.inf, limit, order, conditioned, report
    )
    targets = np.array(targets, dtype=np.int64)
    size = {MARGINALS: int(cards.sum()), JOINT: int(cards[targets].prod())}.get(task, 0)
    out, best = np.zeros(size), np.zeros_like(cards)
    if not possible:
        return out, -np.inf, best, report
    log_weight = inference.solve_exact(
        factors, evidence, stages, targets, order[: int(report[0])],
        conditioned[: int(report[1])], report[5], 10.0, task, 0, int(report[6]), 1, out, best,
    )  # fmt: skip
    return out, log_weight, best, report


@pytest.mark.parametrize("seed", range(20))
def test_draws_at_an_assignment_follow_the_weights(seed):
    rng = np.random.default_rng(seed)
    cards, tables = random_network(rng)
    logs, value_from = join([t.reshape(-1) for _, t in tables], np.float64)
    scope_from = offsets_of(len(scope) for scope, _ in tables)
    factors = inference.FactorList(
        cards, scope_from, flatten(scope for scope, _ in tables), value_from, logs
    )
    evidence, stages = np.full_like(cards, -1), np.zeros_like(cards)
    fixed = rng.permutation(cards.size)[: int(rng.integers(0, 2))]
    order = np.setdiff1d(rng.permutation(cards.size), fixed)
    codes = np.zeros((cards.size, 5000), dtype=np.uint16)
    possible = inference.draw_exact(
        factors, evidence, stages, order, fixed, np.inf, 10.0, 0, np.uint64(seed), codes
    )
    joint = core_inference.log_joint(cards, tables, evidence)
    assert possible or joint.max() == -np.inf or fixed.size
    if not possible:
        return
    for v in fixed.tolist():  # the run of its first state that is left
        joint[(slice(None),) * v + (np.arange(cards[v]) != codes[v, 0],)] = -np.inf
    expected = np.exp(joint - joint.max()).reshape(-1)
    expected /= expected.sum()
    cells = np.ravel_multi_index(codes, cards)
    found = np.bincount(cells, minlength=expected.size) / 5000
    assert not found[expected == 0].any()
    assert np.abs(found - expected).max() < 5 * np.sqrt(expected.max() / 5000)


@pytest.mark.parametrize("seed", range(20))
def test_all_tasks_agree_with_enumeration(seed):
    rng = np.random.default_rng(seed)
    cards, tables = random_network(rng)
    n = cards.size
    evidence = np.full(n, -1)
    if rng.random() < 0.5:
        v = int(rng.integers(n))
        evidence[v] = rng.integers(cards[v])
    logs = core_inference.log_joint(cards, tables, evidence)
    top = logs.max()
    weights = np.exp(logs - top) if top > -np.inf else np.zeros(cards)
    total = weights.sum()
    log_total = top + np.log(total) if total else -np.inf
    chosen = rng.permutation(n)[: rng.integers(1, 4)]
    others = tuple(v for v in range(n) if v not in chosen)
    for limit in (1e9, float(rng.integers(1, 30)), 0.5):
        none = np.zeros(n, np.int64)
        out, log_weight, *_ = ask(cards, tables, evidence, none, limit, MARGINALS)
        close = {"rtol": 1e-9, "atol": 1e-9}
        np.testing.assert_allclose(log_weight, log_total, **close)
        assert ask(cards, tables, evidence, none, limit, WEIGHT)[1] == log_weight
        if total:
            axes = [tuple(u for u in range(n) if u != v) for v in range(n)]
            expected = np.concatenate([weights.sum(axis=a) for a in axes]) / total
            np.testing.assert_allclose(out, expected, **close)
        stages = none.copy()
        stages[chosen] = 2
        out, log_weight, *_ = ask(cards, tables, evidence, stages, limit, JOINT, chosen)
        np.testing.assert_allclose(log_weight, log_total, **close)
        if total:
            table = weights.sum(axis=others).transpose(np.argsort(np.argsort(chosen))) / total
            np.testing.assert_allclose(out.reshape(cards[chosen]), table, **close)
        for maximized in (range(n), chosen):
            stages = none.copy()
            stages[list(maximized)] = 1
            _, log_weight, best, _ = ask(cards, tables, evidence, stages, limit, BEST)
            if not total:
                assert log_weight == -np.inf
                continue
            summed = weights.sum(axis=tuple(v for v in range(n) if v not in maximized))
            with np.errstate(divide="ignore"):
                values = np.log(summed) + top
            at = tuple(best[v] for v in range(n) if v in maximized)
            np.testing.assert_allclose([log_weight, values[at]], values.max(), **close)


def test_a_grid_is_planned_as_well_as_by_a_sweep():
    """Greedy rules alone need more cells than a sweep by rows."""
    side = 14
    pairs = [(r * side + c, r * side + c + 1) for r in range(side) for c in range(side - 1)]
    pairs += [(r * side + c, (r + 1) * side + c) for r in range(side - 1) for c in range(side)]
    rng = np.random.default_rng(0)
    tables = [(pair, rng.normal(size=(2, 2))) for pair in pairs]
    cards, free = np.full(side * side, 2), np.full(side * side, -1)
    stages = np.zeros_like(cards)
    *_, report = ask(cards, tables, free, stages, 1e9, WEIGHT)
    assert report[2] <= core_inference.order_cells(cards, pairs, range(side * side))


def test_little_memory_is_met_by_checkpoints_then_by_conditioning():
    rng, cards = np.random.default_rng(1), np.full(40, 3)
    tables = [((v, v + 1, v + 2), rng.normal(size=(3, 3, 3))) for v in range(38)]
    free, stages = np.full(40, -1), np.zeros(40, np.int64)
    reference, log_weight, _, full = ask(cards, tables, free, stages, 1e9, MARGINALS)
    assert full[5] == np.inf and full[6] == 1
    kinds = set()
    for limit in (300.0, 120.0, 100.0):
        out, other, _, report = ask(cards, tables, free, stages, limit, MARGINALS)
        assert report[4] <= limit
        kinds.add((bool(report[5] < np.inf), bool(report[6] > 1)))
        np.testing.assert_allclose(out, reference, rtol=1e-11)
        assert np.isclose(other, log_weight, rtol=1e-12)
    assert (True, False) in kinds and any(split for _, split in kinds)


def test_the_same_question_has_the_same_plan_and_answer():
    rng = np.random.default_rng(5)
    cards = np.full(60, 3)
    tables = [
        (tuple(rng.choice(60, 2, replace=False).tolist()), rng.normal(size=(3, 3)))
        for _ in range(75)
    ]
    free, stages = np.full(60, -1), np.zeros(60, np.int64)
    first, second = (ask(cards, tables, free, stages, 2000.0, MARGINALS) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
