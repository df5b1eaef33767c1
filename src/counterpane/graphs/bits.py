"""Sets of nodes as rows of 64-bit words: node i is bit i mod 64 of word i div 64."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import SupportsIndex, TypeAlias

import numpy as np

from counterpane.errors import GraphError
from counterpane.typing import Bools, Words

Nodes: TypeAlias = SupportsIndex | Iterable[SupportsIndex]
"""One node or several, by index."""


def n_words(n: int) -> int:
    """The number of words that hold `n` bits."""
    return -(-n // 64)


def pack(flags: Bools) -> Words:
    """Words of shape (…, n_words(n)) whose bits are `flags` of shape (…, n)."""
    n = flags.shape[-1]
    octets = np.zeros((*flags.shape[:-1], 8 * n_words(n)), dtype=np.uint8)
    octets[..., : -(-n // 8)] = np.packbits(flags, axis=-1, bitorder="little")
    return octets.view("<u8").astype(np.uint64, copy=False)


def unpack(words: Words, n: int) -> Bools:
    """The first `n` bits of each row: the inverse of `pack`."""
    octets = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    return np.unpackbits(octets, axis=-1, bitorder="little")[..., :n].astype(np.bool_)


def node(i: SupportsIndex, n: int) -> int:
    """`i` as an int, checked to be one of the nodes 0 … n−1."""
    index = operator.index(i)
    if not 0 <= index < n:
        raise GraphError(f"node {index} is not in the graph; its {n} nodes are 0 … {n - 1}.")
    return index


def mask(n: int, nodes: Nodes) -> Words:
    """A fresh row of words with the bits of `nodes` set.

    >>> mask(70, (0, 65)).tolist()
    [1, 2]
    """
    several = nodes if isinstance(nodes, Iterable) else (nodes,)
    flags = np.zeros(n, dtype=np.bool_)
    flags[[node(i, n) for i in several]] = True
    return pack(flags)


def members(row: Words) -> tuple[int, ...]:
    """The set bits of one row, rising.

    >>> members(mask(70, (65, 0)))
    (0, 65)
    """
    if row.size > 64:  # many nodes: numpy's fixed price is worth it
        return tuple(np.flatnonzero(unpack(row, 64 * row.size)).tolist())
    found = []
    for w, word in enumerate(row.tolist()):
        while word:
            low = word & -word
            found.append(64 * w + low.bit_length() - 1)
            word ^= low
    return tuple(found)
