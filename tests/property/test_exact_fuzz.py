"""A slice of the fuzz of exact answers; `benchmarks/inference_fuzz.py` runs 24,000 questions."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane.features import Potential
from counterpane.inference import ExactRun, Limits
from reference import exact_fuzz


class Unrefused(ExactRun):
    """A run within any plan: limits of single cells cannot always be kept."""

    def check(self):
        return self.plan


def answers_of(network, keep, memory):
    """All four tasks within so many bytes, and how many questions had several runs."""
    n = network.cards.size
    parts = [Potential(scope, logs) for scope, logs in network.tables]
    limits = Limits(seconds=np.inf, memory=float(memory), threads=2)

    def run(**question):
        return Unrefused(
            parts, network.cards, network.evidence, every=range(n), limits=limits, **question
        )

    every = run()
    answers = {
        "marginals": every.marginals(range(n)),
        "joint": run(keep=keep).joint(),
        "mpe": run(maximize=range(n)).best(),
        "mmap": run(maximize=sorted(keep)).best(),
    }
    return answers, every.plan.runs > 1


def ask_about(seed):
    """(what is wrong, with the memory; questions asked; how many of them were conditioned)."""
    rng = np.random.default_rng(seed)
    network = exact_fuzz.random_network(rng)
    free = [v for v in range(network.cards.size) if v not in network.evidence]
    keep = rng.permutation(free)[: rng.integers(1, 4)].tolist()
    wrong, conditioned = [], 0
    for memory in (1e9, 8.8 * rng.integers(1, 40), 8.8):
        answers, several = answers_of(network, keep, memory)
        conditioned += several
        wrong += [(seed, memory, fault) for fault in exact_fuzz.faults(network, keep, answers)]
    return wrong, 12, conditioned


def test_exact_answers_agree_with_enumeration():
    results = [ask_about(seed) for seed in range(60)]
    assert [fault for wrong, _, _ in results for fault in wrong] == []
    assert sum(conditioned for _, _, conditioned in results) > 15


@pytest.mark.parametrize("keep", [[0, 1, 2], [0, 2], [1]])
def test_what_is_possible_apart_and_not_together_has_no_nan(keep):
    differ = np.where(np.eye(2, dtype=bool), -np.inf, 0.0)
    ring = [Potential((v, (v + 1) % 3), differ) for v in range(3)]
    for memory in (1e9, 8.8):
        limits = Limits(seconds=np.inf, memory=memory)
        table, log_weight = Unrefused(ring, [2] * 3, {}, keep=keep, limits=limits).joint()
        assert log_weight == -np.inf
        assert (table == 0).all()
        marginals, log_weight = Unrefused(ring, [2] * 3, {}, limits=limits).marginals(range(3))
        assert log_weight == -np.inf
        assert np.isfinite(np.concatenate(marginals)).all()
