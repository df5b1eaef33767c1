"""Random tables of a small model, for the kernels of inference."""

from __future__ import annotations

import numpy as np

CARDS = [2, 3, 2, 4, 1, 3]
SCOPES = [(0, 1), (3, 1, 2), (2, 5), (4,), (5, 3), (0,)]


def random_tables(seed, zeros=False):
    rng = np.random.default_rng(seed)
    tables = [rng.uniform(0.1, 1.0, [CARDS[v] for v in scope]) for scope in SCOPES]
    if zeros:
        tables[1][0, 1] = 0.0
    return list(zip(SCOPES, tables, strict=True))
