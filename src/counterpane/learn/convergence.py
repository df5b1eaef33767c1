"""Whether chains of samples agree: R-hat, effective sample size, standard errors."""

from __future__ import annotations

import numpy as np

from counterpane.typing import Floats


def split_rhat(means: Floats, variances: Floats, size: float) -> Floats:
    """R-hat from the means and variances of half chains, along the first axis.

    √((size − 1) / size + B / W) with B the variance of the means and W the mean of the variances
    (Gelman et al. 2013, 11.4). 1 where nothing varies.

    >>> float(split_rhat(np.array([0.0, 2.0]), np.array([1.0, 1.0]), 100.0).round(3))
    1.729
    """
    between = means.var(axis=0, ddof=1)
    within = variances.mean(axis=0)
    still = between < 1e-12  # the means of all half chains agree to six digits
    with np.errstate(divide="ignore", invalid="ignore"):
        rhat = np.sqrt((size - 1) / size + between / within)
    return np.where(still, 1.0, rhat)


def effective_sample_size(chains: Floats) -> float:
    """How many independent samples tell as much about the mean; `chains` is (chains, samples).

    Autocorrelations within chains, against the variance of all; summed over pairs while those are
    positive and falling (Geyer 1992).

    >>> rng = np.random.default_rng(0)
    >>> bool(3000 < effective_sample_size(rng.normal(size=(4, 1000))) < 5000)
    True
    """
    m, size = chains.shape
    centered = chains - chains.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centered, n=2 * size, axis=1)
    covariances = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :size].mean(axis=0) / size
    total = covariances[0]
    if m > 1:
        total = covariances[0] * (size - 1) / size + chains.mean(axis=1).var(ddof=1)
    if total < 1e-12 or size < 4:
        return float(m * size)
    rho = 1.0 - (covariances[0] - covariances) / total
    pairs = rho[: size // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    kept = np.minimum.accumulate(pairs[: negative[0] if negative.size else None])
    time = max(1.0 / np.log10(m * size + 10), 2.0 * float(kept.sum()) - 1.0)
    return float(m * size / time)
