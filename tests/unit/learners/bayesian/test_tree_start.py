"""The Chow–Liu tree as the start of a search: the learner's tree, within limits, at no count."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.counts import MemoryCounts
from counterpane.data import Schema, Table
from counterpane.learners.bayesian.constraints import make_limits
from counterpane.learners.bayesian.network import make_engine
from counterpane.learners.bayesian.tree_start import chow_liu_forest
from counterpane.scores import EdgeOdds, as_score, score_dag
from error_checks import raises

NAMES = tuple("abcdefg")


def chained(rows=600, seed=0) -> Table:
    """Columns that copy an earlier one in most rows."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 3, rows)]
    for x in range(1, len(NAMES)):
        copied = codes[rng.integers(0, x)]
        codes.append(np.where(rng.random(rows) < 0.6, copied, rng.integers(0, 3, rows)))
    schema = Schema(cp.Variable(name, (0, 1, 2)) for name in NAMES)
    return Table(schema, np.array(codes, dtype=np.uint8))


def tree_of(table, score="bic", *, required=(), forbidden=(), tiers=None, max_parents=10):
    source = MemoryCounts(table)
    limits = make_limits(source.schema, required, forbidden, tiers)
    engine = make_engine(source, as_score(score), limits, max_parents)
    filled = engine.cache.n_filled
    dag = chow_liu_forest(engine)
    assert engine.cache.n_filled == filled  # no family is counted for the tree
    return dag


@pytest.mark.parametrize("score", ["bic", "aic", "bdeu", "k2", cp.K2(0.1)])
def test_the_start_is_the_tree_that_chow_liu_learns(score) -> None:
    table = chained()
    learner = cp.ChowLiu(score).fit(table)
    dag = tree_of(table, score)
    assert score_dag(as_score(score), MemoryCounts(table), dag_parents(dag)) == pytest.approx(
        learner.score_, rel=1e-12
    )
    assert all(len(dag.parents(x)) <= 1 for x in range(len(NAMES)))


def dag_parents(dag):
    return [dag.parents(x) for x in range(dag.n)]


def test_without_a_dependency_there_is_no_edge() -> None:
    rng = np.random.default_rng(0)
    table = Table(Schema.from_cards([2] * 5), rng.integers(0, 2, (5, 400)).astype(np.uint8))
    assert tree_of(table).n_edges == 0
    assert tree_of(chained(), max_parents=0).n_edges == 0


def test_the_tree_obeys_the_limits() -> None:
    table = chained()
    free = tree_of(table)
    p, x = free.edges[0]
    names = NAMES[p], NAMES[x]
    without = tree_of(table, forbidden=[names, names[::-1]])
    assert not {(p, x), (x, p)} & set(without.edges)
    assert without.n_edges == free.n_edges  # another edge takes its place
    tiers = [NAMES[4:], NAMES[:4]]
    assert not [e for e in tree_of(table, tiers=tiers).edges if e[0] < 4 <= e[1]]
    turned = tree_of(table, required=[names[::-1]])
    assert (x, p) in turned.edges
    loop = [("a", "b"), ("b", "c"), ("c", "d")]
    kept = tree_of(table, required=loop, max_parents=1)
    assert {(0, 1), (1, 2), (2, 3)} <= set(kept.edges)
    assert all(len(kept.parents(v)) <= 1 for v in range(kept.n))


def test_a_prior_on_directions_makes_a_branching() -> None:
    odds = np.where(np.tri(len(NAMES), k=-1) > 0, 1.0, 1e-300)  # later to earlier alone
    dag = tree_of(chained(), cp.BDeu(structure_prior=EdgeOdds(odds)))
    assert dag.n_edges >= 3 and all(p > x for p, x in dag.edges)


@pytest.mark.parametrize("learner", [cp.HillClimb, cp.StructureSearch, cp.GES])
def test_a_search_starts_from_the_tree(learner) -> None:
    table = chained()
    by_name = learner(start="chow-liu").fit(table)
    by_model = learner(start=cp.ChowLiu("bic").fit(table).model_).fit(table)
    assert by_name.score_ == pytest.approx(by_model.score_, rel=1e-12)
    assert by_name.score_ >= cp.ChowLiu("bic").fit(table).score_ - 1e-9


def test_a_climb_from_the_tree_needs_only_the_moves_that_are_left() -> None:
    table = chained()
    moves = {
        start: cp.HillClimb(start=start).fit(table).trace_[0]["moves"]
        for start in (None, "chow-liu")
    }
    assert moves[None] >= moves["chow-liu"] + tree_of(table).n_edges - 1
    other = cp.HillClimb(start="chow-liu", required_edges=[("g", "a")]).fit(table)
    assert other.graph_.has_edge("g", "a")


def test_with_missing_cells_em_starts_from_the_tree() -> None:
    table = chained(300)
    codes = table.codes.copy()
    codes[np.random.default_rng(1).random(codes.shape) < 0.05] = 3  # the code of a missing cell
    gaps = Table(table.schema, codes)
    learner = cp.HillClimb(start="chow-liu", missing="em").fit(gaps)
    assert learner.missing_ == "em" and learner.model_.dag.n_edges >= 5


def test_the_start_is_stored_with_the_model() -> None:
    learner = cp.HillClimb(start="chow-liu")
    assert repr(learner) == "HillClimb(start='chow-liu')"
    assert cp.HillClimb.from_config(learner.to_config()).start == "chow-liu"
    with raises(cp.errors.ParameterError, about=("'chow-liu'", "start='tree'")):
        cp.HillClimb(start="tree").fit(chained())
