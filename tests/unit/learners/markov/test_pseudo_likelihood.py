"""The pseudo-likelihood as an objective: its value and slopes, however rows are read."""

from __future__ import annotations

import numpy as np
import pytest
from random_features import CARDS, features, parts_from, read_as, table_of

from counterpane.counts import MemoryCounts
from counterpane.features import Blanket
from counterpane.learners.markov import pseudo_likelihood
from counterpane.learners.markov.pseudo_likelihood import PseudoLikelihood, maximize_likelihood
from counterpane.learners.markov.weights import weights_of_parts
from reference import pseudo_reference as reference
from reference.random_codes import random_codes, random_weights

KINDS = ["narrow", "wide", "blocks", "unkept", "streamed"]


@pytest.mark.parametrize("weights", [None, "eighths"])
@pytest.mark.parametrize("kind", KINDS)
def test_value_and_slopes_are_the_naive_ones(kind, weights, monkeypatch):
    options = read_as(kind, monkeypatch)
    tables, rules = features()
    parts = parts_from(tables, rules)
    codes, w = random_codes(CARDS, 90, seed=1), random_weights(weights, 90, 2)
    objective = PseudoLikelihood(MemoryCounts(table_of(codes, w)), parts, **options)
    kept = [lists for _, _, lists in objective.stored]
    assert len(kept) == {"blocks": len(kept), "streamed": 0}.get(kind, 1)
    assert (len(kept) > 3) == (kind == "blocks")
    assert (None in kept) == (kind == "unkept")
    assert (objective.streamed.size > 0) == (kind == "streamed")
    for reading, view, lists in objective.stored:
        found = reading.lists(view) if lists is None else lists
        assert 2 * np.diff(found.offsets).max() <= (view.row_to - view.row_from).max()
        assert found.opposite.any()
    value, slopes = objective(weights_of_parts(parts))
    plain = np.ones(90) if w is None else w
    rows = [list(map(int, row)) for row in codes.T]
    expected = reference.minus_pll(rows, plain, CARDS, tables, rules)
    assert value == pytest.approx(expected, rel=1e-12)
    by_model = Blanket(CARDS, parts).pseudo_log_likelihood(codes, total=True)
    assert value == pytest.approx(-(by_model @ plain), rel=1e-12)
    for k in range(slopes.size):
        step = np.zeros(slopes.size)
        step[k] = 1e-5
        up, down = (objective(weights_of_parts(parts) + d)[0] for d in (step, -step))
        assert slopes[k] == pytest.approx((up - down) / 2e-5, abs=2e-5)


def test_all_ways_of_reading_agree_in_the_optimum(monkeypatch):
    tables, rules = features()
    source = MemoryCounts(table_of(random_codes(CARDS, 300, seed=5)))
    found = {}
    for kind in KINDS:
        with monkeypatch.context() as patch:
            options = read_as(kind, patch)
            objective = PseudoLikelihood(source, parts_from(tables, rules), **options)
            found[kind] = maximize_likelihood(objective, prior_sd=0.5, tolerance=1e-9)
    for kind in KINDS:
        assert found[kind].converged
        assert found[kind].objective == pytest.approx(found["narrow"].objective, rel=1e-13)
        np.testing.assert_allclose(found[kind].weights, found["narrow"].weights, atol=1e-6)


def test_the_rows_and_lists_that_are_kept_are_bounded(monkeypatch):
    tables, rules = features()
    parts = parts_from(tables, rules)
    source = MemoryCounts(table_of(random_codes(CARDS, 300, seed=5)))
    everything = PseudoLikelihood(source, parts)
    ((_, view, _),) = everything.stored
    sizes = view.row_to - view.row_from
    some = PseudoLikelihood(source, parts, max_rows=int(sizes[:3].sum()))
    assert [view.variables.tolist() for _, view, _ in some.stored] == [[0, 1, 2], [3, 4, 5]]
    monkeypatch.setattr(pseudo_likelihood, "NARROW", 1)
    monkeypatch.setattr(pseudo_likelihood, "BLOCK_ROWS", 20)
    lists = [lists.positions.size for _, _, lists in PseudoLikelihood(source, parts).stored]
    monkeypatch.setattr(pseudo_likelihood, "MAX_POSITIONS", sum(lists) // 2)
    kept = [lists for _, _, lists in PseudoLikelihood(source, parts).stored]
    some = [lists.positions.size for lists in kept if lists is not None]
    assert 0 < sum(some) <= sum(lists) // 2
    assert None in kept


def test_states_beyond_a_byte():
    cards = (300, 2)
    rng = np.random.default_rng(0)
    codes = np.array([rng.integers(0, 300, 400), rng.integers(0, 2, 400)])
    rules = [(0.3, [(0, 299, False), (1, 1, False)]), (-0.7, [(0, 5, True), (1, 0, False)])]
    tables = [((1, 0), rng.normal(size=(2, 300)))]
    parts = parts_from(tables, rules, cards)
    value, _ = PseudoLikelihood(MemoryCounts(table_of(codes, cards=cards)), parts)(
        weights_of_parts(parts)
    )
    rows = [list(map(int, row)) for row in codes.T]
    assert value == pytest.approx(
        reference.minus_pll(rows, np.ones(400), cards, tables, rules), rel=1e-12
    )


def test_more_than_thirty_conditions():
    cards = (2,) * 40
    rng = np.random.default_rng(1)
    codes = (rng.random((40, 200)) < 0.97).astype(int)
    long = [(v, 1, False) for v in range(35)]
    rules = [(1.5, long), (-0.5, [*long[:-1], (34, 1, True)]), (0.25, [(3, 1, False)])]
    parts = parts_from([], rules, cards)
    value, _ = PseudoLikelihood(MemoryCounts(table_of(codes, cards=cards)), parts)(
        weights_of_parts(parts)
    )
    rows = [list(map(int, row)) for row in codes.T]
    assert value == pytest.approx(
        reference.minus_pll(rows, np.ones(200), cards, [], rules), rel=1e-12
    )
