"""Naive Bayes, its tree, and the network of best conditional likelihood, against naive twins."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane._core.classifiers import ADD, DROP, TURN
from counterpane.data import Schema, Table
from counterpane.learners.classifiers import bayes_net_classifier
from counterpane.learners.classifiers.bayes_net_classifier import MIN_GAIN, ConditionalClimb
from counterpane.learners.driver import StoppedEarly
from counterpane.progress import Control
from error_checks import warns
from reference.classifier_reference import (
    best_tree_weight,
    class_posterior,
    conditional_information,
    conditional_log_likelihood,
    moves_into,
    neighbors,
)

CARDS = [2, 3, 2, 3, 3]
NAMES = ["a", "b", "c", "d", "y"]


def make_rows(seed, n=60, cards=CARDS):
    """Rows whose class depends on a product of features, with some weights."""
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, r, n) for r in cards])
    codes[-1] = np.where(rng.random(n) < 0.75, (codes[0] * codes[1] + codes[2]) % 3, codes[-1])
    return codes, rng.integers(1, 4, n)


def make_table(codes, weights=None, cards=CARDS):
    schema = Schema(cp.Variable(n, tuple(range(r))) for n, r in zip(NAMES, cards, strict=True))
    return Table(schema, codes, weights)


def parents_of(model):
    return [model.dag.parents(i) for i in range(model.dag.n)]


@pytest.mark.parametrize("make", [cp.NaiveBayes, cp.TAN, cp.BayesNetClassifier])
@pytest.mark.parametrize("theta", [1.0, 0.2])
def test_probabilities_are_the_formula(make, theta):
    codes, weights = make_rows(0)
    classifier = make(equivalent_sample_size=theta, smoothing="even")
    classifier.fit(make_table(codes, weights), "y")
    rows = [tuple(r) for r in codes.T.tolist()]
    posterior = class_posterior(rows, weights.tolist(), CARDS, parents_of(classifier.model_), theta)
    expected = [posterior(row) for row in rows[:20]]
    found = classifier.predict_proba(make_table(codes[:, :20]))
    assert np.allclose(found, expected, rtol=1e-10)


def test_naive_bayes_by_hand():
    frame = pd.DataFrame({"x": ["u", "u", "v"], "y": ["n", "n", "p"]})
    classifier = cp.NaiveBayes(smoothing="even").fit(frame, "y")
    # P(y) P(x | y) is proportional to n(x, y) + ¼, since the two priors agree
    assert classifier.predict_proba({"x": ["u", "v"]}) == pytest.approx(
        np.array([[2.25 / 2.5, 0.25 / 2.5], [0.25 / 1.5, 1.25 / 1.5]])
    )


@pytest.mark.parametrize("seed", range(4))
def test_no_tree_is_heavier(seed):
    codes, weights = make_rows(seed)
    classifier = cp.TAN().fit(make_table(codes, weights), "y")
    rows = [tuple(r) for r in codes.T.tolist()]
    information = [
        [i != j and conditional_information(rows, weights.tolist(), CARDS, i, j) for j in range(4)]
        for i in range(4)
    ]
    tree = classifier.graph_.subgraph(NAMES[:4])
    assert tree.number_of_edges() == 3
    found = sum(information[NAMES.index(a)][NAMES.index(b)] for a, b in tree.edges)
    assert found == pytest.approx(best_tree_weight(information), abs=1e-12)
    assert all(classifier.graph_.has_edge("y", name) for name in NAMES[:4])


@pytest.mark.parametrize("seed", range(6))
def test_the_climb_ends_where_no_edge_helps(seed):
    codes, weights = make_rows(seed)
    classifier = cp.BayesNetClassifier().fit(make_table(codes, weights), "y")
    rows, totals = [tuple(r) for r in codes.T.tolist()], weights.tolist()
    parents = parents_of(classifier.model_)
    reached = conditional_log_likelihood(rows, totals, CARDS, parents)
    assert classifier.score_ == pytest.approx(reached, abs=1e-9)
    best = max(conditional_log_likelihood(rows, totals, CARDS, p) for p in neighbors(parents))
    assert best <= reached + MIN_GAIN * sum(totals) * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_each_move_is_the_best_there_is(seed):
    codes, weights = make_rows(seed, n=40)
    classifier = cp.BayesNetClassifier().fit(make_table(codes, weights), "y")
    rows, totals = [tuple(r) for r in codes.T.tolist()], weights.tolist()
    parents = [()] * 5
    score = conditional_log_likelihood(rows, totals, CARDS, parents)
    assert classifier.trace_
    for record in classifier.trace_:
        best = max(conditional_log_likelihood(rows, totals, CARDS, p) for p in neighbors(parents))
        p, child = NAMES.index(record["parent"]), NAMES.index(record["child"])
        if record["move"] == "add":
            parents[child] = (*parents[child], p)
        else:
            parents[child] = tuple(q for q in parents[child] if q != p)
            if record["move"] == "reverse":
                parents[p] = (*parents[p], child)
        assert record["score"] == pytest.approx(best, abs=1e-8)
        assert record["score"] > score
        score = record["score"]
    assert [tuple(sorted(p)) for p in parents] == parents_of(classifier.model_)


def random_network(rng):
    order = rng.permutation(5)
    parents = [()] * 5
    for k, v in enumerate(order):
        some = rng.permutation(order[:k])[: rng.integers(1, 3)]
        parents[v] = tuple(int(p) for p in some)
    return parents


def test_the_best_move_into_each_child():
    rng = np.random.default_rng(0)
    kinds = set()
    for seed in range(80):
        codes, weights = make_rows(seed, n=25)
        rows, totals = [tuple(r) for r in codes.T.tolist()], weights.tolist()
        climb = ConditionalClimb(make_table(codes, weights), 1.0, 1)
        parents = random_network(rng)
        padded = np.array([[*p, -1, -1][:2] for p in parents])
        now = climb._score(padded)
        assert now == pytest.approx(conditional_log_likelihood(rows, totals, CARDS, parents))
        for child, (gain, move) in enumerate(climb._moves(padded, 0.0, Control())):
            gains = {
                (kind, p): conditional_log_likelihood(rows, totals, CARDS, network) - now
                for kind, p, network in moves_into(parents, child)
            }
            assert gain == pytest.approx(max([0.0, *gains.values()]), abs=1e-9)
            if gain > 1e-6:
                assert gains[tuple(move.tolist())] == pytest.approx(gain, abs=1e-9)
                kinds.add(int(move[0]))
    assert kinds == {ADD, DROP, TURN}


def test_a_family_too_large_is_not_considered(monkeypatch):
    codes, weights = make_rows(0, n=200)
    monkeypatch.setattr(bayes_net_classifier, "MAX_CELLS", 12)
    classifier = cp.BayesNetClassifier().fit(make_table(codes, weights), "y")
    tables = [t.size for t in classifier.model_.tables]
    assert max(tables) <= 12
    assert classifier.graph_.number_of_edges() > 0


def test_the_time_limit_and_the_checkpoint(tmp_path, monkeypatch):
    codes, weights = make_rows(1, n=300)
    table = make_table(codes, weights)
    whole = cp.BayesNetClassifier().fit(table, "y")
    path = tmp_path / "climb.cp"
    step = bayes_net_classifier.ConditionalClimb.step
    with monkeypatch.context() as patch:

        def stop_after_two(self, state, ctl):
            if (state.parents >= 0).sum() == 2:
                ctl.cancel()
                ctl.check()
            return step(self, state, ctl)

        patch.setattr(bayes_net_classifier.ConditionalClimb, "step", stop_after_two)
        with warns(StoppedEarly, about="edges"):
            part = cp.BayesNetClassifier(checkpoint=path).fit(table, "y")
    assert part.graph_.number_of_edges() == 2
    resumed = cp.BayesNetClassifier(checkpoint=path).fit(table, "y")
    assert resumed.model_.dag.edges == whole.model_.dag.edges
    assert resumed.score_ == whole.score_
    assert not path.exists()


@pytest.mark.filterwarnings("ignore::counterpane.data.encoding.UnknownCells")
@pytest.mark.parametrize("make", [cp.NaiveBayes, cp.TAN, cp.BayesNetClassifier])
def test_an_unseen_state_is_summed_out(make):
    codes, weights = make_rows(2, n=200)
    classifier = make().fit(make_table(codes, weights), "y")
    row = {"a": [1], "b": ["never seen"], "c": [0], "d": [2]}
    expected = classifier.model_.query("y", {"a": 1, "c": 0, "d": 2}).probabilities
    assert classifier.predict_proba(row)[0] == pytest.approx(expected, rel=1e-12)
    seen = {**row, "b": [2]}
    both = {name: [*row[name], *seen[name]] for name in row}
    assert np.allclose(
        classifier.predict_proba(both),
        np.vstack([classifier.predict_proba(row), classifier.predict_proba(seen)]),
        rtol=1e-12,
    )


def test_the_model_answers_and_is_saved(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"length": rng.normal(size=300), "color": rng.choice(["r", "g"], 300)})
    frame["kind"] = np.where(frame["length"] + (frame["color"] == "r") > 0.5, "big", "small")
    classifier = cp.TAN().fit(frame, "kind")
    assert classifier.schema_["length"].cuts
    classifier.model_.save(tmp_path / "tan.cp")
    model = cp.load(tmp_path / "tan.cp")
    told = model.query_many("kind", frame[["length", "color"]]).probabilities
    assert np.allclose(told, classifier.predict_proba(frame), rtol=1e-12)
    assert nx.is_directed_acyclic_graph(classifier.graph_)


def test_a_table_keeps_its_cuts():
    classifier = cp.NaiveBayes().fit(cp.load_dataset("iris"), "class")
    row = {"sepal_length": [5.0], "sepal_width": [3.5], "petal_length": [1.4], "petal_width": [0.2]}
    assert classifier.predict(row).tolist() == ["setosa"]
    assert classifier.predict_proba(row)[0, 0] > 0.99
