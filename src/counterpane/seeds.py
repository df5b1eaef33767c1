"""Random generators from what users pass as `random_state`."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane.errors import ParameterError, Setting, shown_type


def random_generator(random_state: Any) -> np.random.Generator:
    """The generator of a seed: None, a whole number from 0 (or several), or a generator itself.

    >>> random_generator(0).integers(10, size=3).tolist()
    [8, 6, 5]
    """
    try:
        if isinstance(random_state, str | bytes):
            raise TypeError
        return np.random.default_rng(random_state)
    except (TypeError, ValueError, OverflowError):
        shown = random_state if isinstance(random_state, int | float | str) else ...
        raise ParameterError(
            Setting("random_state", shown),
            f" is {shown_type(random_state)} that is no seed; a whole number from 0, a "
            "numpy.random.Generator or None is needed.",
        ) from None
