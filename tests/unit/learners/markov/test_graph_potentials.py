"""Potentials of a known graph: closed form, pseudo-likelihood, and what is refused."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import minimize

import counterpane as cp
from counterpane.counts import MemoryCounts
from counterpane.data import Schema, Table
from counterpane.errors import DataError, FitError, ParameterError, TableSizeError
from counterpane.features import Blanket, Potential, Rules
from counterpane.graphs import Dag, UndirectedGraph, is_chordal
from counterpane.learners.markov.graph_potentials import _by_pseudo_likelihood, fit_potentials
from counterpane.learners.markov.pseudo_likelihood import PseudoLikelihood, maximize_likelihood
from counterpane.progress import Control
from error_checks import raises, warns
from reference import pseudo_reference as reference
from reference.random_codes import random_codes, random_weights

CARDS = (2, 3, 2, 3)
SQUARE = UndirectedGraph(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
SIDES = [(0, 1), (0, 3), (1, 2), (2, 3)]
RULES = [(0.7, [(0, 1, False), (3, 0, True)]), (-1.2, [(1, 2, True), (1, 0, True)]), (2.0, [])]


def source_of(codes, weights=None, cards=CARDS):
    return MemoryCounts(Table(Schema.from_cards(cards), codes, weights))


def square_sample(rows, seed=0, strength=1.0):
    """Rows of a random model on the square, drawn from its joint table, and that table."""
    rng = np.random.default_rng(seed)
    parts = [(s, strength * rng.normal(size=[CARDS[v] for v in s])) for s in SIDES]
    table = reference.joint(CARDS, parts)
    drawn = rng.choice(table.size, rows, p=table.ravel())
    return np.array(np.unravel_index(drawn, CARDS)), table


def joint_of(model):
    """P(x) for all x, as the model says."""
    cards = model.schema.cards
    rows = Table(model.schema, np.array(list(product(*map(range, cards)))).T)
    return np.exp(model.score_samples(rows)).reshape(cards)


def random_chordal(n, seed):
    """A perfect DAG, each parent set a clique, and its graph."""
    rng = np.random.default_rng(seed)
    parents = {0: ()}
    for i in range(1, n):
        clique = (j := int(rng.integers(i)), *parents[j])
        parents[i] = tuple(
            sorted(rng.permutation(clique)[: rng.integers(len(clique) + 1)].tolist())
        )
    edges = [(p, i) for i, own in parents.items() for p in own]
    return Dag(n, edges), UndirectedGraph(n, edges)


# ---- closed form ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0.0, 0.3, 1.0, 20.0])
@pytest.mark.parametrize("seed", range(6))
def test_chordal_graphs_normalize_and_equal_their_networks(seed, size):
    cards = (2, 3, 2, 4, 2, 3)
    dag, graph = random_chordal(6, seed)
    assert is_chordal(graph)
    source = source_of(random_codes(cards, 40, seed), cards=cards)
    model = fit_potentials(source, graph, equivalent_sample_size=size)
    assert abs(model.log_partition) < 1e-12
    assert set(model.undirected.edges) == set(graph.edges)
    if size:  # a network's own prior is the same; without one it refuses empty configurations
        network = cp.fit_parameters(source, dag, equivalent_sample_size=size)
        found, expected = joint_of(model), np.exp(network.score_samples(all_rows(model.schema)))
        np.testing.assert_allclose(found.ravel(), expected, rtol=1e-10)


def all_rows(schema):
    return Table(schema, np.array(list(product(*map(range, schema.cards)))).T)


def test_without_a_prior_the_cliques_have_their_frequencies():
    codes = random_codes((3, 4, 3), 15, seed=3)
    source = source_of(codes, random_weights("eighths", 15, 1), (3, 4, 3))
    model = fit_potentials(source, UndirectedGraph(3, [(0, 1), (1, 2)]), equivalent_sample_size=0.0)
    joint = joint_of(model)
    assert np.isfinite(joint).all()
    assert joint.sum() == pytest.approx(1.0, abs=1e-12)
    for pair, away in (((0, 1), 2), ((1, 2), 0)):
        counts = source.counts([pair])[0]
        np.testing.assert_allclose(joint.sum(axis=away), counts / counts.sum(), atol=1e-12)


def test_nodes_without_edges():
    source = source_of(random_codes((2, 3), 9, seed=0), cards=(2, 3))
    model = fit_potentials(source, UndirectedGraph(2, []), equivalent_sample_size=2.0)
    assert abs(model.log_partition) < 1e-12
    counts = source.counts([[1]])[0]
    assert model.query("x1")[2] == pytest.approx((counts[2] + 2 / 3) / 11)


# ---- pseudo-likelihood ---------------------------------------------------------------------------


def parts_with_rules(seed):
    rng = np.random.default_rng(seed)
    potentials = [Potential(s, rng.normal(size=[CARDS[v] for v in s])) for s in [*SIDES, (2, 0, 3)]]
    return [*potentials, Rules.from_list(CARDS, RULES)]


def weights_of_parts(parts):
    tables = [p.log_values.ravel() for p in parts if isinstance(p, Potential)]
    return np.concatenate([*tables, *(p.weights for p in parts if isinstance(p, Rules))])


@pytest.mark.parametrize("weights", [None, "eighths"])
@pytest.mark.parametrize("max_rows", [2**20, 3], ids=["distinct", "streamed"])
def test_value_and_gradient(weights, max_rows):
    codes, w = random_codes(CARDS, 30, seed=1), random_weights(weights, 30, 2)
    parts = parts_with_rules(0)
    objective = PseudoLikelihood(source_of(codes, w), parts, max_rows=max_rows)
    assert objective.streamed.size == (4 if max_rows == 3 else 0)
    at = weights_of_parts(parts)
    value, gradient = objective(at)
    plain = np.ones(30) if w is None else w
    rows = [list(map(int, row)) for row in codes.T]
    tables = [(p.scope, p.log_values) for p in parts[:-1]]
    assert value == pytest.approx(reference.minus_pll(rows, plain, CARDS, tables, RULES), rel=1e-12)
    own = Blanket(CARDS, parts).pseudo_log_likelihood(codes, total=True)
    assert value == pytest.approx(-(own @ plain), rel=1e-12)
    for k in range(at.size):
        step = np.zeros(at.size)
        step[k] = 1e-5
        slope = (objective(at + step)[0] - objective(at - step)[0]) / 2e-5
        assert gradient[k] == pytest.approx(slope, abs=1e-5)


def test_it_finds_the_optimum_of_the_naive_objective():
    codes, _ = square_sample(60)
    rows, counts = np.unique(codes.T, axis=0, return_counts=True)
    rows = [list(map(int, row)) for row in rows]

    def naive(w):
        cut = np.split(w, np.cumsum([CARDS[a] * CARDS[b] for a, b in SIDES])[:-1])
        tables = [(s, p.reshape([CARDS[v] for v in s])) for s, p in zip(SIDES, cut, strict=True)]
        return reference.minus_pll(rows, counts, CARDS, tables) + 0.5 * w @ w / 0.7**2

    expected = minimize(naive, np.zeros(24), method="BFGS", options={"gtol": 1e-3})
    source = source_of(codes)
    empty = [Potential(s, np.zeros([CARDS[v] for v in s])) for s in SIDES]
    found = maximize_likelihood(PseudoLikelihood(source, empty), prior_sd=0.7).weights
    assert naive(found) <= expected.fun + 1e-9
    np.testing.assert_allclose(found, expected.x, atol=1e-3)
    model = fit_potentials(source, SQUARE, prior_sd=0.7)
    assert [p.scope for p in model.potentials] == SIDES
    assert np.array_equal(np.concatenate([p.log_values.ravel() for p in model.potentials]), found)


def test_large_samples_give_the_maximum_likelihood_and_the_truth():
    codes, truth = square_sample(200_000, strength=0.7)
    model = fit_potentials(source_of(codes), SQUARE)
    found = joint_of(model)
    empirical = np.zeros(CARDS)
    np.add.at(empirical, tuple(codes), 1 / 200_000)
    likeliest = reference.maximum_likelihood(empirical, SIDES)
    assert (likeliest * np.log(likeliest / found)).sum() < 1e-5
    assert (truth * np.log(truth / found)).sum() < 2e-4


@pytest.mark.parametrize("seed", range(3))
def test_large_samples_bring_it_near_the_closed_form(seed):
    dag, graph = random_chordal(5, seed)
    cards = (2, 3, 2, 2, 3)
    network = cp.fit_parameters(source_of(random_codes(cards, 30, seed), cards=cards), dag)
    source = MemoryCounts(
        Table.from_frame(network.sample(100_000, random_state=seed), schema=network.schema)
    )
    closed = fit_potentials(source, graph)
    cliques = [p.scope for p in closed.potentials]
    by_search = cp.MarkovNetwork(
        source.schema, _by_pseudo_likelihood(source, cliques, prior_sd=10.0, ctl=None)
    )
    assert np.abs(joint_of(closed) - joint_of(by_search)).sum() < 5e-3


def test_a_stronger_prior_pulls_towards_uniform():
    codes, _ = square_sample(50, strength=2.0)
    spread = [
        np.abs(np.concatenate([p.log_values.ravel() for p in model.potentials])).max()
        for model in (fit_potentials(source_of(codes), SQUARE, prior_sd=sd) for sd in (0.01, 1, 9))
    ]
    assert spread[0] < 0.05 < spread[1] < spread[2]


def test_alarm_sized_graphs():
    n = 37
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (n, 400))
    edges = {(i, (i + 1) % n) for i in range(n)} | {(i, i + 9) for i in range(0, 27, 3)}
    source = source_of(codes, cards=(2,) * n)
    model = fit_potentials(source, UndirectedGraph(n, [tuple(sorted(e)) for e in edges]))
    assert model.pseudo_log_likelihood(source.table, total=True).mean() > -n * np.log(2)
    assert 0 < model.query("x0")[1] < 1


# ---- refusals and control ------------------------------------------------------------------------


def test_a_time_limit_returns_the_best_so_far():
    codes, _ = square_sample(500, strength=3.0)
    reports = []

    def report(what, done, total):
        if what == "fitting weights":
            reports.append(done)
            if done == 3:
                raise KeyboardInterrupt

    with warns(cp.StoppedEarly, about="3 steps"):
        early = fit_potentials(source_of(codes), SQUARE, ctl=Control(report))
    assert reports == [1, 2, 3]
    full = fit_potentials(source_of(codes), SQUARE)
    table = source_of(codes).table
    nothing = -4 * 500 * np.log(np.prod(CARDS) ** (1 / 4))
    values = [m.pseudo_log_likelihood(table, total=True).sum() for m in (early, full)]
    assert nothing < values[0] < values[1]

    cut = Control(lambda what, done, total: what == "fitting weights" and cut.cancel())
    with warns(cp.StoppedEarly, about="cancelled"):
        fit_potentials(source_of(codes), SQUARE, ctl=cut)


def test_the_best_is_not_always_the_last(monkeypatch):
    def interrupted(function, start, **options):
        for step in (0.1, 0.0, 9.0):
            function(start + step)
        raise KeyboardInterrupt

    monkeypatch.setattr("counterpane.learners.markov.pseudo_likelihood.minimize", interrupted)
    codes, _ = square_sample(50)
    with pytest.warns(cp.StoppedEarly):
        model = fit_potentials(source_of(codes), SQUARE)
    assert all((p.log_values == 0.0).all() for p in model.potentials)


def test_too_large_cliques_are_named():
    source = source_of(random_codes((5,) * 6, 20, seed=0), cards=(5,) * 6)
    whole = UndirectedGraph(6, list(combinations(range(6), 2)))
    with raises(TableSizeError, about=("'x0'", "'x1'")):
        fit_potentials(source, whole, max_cells=10_000)
    with raises(TableSizeError, about="25 joint"):
        fit_potentials(source, UndirectedGraph(6, [(0, 1), (1, 2), (2, 3), (0, 3)]), max_cells=30)


def test_graphs_of_very_many_cliques_are_refused_at_once():
    n = 60  # 3^20 maximal cliques: all but the members of one's own triple are neighbors
    edges = [(i, j) for i, j in combinations(range(n), 2) if i // 3 != j // 3]
    source = source_of(np.zeros((n, 3), dtype=int), cards=(2,) * n)
    with raises(TableSizeError, about="'x0'"):
        fit_potentials(source, UndirectedGraph(n, edges))


def test_bad_input():
    codes, _ = square_sample(20)
    source = source_of(codes)
    with raises(FitError, about=("3 nodes", "4 columns")):
        fit_potentials(source, UndirectedGraph(3, []))
    with raises(ParameterError, parameter="equivalent_sample_size", value=-1):
        fit_potentials(source, SQUARE, equivalent_sample_size=-1)
    for bad in (0.0, -1.0, float("nan")):
        with raises(ParameterError, parameter="prior_sd"):
            fit_potentials(source, SQUARE, prior_sd=bad)
    codes = codes.copy()
    codes[1, 0] = 3
    for graph in (SQUARE, UndirectedGraph(4, [])):
        with raises(DataError, about="missing"):
            fit_potentials(source_of(codes), graph)
    sides = [Potential(s, np.zeros([CARDS[v] for v in s])) for s in SIDES]
    with raises(DataError, about="missing"):
        PseudoLikelihood(source_of(codes), sides, max_rows=1)


def test_columns_that_copy_each_other_or_say_nothing():
    codes = np.array([[0, 1, 0, 1, 1], [0, 1, 0, 1, 1], [0, 0, 0, 0, 0], [1, 0, 2, 0, 1]])
    model = fit_potentials(source_of(codes, cards=(2, 2, 1, 3)), SQUARE)
    assert all(np.isfinite(p.log_values).all() for p in model.potentials)
    assert model.query("x0", {"x1": 1})[1] > 0.7
