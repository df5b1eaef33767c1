"""The chosen estimate: trusted where two kinds agree, "not trusted" first where they do not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import EvidenceError, UntrustedError
from counterpane.features import Potential
from counterpane.inference.fallback import LEAST_BIAS, pool, squared_bias
from counterpane.inference.gibbs import Estimate
from counterpane.models.weights import log_weight
from error_checks import raises, warns

N = 12


def ring(scale, states=2, seed=0):
    """A network of pairs on a ring with chords."""
    rng = np.random.default_rng(seed)
    schema = cp.Schema.from_cards([states] * N)
    pairs = [(v, (v + k) % N) for v in range(N) for k in (1, 3)]
    parts = [Potential(pair, scale * rng.normal(size=(states, states))) for pair in pairs]
    return cp.MarkovNetwork(schema, parts)


def all_different():
    """Columns whose neighbors differ: many zeros, and rows that chains alone rarely reach."""
    schema = cp.Schema.from_cards([3] * N)
    differ = np.where(np.eye(3, dtype=bool), -np.inf, 0.0)
    return cp.MarkovNetwork(schema, [Potential((v, (v + 1) % N), differ) for v in range(N)])


def test_weak_ties_are_trusted():
    model = ring(0.3)
    estimate = model.marginals({"x0": 1}, exact=False, method=cp.Auto(1.0))
    exact = model.marginals({"x0": 1})
    for name, answer in estimate.items():
        assert answer.certainty.trusted and not answer.doubt
        np.testing.assert_allclose(answer.probabilities, exact[name].probabilities, atol=0.02)


def test_strong_ties_say_first_that_they_are_not_trusted():
    model = ring(0.0)
    at = Potential((0, 1), [[12.0, 0.0], [0.0, 12.0]])
    chain = [Potential((v, v + 1), at.log_values) for v in range(N - 1)]
    stuck = cp.MarkovNetwork(model.schema, [*chain, Potential((0,), [0.0, 0.4])])
    with warns(cp.InexactAnswer, about="trusted:"):
        answer = stuck.query("x3", exact=False, method=cp.Auto(1e-3))
    assert repr(answer).startswith("not trusted: ") and "not trusted" in answer._repr_html_()
    assert answer.certainty.method == "join_graph"
    np.testing.assert_allclose(answer.probabilities, stuck.query("x3").probabilities, atol=1e-6)
    with raises(UntrustedError, about="strict=False"):
        stuck.query("x3", exact=False, method=cp.Auto(1e-3), strict=True)


def test_tempered_chains_leave_what_plain_ones_are_stuck_in():
    """Two groups of columns, each of which alone is easy given the other: all chains stay put."""
    rng = np.random.default_rng(5)
    weights = rng.normal(size=(8, 8))
    sign = np.array([[1.0, -1.0], [-1.0, 1.0]])
    pairs = [Potential((i, 8 + j), 1.5 * weights[i, j] * sign) for i in range(8) for j in range(8)]
    model = cp.MarkovNetwork(cp.Schema.from_cards([2] * 16), [*pairs, Potential((0,), [0.0, 0.3])])
    exact = model.marginals({})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cp.InexactAnswer)
        plain = model.marginals({}, method="gibbs")
    answers = model.marginals({}, exact=False, method=cp.Auto(2.0))
    worst = {
        name: max(np.abs(some[n].probabilities - exact[n].probabilities).max() for n in exact)
        for name, some in (("plain", plain), ("chosen", answers))
    }
    assert answers["x0"].certainty.method.startswith("tempered gibbs and ")
    assert worst["plain"] > 0.05 and worst["chosen"] < 0.02


def test_zeros_are_never_refused_where_there_is_a_row():
    model = all_different()
    evidence = {"x0": 0, "x2": 1, "x6": 0}
    exact = model.marginals(evidence)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cp.InexactAnswer)
        for method in (cp.Auto(0.2), "gibbs", "bp", "join_graph"):
            answers = model.marginals(evidence, method=method, exact=False)
            for name, answer in answers.items():
                assert np.isfinite(answer.probabilities).all()
                impossible = exact[name].probabilities == 0
                assert answer.probabilities[impossible].max(initial=0) < 1e-9
    with pytest.raises(EvidenceError):
        model.marginals({"x0": 0, "x1": 0}, exact=False)


def test_several_columns_and_batches_are_estimated_too():
    model = ring(0.2)
    joint = model.query(["x1", "x5"], {"x0": 1}, exact=False, method=cp.Auto(1.0))
    exact = model.query(["x1", "x5"], {"x0": 1})
    assert joint.certainty.trusted
    np.testing.assert_allclose(joint.probabilities, exact.probabilities, atol=0.02)
    frame = {"x0": [0, 1, 0], "x7": [1, None, 1]}
    many = model.query_many("x3", frame, exact=False, method=cp.Auto(1.0))
    assert many.certainty.trusted and many[0].certainty.trusted
    expected = model.query_many("x3", frame).probabilities
    np.testing.assert_allclose(many.probabilities, expected, atol=0.02)


def test_large_batches_are_sampled_and_checked_on_some_rows(monkeypatch):
    monkeypatch.setattr("counterpane.inference.estimates.MOST_CHOSEN", 1)
    frame, weak = {"x0": [0, 1] * 4}, ring(0.2)
    ties = [Potential((v, v + 1), 12.0 * np.eye(2)) for v in range(1, N - 1)]
    stuck = cp.MarkovNetwork(weak.schema, [*ties, Potential((1,), [0.0, 0.4])])
    many = weak.query_many("x3", frame, exact=False)
    assert many.certainty.trusted and many.certainty.difference < 0.02
    expected = weak.query_many("x3", frame).probabilities
    np.testing.assert_allclose(many.probabilities, expected, atol=0.02)
    with warns(cp.InexactAnswer, about="trusted:"):
        assert repr(stuck.query_many("x3", frame, exact=False)).startswith("not trusted")


def test_the_weight_has_bounds_and_the_best_row_too():
    model = all_different()
    lower, upper = cp.log_weight_bounds(model, {"x0": 0}, exact=False)
    weight = log_weight(model, {"x0": 0})
    assert lower <= weight + 1e-9 and weight <= upper + 1e-9
    assert cp.log_weight_bounds(model, {"x0": 0}) == (weight, weight)
    with warns(cp.InexactAnswer, about="exact:"):
        best = ring(1.0).map_query(exact=1e-9)
    assert len(best) == N
    with warns(cp.InexactAnswer, about="exact:"):
        assert set(ring(1.0).map_query(["x1", "x2"], exact=1e-9)) == {"x1", "x2"}


def test_chains_that_disagree_are_averaged_with_propagation_by_precision():
    rng = np.random.default_rng(0)
    true = {v: rng.dirichlet([1.0, 1.0]) for v in range(400)}
    other = {v: p + 0.1 * rng.normal() * np.array([1, -1]) for v, p in true.items()}
    sampled = {}
    for v, p in true.items():
        error = 0.01 if v % 2 else 0.3  # every second column has chains that disagree
        noisy = p + error * rng.normal() * np.array([1, -1])
        sampled[v] = Estimate(noisy, np.full(2, error), np.ones(2), np.ones(2))
    bias = squared_bias(sampled, other)
    assert 0.05 < np.sqrt(bias) < 0.2
    means, errors = pool(sampled, other, bias)
    gaps = np.array([[np.abs(p[v] - true[v]).max() for v in true] for p in (means, other)])
    assert gaps[0, 1::2].mean() < 0.2 * gaps[1, 1::2].mean()
    assert gaps[0, ::2].mean() < 1.1 * gaps[1, ::2].mean()
    assert all(abs(p.sum() - 1) < 1e-12 for p in means.values())
    assert errors[1].max() <= 0.01 and errors[0].max() < 0.2
    wrong = {**other, 1: np.abs(np.round(true[1]) - [0.9, 0.9])}  # far off in one column
    means, _ = pool(sampled, wrong, bias)
    assert np.abs(means[1] - sampled[1].probabilities).max() < 0.01
    same = {v: e.probabilities for v, e in sampled.items()}
    assert squared_bias(sampled, same) == LEAST_BIAS
