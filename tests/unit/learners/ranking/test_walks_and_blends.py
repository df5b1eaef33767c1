"""Random walks against dense algebra, blends by hand, and choices on held-out users."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.data.links import read_links
from counterpane.errors import ParameterError
from counterpane.learners.ranking import walk_scores
from counterpane.learners.ranking.blend import BlendedLinks
from counterpane.learners.ranking.held_out_users import folds_of_users, judge_on_users
from counterpane.learners.ranking.item_rank import ItemRank
from error_checks import raises


def shelves(users=80, n=12, seed=0):
    """Users prefer the items of one of three shelves."""
    rng = np.random.default_rng(seed)
    shelf = rng.integers(0, 3, users)
    chance = np.where(np.arange(n)[None, :] % 3 == shelf[:, None], 0.6, 0.08)
    return (rng.random((users, n)) < chance).astype(np.uint8)


def dense_walk(X, rows, damping):
    """The walks of Gori & Pucci: x = a C x + (1 − a) d, the columns of C summing to 1."""
    together = X.T.astype(float) @ X
    np.fill_diagonal(together, 0.0)
    sums = together.sum(axis=0)
    chances = together / np.where(sums > 0, sums, 1.0)
    starts = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    system = np.eye(X.shape[1]) - damping * chances
    return (1 - damping) * np.linalg.solve(system, starts.T).T


@pytest.mark.parametrize("damping", [0.0, 0.5, 0.85])
@pytest.mark.parametrize("most", [0, walk_scores.MAX_DENSE])
def test_a_walk_is_the_solution_of_its_equations(damping, most, monkeypatch):
    monkeypatch.setattr(walk_scores, "MAX_DENSE", most)  # 0: by steps
    X = np.column_stack([shelves(), np.zeros(80, dtype=np.uint8)])  # an item that nobody has
    X[0] = 0
    model = ItemRank(damping).fit(read_links(X).table).scores_
    visits = model.visits(np.ascontiguousarray(X.T))
    assert visits == pytest.approx(dense_walk(X, X, damping), abs=1e-10)
    some = X.any(axis=1)  # their walkers are always somewhere, as no item is a dead end
    assert visits[some].sum(axis=1) == pytest.approx(np.ones(some.sum()))
    assert not visits[~some].any()
    assert not some.all()


def test_a_walk_goes_beyond_pairs(tmp_path):
    links = {"user": [1, 1, 2, 2, 3, 3, 4], "item": ["a", "b", "b", "c", "d", "e", "e"]}
    near, far = cp.LinkRanker("item-cosine").fit(links), cp.LinkRanker("item-rank").fit(links)
    assert dict(near.rank(["a"]))["c"] < 1e-5
    assert [r.item for r in far.rank(["a"])] == ["b", "c", "e", "d"]  # then by popularity
    far.save(tmp_path / "walk.cp")
    loaded = cp.load(tmp_path / "walk.cp")
    assert cp.LinkRanker.from_model(loaded).rank(["a"]) == far.rank(["a"])
    with raises(ParameterError, about="probabilities"):
        loaded.query("a")
    with raises(ParameterError, parameter="damping", value=1):
        ItemRank(1).fit(read_links(links).table)


def test_weights_are_copies_of_users():
    table = read_links(shelves(20)).table
    weights = np.arange(20) % 3
    copies = table.take(np.repeat(np.arange(20), weights))
    ours = ItemRank().fit(table.reweighted(weights)).scores_.link_scores(table.codes)
    assert ours == pytest.approx(ItemRank().fit(copies).scores_.link_scores(table.codes))


def test_a_blend_is_a_mean_chance_and_a_walk(tmp_path):
    X = shelves()
    table = read_links(X).table
    learner = BlendedLinks(3, random_state=4).fit(table)
    model = learner.scores_
    assert (model.weight, model.damping) == (learner.weight_, learner.damping_)
    codes = np.ascontiguousarray(table.codes)
    fields = [np.exp(f.full_conditionals(table)[:, 1::2]) for f in model.fields]
    assert len(fields) == 3
    walk = dense_walk(X, X, model.damping) + model.constants
    expected = np.log(np.mean(fields, axis=0)) + model.weight * np.log(walk)
    assert learner.link_scores(codes) == pytest.approx(expected)
    assert not np.array_equal(fields[0], fields[1])  # of other samples
    model.save(tmp_path / "blend.cp")
    assert cp.load(tmp_path / "blend.cp").link_scores(codes) == pytest.approx(expected)
    with raises(ParameterError, about="n_samples=-1"):
        BlendedLinks(-1).fit(table)


def test_the_weight_of_a_blend_is_the_best_on_held_out_users():
    learner = BlendedLinks(2).fit(read_links(shelves()).table)
    chosen = learner.settings_[learner.weight_, learner.damping_]
    assert chosen == max(learner.settings_.values())
    assert len(learner.settings_) == 16
    alone = BlendedLinks(0).fit(read_links(shelves()).table)
    assert alone.weight_ > 0
    few = BlendedLinks(2).fit(read_links({"user": ["a", "a"], "item": ["x", "y"]}).table)
    assert few.settings_ == {}


def test_held_out_users_have_no_part_in_the_training():
    X = shelves()
    X[5] = 0
    table = read_links(X).table
    folds = list(folds_of_users(table, seed=1))
    assert sum(80 - fold.training.n_rows for fold in folds) == 80
    several = X[X.sum(axis=1) > 1]
    assert sum(len(fold.items) for fold in folds) == several.sum()
    for fold in folds:
        assert (fold.codes[fold.items, np.arange(len(fold.items))] == 0).all()
        whole = fold.codes.copy()
        whole[fold.items, np.arange(len(fold.items))] = 1
        left = [tuple(row) for row in fold.training.codes.T]
        held = whole[:, np.unique(fold.users, return_index=True)[1]].T
        everyone = [tuple(row) for row in X]
        for row in map(tuple, held):
            assert left.count(row) < everyone.count(row)
    perfect = folds[0].mrr(lambda codes: {"oracle": _oracle(codes, folds[0])})
    assert perfect == {"oracle": 1.0}
    assert judge_on_users(lambda _: lambda codes: {}, table) == {}


def _oracle(codes, fold):
    """Scores that put the link that was left out first."""
    scores = np.zeros(codes.shape[::-1])
    scores[np.arange(len(fold.items)), fold.items] = 1.0
    return scores


def test_sizes_of_a_ranking_field_are_chosen_by_reciprocal_ranks():
    X = shelves(120, 20)
    ranker = cp.LinkRanker(cp.HybridRandomFieldLearner("auto", "auto")).fit(X)
    assert {size[:2] for size in ranker.sizes_} == {(8, 10), (2, 4), (4, 6), (8, 16), (16, 19)}
    best = ranker.sizes_[0]
    assert best.value == max(size.value for size in ranker.sizes_)
    assert (ranker.learner_.k_, ranker.learner_.k_max_) == best[:2]

    def fit(training):
        field = cp.HybridRandomFieldLearner(*best[:2]).fit(training).model_
        return lambda codes: {0: field.engine.blanket.full_conditionals(codes)[:, 1::2]}

    assert judge_on_users(fit, read_links(X).table)[0] == best.value
    assert cp.LinkRanker("hybrid").fit(X).sizes_ == []
