"""Copies from a card through page-locked memory, which it writes several times as fast."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from counterpane.lazy import lazy
from counterpane.parallel import map_in_threads
from counterpane.typing import Array

cupy = lazy("cupy")

BUFFER_BYTES = 2**23  # of one thread
MOST_THREADS = 8  # more do not copy faster
SMALL_BYTES = 2**24  # up to so many, the array of the host is page-locked itself


class PinnedBuffers:
    """Page-locked buffers, kept: to make one takes longer than to copy through it."""

    def __init__(self, card: Any) -> None:
        self.card = card
        self._buffers: list[Array] = []

    def fetch(self, array: Any, n_threads: int) -> Array:
        """A contiguous array of the card as one of the host."""
        if array.nbytes <= SMALL_BYTES:
            return self._fetch_small(array)
        out = np.empty(array.shape, dtype=array.dtype)
        flat, source = out.reshape(-1), array.reshape(-1)
        step = BUFFER_BYTES // flat.itemsize
        starts = range(0, len(flat), step)
        workers = max(1, min(n_threads, MOST_THREADS, len(starts)))
        while len(self._buffers) < workers:
            self._buffers.append(page_locked((BUFFER_BYTES,), np.uint8))

        def work(worker: int) -> None:
            with self.card, cupy.cuda.Stream(non_blocking=True) as stream:
                for k in range(worker, len(starts), workers):
                    part = source[starts[k] : starts[k] + step]
                    room = self._buffers[worker][: part.nbytes].view(flat.dtype)
                    part.get(out=room, stream=stream, blocking=True)
                    flat[starts[k] : starts[k] + step] = room

        with self.card:
            cupy.cuda.get_current_stream().synchronize()
        list(map_in_threads(work, range(workers), workers))
        return out

    def _fetch_small(self, array: Any) -> Array:
        """The same without a second copy: CuPy keeps the memory of arrays that are gone."""
        with self.card:
            out = page_locked(array.shape, array.dtype)
            array.get(out=out)
        return out


def page_locked(shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """Return an array in page-locked memory."""
    size, kind = math.prod(shape), np.dtype(dtype)
    memory = cupy.cuda.alloc_pinned_memory(max(1, size * kind.itemsize))
    return np.frombuffer(memory, kind, size).reshape(shape)
