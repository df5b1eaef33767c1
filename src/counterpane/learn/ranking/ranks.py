"""Reciprocal ranks of items among those that a user does not have."""

from __future__ import annotations

import numpy as np

from counterpane.typing import Bools, Floats, Ints


def expected_reciprocal_ranks(values: Floats, items: Ints, taken: Bools) -> Floats:
    """The mean of 1 / rank over the places that ties allow, (users,).

    `values` and `taken` are (users, items), larger values are sooner; `items` are not taken.

    >>> taken = np.array([[True, False, False, False]])
    >>> expected_reciprocal_ranks(np.array([[0.9, 0.5, 0.5, 0.1]]), np.array([1]), taken)
    array([0.75])
    """
    own = values[np.arange(len(items)), items][:, None]
    better = ((values > own) & ~taken).sum(axis=1)
    equal = ((values == own) & ~taken).sum(axis=1)
    sums = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, values.shape[1] + 1))])
    means: Floats = (sums[better + equal] - sums[better]) / equal
    return means
