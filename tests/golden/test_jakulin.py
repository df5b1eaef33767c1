"""The two published structures, and the numbers that an independent script found for them."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp

LINES = [(0, 1, 2), (6, 7, 8), (0, 3, 6), (2, 5, 8), (1, 4, 7), (3, 4, 5), (0, 4, 8), (2, 4, 6)]


def train_loss(learner, table, target):
    labels = table.codes[table.schema.index(target)].astype(int)
    return -learner.predict_log_proba(table)[np.arange(table.n_rows), labels].mean()


def test_titanic():
    table = cp.load_dataset("titanic")
    learner = cp.MarkovClassifier().fit(table, "survived")
    steps = [r for r in learner.trace_ if "hyperedge" in r][:5]
    assert [set(r["hyperedge"]) for r in steps] == [
        {"sex"}, {"status"}, {"age"}, {"status", "sex"}, {"status", "age"},
    ]  # fmt: skip
    found = [r["log_posterior"] for r in steps]
    expected = [-1169.497, -1147.169, -1144.737, -1081.538, -1063.116]
    assert found == pytest.approx(expected, abs=1e-3)
    assert [r["df"] for r in steps] == [2, 5, 6, 9, 12]
    assert learner.log_posterior_ == pytest.approx(-1063.116, abs=1e-3)
    posteriors = [s["posterior"] for s in learner.structures_]
    assert posteriors == pytest.approx([0.823, 0.126, 0.051], abs=1e-3)
    assert [s["df"] for s in learner.structures_] == [12, 16, 13]
    best = cp.MarkovClassifier(average=False).fit(table, "survived")
    assert train_loss(best, table, "survived") == pytest.approx(0.4775, abs=5e-5)


def test_titanic_with_hyperedges_of_three():
    learner = cp.MarkovClassifier(max_order=3).fit(cp.load_dataset("titanic"), "survived")
    posteriors = [s["posterior"] for s in learner.structures_]
    assert posteriors == pytest.approx([0.94, 0.06], abs=5e-3)


def test_tic_tac_toe():
    table = cp.load_dataset("tictactoe")
    target = table.schema.names[-1]
    place = {name: i for i, name in enumerate(table.schema.names)}
    learner = cp.MarkovClassifier(average=False).fit(table, target)
    found = [tuple(sorted(place[name] for name in h)) for h in learner.hyperedges_]
    by_size = {k: sorted(h for h in found if len(h) == k) for k in (1, 2, 3)}
    assert by_size[1] == [(0,), (2,), (4,), (6,), (8,)]  # the corners and the center
    assert by_size[2] == [(0, 4), (2, 4), (4, 6), (4, 8)]
    assert len(by_size[3]) == 6
    assert set(by_size[3]) <= set(LINES)
    assert learner.log_posterior_ == pytest.approx(-199.084, abs=1e-3)
    assert learner.structures_[0]["df"] == 137
    assert train_loss(learner, table, target) == pytest.approx(0.0407, abs=5e-5)
