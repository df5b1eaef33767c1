"""A seeded slice of the fuzzers of totals, tables and questions."""

from __future__ import annotations

import pytest

from faults import questions_fuzzer, tables_fuzzer, totals_fuzzer

SLICES = [(totals_fuzzer, 120), (tables_fuzzer, 80), (questions_fuzzer, 600)]


@pytest.mark.parametrize(("fuzzer", "tries"), SLICES, ids=["totals", "tables", "questions"])
def test_a_slice_of_seeds_finds_no_fault(fuzzer, tries):
    faults = [fault for seed in range(tries) if (fault := fuzzer.try_once(seed)) is not None]
    assert faults == []


@pytest.mark.parametrize("fuzzer", [questions_fuzzer, tables_fuzzer])
def test_a_fuzzer_sees_a_wrong_answer(monkeypatch, fuzzer):
    """Most tries reach their last comparison: a wrong one there is a fault."""
    monkeypatch.setattr(fuzzer, "CLOSE", -1.0)
    faults = [fuzzer.try_once(seed) for seed in range(20)]
    assert sum(fault is not None for fault in faults) >= 5
