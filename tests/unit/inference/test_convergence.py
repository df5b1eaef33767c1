"""R-hat, effective sample size and standard errors."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane.inference.convergence import (
    effective_sample_size,
    rhat,
    split_rhat,
    standard_errors,
)


def test_rhat_tells_chains_apart():
    rng = np.random.default_rng(0)
    chains = rng.normal(size=(4, 1000))
    good = split_rhat(chains.mean(axis=1), chains.var(axis=1), 1000)
    assert good == pytest.approx(1.0, abs=0.01)
    chains[0] += 3.0
    assert split_rhat(chains.mean(axis=1), chains.var(axis=1), 1000) > 1.5
    assert split_rhat(np.full(4, 0.3), np.zeros(4), 1000) == 1.0


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_effective_size_of_autoregressions(rho):
    """An AR(1) chain of n samples tells as much as n (1 − ρ) / (1 + ρ) independent ones."""
    rng = np.random.default_rng(1)
    chains = np.zeros((4, 20_000))
    noise = rng.normal(size=chains.shape)
    for t in range(1, chains.shape[1]):
        chains[:, t] = rho * chains[:, t - 1] + noise[:, t]
    expected = chains.size * (1 - rho) / (1 + rho)
    assert effective_sample_size(chains) == pytest.approx(expected, rel=0.15)


def test_errors_are_those_of_repeated_runs():
    rng = np.random.default_rng(2)
    runs, size, rho = 200, 400, 0.7
    noise = rng.normal(size=(runs, 4, size))
    chains = np.zeros_like(noise)
    for t in range(1, size):
        chains[..., t] = rho * chains[..., t - 1] + noise[..., t]
    told = standard_errors(np.moveaxis(chains, 0, -1))
    assert told.shape == (runs,)
    spread = chains.mean(axis=(1, 2)).std()
    assert told.mean() == pytest.approx(spread, rel=0.15)
    alone = standard_errors(chains[7][..., None])
    np.testing.assert_allclose(alone, told[7])


def test_chains_that_stand_still():
    still = np.full((4, 50, 2), 0.25)
    assert standard_errors(still).tolist() == [0.0, 0.0]
    assert rhat(still).tolist() == [1.0, 1.0]
    still[0, :, 1] = 0.75  # one chain is elsewhere, and stays there
    assert rhat(still)[1] == np.inf
    errors = standard_errors(still)
    assert errors[0] == 0.0
    assert 0.1 < errors[1] < 0.3  # four chains make less than four samples
    assert effective_sample_size(still[..., 1]) < 4
    assert effective_sample_size(still[:, :2, 0]) == 8.0
