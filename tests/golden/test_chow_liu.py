"""Chow–Liu trees against bnlearn's, and against all trees where these can be listed.

bnlearn's frozen numbers are the log-likelihoods of the tree's skeleton with every edge directed
from the earlier to the later column of the file. That gives some nodes several parents, so they are
not the likelihood of a tree; but only bnlearn's skeleton reproduces them.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from counterpane.counts import MemoryCounts
from counterpane.data.reading import read_table
from counterpane.learners import ChowLiu
from counterpane.scores import BIC, BDeu, LogLikelihood, score_dag
from reference import count_reference

# bnlearn 4.8.3, chow.liu on its own example tables, directed as said above, loglik.
BNLEARN = {
    "learning.test": -23954.081061,
    "asia": -11172.441555,
    "alarm": -301644.763137,
}


@pytest.fixture(scope="module", params=BNLEARN)
def learned(request, shared_data):
    table = read_table(shared_data / "bnlearn" / f"{request.param}.csv.gz")
    return request.param, table, MemoryCounts(table), ChowLiu().fit(table)


def skeleton(learner):
    names = learner.model_.schema.names
    return {frozenset((names.index(a), names.index(b))) for a, b in learner.graph_.edges}


def test_the_skeleton_is_bnlearns(learned):
    name, table, source, learner = learned
    parents = [[] for _ in range(table.n_columns)]
    for edge in skeleton(learner):
        parents[max(edge)].append(min(edge))
    assert score_dag(LogLikelihood(), source, parents) == pytest.approx(BNLEARN[name], rel=1e-9)


def test_the_score_is_the_empty_network_and_the_gains(learned):
    _, table, source, learner = learned
    empty = score_dag(LogLikelihood(), source, [()] * table.n_columns)
    gains = [edge.strength for edge in learner.gains_]
    assert len(gains) == table.n_columns - 1
    assert gains == sorted(gains, reverse=True)
    assert learner.score_ == pytest.approx(empty + sum(gains), rel=1e-12)
    parents = [learner.model_.dag.parents(i) for i in range(table.n_columns)]
    assert learner.score_ == pytest.approx(score_dag(LogLikelihood(), source, parents), rel=1e-12)
    assert max(map(len, parents)) == 1


def test_gains_are_mutual_information(learned):
    _, table, _, learner = learned
    for edge in learner.gains_:
        (a, b), gain = edge.ends, edge.strength
        scope = table.schema.indices((a, b))
        counts = count_reference.count(table.codes, None, table.schema.cards, scope)
        expected = table.n_rows * count_reference.information(counts)
        assert gain == pytest.approx(expected, rel=1e-9, abs=1e-8)


def labelled_trees(n):
    """Every tree on n nodes, as edges, from its Prüfer code."""
    for code in itertools.product(range(n), repeat=n - 2):
        degree = [1 + code.count(i) for i in range(n)]
        edges = []
        for i in code:
            leaf = degree.index(1)
            edges.append((leaf, i))
            degree[leaf] -= 1
            degree[i] -= 1
        edges.append(tuple(i for i in range(n) if degree[i] == 1))
        yield edges


def gains_of(score, table, source):
    """Symmetric gains of single edges."""
    n = table.n_columns
    gain = np.zeros((n, n))
    empty = score_dag(score, source, [()] * n)
    for i, j in itertools.combinations(range(n), 2):
        parents = [()] * n
        parents[j] = (i,)
        gain[i, j] = gain[j, i] = score_dag(score, source, parents) - empty
    return empty, gain


def test_no_tree_is_better(shared_data):
    table = read_table(shared_data / "bnlearn" / "learning.test.csv.gz")
    n, cards = table.n_columns, table.schema.cards
    information = np.zeros((n, n))
    for i, j in itertools.combinations(range(n), 2):
        counts = count_reference.count(table.codes, None, cards, [i, j])
        information[i, j] = information[j, i] = count_reference.information(counts)
    totals = {
        frozenset(map(frozenset, edges)): sum(information[e] for e in edges)
        for edges in labelled_trees(n)
    }
    assert len(totals) == n ** (n - 2) == 1296
    best = max(totals, key=totals.__getitem__)
    learner = ChowLiu().fit(table)
    assert skeleton(learner) == best
    empty = score_dag(LogLikelihood(), MemoryCounts(table), [()] * n)
    assert learner.score_ == pytest.approx(empty + table.n_rows * totals[best], rel=1e-12)


@pytest.mark.parametrize("score", [BIC(), BDeu(10)])
@pytest.mark.parametrize("name", ["learning.test", "asia"])
def test_no_forest_is_better(shared_data, score, name):
    table = read_table(shared_data / "bnlearn" / f"{name}.csv.gz")
    chosen = table if table.n_columns < 7 else table.select(range(6))
    source = MemoryCounts(chosen)
    empty, gain = gains_of(score, chosen, source)
    # The best forest is the best tree without its edges that lose.
    best = max(sum(max(gain[e], 0.0) for e in edges) for edges in labelled_trees(6))
    learner = ChowLiu(score).fit(chosen)
    assert learner.score_ == pytest.approx(empty + best, rel=1e-12)
    assert all(edge.strength > 0 for edge in learner.gains_)
