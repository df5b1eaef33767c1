"""The score statistic of faces that a fitted model lacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane._jit import kernel

CHUNK = 1024


@kernel
def score_faces(codes: Any, residuals: Any, variances: Any, columns: Any, cards: Any, free: Any,
                n_classes: int, out: Any) -> None:  # fmt: skip
    """Fill out[t] with what a ridge of strength 1 on face t would gain, less what chance would.

    With g and h the sums of residuals and variances in a cell, by class, the gain is ½ Σ g²/(h + 1)
    and chance Σ h/(h + 1), scaled by free[t] / (cells · classes) where that is below 1.
    `residuals` and `variances` are (classes, rows), weights included; of two classes one is enough.
    """
    given, n = residuals.shape
    alike = n_classes / given  # classes for which one row of residuals stands
    cells = np.empty(CHUNK, np.int64)
    for t in range(out.size):
        size = 1
        for j in range(columns.shape[1]):
            if columns[t, j] >= 0:
                size *= cards[t, j]
        sums = np.zeros((size, 2 * given))
        for low in range(0, n, CHUNK):
            here = cells[: min(CHUNK, n - low)]
            here[:] = 0
            for j in range(columns.shape[1]):
                if columns[t, j] >= 0:
                    card, own = cards[t, j], codes[columns[t, j], low : low + here.size]
                    for i in range(here.size):
                        here[i] = here[i] * card + own[i]
            for c in range(given):
                r, v = residuals[c, low : low + here.size], variances[c, low : low + here.size]
                for i in range(here.size):
                    sums[here[i], 2 * c] += r[i]
                    sums[here[i], 2 * c + 1] += v[i]
        gain, chance, seen = 0.0, 0.0, 0
        for cell in range(size):
            if sums[cell, 1] > 0:  # a variance is positive wherever there is a row
                seen += 1
                for c in range(given):
                    g, h = sums[cell, 2 * c], sums[cell, 2 * c + 1]
                    gain += 0.5 * g * g / (h + 1.0)
                    chance += h / (h + 1.0)
        out[t] = alike * (gain - chance * min(1.0, free[t] / (seen * n_classes)))
