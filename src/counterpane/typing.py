"""Names for the array types that pass between floors."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Codes: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]
"""State codes as uint8 or uint16, one row per variable: shape (n_variables, n_rows)."""

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Words: TypeAlias = npt.NDArray[np.uint64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Array: TypeAlias = npt.NDArray[Any]

State: TypeAlias = str | int | float | bool | None
"""A state's label. `None` is the missing cell, where missing counts as a state."""
