"""Exact answers within limits: what is refused and how, and that limits change no answer."""

from __future__ import annotations

import math

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import ParameterError, TableSizeError
from counterpane.features import Potential
from counterpane.inference import ExactRun, Limits, limited
from counterpane.inference.limits import current_limits, parse_memory
from counterpane.models.certainty import InexactAnswer

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


def test_a_refusal_names_cells_memory_time_and_what_to_allow(grid):
    parts, cards = grid
    run = ExactRun(parts, cards, {}, limits=Limits(seconds=1e-6))
    words = r"about [\d,]+ cells .* of memory and .* s, and .* are allowed; allow it by exact=\d+"
    with pytest.raises(TableSizeError, match=words):
        run.weight()


def test_limits_of_a_question():
    with limited(exact=5, max_memory="2 GB"):
        assert current_limits() == Limits(5.0, 2e9)
        with limited(exact=True):
            assert current_limits() == Limits(math.inf, 2e9)
    assert current_limits() == Limits()
    assert parse_memory("500 MB") == parse_memory(500e6) == 500e6
    for bad in ("much", 0, -1, "-3 GB", True):
        with pytest.raises(ParameterError, match="max_memory"):
            parse_memory(bad)
    for bad in (-1, "soon", math.nan):
        with pytest.raises(ParameterError, match="exact="), limited(exact=bad):
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
    with pytest.raises(TableSizeError, match="are allowed"):
        model.query("x40", {"x0": 1}, exact=1e-9, method="exact")


def test_impossible_evidence_has_weight_zero():
    forbidden = Potential((0, 1), [[0.0, -np.inf], [-np.inf, 0.0]])
    run = ExactRun([forbidden], [2, 2], {0: 0, 1: 1})
    assert run.weight() == -np.inf
