"""Rows in which columns were set: scores, parameters, classes, odd input; beside plain fits."""

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.errors import CounterpaneError
from counterpane.graphs import Dag
from counterpane.learners.bayesian.interventions import InterventionCache, read_interventions
from counterpane.scores import BIC, score_families
from error_checks import raises


def experiment(rows=3000, seed=0):
    """a → b → c; in the last third b was set, at random."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, rows)
    b = np.where(rng.random(rows) < 0.15, 1 - a, a)
    was_set = np.arange(rows) >= rows - rows // 3
    b = np.where(was_set, rng.integers(0, 2, rows), b)
    c = np.where(rng.random(rows) < 0.15, 1 - b, b)
    frame = pd.DataFrame({"a": a, "b": b, "c": c}).astype(str)
    return frame, ["b" if s else None for s in was_set]


def arrows(learner):
    return {(p, x) for p, x, directed in learner.cpdag_.edges(data="directed") if directed}


@pytest.mark.parametrize("learner", [cp.StructureSearch(), cp.HillClimb()])
def test_interventions_direct_edges(learner):
    frame, was_set = experiment()
    assert arrows(learner.fit(frame)) == set()
    assert arrows(learner.fit(frame, interventions=was_set)) == {("a", "b"), ("b", "c")}
    flags = {"b": np.array([entry is not None for entry in was_set])}
    assert arrows(learner.fit(frame, interventions=flags)) == {("a", "b"), ("b", "c")}
    assert arrows(learner.fit(frame)) == set()  # nothing is kept for the next fit


def test_a_family_is_scored_and_fitted_where_its_child_was_not_set():
    frame, was_set = experiment()
    free = frame[[entry is None for entry in was_set]]
    source, observed = (cp.MemoryCounts(cp.read(f)) for f in (frame, free))
    cells = read_interventions(was_set, source)
    cache = InterventionCache(cells, BIC())
    cache.first_fill()
    families = [(1, []), (1, [0]), (1, [0, 2]), (0, []), (2, [1])]
    expected = score_families(BIC(), source, families)
    expected[:3] = score_families(BIC(), observed, families[:3])
    scores = [cache.row(x, parents).score for x, parents in families]
    assert scores == pytest.approx(expected, rel=1e-12)
    assert cache.row(1).toggled[0] == pytest.approx(expected[1], rel=1e-12)
    dag = Dag(3, [(0, 1), (1, 2)])
    model = cp.fit_parameters(source, dag, interventions=was_set)
    assert np.array_equal(model.tables[1], cp.fit_parameters(observed, dag).tables[1])
    assert np.array_equal(model.tables[2], cp.fit_parameters(source, dag).tables[2])
    assert model.query("b", {"a": "1"})["1"] == pytest.approx(0.85, abs=0.03)


def test_a_column_that_was_always_set_has_no_parents():
    frame, _ = experiment()
    learner = cp.StructureSearch().fit(frame, interventions=["c"] * len(frame))
    assert not list(learner.graph_.predecessors("c"))
    assert ("c", "b") in learner.graph_.edges


def test_the_class_is_that_of_all_sets_of_columns():
    cells = read_interventions(
        [None, "a", ["a", "b"]],
        cp.MemoryCounts(cp.read({n: ["x", "y", "x"] for n in "abc"})),
    )
    assert cells.directions([(0, 1), (1, 2), (2, 0)]) == [(0, 1), (1, 2), (2, 0)]
    both = read_interventions([None, ["a", "b"], ["a", "b"]], cells.source)
    assert both.directions([(0, 1), (1, 2)]) == [(1, 2)]


@pytest.mark.parametrize(
    ("interventions", "message"),
    [
        (["b"], "table 3"),
        (["q"] * 3000, "'q'"),
        ({"b": [1, 2]}, "3,000 rows"),
        ({"same": [True] * 3000}, "'same'"),
    ],
)
def test_bad_interventions_are_refused_in_a_sentence(interventions, message):
    table = cp.read(experiment()[0].assign(same="x"), discretize=None)
    with raises(CounterpaneError, about=message):
        cp.StructureSearch().fit(table, interventions=interventions)


def test_what_cannot_obey_interventions_says_so():
    frame, was_set = experiment(300)
    with raises(CounterpaneError, about="compares"):
        cp.GES().fit(frame, interventions=was_set)
    with raises(CounterpaneError, parameter="missing", value="drop"):
        cp.StructureSearch(missing="drop").fit(frame, interventions=was_set)
    table = cp.read(frame)
    stream = cp.StreamCounts(table.schema, lambda: [table])
    with raises(CounterpaneError, about="counts"):
        cp.StructureSearch().fit(stream, interventions=was_set)
