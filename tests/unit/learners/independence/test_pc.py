"""PC: classes of known networks, knowledge, functions of columns, contradictions, odd input."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.errors import CounterpaneError, GraphError, ParameterError
from counterpane.evaluate import compare_structures
from counterpane.graphs import Dag, UndirectedGraph, cpdag
from counterpane.graphs.orientation import colliders_of, orient
from counterpane.learners.independence.base import StructureOnly
from error_checks import raises
from reference.graph_reference import random_dag

DATA = os.environ.get("COUNTERPANE_DATA")
NETWORKS = ["alarm", "andes", "asia", "cancer", "child", "earthquake", "hailfinder", "hepar2",
            "insurance", "link", "pigs", "sachs", "survey", "win95pts"]  # fmt: skip


class Asked(cp.Oracle):
    """An oracle that must be asked about every set."""

    def separating_sets(self, pairs, candidates, most):
        return None


def blank(n, rows=4):
    """A table of n columns that says nothing: an oracle needs only their names."""
    return cp.read({f"x{i}": [r % 2 for r in range(rows)] for i in range(n)}, discretize=None)


def pattern(learner):
    return {(a, b, d) for a, b, d in learner.cpdag_.edges(data="directed")}


@pytest.mark.skipif(DATA is None, reason="needs the networks")
@pytest.mark.parametrize("name", NETWORKS)
def test_an_oracle_gives_the_class_of_a_known_network(name):
    true = cp.load(Path(DATA) / "networks" / f"{name}.bif.gz")
    learner = cp.PC(cp.Oracle(true.dag)).fit(true.sample(20, random_state=0))
    assert cpdag(learner.dag_) == cpdag(true.dag)
    assert learner.conflicts_ == []


@pytest.mark.parametrize("seed", range(20))
def test_an_oracle_gives_the_class_of_a_random_graph(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    dag = Dag(n, random_dag(rng, n, rng.uniform(0.2, 0.7)))
    learner = cp.PC(cp.Oracle(dag)).fit(blank(n))
    assert cpdag(learner.dag_) == cpdag(dag)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("learner", [cp.PC, cp.FCI])
def test_smallest_sets_of_an_oracle_spare_tests_and_change_nothing(seed, learner):
    rng = np.random.default_rng([7, seed])
    n = int(rng.integers(4, 10))
    graph = Dag(n, random_dag(rng, n, rng.uniform(0.2, 0.6)))
    names = [f"x{i}" for i in range(n)]
    knowledge = {"tiers": [names[: n // 2], names[n // 2 :]]} if seed % 3 == 0 else {}
    if seed % 3 == 1:
        knowledge = {"max_given": 1}
    fast = learner(cp.Oracle(graph), **knowledge).fit(blank(n))
    slow = learner(Asked(graph), **knowledge).fit(blank(n))
    assert fast.dag_ == slow.dag_
    assert learner is cp.PC or fast.pag_ == slow.pag_
    stages = [[(t["stage"], t.get("level"), t["edges"]) for t in x.trace_] for x in (fast, slow)]
    assert set(stages[0]) <= set(stages[1])  # the same edges after each level


@pytest.mark.parametrize("seed", range(40))
def test_known_directions_give_the_class_with_them(seed):
    """Meek's rules with knowledge, beside the enumeration of all members of the class."""
    rng = np.random.default_rng(100 + seed)
    n = 5
    dag = Dag(n, random_dag(rng, n, 0.6))
    known = [e for e in dag.edges if rng.random() < 0.3]
    skeleton = UndirectedGraph(n, dag.edges)
    work = orient(skeleton, colliders_of(dag, skeleton), known)
    members = []
    for turned in range(2**dag.n_edges):
        edges = [e[::-1] if turned >> i & 1 else e for i, e in enumerate(dag.edges)]
        try:
            other = Dag(n, edges)
        except GraphError:
            continue
        if set(known) <= set(other.edges) and cpdag(other) == cpdag(dag):
            members.append(set(other.edges))
    assert set(work.pattern().compelled.edges) == set.intersection(*members)
    assert work.refused == []


def chain(rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, rows)
    b = np.where(rng.random(rows) < 0.2, 1 - a, a)
    c = np.where(rng.random(rows) < 0.2, 1 - b, b)
    return pd.DataFrame({"a": a, "b": b, "c": c}).astype(str)


def test_a_chain_has_no_direction_until_one_is_known():
    assert pattern(cp.PC().fit(chain())) == {
        ("a", "b", False), ("b", "a", False), ("b", "c", False), ("c", "b", False)
    }  # fmt: skip
    for knowledge in (
        {"tiers": [["a"], ["b", "c"]]},
        {"required_edges": [("a", "b")]},
        {"forbidden_edges": [("b", "a")]},
    ):
        learner = cp.PC(**knowledge).fit(chain())
        assert pattern(learner) == {("a", "b", True), ("b", "c", True)}, knowledge
        assert learner.model_.record.constraints.known_directions == (("a", "b"),)


