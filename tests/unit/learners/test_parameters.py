"""Expectation–maximization, against sums over every way to fill the gaps."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import counterpane as cp
from counterpane.data import Schema, Table
from counterpane.errors import ParameterError
from counterpane.graphs import Dag
from counterpane.learners import StoppedEarly
from counterpane.learners.driver import Driver
from counterpane.learners.parameters import EMSearch, fit_parameters_em
from counterpane.progress import Control
from error_checks import raises

DAG = Dag(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
CARDS = [2, 3, 2, 2]


def network(seed: int = 0) -> cp.BayesianNetwork:
    rng = np.random.default_rng(seed)
    tables = [
        rng.dirichlet(np.ones(CARDS[i]), tuple(CARDS[p] for p in DAG.parents(i))) for i in range(4)
    ]
    return cp.BayesianNetwork(Schema.from_cards(CARDS), DAG, tables)


def with_gaps(table: Table, share: float, seed: int) -> Table:
    holes = np.random.default_rng(seed).random(table.codes.shape) < share
    codes = np.where(holes, table.schema.cards[:, None], table.codes)
    return Table(table.schema, codes, table.weights)


def by_brute_force(model: cp.BayesianNetwork, table: Table) -> tuple[list[np.ndarray], float]:
    """(expected counts of each family, log-likelihood of the observed cells)."""
    expected = [np.zeros(t.shape) for t in model.tables]
    total = 0.0
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    for row, weight in zip(table.codes.T, weights, strict=True):
        fills = [range(r) if c == r else [c] for c, r in zip(row, CARDS, strict=True)]
        ways = []
        for full in product(*fills):
            p = 1.0
            for i in range(4):
                p *= model.tables[i][tuple(full[v] for v in (*DAG.parents(i), i))]
            ways.append((full, p))
        whole = sum(p for _, p in ways)
        total += weight * np.log(whole)
        for full, p in ways:
            for i in range(4):
                expected[i][tuple(full[v] for v in (*DAG.parents(i), i))] += weight * p / whole
    return expected, total


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_step_equals_brute_force(weighted: bool) -> None:
    table = with_gaps(network().sample(60, random_state=1), 0.3, seed=2)
    if weighted:
        table = table.reweighted(np.random.default_rng(3).random(60) + 0.1)
    search = EMSearch(table, DAG, 2.0, 0.0, 10, 0)
    state = search.start()
    for _ in range(3):
        model = search.model(state)
        expected, total = by_brute_force(model, table)
        state, record = search.step(state, Control())
        for ours, theirs in zip(search.cut(state.expected), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-9)
        assert record["log_likelihood"] == pytest.approx(total, abs=1e-8)


def test_the_likelihood_never_falls_and_ends_at_a_fixed_point() -> None:
    table = with_gaps(network(4).sample(200, random_state=5), 0.25, seed=6)
    search = EMSearch(table, DAG, 1e-9, 1e-12, 2000, 0)
    outcome = Driver(table.schema).run(search, "em")
    fits = [record["log_likelihood"] for record in outcome.trace]
    assert (np.diff(fits) >= -1e-7).all()
    assert fits[-1] > fits[0]
    again, _ = search.step(outcome.state, Control())
    np.testing.assert_allclose(again.expected, outcome.state.expected, atol=1e-2)


def test_complete_rows_need_no_iteration() -> None:
    table = network().sample(300, random_state=7)
    plain = cp.fit_parameters(cp.MemoryCounts(table), DAG)
    em = fit_parameters_em(table, DAG)
    for ours, theirs in zip(em.tables, plain.tables, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_better_than_complete_cases() -> None:
    true = network(8)
    table = with_gaps(true.sample(600, random_state=9), 0.3, seed=10)
    test = true.sample(5000, random_state=11)
    em = fit_parameters_em(table, DAG).score_samples(test).mean()
    complete = cp.MemoryCounts(table.resolve_missing("drop"))
    assert em > cp.fit_parameters(complete, DAG).score_samples(test).mean()


def test_a_hidden_cause_is_found() -> None:
    """Three witnesses of one cause that nobody saw: its states separate, whatever their names."""
    dag = Dag(4, [(0, 1), (0, 2), (0, 3)])
    seen = [[0.9, 0.1], [0.2, 0.8]]
    true = cp.BayesianNetwork(Schema.from_cards([2] * 4), dag, [[0.4, 0.6], seen, seen, seen])
    rows = true.sample(20_000, random_state=0)
    codes = rows.codes.copy()
    codes[0] = 2
    found = fit_parameters_em(Table(rows.schema, codes), dag, tolerance=1e-10, max_steps=3000)
    first = int(found.tables[1][0, 0] < 0.5)  # which state stands for the true 0
    np.testing.assert_allclose(found.tables[0][first], 0.4, atol=0.03)
    np.testing.assert_allclose(found.tables[1][first, 0], 0.9, atol=0.03)
    np.testing.assert_allclose(found.tables[1][1 - first, 0], 0.2, atol=0.03)


def test_stopped_and_resumed(tmp_path: Path) -> None:
    table = with_gaps(network().sample(150, random_state=12), 0.3, seed=13)
    path = tmp_path / "em.ckpt"
    options = {"tolerance": 0.0, "max_steps": 12}
    whole = fit_parameters_em(table, DAG, **options)

    def interrupt(what: str, done: float, total: float | None) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.warns(StoppedEarly):
        fit_parameters_em(table, DAG, **options, progress=interrupt, checkpoint=path)
    again = fit_parameters_em(table, DAG, **options, checkpoint=path)
    for ours, theirs in zip(again.tables, whole.tables, strict=True):
        assert (ours == theirs).all()
    with raises(ParameterError, about="max_steps=0"):
        fit_parameters_em(table, DAG, max_steps=0)
