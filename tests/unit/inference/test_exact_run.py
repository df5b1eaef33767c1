"""Exact answers within limits: what is refused and how, and that limits change no answer."""

from __future__ import annotations

import math

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import ParameterError, TableSizeError
from counterpane.features import Potential
from counterpane.inference import ExactRun, Limits, limited
from counterpane.inference.certainty import InexactAnswer
from counterpane.inference.limits import current_limits, parse_memory
from error_checks import raises

SIDE = 9


@pytest.fixture(scope="module")
def grid():
    """A grid of 9 × 9 binary columns."""
    rng = np.random.default_rng(0)
    at = lambda r, c: r * SIDE + c  # noqa: E731
    pairs = [(at(r, c), at(r, c + 1)) for r in range(SIDE) for c in range(SIDE - 1)]
    pairs += [(at(r, c), at(r + 1, c)) for r in range(SIDE - 1) for c in range(SIDE)]
    parts = [Potential(pair, rng.normal(size=(2, 2))) for pair in pairs]
    return parts, [2] * SIDE**2


def test_less_memory_changes_no_answer(grid):
    parts, cards = grid
    every = range(SIDE**2)
    full = ExactRun(parts, cards, {0: 1}, every=every, limits=Limits(memory=1e9))
    expected, log_weight = full.marginals(every)
    runs = set()
    for size in (60e3, 20e3, 8e3):
        run = ExactRun(parts, cards, {0: 1}, every=every, limits=Limits(memory=size))
        assert run.plan.memory <= 1.1 * size
        runs.add(run.plan.runs)
        marginals, other = run.marginals(every)
        np.testing.assert_allclose(np.array(marginals), np.array(expected), rtol=1e-10)
        assert math.isclose(other, log_weight, rel_tol=1e-12)
    assert max(runs) > 1


@pytest.mark.parametrize("n", [6, 24, 40])
def test_small_numbers_and_zeros_are_told_apart(n):
    # Messages of 1e-15 each: their product is a number of 24 of them, and needs logs from 40 on.
    parts = []
    for k in range(n):
        tie = np.array([[1.0, 1e-30], [1e-30, 1.0], [1e-15, 1e-15]])
        tie[2] *= k > 0  # the first child forbids the third state of the hub
        own = [1e-15, 1.0] if k % 2 else [1.0, 1e-15]
        with np.errstate(divide="ignore"):
            parts += [Potential((0, k + 1), np.log(tie)), Potential((k + 1,), np.log(own))]
    cards = [3] + [2] * n
    logs = np.zeros(3)
    for pair, own in zip(parts[::2], parts[1::2], strict=True):
        logs += np.logaddexp.reduce(pair.log_values + own.log_values, axis=1)
    expected = np.exp(logs - np.logaddexp.reduce(logs))
    (found,), log_weight = ExactRun(parts, cards, {}, every=range(n + 1)).marginals([0])
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert found[2] == 0 and math.isclose(log_weight, np.logaddexp.reduce(logs), rel_tol=1e-12)


def test_a_refusal_names_cells_memory_time_and_what_to_allow(grid):
    parts, cards = grid
    run = ExactRun(parts, cards, {}, limits=Limits(seconds=1e-6))
    with raises(TableSizeError, about=("cells", "memory")):
        run.weight()


def test_limits_of_a_question():
    with limited(exact=5, max_memory="2 GB"):
        assert current_limits() == Limits(5.0, 2e9)
        with limited(exact=True):
            assert current_limits() == Limits(math.inf, 2e9)
    assert current_limits() == Limits()
    assert parse_memory("500 MB") == parse_memory(500e6) == 500e6
    for bad in ("much", 0, -1, "-3 GB", True):
        with raises(ParameterError, parameter="max_memory"):
            parse_memory(bad)
    for bad in (-1, "soon", math.nan):
        with raises(ParameterError, parameter="exact"), limited(exact=bad):
            pass


def test_a_model_answers_within_its_limits(grid):
    parts, cards = grid
    model = cp.MarkovNetwork(cp.Schema.from_cards(cards), parts)
    full, small = (model.query("x40", {"x0": 1}, max_memory=m) for m in (None, 8e3))
    np.testing.assert_allclose(full.probabilities, small.probabilities, rtol=1e-10)
    best = model.map_query(evidence={"x0": 1}, max_memory=8e3)
    assert best == model.map_query(evidence={"x0": 1})
    with pytest.warns(InexactAnswer):
        estimate = model.query("x40", {"x0": 1}, exact=1e-9)
    assert estimate.certainty is not None
    with raises(TableSizeError, about="cells"):
        model.query("x40", {"x0": 1}, exact=1e-9, method="exact")


def test_impossible_evidence_has_weight_zero():
    forbidden = Potential((0, 1), [[0.0, -np.inf], [-np.inf, 0.0]])
    run = ExactRun([forbidden], [2, 2], {0: 0, 1: 1})
    assert run.weight() == -np.inf


def test_threads_change_no_bit_and_progress_is_told(grid):
    parts, cards = grid
    every = range(SIDE**2)
    answers, told = [], []
    for threads in (1, 3):
        limits = Limits(memory=8e3, threads=threads, report=lambda *step: told.append(step))
        run = ExactRun(parts, cards, {0: 1}, every=every, limits=limits)
        marginals, log_weight = run.marginals(every)
        answers.append((np.array(marginals).tolist(), log_weight))
    assert answers[0] == answers[1]
    assert told[-1] == ("runs", run.plan.runs, run.plan.runs)


def test_threads_share_large_cliques_without_changing_a_bit():
    rng = np.random.default_rng(1)
    n = 22
    clique = [Potential((a, b), rng.normal(size=(2, 2))) for a in range(n) for b in range(a)]
    answers = []
    for threads in (1, 3):
        limits = Limits(seconds=math.inf, memory=2e9, threads=threads)
        run = ExactRun(clique, [2] * n, {}, every=range(n), limits=limits)
        assert run.plan.largest_table == 2**n
        marginals, log_weight = run.marginals(range(n))
        answers.append((np.array(marginals).tolist(), log_weight))
    assert answers[0] == answers[1]
    direct = np.array([0.0])
    for v in range(n):  # all rows, column by column
        states = np.arange(2 * direct.size)
        before, state = states >> 1, states & 1
        direct = direct[before]
        for u in range(v):
            other = (before >> (v - 1 - u)) & 1
            direct += clique[v * (v - 1) // 2 + u].log_values[state, other]
    assert math.isclose(answers[0][1], np.logaddexp.reduce(direct), rel_tol=1e-12)


def test_an_answer_that_takes_too_long_is_given_up(grid, monkeypatch):
    parts, cards = grid
    monkeypatch.setattr("counterpane.inference.limits.LEAST_SECONDS", 0.0)
    monkeypatch.setattr("counterpane.inference.limits.PATIENCE", 0.0)
    monkeypatch.setattr("counterpane.inference.exact_run.QUICK_CELLS", 0.0)
    run = ExactRun(parts, cards, {0: 1}, limits=Limits(memory=8e3))
    with raises(TableSizeError, about="stopped"):
        run.weight()
