"""The conformance suite on a card; where none is named, on the device's twin on the host.

COUNTERPANE_CARD=0 pytest tests/contract/test_gpu_source.py
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import counterpane as cp
from contract.count_source_suite import CountSourceSuite
from counterpane.counts.gpu.cuda import CudaBits
from counterpane.counts.gpu.device_table import LEAST_MEMORY
from counterpane.counts.gpu.source import GpuCounts
from counterpane.errors import DeviceError, ParameterError
from counterpane.scores import as_score
from counterpane.scores.row_cache import RowCache
from error_checks import raises
from reference.gpu_reference import HostBits, state_counts, state_likelihoods

CARD = os.environ.get("COUNTERPANE_CARD")


def device() -> CudaBits:
    return HostBits() if CARD is None else CudaBits(int(CARD))


def resident(table):
    return GpuCounts(table, device=device())


def streamed(table):
    """As many blocks as the least memory makes of it."""
    return GpuCounts(table, device=device(), memory=LEAST_MEMORY)


@pytest.mark.parametrize("make", [resident, streamed])
class TestGpuSource(CountSourceSuite):
    """Every promise, on a card."""


def random_table(rng, n, rows, *, weights=False):
    cards = rng.integers(1, 5, n)
    codes = np.array([rng.integers(0, card, rows) for card in cards], dtype=np.uint8)
    whole = rng.integers(0, 9, rows) if weights else None
    return cp.Table(cp.Schema.from_cards(cards.tolist()), codes, whole)


@pytest.mark.parametrize("weights", [False, True])
def test_products_and_intersections_equal_those_of_sets(weights):
    rng = np.random.default_rng(0)
    source = resident(random_table(rng, 6, 1000, weights=weights))
    scopes = [np.array([0]), np.array([2, 5]), np.array([1, 3, 4])]
    for part, found in source.state_counts(scopes):
        for i, scope in enumerate(scopes[part.start : part.stop]):
            a, b = found.cells_from[i : i + 2]
            plain = source._host.counts([[*scope, v] for v in range(6) if v not in scope])
            others = [v for v in range(6) if v not in scope]
            for table, v in zip(plain, others, strict=True):
                card = table.shape[-1]
                start = found.kept_from[v]
                expected = table.reshape(-1, card)
                assert (found.counts[a:b, start : start + card - 1] == expected[:, :-1]).all()
                assert (found.totals[a:b] == expected.sum(axis=1)).all()


@pytest.mark.parametrize("learner", [
    cp.StructureSearch("bic"), cp.HillClimb("bdeu"), cp.ChowLiu(), cp.K2Search("k2"),
    cp.StructureSearch("bdeu", effort="fast"), cp.GSIMN(potentials=False),
    cp.HybridRandomFieldLearner(),
])  # fmt: skip
@pytest.mark.parametrize("make", [resident, streamed])
@pytest.mark.parametrize("weights", [False, True])
def test_learners_give_the_same_model(learner, make, weights):
    rng = np.random.default_rng(1)
    table = random_table(rng, 7, 700, weights=weights)
    codes = table.codes.copy()
    codes[3] = np.minimum(codes[1], table.schema.cards[3] - 1)
    table = cp.Table(table.schema, codes, table.weights)
    on_card = learner.fit(make(table)).model_
    on_host = learner.fit(cp.MemoryCounts(table)).model_
    assert on_card.equals(on_host) if hasattr(on_card, "equals") else repr(on_card) == repr(on_host)


def test_blocks_of_rows_add_up():
    rng = np.random.default_rng(2)
    table = random_table(rng, 40, 200_000)
    source = streamed(table)
    assert not source.resident
    assert (source.pair_counts().counts == cp.MemoryCounts(table).pair_counts().counts).all()


def test_what_does_not_fit_is_refused_before_it_is_allocated():
    rng = np.random.default_rng(3)
    table = random_table(rng, 2000, 10_000)
    with raises(DeviceError, about="sets"):
        GpuCounts(table, device=HostBits(), memory=LEAST_MEMORY)
    with raises(ParameterError, parameter="memory", value=1):
        GpuCounts(table, device=HostBits(), memory=1)
    with raises(DeviceError, parameter="memory", value=1073741824):
        GpuCounts(table, device=HostBits(memory=2**23), memory=2**30)


def test_cells_by_states_of_a_card_are_those_of_any_source():
    table = random_table(np.random.default_rng(4), 6, 900)
    scopes = [np.array([1]), np.array([0, 4]), np.array([2, 3, 5])]
    plain = state_counts(cp.MemoryCounts(table), scopes)
    ((_, on_card),) = resident(table).state_counts(scopes)
    assert (np.concatenate([found.counts for found in plain]) == on_card.counts).all()
    assert (np.concatenate([found.totals for found in plain]) == on_card.totals).all()


@pytest.mark.parametrize("most", [2**20, 12], ids=["all summed", "some counted"])
@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_rows_of_scores_are_those_of_the_host_to_the_last_bit(score, most, monkeypatch):
    table = random_table(np.random.default_rng(5), 9, 1500)
    on_card = resident(table)
    on_card.prepare()
    monkeypatch.setattr(GpuCounts, "max_cells_for_likelihoods", most)
    caches = [RowCache(source, as_score(score)) for source in (on_card, cp.MemoryCounts(table))]
    for child, parents in [(0, ()), (3, (1,)), (8, (0, 2)), (5, (1, 4, 7)), (2, (3, 6, 7, 8))]:
        rows = [cache.row(child, parents) for cache in caches]
        assert (rows[0].toggled == rows[1].toggled).all()
        assert (rows[0].improving == rows[1].improving).all()


def test_likelihoods_of_a_card_are_those_of_any_source():
    table = random_table(np.random.default_rng(6), 7, 1100)
    scopes = [np.array([1]), np.array([0, 4]), np.array([2, 3, 5]), np.array([6, 0, 1, 4])]
    plain = state_likelihoods(cp.MemoryCounts(table), scopes)
    ((part, on_card),) = resident(table).state_likelihoods(scopes)
    assert part == range(4)
    for i, found in enumerate(plain):
        others = np.setdiff1d(np.arange(7), scopes[i])
        assert (found.sums[0, others] == on_card.sums[i, others]).all()
    assert (np.concatenate([found.totals for found in plain]) == on_card.totals).all()
