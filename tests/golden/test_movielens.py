"""The Markov random fields of Freno, Trentin & Gori (KDD 2009) on MovieLens 100k, u1 … u5.

The paper tells 16,396 features on average; counting them by its rules gives 16,394.4.
"""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pytest

import counterpane as cp


@pytest.fixture(scope="module")
def ratings(shared_data):
    path = shared_data / "links" / "movielens100k.csv.gz"
    if not path.exists():
        pytest.skip("the MovieLens links are not among the shared data")
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = [(r["user"], r["item"], r["fold"]) for r in csv.DictReader(file)]
    return np.array(rows, dtype=np.int64).T


@pytest.mark.parametrize(("fold", "edges"), [(1, 4104), (2, 4132), (3, 4073), (4, 4091), (5, 4093)])
def test_partners_by_chi_square(ratings, fold, edges):
    user, item, test_fold = ratings
    codes = np.zeros((1682, 943), dtype=np.uint8)
    kept = test_fold != fold
    codes[item[kept] - 1, user[kept] - 1] = 1
    table = cp.Table(cp.Schema.from_cards([2] * 1682), codes)
    learner = cp.PairwiseMarkovLearner(k=3, max_steps=2).fit(table)
    assert learner.graph_.number_of_edges() == edges
    assert learner.n_features_ == 4 * edges
