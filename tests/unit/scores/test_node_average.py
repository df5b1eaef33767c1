"""The node-average likelihood: scores of families on their own complete rows."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.counts import MemoryCounts, StreamCounts
from counterpane.data import Schema, Table
from counterpane.errors import DataError, FitError, ParameterError
from counterpane.scores import BIC, LocalScore, as_score, score_dag, score_families
from counterpane.scores.base import score_pairs
from counterpane.scores.row_cache import RowCache
from error_checks import raises
from reference.completion_reference import node_average
from reference.random_codes import random_codes, random_weights

CARDS = (2, 3, 2, 4, 1, 3)
SCORE = cp.NodeAverageLikelihood()


def make_table(rows=400, weights=None, missing=0.25, cards=CARDS, seed=0):
    codes = random_codes(cards, rows, seed, missing=missing)
    return Table(Schema.from_cards(cards), codes, random_weights(weights, rows, seed))


def penalty(table):
    return table.total_weight**-0.25 / 24


def expected(table, child, parents, lam=None):
    given = table.codes, table.weights, table.schema.cards.tolist(), child, parents
    return node_average(*given, penalty(table) if lam is None else lam)


def toggled(child, parents, y):
    if y == child:
        return parents
    return tuple(sorted(set(parents) ^ {y}))


# ---- formulas ------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, "whole", "real"])
def test_the_formula(weights):
    table = make_table(weights=weights)
    families = [(0, ()), (3, (1,)), (5, (0, 2, 3)), (4, (0,)), (1, (0, 2, 3, 5))]
    for source in (MemoryCounts(table), StreamCounts(table.schema, lambda: [table])):
        scores = score_families(SCORE, source, families)
        assert scores == pytest.approx([expected(table, *f) for f in families], rel=1e-12)
    pairs = score_pairs(SCORE, MemoryCounts(table), [0, 3], [1, 3, 5])
    for (i, c), (j, p) in itertools.product(enumerate([0, 3]), enumerate([1, 3, 5])):
        assert pairs[i, j] == pytest.approx(expected(table, c, () if c == p else (p,)), rel=1e-12)


@pytest.mark.parametrize("weights", [None, "eighths"])
def test_rows_of_the_cache(weights):
    table = make_table(weights=weights)
    fill = RowCache(MemoryCounts(table), SCORE)
    stream = RowCache(StreamCounts(table.schema, lambda: [table]), SCORE)
    for child, parents in [(0, ()), (3, (1,)), (5, (0, 3)), (1, (0, 2, 3)), (2, (0, 1, 3, 5))]:
        row = fill.row(child, parents)
        for y in range(6):
            family = toggled(child, parents, y)
            assert row.toggled[y] == pytest.approx(expected(table, child, family), rel=1e-12)
        assert stream.row(child, parents).toggled == pytest.approx(row.toggled, rel=1e-13)


def test_rows_of_large_families():
    """Too many cells for popcounts, and then too many for all added parents at one time."""
    wide = make_table(cards=(12, 11, 3, 10), rows=500)
    row = RowCache(MemoryCounts(wide), SCORE).row(2, (0, 1))
    for y in range(4):
        family = toggled(2, (0, 1), y)
        assert row.toggled[y] == pytest.approx(expected(wide, 2, family), rel=1e-12)
    # 2^18 cells for each of 23 added parents: more than 2^22 at a time
    long = make_table(cards=(2,) * 40, rows=60, missing=0.02)
    parents = tuple(range(16))
    row = RowCache(MemoryCounts(long), SCORE).row(16, parents)
    for y in (0, 15, 16, 17, 30, 39):
        family = toggled(16, parents, y)
        assert row.toggled[y] == pytest.approx(expected(long, 16, family), rel=1e-12)


def test_many_rows_and_threads():
    table = make_table(rows=70_000, missing=0.1)
    one, two = (RowCache(MemoryCounts(table, n_jobs=n), SCORE) for n in (1, 2))
    for cache in (one, two):
        cache.first_fill()
    a, b = (c.row(5, (0, 3)).toggled for c in (one, two))
    assert a.tobytes() == b.tobytes()
    complete = (table.codes[[0, 3, 5]] < np.array([[2], [4], [3]])).all(axis=0)
    part = table.take(complete)
    plain = score_families(cp.LogLikelihood(), MemoryCounts(part.select([0, 3, 5])), [(2, (0, 1))])
    assert a[5] == pytest.approx(plain[0] / part.n_rows - penalty(table) * 16, rel=1e-12)


def test_limits_of_the_cache():
    table = make_table()
    cache = RowCache(MemoryCounts(table), SCORE, max_parents=1, max_cells=8)
    row = cache.row(3, ())
    assert np.isinf(row.toggled).tolist() == [False, True, False, False, False, True]
    assert np.isinf(cache.row(0, (2,)).toggled).tolist() == [False, True, False, True, True, True]


def test_a_family_without_a_complete_row_has_no_chance():
    schema = Schema.from_cards([2, 2, 2])
    table = Table(schema, [[0, 1, 0, 2, 2, 2], [2, 2, 2, 0, 1, 1], [0, 1, 0, 0, 1, 0]])
    assert score_families(SCORE, MemoryCounts(table), [(0, (1,))])[0] == -np.inf
    learner = cp.HillClimb(cp.NodeAverageLikelihood(0), missing="available").fit(table)
    assert {frozenset(e) for e in learner.graph_.edges} == {frozenset(("x0", "x2")),
                                                            frozenset(("x1", "x2"))}  # fmt: skip


def test_without_missing_cells_it_is_the_penalized_likelihood_of_a_row():
    table = make_table(missing=0.0)
    lam = 0.5 * math.log(400) / 400
    score = cp.NodeAverageLikelihood(lam, alpha=0)
    families = [(0, ()), (3, (1,)), (5, (0, 2, 3))]
    ours = score_families(score, MemoryCounts(table), families)
    assert 400 * ours == pytest.approx(score_families(BIC(), MemoryCounts(table), families))
    climb = cp.HillClimb(score).fit(table)
    assert climb.model_.dag == cp.HillClimb().fit(table).model_.dag
    assert 400 * climb.score_ == pytest.approx(cp.HillClimb().fit(table).score_)


# ---- learning ------------------------------------------------------------------------------------


def test_bic_s_penalty_is_too_small_where_cells_are_missing():
    """Columns that have nothing to do with each other: more rows do not help BIC's penalty."""
    rng = np.random.default_rng(0)
    found = {}
    for rows in (1000, 30_000):
        codes = np.where(rng.random((8, rows)) < 0.3, 2, rng.random((8, rows)) < 0.4)
        table = Table(Schema.from_cards([2] * 8), codes)
        bic = cp.NodeAverageLikelihood(0.5 * math.log(rows) / rows, alpha=0)
        for name, score in (("bic", bic), ("nal", SCORE)):
            learner = cp.HillClimb(score, missing="available").fit(table)
            found[name, rows] = learner.graph_.number_of_edges()
    assert min(found["bic", 1000], found["bic", 30_000]) > 10
    assert found["nal", 1000] < 10
    assert found["nal", 30_000] == 0