def test_required_and_forbidden_edges_are_obeyed():
    assert ("a", "c") in cp.PC(required_edges=[("a", "c")]).fit(chain()).graph_.edges
    both = [("a", "b"), ("b", "a")]
    assert not set(both) & set(cp.PC(forbidden_edges=both).fit(chain()).graph_.edges)


def test_a_later_column_is_never_given():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 2, (2, 4000))
    z = np.where(rng.random(4000) < 0.1, rng.integers(0, 2, 4000), x ^ y)
    frame = pd.DataFrame({"x": x, "y": y, "z": z}).astype(str)
    learner = cp.PC(tiers=[["x", "y"], ["z"]]).fit(frame)
    assert not any("z" in record.given for record in learner.tests_)


def test_contradicting_knowledge_is_refused_in_a_sentence():
    with raises(GraphError, about=("'b'", "'a'")):
        cp.PC(tiers=[["a"], ["b"]], required_edges=[("b", "a")]).fit(chain())
    with raises(CounterpaneError, parameter="column", value="q"):
        cp.PC(tiers=[["q"]]).fit(chain())
    with raises(ParameterError, parameter="max_given", value=-1):
        cp.PC(max_given=-1).fit(chain())
    with raises(CounterpaneError, parameter="test", value="g3"):
        cp.PC("g3").fit(chain())


def test_a_function_of_a_column_does_not_cut_off_its_children():
    """z → x → y with x = f(z): x ⊥ y | z holds, and still x is the parent of y."""
    rng = np.random.default_rng(1)
    z = rng.integers(0, 4, 5000)
    x = z // 2
    y = np.where(rng.random(5000) < 0.2, 1 - x, x)
    frame = pd.DataFrame({"z": z, "x": x, "y": y}).astype(str)
    edges = {frozenset(e) for e in cp.PC().fit(frame).graph_.edges}
    assert edges == {frozenset("zx"), frozenset("xy")}


def test_a_child_of_a_column_is_not_joined_to_a_function_of_it():
    """x ← z → y with x = f(z)."""
    rng = np.random.default_rng(1)
    z = rng.integers(0, 4, 5000)
    y = np.where(rng.random(5000) < 0.2, rng.integers(0, 4, 5000), z)
    frame = pd.DataFrame({"z": z, "x": z // 2, "y": y}).astype(str)
    edges = {frozenset(e) for e in cp.PC().fit(frame).graph_.edges}
    assert edges == {frozenset("zx"), frozenset("zy")}


def test_missing_cells_leave_a_test_and_no_other():
    frame = chain()
    frame.loc[::3, "c"] = None
    learner = cp.PC().fit(frame)
    assert learner.missing_ == "available"
    assert {frozenset(e) for e in learner.graph_.edges} == {frozenset("ab"), frozenset("bc")}
    assert learner.model_.query("a", {"b": "1"})["1"] == pytest.approx(0.8, abs=0.03)


def test_contradicting_tests_are_told():
    square = UndirectedGraph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    learner = cp.PC(cp.Oracle(square)).fit(blank(4))
    assert {frozenset(e) for e in learner.graph_.edges} == {
        frozenset((f"x{a}", f"x{b}")) for a, b in square.edges
    }
    assert "no test shows it" in learner.conflicts_[0]
    assert any("contradict each other" in note for note in learner.notes_)


def test_many_states_and_few_rows_end_and_answer():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{i}": rng.integers(0, 30, 60).astype(str) for i in range(6)})
    model = cp.PC(discretize=None).fit(frame).model_
    assert np.isfinite(model.score_samples(frame)).all()


def test_large_samples_find_the_network():
    if DATA is None:
        pytest.skip("needs the networks")
    true = cp.load(Path(DATA) / "networks" / "alarm.bif.gz")
    learner = cp.PC().fit(true.sample(5000, random_state=1))
    assert compare_structures(learner.model_, true).f1 > 0.92
    assert learner.n_tests_ == len(learner.tests_) == sum(r["n_tests"] for r in learner.trace_)
    assert learner.cost_ == sum(r.cost for r in learner.tests_)


@pytest.mark.parametrize("kind", [cp.PC, cp.FCI])
def test_a_search_that_is_stopped_at_once_ends_at_once(kind):
    """Its graph is complete: no vote, rule or table of all parents is worth the time."""
    table = cp.Table(
        cp.Schema.from_cards([3] * 120), np.random.default_rng(0).integers(0, 3, (120, 3000))
    )
    with pytest.warns(cp.StoppedEarly), pytest.warns(StructureOnly):
        learner = kind(time_limit=1e-9).fit(table)
    assert learner.model_ is None
    assert learner.graph_.number_of_edges() == 120 * 119 // 2
