"""Edge confidence by resampled rows."""

from __future__ import annotations

import importlib
import time

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sparse
from sklearn.base import BaseEstimator

import counterpane as cp
from counterpane.data import Schema, Table
from counterpane.errors import FitError, ParameterError
from counterpane.learners import ChowLiu, StoppedEarly
from counterpane.learners.bayesian.exact_posterior import ExactPosterior
from counterpane.learners.bootstrap import BootstrapResult, bootstrap
from counterpane.models.edges import Edge
from counterpane.models.mixture import Mixture
from counterpane.report.content import confidence_of
from error_checks import raises, warns

bootstrapping = importlib.import_module("counterpane.learners.bootstrap")


class Remembers(BaseEstimator):
    """A learner that finds nothing, and notes the tables it was given."""

    seen: list = []  # noqa: RUF012

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X):
        self.seen.append((X, self.random_state))
        self.graph_ = nx.DiGraph()
        return self


@pytest.fixture(name="seen")
def what_was_seen():
    Remembers.seen.clear()
    return Remembers.seen


def a_chain(rows=300, seed=0):
    """x0 – x1 – x2 strongly joined, x3 apart."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (4, rows))
    for i in (1, 2):
        codes[i] = np.where(rng.random(rows) < 0.8, codes[i - 1], codes[i])
    return Table(Schema.from_cards([2] * 4), codes)


def counts_of(table):
    """The weights of all distinct rows, as a dictionary."""
    rows = table.distinct()
    return {tuple(c): int(w) for c, w in zip(rows.codes.T.tolist(), rows.weights, strict=True)}


# ---- samples -----------------------------------------------------------------------------------


@pytest.mark.parametrize("copies", [1, 40])
def test_samples_are_rows_with_replacement(seen, copies):
    """Each distinct row comes N p times on average, with the variance of a multinomial."""
    table = Table(Schema.from_cards([4]), [[0, 1, 1, 2, 2, 2, 3, 3] * copies])
    bootstrap(Remembers(), table, n=400, random_state=0)
    size = 8 * copies
    found = np.array([[counts_of(t).get((s,), 0) for s in range(4)] for t, _ in seen])
    assert (found.sum(axis=1) == size).all()
    p = np.array([1, 2, 3, 2]) / 8
    assert found.mean(axis=0) == pytest.approx(size * p, abs=4.5 * np.sqrt(size / 4 / 400))
    assert found.var(axis=0) == pytest.approx(size * p * (1 - p), rel=0.35)
    assert (seen[0][0].weights is None) == (copies == 1)  # few distinct rows: by weights


def test_fractional_weights_keep_their_total(seen):
    table = a_chain(50).reweighted(np.random.default_rng(0).gamma(1.0, 1.0, 50))
    bootstrap(Remembers(), table, n=5, random_state=0)
    for sample, _ in seen:
        assert sample.total_weight == pytest.approx(table.total_weight)


def test_a_state_is_not_lost_with_its_last_missing_cell(seen):
    table = Table(Schema.from_cards([2, 2]), [[0, 1] * 10, [2] + [0] * 19])
    bootstrap(Remembers(), table, n=20, random_state=0)
    assert all(sample.has_missing.tolist() == [False, True] for sample, _ in seen)


def test_learners_are_seeded_apart(seen):
    bootstrap(Remembers(), a_chain(), n=10, random_state=0)
    assert len({state for _, state in seen}) == 10
    assert Remembers().random_state is None


def test_threads_do_not_matter():
    table = a_chain()
    one, three = (
        bootstrap(ChowLiu("bic"), table, n=20, random_state=1, n_jobs=jobs) for jobs in (1, 3)
    )
    assert np.array_equal(one.edge_probabilities, three.edge_probabilities)
    other = bootstrap(ChowLiu("bic"), table, n=20, random_state=2)
    assert not np.array_equal(one.edge_probabilities, other.edge_probabilities)


def test_the_learner_stays_as_it_is():
    learner = ChowLiu("bic")
    bootstrap(learner, a_chain(), n=2, random_state=0)
    assert not hasattr(learner, "model_")


# ---- results -----------------------------------------------------------------------------------


def test_strong_edges_are_found():
    result = bootstrap(ChowLiu("bic"), a_chain(), n=50, random_state=0)
    assert (result.n, result.names) == (50, ("x0", "x1", "x2", "x3"))
    assert [{*edge.ends} for edge in result.edges[:2]] == [{"x0", "x1"}, {"x1", "x2"}]
    assert [edge.share for edge in result.edges[:2]] == [1.0, 1.0]
    assert all(edge.share < 0.5 for edge in result.edges[2:])
    assert {frozenset(e) for e in result.averaged_graph().edges} == {
        frozenset(("x0", "x1")),
        frozenset(("x1", "x2")),
    }
    assert np.array_equal(result.strengths, result.strengths.T)
    parts = result.arrows + result.arrows.T + result.undirected
    assert parts == pytest.approx(result.strengths)


def test_networks_are_averaged_where_asked():
    result = bootstrap(ChowLiu("bic"), a_chain(), n=50, random_state=0, equivalence=False)
    joined = result.strengths > 0
    assert (result.directions + result.directions.T)[joined] == pytest.approx(1.0)
    assert nx.is_directed_acyclic_graph(result.averaged_graph())


def test_a_direction_that_nothing_tells_is_open():
    """A tree says nothing of directions, whichever root its learner takes."""
    result = bootstrap(ChowLiu("bic", root="x0"), a_chain(), n=20, random_state=0)
    assert result.edge_probabilities[0, 1] == result.edge_probabilities[1, 0] == 0.5
    assert result.strengths[0, 1] == 1.0
    assert (result.directions == 0).all()
    graph = result.averaged_graph()
    assert graph.has_edge("x0", "x1") and graph.has_edge("x1", "x0")
    assert not graph.edges["x0", "x1"]["directed"]


def test_a_direction_that_the_class_has_counts():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 500))
    collider = Table(Schema.from_cards([2, 2, 2]), [a, b, a | b])
    found = bootstrap(ExactPosterior(), collider, n=5, random_state=0)
    assert found.edge_probabilities[0, 2] == found.edge_probabilities[1, 2] == 1.0
    assert found.edges[0].directed and found.edges[0].share_of_mark == 1.0
    graph = found.averaged_graph()
    assert set(graph.edges) == {("x0", "x2"), ("x1", "x2")}
    assert all(told for _, _, told in graph.edges(data="directed"))


def test_constraints_direct_edges_in_every_sample():
    learner = cp.HillClimb(tiers=[["x0"], ["x1", "x2", "x3"]])
    found = bootstrap(learner, a_chain(), n=20, random_state=0)
    assert Edge("x0", "x1", "→", None, "", 1.0, 1.0, 20) in found.edges


def test_a_dependency_network_keeps_its_arrows():
    """They say which columns a conditional reads; that is no Markov equivalence class."""
    found = bootstrap(cp.DependencyNetworkLearner(), a_chain(), n=3, random_state=0)
    assert found.strengths[0, 1] == 1.0


def test_models_make_a_mixture():
    table = a_chain()
    result = bootstrap(ChowLiu("bic"), table, n=8, random_state=0, keep_models=True)
    assert len(result.models) == 8
    assert Mixture(result.models).query("x1", {"x0": 1})[1] > 0.8
    assert bootstrap(ChowLiu("bic"), table, n=2, random_state=0).models == ()


def test_an_averaged_graph_has_no_cycle():
    turn = np.zeros((3, 3))
    turn[0, 1] = turn[1, 2] = turn[2, 0] = 0.6
    turn[0, 1] = 0.9
    turn[1, 2] = 0.7
    result = BootstrapResult(("a", "b", "c"), turn, True, 10)
    graph = result.averaged_graph(0.5)
    assert list(graph.edges) == [("a", "b"), ("b", "c")]
    assert graph.edges["a", "b"] == {
        "strength": 0.9,
        "direction": 1.0,
        "share": 0.9,
        "directed": True,
    }
    assert list(result.averaged_graph(0.7).edges) == [("a", "b"), ("b", "c")]
    assert list(result.averaged_graph(0.71).edges) == [("a", "b")]
    for threshold in (0.0, 1.5):
        with raises(ParameterError, parameter="threshold"):
            result.averaged_graph(threshold)


def test_undirected_learners():
    class Undirected(Remembers):
        def fit(self, X):
            self.graph_ = nx.Graph([("x0", "x2")])
            return self

    result = bootstrap(Undirected(), a_chain(), n=4)
    assert result.edges == (Edge("x0", "x2", "—", None, "", 1.0, 1.0, 4),)
    graph = result.averaged_graph()
    assert not graph.is_directed()
    assert list(graph.edges) == [("x0", "x2")]


def test_a_learner_with_only_a_model():
    class OnlyModel(ChowLiu):
        @property
        def graph_(self):
            raise AttributeError("graph_")

    found = bootstrap(OnlyModel("bic"), a_chain(), n=3, random_state=0)
    assert found.strengths[0, 1] == 1.0


# ---- refusals and stops ------------------------------------------------------------------------


def test_what_is_refused():
    class Nothing(Remembers):
        def fit(self, X):
            return self

    with raises(FitError, about="Nothing"):
        bootstrap(Nothing(), a_chain(), n=2)
    for name, value in (("n", 0), ("n", 2.5), ("n_jobs", 0)):
        with raises(ParameterError, parameter=name, value=value):
            bootstrap(ChowLiu(), a_chain(), **{name: value})


def test_progress_and_stops():
    seen = []
    bootstrap(ChowLiu(), a_chain(), n=3, progress=lambda *report: seen.append(report))
    assert seen == [("learning from samples", k, 3) for k in (1, 2, 3)]

    def stop(what, done, total):
        if done == 4:
            raise KeyboardInterrupt

    whole = bootstrap(ChowLiu("bic"), a_chain(), n=4, random_state=0)
    with warns(StoppedEarly, about="50 samples"):
        part = bootstrap(ChowLiu("bic"), a_chain(), n=50, random_state=0, progress=stop)
    assert part.n == 4
    assert np.array_equal(part.edge_probabilities, whole.edge_probabilities)
    with warns(StoppedEarly, about="time limit"):
        assert bootstrap(ChowLiu(), a_chain(), n=10**6, time_limit=0.05).n < 10**6


def test_titanic_by_name():
    result = bootstrap(ChowLiu("bic", root="survived"), cp.load_dataset("titanic"), n=10,
                       random_state=0)  # fmt: skip
    assert {result.edges[0].source, result.edges[0].target} <= set(result.names)
    assert ("survived", "sex") in result.averaged_graph(0.9).edges


def test_the_time_limit_begins_with_the_first_sample(monkeypatch):
    """Loading the rows is not counted, however long it takes."""

    def slow(X, fixed):
        time.sleep(0.3)
        return rows_of_table(X, fixed)

    rows_of_table = bootstrapping._rows_to_draw
    monkeypatch.setattr(bootstrapping, "_rows_to_draw", slow)
    with warns(StoppedEarly, about="time limit"):
        found = bootstrap(ChowLiu(), a_chain(), n=10**6, time_limit=0.25, random_state=0)
    assert found.n > 1


def test_shares_of_many_columns_are_sparse(monkeypatch):
    table = cp.load_dataset("titanic")
    dense = cp.bootstrap(cp.ChowLiu(), table, n=20, random_state=0)
    monkeypatch.setattr("counterpane.learners.bootstrap.DENSE_COLUMNS", 2)
    result = cp.bootstrap(cp.ChowLiu(), table, n=20, random_state=0)
    assert sparse.issparse(result.edge_probabilities)
    assert sparse.issparse(result.undirected)
    assert result.edges == dense.edges
    for name in ("edge_probabilities", "strengths", "directions", "undirected"):
        assert (getattr(result, name).toarray() == getattr(dense, name)).all()
    assert set(result.averaged_graph().edges) == set(dense.averaged_graph().edges)
    model = cp.ChowLiu().fit(table).model_
    assert confidence_of(model, result) == confidence_of(model, dense)
