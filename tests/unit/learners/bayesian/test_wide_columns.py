"""Columns that a wide search leaves out: copies, constants, and those of too many states."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import DataError, TableSizeError
from counterpane.learners.bayesian import chow_liu, wide_search
from error_checks import raises


@pytest.fixture(autouse=True)
def _narrow_tables_are_wide(monkeypatch):
    monkeypatch.setattr(wide_search, "WIDE", 10)


def table_of(codes, cards=None):
    codes = np.asarray(codes)
    cards = codes.max(axis=1) + 1 if cards is None else cards
    return cp.Table(cp.Schema.from_cards(cards), codes)


def some_codes(n, rows=300, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (n, rows))
    for v in range(1, n):
        copied = rng.random(rows) < 0.7
        codes[v, copied] = codes[v - 1, copied]
    return codes


def test_duplicates_get_their_original_as_the_only_neighbor():
    codes = some_codes(12)
    plain = cp.StructureSearch(false_edges=None).fit(table_of(codes))
    table = table_of(np.concatenate([codes, codes[[3, 3, 7]]]))
    learner = cp.StructureSearch(false_edges=None).fit(table)
    assert "3 columns duplicate another column" in learner.notes_[-1]
    dag, groups = learner.model_.dag, [{3, 12, 13}, {7, 14}]
    assert len(dag.edges) == len(plain.model_.dag.edges) + 3
    for group in groups:
        assert len([e for e in dag.edges if set(e) <= group]) == len(group) - 1
    bic = cp.scores.as_score("bic")
    parents = [dag.parents(i) for i in range(dag.n)]
    total = cp.scores.score_dag(bic, cp.MemoryCounts(table), parents)
    assert learner.score_ == pytest.approx(total)
    none = cp.StructureSearch(max_parents=0).fit(table)
    assert none.model_.dag.edges == ()


@pytest.mark.parametrize("learner", ["StructureSearch", "ChowLiu"])
def test_constants_are_counted_in_a_note(learner):
    fitted = getattr(cp, learner)().fit(table_of(np.zeros((15, 50), dtype=int), [2] * 15))
    assert fitted.notes_ == ["15 columns are constant and depend on nothing: 'x0', 'x1', 'x2', …."]


def test_columns_of_more_states_than_rows_have_no_edge(monkeypatch):
    rng = np.random.default_rng(0)
    codes = np.concatenate([some_codes(12, 60), rng.integers(0, 900, (3, 60))])
    table = table_of(codes, [2] * 12 + [900] * 3)
    learner = cp.StructureSearch().fit(table)
    assert "3 columns have so many states" in learner.notes_[-1]
    assert all(max(edge) < 12 for edge in learner.model_.dag.edges)
    parents = [learner.model_.dag.parents(i) for i in range(15)]
    total = cp.scores.score_dag(cp.scores.as_score("bic"), cp.MemoryCounts(table), parents)
    assert learner.score_ == pytest.approx(total)
    monkeypatch.setattr(chow_liu, "MAX_COUNTED", 10)
    with raises(TableSizeError, about="15 columns"):
        cp.ChowLiu().fit(table)


def test_a_name_twice():
    with raises(DataError, about="'b'"):
        cp.Schema(cp.Variable(name, (0, 1)) for name in "abcb")
