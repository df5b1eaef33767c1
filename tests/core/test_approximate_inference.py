"""The kernels of approximate inference beside enumeration and plain chains."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counterpane._core import features, inference
from counterpane.features import Blanket, Potential, Rules
from counterpane.inference.gibbs_tables import compile_scan, gather_tables
from counterpane.inference.mean_field import leaf_masks
from reference import core_features, core_inference
from reference.core_inference import SplitMix
from reference.random_tables import CARDS, random_tables


def chain_model():
    """(potentials, rules) with a forbidden pair, and the blanket of both."""
    rng = np.random.default_rng(7)
    potentials = [(scope, np.log(values)) for scope, values in random_tables(8)[:3]]
    forbidden = np.zeros((2, 3))
    forbidden[0, 1] = -np.inf
    potentials.append(((0, 5), forbidden))
    rules = [(0.7, [(0, 1, False), (3, 2, True)]), (rng.normal(), [(5, 0, True), (1, 1, False)])]
    parts = [*(Potential(*p) for p in potentials), Rules.from_list(CARDS, rules)]
    return potentials, rules, Blanket(CARDS, parts)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("targets", [[], [1, 3]])
def test_run_chains(targets, soft):
    """A plain chain with the same stream of random numbers goes the same way."""
    potentials, rules, blanket = chain_model()
    cards, states = np.array(CARDS), np.cumsum([0, *CARDS])
    free = np.array([True, True, False, True, True, True])
    factors, units, burn_in, samples = gather_tables(blanket), 3, 5, 40
    scan = compile_scan(factors, cards, free)
    logs = np.log(np.linspace(0.5, 1.0, states[-1])) if soft else np.empty(0)
    codes = np.repeat(np.array([[0], [2], [1], [4], [0], [3]], np.uint16), units, axis=1)
    codes[2, 2] = 0  # other evidence
    seeds = np.array([3, 4, 2**63 + 5], np.uint64)
    strides = np.array([4, 1])[: len(targets)]
    cells = 12 if targets else int(states[-1])
    sums, kept = np.zeros((units, 2, cells)), np.zeros((units, 4, 6), np.uint16)
    faults = np.full(units, -9)
    keys = np.zeros(scan.slots[-1], np.uint64)
    inference.run_chains(
        factors.scopes, factors.values, factors.rules, scan, blanket.parts, blanket.parts,
        np.empty(0, np.int64), 0, codes, logs, np.array(targets, np.int64), strides, burn_in,
        samples, seeds, 0, units, keys, sums, kept, faults,
    )  # fmt: skip
    assert (faults == -1).all()

    def probabilities(row, v):
        logits = core_features.conditional(CARDS, potentials, rules, [], row, v)
        if soft:
            logits = logits + logs[states[v] : states[v + 1]]
        return np.exp(core_features.normalized(logits))

    for unit in range(units):
        uniform = SplitMix(int(seeds[unit]) ^ 0xBF58476D1CE4E5B9)
        start = codes[:, unit].tolist()
        for v in (0, 1, 3, 5):
            if start[v] >= CARDS[v]:
                start[v] = int(uniform() * CARDS[v])
        rows, drawn = core_inference.gibbs(
            [0, 1, 3, 5], probabilities, start, seeds[unit], burn_in, samples
        )
        assert kept[unit].tolist() == rows[9::10]
        expected = np.zeros((2, cells))
        for k, (row, conditionals) in enumerate(zip(rows, drawn, strict=True)):
            half = expected[2 * k // samples]
            if targets:
                half[4 * row[1] : 4 * row[1] + 4] += conditionals[3]
            else:
                half[states[4]] += 1.0
                for v, p in conditionals.items():
                    half[states[v] : states[v + 1]] += p
        np.testing.assert_allclose(sums[unit], expected, rtol=1e-10)


def test_run_chains_looks_for_a_start():
    """From a forbidden row to a possible one; −2 where there is none, or a variable's number."""
    _, _, blanket = chain_model()
    cards, free = np.array(CARDS), np.array([True, False, False, False, False, False])
    factors = gather_tables(blanket)
    scan = compile_scan(factors, cards, free)
    logs = {k: getattr(blanket.parts, k) for k in ("values", "rule_weights", "leaf_values")}
    bounded = {k: np.maximum(x, -inference.IMPOSSIBLE) for k, x in logs.items()}
    relaxed = blanket.parts._replace(**bounded)
    codes = np.array([[0], [0], [0], [0], [0], [1]], np.uint16)  # x0 = 0 is forbidden where x5 = 1
    for soft, laws, expected in [
        ([0.0, 0.0], [0], -1),
        ([0.0, -np.inf], [0], -2),
        ([0.0, -np.inf], [], 0),
    ]:
        likelihoods = np.concatenate([soft, np.zeros(13)])
        sums, kept, faults = np.zeros((1, 1, 15)), np.zeros((1, 1, 6), np.uint16), np.full(1, -9)
        inference.run_chains(
            factors.scopes, factors.values, factors.rules, scan, blanket.parts, relaxed,
            np.array(laws, np.int64), 50, codes, likelihoods, np.empty(0, np.int64),
            np.empty(0, np.int64), 0, 3, np.array([1], np.uint64), 0, 1,
            np.zeros(scan.slots[-1], np.uint64), sums, kept, faults,
        )  # fmt: skip
        assert faults[0] == expected
        if expected == -1:
            assert kept[0, 0, 0] == 1 and sums[0, 0, :2].tolist() == [0.0, 3.0]


