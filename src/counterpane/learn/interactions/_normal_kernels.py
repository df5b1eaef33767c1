"""Normal scores."""

from __future__ import annotations

import math
from typing import Any

from counterpane._jit import kernel

ROOT_TWO_PI = 2.5066282746310002


@kernel
def normal_scores(p: Any) -> None:
    """Replace probabilities by Φ⁻¹(p), by Halley's steps from the logistic quantile."""
    for i in range(p.size):
        x = 0.55 * math.log(p[i] / (1 - p[i]))
        for _ in range(5):
            error = (0.5 * math.erfc(-x / math.sqrt(2.0)) - p[i]) * ROOT_TWO_PI
            step = error * math.exp(0.5 * x * x)
            x -= step / (1 + 0.5 * x * step)
        p[i] = x
