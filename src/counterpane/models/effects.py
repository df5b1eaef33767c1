"""How much each interaction of a classifier changes its log-odds: the one definition of effects.

All that shows effects (the command, its JSON, reports, pictures, `explain`) takes them from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Self

import numpy as np

from counterpane.typing import Array, Floats

MIN_SAMPLES = 20  # samples below which a share is not shown
CAPTION = "numbers: effect on log-odds"
MEANING = (
    "The effect is the standard deviation, over the training rows, of what the interaction adds to "
    "the log-odds of the class, in nats. Interactions are purified: each has the mean zero over "
    "each of its columns."
)


def log_odds(logs: Floats) -> Floats:
    """The log-odds of each class, from logs of probabilities; classes are on the last axis.

    For two classes this is ln P(class) / P(other class). For more classes it is the log of P(class)
    relative to the geometric mean of all classes, so that the values of two classes differ by the
    log of the ratio of their probabilities.

    >>> log_odds(np.log([0.2, 0.8])).round(4).tolist()
    [-1.3863, 1.3863]
    """
    centered: Floats = logs - logs.mean(axis=-1, keepdims=True)
    return 2 * centered if logs.shape[-1] == 2 else centered


class Effects(NamedTuple):
    """The effect of each interaction of a model, in the order of its `faces`.

    `sizes` are standard deviations over rows of what an interaction adds to `log_odds`, in nats; of
    more than two classes the root mean square, the classes weighed by their shares. `explained` is
    the share of the variance of the whole log-odds: the covariance of an interaction with the sum
    of all, divided by the variance of the sum. It sums to one, and may be negative where an
    interaction takes back what others add. `shares` tells on which share of `samples` random halves
    of the rows an interaction was selected; it is NaN for single columns, which all models have.
    """

    sizes: Floats
    explained: Floats
    shares: Floats
    samples: int = 0

    def share_of(self, place: int) -> float | None:
        """The share of the samples with an interaction; None for too few samples."""
        known = self.samples >= MIN_SAMPLES and not np.isnan(self.shares[place])
        return float(self.shares[place]) if known else None

    def to_arrays(self) -> dict[str, Array]:
        """All of it as arrays."""
        return {
            "sizes": self.sizes,
            "explained": self.explained,
            "shares": self.shares,
            "samples": np.array([self.samples], dtype=np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """The effects that `to_arrays` described."""
        samples = int(arrays["samples"][0])
        return cls(arrays["sizes"], arrays["explained"], arrays["shares"], samples)


def measure_effects(contributions: Floats, weights: Floats, class_shares: Floats) -> Effects:
    """The effects of contributions (interactions, rows, classes) on the scale of `log_odds`.

    >>> one = log_odds(np.array([[0.0, 1.0], [0.0, -1.0]]))
    >>> two = log_odds(np.array([[0.0, 0.5], [0.0, 0.5]]))
    >>> found = measure_effects(np.stack([one, two]), np.ones(2), np.array([0.5, 0.5]))
    >>> found.sizes.tolist(), found.explained.tolist()
    ([1.0, 0.0], [1.0, 0.0])
    """
    share = (weights / weights.sum())[:, None] * class_shares
    means = np.einsum("frc,r->fc", contributions, weights / weights.sum())
    moved = contributions - means[:, None]
    variances = np.einsum("frc,rc->f", moved**2, share)
    total = moved.sum(axis=0)
    shared = np.einsum("frc,rc->f", moved, share * total)
    variance = float(shared.sum())
    explained = shared / variance if variance > 0 else np.zeros(len(shared))
    return Effects(np.sqrt(variances), explained, np.full(len(shared), np.nan))
