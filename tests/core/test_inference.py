"""The kernels of exact inference beside enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counterpane._core import inference
from counterpane.features import Blanket, Rules
from counterpane.inference.junction import CliqueTree
from reference import core_features, core_inference
from reference.core_inference import given, joint, marginal
from reference.random_tables import CARDS, SCOPES, random_tables


def compiled(tables, logs, keep=()):
    """(tree, values end to end, least by factor)."""
    tree = CliqueTree([scope for scope, _ in tables], CARDS, keep=keep)
    flat = np.concatenate([values.ravel() for _, values in tables])
    least = np.array([values[values > 0].min() for _, values in tables])[tree.order]
    with np.errstate(divide="ignore"):
        values = np.log(flat) if logs else flat
    return tree, values, least


def test_evidence_shrinks_the_tables():
    tree, *_ = compiled(random_tables(0), logs=False)
    cards = np.array([2, 1, 2, 4, 1, 3])
    assert tree.cells(cards) == sum(math.prod(cards[list(c)]) for c in tree.cliques)


@pytest.mark.parametrize("logs", [False, True])
@pytest.mark.parametrize("together", [False, True])
def test_answer_rows(logs, together):
    """Rows that share their gaps and rows that do not, an impossible one among them."""
    tables = random_tables(1, zeros=True)
    weights = joint(CARDS, tables)
    columns, targets = np.array([1, 3, 0]), np.array([2, 5])
    tree, values, least = compiled(tables, logs, keep=targets if together else ())
    rows = np.array([[3, 4, 0], [3, 4, 1], [2, 4, 1], [2, 1, 2], [1, 0, 2], [2, 1, 0], [0, 1, 0]])
    homes = tree.homes[targets[: 0 if together else None]]
    out, log_weights = np.zeros((len(rows), 6 if together else 5)), np.empty(len(rows))
    inference.answer_rows(
        tree.arrays, tree.cards, columns, rows, targets, homes, values, least, out,
        log_weights, logs,
    )  # fmt: skip
    for row, found, log_weight in zip(rows, out, log_weights, strict=True):
        full = np.array(CARDS)
        full[columns] = row
        rest = given(weights, full)
        if rest.sum() == 0:
            assert log_weight == -np.inf and (found == 0).all()
            continue
        assert math.isclose(math.exp(log_weight), rest.sum(), rel_tol=1e-12)
        scopes = [targets] if together else [[v] for v in targets]
        expected = np.concatenate([marginal(rest, scope).ravel() for scope in scopes])
        np.testing.assert_allclose(found, expected / rest.sum(), rtol=1e-11, atol=1e-300)


def test_answer_rows_asks_for_logs():
    tables = random_tables(2)
    tree, values, least = compiled(tables, logs=False)
    least[:] = 1e-200  # so small that products may underflow
    out, log_weights = np.zeros((1, 2)), np.zeros(1)
    none = np.empty(0, np.int64)
    inference.answer_rows(
        tree.arrays, tree.cards, none, np.empty((1, 0), np.int64), np.array([0]),
        tree.homes[[0]], values, least, out, log_weights, False,
    )  # fmt: skip
    assert np.isnan(log_weights[0]) and (out == 0).all()


@pytest.mark.parametrize("logs", [False, True])
def test_expect_rows(logs):
    tables = random_tables(3, zeros=True)
    weights = joint(CARDS, tables)
    tree, values, least = compiled(tables, logs)
    rows = np.array(
        [[0, 3, 1, 2, 0, 3], [1, 3, 2, 4, 1, 0], [2, 3, 2, 4, 1, 3], [1, 1, 0, 0, 0, 2]]
    )
    masses = np.array([1.0, 0.5, 2.0, 7.0])
    out, log_weights = np.zeros(values.size), np.empty(4)
    inference.expect_rows(
        tree.arrays, tree.cards, rows, masses, values, least, out, log_weights, logs
    )
    expected = np.zeros(values.size)
    for row, mass, log_weight in zip(rows, masses, log_weights, strict=True):
        rest = given(weights, row)
        assert (log_weight == -np.inf) == (rest.sum() == 0)
        if rest.sum() > 0:
            assert math.isclose(math.exp(log_weight), rest.sum(), rel_tol=1e-12)
            families = [marginal(rest, scope).ravel() for scope in SCOPES]
            expected += mass * np.concatenate(families) / rest.sum()
    assert log_weights[3] == -np.inf
    np.testing.assert_allclose(out, expected, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("logs", [False, True])
def test_compare_rows(logs):
    tables = random_tables(3, zeros=True)
    weights = joint(CARDS, tables)
    tree, values, least = compiled(tables, logs)
    rows = np.array([[0, 3, 1, 2, 0, 3], [1, 3, 2, 4, 1, 0], [2, 3, 2, 4, 1, 3]])
    masses = np.array([1.0, 0.5, 2.0])
    rng = np.random.default_rng(1)
    changed = [int(f) for f in tree.order[[0, 2, 2]]]  # one factor twice
    shapes = [tuple(CARDS[v] for v in SCOPES[f]) for f in changed]
    ratios = [rng.uniform(0.2, 3.0, shape) for shape in shapes]
    change_from = np.searchsorted([0, 2, 2], np.arange(len(SCOPES) + 1))
    ratio_from = np.cumsum([0, *[r.size for r in ratios[:-1]]])
    out, log_weights = np.zeros(3), np.empty(3)
    inference.compare_rows(
        tree.arrays, tree.cards, rows, masses, values, least, change_from, ratio_from,
        np.concatenate([r.ravel() for r in ratios]), out, log_weights, logs,
    )  # fmt: skip
    for f, ratio, total in zip(changed, ratios, out, strict=True):
        shape = [CARDS[v] if v in SCOPES[f] else 1 for v in range(len(CARDS))]
        order = np.argsort(SCOPES[f])
        other = weights * ratio.transpose(order).reshape(shape)
        shares = [given(other, row).sum() / given(weights, row).sum() for row in rows]
        np.testing.assert_allclose(total, masses @ np.log(shares), rtol=1e-10)


@pytest.mark.parametrize("logs", [False, True])
def test_draw_rows(logs):
    tables = random_tables(4, zeros=True)
    weights = joint(CARDS, tables)
    tree, values, least = compiled(tables, logs)
    rows = np.array([[0, 1, 1, 4, 1, 2], [2, 3, 2, 4, 1, 3], [1, 1, 0, 0, 0, 2]])
    n, seeds = 4000, np.array([5, 6, 7], np.uint64)
    out, log_weights = np.zeros((6, 3 * n), np.uint16), np.empty(3)
    arguments = (tree.arrays, tree.cards, rows, seeds, values, least)
    inference.draw_rows(*arguments, out, log_weights, logs)
    assert log_weights[2] == -np.inf and (out[:, 2 * n :] == 0).all()
    for r in range(2):
        drawn = out[:, r * n : (r + 1) * n]
        rest = given(weights, rows[r]) / given(weights, rows[r]).sum()
        counts = np.zeros(CARDS)
        np.add.at(counts, tuple(drawn.astype(int)), 1)
        assert (counts[rest == 0] == 0).all()
        if r == 0:  # one clique: at even distances
            assert (np.abs(counts - n * rest) < 1).all()
        assert np.abs(counts / n - rest).max() < 5 * math.sqrt(0.25 / n)
    again = np.zeros((6, n), np.uint16)
    arguments = (tree.arrays, tree.cards, rows[1:2], seeds[1:2], values, least)
    inference.draw_rows(*arguments, again, np.empty(1), logs)
    assert (again == out[:, n : 2 * n]).all()


def random_scopes(rng, n=40):
    cut = [rng.permutation(7)[: rng.integers(0, 5)] for _ in range(n)]
    return [tuple(sorted(c.tolist())) for c in cut], rng.integers(-1, 2, n)


@pytest.mark.parametrize("seed", range(10))
def test_find_hosts(seed):
    scopes, owners = random_scopes(np.random.default_rng(seed))
    order = np.array(sorted(range(40), key=lambda i: (-len(scopes[i]), owners[i], scopes[i])))
    hosts = np.empty(40, np.int64)
    size = inference.find_hosts(
        core_features.offsets(scopes), core_features.joined(scopes), owners, order, 7, hosts
    )
    every = {(o, s) for o, s in zip(owners.tolist(), scopes, strict=True) if s}
    largest = {(o, s) for o, s in every if not any(o == p and set(s) < set(t) for p, t in every)}
    assert size == len(largest)
    for h in range(size):
        members = [(owners[i], scopes[i]) for i in np.flatnonzero(hosts == h)]
        owner, widest = max(members, key=lambda m: len(m[1]))
        assert (owner, widest) in largest
        assert all(o == owner and set(s) <= set(widest) for o, s in members)
    assert [scopes[i] for i in np.flatnonzero(hosts < 0)] == [()] * scopes.count(())


def host_scopes():
    """Two tables, over (0, 1, 3) and (2, 3, 5)."""
    lists = [(0, 1, 3), (2, 3, 5)]
    offsets, variables = core_features.offsets(lists), core_features.joined(lists)
    strides, cells = np.empty(6, np.int64), np.array([0, 9, 9])
    inference.set_strides(offsets, variables, np.array(CARDS), strides, cells)
    return inference.Scopes(offsets, variables, np.full(2, -1), strides, cells)


def test_set_strides():
    scopes = host_scopes()
    assert scopes.strides.tolist() == [12, 4, 1, 12, 3, 1]
    assert scopes.cells.tolist() == [0, 24, 48]


def test_align_steps_and_add_tables():
    rng = np.random.default_rng(5)
    scopes = host_scopes()
    tables = [
        ((1, 3), rng.normal(size=(3, 4))),
        ((5,), rng.normal(size=3)),
        ((2, 5), rng.normal(size=(2, 3))),
    ]
    hosts, starts = np.array([0, 1, 1]), core_features.offsets([t for t, _ in tables])
    steps, offsets, aligned = np.array([4, 1, 1, 3, 1]), np.array([0, 3, 6, 9]), np.zeros(9, int)
    inference.align_steps(
        starts, core_features.joined([t for t, _ in tables]), steps, hosts, scopes.offsets,
        scopes.variables, offsets, aligned,
    )  # fmt: skip
    assert aligned.tolist() == [0, 4, 1, 0, 0, 1, 3, 0, 1]
    source = np.concatenate([[np.nan], *(values.ravel() for _, values in tables)])
    values = np.ones(48)
    inference.add_tables(
        source, np.array([1, 13, 16]), offsets, aligned, hosts, scopes, np.array(CARDS), values
    )
    first = 1 + np.broadcast_to(tables[0][1], (2, 3, 4))
    second = 1 + tables[1][1] + np.broadcast_to(tables[2][1][:, None], (2, 4, 3))
    np.testing.assert_allclose(values, np.concatenate([first.ravel(), second.ravel()]))


def test_add_rules():
    rng = np.random.default_rng(6)
    rules = [
        (0.5, [(3, 0, True), (0, 1, False), (3, 2, True)]),
        (0.25, [(5, 1, False), (2, 0, False)]),
        (2.0, [(2, 1, True), (1, 2, False)]),  # variable 1 is not free, and at 2
        (4.0, [(2, 1, True), (1, 2, True)]),
    ]
    flat = Blanket(CARDS, [Rules.from_list(CARDS, rules)]).rule_masks
    free, x = (
        np.array([True, False, True, True, True, True]),
        np.array([9, 2, 9, 9, 9, 9], np.uint16),
    )
    scopes, values = host_scopes(), rng.normal(size=48)
    before, chosen, hosts = values.copy(), np.arange(4), np.array([0, 1, 1, 1])
    inference.add_rules(flat, chosen, hosts, scopes, np.array(CARDS), free, x, values)
    for h, scope in enumerate([(0, 1, 3), (2, 3, 5)]):
        shape = [CARDS[v] for v in scope]
        expected = before[24 * h : 24 * h + 24].reshape(shape).copy()
        for state in core_inference.rows_of(shape):
            row = {1: 2} | dict(zip(scope, state, strict=True))
            for (weight, conditions), host in zip(rules, hosts, strict=True):
                if host == h and core_features.holds([c for c in conditions if c[0] in row], row):
                    expected[state] += weight
        np.testing.assert_allclose(values[24 * h : 24 * h + 24], expected.ravel())


def test_pair_up():
    lists, owners = [(0, 2, 5), (1, 3), (4,), (2, 5)], np.array([-1, 3, -1, 5])
    out = np.full(20, -1)
    size = inference.pair_up(
        core_features.offsets(lists), core_features.joined(lists), owners, 10, out
    )
    expected = [
        10 * v + u
        for scope, owner in zip(lists, owners, strict=True)
        for v in scope
        for u in scope
        if u != v and owner in (-1, v)
    ]
    assert out[:size].tolist() == expected
