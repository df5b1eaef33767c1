"""k and k_max by the pseudo-likelihood of held-out rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import ParameterError
from counterpane.learners import StoppedEarly
from counterpane.learners.hybrid import sizes
from error_checks import raises


def crowd(rows=400, seed=0):
    """A column that is the parity-free sum of six others, and noise: few partners are too few."""
    rng = np.random.default_rng(seed)
    X = (rng.random((rows, 14)) < 0.5).astype(np.uint8)
    X[:, 0] = X[:, 1:7].sum(axis=1) + rng.integers(-1, 2, rows) > 3
    return cp.Table(cp.Schema.from_cards([2] * 14), np.ascontiguousarray(X.T))


def test_the_best_sizes_on_held_out_rows_are_used():
    table = crowd()
    learner = cp.HybridRandomFieldLearner("auto", "auto").fit(table)
    values = [judged.value for judged in learner.sizes_]
    assert values == sorted(values, reverse=True)
    assert {judged[:2] for judged in learner.sizes_} == {(8, 10), (2, 4), (4, 6), (8, 13), (13, 13)}
    best = learner.sizes_[0]
    assert (learner.k_, learner.k_max_) == best[:2]
    plain = cp.HybridRandomFieldLearner(*best[:2]).fit(table)
    assert learner.blankets_ == plain.blankets_
    assert plain.sizes_ == []
    assert values[0] > values[-1]


def test_the_value_is_the_pseudo_likelihood_of_rows_that_were_not_seen():
    table = crowd()
    judged = cp.HybridRandomFieldLearner("auto", 10).fit(table).sizes_
    folds = sizes._folds(table)
    assert sum(held.n_rows for _, held in folds) == table.n_rows
    for k, k_max, value in judged:
        total = sum(
            cp.HybridRandomFieldLearner(k, k_max).fit(training).score(held) * held.n_rows
            for training, held in folds
        )
        assert value == pytest.approx(total / table.n_rows)


def test_one_size_can_be_set():
    assert sizes.candidate_sizes(8, 10, 5) == [(8, 10)]
    assert {k_max for _, k_max in sizes.candidate_sizes("auto", 7, 40)} == {7}
    assert {k for k, _ in sizes.candidate_sizes(5, "auto", 40)} == {5}
    learner = cp.HybridRandomFieldLearner(3, "auto").fit(crowd())
    assert learner.k_ == 3
    assert {judged.k_max for judged in learner.sizes_} == {10, 4, 6, 13}
    with raises(ParameterError, parameter="k", value="some"):
        cp.HybridRandomFieldLearner("some").fit(crowd())


def test_weights_are_copies_and_few_rows_are_not_compared():
    table = crowd(60)
    weights = np.arange(60) % 3
    copies = table.take(np.repeat(np.arange(60), weights))
    ours = cp.HybridRandomFieldLearner("auto").fit(table.reweighted(weights)).sizes_
    theirs = cp.HybridRandomFieldLearner("auto").fit(copies).sizes_
    assert [j[:2] for j in ours] == [j[:2] for j in theirs]
    assert [j.value for j in ours] == pytest.approx([j.value for j in theirs])
    few = cp.HybridRandomFieldLearner("auto", "auto").fit(table.take(np.arange(5)))
    assert (few.k_, few.k_max_, few.sizes_) == (8, 10, [])


def test_a_time_limit_leaves_sizes_out():
    learner = cp.HybridRandomFieldLearner("auto", "auto", time_limit=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoppedEarly)
        learner.fit(crowd())
    assert (learner.k_, learner.k_max_, learner.sizes_) == (8, 10, [])
    assert len(learner.model_.schema) == 14
