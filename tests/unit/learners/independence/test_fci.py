"""FCI: the graph of the definition, by enumeration; latent causes; knowledge."""

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.graphs import Dag, MixedGraph
from counterpane.graphs.ancestral import AncestralMarks
from counterpane.graphs.mixed import ARROW, TAIL
from error_checks import raises
from reference.ancestral_reference import of_dag, partial_ancestral_graph
from reference.graph_reference import random_dag


def latent_graph(seed):
    """A random DAG of up to nine nodes, of which up to six are observed."""
    rng = np.random.default_rng(seed)
    while True:
        n = int(rng.integers(5, 10))
        edges = random_dag(rng, n, rng.uniform(0.25, 0.5))
        size = min(n - int(rng.integers(1, 4)), 6)
        observed = sorted(rng.choice(n, size=size, replace=False).tolist())
        facts = of_dag(edges, observed)
        separated = {fact[:2] for fact in facts}
        if size * (size - 1) // 2 - len(separated) <= 8:  # edges: the reference tries all marks
            return n, edges, observed, facts


def blank(names):
    return cp.read({name: [r % 2 for r in range(4)] for name in names}, discretize=None)


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 10))]
)
def test_an_oracle_gives_the_graph_of_the_definition(part):
    for seed in range(30 * part, 30 * part + 30):
        n, edges, observed, facts = latent_graph(seed)
        names = [f"x{v}" for v in range(n)]
        hidden = [names[v] for v in range(n) if v not in observed]
        graph = MixedGraph.from_dag(Dag(n, edges), names, latent=hidden)
        learner = cp.FCI(cp.Oracle(graph)).fit(blank(graph.names))
        expected = np.array(partial_ancestral_graph(len(observed), facts))
        assert (learner.pag_.marks == expected).all(), seed


def test_selection_shows_as_undirected_edges():
    """A square of undirected edges: R5, and R6 and R7 for what hangs on it."""
    square = [(0, 1), (1, 2), (2, 3), (0, 3)]
    adjacent = np.zeros((5, 5), dtype=bool)
    for a, b in [*square, (3, 4)]:
        adjacent[a, b] = adjacent[b, a] = True
    work = AncestralMarks(adjacent, lambda a, c, b: True)
    work.close()
    assert all(work.marks[a, b] == work.marks[b, a] == TAIL for a, b in square)
    assert work.marks[4, 3] == TAIL


def confounded(rows=6000, seed=0):
    """a → x ← (hidden) → y ← b."""
    rng = np.random.default_rng(seed)
    a, b, hidden = rng.integers(0, 2, (3, rows))

    def noisy_sum(u, v):
        return np.where(rng.random(rows) < 0.15, rng.integers(0, 3, rows), u + v)

    columns = {"a": a, "x": noisy_sum(a, hidden), "y": noisy_sum(b, hidden), "b": b}
    return pd.DataFrame(columns).astype(str)


def test_a_hidden_cause_is_found_in_rows():
    learner = cp.FCI(alpha=0.01).fit(confounded())
    assert str(learner.pag_) == "a o→ x\nx ↔ y\nb o→ y"
    assert learner.model_.query("x", {"a": "1"})["2"] > 0.3
    assert "possible" in {record["stage"] for record in learner.trace_}


def test_knowledge_gives_marks():
    learner = cp.FCI(alpha=0.01, required_edges=[("a", "x")]).fit(confounded())
    assert ("a", "->", "x") in learner.pag_.edges
    rng = np.random.default_rng(0)
    cause = rng.integers(0, 2, 2000)
    effect = np.where(rng.random(2000) < 0.2, 1 - cause, cause)
    frame = pd.DataFrame({"cause": cause, "effect": effect}).astype(str)
    learner = cp.FCI(tiers=[["cause"], ["effect"]]).fit(frame)
    assert str(learner.pag_) == "cause o→ effect"


def test_the_network_of_fci_tells_no_causes(tmp_path):
    learner = cp.FCI().fit(cp.load_dataset("titanic"))
    learner.model_.save(tmp_path / "m.cp")
    model = cp.load(tmp_path / "m.cp")
    assert list(model.record.marks) == list(learner.pag_.edges)
    with raises(cp.CounterpaneError, about="causes"):
        model.query("survived", do={"sex": "male"})
    with raises(cp.CounterpaneError, about="marks"):
        cp.effect(model, "sex", "survived")
    graph = "sex -> survived; status -> survived; status <-> sex"
    assert cp.effect(model, "sex", "survived", graph=graph).determined


def test_directed_cycles_are_opened():
    """Contradicting tests can direct a cycle, which no ancestral graph has; arrowheads remain."""
    adjacent = np.ones((4, 4), dtype=bool) & ~np.eye(4, dtype=bool)
    work = AncestralMarks(adjacent, lambda a, c, b: False)
    for a, b in ((0, 1), (1, 2), (2, 0), (3, 0)):
        work.set(a, b, ARROW)
        work.set(b, a, TAIL)
    assert work.open_cycles() == 3
    kinds = {(e.a, e.b): e.kind for e in MixedGraph.from_marks("abcd", work.marks).edges}
    assert kinds["a", "b"] == "o->"
    assert ("d", "a") in kinds and kinds["d", "a"] == "->"


def test_a_table_whose_tests_contradict_each_other_is_learned():
    learner = cp.FCI().fit(cp.load_dataset("breast_cancer"))
    assert any("directed cycles" in note for note in learner.notes_)
