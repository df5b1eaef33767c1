"""Edges of networks learned by EM pay for themselves on the cells that were observed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import counterpane as cp
from counterpane.learners.bayesian.observed_gains import observed_gains
from counterpane.learners.parameters import EMSearch
from counterpane.progress import Control
from reference.completion_reference import completions

CARDS = [2, 3, 2, 2]
DAG = cp.Dag(4, [(0, 1), (2, 1), (1, 3)])


def gapped(seed, rows=60, share=0.4):
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, c, rows) for c in CARDS], np.uint8)
    codes[3] = np.where(rng.random(rows) < 0.7, codes[1] > 0, codes[3])
    lost = rng.random(codes.shape) < share
    return cp.Table(cp.Schema.from_cards(CARDS), np.where(lost, np.array(CARDS)[:, None], codes))


def log_likelihood(table, dag, tables):
    """ln P(observed cells), by enumeration of the missing ones."""
    parents = [dag.parents(i) for i in range(dag.n)]
    rows = [completions(row, CARDS, parents, tables)[1] for row in table.codes.T]
    return float(np.log(rows).sum())


def test_gains_of_bic_are_those_of_enumeration():
    table = gapped(0)
    em = EMSearch(table, DAG, 1.0, 1e-8, 30, 0)
    state, ctl = em.start(), Control()
    for _ in range(5):
        state, _ = em.step(state, ctl)
    edges = list(DAG.edges)
    found = observed_gains(em, state, cp.BIC(), edges, ctl)
    model, counts = em.model(state), em.cut(state.expected)
    before = log_likelihood(table, DAG, model.tables)
    for gain, (parent, child) in zip(found, edges, strict=True):
        parents = DAG.parents(child)
        axis = parents.index(parent)
        summed = (counts[child] + em.alpha[child]).sum(axis=axis)
        tables = list(model.tables)
        tables[child] = summed / summed.sum(axis=-1, keepdims=True)
        smaller = cp.Dag(4, [e for e in edges if e != (parent, child)])
        lost = before - log_likelihood(table, smaller, tables)
        ends = [parent, child]
        shown = (table.codes[ends] < np.array(CARDS)[ends, None]).all(axis=0).sum()
        width = math.prod(CARDS[p] for p in parents)
        parameters = (CARDS[child] - 1) * (width - width // CARDS[parent])
        assert gain == pytest.approx(lost - 0.5 * parameters * math.log(shown), abs=1e-8)


def test_cells_that_are_missing_confirm_no_edge():
    """Half of the cells of independent columns are missing: EM alone joins most columns."""
    edges = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 2, (8, 800)).astype(np.uint8)
        codes[rng.random(codes.shape) < 0.5] = 2
        table = cp.Table(cp.Schema.from_cards([2] * 8), codes)
        edges += cp.StructureSearch(missing="em").fit(table).model_.dag.n_edges
    assert edges <= 5  # of 140 pairs; BIC takes about one in a hundred by chance


def test_required_edges_stay():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (4, 400)).astype(np.uint8)
    codes[rng.random(codes.shape) < 0.4] = 2
    table = cp.Table(cp.Schema.from_cards([2] * 4), codes)
    names = table.schema.names
    required = [(names[0], names[1])]
    learner = cp.StructureSearch(missing="em", required_edges=required).fit(table)
    assert (names[0], names[1]) in learner.graph_.edges
