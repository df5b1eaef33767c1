"""Exponentials and logarithms that vectorize, where libm's do not."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane._jit import kernel

LOG2_E = 1.4426950408889634
LN_2 = 0.6931471805599453
LN2_HIGH = 6.93147180369123816490e-01  # ln 2 with 21 trailing zero bits, and the rest of it
LN2_LOW = 1.90821492927058770002e-10
SHIFT = 6755399441055744.0  # 1.5 · 2^52: adding it leaves the nearest whole number in the low bits
HALF_ROOT = np.int64(0x3FE6A09E667F3BCD)  # the bits of √½


@kernel
def exponentials(x: Any, scratch: Any) -> None:
    """Replace x, none above 709, by exp(x), within 2 units in the last place; below -700 ~ 0."""
    for i in range(x.size):
        v = max(x[i], -700.0)
        shifted = v * LOG2_E + SHIFT
        k = shifted - SHIFT
        r = (v - k * LN2_HIGH) - k * LN2_LOW
        p = 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        scratch[i] = shifted
        x[i] = p
    bits = x.view(np.int64)
    exponents = scratch.view(np.int64)
    for i in range(x.size):
        bits[i] += exponents[i] << 52


@kernel
def logarithms(x: Any, scratch: Any) -> None:
    """Replace x, positive and normal, by ln x: exponent, and 2 artanh u of a fraction near 1."""
    bits = x.view(np.int64)
    exponents = scratch.view(np.int64)
    for i in range(x.size):
        k = (bits[i] - HALF_ROOT) >> 52
        exponents[i] = k
        bits[i] -= k << 52
    for i in range(x.size):
        scratch[i] = exponents[i]
    for i in range(x.size):
        u = (x[i] - 1.0) / (x[i] + 1.0)  # at most 0.172
        v = u * u
        w = v * v
        p = 1.0 / 21.0  # every second term of the series, so that two chains run side by side
        p = p * w + 1.0 / 17.0
        p = p * w + 1.0 / 13.0
        p = p * w + 1.0 / 9.0
        p = p * w + 1.0 / 5.0
        q = 1.0 / 19.0
        q = q * w + 1.0 / 15.0
        q = q * w + 1.0 / 11.0
        q = q * w + 1.0 / 7.0
        q = q * w + 1.0 / 3.0
        x[i] = 2.0 * u * (1.0 + v * (q + v * p)) + scratch[i] * LN_2
