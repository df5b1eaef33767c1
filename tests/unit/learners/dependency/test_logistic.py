"""L1 regressions of dependency networks: optimality, scikit-learn's solutions, odd tables."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

import counterpane as cp
from counterpane.errors import FitError
from counterpane.learners.dependency import logistic
from counterpane.learners.dependency.logistic import LogisticSearch
from counterpane.learners.driver import StoppedEarly
from error_checks import raises
from reference import dependency_trees_reference as naive


def make_table(seed, cards, rows, weights=None, noise=0.4):
    """Random dependent columns: each leans on the one before."""
    rng = np.random.default_rng(seed)
    codes = np.empty((len(cards), rows), dtype=np.uint8)
    last = np.zeros(rows, dtype=np.int64)
    for v, r in enumerate(cards):
        noisy = rng.random(rows) < noise
        last = np.where(noisy, rng.integers(0, r, rows), (last + v) % r)
        codes[v] = last
    return cp.Table(cp.Schema.from_cards(cards), codes, weights)


def learn(table, l1, **options):
    return cp.DependencyNetworkLearner("logistic", l1=l1, **options).fit(table)


def rules_of(model, v):
    """The conditional of v as (weight, [(column, state), …])."""
    ((rules,),) = (model.conditionals[v],)
    assert not rules.negated.any()
    found = []
    for k, (a, b) in enumerate(zip(rules.offsets, rules.offsets[1:], strict=False)):
        conditions = zip(rules.variables[a:b].tolist(), rules.values[a:b].tolist(), strict=True)
        found.append((float(rules.weights[k]), list(conditions)))
    return found


def optimality(model, table, v, l1):
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    rows, cards = table.codes.T.tolist(), table.schema.cards.tolist()
    return naive.l1_optimality(rows, weights.tolist(), cards, v, rules_of(model, v), l1)


def check_optimal(learner, table, l1):
    for v in range(len(table.schema)):
        _, far = optimality(learner.model_, table, v, l1)
        assert far <= 1.01e-3 * l1
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    scores = learner.model_.pseudo_log_likelihood(table).reshape(table.n_rows, -1).sum(axis=1)
    assert learner.score_ == pytest.approx(weights @ scores, rel=1e-9)


# ---- optimality ----------------------------------------------------------------------------------


@pytest.mark.parametrize("l1", [30.0, 3.0, 0.3, 0.01])
@pytest.mark.parametrize("cards", [(2,) * 7, (2, 3, 2, 4, 2), (3, 1, 5, 2)], ids=str)
def test_no_weight_is_far_from_optimal(cards, l1):
    table = make_table(0, cards, 300)
    check_optimal(learn(table, l1), table, l1)


def test_more_features_than_rows():
    rng = np.random.default_rng(0)
    codes = rng.random((220, 90)) < rng.random((220, 1))
    table = cp.Table(cp.Schema.from_cards([2] * 220), codes.astype(np.uint8))
    for l1 in (3.0, 0.1):
        learner = learn(table, l1)
        for v in range(0, 220, 40):
            assert optimality(learner.model_, table, v, l1)[1] <= 1.01e-3 * l1
    sizes = [len(parts[0]) for parts in learner.model_.conditionals]
    assert max(sizes) > 40


@pytest.mark.parametrize("l1", [5.0, 0.05])
def test_columns_that_resemble_each_other(l1):
    """Twins, opposites and sums of others: curvatures of no full rank."""
    a = make_table(3, (2,) * 5, 400).codes
    codes = np.concatenate([a, a[:2], 1 - a[:2], [a[0] | a[1], a[0] & a[1]]])
    table = cp.Table(cp.Schema.from_cards([2] * len(codes)), codes)
    check_optimal(learn(table, l1), table, l1)


@pytest.mark.parametrize("l1", [1.0, 1e-3])
def test_separable_data_has_finite_weights(l1):
    a = np.random.default_rng(0).integers(0, 2, (4, 200))
    codes = np.concatenate([a, [a[0], a[1] & a[2], np.zeros(200)]]).astype(np.uint8)
    table = cp.Table(cp.Schema.from_cards([2] * 7), codes)
    learner = learn(table, l1)
    check_optimal(learner, table, l1)
    assert all(np.isfinite(parts[0].weights).all() for parts in learner.model_.conditionals)


def test_states_that_nobody_has():
    codes = make_table(0, (2, 2, 3), 200).codes
    table = cp.Table(cp.Schema.from_cards([2, 4, 5]), codes)
    check_optimal(learn(table, 0.5), table, 0.5)


def test_a_penalty_above_all_slopes_leaves_nothing():
    table = make_table(0, (2, 3, 2), 100)
    model = learn(table, 1000.0).model_
    assert [len(parts[0]) for parts in model.conditionals] == [0, 0, 0]
    found = np.exp(model.engine.blanket.full_conditionals(table.codes, [1]))
    assert found == pytest.approx(np.full((100, 3), 1 / 3))


# ---- against scikit-learn ------------------------------------------------------------------------


def test_two_states_against_liblinear():
    table = make_table(4, (2,) * 12, 500, noise=0.2)
    for l1 in (20.0, 1.0, 0.1):
        model = learn(table, l1).model_
        for v in (0, 5, 11):
            x = np.delete(table.codes, v, axis=0).T.astype(float)
            theirs = LogisticRegression(
                l1_ratio=1.0, solver="liblinear", C=1 / l1, tol=1e-10, max_iter=10_000
            ).fit(x, table.codes[v])
            z = x @ theirs.coef_[0] + theirs.intercept_
            loss = np.logaddexp(0.0, z).sum() - z @ table.codes[v]
            penalty = np.abs(theirs.coef_).sum() + np.abs(theirs.intercept_).sum()
            ours, _ = optimality(model, table, v, l1)
            assert ours == pytest.approx(loss + l1 * penalty, rel=1e-6)


def test_more_states_against_a_general_optimizer():
    """w = u − v with u, v ≥ 0 makes the penalty smooth."""
    table = make_table(5, (4, 2, 3, 2), 300)
    codes = table.codes
    x = np.column_stack([np.ones(300), codes[1] == 1, codes[2] == 1, codes[2] == 2, codes[3] == 1])
    own = np.eye(4)[codes[0]][:, 1:]

    def objective(parts):
        w = (parts[:15] - parts[15:]).reshape(3, 5)
        z = np.column_stack([np.zeros(300), x @ w.T])
        logs = z - logsumexp(z, axis=1, keepdims=True)
        slope = ((np.exp(logs[:, 1:]) - own).T @ x).reshape(-1)
        loss = -logs[np.arange(300), codes[0]].sum() + 2.0 * parts.sum()
        return loss, np.concatenate([slope, -slope]) + 2.0

    options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9}
    theirs = minimize(objective, np.zeros(30), jac=True, bounds=[(0, None)] * 30, options=options)
    ours, _ = optimality(learn(table, 2.0).model_, table, 0, 2.0)
    assert ours == pytest.approx(theirs.fun, rel=1e-7)


# ---- rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cards", [[2] * 90, [3] * 50, [300, 2, 700] * 8], ids=["2", "3", "300"])
@pytest.mark.parametrize("kind", ["none", "whole", "real"])
def test_rows_are_sorted_as_by_columns(cards, kind):
    rng = np.random.default_rng(0)
    few = rng.integers(0, np.array(cards)[:, None], (len(cards), 20))
    codes = few[:, rng.integers(0, 20, 60)]
    weights = {"none": None, "whole": rng.integers(0, 3, 60), "real": rng.random(60)}[kind]
    table = cp.Table(cp.Schema.from_cards(cards), codes, weights)
    found, totals = table.distinct(), {}
    for row, weight in zip(
        codes.T.tolist(), np.ones(60) if weights is None else weights, strict=True
    ):
        if weight > 0:
            totals[tuple(row)] = totals.get(tuple(row), 0) + weight
    expected = sorted(totals)
    assert np.array_equal(found.codes, np.transpose(expected))
    assert found.weights == pytest.approx([totals[row] for row in expected])


# ---- the path of penalties -----------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_the_penalty_that_predicts_best_is_taken(weighted):
    table, judge = make_table(0, (2, 3, 2, 2, 2), 250), make_table(1, (2, 3, 2, 2, 2), 200)
    if weighted:
        judge = judge.reweighted(np.random.default_rng(0).gamma(1.0, 1.0, 200))
    weights = judge.weights if weighted else np.ones(200)
    l1s = [100.0, 20.0, 5.0, 1.0]
    learner = cp.DependencyNetworkLearner("logistic", l1=l1s).fit(table, validation=judge)
    for l1, score in learner.validation_scores_.items():
        alone = learn(table, l1)
        rows = alone.model_.pseudo_log_likelihood(judge).reshape(200, -1).sum(axis=1)
        assert score == pytest.approx(weights @ rows / weights.sum(), rel=1e-4)
    rows = learner.model_.pseudo_log_likelihood(judge).reshape(200, -1).sum(axis=1)
    chosen = learner.validation_scores_[learner.l1_]
    assert chosen == pytest.approx(weights @ rows / weights.sum(), rel=1e-12)
    assert learner.l1_ == max(learner.validation_scores_, key=learner.validation_scores_.get)
    check_optimal(learner, table, learner.l1_)


def test_the_path_ends_where_the_validation_rows_get_less_probable():
    table, judge = make_table(0, (2,) * 9, 60, noise=0.6), make_table(1, (2,) * 9, 400, noise=0.6)
    learner = cp.DependencyNetworkLearner("logistic").fit(table, validation=judge)
    tried, scores = zip(*learner.validation_scores_.items(), strict=True)
    assert tried == dependency_l1s()[: len(tried)]
    assert len(tried) < 13
    assert scores[-1] < scores[-2]
    assert sorted(scores[:-1]) == list(scores[:-1])
    assert learner.l1_ == tried[-2]
    assert [r["l1"] for r in learner.trace_ if r["variables"] == 9] == list(tried)


def dependency_l1s():
    return (1000.0, 500.0, 200.0, 100.0, 50.0, 20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1)


def test_without_validation_rows_the_penalty_is_one():
    table = make_table(0, (2,) * 4, 100)
    learner = cp.DependencyNetworkLearner("logistic").fit(table)
    assert learner.l1_ == 1.0
    assert learner.validation_scores_ == {}


def stop_after(monkeypatch, steps):
    inner, seen = LogisticSearch.step, []

    def step(self, state, ctl):
        if len(seen) == steps:
            raise KeyboardInterrupt
        seen.append(1)
        return inner(self, state, ctl)

    monkeypatch.setattr(LogisticSearch, "step", step)


def test_a_stopped_fit_has_margins_for_the_other_variables(monkeypatch):
    table = make_table(0, (2, 2, 2, 2, 3, 2), 200)
    whole = learn(table, 1.0).model_
    stop_after(monkeypatch, 1)
    with pytest.warns(StoppedEarly):
        learner = learn(table, 1.0)
    assert rules_of(learner.model_, 3) == rules_of(whole, 3)
    counts = np.bincount(table.codes[4], minlength=3)
    found = np.exp(learner.model_.engine.blanket.full_conditionals(table.codes, [4]))
    assert found == pytest.approx(np.tile((counts + 1 / 3) / 201, (200, 1)))
    scores = learner.model_.pseudo_log_likelihood(table)
    assert learner.score_ == pytest.approx(np.sum(scores), rel=1e-9)


def test_a_stopped_path_gives_the_best_whole_penalty(monkeypatch):
    table, judge = make_table(0, (2,) * 6, 300), make_table(1, (2,) * 6, 300)
    l1s = [100.0, 10.0, 1.0]
    whole = cp.DependencyNetworkLearner("logistic", l1=l1s).fit(table, validation=judge)
    stop_after(monkeypatch, 5)  # two steps a penalty: in the middle of the third
    with pytest.warns(StoppedEarly):
        learner = cp.DependencyNetworkLearner("logistic", l1=l1s).fit(table, validation=judge)
    assert list(learner.validation_scores_.items()) == list(whole.validation_scores_.items())[:2]
    assert learner.l1_ == 10.0


def test_too_many_weights_are_refused(monkeypatch):
    monkeypatch.setattr(logistic, "MAX_ACTIVE", 3)
    with raises(FitError, about=("l1=0.1", "3 weights")):
        learn(make_table(0, (2,) * 8, 300), 0.1)


# ---- published figures ---------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "least"), [("nltcs", -4.9485), ("plants", -9.355)])
def test_density_data_is_predicted_as_well_as_by_liblinear(shared_data, name, least):
    packed = np.load(shared_data / "density" / f"{name}.npz")
    n = int(packed["n_vars"])
    schema = cp.Schema.from_cards([2] * n)
    train, test = (
        cp.Table(schema, np.unpackbits(packed[part], axis=1, count=n).T)
        for part in ("train", "test")
    )
    model = learn(train, 1.0, n_jobs=2).model_
    scores = model.pseudo_log_likelihood(test).reshape(test.n_rows, -1).sum(axis=1)
    assert scores.mean() >= least
