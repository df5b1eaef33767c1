"""Counts of baskets are those of the table that they stand for; learners find the same models."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse

import counterpane as cp
from counterpane.counts.baskets import BasketCounts
from counterpane.errors import ParameterError
from counterpane.learners.order import intrinsic_order
from counterpane.learners.partners import Partners
from counterpane.models.arrays import arrays_of
from error_checks import raises


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(5)
    dense = (rng.random((400, 30)) < rng.uniform(0.02, 0.3, 30)).astype(np.int8)
    dense[:, 3] = dense[:, 5]  # ties
    dense[:, 7] = 0
    dense[:, 8] = 1
    dense[:, 9] |= dense[:, 10] & (rng.random(400) < 0.8)
    dense[:, 11] &= 1 - dense[:, 12]  # never together
    return dense


@pytest.fixture(scope="module")
def both(matrix):
    baskets = cp.read_baskets(sparse.csr_array(matrix))
    return baskets, baskets.to_table()


def test_counts(both):
    source, table = BasketCounts(both[0]), cp.MemoryCounts(both[1])
    scopes = [(4,), (9, 10), (5, 3, 1), (20, 0, 11, 12, 8)]
    for mine, other in zip(source.counts(scopes), table.counts(scopes), strict=True):
        assert mine.tolist() == other.tolist()
    pairs, others = source.pair_counts([1, 2, 3]), table.pair_counts([1, 2, 3])
    assert pairs.counts.tolist() == others.counts.tolist()
    for columns in ([9], [3, 5, 1], list(range(30))):
        rows, distinct = source.distinct(columns), table.distinct(columns)
        assert rows.codes.tolist() == distinct.codes.tolist()
        assert rows.weights.tolist() == distinct.weights.tolist()
    assert intrinsic_order(source) == intrinsic_order(table)


@pytest.mark.parametrize("k", [1, 4, 29])
def test_relatives(both, k):
    source, table = BasketCounts(both[0]), cp.MemoryCounts(both[1])
    order = intrinsic_order(source)
    expected = Partners(table, k, order=order).of(0, 30, None)
    assert Partners(source, k, order=order).of(0, 30, None).tolist() == expected.tolist()
    assert Partners(source, k, order=order).of(9, 14, None).tolist() == expected[9:14].tolist()


def test_trees_and_fields_are_those_of_the_table(both):
    for learner in (
        cp.DependencyNetworkLearner(k=29, kappa=0.1),
        cp.HybridRandomFieldLearner(k=4),
        cp.PairwiseMarkovLearner(k=2),
    ):
        models = [type(learner)(**learner.get_params()).fit(X).model_ for X in both]
        arrays, others = (arrays_of(model) for model in models)
        for name, array in arrays.items():
            assert array.tolist() == others[name].tolist(), name


def test_regressions_are_those_of_the_table(both):
    """As far as the optimum is unique: without the copy of a column."""
    columns = [i for i in range(30) if i != 3]
    baskets = cp.read_baskets(sparse.csr_array(both[1].codes[columns].T))
    sums = [
        cp.DependencyNetworkLearner("logistic", l1=2.0).fit(X).score_
        for X in (baskets, baskets.to_table())
    ]
    assert sums[0] == pytest.approx(sums[1], rel=1e-4)


def test_a_matrix_goes_to_any_learner(matrix):
    model = cp.ChowLiu().fit(sparse.csr_array(matrix[:, :9])).model_
    frame = {f"item{j}": matrix[:, j] for j in range(9)}
    states = dict.fromkeys(frame, (0, 1))
    expected = cp.ChowLiu().fit(cp.Table.from_frame(frame, states=states)).model_
    assert set(model.dag.edges) == set(expected.dag.edges)
    assert cp.read([{"tea"}, {"tea", "jam"}]).schema.names == ("jam", "tea")


def test_limits_are_said(both):
    with raises(ParameterError, parameter="k", value=63):
        cp.DependencyNetworkLearner(k=63).fit(both[0])
    with raises(ParameterError, about="kappa"):
        cp.DependencyNetworkLearner().fit(both[0], validation=both[1])


@pytest.mark.parametrize("name", ["item-cosine", "naive-bayes", "popularity", "item-rank"])
def test_rankers_by_baskets(both, name, monkeypatch):
    expected = cp.LinkRanker(name).fit(both[1])
    monkeypatch.setattr("counterpane.data.links.DENSE_CELLS", 0)
    ranker = cp.LinkRanker(name).fit(both[0])
    users = [both[0].items_of(row) for row in range(5)]
    for items in users:
        names = [f"item{j}" for j in items]
        mine, other = ranker.rank(names), expected.rank(names)
        assert [r.score for r in mine] == pytest.approx([r.score for r in other])
    many = ranker.rank_many(both[0].take(range(5)))
    assert [r.item for r in many[0]] == [
        r.item for r in ranker.rank([f"item{j}" for j in users[0]])
    ]


def test_the_choice_of_a_ranker_by_baskets(both, monkeypatch):
    expected = {j.name: j.mrr for j in cp.LinkRanker().fit(both[1]).candidates_}
    monkeypatch.setattr("counterpane.data.links.DENSE_CELLS", 0)
    for judged in cp.LinkRanker().fit(both[0]).candidates_:
        assert judged.mrr == pytest.approx(expected[judged.name])
