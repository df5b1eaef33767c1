"""Markov networks of hyperedges beside sums over every joint state and every structure."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import counterpane as cp
from counterpane.learners.markov.hyperedge_search import HyperedgeSearch
from counterpane.progress import Control
from error_checks import raises
from reference.hyperedge_reference import JointReference


def _table(rng: np.random.Generator, cards: list[int], rows: int) -> cp.Table:
    """Columns that depend on others in a ring, some of them as an exclusive or."""
    codes = np.array([rng.integers(0, card, rows) for card in cards])
    for j in range(1, len(cards)):
        copied = rng.random(rows) < rng.uniform(0.2, 0.8)
        source = codes[j - 1] + (codes[j - 2] if rng.random() < 0.5 else 0)
        codes[j, copied] = (source % cards[j])[copied]
    schema = cp.Schema([cp.Variable(f"x{j}", tuple(range(c))) for j, c in enumerate(cards)])
    return cp.Table(schema, codes.astype(np.uint16))


def _reference(table: cp.Table, **options: object) -> JointReference:
    rows = [tuple(row) for row in table.codes.T.tolist()]
    return JointReference(rows, [1.0] * len(rows), table.schema.cards.tolist(), **options)


@pytest.mark.parametrize("seed", range(6))
def test_climb_is_that_of_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = _table(rng, rng.integers(2, 4, 4).tolist(), 120)
    prior = ("aicc", "orthodox")[seed % 2]
    learner = cp.MarkovNetworkLearner(prior=prior).fit(table)
    reference = _reference(table, prior=prior)
    chosen, score = reference.climb(3)
    assert learner.hyperedges_ == [tuple(f"x{c}" for c in edge) for edge in chosen]
    assert learner.score_ == pytest.approx(score, abs=1e-6)
    assert learner.df_ == reference.freedom(chosen)


@pytest.mark.parametrize("seed", range(4))
def test_model_is_the_normalized_product_of_regions(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    table = _table(rng, [2, 3, 2, 2], 200)
    learner = cp.MarkovNetworkLearner(prior="orthodox", max_order=2).fit(table)
    edges = [tuple(int(name[1:]) for name in edge) for edge in learner.hyperedges_]
    expected = _reference(table).distribution(edges)
    states = list(product(*map(range, table.schema.cards.tolist())))
    every = cp.Table(table.schema, np.array(states).T.astype(np.uint16))
    np.testing.assert_allclose(
        np.exp(learner.model_.score_samples(every)), [expected[s] for s in states], rtol=1e-9
    )


def test_a_cycle_is_normalized() -> None:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (4, 4000))
    for _ in range(30):  # Gibbs sampling of a ring of four columns
        for j in range(4):
            pull = 1.2 * (codes[(j + 1) % 4] + codes[(j - 1) % 4] - 1)
            codes[j] = rng.random(4000) < 1 / (1 + np.exp(-2 * pull))
    schema = cp.Schema([cp.Variable(name, (0, 1)) for name in "abcd"])
    table = cp.Table(schema, codes.astype(np.uint16))
    learner = cp.MarkovNetworkLearner(max_order=2).fit(table)
    assert {frozenset("ab"), frozenset("bc"), frozenset("cd"), frozenset("ad")} <= set(
        map(frozenset, learner.hyperedges_)
    )
    assert abs(learner.model_.log_partition) > 1e-3  # the product itself does not add up to 1
    every = cp.Table(schema, np.array(list(product((0, 1), repeat=4))).T.astype(np.uint16))
    assert np.exp(learner.model_.score_samples(every)).sum() == pytest.approx(1.0)
    free = learner.df_
    fit = float(learner.model_.score_samples(table).sum())
    assert learner.score_ == pytest.approx(fit - 4000 * free / (4000 - free - 1))


def test_no_structure_is_better_on_titanic() -> None:
    table = cp.load_dataset("titanic")
    learner = cp.MarkovNetworkLearner(max_order=4).fit(table)
    distinct = table.distinct()
    rows = [tuple(row) for row in distinct.codes.T.tolist()]
    reference = JointReference(rows, distinct.weights.tolist(), table.schema.cards.tolist())
    assert learner.score_ == pytest.approx(reference.best(), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_climb_never_exceeds_the_best_of_all_structures(seed: int) -> None:
    table = _table(np.random.default_rng(seed), [2, 2, 3], 80)
    learner = cp.MarkovNetworkLearner(max_order=3).fit(table)
    assert learner.score_ <= _reference(table).best() + 1e-6


def test_exclusive_or_of_two_columns_is_one_hyperedge_of_three() -> None:
    a, b = np.array(list(product((0, 1), repeat=2)) * 100).T
    frame = {"a": a, "b": b, "c": a ^ b}  # no column tells of another, two tell of the third
    learner = cp.MarkovNetworkLearner().fit(cp.read(frame))
    assert learner.hyperedges_ == [("a", "b", "c")]
    assert learner.model_.query("c", {"a": 1, "b": 1})[0] > 0.99
    assert cp.MarkovNetworkLearner(max_order=2).fit(cp.read(frame)).hyperedges_ == []


def test_trees_larger_than_the_limit_are_left_out() -> None:
    table = _table(np.random.default_rng(3), [2, 2, 2, 2, 2], 2000)
    free = cp.MarkovNetworkLearner().fit(table)
    narrow = cp.MarkovNetworkLearner(max_cells=7).fit(table)  # three columns have 8 cells or more
    assert max(map(len, free.hyperedges_)) == 3
    assert max(map(len, narrow.hyperedges_)) == 2
    assert max(dict(narrow.graph_.degree).values()) == 1
    assert narrow.score_ < free.score_
    with raises(cp.errors.ParameterError, parameter="max_cells", value=0):
        cp.MarkovNetworkLearner(max_cells=0).fit(table)


def test_an_interrupted_climb_goes_on(tmp_path: Path) -> None:
    table = _table(np.random.default_rng(8), [2, 3, 2, 3, 2], 300)
    expected = cp.MarkovNetworkLearner().fit(table)
    file = tmp_path / "climb.cp"
    with pytest.warns(cp.StoppedEarly):
        cp.MarkovNetworkLearner(time_limit=1e-9, checkpoint=file).fit(table)
    again = cp.MarkovNetworkLearner(checkpoint=file).fit(table)
    assert again.hyperedges_ == expected.hyperedges_
    assert again.score_ == expected.score_


def test_a_state_in_the_middle_can_be_taken_up_by_another_search() -> None:
    source = cp.MemoryCounts(_table(np.random.default_rng(9), [2, 3, 2, 3], 300))
    first = HyperedgeSearch(source)
    state, states = first.start(), []
    control = Control()
    while not first.done(state):
        states.append(state)
        state, _ = first.step(state, control)
    other = HyperedgeSearch(source)
    middle = states[len(states) // 2]
    while not other.done(middle):
        middle, _ = other.step(middle, control)
    assert other.structure(middle).hyperedges == first.structure(state).hyperedges
    assert middle.log_posterior == state.log_posterior
