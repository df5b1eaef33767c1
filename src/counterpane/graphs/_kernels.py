"""Bits of a row, for the Numba kernels that are left; src/core/graphs/bits.hpp for all others."""

from __future__ import annotations

import numpy as np

from counterpane._jit import inlined, kernel, trailing_zeros
from counterpane.typing import Words

ONE = np.uint64(1)


@inlined
def bit(i: int) -> np.uint64:
    """The word that holds bit i of a row, at word i >> 6."""
    return ONE << np.uint64(i & 63)


@inlined
def has(row: Words, i: int) -> bool:
    """Whether bit i is set."""
    return bool((row[i >> 6] >> np.uint64(i & 63)) & ONE)


@kernel
def lowest(row: Words, start: int) -> int:
    """The first set bit at or after `start`, or −1: `while` it is not, a loop over a set."""
    w = start >> 6
    if w >= row.size:
        return -1
    word = row[w] >> np.uint64(start & 63)
    if word != 0:
        return start + int(trailing_zeros(word))
    for k in range(w + 1, row.size):
        if row[k] != 0:
            return 64 * k + int(trailing_zeros(row[k]))
    return -1
