"""Edges as results have them, and their shares of bootstrap samples in a model's file."""

from __future__ import annotations

from counterpane.models.edges import LEAST_SAMPLES, Edge, stored_shares


def test_stored_shares_are_none_of_few_samples() -> None:
    for samples in (LEAST_SAMPLES - 1, LEAST_SAMPLES):
        edge = Edge("a", "b", "--", share=0.5, samples=samples)
        found = stored_shares([edge])
        assert (found is None) == (samples < LEAST_SAMPLES)
    assert stored_shares([]) is None
