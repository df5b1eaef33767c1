"""Searches whose screens run on a card, here its twin, end where those of the host end."""

from __future__ import annotations

import os

import numpy as np
import pytest

import counterpane as cp
from counterpane.counts.gpu import source as gpu
from counterpane.counts.gpu.cuda import CudaBits
from counterpane.learners.bayesian import card_screens, wide_search
from reference.gpu_reference import HostBits


@pytest.fixture(autouse=True)
def _narrow_tables_are_wide(monkeypatch):
    monkeypatch.setattr(wide_search, "WIDE", 20)
    monkeypatch.setattr(wide_search, "EVERY_COLUMN", 10)
    monkeypatch.setattr(gpu, "SCREENED_COLUMNS", 16)
    monkeypatch.setattr(gpu, "BINARY_COLUMNS", 32)
    monkeypatch.setattr(card_screens, "TASKS", 16)
    monkeypatch.setattr(card_screens, "BINARY_TASKS", 16)
    monkeypatch.setattr(wide_search, "CARD_BATCH", wide_search.SECOND_BATCH)


def device():
    """The card that COUNTERPANE_CARD names, or its twin."""
    card = os.environ.get("COUNTERPANE_CARD")
    return HostBits() if card is None else CudaBits(int(card))


def sampled(seed, choices, n=50, rows=400):
    rng = np.random.default_rng(seed)
    cards = rng.choice(choices, n)
    codes = np.empty((n, rows), np.uint8)
    for v, card in enumerate(cards):
        cell = np.zeros(rows, dtype=int)
        for p in rng.choice(v, min(v, rng.integers(0, 3)), replace=False) if v else ():
            cell = cell * cards[p] + codes[p]
        bounds = rng.dirichlet(np.full(card, 0.7), size=64).cumsum(axis=1)
        drawn = (rng.random(rows)[:, None] > bounds[cell]).sum(axis=1)
        codes[v] = np.minimum(drawn, card - 1)
    return cp.Table(cp.Schema.from_cards(cards.tolist()), codes)


@pytest.mark.parametrize("score", ["bic", "bdeu"])
@pytest.mark.parametrize("choices", [(2,), (1, 2, 3, 4)])
def test_the_same_network_as_without_a_card(score, choices):
    table = sampled(1, choices)
    on_host = cp.StructureSearch(score).fit(table)
    on_card = cp.StructureSearch(score).fit(cp.GpuCounts(table, device=device()))
    assert on_host.method_ == on_card.method_ == "screened"
    assert on_host.score_ == on_card.score_
    assert sorted(on_host.graph_.edges) == sorted(on_card.graph_.edges)
    second = [r["pairs"] for r in on_card.trace_ if r["stage"] == "second screen"]
    assert second == [r["pairs"] for r in on_host.trace_ if r["stage"] == "second screen"]
    assert sum(second) > 0 or choices != (2,)
