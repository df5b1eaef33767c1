"""Row weights, checked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from counterpane.errors import WeightError
from counterpane.typing import Floats, Ints


def check_weights(weights: npt.ArrayLike, n_rows: int) -> Ints | Floats:
    """`weights` as int64 where all are whole numbers, else float64; checked and read-only."""
    array = np.asarray(weights)
    if array.shape != (n_rows,):
        raise WeightError(f"weights have shape {array.shape}; {n_rows} rows need ({n_rows},).")
    if array.dtype.kind not in "biuf":
        raise WeightError(f"weights have type {array.dtype}; whole or real numbers are allowed.")
    values = array.astype(np.float64)
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise WeightError(
            f"the weight of row {row} is {array[row]}; weights must be finite and not negative."
        )
    if n_rows and values.sum() == 0:
        raise WeightError("all weights are zero; at least one row needs a positive weight.")
    whole = bool((values == np.floor(values)).all()) and values.sum() < 2**53
    result: Ints | Floats = values.astype(np.int64) if whole else values
    result.flags.writeable = False
    return result
