"""StructureSearch(candidates=…): only some pairs may be joined."""

import networkx as nx
import numpy as np

import counterpane as cp
from counterpane.errors import CounterpaneError, GraphError, ParameterError
from error_checks import raises

TITANIC = cp.load_dataset("titanic")


def joined(learner):
    return {frozenset(edge) for edge in learner.graph_.edges}


def test_only_candidates_are_joined():
    pairs = {"survived": ["sex", "status"], "age": []}
    learner = cp.StructureSearch(candidates=pairs).fit(TITANIC)
    assert joined(learner) == {frozenset(("survived", "sex")), frozenset(("survived", "status"))}
    every = {name: [n for n in TITANIC.schema.names if n != name] for name in TITANIC.schema.names}
    free, same = (
        cp.StructureSearch().fit(TITANIC),
        cp.StructureSearch(candidates=every).fit(TITANIC),
    )
    assert free.score_ == same.score_ and joined(free) == joined(same)


def test_required_edges_are_candidates():
    learner = cp.StructureSearch(candidates={}, required_edges=[("age", "survived")]).fit(TITANIC)
    assert set(learner.graph_.edges) == {("age", "survived")}


def test_graphs_and_learners_give_candidates():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 2000)
    b = np.where(rng.random(2000) < 0.1, 1 - a, a)
    c = np.where(rng.random(2000) < 0.1, 1 - b, b)
    table = cp.read({"a": a, "b": b, "c": c}, discretize=None)
    skeleton = {frozenset("ab"), frozenset("bc")}
    unfitted = cp.PC()
    for some in (
        unfitted, cp.PC().fit(table), cp.PC().fit(table).model_, nx.Graph(["ab", "bc"]),
        cp.MixedGraph(list("abc"), [("a", "o-o", "b"), ("b", "<->", "c")]),
    ):  # fmt: skip
        assert joined(cp.StructureSearch(candidates=some).fit(table)) == skeleton
    assert not hasattr(unfitted, "graph_")


def test_bad_candidates_are_refused_in_a_sentence():
    for some, kind, words in (
        ({"q": ["sex"]}, CounterpaneError, "'q'"),
        ({"sex": ["sex"]}, GraphError, "'sex'"),
        ({"sex": "age"}, ParameterError, "'age'"),
        (7, ParameterError, "candidates=7"),
    ):
        with raises(kind, about=words):
            cp.StructureSearch(candidates=some).fit(TITANIC)
