"""What kernels of other packages that are not compiled ahead of time still need of the scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterpane._jit import kernel

LIKELIHOOD, EQUIVALENT, CONSTANT = 0, 1, 2


@kernel
def clogc(count: Any, table: Any) -> float:
    """c ln c, from `table` where it reaches; 0 for an empty cell."""
    whole = np.int64(count)
    if whole == count and whole < table.size:
        return table[whole]  # type: ignore[no-any-return]
    return count * math.log(count)  # type: ignore[no-any-return]
