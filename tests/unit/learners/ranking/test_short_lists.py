"""Rankers are chosen for short lists of new users, and say what their numbers are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import counterpane as cp
from counterpane.data.links import read_links
from counterpane.errors import ParameterError
from counterpane.learners.ranking.judging import judge_rankers
from error_checks import raises

CANDIDATES = ("hybrid", "naive-bayes", "item-cosine", "item-rank")


def fleets(seed: int, users: int = 600) -> np.ndarray:
    """Six hubs that all users have, and twenty routes of each of three groups."""
    rng = np.random.default_rng(seed)
    kind, size = rng.integers(0, 3, users), rng.choice([0.5, 1.0], users)
    X = np.zeros((users, 66), dtype=np.uint8)
    X[:, :6] = rng.random((users, 6)) < 0.8
    for k in range(3):
        own = 6 + 20 * k + np.arange(20)
        chance = np.where(kind == k, 0.7, 0.03) * size
        X[:, own] = rng.random((users, 20)) < np.outer(chance, np.linspace(0.95, 0.35, 20))
    return X


def precision_of_five(ranker: cp.LinkRanker, test: np.ndarray, known: int) -> float:
    """The share of hidden items among the first five, of users with `known` items shown."""
    rng = np.random.default_rng(9)
    shown = np.zeros_like(test)
    for row, own in zip(shown, test, strict=True):
        row[rng.permutation(np.flatnonzero(own))[:known]] = 1
    scores = np.where(shown > 0, -np.inf, ranker.scores(shown))
    order = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    right = np.take_along_axis(test > shown, order, axis=1).sum(axis=1)
    hidden = (test > shown).sum(axis=1)
    return float((right[hidden > 0] / np.minimum(hidden[hidden > 0], 5)).mean())


@pytest.mark.parametrize("seed", [0, 1])
def test_the_choice_is_good_with_two_known_items(seed: int) -> None:
    X = fleets(seed)
    training, test = X[:450], X[450:]
    chosen = cp.LinkRanker().fit(training)
    value = precision_of_five(chosen, test, 2)
    others = {
        name: precision_of_five(cp.LinkRanker(name).fit(training), test, 2) for name in CANDIDATES
    }
    assert value >= others["item-cosine"] - 0.02
    assert value >= max(others.values()) - 0.03  # about one standard error of 150 users
    first = int(chosen.rank(["item0", "item1"])[0].item.removeprefix("item"))
    assert training[:, [0, 1, first]].all(axis=1).any()


def test_rankers_are_judged_by_few_items_of_users_held_out() -> None:
    X = fleets(0, 200)
    seen: list[np.ndarray] = []

    def fit(table: cp.Table):
        rows = {row.tobytes() for row in np.ascontiguousarray(table.codes.T)}

        def score(codes: np.ndarray) -> np.ndarray:
            assert table.n_rows == 160
            seen.append(codes.sum(axis=0))
            return np.zeros(codes.shape[::-1])

        assert len(rows) <= 160
        return score

    judged = judge_rankers({"none": fit}, read_links(X).table)
    known = np.concatenate(seen)
    assert set(known.tolist()) == {1, 2, 3, 4, 5}
    assert known.size == 1000  # five questions to each user
    assert 0 < judged[0].mrr < 0.2


@pytest.mark.parametrize("kind", ["integers", "booleans", "floats", "polars", "mapping", "file"])
def test_a_frame_of_zeros_and_ones_is_a_table_of_links(kind: str, tmp_path: Path) -> None:
    X = fleets(2, 60)[:, :8]
    names = [f"n{j}" for j in range(7, -1, -1)]
    frame = pd.DataFrame(X, columns=names)
    data = {
        "integers": frame,
        "booleans": frame.astype(bool),
        "floats": frame.astype(float),
        "polars": pl.from_pandas(frame),
        "mapping": {name: X[:, j].tolist() for j, name in enumerate(names)},
        "file": tmp_path / "links.csv",
    }[kind]
    frame.to_csv(tmp_path / "links.csv", index=False)
    table, users = read_links(data)
    assert (table.schema.names, users) == (tuple(names), tuple(range(60)))
    assert table.codes.T.tolist() == X.tolist()
    ranker = cp.LinkRanker("item-cosine").fit(data)
    assert ranker.rank_many(data, top=1) == cp.LinkRanker("item-cosine").fit(
        X, items=names
    ).rank_many(X, top=1)
    assert (ranker.scores(frame[names[::-1]]) == ranker.scores(data)).all()


def test_other_frames_are_edge_lists_as_before() -> None:
    edges = pd.DataFrame({"user": [0, 1, 1], "item": [0, 0, 1]})
    assert read_links(edges).users == (0, 1)
    with raises(ParameterError, parameter="user"):
        read_links(pd.DataFrame({"a": [0, 1], "b": [1, 1], "c": [0, 2]}))


def test_the_command_prints_scores_and_calls_nothing_a_probability(run, tmp_path: Path) -> None:
    users, items = np.nonzero(fleets(0, 80))
    links = pd.DataFrame({"who": users, "what": [f"i{j}" for j in items]})
    links.to_csv(tmp_path / "links.csv", index=False)
    for method in ("hybrid", "item-cosine"):
        flags = ("--user", "who", "--item", "what", "--method", method, "-o", "m.cp")
        assert run("learn", "links.csv", *flags)[0] == 0
        _, out, _ = run("rank", "m.cp", "--chosen", "i0,i1")
        assert "score" in out and "probability" not in out
        expected = cp.LinkRanker.from_model(cp.load(tmp_path / "m.cp")).rank(["i0", "i1"])
        assert f"{expected[0].score:.4f}" in out