def test_a_chain_is_found_and_its_parameters_are_those_of_complete_families():
    rng = np.random.default_rng(1)
    codes = [rng.integers(0, 2, 4000)]
    for _ in range(4):
        codes.append(np.where(rng.random(4000) < 0.15, 1 - codes[-1], codes[-1]))
    codes = np.where(rng.random((5, 4000)) < 0.1, 2, codes)
    table = Table(Schema.from_cards([2] * 5), codes)
    for learner in (cp.HillClimb("nal", missing="available"), cp.StructureSearch(
            "nal", missing="available"), cp.ChowLiu("nal", missing="available")):  # fmt: skip
        learner.fit(table)
        edges = {frozenset(e) for e in learner.model_.dag.edges}
        assert edges == {frozenset((i, i + 1)) for i in range(4)}
        families = [(*learner.model_.dag.parents(i), i) for i in range(5)]
        for i, counts in enumerate(MemoryCounts(table).counts(families, missing="drop")):
            strength = learner.model_.strengths[i]
            np.testing.assert_allclose(strength.sum(), counts.sum() + 1)
        gains = {edge.ends: edge.strength for edge in learner.gains_}
        assert set(gains) == set(learner.graph_.edges)
        assert min(gains.values()) > 0.1
    stream = StreamCounts(
        table.schema, lambda: [table.take(range(900)), table.take(range(900, 4000))]
    )
    again = cp.HillClimb("nal", missing="available").fit(stream)
    memory = cp.HillClimb("nal", missing="available").fit(table)
    assert again.model_.dag == memory.model_.dag
    assert again.score_ == pytest.approx(memory.score_, rel=1e-12)


def test_learners_that_add_up_terms_ask_for_families_instead():
    table = cp.load_dataset("titanic")
    learner = cp.ExactPosterior("nal").fit(table)
    parents = [learner.model_.dag.parents(i) for i in range(4)]
    assert learner.best_score_ == pytest.approx(score_dag(SCORE, MemoryCounts(table), parents))


def test_a_state_of_its_own_is_still_allowed():
    table = make_table()
    learner = cp.HillClimb("nal", missing="state").fit(table)
    assert learner.model_.schema["x1"].states[-1] is None


def test_a_score_of_one_s_own_may_use_available_rows():
    class Rows(LocalScore):
        """The number of rows complete in the family, and a little for each parent."""

        name = "rows"
        available_case = True

        def family(self, counts, total, child, parents):
            return float(counts.sum()) + len(parents)

    table = make_table()
    cache = RowCache(MemoryCounts(table), Rows())
    row = cache.row(3, (1,))
    complete = table.codes < np.array(CARDS)[:, None]
    assert row.toggled[1] == complete[3].sum()
    assert row.toggled[5] == complete[[1, 3, 5]].all(axis=0).sum() + 2


# ---- refusals ------------------------------------------------------------------------------------


def test_only_a_score_that_is_made_for_it():
    frame = pd.DataFrame({"a": [0, 1, None, 0], "b": [1, 1, 0, 0]})
    for kind in (cp.HillClimb, cp.ChowLiu):
        with raises(FitError, parameter="missing", value="available"):
            kind("bic", missing="available").fit(frame)
    with raises(FitError, about="score_equivalent"):
        cp.GES("nal", missing="available").fit(frame)
    with raises(DataError, about="NodeAverageLikelihood"):
        RowCache(MemoryCounts(make_table()), BIC())


def test_a_hidden_column_cannot_be_scored():
    table = Table(Schema.from_cards([2, 2]), [[0, 1, 0], [2, 2, 2]])
    with raises(DataError, about="'x1'"):
        cp.HillClimb("nal", missing="available").fit(table)


@pytest.mark.parametrize("options", [{"penalty": -1}, {"alpha": 0.5}, {"alpha": -0.1},
                                     {"penalty": math.nan}])  # fmt: skip
def test_the_penalty_is_consistent(options):
    with raises(ParameterError, about="alpha"):
        cp.NodeAverageLikelihood(**options)


def test_by_name():
    assert isinstance(as_score("nal"), cp.NodeAverageLikelihood)
    assert repr(cp.NodeAverageLikelihood(0.1)) == "NodeAverageLikelihood(penalty=0.1, alpha=0.25)"
