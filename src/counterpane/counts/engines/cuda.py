"""Bit sets on an NVIDIA card, through CuPy; the kernels are in bit_sets.cu.

Kernels are compiled on the card's machine at first use (NVRTC, part of CuPy) and kept by CuPy. The
product runs on tensor cores from compute capability 8.0 on, by popcounts below that. A product with
few outputs is split over the words, so that all of the card works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np

from counterpane.counts.engines.bit_device import (
    STAGE,
    BitDevice,
    FamilyTasks,
    ScreenSide,
    words_of,
)
from counterpane.errors import CounterpaneError, DeviceError, MissingExtraError
from counterpane.lazy import lazy
from counterpane.memory import size_text
from counterpane.typing import Array, Codes, Floats, Ints

cupy = lazy("cupy")

THREADS = 256
TENSOR_CORES = 80  # the compute capability from which they multiply bits
FEW = 32  # sets of one side up to which flat tiles are faster
TILES = {"product_square": (128, 128), "product_flat": (16, 256), "product_popcount": (64, 64)}
PAIR_ROOM = 2**22  # pairs of one tile of a screen
SLICE = 2**14  # words of one block of an intersection
MOST_BLOCKS = 2**16 - 1  # in the second direction of a grid
PACK_BYTES = 2**28  # of codes that are copied at a time


class CudaBits(BitDevice):
    """Bit sets on the card `number`."""

    def __init__(self, number: int = 0) -> None:
        self.number = number
        with _card_errors("be opened"):
            n = cupy.cuda.runtime.getDeviceCount()
            if not 0 <= number < n:
                raise DeviceError(
                    f"device={number}; this machine has {n} CUDA card{'s' * (n != 1)}, "
                    f"numbered from 0."
                )
            self._card = cupy.cuda.Device(number)
            facts = cupy.cuda.runtime.getDeviceProperties(number)
        self.name = facts["name"].decode()
        self.capability = 10 * facts["major"] + facts["minor"]
        self._processors = int(facts["multiProcessorCount"])

    @cached_property
    def _module(self) -> Any:
        source = resources.files(__package__).joinpath("bit_sets.cu").read_text("utf-8")
        with self._card, _card_errors("compile its kernels"):
            return cupy.RawModule(code=source, options=("--std=c++17",))

    def free_memory(self) -> int:
        with self._card, _card_errors("tell its memory"):
            free = int(cupy.cuda.runtime.memGetInfo()[0])
            return free + int(cupy.get_default_memory_pool().free_bytes())

    def pack(self, codes: Codes, cards: Ints, first: Ints, last: Ints, n_sets: int) -> Any:
        n_rows = codes.shape[1]
        width = words_of(n_rows)
        dtype = np.uint8 if codes.dtype.itemsize == 1 else np.uint16
        kernel = self._kernel("pack_8" if dtype is np.uint8 else "pack_16")
        with self._card, _card_errors("pack a table"):
            words = cupy.zeros((n_sets, width), dtype=np.uint32)
            step = max(1, PACK_BYTES // max(1, n_rows * np.dtype(dtype).itemsize))
            step = min(step, MOST_BLOCKS)
            for v in range(0, len(codes), step):
                part = cupy.asarray(codes[v : v + step].astype(dtype, copy=False))
                kernel(
                    (-(-width * 32 // THREADS), len(part)), (THREADS,),
                    (part, np.int64(n_rows), cupy.asarray(first[v : v + step]),
                     cupy.asarray(last[v : v + step]),
                     cupy.asarray(cards[v : v + step].astype(np.int32)), np.int64(width), words),
                )  # fmt: skip
        return words

    def to_host(self, sets: Any) -> Array:
        with _card_errors("copy sets"):
            return np.asarray(cupy.asnumpy(sets))

    def stream(self, blocks: Iterable[Array]) -> Iterator[Any]:
        with self._card, _card_errors("copy rows"):
            copying = cupy.cuda.Stream(non_blocking=True)
            pinned: list[Any] = [None, None]
            on_card: list[Any] = [None, None]
            ready = [cupy.cuda.Event(), cupy.cuda.Event()]
            turn = 0
            waiting = False
            for block in blocks:
                if pinned[turn] is None or pinned[turn].shape != block.shape:
                    pinned[turn] = _pinned(block.shape)
                    on_card[turn] = cupy.empty(block.shape, dtype=np.uint32)
                ready[turn].synchronize()
                pinned[turn][...] = block
                with copying:
                    on_card[turn].set(pinned[turn], stream=copying)
                    ready[turn].record(copying)
                if waiting:
                    cupy.cuda.get_current_stream().wait_event(ready[turn ^ 1])
                    yield on_card[turn ^ 1]
                    cupy.cuda.get_current_stream().synchronize()
                waiting, turn = True, turn ^ 1
            if waiting:
                cupy.cuda.get_current_stream().wait_event(ready[turn ^ 1])
                yield on_card[turn ^ 1]

    def select(self, sets: Any, which: Ints) -> Any:
        with self._card, _card_errors("copy sets"):
            return sets[cupy.asarray(which)]

    def intersect(self, sets: Any, of: Ints, *, keep: bool) -> tuple[Any, Ints]:
        cells, depth = of.shape
        width = sets.shape[1]
        with self._card, _card_errors("intersect sets"):
            sizes = cupy.zeros(cells, dtype=np.uint64)
            masks = cupy.empty((cells, width), dtype=np.uint32) if keep else None
            pointer = 0 if masks is None else masks.data.ptr
            grid = (cells, -(-width // SLICE))
            self._kernel("intersect")(
                grid, (THREADS,),
                (sets, np.int64(width), cupy.asarray(of), np.int32(depth), np.int64(SLICE),
                 np.uint64(pointer), sizes),
            )  # fmt: skip
            return masks, np.asarray(cupy.asnumpy(sizes)).astype(np.int64)

    def product(self, a: Any, b: Any) -> Any:
        same = a is b
        if len(a) > FEW >= len(b):  # few sets are rows
            return self.product(b, a).T
        m, n, width = len(a), len(b), a.shape[1]
        name = "product_flat" if m <= FEW else "product_square"
        if self.capability < TENSOR_CORES:
            name = "product_popcount"
        rows, columns = TILES[name]
        grid = [-(-n // columns), -(-m // rows)]
        slices = max(1, min(4 * self._processors // (grid[0] * grid[1]), width // (16 * STAGE)))
        part = -(-width // (slices * STAGE)) * STAGE
        with self._card, _card_errors("multiply sets"):
            slices = -(-width // part)
            out = (cupy.empty if slices == 1 and not same else cupy.zeros)((m, n), dtype=np.int32)
            self._kernel(name)(
                (*grid, slices), (THREADS,),
                (a, b, np.int64(m), np.int64(n), np.int64(width), np.int64(part), np.int32(same),
                 out),
            )  # fmt: skip
            if same:
                side = -(-n // 32)
                self._kernel("mirror")((side, side), (1024,), (np.int64(n), out))
        return out

    def add_product(self, out: Array, a: Any, b: Any, factor: int) -> None:
        counted = self.product(a, b)
        with self._card, _card_errors("copy counts"):
            host = cupy.asnumpy(counted)
        if factor == 1:
            out += host
        else:
            out += factor * host.astype(np.int64)

    def strong_pairs(
        self, left: ScreenSide, right: ScreenSide, total: int, limit: Floats, least: Floats
    ) -> Array:
        n = len(left.starts) - 1, len(right.starts) - 1
        with self._card, _card_errors("screen pairs"):
            joint = self._joint(left.sets, right.sets)
            arrays = [cupy.asarray(x.astype(np.int32)) for x in
                      (left.starts, right.starts, left.sizes, right.sizes)]  # fmt: skip
            limits, ratios = cupy.asarray(limit), cupy.asarray(least)

            def run(room: int, pairs: Any, count: Any) -> None:
                self._kernel("strong_pairs")(
                    (-(-n[1] // 32), -(-n[0] // 8)), (THREADS,),
                    (joint, np.int64(joint.shape[1]), np.int32(n[0]), np.int32(n[1]),
                     np.int64(left.at), np.int64(right.at), *arrays, np.float64(total), limits,
                     ratios, np.int32(len(limit)), np.int32(room), pairs, count),
                )  # fmt: skip

            return _listed(run)

    def strong_parents(self, tasks: FamilyTasks, right: ScreenSide) -> Array:
        n = len(tasks.states), len(right.starts) - 1
        with self._card, _card_errors("screen families"):
            joint = self._joint(tasks.masks, right.sets)
            first, sizes = cupy.asarray(tasks.first), cupy.asarray(tasks.sizes)
            states = cupy.asarray(tasks.states.astype(np.int32))
            starts = cupy.asarray(right.starts.astype(np.int32))
            least = cupy.asarray(np.ascontiguousarray(tasks.least))

            def run(room: int, pairs: Any, count: Any) -> None:
                self._kernel("strong_parents")(
                    (-(-n[1] // 32), -(-n[0] // 8)), (THREADS,),
                    (joint, np.int64(joint.shape[1]), np.int32(n[0]), np.int32(n[1]),
                     np.int64(right.at), first, states, sizes, starts, least,
                     np.int32(tasks.least.shape[1]), np.int32(room), pairs, count),
                )  # fmt: skip

            return _listed(run)

    def _joint(self, a: Any, b: Any) -> Any:
        """The product with its rows in order of `a`, also where it has fewer sets than `b`."""
        return cupy.ascontiguousarray(self.product(a, b))

    def _kernel(self, name: str) -> Callable[..., None]:
        kernel: Callable[..., None] = self._module.get_function(name)
        return kernel


class _card_errors:
    """What CuPy and the driver raise becomes a `DeviceError` in one sentence."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None or isinstance(error, CounterpaneError):
            return
        if isinstance(error, ImportError):
            raise MissingExtraError(
                "counting on a card needs CuPy, which is not installed; "
                "run pip install 'counterpane[gpu]'."
            ) from error
        if type(error).__module__.startswith(("cupy", "cupy_backends")):
            words = " ".join(str(error).split())[:200]
            advice = (
                "lower memory=, or count on the host"
                if "emory" in words
                else "check the driver with nvidia-smi"
            )
            raise DeviceError(f"the card could not {self.what}: {words}; {advice}.") from error


def _listed(run: Callable[[int, Any, Any], None]) -> Array:
    """The pairs that a kernel lists; run again where they are more than there was room for."""
    room = PAIR_ROOM
    while True:
        pairs = cupy.empty((room, 2), dtype=np.int32)
        count = cupy.zeros(1, dtype=np.int32)
        run(room, pairs, count)
        n = int(count[0])
        if n <= room:
            return np.asarray(cupy.asnumpy(pairs[:n]))
        room = n


def _pinned(shape: tuple[int, ...]) -> Array:
    size = int(np.prod(shape))
    memory = cupy.cuda.alloc_pinned_memory(4 * size)
    return np.frombuffer(memory, np.uint32, size).reshape(shape)


def card_text(card: CudaBits) -> str:
    """A card in words."""
    free = size_text(card.free_memory())
    return f"{card.name}, compute capability {card.capability / 10}, {free} free"
