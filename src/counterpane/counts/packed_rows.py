"""Codes packed at one, two, four, eight or sixteen bits a cell, in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from counterpane.data.readers.blocks import BLOCK_ROWS
from counterpane.typing import Array, Codes, Ints

_WIDTHS = (1, 2, 4, 8, 16)
_WORDS = {1: np.uint64, 2: np.uint32, 4: np.uint16}  # hold the cells of one byte, a byte each


class PackedRows:
    """Blocks of rows, bit-packed: they take several times less memory.

    >>> rows = PackedRows(np.array([2, 3]))
    >>> rows.append(np.array([[0, 1, 1], [2, 0, 1]], dtype=np.uint8), None)
    >>> [codes.tolist() for codes, _ in rows.blocks([1, 0])]
    [[[2, 0, 1], [0, 1, 1]]]
    """

    def __init__(self, cards: Ints) -> None:
        self._widths = cell_widths(cards)
        self._blocks: list[tuple[int, list[Array], Array | None]] = []
        self._dtype = np.uint16 if 16 in self._widths else np.uint8

    def append(self, codes: Codes, weights: Array | None) -> None:
        """Add the rows of a block of all columns."""
        packed = [_pack(c, w) for c, w in zip(codes, self._widths, strict=True)]
        self._blocks.append((codes.shape[1], packed, weights))

    def blocks(self, columns: Sequence[int]) -> Iterator[tuple[Codes, Array | None]]:
        """Some columns, block by block as they were added."""
        for rows, packed, weights in self._blocks:
            codes: Codes = np.empty((len(columns), rows), dtype=self._dtype)
            for out, c in zip(codes, columns, strict=True):
                out[:] = _unpack(packed[c], self._widths[c])[:rows]
            yield codes, weights


def cell_widths(cards: Ints) -> list[int]:
    """The bits that a cell of each column takes."""
    return [next(w for w in _WIDTHS if r <= 2**w) for r in cards.tolist()]


def packed_bytes(cards: Ints, n_rows: int, weighted: bool) -> int:
    """The memory that packed rows take, their weights included."""
    blocks = -(-n_rows // BLOCK_ROWS)
    return n_rows * (sum(cell_widths(cards)) + 64 * weighted) // 8 + 200 * blocks * len(cards)


def _pack(codes: Codes, width: int) -> Array:
    if width >= 8:
        return codes.astype(np.uint8 if width == 8 else np.uint16)
    cells = 8 // width
    padded = np.zeros(-(-len(codes) // cells) * cells, dtype=np.uint8)
    padded[: len(codes)] = codes
    packed = padded[::cells].copy()
    for k in range(1, cells):
        packed |= padded[k::cells] << (k * width)
    return packed


def _unpack(packed: Array, width: int) -> Array:
    """The cells of some bytes, by a table of the cells of each byte."""
    return packed if width >= 8 else _CELLS[width][packed].view(np.uint8)


def _cells(width: int) -> Array:
    """For each byte its cells, in one word."""
    shifts = np.arange(0, 8, width)
    cells = (np.arange(256)[:, None] >> shifts) & (2**width - 1)
    return np.ascontiguousarray(cells, dtype=np.uint8).view(_WORDS[width]).ravel()


_CELLS = {width: _cells(width) for width in _WORDS}
