"""PFMN: with a perfect test the graph itself, at less cost than GSIMN; and its odd corners."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.data import Schema, Table
from counterpane.errors import ParameterError, UnknownNameError
from counterpane.graphs import UndirectedGraph
from counterpane.graphs.bits import mask, pack
from counterpane.independence import Verdict
from counterpane.learners.driver import StoppedEarly
from counterpane.learners.independence.particle_filter import ParticleFilterSearch
from counterpane.learners.independence.particles import Population
from counterpane.learners.independence.selection import TableLimit
from counterpane.progress import Control
from error_checks import raises, warns
from reference.particles_reference import log_likelihood, log_prior, posterior


def random_graph(n, share, seed):
    flags = np.triu(np.random.default_rng(seed).random((n, n)) < share, 1)
    return UndirectedGraph.from_bits(pack(flags | flags.T))


def nothing(n):
    return Table(Schema.from_cards([2] * n), np.zeros((n, 1), dtype=np.uint8))


def fit(graph, **options):
    options = {"random_state": 0, "potentials": False, "n_particles": 100, "moves": 50} | options
    return cp.ParticleFilterMN(cp.Oracle(graph), **options).fit(nothing(graph.n))


@pytest.mark.parametrize("n", [2, 3, 6, 10])
@pytest.mark.parametrize("share", [0.0, 0.15, 0.5, 0.85, 1.0])
def test_a_perfect_test_gives_the_graph(n, share):
    for seed in range(2):
        graph = random_graph(n, share, seed)
        learner = fit(graph, random_state=seed)
        assert learner.undirected_ == graph
        assert learner.best_graph_.edges == learner.graph_.edges


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_few_tests_are_asked(share):
    graph = random_graph(12, share, 4)
    rival = cp.GSIMN(cp.Oracle(graph), potentials=False).fit(nothing(12))
    assert fit(graph).cost_ < 0.95 * rival.cost_


def test_more_than_64_variables():
    chain = UndirectedGraph(70, [(i, i + 1) for i in range(3)])
    learner = fit(chain, max_tests=12, n_particles=70, moves=10)
    assert learner.n_tests_ == 12
    assert learner.edge_probabilities_.shape == (70, 70)


def test_the_paper_as_it_is_printed_also_runs():
    graph = random_graph(5, 0.4, 1)
    learner = fit(graph, prior="graphs", criterion="entropy", moves=16)
    assert learner.undirected_ == graph


def test_results_are_tidy():
    learner = cp.ParticleFilterMN(random_state=1).fit(cp.load_dataset("titanic"))
    tests = pd.DataFrame(learner.tests_)
    assert len(tests) == learner.n_tests_
    assert tests["cost"].sum() == learner.cost_ == sum(len(g) + 2 for g in tests["given"])
    independent = tests["log_likelihood_independent"] > tests["log_likelihood_dependent"]
    assert (independent == tests["independent"]).all()
    assert (tests["gain"] > 0).all() and (tests["entropy"] >= 0).all()
    assert not tests.duplicated(["x", "y", "given"]).any()
    chances = learner.edge_probabilities_
    assert np.array_equal(chances, chances.T)
    assert ((chances >= 0) & (chances <= 1)).all() and not chances.diagonal().any()
    names = list(learner.graph_.nodes)
    likely = {(names[a], names[b]) for a, b in np.argwhere(np.triu(chances > 0.5))}
    assert {frozenset(e) for e in likely} == {frozenset(e) for e in learner.graph_.edges}
    assert set(learner.seconds_) == {"test", "score", "move"}
    assert min(learner.seconds_.values()) > 0
    assert learner.model_.query("survived", {"sex": "female"})["yes"] > 0.6


def test_best_graph_has_the_largest_posterior():
    table = cp.load_dataset("titanic")
    best = cp.ParticleFilterMN(prior="graphs", random_state=1).fit(table)
    names = list(best.best_graph_.nodes)
    tests = [(names.index(t.x), names.index(t.y), tuple(map(names.index, t.given)))
             for t in best.tests_]  # fmt: skip
    gaps = [t.log_likelihood_independent - t.log_likelihood_dependent for t in best.tests_]
    edges = frozenset(frozenset(map(names.index, e)) for e in best.best_graph_.edges)
    assert best.log_posterior_ == pytest.approx(log_likelihood(edges, tests, gaps), abs=1e-6)
    exact = posterior(4, tests, gaps, "graphs")
    assert exact[edges] == pytest.approx(max(exact.values()))


def test_edge_probabilities_are_those_of_the_posterior():
    tests = [(0, 1, ()), (1, 2, (0,)), (0, 3, (1,)), (2, 3, ()), (0, 2, (1, 3))]
    gaps = [-1.5, 0.8, 1.0, -0.5, 2.0]
    rng = np.random.default_rng(0)
    given = np.zeros((0, 1), dtype=np.uint64)
    graphs = np.zeros((4000, 4, 1), dtype=np.uint64)
    population = Population(graphs, np.zeros((0, 2), np.int64), given, np.zeros(0), moves=30)
    population.renew(rng)
    for test, gap in zip(tests, gaps, strict=True):
        population.absorb(test[:2], mask(4, test[2]), gap, rng)
    exact = posterior(4, tests, gaps, "sparse")
    for again in (False, True):
        if again:
            population.renew(rng)
        for a, b in ((0, 1), (0, 2), (2, 3), (1, 3)):
            share = (population.graphs[:, a, 0] >> np.uint64(b) & np.uint64(1)).mean()
            chance = sum(p for g, p in exact.items() if frozenset((a, b)) in g)
            assert share == pytest.approx(chance, abs=0.03)


def make_search(graph, **options):
    source = cp.MemoryCounts(nothing(graph.n))
    limit = TableLimit(np.zeros(graph.n), math.inf)
    options = {
        "seed": 3, "n_particles": 60, "moves": 20, "prior": "sparse",
        "score": "gain", "limit": limit, "min_gain": 0.0, "max_tests": None, "max_cost": None,
        "n_jobs": 1,
    } | options  # fmt: skip
    return ParticleFilterSearch(cp.Oracle(graph), source, **options)


def test_lost_graphs_come_back():
    graph = random_graph(7, 0.3, 2)
    search = make_search(graph)
    state, control = search.start(), Control()
    while not search.done(state):
        state, _ = search.step(state, control)
    wrong = UndirectedGraph(7, graph.edges[1:])
    agreed = np.broadcast_to(wrong.neighbor_bits, (60, 7, 1)).copy()
    gaps = [30.0 if v.independent else -30.0 for v in state.tests.answered().values()]
    asked = [(*p, tuple(g)) for (*p, g) in state.tests.answered()]
    edges = frozenset(map(frozenset, wrong.edges))
    total = log_likelihood(edges, asked, gaps)
    assert total < 0
    value = total + log_prior(edges, 7, "sparse")
    state = state._replace(
        finished=False, renewed=0, graphs=agreed, totals=np.full(60, float(total)),
        best=agreed[0], best_log_posterior=value,
    )  # fmt: skip
    fresh = make_search(graph)
    while not fresh.done(state):
        state, _ = fresh.step(state, control)
    assert UndirectedGraph.from_bits(state.best) == graph


def test_a_new_population_that_misses_the_best_graph_is_dropped(monkeypatch):
    graph = random_graph(6, 0.4, 1)
    search = make_search(graph)
    state, control, tried = search.start(), Control(), []

    def renew(self, rng):
        tried.append(1)
        self.graphs, self.sizes = 0 * self.graphs, 0 * self.sizes
        self.totals = self.totals - 1000.0

    monkeypatch.setattr(Population, "renew", renew)
    while not search.done(state):
        state, _ = search.step(state, control)
    assert len(tried) == 3
    assert UndirectedGraph.from_bits(state.best) == graph
    assert (state.graphs == state.best).all()


def test_what_answers_are_worth():
    search = make_search(random_graph(3, 0.5, 0))
    pair, given = (0, 1, ()), (0, 1, (2,))
    assert search._gap(pair, Verdict(True)) == 30.0 == -search._gap(pair, Verdict(False))
    assert search._gap(pair, Verdict(False, log_likelihoods=(-7.5, -5.0))) == -2.5
    assert search._gap(pair, Verdict(True, log_likelihoods=(-7.5, -7.5))) == 30.0
    assert search._gap(given, Verdict(True, log_likelihoods=(-7.5, -7.5))) == 0.0
    assert search._gap(pair, Verdict(True, p_value=0.5)) == pytest.approx(math.log(10))
    assert search._gap(pair, Verdict(False, p_value=0.0)) == -30.0
    search.test = cp.ChiSquare(0.5)
    assert search._gap(pair, Verdict(False, p_value=0.5)) == 0.0


# ---- budgets, random numbers, threads, checkpoints -----------------------------------------------


def test_budgets_are_kept():
    graph = random_graph(9, 0.4, 3)
    assert fit(graph, max_tests=7).n_tests_ == 7
    bounded = fit(graph, max_cost=31)
    assert 20 <= bounded.cost_ <= 31
    assert bounded.n_tests_ == len(bounded.tests_)
    with warns(StoppedEarly, about="time limit"):
        fit(random_graph(20, 0.5, 1), time_limit=0.05)


# ---- data ----------------------------------------------------------------------------------------


def chain_table(rows, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.zeros((5, rows), dtype=np.int64)
    codes[0] = rng.integers(0, 2, rows)
    for i in range(1, 4):
        codes[i] = np.where(rng.random(rows) < 0.15, 1 - codes[i - 1], codes[i - 1])
    codes[4] = rng.integers(0, 2, rows)
    return Table(Schema.from_cards([2] * 5), codes)


@pytest.mark.parametrize("test", ["bayesian", "chi2", "g2"])
def test_a_chain_is_found(test):
    learner = cp.ParticleFilterMN(test, random_state=0, alpha=0.001).fit(chain_table(20_000))
    assert set(learner.graph_.edges) == {("x0", "x1"), ("x1", "x2"), ("x2", "x3")}
    assert (
        learner.cost_ < cp.GSIMN(test, variant="paper", alpha=0.001).fit(chain_table(20_000)).cost_
    )


def test_tables_with_too_few_rows_are_not_asked_for():
    table = chain_table(100)
    for rows_per_cell, largest in ((5.0, 2), (0.0, 3)):
        learner = cp.ParticleFilterMN(
            random_state=0, rows_per_cell=rows_per_cell, criterion="entropy",
            min_gain=0.0, potentials=False, max_tests=40,
        ).fit(table)  # fmt: skip
        assert max(len(t.given) for t in learner.tests_) == largest


def test_small_and_odd_tables():
    one = cp.PFMN(random_state=0).fit({"a": [0, 1, 1]})
    assert (list(one.graph_.nodes), one.n_tests_, one.cost_) == (["a"], 0, 0)
    two = cp.PFMN(random_state=0).fit({"a": [0, 1] * 50, "b": [0, 1] * 50})
    assert (list(two.graph_.edges), two.cost_) == ([("a", "b")], 2)
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 500))
    odd = cp.PFMN(random_state=0, discretize=None).fit(
        {"a": a, "twin": a, "b": b, "sum": a + b, "constant": np.zeros(500)}
    )
    assert odd.blankets_["constant"] == ()
    assert odd.graph_.number_of_edges() >= 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_particles": 1}, "n_particles=1"),
        ({"n_particles": 2.5}, "n_particles=2.5"),
        ({"moves": 0}, "moves=0"),
        ({"max_tests": 0}, "max_tests=0"),
        ({"max_cost": 0}, "max_cost=0"),
        ({"max_cost": math.nan}, "max_cost=nan"),
        ({"min_gain": -1.0}, "min_gain=-1.0"),
        ({"rows_per_cell": -1}, "rows_per_cell=-1"),
        ({"time_limit": 0}, "time_limit=0"),
        ({"prior": "dense"}, "'sparse'"),
        ({"criterion": "bic"}, "'gain'"),
    ],
)
def test_nonsense_is_refused(options, message):
    with raises(ParameterError, about=message):
        cp.ParticleFilterMN(**options).fit(cp.load_dataset("titanic"))
    if options.keys() & cp.PFMN().get_params().keys():
        with raises(ParameterError, about=message):
            cp.PFMN(**options).fit(cp.load_dataset("titanic"))


def test_estimates_from_tables_need_a_test_of_data():
    with raises(ParameterError, parameter="test"):
        cp.PFMN(cp.Oracle(UndirectedGraph(4, []))).fit(cp.load_dataset("titanic"))


def test_an_unknown_test_is_refused():
    with raises(UnknownNameError, parameter="test", value="baysian"):
        cp.PFMN("baysian").fit(cp.load_dataset("titanic"))
