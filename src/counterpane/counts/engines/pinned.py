"""Copies between the memory of the host and a card, through page-locked buffers and by threads.

A card copies from page-locked memory several times as fast as from other memory, while the host
goes on. So each thread has two such buffers and a stream: it fills one while the other is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from counterpane.lazy import lazy
from counterpane.parallel import map_in_threads
from counterpane.typing import Array

cupy = lazy("cupy")

BUFFER_BYTES = 2**21  # of one buffer, unless one piece is larger
MOST_PINNED = 2**28  # bytes of all buffers together
MOST_THREADS = 6  # more do not copy faster


def send(
    pieces: Sequence[Array], dtype: Any, use: Callable[[int, Any], None], card: Any, n_threads: int
) -> None:
    """Copy each piece to the card as `dtype`, and use(k, piece k there) in its thread's stream."""
    item = np.dtype(dtype).itemsize
    most = max(BUFFER_BYTES, max((item * piece.size for piece in pieces), default=0))
    workers = max(1, min(n_threads, MOST_THREADS, len(pieces), MOST_PINNED // (2 * most)))

    def work(worker: int) -> None:
        with card, cupy.cuda.Stream(non_blocking=True) as stream:
            buffers = [_Buffer(most), _Buffer(most)]
            for turn, k in enumerate(range(worker, len(pieces), workers)):
                use(k, buffers[turn % 2].send(pieces[k], dtype, stream))
            stream.synchronize()

    with card:
        cupy.cuda.get_current_stream().synchronize()  # what the pieces are written into is there
    list(map_in_threads(work, range(workers), workers))


def fetch(array: Any, card: Any, n_threads: int) -> Array:
    """A contiguous array of the card as one of the host."""
    out = np.empty(array.shape, dtype=array.dtype)
    flat, source = out.reshape(-1), array.reshape(-1)
    step = BUFFER_BYTES // flat.itemsize
    starts = range(0, len(flat), step)
    workers = max(1, min(n_threads, MOST_THREADS, len(starts)))
    if workers == 1:
        with card:
            source.get(out=flat)
        return out

    def work(worker: int) -> None:
        with card, cupy.cuda.Stream(non_blocking=True) as stream:
            buffer = _Buffer(BUFFER_BYTES)
            for k in range(worker, len(starts), workers):
                part = source[starts[k] : starts[k] + step]
                room = buffer.host[: part.nbytes].view(flat.dtype)
                part.get(out=room, stream=stream, blocking=True)
                flat[starts[k] : starts[k] + step] = room

    with card:
        cupy.cuda.get_current_stream().synchronize()
    list(map_in_threads(work, range(workers), workers))
    return out


class _Buffer:
    """Page-locked bytes of the host, and as many on the card."""

    def __init__(self, size: int) -> None:
        memory = cupy.cuda.alloc_pinned_memory(size)
        self.host: Array = np.frombuffer(memory, np.uint8, size)
        self.size = size
        self._on_card: Any = None
        self.used = cupy.cuda.Event()

    def send(self, piece: Array, dtype: Any, stream: Any) -> Any:
        """`piece` on the card, valid until the next one is sent."""
        if self._on_card is None:
            self._on_card = cupy.empty(self.size, dtype=np.uint8)
        else:
            self.used.synchronize()
        n_bytes = piece.size * np.dtype(dtype).itemsize
        room = self.host[:n_bytes].view(dtype).reshape(piece.shape)
        np.copyto(room, piece, casting="unsafe")
        there = self._on_card[:n_bytes].view(dtype).reshape(piece.shape)
        there.set(room, stream=stream)
        self.used.record(stream)
        return there
