"""Learners on rows whose weights sum to 10⁹ … 2⁵³."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.scores.base import least_gain
from faults.totals_fuzzer import ENTRIES, try_learner


@pytest.mark.parametrize("total", [1e9, 2e9, 1e12, 2.0**53])
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_large_totals_end_in_a_sound_model(entry, total):
    faults = [try_learner(entry, seed, total) for seed in range(3)]
    assert faults == [None] * len(faults)


@pytest.mark.parametrize("total", [2e9, 2.0**53])
def test_the_exact_posterior_of_three_columns_keeps_its_sums(total):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (3, 50))
    weights = np.full(50, total / 50)
    learner = cp.ExactPosterior().fit(cp.Table(cp.Schema.from_cards([2, 2, 2]), codes, weights))
    shares = learner.edge_probabilities_
    assert np.isfinite(shares).all()
    assert np.isfinite(learner.log_evidence_)
    assert (shares + shares.T <= 1 + 1e-9).all()


def test_the_least_gain_is_relative_to_the_summed_terms():
    assert least_gain(1e3) == least_gain(1e6) == 1e-7
    assert least_gain(2.0**53) / least_gain(2.0**52) == pytest.approx(2 * 53 / 52)


@pytest.mark.parametrize("score", ["bic", "bdeu", "k2"])
def test_a_climb_on_large_weights_finds_the_graph_of_the_small_ones(score):
    """Weights times 2⁴⁰ hide no dependency that is clear without them."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 1000)
    b = np.where(rng.random(1000) < 0.9, a, 1 - a)
    c = np.where(rng.random(1000) < 0.9, b, 1 - b)
    rows = cp.Table(cp.Schema.from_cards([2, 2, 2]), [a, b, c]).distinct()
    heavy = rows.reweighted(rows.weights * 2.0**40)
    for learner in (cp.HillClimb(score), cp.StructureSearch(score)):
        edges = {frozenset(edge) for edge in learner.fit(heavy).graph_.edges}
        assert {frozenset(("x0", "x1")), frozenset(("x1", "x2"))} <= edges
