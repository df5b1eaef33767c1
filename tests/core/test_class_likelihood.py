"""The conditional likelihood of a class beside products of all families."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane._core import classifiers
from reference.classifier_reference import (
    class_posterior,
    conditional_log_likelihood,
    is_acyclic,
    moves_into,
)

CODES = [np.uint8, np.uint16, np.uint32]
CARDS = [2, 3, 2, 3]
PRIOR = 1.5


def make_rows(seed, n=30):
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, r, n) for r in CARDS])
    return codes, rng.random(n) * 3


def random_network(rng):
    order = rng.permutation(len(CARDS))
    parents = [()] * len(CARDS)
    for k, v in enumerate(order):
        some = rng.permutation(order[:k])[: rng.integers(1, 3)]
        parents[v] = tuple(int(p) for p in some)
    assert is_acyclic(parents)
    return parents


def padded(parents):
    return np.array([[*family, -1, -1][:2] for family in parents])


def ancestors(parents):
    above = np.zeros((len(parents), len(parents)), dtype=bool)
    for _ in parents:
        for v, family in enumerate(parents):
            for p in family:
                above[v] |= above[p]
                above[v, p] = True
    return above


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("seed", range(5))
def test_fill_posterior(dtype, seed):
    codes, weights = make_rows(seed)
    parents = random_network(np.random.default_rng(seed))
    rows = [tuple(r) for r in codes.T.tolist()]
    out = np.empty((len(rows), CARDS[-1]))
    score = classifiers.fill_posterior(
        codes.astype(dtype), weights, np.array(CARDS), PRIOR, padded(parents), out
    )
    posterior = class_posterior(rows, weights, CARDS, parents, PRIOR)
    assert out == pytest.approx(np.array([posterior(row) for row in rows]), rel=1e-11)
    expected = conditional_log_likelihood(rows, weights, CARDS, parents, PRIOR)
    assert score == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("dtype", CODES)
def test_best_move(dtype):
    rng = np.random.default_rng(0)
    kinds = set()
    for seed in range(40):
        codes, weights = make_rows(seed, n=12)
        rows = [tuple(r) for r in codes.T.tolist()]
        parents = random_network(rng)
        data = codes.astype(dtype), weights, np.array(CARDS), PRIOR, padded(parents)
        posterior = np.empty((len(rows), CARDS[-1]))
        now = classifiers.fill_posterior(*data, posterior)
        for child in range(len(CARDS)):
            move = np.empty(2, dtype=np.int64)
            gain = classifiers.best_move(
                *data, ancestors(parents), posterior, child, 1000, 0.0, move
            )
            gains = {
                (kind, p): conditional_log_likelihood(rows, weights, CARDS, network, PRIOR) - now
                for kind, p, network in moves_into(parents, child)
            }
            assert gain == pytest.approx(max([0.0, *gains.values()]), abs=1e-9)
            if gain > 1e-6:
                assert gains[tuple(move.tolist())] == pytest.approx(gain, abs=1e-9)
                kinds.add(int(move[0]))
    assert kinds == {classifiers.ADD, classifiers.DROP, classifiers.TURN}


def test_tables_above_the_limit_are_not_looked_at():
    codes, weights = make_rows(1, n=200)
    codes[3] = (codes[0] + codes[1]) % 3
    data = codes.astype(np.uint8), weights, np.array(CARDS), PRIOR, np.full((4, 2), -1)
    posterior = np.empty((200, 3))
    classifiers.fill_posterior(*data, posterior)
    move = np.empty(2, dtype=np.int64)
    above = np.zeros((4, 4), dtype=bool)
    assert classifiers.best_move(*data, above, posterior, 3, 8, 0.0, move) > 0
    assert move[1] in (0, 2)
    assert classifiers.best_move(*data, above, posterior, 3, 5, 0.0, move) == 0.0
    assert move[0] == 0
