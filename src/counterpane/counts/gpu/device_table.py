"""A table as bit sets on a device: kept there, or streamed through it in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from counterpane.counts.gpu.cuda import CudaBits
from counterpane.counts.gpu.sets import words_of
from counterpane.data.table import Table
from counterpane.errors import DeviceError, ParameterError, Setting
from counterpane.memory import need_memory, size_text
from counterpane.progress import Control
from counterpane.ragged import offsets_of
from counterpane.typing import Array, Ints

MOST_STATES = 1024  # of a column that has bit sets on the device
SHARE = 0.8  # of the device's free memory that is taken by default
SETS_SHARE = 0.5  # of the memory for the sets; the rest is for masks and products
ROW_STEP = 2**12  # blocks of rows are multiples of it
LEAST_MEMORY = 2**22  # bytes


class WeightPlane(NamedTuple):
    """The rows whose weight has one binary digit, a set; None: all rows, without weights."""

    set: int | None
    factor: int


class DeviceTable:
    """The bit sets of a table on a device.

    The states of a column but its last one have consecutive sets, from first[v] on, and these stand
    before all others; its last one is the set last[v]. Then come the binary digits of the weights.
    """

    def __init__(self, table: Table, device: CudaBits, memory: int | None) -> None:
        self.table, self.device = table, device
        cards: Ints = table.schema.cards + table.has_missing
        self.on_device = cards <= MOST_STATES
        self.cards = np.where(self.on_device, cards, 1)
        starts = offsets_of(self.cards - 1)
        self.first, self.n_kept = starts[:-1], int(starts[-1])
        self.last: Ints = self.n_kept + np.arange(len(cards))
        self.n_digits = _binary_digits(table)
        self.n_sets = self.n_kept + len(cards) + (self.n_digits or 0)
        self.room = self._room(memory)
        self.ends = self._block_ends()
        self._words: Any = None  # on the device, if all rows fit
        self._streamed: list[Array] = []  # else packed on the host
        self._sizes: Ints | None = None

    @property
    def resident(self) -> bool:
        """Whether all rows stay on the device."""
        return len(self.ends) == 1

    @property
    def whole(self) -> bool:
        """Whether weights, if any, are whole numbers."""
        return self.n_digits is not None

    def planes(self) -> Iterator[WeightPlane]:
        """What the weights are made of."""
        if self.n_digits == 0:
            yield WeightPlane(None, 1)
        for b in range(self.n_digits or 0):
            yield WeightPlane(self.n_kept + len(self.cards) + b, 2**b)

    def prepare(self) -> None:
        """Pack the rows, once."""
        if self.resident and self._words is None:
            self._words = self._pack(0, self.ends[-1])
        elif not self.resident and not self._streamed:
            spans = list(pairwise([0, *self.ends]))
            need = sum(4 * self.n_sets * words_of(end - begin) for begin, end in spans)
            need_memory(need, "the bit sets of a table larger than the card", "select columns")
            self._streamed = [self.device.to_host(self._pack(*span)) for span in spans]

    def blocks(self, ctl: Control | None) -> Iterator[Any]:
        """The sets of each block of rows, on the device."""
        self.prepare()
        if self.resident:
            yield self._words
            return
        for words, end in zip(self.device.stream(self._streamed), self.ends, strict=True):
            yield words
            if ctl is not None:
                ctl.report("counting rows", end, self.ends[-1])

    def state_sizes(self, ctl: Control | None) -> Ints:
        """The weight of each set of a state."""
        if self._sizes is None:
            every: Ints = np.arange(self.n_kept + len(self.cards))[:, None]
            sizes: Ints = np.zeros(len(every), dtype=np.int64)
            for words in self.blocks(ctl):
                for plane in self.planes():
                    of = with_plane(every, plane.set)
                    sizes += plane.factor * self.device.intersect(words, of, keep=False)[1]
            self._sizes = sizes
        return self._sizes

    def _room(self, memory: int | None) -> int:
        """The bytes that may be taken, checked."""
        if memory is not None and memory < LEAST_MEMORY:
            raise ParameterError(
                Setting("memory", memory), f"; at least {LEAST_MEMORY:,} bytes are needed."
            )
        free = self.device.free_memory()
        if memory is not None and memory > free:
            raise DeviceError(
                Setting("memory", memory),
                f"; the card has {size_text(free)} free: lower it or leave it out.",
            )
        return int(SHARE * free) if memory is None else memory

    def _block_ends(self) -> list[int]:
        """The ends of the blocks of rows; one if all rows fit."""
        n_rows = self.table.n_rows
        set_bytes = int(SETS_SHARE * self.room) // max(1, self.n_sets)
        if 4 * words_of(n_rows) <= set_bytes:
            return [n_rows]
        rows = 8 * (set_bytes // 2) // ROW_STEP * ROW_STEP  # one block computes, one is copied
        if rows == 0:
            need = 2 * self.n_sets * ROW_STEP // 8 / SETS_SHARE
            raise DeviceError(
                f"{self.n_sets:,} bit sets need {size_text(need)} of the card's memory even in "
                f"blocks of {ROW_STEP:,} rows, and {size_text(self.room)} may be taken; raise "
                "memory= or select columns."
            )
        return [*range(rows, n_rows, rows), n_rows]

    def _pack(self, begin: int, end: int) -> Any:
        """The sets of some rows, on the device."""
        codes, cards, first, last = (
            self.table.codes[:, begin:end],
            self.cards,
            self.first,
            self.last,
        )
        if self.n_digits:
            assert self.table.weights is not None
            weights = self.table.weights[begin:end].astype(np.int64)
            # A digit is a column of one state, whose code is 0; code 1 is no state.
            digits = [((weights >> b) & 1 == 0).astype(codes.dtype) for b in range(self.n_digits)]
            codes = np.concatenate([codes, np.array(digits)])
            cards = np.append(cards, np.ones(self.n_digits, dtype=np.int64))
            places = self.n_kept + len(self.cards) + np.arange(self.n_digits)
            first, last = np.append(first, places), np.append(last, places)
        return self.device.pack(codes, cards, first, last, self.n_sets)


def with_plane(of: Ints, plane: int | None) -> Ints:
    """Sets to intersect, and one more for all of them."""
    if plane is None:
        return np.ascontiguousarray(of)
    return np.column_stack([of, np.full(len(of), plane)])


def _binary_digits(table: Table) -> int | None:
    """The binary digits of the weights: 0 without weights, None where they are not whole."""
    weights = table.weights
    if weights is None:
        return 0
    if weights.dtype.kind != "i" or (weights < 0).any():
        return None
    return max(1, int(weights.max(initial=0)).bit_length())
