"""The tree-augmented network of a class, against all trees over the attributes."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import pytest

import counterpane as cp
from counterpane.errors import FitError, UnknownNameError
from counterpane.scores import as_score, score_dag
from error_checks import raises


def every_tree(nodes: list[int]):
    pairs = list(combinations(nodes, 2))
    for edges in combinations(pairs, len(nodes) - 1):
        graph = nx.Graph(edges)
        if len(graph) == len(nodes) and nx.is_connected(graph):
            yield graph


@pytest.mark.parametrize("score", ["loglik", "bdeu"])
def test_no_tree_is_better(score: str) -> None:
    table = cp.load_dataset("tictactoe").select([0, 1, 4, 5, 8, 9])
    source = cp.MemoryCounts(table)
    learner = cp.ChowLiu(score, target="class").fit(table)
    target = table.schema.index("class")
    best = -float("inf")
    for tree in every_tree([i for i in range(6) if i != target]):
        parents = [[target] if i != target else [] for i in range(6)]
        for parent, child in nx.bfs_edges(tree, min(tree)):
            parents[child].append(parent)
        best = max(best, score_dag(as_score(score), source, parents))
    if score == "loglik":
        assert learner.score_ == pytest.approx(best, abs=1e-8)
    else:  # a forest may be better than every tree
        assert learner.score_ >= best - 1e-8
    assert all(learner.graph_.has_edge("class", n) for n in table.schema.names if n != "class")
    assert max(dict(learner.graph_.in_degree).values()) == 2


def test_roots_and_names() -> None:
    table = cp.load_dataset("titanic")
    rooted = cp.ChowLiu(target="survived", root="age").fit(table)
    assert set(rooted.graph_.predecessors("age")) == {"survived"}
    with raises(FitError, about="'age'"):
        cp.ChowLiu(target="age", root="age").fit(table)
    with raises(UnknownNameError, parameter="column", value="survivd"):
        cp.ChowLiu(target="survivd").fit(table)
