"""Compiled junction trees: their shape, their limits, and numbers of any size."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest

from counterpane.data import Schema
from counterpane.errors import ParameterError, TableSizeError
from counterpane.features import Potential
from counterpane.graphs import Dag
from counterpane.inference import CliqueTree, JunctionMarginals, calibration, query_rows
from counterpane.inference.sampling import answer_interval, draw_dirichlet_logs
from counterpane.models import BayesianNetwork
from error_checks import raises

N_WIDE = 40


@pytest.fixture(name="wide", scope="module")
def network_of_width_39():
    """40 roots, and a child for each pair of them: every table is small, the tree is not."""
    pairs = list(itertools.combinations(range(N_WIDE), 2))
    dag = Dag.from_parents([()] * N_WIDE + pairs)
    noisy_or = [[[0.9, 0.1], [0.3, 0.7]], [[0.3, 0.7], [0.1, 0.9]]]
    tables = [[0.5, 0.5]] * N_WIDE + [noisy_or] * len(pairs)
    return BayesianNetwork(Schema.from_cards([2] * dag.n), dag, tables)


def test_cliques_are_compiled_from_the_root_outwards():
    tree = CliqueTree([(0, 1), (1, 2), (2, 3), (5,)], [2, 3, 2, 2, 7, 4], keep=[2, 3])
    assert tree.cliques[0] == (3, 2)
    assert {frozenset(c) for c in tree.cliques} == {
        frozenset(c) for c in [(2, 3), (1, 2), (0, 1), (5,)]
    }
    assert tree.cells(tree.cards) == 4 + 6 + 6 + 4
    observed = np.array([2, 1, 2, 2, 7, 4])
    assert tree.cells(observed) == 4 + 2 + 2 + 4
    parents = tree.arrays.parents.tolist()
    assert parents[0] == -1
    assert all(p < k for k, p in enumerate(parents))


def test_the_largest_clique_is_the_root_and_observed_variables_are_gone():
    tree = CliqueTree([(0, 1), (1, 2, 3), (3, 4)], [2] * 5)
    assert set(tree.cliques[0]) == {1, 2, 3}
    tree = CliqueTree([(0, 1), (1, 2, 3), (3, 4)], [2, 2, 2, 1, 2], observed={1})
    assert {v for c in tree.cliques for v in c} == {0, 2, 4}
    assert CliqueTree([(0, 1)], [2, 2], observed=[0, 1]).cliques == ((),)


def test_what_is_too_wide_is_refused_before_anything_is_allocated(wide):
    children = [f"x{v}" for v in range(N_WIDE, len(wide.schema))]
    evidence = dict.fromkeys(children, 1)
    questions = [
        lambda: wide.marginals(method="exact"),
        lambda: wide.query("x0", evidence, method="exact"),
        lambda: wide.query_many("x0", {name: [1, 0] for name in children}, method="exact"),
        lambda: wide.sample(5, evidence, method="exact"),
    ]
    for ask in questions:
        tracemalloc.start()
        with raises(TableSizeError, about="method='gibbs'"):
            ask()
        assert tracemalloc.get_traced_memory()[1] < 2**25
        tracemalloc.stop()


def test_what_does_not_bear_on_the_question_does_not_count(wide):
    assert wide.query("x0")[1] == 0.5
    answer = wide.query("x0", {"x40": 1})  # the child of x0 and x1
    assert math.isclose(answer[1], (0.7 + 0.9) / (0.1 + 0.7 + 0.7 + 0.9))
    many = wide.query_many("x0", {"x40": [1, None], "x41": [None, None]})
    np.testing.assert_allclose(many.probabilities[:, 1], [answer[1], 0.5])
    evidence = {f"x{v}": 0 for v in range(N_WIDE - 10)}  # what is left has width 9
    assert len(wide.marginals(evidence)) == len(wide.schema) - len(evidence)


def test_likelihood_weighting_needs_no_table(wide):
    table = wide.sample(20_000, {"x40": 1}, random_state=0, weighted=True)
    assert (table.codes[40] == 1).all()
    share = table.weights[table.codes[0] == 1].sum() / table.total_weight
    assert abs(share - 1.6 / 2.4) < 0.02
    assert 0.6 < table.total_weight / table.n_rows < 0.95


def naive_bayes(n, odds):
    """A class and n features that each speak for state 0 by `odds` to 1."""
    features = [Potential((0, i), np.log([[odds, 1.0], [1.0, odds]])) for i in range(1, n + 1)]
    return [Potential((0,), np.log([0.5, 0.5])), *features]


@pytest.mark.parametrize("n", [30, 1000])
def test_evidence_may_be_far_below_the_smallest_float(n):
    # 1000 features at odds 10 make a ratio of 10¹⁰⁰⁰, and one more decides against it all.
    potentials = [*naive_bayes(n, 10.0), Potential((0, n + 1), [[-np.inf, 0.0], [0.0, 0.0]])]
    cards = [2] * (n + 2)
    evidence = dict.fromkeys(range(1, n + 1), 0)
    propagation = JunctionMarginals(potentials, cards)
    for told, expected, log_weight in [
        (evidence, 1.0, n * math.log(10) + math.log(0.5)),
        (evidence | {n + 1: 0}, 0.0, math.log(0.5)),
    ]:
        found, weight = propagation.run([0], told)
        assert math.isclose(found[0][0], expected, abs_tol=1e-12)
        assert math.isclose(weight, log_weight, rel_tol=1e-12)
        columns, codes = list(told), np.array(list(told.values()))[:, None]
        rows = np.repeat(codes, 3, axis=1)
        found, weights = query_rows(lambda _: potentials, np.array(cards), [0], columns, rows)
        np.testing.assert_allclose(found, [[expected, 1 - expected]] * 3, atol=1e-12)
        np.testing.assert_allclose(weights, log_weight, rtol=1e-12)


def test_evidence_of_probability_ten_to_the_minus_200_is_exact():
    # A chain that moves with probability 10⁻⁸: 25 moves seen, then one step that is not.
    n, rare = 26, 1e-8
    step = [[1 - rare, rare], [rare, 1 - rare]]
    dag = Dag.from_parents([()] + [(i,) for i in range(n)])
    model = BayesianNetwork(Schema.from_cards([2] * (n + 1)), dag, [[0.5, 0.5], *[step] * n])
    evidence = {f"x{i}": i % 2 for i in range(n)}
    expected = math.log(0.5) + (n - 1) * math.log(rare)
    assert expected < -200 * math.log(10)
    assert math.isclose(model.log_evidence(evidence), expected, rel_tol=1e-13)
    last = model.marginals(evidence)[f"x{n}"]
    assert math.isclose(last[0], rare, rel_tol=1e-12)
    assert math.isclose(last.log_evidence, expected, rel_tol=1e-13)


def test_long_runs_are_cut_so_that_an_interruption_is_heard(monkeypatch):
    calls = []
    kernel = calibration.kernels.answer_rows

    def counted(*arguments):
        calls.append(len(arguments[3]))
        return kernel(*arguments)

    monkeypatch.setattr(calibration.kernels, "answer_rows", counted)
    monkeypatch.setattr(calibration, "RUN_CELLS", 40)
    pair = Potential((0, 1, 2), np.log(np.arange(1.0, 1 + 2 * 5 * 2).reshape(2, 5, 2)))
    codes = np.array([[0, 1, 2, 3, 4, 5], [0, 1, 0, 1, 2, 2]])
    found, _ = query_rows(lambda _: [pair], np.array([2, 5, 2]), [0], [1, 2], codes)
    assert calls[:3] == [2, 2, 2]
    table = np.exp(pair.log_values)
    np.testing.assert_allclose(found[3], table[:, 3, 1] / table[:, 3, 1].sum())
    np.testing.assert_allclose(found[5], table.sum(axis=(1, 2)) / table.sum())


def test_dirichlet_draws_have_their_mean_and_never_vanish():
    rng = np.random.default_rng(0)
    alpha = np.array([[8.0, 2.0, 0.0], [1e-4, 3e-4, 0.0]])
    drawn = np.exp([draw_dirichlet_logs(rng, alpha) for _ in range(10_000)])
    np.testing.assert_allclose(drawn.sum(axis=-1), 1.0, rtol=1e-12)
    assert (drawn[..., 2] == 0).all()
    np.testing.assert_allclose(drawn.mean(axis=0)[:, 0], [0.8, 0.25], atol=0.01)
    np.testing.assert_allclose(drawn[:, 0, 0].var(), 0.8 * 0.2 / 11, rtol=0.05)


def test_intervals_follow_the_beta_distribution():
    families = {(0,): np.array([30.0, 70.0])}
    rng = np.random.default_rng(0)
    mean, low, high = answer_interval(
        families, np.array([2]), [0], {}, level=0.9, draws=2000, rng=rng
    )
    sd = math.sqrt(0.3 * 0.7 / 101)
    assert abs(mean[0] - 0.3) < 0.005
    np.testing.assert_allclose([low[0], high[0]], [0.3 - 1.64 * sd, 0.3 + 1.64 * sd], atol=0.01)
    for level, draws in [(0.0, 10), (1.0, 10), (0.5, 1)]:
        with raises(ParameterError, about="2 draws"):
            answer_interval(families, np.array([2]), [0], {}, level=level, draws=draws, rng=rng)
