"""Ranks and degrees of agreement against their definitions."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest

from counterpane.errors import ParameterError
from counterpane.evaluate import degree_of_agreement, mean_reciprocal_rank, reciprocal_ranks
from error_checks import raises


def drawn(seed, users=6, items=7, levels=4):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, levels, (users, items)).astype(float)
    kind = rng.integers(0, 3, (users, items))  # never, chosen, in the test
    kind[:, 0] = 0
    kind[:, 1] = 2
    return scores, kind == 1, kind == 2


@pytest.mark.parametrize("seed", range(3))
def test_the_expected_rank_is_the_mean_over_orders_of_ties(seed):
    scores, chosen, _ = drawn(seed, items=5, levels=2)
    chosen[:, 1] = False
    found = reciprocal_ranks(scores, np.ones(6, dtype=int), chosen)
    worst = reciprocal_ranks(scores, np.ones(6, dtype=int), chosen, ties="worst")
    for user in range(6):
        free = [j for j in range(5) if not chosen[user, j]]
        orders = [
            o
            for o in permutations(free)
            if all(scores[user, a] >= scores[user, b] for a, b in pairwise(o))
        ]
        ranks = [o.index(1) + 1 for o in orders]
        assert found[user] == pytest.approx(np.mean([1 / r for r in ranks]))
        assert worst[user] == 1 / max(ranks)
    assert mean_reciprocal_rank(scores, np.ones(6, dtype=int), chosen) == pytest.approx(
        found.mean()
    )


@pytest.mark.parametrize("seed", range(3))
def test_agreement_counts_pairs_in_strict_order(seed):
    scores, chosen, test = drawn(seed)
    shares, right, pairs = [], 0, 0
    for own, has, wants in zip(scores, chosen, test, strict=True):
        ins, outs = np.flatnonzero(wants), np.flatnonzero(~(has | wants))
        good = sum(own[j] > own[k] for j in ins for k in outs)
        shares.append(good / (ins.size * outs.size))
        right, pairs = right + good, pairs + ins.size * outs.size
    found = degree_of_agreement(scores, chosen, test)
    assert found == pytest.approx((np.mean(shares), right / pairs))


def test_users_without_a_comparison_are_left_out():
    scores = np.array([[2.0, 1.0], [1.0, 2.0], [0.0, 1.0]])
    chosen = np.array([[0, 0], [0, 0], [1, 0]])
    test = np.array([[1, 0], [0, 0], [0, 1]])
    assert degree_of_agreement(scores, chosen, test) == (1.0, 1.0)
    with raises(ParameterError, about="compared"):
        degree_of_agreement(scores[1:], chosen[1:], test[1:])


def test_nonsense_is_refused():
    scores, flags = np.zeros((2, 3)), np.zeros((2, 3), dtype=bool)
    with raises(ParameterError, about=("(2, 3)", "(2, 2)")):
        degree_of_agreement(scores, flags[:, :2], flags)
    with raises(ParameterError, about="NaN"):
        degree_of_agreement(scores * np.nan, flags, flags)
    with raises(ParameterError, about=("user 0", "item 0")):
        degree_of_agreement(scores, ~flags, ~flags)
    with raises(ParameterError, about="wanted"):
        reciprocal_ranks(scores, [0, 3], flags)
    with raises(ParameterError, about=("user 1", "item 2")):
        reciprocal_ranks(scores, [0, 2], np.array([[False] * 3, [False, False, True]]))
    with raises(ParameterError, parameter="ties", value="best"):
        reciprocal_ranks(scores, [0, 1], flags, ties="best")
