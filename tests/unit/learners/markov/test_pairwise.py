"""Pairwise Markov networks: the graph of partners, its features, and their weights."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.data import Schema, Table
from counterpane.errors import ParameterError
from counterpane.learners import partners
from counterpane.learners.markov import pairwise
from counterpane.learners.markov.weights import features_of
from reference import pairwise_reference as reference
from reference.random_codes import random_codes, random_weights


def edges_of(codes, k, cards, weights=None, **options):
    table = Table(Schema.from_cards(cards), codes, weights)
    return set(cp.PairwiseMarkovLearner(k=k, **options).fit(table).undirected_.edges)


@pytest.mark.parametrize("k", [1, 2, 3, 99])
@pytest.mark.parametrize("weights", [None, "whole", "eighths"])
@pytest.mark.parametrize("cards", [(2,) * 9, (2, 3, 4, 1, 2, 5, 3)], ids=["binary", "mixed"])
def test_the_graph_is_the_naive_one(cards, weights, k):
    codes, w = random_codes(cards, 60, seed=k), random_weights(weights, 60, 1)
    assert edges_of(codes, k, cards, w, max_steps=1) == reference.edges(codes.tolist(), k, w)


def test_ties_go_to_the_later_column_and_nothing_joins_the_independent():
    x = np.array([0, 0, 1, 1] * 6)
    z = np.array([0, 1, 0, 1] * 6)  # independent of x, exactly
    assert edges_of(np.array([x, x, x, z]), 1, (2,) * 4) == {(0, 2), (1, 2)}
    assert edges_of(np.array([x, 1 - x, z, x]), 2, (2,) * 4) == {(0, 1), (0, 3), (1, 3)}
    assert edges_of(np.array([x, z]), 3, (2, 2)) == set()
    flipped = np.array([x, z, 1 - x, x])  # equal χ² with another layout of the cells
    flipped[0, :3] = 1 - flipped[0, :3]
    assert (0, 3) in edges_of(flipped, 1, (2,) * 4)


@pytest.mark.parametrize("seed", range(12))
def test_many_ties_are_exact(seed):
    codes = (np.random.default_rng(seed).random((16, 13)) < 0.5).astype(int)
    assert edges_of(codes, 2, (2,) * 16, max_steps=1) == reference.edges(codes.tolist(), 2)


def test_blocks_of_variables_do_not_matter(monkeypatch):
    cards = (2, 3, 4, 1, 2, 5, 3)
    table = Table(Schema.from_cards(cards), random_codes(cards, 60, seed=0))
    whole = cp.PairwiseMarkovLearner(k=2).fit(table)
    monkeypatch.setattr(partners, "BLOCK_CELLS", 1)
    parts = cp.PairwiseMarkovLearner(k=2).fit(table)
    assert (len(whole.trace_), len(parts.trace_)) == (1, 7)
    assert whole.undirected_ == parts.undirected_


def test_its_weights_are_those_of_its_tables():
    table = cp.load_dataset("titanic")
    learner = cp.PairwiseMarkovLearner(k=2, prior_sd=0.7).fit(table)
    assert {p.scope for p in learner.model_.potentials} == set(learner.undirected_.edges)
    assert learner.n_features_ == sum(p.log_values.size for p in learner.model_.potentials)
    assert not learner.model_.rules
    again = cp.fit_weights(learner.model_, table, prior_sd=0.7, tolerance=1e-6, max_steps=2000)
    for ours, theirs in zip(features_of(learner.model_), features_of(again), strict=True):
        assert np.array_equal(ours.log_values, theirs.log_values)
    assert learner.score_ == again.record.weights.objective
    pll = learner.model_.pseudo_log_likelihood(table, total=True).sum()
    penalty = sum((p.log_values**2).sum() for p in learner.model_.potentials) / (2 * 0.7**2)
    assert learner.score_ == pytest.approx(pll - penalty, rel=1e-12)


def test_wide_tables():
    rng = np.random.default_rng(0)
    codes = (rng.random((800, 120)) < 0.1).astype(int)
    codes[400:] = codes[:400] ^ (rng.random((400, 120)) < 0.02)
    codes[:100] |= codes[7]  # a variable with many partners reads whole rows
    learner = cp.PairwiseMarkovLearner(k=2, max_steps=5).fit(
        Table(Schema.from_cards([2] * 800), codes)
    )
    assert max(dict(learner.graph_.degree).values()) > 14
    assert learner.n_features_ == 4 * learner.graph_.number_of_edges()
    assert np.isfinite(learner.score_)
    twins = sum(learner.graph_.has_edge(f"x{v}", f"x{v + 400}") for v in range(100, 400))
    assert twins > 250


def test_a_time_limit_returns_what_there_is():
    with pytest.warns(cp.StoppedEarly):
        learner = cp.PairwiseMarkovLearner(time_limit=1e-9).fit(cp.load_dataset("titanic"))
    assert learner.graph_.number_of_edges() == 0


def test_the_weights_get_the_time_that_is_left(monkeypatch):
    limits = []

    def fit_weights(*args, time_limit, **options):
        limits.append(time_limit)
        return cp.fit_weights(*args, **options)

    monkeypatch.setattr(pairwise, "fit_weights", fit_weights)
    for limit in (None, 60.0):
        cp.PairwiseMarkovLearner(time_limit=limit).fit(cp.load_dataset("titanic"))
    assert limits[0] is None
    assert 0 < limits[1] < 60.0


@pytest.mark.parametrize("options", [{"k": 0}, {"prior_sd": 0.0}, {"tolerance": -1.0},
                                     {"max_steps": 0}])  # fmt: skip
def test_parameters_are_checked(options):
    name, value = next(iter(options.items()))
    with pytest.raises(ParameterError, match=f"{name}={value}; a number above zero"):
        cp.PairwiseMarkovLearner(**options).fit(cp.load_dataset("titanic"))
