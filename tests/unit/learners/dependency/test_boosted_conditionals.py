"""Boosted conditionals: tables against the trees' own scores, stopping, odd tables, conversion."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import ParameterError
from counterpane.learners.boosting.fold_boosting import by_class, log_softmax
from counterpane.learners.dependency import boosted
from counterpane.learners.dependency.boosted import BoostedSearch
from counterpane.learners.driver import StoppedEarly
from error_checks import raises


def make_table(seed, cards, rows, noise=0.3, weights=None):
    """Columns that lean on the sum of the two before: pairs alone do not tell it."""
    rng = np.random.default_rng(seed)
    codes = np.zeros((len(cards), rows), dtype=np.uint8)
    for v, r in enumerate(cards):
        before = codes[max(v - 2, 0) : v].sum(axis=0)
        codes[v] = np.where(rng.random(rows) < noise, rng.integers(0, r, rows), before % r)
    return cp.Table(cp.Schema.from_cards(cards), codes, weights)


def learn(table, validation=None, **options):
    learner = cp.DependencyNetworkLearner("boosted", **options)
    return learner.fit(table, validation=validation)


def search_of(table, validation=None):
    distinct = table.distinct()
    order = range(len(table.schema))
    return BoostedSearch(
        distinct, order, validation=validation, partners=None, kappas=[0.01], min_count=10,
        prior=1, seed=0, n_jobs=1,
    )  # fmt: skip


def tables_of(parts):
    return [part for part in parts if isinstance(part, cp.features.Potential)]


def mean_pll(model, table):
    return float(model.pseudo_log_likelihood(table, total=True).mean())


@pytest.mark.parametrize("room", [2**24, 500, 1])
@pytest.mark.parametrize("cards", [(2,) * 6, (2, 3, 4, 2, 8), (5, 1, 2, 3)], ids=str)
def test_tables_are_the_scores_of_the_trees(cards, room, monkeypatch):
    """The sum of tables is the sum of trees, on every row, seen or not."""
    monkeypatch.setattr(boosted, "MAX_ROOM", room)
    search = search_of(make_table(0, cards, 400))
    cells = np.array(list(product(*map(range, cards))))
    for v, card in enumerate(cards):
        if card == 1:
            continue
        columns, longest = search._columns(v)
        rows = search._rows(v, columns)
        shape = boosted.TreeShape(boosted.LEAVES, longest, boosted.COLUMN_SHARE)
        fit = search._start(-1, None, rows, shape, 0).fit
        bins = np.ascontiguousarray(cells[:, columns] + 1, dtype=np.uint8)
        expected = log_softmax(by_class(fit.scores(bins, fit.rounds)))
        scores = np.zeros((len(cells), card))
        for table in boosted.leaf_tables(fit, columns, v, np.array(cards)):
            *others, last = table.scope
            assert last == v
            assert len(others) <= 3
            scores += table.log_values[tuple(cells[:, others].T)]
        np.testing.assert_allclose(log_softmax(scores), expected, atol=1e-5)


def test_no_table_is_over_columns_of_another():
    model = learn(make_table(1, (2,) * 8, 600)).model_
    for parts in model.conditionals:
        scopes = [set(part.scope) for part in tables_of(parts)]
        assert not any(a < b or (a == b and a is not b) for a in scopes for b in scopes)


def test_interactions_that_no_pair_shows_are_learned():
    """x2 = x0 xor x1 with noise: a regression cannot tell it, trees of two columns do."""
    train, test = make_table(2, (2,) * 5, 4000, 0.1), make_table(3, (2,) * 5, 4000, 0.1)
    boosted_pll = mean_pll(learn(train).model_, test)
    logistic = cp.DependencyNetworkLearner("logistic").fit(train).model_
    assert boosted_pll > mean_pll(logistic, test) + 0.2


def at_least_one(seed, rows=6000, n=12):
    """Rows of rare ones in which some column is one: with eleven zeros the twelfth is certain."""
    codes = (np.random.default_rng(seed).random((n, 3 * rows)) < 0.1).astype(np.uint8)
    codes = codes[:, codes.any(axis=0)][:, :rows]
    return cp.Table(cp.Schema.from_cards([2] * n), codes)


@pytest.mark.parametrize("validated", [True, False])
def test_dependences_of_many_columns_are_learned_from_a_tree(validated, monkeypatch):
    """Three columns on a path do not tell them; the tree at the start does."""
    train, test = at_least_one(0), at_least_one(1)
    valid = at_least_one(2) if validated else None
    from_trees = learn(train, valid)
    tree = cp.DependencyNetworkLearner("tree").fit(train, validation=valid).model_
    with monkeypatch.context() as patch:
        patch.setattr(BoostedSearch, "_starts", lambda s, v, *a: [s._start(-1, None, *a)])
        from_shares = learn(train, valid)
    assert mean_pll(from_trees.model_, test) > mean_pll(from_shares.model_, test) + 0.02
    assert mean_pll(from_trees.model_, test) > mean_pll(tree, test) - 0.01
    rows = train.n_rows
    assert from_trees.score_ == pytest.approx(rows * mean_pll(from_trees.model_, train), rel=1e-5)


def test_score_and_validation_score_are_those_of_the_model():
    train, valid = make_table(4, (2, 3, 2, 4), 500), make_table(5, (2, 3, 2, 4), 300)
    learner = learn(train, valid)
    assert learner.score_ == pytest.approx(500 * mean_pll(learner.model_, train), rel=1e-5)
    (score,) = learner.validation_scores_.values()
    assert score == pytest.approx(mean_pll(learner.model_, valid), rel=1e-5)


def test_validation_rows_stop_the_trees():
    """Rows of another law end the boosting earlier than rows of the same law."""
    train, same = make_table(6, (2,) * 5, 500), make_table(7, (2,) * 5, 500)
    other = cp.Table(train.schema, np.random.default_rng(0).integers(0, 2, (5, 500)))
    far, near = learn(train, other).rounds_, learn(train, same).rounds_
    assert sum(far.values()) < sum(near.values())


def test_independent_columns_stay_near_their_shares():
    rng = np.random.default_rng(0)
    codes = (rng.random((4, 3000)) < 0.3).astype(np.uint8)
    model = learn(cp.Table(cp.Schema.from_cards([2] * 4), codes)).model_
    found = np.exp(model.engine.blanket.full_conditionals(codes, [0]))[:, 1]
    assert np.abs(found - codes[0].mean()).max() < 0.05


def test_weights_are_copies_of_rows():
    table = make_table(9, (2,) * 5, 300)
    twice = cp.Table(table.schema, np.repeat(table.codes, 2, axis=1))
    weighted = cp.Table(table.schema, table.codes, np.full(300, 2))
    assert learn(twice).rounds_ == learn(weighted).rounds_
    real = cp.Table(table.schema, table.codes, np.random.default_rng(0).gamma(2.0, size=300))
    assert np.isfinite(learn(real).score_)


def test_seeds_give_other_trees():
    table = make_table(10, (2,) * 6, 400)
    assert mean_pll(learn(table).model_, table) != mean_pll(
        learn(table, random_state=1).model_, table
    )


def test_trees_ask_only_for_the_strongest_partners():
    table = make_table(11, (2,) * 12, 800)
    model = learn(table, k=2).model_
    assert all(len(model.engine.blanket.neighbors(v)) <= 2 for v in range(12))


def test_wide_columns_have_short_paths():
    """Tables stay below the limit, whatever the states."""
    rng = np.random.default_rng(0)
    cards = [200, 100, 30, 2, 300]
    codes = np.array([rng.integers(0, r, 900) for r in cards])
    codes[3] = (codes[0] % 2 + codes[1] % 2) % 2
    model = learn(cp.Table(cp.Schema.from_cards(cards), codes)).model_
    sizes = [part.log_values.size for parts in model.conditionals for part in tables_of(parts)]
    assert max(sizes) <= boosted.MAX_CELLS
    assert all(
        4 not in part.scope for v, parts in enumerate(model.conditionals) if v != 4
        for part in tables_of(parts)
    )  # fmt: skip


def test_odd_tables():
    one_row = cp.Table(cp.Schema.from_cards([2, 3]), [[1], [0]])
    assert learn(one_row).model_.conditionals[1][0].scope == (1,)
    single = cp.Table(cp.Schema.from_cards([2]), [[0, 1, 1, 1]])
    found = np.exp(learn(single).model_.engine.blanket.full_conditionals(single.codes, [0]))
    assert found[0] == pytest.approx([1.5 / 5, 3.5 / 5], abs=1e-6)


def test_what_is_stopped_has_shares_for_the_rest():
    table = make_table(12, (2,) * 20, 400)
    with pytest.warns(StoppedEarly):
        learner = learn(table, time_limit=1e-9)
    assert learner.score_ == pytest.approx(400 * mean_pll(learner.model_, table), rel=1e-6)


def test_conversion_of_tables_loses_little(tmp_path):
    """The tables are almost consistent, so conditionals of the Markov network are close."""
    train, test = make_table(14, (2,) * 6, 4000), make_table(15, (2,) * 6, 2000)
    model = learn(train).model_
    converted = cp.to_markov_network(model, data=train)
    by_rows = cp.to_markov_network(model, base=train)
    assert abs(mean_pll(converted, test) - mean_pll(model, test)) < 0.02
    assert abs(mean_pll(by_rows, test) - mean_pll(model, test)) < 0.02
    model.save(tmp_path / "boosted.cp")
    assert mean_pll(cp.load(tmp_path / "boosted.cp"), test) == mean_pll(model, test)


def test_settings_that_do_not_fit():
    table = make_table(0, (2, 2), 50)
    with raises(ParameterError, parameter="local", value="forest"):
        cp.DependencyNetworkLearner("forest").fit(table)
    with raises(ParameterError, about="k=0"):
        learn(table, k=0)
