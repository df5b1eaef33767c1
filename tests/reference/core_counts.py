"""Contingency counts cell by cell, for the kernels of counts."""

from __future__ import annotations

import itertools

import numpy as np


def table_of(codes, weights, cards, scope, rows):
    """Weights of the rows in each cell, last column fastest."""
    cells = list(itertools.product(*(range(cards[c]) for c in scope)))
    return [
        sum(
            weights[r]
            for r in rows
            if all(codes[c][r] == s for c, s in zip(scope, cell, strict=True))
        )
        for cell in cells
    ]


def bit_sets(codes, cards):
    """(words, first): bit r of words[first[c] + s] says whether row r of column c has state s."""
    n_rows = len(codes[0])
    first = np.concatenate([[0], np.cumsum(cards)[:-1]]).astype(np.int64)
    words = np.zeros((int(np.sum(cards)), -(-n_rows // 64)), np.uint64)
    for c, column in enumerate(codes):
        for r, s in enumerate(column):
            words[first[c] + s, r // 64] |= np.uint64(1) << np.uint64(r % 64)
    return words, first


def common(a, b):
    """The number of bits set in both."""
    return sum(int(x & y).bit_count() for x, y in zip(a.tolist(), b.tolist(), strict=True))
