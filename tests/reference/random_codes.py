"""Random tables of codes as plain arrays, with what real tables have: skew, gaps, ties."""

from __future__ import annotations

import numpy as np


def random_codes(cards, n_rows, seed, *, missing=0.0):
    """Codes of shape (columns, rows), skewed and dependent; a missing cell has the code `card`.

    Each column copies its left neighbor (modulo its card) in a third of the rows, so that there are
    dependences to find. The last state of a column with five or more is never observed.
    """
    rng = np.random.default_rng(seed)
    codes = np.empty((len(cards), n_rows), dtype=np.int64)
    for i, card in enumerate(cards):
        seen = card if card < 5 else card - 1
        codes[i] = (rng.random(n_rows) ** 1.7 * seen).astype(np.int64)
        if i:
            copied = rng.random(n_rows) < 1 / 3
            codes[i, copied] = codes[i - 1, copied] % seen
    if missing:
        gone = rng.random(codes.shape) < missing
        gone[0] = False  # one column stays complete
        codes = np.where(gone, np.array(cards)[:, None], codes)
    return codes


def random_weights(kind, n_rows, seed):
    """Weights of a kind: none; whole; eighths, whose sums are exact in any order; or real.

    All but `None` hold zeros where there are rows enough.
    """
    rng = np.random.default_rng(seed)
    if kind is None:
        return None
    weights = {
        "whole": rng.integers(0, 5, n_rows).astype(float),
        "eighths": rng.integers(0, 40, n_rows) / 8,
        "real": rng.gamma(0.5, 1.0, n_rows),
    }[kind]
    weights[:: max(2, n_rows // 7)] = 0.0
    weights[-1] = {"whole": 3.0, "eighths": 2.125, "real": 0.7}[kind]
    return weights