def product_arguments():
    potentials, rules, _ = chain_model()
    potentials = potentials[:3]
    parts = [*(Potential(*p) for p in potentials), Rules.from_list(CARDS, rules)]
    blanket, states = Blanket(CARDS, parts), np.cumsum([0, *CARDS])
    rng = np.random.default_rng(9)
    q = np.concatenate([rng.dirichlet(np.ones(r)) for r in CARDS])
    return potentials, rules, blanket, states, q


def test_relax():
    potentials, rules, blanket, states, q = product_arguments()
    found = blanket.rule_masks
    serving = np.argsort(found.variables, kind="stable")
    own_offsets = np.searchsorted(found.variables[serving], np.arange(7))
    soft = np.log(np.linspace(0.5, 1.0, q.size))
    beliefs = [q[states[v] : states[v + 1]].copy() for v in range(6)]
    before, free = q.copy(), np.array([3, 0, 1])
    forest = leaf_masks(blanket)
    change = inference.relax(
        blanket.parts, found, own_offsets, serving, forest, np.zeros(7, np.int64), states, free,
        soft, q,
    )  # fmt: skip
    for v in free:
        logits = core_inference.expected_logits(
            CARDS, lambda row: core_features.log_potential(potentials, rules, row), beliefs, v
        )
        logits += soft[states[v] : states[v + 1]]
        beliefs[v] = np.exp(core_features.normalized(logits))
    np.testing.assert_allclose(q, np.concatenate(beliefs), rtol=1e-11)
    assert math.isclose(change, np.abs(q - before).max(), rel_tol=1e-12)
    soft[states[1] : states[2]] = -np.inf
    assert inference.relax(
        blanket.parts, found, own_offsets, serving, forest, np.zeros(7, np.int64), states, free,
        soft, q,
    ) == -2  # fmt: skip


def test_relax_of_trees():
    """A conditional that is a tree: its leaves weigh as much as their paths are probable."""
    logs = np.log([[0.5, 0.5], [0.9, 0.1], [0.3, 0.7]])
    rows = [(1, 2, 1, 2), (-1, 0, 0, 0), (-1, 0, 0, 0)]
    parts = core_features.flat_parts([2, 3], trees=[(0, rows, logs)])
    none, ways = np.empty(0, np.int64), ([1.0, 1.0], [[2], [0, 1]])
    flags = np.array([False, False, True, True, True, False])
    empty = features.RuleMasks(
        np.empty(0), np.zeros(1, np.int64), none, none, none, flags[:0], flags[:0]
    )
    paths = features.RuleMasks(
        np.array(ways[0]), np.arange(3), np.arange(2), np.array([1, 1]), np.array([0, 3]), flags,
        flags[:2],
    )  # fmt: skip
    forest = inference.Leaves(np.zeros(2, np.int64), np.array([0, 2]), paths)
    q = np.array([0.5, 0.5, 0.2, 0.3, 0.5])
    inference.relax(
        parts, empty, np.zeros(3, np.int64), none, forest, np.array([0, 2, 2]),
        np.array([0, 2, 5]), np.array([0]), np.zeros(5), q,
    )  # fmt: skip
    expected = core_features.normalized(0.5 * logs[1] + 0.5 * logs[2])
    np.testing.assert_allclose(q[:2], np.exp(expected), rtol=1e-12)


def test_expected_energy():
    potentials, rules, blanket, states, q = product_arguments()
    beliefs = [q[states[v] : states[v + 1]] for v in range(6)]
    expected = sum(
        math.prod(beliefs[v][s] for v, s in enumerate(row))
        * core_features.log_potential(potentials, rules, row)
        for row in core_inference.rows_of(CARDS)
    )
    energy = inference.expected_energy(blanket.parts, blanket.rule_masks, states, q)
    assert math.isclose(energy, expected, rel_tol=1e-11)


def test_climb():
    """As a plain climb, state by state; the evidence stays."""
    potentials, rules, blanket = chain_model()
    rng = np.random.default_rng(12)
    rows = np.array([rng.integers(0, r, 20) for r in CARDS], np.uint16)
    free, expected = [5, 0, 1, 3], rows.copy()
    for r in range(20):
        moved = True
        while moved:
            moved = False
            for v in free:
                row = expected[:, r].tolist()
                logits = core_features.conditional(CARDS, potentials, rules, [], row, v)
                if logits.max() > logits[row[v]]:
                    expected[v, r], moved = logits.argmax(), True
    start = rows.copy()
    inference.climb(blanket.parts, np.array(free), 1000, rows)
    assert (rows == expected).all()
    inference.climb(blanket.parts, np.array(free), 0, start)
    assert (start != rows).any()
