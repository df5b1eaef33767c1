"""GSMN and GSIMN: with a perfect test the graph itself, and every inference sound."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.data import Schema, Table
from counterpane.errors import FitError, ParameterError, ScopeError, UnknownNameError
from counterpane.graphs import UndirectedGraph
from counterpane.graphs.bits import pack
from counterpane.independence import Ledger
from counterpane.learners.driver import StoppedEarly
from counterpane.learners.independence.base import StructureOnly
from counterpane.learners.independence.executed_tests import ExecutedTests
from counterpane.learners.independence.grow_shrink import GrowShrink
from counterpane.learners.independence.inference_rules import KnowledgeBase
from error_checks import raises, warns
from reference.particles_reference import is_separated


def random_graph(n, share, seed):
    flags = np.triu(np.random.default_rng(seed).random((n, n)) < share, 1)
    return UndirectedGraph.from_bits(pack(flags | flags.T))


def nothing(n):
    return Table(Schema.from_cards([2] * n), np.zeros((n, 1), dtype=np.uint8))


def fit(learner, graph, **options):
    test = cp.Oracle(graph)
    return learner(test, potentials=False, **options).fit(nothing(graph.n))


@pytest.mark.parametrize("n", [2, 3, 5, 8, 13, 20])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.6, 0.9, 1.0])
def test_a_perfect_test_gives_the_graph(n, share):
    for seed in range(3):
        graph = random_graph(n, share, seed)
        plain, inferring = fit(cp.GSMN, graph), fit(cp.GSIMN, graph)
        assert plain.undirected_ == inferring.undirected_ == graph
        assert n * (n - 1) <= inferring.cost_ <= plain.cost_
        assert inferring.n_tests_ <= plain.n_tests_


def test_inference_saves_tests():
    graph = random_graph(20, 0.3, 0)
    assert fit(cp.GSIMN, graph).cost_ < 0.8 * fit(cp.GSMN, graph).cost_


@pytest.mark.parametrize("seed", range(12))
def test_what_is_inferred_is_true(seed):
    rng = np.random.default_rng(seed)
    n = 7
    graph = random_graph(n, rng.uniform(0.1, 0.7), seed)
    edges = [frozenset(e) for e in graph.edges]
    known, told = KnowledgeBase(n), {True: 0, False: 0}
    for _ in range(500):
        x, y, *rest = rng.permutation(n).tolist()
        given = rest[: rng.integers(0, n - 1)]
        bits = sum(1 << v for v in given)
        truth = is_separated(edges, x, y, given)
        inferred = known.infer(x, y, bits)
        if inferred is None:
            known.add(x, y, bits, truth)
        else:
            assert inferred == truth
            told[truth] += 1
    assert all(told.values())


def test_each_rule_infers():
    known = KnowledgeBase(5)
    known.add(0, 1, 0b01100, False)  # 0 ⊥̸ 1 | 2, 3
    known.add(1, 4, 0b00100, False)  # 1 ⊥̸ 4 | 2
    known.add(0, 3, 0b00100, True)  # 0 ⊥ 3 | 2
    assert known.infer(1, 0, 0b00100) is False  # strong union, downward
    assert known.infer(3, 0, 0b00110) is True  # strong union, upward
    assert known.infer(0, 4, 0b00100) is False  # D-triangle over 1, which is outside of S
    assert known.infer(0, 4, 0b01100) is None  # A ∩ B is {2} only
    known.add(3, 4, 0b00110, False)
    assert known.infer(0, 4, 0b10100 & 0b00100) is False  # noted before
    fresh = KnowledgeBase(4)
    fresh.add(0, 1, 0b0000, True)
    fresh.add(1, 2, 0b1000, False)
    twin = KnowledgeBase(4)
    twin.add(0, 1, 0b0000, True)
    twin.add(1, 2, 0b1000, False)
    assert twin.infer(2, 0, 0b1000) is True  # the I-triangle, from its other end
    assert fresh.infer(0, 2, 0b1000) is True  # I-triangle
    assert fresh.infer(0, 2, 0b0000) is True
    assert fresh.infer(0, 3, 0, propagated=True) is True
    assert (
        fresh.infer(0, 1, 0, propagated=False) is True
    )  # what was answered goes before what was told


def test_only_the_strongest_facts_are_kept():
    known = KnowledgeBase(6)
    for given in (0b000100, 0b001100, 0b000100, 0b011100):
        known.add(0, 1, given, False)
    assert known._dependent[1][0] == [0b011100]
    for given in (0b001100, 0b000100, 0b011100):
        known.add(0, 5, given, True)
    assert known._independent[0][5] == [0b000100]


def test_pairs_are_asked_in_one_batch():
    batches = []

    class Counting(Ledger):
        def answer(self, questions):
            batches.append(len(questions))
            return super().answer(questions)

    graph = random_graph(9, 0.3, 1)
    run = GrowShrink(Counting(cp.Oracle(graph)), 9, rules=KnowledgeBase(9))
    run.test_pairs()
    assert batches == [36]
    for _ in range(9):
        run.examine()
    assert set(batches[1:]) == {1}
    assert all(set(run.blankets[v]) == set(graph.neighbors(v)) for v in range(9))


def test_visits_follow_the_last_member():
    chain = UndirectedGraph(5, [(i, i + 1) for i in range(4)])
    learner = fit(cp.GSMN, chain)
    order = [row["variable"] for row in learner.trace_[1:]]
    assert sorted(order) == [f"x{i}" for i in range(5)]
    assert learner.blankets_["x1"] == ("x0", "x2")
    assert set(learner.graph_.edges) == {(f"x{i}", f"x{i + 1}") for i in range(4)}


def test_records_are_tidy():
    learner = cp.GSIMN("g2", alpha=0.01).fit(cp.load_dataset("titanic"))
    frame = pd.DataFrame(learner.tests_)
    assert len(frame) == learner.n_tests_
    assert frame["cost"].sum() == learner.cost_ == sum(len(g) + 2 for g in frame["given"])
    assert (frame["independent"] == (frame["p_value"] > 0.01)).all()
    assert learner.model_.query("survived", {"sex": "female"})["yes"] > 0.6


@pytest.mark.parametrize("test", ["chi2", "g2", "bayesian"])
def test_every_test_serves(test):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 3000)
    b = np.where(rng.random(3000) < 0.1, 1 - a, a)
    c = np.where(rng.random(3000) < 0.1, 1 - b, b)
    for learner in (cp.GSMN, cp.GSIMN):
        found = learner(test).fit({"a": a, "b": b, "c": c, "d": rng.integers(0, 3, 3000)})
        assert {frozenset(e) for e in found.graph_.edges} == {frozenset("ab"), frozenset("bc")}


def test_nonsense_gets_a_clear_answer():
    table = cp.load_dataset("titanic")
    with raises(UnknownNameError, parameter="test", value="chi"):
        cp.GSMN("chi").fit(table)
    with raises(ParameterError, parameter="alpha", value=2):
        cp.GSMN(alpha=2).fit(table)
    with raises(FitError, about=("3 nodes", "4 columns")):
        cp.GSIMN(cp.Oracle(UndirectedGraph(3))).fit(table)
    test = cp.ChiSquare().bind(cp.MemoryCounts(table))
    with raises(UnknownNameError, parameter="column", value="boat"):
        test("sex", "boat")
    with raises(ScopeError, about="'sex'"):
        test("sex", "age", ["sex"])


def test_a_dense_graph_keeps_its_structure_without_tables():
    graph = UndirectedGraph(26, [(a, b) for a in range(26) for b in range(a)])
    with warns(StructureOnly, about="'x0'"):
        learner = cp.GSIMN(cp.Oracle(graph)).fit(nothing(26))
    assert learner.model_ is None
    assert learner.undirected_ == graph


def test_a_stopped_search_keeps_the_blankets_it_found(monkeypatch):
    graph = random_graph(8, 0.4, 2)
    inner, steps = GrowShrink.examine, []

    def examine(self):
        if len(steps) == 3:
            raise KeyboardInterrupt
        steps.append(inner(self))
        return steps[-1]

    monkeypatch.setattr(GrowShrink, "examine", examine)
    with pytest.warns(StoppedEarly):
        learner = fit(cp.GSMN, graph)
    expected = {e for e in graph.edges if set(e) & set(steps)}
    assert set(learner.undirected_.edges) == expected


def test_answers_survive_as_arrays():
    source = cp.MemoryCounts(cp.load_dataset("titanic"))
    for test in (cp.GTest(), cp.BayesianTest(), cp.Oracle(UndirectedGraph(4, [(0, 1)]))):
        bound = test.bind(source)
        questions = [(0, 1, ()), (0, 3, (1, 2)), (1, 2, (0,))]
        verdicts = bound.answer(questions)
        asked = ExecutedTests.of(4, zip(questions, verdicts, strict=True))
        assert asked.answered() == dict(zip(questions, verdicts, strict=True))
        assert asked.ledger(bound.names).cost == 2 + 4 + 3
