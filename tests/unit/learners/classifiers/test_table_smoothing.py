"""No classifier ends below the classes' shares; tables of many states are smoothed by principle."""

from __future__ import annotations

import math

import numpy as np
import pytest

import counterpane as cp
from counterpane.learners.classifiers.table_smoothing import (
    SHARES,
    STRENGTHS,
    ShareLosses,
    best_share,
    feature_tables,
)

MAKERS = [
    cp.NaiveBayes,
    cp.TAN,
    cp.BayesNetClassifier,
    cp.MarkovClassifier,
    cp.InteractionClassifier,
]


def nasty(kind: str, seed: int = 0, n: int = 500) -> dict[str, np.ndarray]:
    """Columns that invite a classifier to believe too much, and the class "y"."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.35
    frame = {}
    if kind == "ids":
        frame["id"] = np.char.add("s", rng.integers(0, 150, n).astype(str))
        frame |= {name: rng.integers(0, 3, n).astype(str) for name in "abc"}
    elif kind == "noise":
        frame |= {f"x{j}": rng.integers(0, 4, n).astype(str) for j in range(12)}
    elif kind == "few":
        y = y[:30]
        frame |= {f"x{j}": rng.integers(0, 3, 30).astype(str) for j in range(8)}
    elif kind == "classes":
        y = rng.integers(0, 25, n)
        frame |= {f"x{j}": rng.integers(0, 5, n).astype(str) for j in range(5)}
    elif kind == "copies":
        same = np.where(rng.random(n) < 0.6, y, ~y).astype(str)
        frame |= {f"x{j}": same for j in range(12)}
    return {**frame, "y": y.astype(str)}


def held_out_gain(make, frame, folds=4):
    """The mean gain over the classes' shares on held-out rows, in nats, and its standard error."""
    n = len(frame["y"])
    fold = np.random.default_rng(1).permutation(n) % folds
    gains = []
    for k in range(folds):
        train = {name: cells[fold != k] for name, cells in frame.items()}
        test = {name: cells[fold == k] for name, cells in frame.items()}
        classifier = make().fit(train, "y")
        classes, counts = np.unique(train["y"], return_counts=True)
        assert classifier.classes_.tolist() == classes.tolist()
        place = np.searchsorted(classes, test["y"])
        logs = classifier.predict_log_proba({c: v for c, v in test.items() if c != "y"})
        shares = np.log(counts / counts.sum())
        gains.append(logs[np.arange(len(place)), place] - shares[place])
    each = np.concatenate(gains)
    return each.mean(), each.std() / math.sqrt(len(each))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("kind", ["ids", "noise", "few", "classes", "copies"])
def test_no_classifier_is_worse_than_the_classes_shares(make, kind):
    mean, error = held_out_gain(make, nasty(kind))
    assert mean > -2 * error - 0.005


def test_a_tree_with_a_column_of_many_states_keeps_what_the_others_say():
    rng = np.random.default_rng(3)
    n = 600
    y = rng.random(n) < 0.4
    frame = {
        "id": np.char.add("s", rng.integers(0, 150, n).astype(str)),
        "a": np.where(rng.random(n) < 0.8, y, ~y).astype(str),
        "y": y.astype(str),
    }
    mean, error = held_out_gain(cp.TAN, frame)
    alone, _ = held_out_gain(cp.TAN, {"a": frame["a"], "y": frame["y"]})
    assert mean > 5 * error
    assert mean > alone - 0.02


def test_the_saved_network_answers_as_the_classifier(tmp_path):
    frame = nasty("ids")
    frame["b"] = np.where(np.random.default_rng(9).random(500) < 0.8, frame["y"], "no")
    classifier = cp.TAN().fit(frame, "y")
    assert 0 < classifier.share_ <= 1
    classifier.model_.save(tmp_path / "m.cp")
    features = {name: cells for name, cells in frame.items() if name != "y"}
    again = cp.load(tmp_path / "m.cp").predict_proba(features)
    assert np.allclose(again, classifier.predict_proba(features))


def test_a_share_of_zero_says_the_classes_shares():
    classifier = cp.NaiveBayes().fit(nasty("noise"), "y")
    assert classifier.share_ == 0
    proba = classifier.predict_proba({k: v for k, v in nasty("noise").items() if k != "y"})
    assert np.allclose(proba, proba[0])


def test_tables_stay_unless_held_out_rows_speak_against_it():
    values = np.full((len(SHARES), 100), 0.6)
    values[0] = 0.5
    values[2] = 0.4
    values[1] = 0.4 + np.tile([-0.3, 0.31], 50)  # 0.005 worse, give or take 0.03
    assert best_share(ShareLosses(values, np.ones(100))) == SHARES[1]
    values[-1] = values[1]  # and the classes' shares alone are as good
    assert best_share(ShareLosses(values, np.ones(100))) == 0


def test_answers_keep_the_shares_of_the_rows_and_their_intervals():
    for make in (cp.NaiveBayes, cp.TAN):
        model = make().fit(cp.load_dataset("titanic"), "survived").model_
        answer = cp.query_interval(model, "survived", {"sex": "female"})
        assert answer.mean["yes"] == pytest.approx(0.7319, abs=0.005)
        assert answer.lower["yes"] < 0.7319 < answer.upper["yes"]


def test_a_strength_is_the_best_of_left_out_rows():
    rng = np.random.default_rng(0)
    counts = rng.poisson(3, (4, 2, 3)).astype(float)  # (parent, class, child)
    given, plain = feature_tables(counts, 1, 1.0, 1)

    def naive(table, lower, strength):
        total = 0.0
        for cell, n in np.ndenumerate(table):
            context = table[cell[:-1]].sum() - 1
            around = np.broadcast_to(lower, table.shape)[cell]
            total += n and n * math.log((n - 1 + strength * around) / (context + strength))
        return total

    def level(table, lower):
        """(values, values with a row of the cell left out) of the best strength, or the lower."""
        kept = np.broadcast_to(lower[1], table.shape)
        least = (table * np.log(kept)).sum()
        best = max(STRENGTHS, key=lambda a: naive(table, lower[1], a))
        if naive(table, lower[1], best) <= least:
            return tuple(np.broadcast_to(t, table.shape) for t in lower)
        context, less = table.sum(-1, keepdims=True), np.maximum(table - 1, 0)
        full = (table + best * lower[0]) / (context + best)
        return full, (less + best * lower[1]) / (np.maximum(context - 1, 0) + best)

    totals = counts.sum((0, 1))
    n = totals.sum()
    base = ((totals + 1 / 3) / (n + 1), (totals - 1 + 1 / 3) / n)
    by_class = level(counts.sum(0, keepdims=True), base)
    assert np.allclose(given.full, level(counts, by_class)[0])
    assert np.allclose(plain.full, level(counts.sum(1, keepdims=True), base)[0])
    assert np.allclose(given.full.sum(-1), 1)
