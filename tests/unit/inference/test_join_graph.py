"""Join graphs, bounds and rows found by search, on networks that can be solved exactly too."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import EvidenceError, ParameterError
from counterpane.features import Potential
from counterpane.inference import BeliefPropagation, ClusterRun, ExactRun, JoinGraph
from error_checks import raises

SIDE = 6


def grid(scale, seed=0):
    rng = np.random.default_rng(seed)
    at = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    pairs = [*zip(at[:, :-1].ravel(), at[:, 1:].ravel(), strict=True)]
    pairs += [*zip(at[:-1].ravel(), at[1:].ravel(), strict=True)]
    return [Potential((int(a), int(b)), scale * rng.normal(size=(2, 2))) for a, b in pairs]


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_bounds_enclose_the_weight(scale, monkeypatch):
    parts, cards = grid(scale), [2] * SIDE**2
    monkeypatch.setattr("counterpane.inference.join_graph.BOUNDS", (8.0,))
    monkeypatch.setattr("counterpane.inference.join_graph.CUT_CELLS", 200.0)
    lower, upper = ClusterRun(parts, cards, {0: 1}).bounds()
    exact = ExactRun(parts, cards, {0: 1}).weight()
    assert lower < exact < upper
    best = ExactRun(parts, cards, {0: 1}, maximize=range(SIDE**2)).best()[1]
    assert ClusterRun(parts, cards, {0: 1}).upper(maximize=True) > best


def test_larger_clusters_are_better_here():
    parts, cards = grid(1.0), [2] * SIDE**2
    run = ClusterRun(parts, cards, {})
    exact, _ = ExactRun(parts, cards, {}, every=range(SIDE**2)).marginals(range(SIDE**2))
    loopy = run.propagate(BeliefPropagation())
    joined = run.propagate(JoinGraph())
    errors = [
        max(np.abs(a.marginals[v] - exact[v]).max() for v in range(SIDE**2))
        for a in (loopy, joined)
    ]
    assert errors[1] < 1e-6 < errors[0]


@pytest.mark.parametrize("scale", [0.5, 2.0])
@pytest.mark.parametrize("states", [2, 3])
def test_tempered_chains_agree_with_enumeration(scale, states):
    rng = np.random.default_rng(states)
    cards = np.array([states, 2, states, 2, 1, 3])
    scopes = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2, 5), (1, 3), (4, 5)]
    parts = [Potential(s, scale * rng.normal(size=cards[list(s)])) for s in scopes]
    sampled = ClusterRun(parts, cards, {1: 1}).temper(4, 1.0)
    total = np.zeros(cards)
    for part in parts:
        axes = [1] * cards.size
        for v in part.scope:
            axes[v] = cards[v]
        order = np.argsort(part.scope)
        total = total + part.log_values.transpose(order).reshape(axes)
    p = np.exp(total)[:, 1]
    p /= p.sum()
    assert set(sampled) == {0, 2, 3, 4, 5}
    for v, axis in zip((0, 2, 3, 4, 5), range(5), strict=True):
        expected = p.sum(axis=tuple(a for a in range(5) if a != axis))
        np.testing.assert_allclose(sampled[v].probabilities, expected, atol=0.01)
        assert np.nanmax(sampled[v].rhat) < 1.1


def test_chains_are_not_tempered_where_rows_are_impossible_or_time_is_short():
    differ = np.where(np.eye(3, dtype=bool), -np.inf, 0.0)
    ring = [Potential((v, (v + 1) % 5), differ) for v in range(5)]
    assert ClusterRun(ring, [3] * 5, {}).temper(4, 1.0) is None
    assert ClusterRun(grid(1.0), [2] * SIDE**2, {}).temper(4, 1e-4) is None


def test_impossible_evidence_is_told_apart_from_a_hard_search(monkeypatch):
    differ = np.where(np.eye(2, dtype=bool), -np.inf, 0.0)
    ring = [Potential((v, (v + 1) % 3), differ) for v in range(3)]
    with raises(EvidenceError, about="zero"):
        ClusterRun(ring, [2] * 3, {}).solution()
    monkeypatch.setattr("counterpane.inference.join_graph.CHOICES", 0)
    with raises(EvidenceError, about="search"):
        ClusterRun(ring[:1], [2] * 3, {}).solution()


def test_settings_are_checked():
    with raises(ParameterError, about="seconds=0"):
        JoinGraph(seconds=0)
    with raises(ParameterError, about="damping=1"):
        JoinGraph(damping=1.0)
    assert cp.JoinGraph is JoinGraph
