"""Bit rows of edge lists, and back."""

from __future__ import annotations

import numpy as np


def rows_of(n, pairs):
    """Words in which bit j of row i is set for each pair (i, j)."""
    out = np.zeros((n, -(-n // 64)), np.uint64)
    for i, j in pairs:
        out[i, j // 64] |= np.uint64(1) << np.uint64(j % 64)
    return out


def pairs_of(rows):
    """The set of (i, j) whose bit is set."""
    return {
        (i, j)
        for i, row in enumerate(rows.tolist())
        for j in range(64 * rows.shape[1])
        if row[j // 64] >> j % 64 & 1
    }


def mask_of(n, nodes):
    return rows_of(max(n, 1), [(0, v) for v in nodes])[0].copy()


def nodes_of(mask):
    return {j for _, j in pairs_of(mask[None])}


def both(edges):
    """Each edge in both directions."""
    return {(a, b) for e in edges for a, b in (e, e[::-1])}
