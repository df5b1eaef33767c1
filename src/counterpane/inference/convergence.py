"""Whether chains of samples agree: R-hat, effective sample size, standard errors."""

from __future__ import annotations

import numpy as np

from counterpane.typing import Floats

TOGETHER = 2**21  # numbers whose spectra are held at a time


class UnsettledChains(UserWarning):
    """Warns that chains disagree about an edge, or hold too few independent samples of it.

    >>> import warnings
    >>> import counterpane as cp
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always", cp.UnsettledChains)
    ...     learner = cp.OrderMCMC(n_samples=4, random_state=0).fit(cp.load_dataset("titanic"))
    >>> told[0].category.__name__
    'UnsettledChains'
    """


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


def rhat(chains: Floats) -> Floats:
    """R-hat of the halves of chains, for each of the quantities; as in `standard_errors`.

    >>> rng = np.random.default_rng(0)
    >>> bool(rhat(rng.normal(size=(4, 1000, 3))).max() < 1.02)
    True
    """
    half = chains.shape[1] // 2
    halves = np.concatenate([chains[:, :half], chains[:, half : 2 * half]])
    return split_rhat(halves.mean(axis=1), halves.var(axis=1), half)


def effective_sample_size(chains: Floats) -> float:
    """The number of independent samples with the same standard error of the mean.

    `chains` has the shape (chains, samples).

    >>> rng = np.random.default_rng(0)
    >>> bool(3000 < effective_sample_size(rng.normal(size=(4, 1000))) < 5000)
    True
    """
    return float(_effective(chains[..., None])[0][0])


def standard_errors(chains: Floats) -> Floats:
    """The standard errors of the means of quantities; `chains` is (chains, samples, quantities).

    √(variance of all / effective sample size), which includes autocorrelation and disagreement of
    chains. Zero where nothing varies.

    >>> rng = np.random.default_rng(0)
    >>> standard_errors(rng.normal(size=(4, 1000, 1))).round(3).tolist()
    [0.016]
    """
    wide = max(1, TOGETHER // (chains.shape[0] * chains.shape[1]))
    blocks = (chains[..., k : k + wide] for k in range(0, chains.shape[-1], wide))
    errors = [np.sqrt(total / size) for size, total in map(_effective, blocks)]
    return np.concatenate([np.empty(0), *errors])


def _effective(chains: Floats) -> tuple[Floats, Floats]:
    """(effective sample size, variance of all) of each quantity, the last axis.

    Autocorrelations within chains, against the variance of all; summed over pairs while those are
    positive and falling (Geyer 1992).
    """
    m, size = chains.shape[:2]
    centered = chains - chains.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centered, n=2 * size, axis=1)
    covariances = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :size].mean(axis=0) / size
    total = covariances[0].copy()
    if m > 1:
        total = total * (size - 1) / size + chains.mean(axis=1).var(axis=0, ddof=1)
    independent = np.full(total.shape, float(m * size))
    if size < 4:
        return independent, total
    rho = 1.0 - (covariances[0] - covariances) / np.where(total > 0, total, 1.0)
    pairs = rho[: size // 2 * 2].reshape(size // 2, 2, -1).sum(axis=1)
    positive = np.minimum.accumulate(pairs > 0)
    summed = np.where(positive, np.minimum.accumulate(pairs), 0.0).sum(axis=0)
    time = np.maximum(1.0 / np.log10(m * size + 10), 2.0 * summed - 1.0)
    return np.where(total < 1e-12, independent, m * size / time), total
