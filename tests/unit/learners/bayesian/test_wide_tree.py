"""Chow–Liu trees from screened pairs: the same trees as from a matrix of all gains."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.learners.bayesian import wide_search, wide_tree


def table_of(cards, rows=300, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.zeros((len(cards), rows), dtype=np.uint8)
    for v, r in enumerate(cards):
        codes[v] = rng.integers(0, r, rows)
        if v:
            copied = rng.random(rows) < rng.choice([0.0, 0.1, 0.6])
            codes[v][copied] = codes[rng.integers(0, v)][copied] % r
    return cp.Table(cp.Schema.from_cards(cards), codes)


def both(table, monkeypatch, **options):
    dense = cp.ChowLiu(**options).fit(table)
    monkeypatch.setattr(wide_search, "WIDE", 10)
    monkeypatch.setattr(wide_search, "SPAN_BYTES", 2**11)
    return dense, cp.ChowLiu(**options).fit(table)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("score", ["loglik", "bic", "bdeu"])
def test_trees_are_those_of_the_matrix(score, n_jobs, monkeypatch):
    cards = np.random.default_rng(1).choice([2, 2, 2, 3, 4], 90).tolist()
    dense, wide = both(table_of(cards), monkeypatch, criterion=score, n_jobs=n_jobs)
    assert wide.trace_[0]["stage"] == "screen"
    assert wide.score_ == pytest.approx(dense.score_, rel=1e-12)
    assert set(wide.graph_.edges) == set(dense.graph_.edges)


@pytest.mark.parametrize("kept", [1e-9, 20])
def test_a_spanning_tree_joins_all_columns(kept, monkeypatch):
    """Also where hardly a pair passes the first screen, and for constants."""
    monkeypatch.setattr(wide_search, "WEAK_PAIRS", kept)
    table = table_of([2] * 60 + [1, 1, 3, 1])
    dense, wide = both(table, monkeypatch)
    assert wide.model_.dag.n_edges == len(table.schema) - 1
    assert wide.score_ == pytest.approx(dense.score_, rel=1e-12)


def test_root_and_weights(monkeypatch):
    table = table_of([2] * 40)
    weights = np.random.default_rng(0).choice([0.5, 1.5], 300)
    weighted = cp.Table(table.schema, table.codes, weights)
    dense, wide = both(weighted, monkeypatch, criterion="bic", root="x7")
    assert set(wide.graph_.edges) == set(dense.graph_.edges)
    assert wide.graph_.in_degree("x7") == 0


def test_equal_columns(monkeypatch):
    table = table_of([2] * 20)
    copies = cp.Table(cp.Schema.from_cards([2] * 60), np.tile(table.codes, (3, 1)))
    dense, wide = both(copies, monkeypatch)
    assert wide.score_ == pytest.approx(dense.score_, rel=1e-12)


def test_parents_of_a_forest():
    parents = wide_tree.rooted_parents(np.array([[0, 3], [3, 1], [2, 4]]), 5, 1)
    assert parents.tolist() == [3, -1, -1, 1, 2]
