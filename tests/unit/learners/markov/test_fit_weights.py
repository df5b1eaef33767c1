"""Weights of features by pseudo-likelihood: optimum, penalties, sources, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from random_features import CARDS, features, parts_from, random_rules, table_of
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

import counterpane as cp
from counterpane.counts import MemoryCounts, StreamCounts
from counterpane.data import Schema
from counterpane.errors import DataError, ParameterError, WeightError
from counterpane.features import Potential, Rules, Tree
from counterpane.learners.markov import lbfgs, pseudo_likelihood
from counterpane.learners.markov.pseudo_likelihood import PseudoLikelihood, maximize_likelihood
from counterpane.learners.markov.weights import (
    features_of,
    merge_equal,
    weights_of_parts,
    with_weights,
)
from counterpane.models.arrays import arrays_of
from error_checks import raises, warns
from reference import pseudo_reference as reference
from reference.random_codes import random_codes

# ---- the optimum ---------------------------------------------------------------------------------


def test_it_finds_the_optimum_of_the_naive_objective():
    cards = (2, 3, 2)
    rules = [(0.0, c) for _, c in random_rules(cards, 6, seed=4)]
    codes = random_codes(cards, 80, seed=3)
    rows, counts = np.unique(codes.T, axis=0, return_counts=True)
    rows = [list(map(int, row)) for row in rows]
    parts = merge_equal(np.array(cards), [Rules.from_list(cards, rules)])
    kept = rules_of(parts[0])

    def naive(w):
        weighted = [(float(weight), c) for weight, (_, c) in zip(w, kept, strict=True)]
        return reference.minus_pll(rows, counts, cards, [], weighted) + 0.5 * w @ w / 0.8**2

    expected = minimize(naive, np.zeros(len(kept)), method="BFGS", options={"gtol": 1e-4})
    table = table_of(codes, cards=cards)
    model = cp.fit_weights(parts, table, prior_sd=0.8, tolerance=1e-8)
    assert naive(model.rules[0].weights) <= expected.fun + 1e-9
    np.testing.assert_allclose(model.rules[0].weights, expected.x, atol=1e-4)
    told = model.record
    assert told.weights.converged and told.weights.steps > 3
    assert told.weights.objective == pytest.approx(-expected.fun, rel=1e-9)
    assert told.learner.text == "fit_weights(prior_sd=0.8, l1=0)"
    assert (told.data.rows, told.data.weight) == (80, 80.0)


def rules_of(rules):
    """(weight, conditions) of each rule."""
    flat = list(zip(rules.variables.tolist(), rules.values.tolist(), rules.negated.tolist(),
                    strict=True))  # fmt: skip
    cuts = rules.offsets.tolist()
    return [(w, flat[a:b]) for w, a, b in zip(rules.weights, cuts, cuts[1:], strict=False)]


def test_equal_features_count_once():
    codes = random_codes(CARDS, 200, seed=6)
    tables, rules = features()
    once = cp.fit_weights(parts_from(tables, rules), table_of(codes), tolerance=1e-9,
                          max_steps=2000)  # fmt: skip
    turned = [((1, 0), np.zeros((3, 2))), ((5, 1, 3), np.zeros((2, 3, 4)))]
    a_cell = (0.0, [(3, 2, False), (0, 1, False)])  # of the table over (3, 0)
    twice = [*rules, a_cell, *((w, c[::-1]) for w, c in rules)]
    doubled = cp.fit_weights(parts_from([*tables, *turned], twice), table_of(codes),
                             tolerance=1e-9, max_steps=2000)  # fmt: skip
    assert [p.scope for p in doubled.potentials] == [p.scope for p in once.potentials]
    assert arrays_of(doubled).keys() == arrays_of(once).keys()
    for name, array in arrays_of(once).items():
        assert np.array_equal(arrays_of(doubled)[name], array)


def test_a_rule_is_part_of_a_table_only_if_it_asks_for_one_cell():
    table = Potential((1, 0), np.zeros((3, 2)))
    cell, more = [(0, 1, False), (1, 2, False)], [(0, 1, False), (1, 2, True)]
    rules = Rules.from_list((2, 3), [(5.0, cell), (7.0, more), (1.0, [(1, 0, False)])])
    found = merge_equal(np.array([2, 3]), [table, rules])
    assert found[0].log_values.tolist() == [[0, 0], [0, 0], [0, 5]]
    assert rules_of(found[1]) == [(7.0, more), (1.0, [(1, 0, False)])]


def test_l1_meets_the_conditions_of_an_optimum():
    codes = random_codes(CARDS, 200, seed=7)
    tables, rules = features()
    parts = merge_equal(np.array(CARDS), parts_from(tables, rules))
    source = MemoryCounts(table_of(codes))
    objective = PseudoLikelihood(source, parts)
    for l1, sd in ((3.0, np.inf), (0.5, 2.0), (1e5, 1.0)):
        w = maximize_likelihood(
            objective, l1=l1, prior_sd=sd, tolerance=1e-9, max_steps=5000
        ).weights
        slopes = objective(w)[1] + w / sd**2
        zero = w == 0
        assert (np.abs(slopes[zero]) <= l1 + 1e-5).all()
        np.testing.assert_allclose(slopes[~zero], -l1 * np.sign(w[~zero]), atol=1e-5)
        assert zero.any()
        assert zero.all() == (l1 == 1e5)
    model = cp.fit_weights(parts, source, l1=3.0, prior_sd=np.inf, max_steps=5000)
    assert (model.rules[0].weights != 0).all()
    assert 0 < len(model.rules[0]) < len(parts[-1])
    nothing = cp.fit_weights(parts, source, l1=1e5)
    assert len(nothing.rules[0]) == 0
    assert nothing.query("x3")[0] == pytest.approx(0.25)


def test_one_target_is_l1_logistic_regression():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (300, 6)).astype(float)
    y = (rng.random(300) < 1 / (1 + np.exp(-(x @ [2.0, -1.0, 0, 0, 0.5, 0])))).astype(float)

    def minus_log_likelihood(w):
        z = x @ w
        return float(np.logaddexp(0, z).sum() - y @ z), x.T @ (1 / (1 + np.exp(-z)) - y)

    for penalty in (0.5, 5.0, 20.0):
        theirs = LogisticRegression(
            C=1 / penalty, l1_ratio=1.0, solver="liblinear", fit_intercept=False, tol=1e-10,
            max_iter=10_000,
        ).fit(x, y)  # fmt: skip
        ours = lbfgs.minimize(minus_log_likelihood, np.zeros(6), l1=penalty, tolerance=1e-7).w
        np.testing.assert_allclose(ours, theirs.coef_[0], atol=1e-4)
        assert np.array_equal(ours == 0, theirs.coef_[0] == 0)


def test_few_evaluations_are_enough():
    rng = np.random.default_rng(3)
    scales = 10.0 ** rng.uniform(-2, 2, 30)
    target = rng.normal(size=30)
    for l1, most in ((0.0, 600), (0.05, 300)):
        calls = []

        def valley(w):
            calls.append(1)  # noqa: B023
            return 0.5 * float((scales * (w - target) ** 2).sum()), scales * (w - target)

        found = lbfgs.minimize(valley, np.zeros(30), l1=l1, tolerance=1e-8)
        expected = np.sign(target) * np.maximum(np.abs(target) - l1 / scales, 0.0)
        np.testing.assert_allclose(found.w, expected, atol=1e-6)
        assert found.steepest <= 1e-8
        assert len(calls) < most


def test_a_history_that_leads_up_is_forgotten(monkeypatch):
    def uphill(vector, history):
        return -vector if history else vector

    monkeypatch.setattr(lbfgs, "_inverse_curvature", uphill)
    target = np.array([2.0, -1.0, 0.3])
    found = lbfgs.minimize(lambda w: (float(((w - target) ** 2).sum()), 2 * (w - target)),
                            np.zeros(3), l1=1.0)  # fmt: skip
    np.testing.assert_allclose(found.w, [1.5, -0.5, 0.0], atol=1e-3)


def test_the_minimizer_ends_where_nothing_leads_down():
    calls = []

    def uphill(w):
        calls.append(1)
        return float(len(calls)), np.ones(2)

    start = np.array([1.0, 2.0])
    assert np.array_equal(lbfgs.minimize(uphill, start).w, start)
    assert len(calls) == 1 + lbfgs.HALVINGS


@pytest.mark.parametrize("l1", [0.0, 1.0])
def test_streams_and_tables_give_the_same(l1, monkeypatch):
    tables, rules = features()
    table = table_of(random_codes(CARDS, 300, seed=8))
    stream = StreamCounts(
        table.schema, lambda: (table.take(np.arange(k, 300, 3)) for k in range(3))
    )
    options = {"l1": l1, "tolerance": 1e-9, "max_steps": 3000}
    expected = cp.fit_weights(parts_from(tables, rules), table, **options)
    found = cp.fit_weights(parts_from(tables, rules), stream, **options)
    for name, array in arrays_of(expected).items():
        assert np.array_equal(arrays_of(found)[name], array)
    monkeypatch.setattr(pseudo_likelihood, "NARROW", 1)
    monkeypatch.setattr(pseudo_likelihood, "MAX_CODES", 1)
    for source in (stream, MemoryCounts(table)):
        found = cp.fit_weights(parts_from(tables, rules), source, **options)
        assert found.record.weights.objective == pytest.approx(
            expected.record.weights.objective, rel=1e-12
        )
        for name, array in arrays_of(expected).items():
            np.testing.assert_allclose(arrays_of(found)[name], array, atol=1e-5)


# ---- structures ----------------------------------------------------------------------------------


def small_tree(cards, target, question):
    """A tree that asks whether `question` is in state 1."""
    leaves = np.log(np.full((3, cards[target]), 1 / cards[target]))
    return Tree(cards, target, [question, -1, -1], [1, 0, 0], [[1, 2], [-1, -1], [-1, -1]], leaves)


def test_a_dependency_network_gives_its_leaves_and_weights():
    cards = (2, 2, 3)
    logistic = Rules.from_list(
        cards, [(0.0, [(1, 1, False)]), (9.0, [(1, 1, False), (0, 1, False)])]
    )
    mirrored = Rules.from_list(cards, [(7.0, [(0, 1, False), (1, 1, False)])])
    network = cp.DependencyNetwork(
        Schema.from_cards(cards), [[mirrored], [logistic], [small_tree(cards, 2, 0)]]
    )
    table = table_of(random_codes(cards, 150, seed=9), cards=cards)
    model = cp.fit_weights(network, table, tolerance=1e-8)
    assert not model.potentials
    assert [c for _, c in rules_of(model.rules[0])] == [
        [(0, 1, False), (1, 1, False)],
        [(1, 1, False)],
        *([(0, s, False), (2, t, False)] for s in (1, 0) for t in range(3)),
    ]
    same = cp.fit_weights([model.rules[0]], table, tolerance=1e-8)
    assert np.array_equal(same.rules[0].weights, model.rules[0].weights)
    assert "DependencyNetwork" in model.record.weights.structure


def test_a_bayesian_network_gives_its_tables():
    cards = (2, 3, 2)
    table = table_of(random_codes(cards, 400, seed=10), cards=cards)
    network = cp.fit_parameters(MemoryCounts(table), cp.Dag(3, [(0, 1), (1, 2)]))
    model = cp.fit_weights(network, table, prior_sd=100.0, max_steps=3000, tolerance=1e-8)
    assert [p.scope for p in model.potentials] == [p.scope for p in network.to_potentials()]
    pll = [m.pseudo_log_likelihood(table, total=True).sum() for m in (model, network)]
    assert pll[0] > pll[1]
    started = cp.fit_weights(
        network, table, prior_sd=100.0, start="model", max_steps=3000, tolerance=1e-8
    )
    assert started.record.weights.objective == pytest.approx(
        model.record.weights.objective, rel=1e-9
    )
    still = cp.fit_weights(network, table, prior_sd=100.0, start="model", tolerance=1e9)
    assert np.array_equal(
        weights_of_parts(features_of(still)), weights_of_parts(features_of(network))
    )


def test_impossible_states_are_learned_afresh_or_refused():
    schema = Schema.from_cards((2, 2))
    model = cp.MarkovNetwork(schema, [Potential((0, 1), [[0.0, -np.inf], [0.0, 0.0]])])
    table = table_of(random_codes((2, 2), 50, seed=11), cards=(2, 2))
    assert np.isfinite(cp.fit_weights(model, table).potentials[0].log_values).all()
    with raises(ParameterError, about="start='zero'"):
        cp.fit_weights(model, table, start="model")


# ---- odd features and tables ---------------------------------------------------------------------


def test_separable_rows_without_a_prior_stay_finite():
    codes = np.array([[0, 1] * 20, [0, 1] * 20, [0, 0, 1, 1] * 10])
    rules = [(0.0, [(v, 1, False) for v in scope]) for scope in [(0,), (1,), (2,), (0, 1), (1, 2)]]
    table = table_of(codes, cards=(2, 2, 2))
    model = cp.fit_weights([Rules.from_list((2, 2, 2), rules)], table, prior_sd=np.inf)
    assert np.isfinite(model.rules[0].weights).all()
    shown = model.pseudo_log_likelihood(table)
    assert np.isfinite(shown).all()
    assert (shown[:, 0] > -0.01).all()
    far = PseudoLikelihood(MemoryCounts(table), [model.rules[0]])(1e6 * model.rules[0].weights)
    assert np.isfinite(far[0]) and np.isfinite(far[1]).all()


def test_features_that_say_nothing():
    codes = np.array([[0] * 30, [0, 1, 1] * 10])
    table = table_of(codes, cards=(1, 2))
    always = Rules.from_list((1, 2), [(3.0, []), (1.0, [(0, 0, False)])])
    for parts in ([], [always], [Potential((), 2.0)]):
        model = cp.fit_weights(parts, table)
        assert not model.potentials and not model.rules
        assert model.query("x1")[1] == 0.5
    alone = Rules.from_list((1, 2), [(0.0, [(0, 0, False), (1, 1, False)])])
    model = cp.fit_weights([alone], table, prior_sd=100.0, tolerance=1e-9)
    assert model.query("x1")[1] == pytest.approx(2 / 3, abs=1e-3)
    constant = cp.fit_weights([Potential((0,), [0.0])], table)
    assert constant.record.weights.objective == pytest.approx(-30 * np.log(2))


def test_a_state_that_is_never_seen_is_pulled_by_the_prior_alone():
    codes = np.array([[0, 1] * 10, [0, 0, 1, 1] * 5])
    table = table_of(codes, cards=(3, 2))
    model = cp.fit_weights([Potential((0, 1), np.zeros((3, 2)))], table, prior_sd=1.0)
    assert 0 < model.query("x0")[2] < 0.15


# ---- tuning --------------------------------------------------------------------------------------


def test_validation_rows_choose_the_prior():
    codes, others = (random_codes(CARDS, rows, seed) for rows, seed in ((60, 12), (400, 13)))
    tables, rules = features()
    parts, valid = parts_from(tables, rules), table_of(others)
    model = cp.fit_weights(parts, table_of(codes), validation=valid, max_steps=500)
    tried = model.record.weights.tried
    means = [mean for _, _, mean in tried]
    assert [sd for sd, _, _ in tried] == [0.05, 0.1, 0.2, 0.5, 1.0][: len(tried)]
    assert len(tried) > 2
    assert means[:-1] == sorted(means[:-1])
    assert means[-1] < means[-2]  # so few rows want a tight prior
    own = model.pseudo_log_likelihood(valid, total=True).mean()
    assert own == pytest.approx(means[-2], rel=1e-9)
    alone = cp.fit_weights(parts, table_of(codes), prior_sd=tried[-2][0], max_steps=500)
    assert alone.record.weights.objective == pytest.approx(model.record.weights.objective, rel=1e-6)

    model = cp.fit_weights(parts, table_of(codes), validation=valid, l1=1.0)
    tried = model.record.weights.tried
    assert [l1 for _, l1, _ in tried] == [100, 50, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1][: len(tried)]
    assert {sd for sd, _, _ in tried} == {1.0} and len(tried) > 2

    model = cp.fit_weights(parts, table_of(codes), validation=valid, prior_sd=[2.0, 0.3], l1=[0, 4])
    assert [pair[:2] for pair in model.record.weights.tried] == [
        (0.3, 4), (2.0, 4), (0.3, 0), (2.0, 0),
    ]  # fmt: skip
    one = cp.fit_weights(parts, table_of(codes), validation=valid, prior_sd=[0.3])
    assert one.record.learner.text == "fit_weights(prior_sd=0.3, l1=0)"
    assert not one.record.weights.tried
    with raises(ParameterError, about="prior_sd=[1.0, 2.0]"):
        cp.fit_weights(parts, table_of(codes), prior_sd=[1.0, 2.0])


# ---- control and refusals ------------------------------------------------------------------------


def test_stopping_returns_the_best_so_far():
    tables, rules = features()
    table = table_of(random_codes(CARDS, 200, seed=14))

    def report(what, done, total):
        if what == "fitting weights" and done == 2:
            raise KeyboardInterrupt

    with warns(cp.StoppedEarly, about="2 steps"):
        early = cp.fit_weights(parts_from(tables, rules), table, progress=report)
    assert early.record.weights.steps == 2
    full = cp.fit_weights(parts_from(tables, rules), table)
    assert early.record.weights.objective < full.record.weights.objective
    assert not early.record.weights.converged
    with warns(cp.StoppedEarly, about="0 steps"):
        nothing = cp.fit_weights(
            parts_from(tables, rules), table, time_limit=1e-9, validation=table
        )
    assert (nothing.rules[0].weights == 0).all()
    assert not nothing.record.weights.tried


def test_few_steps_are_told():
    tables, rules = features()
    table = table_of(random_codes(CARDS, 200, seed=14))
    for l1 in (0.0, 1.0):
        told = cp.fit_weights(parts_from(tables, rules), table, max_steps=3, l1=l1).record
        assert (told.weights.steps, told.weights.converged) == (3, False)


def test_frames_are_coded_by_the_model():
    titanic = cp.load_dataset("titanic")
    model = cp.HillClimb().fit(titanic).model_
    frame = {name: titanic.column(name)[::-1].tolist() for name in reversed(titanic.schema.names)}
    ours, theirs = (cp.fit_weights(model, x) for x in (frame, titanic))
    for p, q in zip(ours.potentials, theirs.potentials, strict=True):
        assert np.array_equal(p.log_values, q.log_values)
    doubled = cp.fit_weights(model, titanic, sample_weight=np.full(2201, 2), prior_sd=np.sqrt(0.5),
                             tolerance=1e-8, max_steps=500)  # fmt: skip
    once = cp.fit_weights(model, titanic, tolerance=1e-8, max_steps=500)
    for p, q in zip(doubled.potentials, once.potentials, strict=True):
        np.testing.assert_allclose(p.log_values, q.log_values, atol=1e-4)
    with raises(cp.CounterpaneError, parameter="status", value="captain"):
        cp.fit_weights(model, {**frame, "status": ["captain"] * 2201})


def test_missing_cells():
    tables, rules = features()
    codes = random_codes(CARDS, 100, seed=15)
    gaps = codes.copy()
    gaps[1, :9] = 3
    with raises(DataError, about="'x1'"):
        cp.fit_weights(parts_from(tables, rules), table_of(gaps))
    dropped = cp.fit_weights(parts_from(tables, rules), table_of(gaps), missing="drop")
    expected = cp.fit_weights(parts_from(tables, rules), table_of(codes[:, 9:]))
    assert np.array_equal(dropped.rules[0].weights, expected.rules[0].weights)
    stream = StreamCounts(Schema.from_cards(CARDS), lambda: [table_of(gaps)])
    with raises(DataError, about="missing"):
        cp.fit_weights(parts_from(tables, rules), stream)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior_sd": 0.0}, "prior_sd=0.0"),
        ({"prior_sd": float("nan")}, "prior_sd=nan"),
        ({"prior_sd": []}, "prior_sd=[]"),
        ({"l1": -1.0}, "l1=-1.0"),
        ({"l1": np.inf}, "l1=inf"),
        ({"tolerance": 0.0}, "tolerance=0.0"),
        ({"max_steps": 0}, "max_steps=0"),
        ({"time_limit": 0.0}, "time_limit=0.0"),
        ({"start": "random"}, "'zero'"),
        ({"missing": "state"}, "'drop'"),
        ({"n_jobs": 0}, "n_jobs=0"),
    ],
)
def test_parameters_are_checked(options, message):
    table = table_of(random_codes((2, 2), 20, seed=0), cards=(2, 2))
    with raises(ParameterError, about=message):
        cp.fit_weights([Potential((0, 1), np.zeros((2, 2)))], table, **options)


def test_what_has_no_features_is_refused():
    table = table_of(random_codes((2, 2), 20, seed=0), cards=(2, 2))
    pair = [Potential((0, 1), np.zeros((2, 2)))]
    with raises(ParameterError, about="weigh"):
        cp.fit_weights(cp.Mixture([cp.MarkovNetwork(table.schema, pair)], [1.0]), table)
    for bad in (7, [small_tree((2, 2), 0, 1)], {"a": 1}):
        with raises(ParameterError, about="features"):
            cp.fit_weights(bad, table)
    with raises(cp.CounterpaneError, about="scope=(0, 1)"):
        cp.fit_weights([Potential((0, 1), np.zeros((2, 3)))], table)
    model = cp.MarkovNetwork(table.schema, pair)
    other = MemoryCounts(table_of(np.zeros((2, 3)), cards=(2, 3)))
    with raises(DataError, about="schema"):
        cp.fit_weights(model, other)
    with raises(ParameterError, about="sample_weight"):
        cp.fit_weights(model, MemoryCounts(table), sample_weight=np.ones(20))
    with raises(WeightError, about="20 rows"):
        cp.fit_weights(model, table, sample_weight=[1.0])


def test_weights_go_back_into_their_parts():
    tables, rules = features()
    parts = parts_from(tables, rules)
    again = with_weights(parts, weights_of_parts(parts))
    assert np.array_equal(weights_of_parts(again), weights_of_parts(parts))
    assert [p.scope for p in again[:-1]] == [s for s, _ in tables]
