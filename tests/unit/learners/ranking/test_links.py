"""Links as tables, and rankers on them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sparse

import counterpane as cp
from counterpane.data.links import chosen_codes, read_links
from counterpane.errors import (
    DataError,
    NotFittedError,
    ParameterError,
    UnknownNameError,
)
from counterpane.learners.ranking.counted import NaiveLinks
from error_checks import raises

EDGES = {"user": ["b", "a", "b", "b"], "item": ["öl und salz", "öl und salz", "x", "x"]}
NAMES = [
    "hybrid", "pairwise", "chow-liu", "naive-bayes", "item-cosine", "item-rank", "blend", "auto",
]  # fmt: skip


def baskets(users=60, seed=0):
    """Two kinds of users with four items each, and noise."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, users)
    chance = np.where(np.arange(8)[None, :] // 4 == kind[:, None], 0.8, 0.05)
    return (rng.random((users, 8)) < chance).astype(np.uint8)


def test_edge_lists_of_every_kind(tmp_path):
    path = tmp_path / "links.csv"
    pd.DataFrame(EDGES).to_csv(path, index=False)
    wanted = np.array([[1, 0], [1, 1]])  # items sort as x, ö…
    for edges in (EDGES, pd.DataFrame(EDGES), pl.DataFrame(EDGES), path, str(path)):
        table, users = read_links(edges)
        assert table.schema.names == ("x", "öl und salz")
        assert users == ("a", "b")
        assert table.codes.T.tolist() == wanted[:, ::-1].tolist()


def test_columns_of_links_are_found_or_asked_for():
    frame = pd.DataFrame({"stamp": [1, 2], "cited": ["p", "q"], "citing": ["u", "u"]})
    assert read_links(frame).table.schema.names == ("p", "q")
    plain = pd.DataFrame({"reader": [7, 7], "book": [2, 10]})
    table, users = read_links(plain)
    assert (table.schema.names, users) == (("2", "10"), (7,))
    other = frame.rename(columns={"citing": "who"})
    assert read_links(other, user="who", item="cited").users == ("u",)
    with raises(ParameterError, parameter="user"):
        read_links(other)
    with raises(ParameterError, parameter="user", value="who"):
        read_links(other, user="who")
    with raises(UnknownNameError, parameter="the frame's column", value="whom"):
        read_links(other, user="whom", item="cited")


def test_matrices():
    dense = np.array([[1, 0, 1], [0, 0, 1]])
    wanted = dense.T.tolist()
    for matrix in (dense, dense.astype(bool), sparse.csr_array(dense), sparse.csc_matrix(dense)):
        table, users = read_links(matrix, items=["b", "a", "c"])
        assert (table.schema.names, users) == (("b", "a", "c"), (0, 1))
        assert table.codes.tolist() == wanted
    known = read_links(dense, items=["b", "a", "c"]).table.schema
    again = read_links(dense, items=["c", "b", "a"], schema=known).table
    assert again.codes.tolist() == [wanted[1], wanted[2], wanted[0]]
    with raises(DataError, about=("2 items", "3 columns")):
        read_links(dense, items=["a", "b"])
    with raises(DataError, about="matrix"):
        read_links(dense * 2)
    with raises(DataError, about="3 items"):
        read_links(dense[:, :2], schema=known)
    with raises(DataError, about="1 dimensions"):
        read_links(dense[0])


def test_broken_links_are_refused(monkeypatch):
    with raises(DataError, about=("'item'", "row 1")):
        read_links({"user": ["a", "b"], "item": ["x", None]})
    with raises(UnknownNameError, parameter="column", value="y"):
        read_links({"user": ["a"], "item": ["y"]}, schema=read_links(EDGES).table.schema)
    with pytest.raises(ParameterError, match="has its own names"):
        read_links(EDGES, items=["x"])
    with raises(DataError, about="3 states"):
        read_links(cp.Table(cp.Schema.from_cards([2, 3]), np.zeros((2, 4), dtype=np.uint8)))
    monkeypatch.setattr("counterpane.data.links.DENSE_CELLS", 3)
    assert isinstance(read_links(EDGES).table, cp.Baskets)


def test_chosen_items():
    schema = read_links(EDGES).table.schema
    assert chosen_codes(["x"], schema).tolist() == [1, 0]
    assert chosen_codes([], schema).tolist() == [0, 0]
    with raises(ParameterError, about="'x'"):
        chosen_codes("x", schema)
    with raises(UnknownNameError, parameter="column", value="z"):
        chosen_codes(["z"], schema)


@pytest.mark.parametrize("name", NAMES)
def test_items_of_one_kind_go_together(name):
    ranker = cp.LinkRanker(name).fit(baskets(), items=list("abcdefgh"))
    assert ranker.items_ == tuple("abcdefgh")
    assert ranker.n_users_ == 60
    best = [r.item for r in ranker.rank(["a", "b"], top=2)]
    assert set(best) == {"c", "d"}
    everything = ranker.rank(["e", "f"], top=None)
    assert {r.item for r in everything[:2]} == {"g", "h"}
    assert len(everything) == 6
    scores = [r.score for r in everything]
    assert scores == sorted(scores, reverse=True)
    assert len(ranker.rank([])) == 8
    assert ranker.rank(list("abcdefgh")) == []


@pytest.mark.parametrize("name", NAMES)
def test_many_users_at_once(name, monkeypatch):
    X = baskets()
    ranker = cp.LinkRanker(name).fit(X)
    whole = ranker.scores(X)
    monkeypatch.setattr("counterpane.learners.ranking.ranker.BLOCK_CELLS", 40)
    assert (ranker.scores(sparse.csr_array(X)) == whole).all()
    many = ranker.rank_many(X, top=3)
    for user in (0, 17, 59):
        chosen = [ranker.items_[j] for j in np.flatnonzero(X[user])]
        assert many[user] == ranker.rank(chosen, top=3)
    if ranker.model_ is not None:
        assert whole == pytest.approx(ranker.model_.full_conditionals(
            cp.Table(ranker.model_.schema, np.ascontiguousarray(X.T)))[:, 1::2])  # fmt: skip


def test_naive_bayes_is_equation_10():
    X = baskets(20)
    m = len(X)
    table = read_links(X).table
    found = NaiveLinks().fit(table).link_scores(table.codes)
    for user in range(5):
        for j in range(8):
            count = X[:, j].sum()
            score = np.log((count + 1) / (m + 2))
            for k in range(8):
                if k != j:
                    chance = ((X[:, k] & X[:, j]).sum() + 0.5) / (count + 1)
                    score += np.log(chance if X[user, k] else 1 - chance)
            assert found[user, j] == pytest.approx(score)


def test_naive_bayes_counts_weights_as_rows():
    table = read_links(baskets(20)).table
    weights = np.arange(20) % 3
    repeated = table.take(np.repeat(np.arange(20), weights))
    ours = NaiveLinks().fit(table.reweighted(weights)).link_scores(table.codes)
    assert ours == pytest.approx(NaiveLinks().fit(repeated).link_scores(table.codes))


@pytest.mark.parametrize("name", NAMES)
def test_odd_tables(name):
    """Constants, copies, users of one item and of all, one item, one user."""
    X = baskets(30)
    X = np.column_stack([X, np.zeros(30, dtype=np.uint8), np.ones(30, dtype=np.uint8), X[:, 0]])
    X[0], X[1] = 1, 0
    X[1, 3] = 1
    ranker = cp.LinkRanker(name).fit(X)
    assert np.isfinite(ranker.scores(X)).all()
    one = cp.LinkRanker(name).fit({"user": ["a", "b"], "item": ["x", "x"]})
    assert one.rank(["x"]) == []
    assert [r.item for r in one.rank([])] == ["x"]
    lone = cp.LinkRanker(name).fit({"user": ["a", "a"], "item": ["x", "y"]})
    assert [r.item for r in lone.rank(["x"])] == ["y"]
    assert np.isfinite(lone.rank(["x"])[0].score)


def test_a_saved_model_ranks(tmp_path):
    ranker = cp.LinkRanker("hybrid").fit(baskets())
    ranker.model_.save(tmp_path / "links.cp")
    again = cp.LinkRanker.from_model(cp.load(tmp_path / "links.cp"))
    assert again.rank(["item1"]) == ranker.rank(["item1"])
    other = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    with raises(ParameterError, about="'status'"):
        cp.LinkRanker.from_model(other)


def test_nonsense_is_refused():
    ranker = cp.LinkRanker()
    with raises(NotFittedError, about="LinkRanker"):
        ranker.rank(["a"])
    with raises(AttributeError, about="nonsense"):
        _ = ranker.nonsense
    with raises(UnknownNameError, parameter="learner", value="hybird"):
        cp.LinkRanker("hybird").fit(EDGES)
    with raises(ParameterError, parameter="learner"):
        cp.LinkRanker(cp.ChowLiu).fit(EDGES)
    fitted = cp.LinkRanker("naive-bayes").fit(EDGES)
    with raises(ParameterError, parameter="top", value=0):
        fitted.rank([], top=0)
    with raises(UnknownNameError, parameter="column", value="tea"):
        fitted.rank(["tea"])


def test_the_ranker_is_chosen_by_links_left_out():
    ranker = cp.LinkRanker().fit(baskets(200))
    names = [candidate.name for candidate in ranker.candidates_]
    assert set(names) == {
        "hybrid", "chow-liu", "naive-bayes", "item-cosine", "item-rank", "popularity",
    }  # fmt: skip
    assert ranker.choice_ == names[0] != "popularity"
    assert names[-1] == "popularity"  # the two kinds of users differ
    means = [candidate.mrr for candidate in ranker.candidates_]
    assert means == sorted(means, reverse=True)
    again = cp.LinkRanker().fit(baskets(200))
    assert [c[:3] for c in again.candidates_] == [c[:3] for c in ranker.candidates_]
    rng = np.random.default_rng(0)
    alone = (rng.random((300, 6)) < [0.9, 0.5, 0.3, 0.2, 0.1, 0.1]).astype(np.uint8)
    found = {c.name: c.mrr for c in cp.LinkRanker().fit(alone).candidates_}
    assert found["popularity"] > 0.95 * max(found.values())  # nothing more is to be known
    single = cp.LinkRanker().fit({"user": ["a", "b", "c"], "item": ["x", "x", "y"]})
    assert (single.choice_, single.candidates_) == ("popularity", [])


def test_cosine_and_popularity_by_hand(tmp_path):
    links = {"user": [1, 1, 2, 2, 3, 3, 4], "item": ["a", "b", "a", "b", "a", "c", "c"]}
    cosine = cp.LinkRanker("item-cosine").fit(links)
    scores = dict(cosine.rank(["a"]))
    assert scores["b"] == pytest.approx(2 / np.sqrt(3 * 2), abs=1e-5)
    assert scores["c"] == pytest.approx(1 / np.sqrt(3 * 2), abs=1e-5)
    popular = cp.LinkRanker("popularity").fit(links)
    assert [r.item for r in popular.rank([])] == ["a", "b", "c"]
    for ranker in (cosine, popular, cp.LinkRanker("naive-bayes").fit(links)):
        ranker.save(tmp_path / "r.cp")
        loaded = cp.load(tmp_path / "r.cp")
        assert cp.LinkRanker.from_model(loaded).rank(["a"]) == ranker.rank(["a"])
        with raises(ParameterError, about="probabilities"):
            loaded.query("a")


def test_rankers_are_compared():
    records = cp.evaluate.compare_rankers(baskets(150))
    assert records[-1]["ranker"] == "popularity"
    assert records[0]["behind"] == 0
    assert records[-1]["behind"] + 2 * records[-1]["behind_error"] < 0
    two = cp.evaluate.compare_rankers(baskets(), {"tree": cp.ChowLiu(), "cosine": "item-cosine"})
    assert {record["ranker"] for record in two} == {"tree", "cosine"}
