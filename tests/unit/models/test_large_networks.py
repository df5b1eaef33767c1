"""Networks of a thousand columns: all marginals, and questions that touch a small part of them."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp

N = 1041
STATES = [2, 3, 4, 5, 6, 7, 9, 13, 16, 21]
SHARES = [0.1, 0.12, 0.18, 0.2, 0.14, 0.1, 0.06, 0.04, 0.03, 0.03]


@pytest.fixture(scope="module")
def munin_sized():
    """1,041 columns of 2 to 21 states, up to three parents among the twelve columns before."""
    rng = np.random.default_rng(0)
    cards = rng.choice(STATES, N, p=SHARES)
    edges = []
    for v in range(1, N):
        k = int(rng.choice(4, p=[0.15, 0.3, 0.4, 0.15]))
        parents = sorted(set(rng.integers(max(0, v - 12), v, k).tolist()))
        while parents and cards[parents].prod() * cards[v] > 3000:
            parents.pop()
        edges += [(p, v) for p in parents]
    dag = cp.Dag(N, edges)
    tables = []
    for v in range(N):
        shape = cards[list(dag.parents(v))].tolist()
        rows = rng.dirichlet(np.full(cards[v], 0.4), size=int(np.prod(shape)))
        tables.append(rows.reshape(*shape, cards[v]))
    return cp.BayesianNetwork(cp.Schema.from_cards(cards.tolist()), dag, tables)


def test_all_marginals_agree_with_samples(munin_sized):
    answers = munin_sized.marginals(max_memory="1.5 GB")
    assert len(answers) == N and all(a.certainty is None for a in answers.values())
    rows = munin_sized.sample(4000, random_state=0).codes
    for v in range(0, N, 50):
        p = answers[f"x{v}"].probabilities
        shares = np.bincount(rows[v], minlength=p.size) / 4000
        assert np.abs(shares - p).max() < 0.05


def test_a_small_part_has_a_small_plan(munin_sized):
    part = munin_sized.engine.relevant({3, 7})
    assert len(part) <= 8
    assert munin_sized.query("x3", {"x7": 1}).certainty is None
    evidence = {f"x{v}": 0 for v in range(0, N, 60)}
    one = munin_sized.query("x500", evidence)
    every = munin_sized.marginals(evidence)["x500"]
    np.testing.assert_allclose(one.probabilities, every.probabilities, atol=1e-10)
