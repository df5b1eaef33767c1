"""Bit sets on an NVIDIA card, through CuPy; the kernels are in bit_sets.cu.

Kernels are compiled on the card's machine at first use (NVRTC, part of CuPy) and kept by CuPy. The
product runs on tensor cores from compute capability 8.0 on, by popcounts below that. A product with
few outputs is split over the words, so that all of the card works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np

from counterpane._core import counts as kernels
from counterpane._core.scores import fill_clogc
from counterpane.counts.gpu.pinned import PinnedBuffers, page_locked
from counterpane.counts.gpu.sets import (
    BINARY_ROWS,
    STAGE,
    Families,
    FamilyTasks,
    PairSide,
    ScreenSide,
    words_of,
)
from counterpane.errors import DeviceError, MissingExtraError, Setting, library_errors
from counterpane.lazy import lazy
from counterpane.memory import size_text
from counterpane.parallel import map_in_threads
from counterpane.typing import Array, Codes, Floats, Ints

cupy = lazy("cupy")

SOURCES = "bit_sets.cu", "bit_screens.cu"
THREADS = 256
COLUMN_THREADS = 32  # of a block that scores families: few, so that more blocks share the work
TENSOR_CORES = 80  # the compute capability from which they multiply bits
LONG_STAGE = 64  # words of one step of flat tiles
FEW = 32  # sets of one side up to which flat tiles are faster
TILES = {"product_square": (128, 128), "product_flat": (16, 64), "product_popcount": (64, 64)}
PAIR_ROOM = 2**22  # pairs of one tile of a screen
SLICE = 2**14  # words of one block of an intersection
MOST_BLOCKS = 2**16 - 1  # in the second direction of a grid
PACK_BYTES = 2**25  # of codes that are copied at a time
PACKING_THREADS = 4  # from which the host packs
PACKED_STATES = 4  # up to so many a column on average
SCREEN_TILE = 128  # sets of one side of a tile of a screen
SCREEN_CHUNK = 2**13  # columns that a block of a screen goes through, at most
SCREEN_SLACK = 0.01  # of χ² in single precision


class CudaBits:
    """Bit sets in the memory of the GPU `number`: sets and masks stay there, counts come back."""

    threads = 1  # of the CPU, for copies

    def __init__(self, number: int = 0) -> None:
        self.number = number
        with _gpu_errors("be opened"):
            n = cupy.cuda.runtime.getDeviceCount()
            if not 0 <= number < n:
                raise DeviceError(
                    Setting("device", number),
                    f"; this machine has {n} CUDA card{'s' * (n != 1)}, numbered from 0.",
                )
            self._card = cupy.cuda.Device(number)
            facts = cupy.cuda.runtime.getDeviceProperties(number)
        self.name = facts["name"].decode()
        self.capability = 10 * facts["major"] + facts["minor"]
        self._processors = int(facts["multiProcessorCount"])
        self._logs: Any = None
        self._pinned = PinnedBuffers(self._card)

    @cached_property
    def _counting(self) -> Any:
        return self._compiled(SOURCES[:1])

    @cached_property
    def _screening(self) -> Any:
        return self._compiled(SOURCES)

    def _compiled(self, files: Sequence[str]) -> Any:
        here = resources.files(__package__)
        source = "".join(here.joinpath(name).read_text("utf-8") for name in files)
        with self._card, _gpu_errors("compile its kernels"):
            return cupy.RawModule(code=source, options=("--std=c++17",))

    def free_memory(self) -> int:
        """The bytes that can still be taken."""
        with self._card, _gpu_errors("tell its memory"):
            free = int(cupy.cuda.runtime.memGetInfo()[0])
            return free + int(cupy.get_default_memory_pool().free_bytes())

    def pack(self, codes: Codes, cards: Ints, first: Ints, last: Ints, n_sets: int) -> Any:
        """Sets of a block of rows, (n_sets, width).

        State s of column v is the set first[v] + s, its last one the set last[v]. Codes that are no
        state are in no set.
        """
        few = cards.mean() <= PACKED_STATES and bool((cards > 1).all())
        if self.threads >= PACKING_THREADS and few:
            return self._pack_on_host(codes, cards, first, last, n_sets)
        n_rows = codes.shape[1]
        width = words_of(n_rows)
        dtype = np.uint8 if codes.dtype.itemsize == 1 else np.uint16
        kernel = self._kernel("pack_8" if dtype is np.uint8 else "pack_16")
        step = max(1, PACK_BYTES // max(1, n_rows * np.dtype(dtype).itemsize))
        step = min(step, MOST_BLOCKS)
        with self._card, _gpu_errors("pack a table"):
            words = cupy.zeros((n_sets, width), dtype=np.uint32)
            places = [cupy.asarray(x) for x in (first, last, cards.astype(np.int32))]
            for v in range(0, len(codes), step):
                some = np.ascontiguousarray(codes[v : v + step].astype(dtype, copy=False))
                kernel(
                    (-(-width * 32 // THREADS), len(some)), (THREADS,),
                    (cupy.asarray(some), np.int64(n_rows), *(x[v : v + step] for x in places),
                     np.int64(width), words),
                )  # fmt: skip
        return words

    def _pack_on_host(self, codes: Codes, cards: Ints, first: Ints, last: Ints, n_sets: int) -> Any:
        """The same by threads of the host, which copies an eighth of the bytes or less.

        Every column has two states or more, and every code is one of them: the set of the last
        state is what the others leave, and the card makes it.
        """
        n_rows, width = codes.shape[1], words_of(codes.shape[1])
        n_kept = int((cards - 1).sum())
        packed = np.zeros((n_kept, width), dtype=np.uint32)
        sizes: Ints = np.empty(n_kept, dtype=np.int64)
        codes = np.ascontiguousarray(codes)

        def pack(columns: Ints) -> None:
            words = packed.view(np.uint64)
            kernels.pack_states(codes, columns, cards - 1, first, words, sizes)

        parts = np.array_split(np.arange(len(cards)), 4 * self.threads)
        list(map_in_threads(pack, parts, self.threads))
        with self._card, _gpu_errors("pack a table"):
            words = cupy.zeros((n_sets, width), dtype=np.uint32)
            words[:n_kept].set(packed)
            places = [cupy.asarray(x) for x in (first, last, cards.astype(np.int32))]
            for v in range(0, len(cards), MOST_BLOCKS):
                some = slice(v, v + MOST_BLOCKS)
                self._kernel("last_states")(
                    (-(-width // THREADS), min(MOST_BLOCKS, len(cards) - v)), (THREADS,),
                    (np.int64(n_rows), *(x[some] for x in places), np.int64(width), words),
                )  # fmt: skip
        return words

    def to_host(self, sets: Any) -> Array:
        """Sets as an array of the host."""
        with _gpu_errors("copy sets"):
            return np.asarray(cupy.asnumpy(sets))

    def stream(self, blocks: Iterable[Array]) -> Iterator[Any]:
        """Blocks of the host on the device, one after the other; a block is valid until the next.

        The next block is copied while the caller computes.
        """
        with self._card, _gpu_errors("copy rows"):
            copying = cupy.cuda.Stream(non_blocking=True)
            pinned: list[Any] = [None, None]
            on_card: list[Any] = [None, None]
            ready = [cupy.cuda.Event(), cupy.cuda.Event()]
            turn = 0
            waiting = False
            for block in blocks:
                if pinned[turn] is None or pinned[turn].shape != block.shape:
                    pinned[turn] = page_locked(block.shape, np.uint32)
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
        """Some of the sets, copied."""
        with self._card, _gpu_errors("copy sets"):
            return sets[cupy.asarray(which)]

    def intersect(self, sets: Any, of: Ints, *, keep: bool) -> tuple[Any, Ints]:
        """The intersection of the sets of[k] for each k, None unless `keep`, and their sizes."""
        cells, depth = of.shape
        width = sets.shape[1]
        with self._card, _gpu_errors("intersect sets"):
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
        """|a_i ∩ b_j| as integers, (len(a), len(b)), on the device; `a is b` costs half."""
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
        stage = LONG_STAGE if name == "product_flat" else STAGE
        part = -(-width // (slices * stage)) * stage
        with self._card, _gpu_errors("multiply sets"):
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

    def spread_pairs(self, joint: Any, left: PairSide, right: PairSide) -> Array:
        """All states by all states, on the host, from a product of all states but the last."""
        shape = len(left.ones), len(right.ones)
        with self._card, _gpu_errors("copy counts"):
            out, joint = cupy.empty(shape, dtype=np.int64), cupy.ascontiguousarray(joint)
            n = len(left.kept) - 1, len(right.kept) - 1
            places = [cupy.asarray(x) for side in (left, right) for x in side]
            self._kernel("spread_pairs")(
                (-(-n[1] // 32), -(-n[0] // 8)), (THREADS,),
                (joint, np.int64(joint.shape[1]), np.int32(n[0]), np.int32(n[1]), *places,
                 np.int64(shape[1]), out),
            )  # fmt: skip
            return self._pinned.fetch(out, self.threads)

    def add_product(self, out: Array, a: Any, b: Any, factor: int) -> None:
        """Add factor · |a_i ∩ b_j| to `out` on the host."""
        counted = self.product(a, b)
        with self._card, _gpu_errors("copy counts"):
            host = cupy.asnumpy(counted)
        if factor == 1:
            out += host
        else:
            out += factor * host.astype(np.int64)

    def keep(self, values: Ints) -> Any:
        """Numbers in the memory of the device, to be used many times."""
        with self._card, _gpu_errors("copy numbers"):
            return cupy.asarray(values)

    def likelihoods(
        self, sets: Any, n_kept: int, families: Families, columns: tuple[Any, Any], total: int
    ) -> tuple[Floats, Ints]:
        """Σ N_jk ln(N_jk / N_j) of each family with each column as one more parent; cell sizes.

        `columns` has, kept, the set of each column's state 0, and its states; all sets but those of
        last states are the first `n_kept`. Terms are added in the order of the host's kernels, so
        that sums are equal to the last bit. A member as one more parent may have any number.
        """
        n, n_columns = len(families.cells_from) - 1, len(columns[0])
        cells = int(families.cells_from[-1])
        width = sets.shape[1]
        members = np.column_stack([families.first, families.last, families.states])
        numbers = [families.cells_from, families.members_from, members.ravel()]
        with self._card, _gpu_errors("score families"):
            plan = cupy.asarray(np.concatenate(numbers))
            masks = cupy.empty((cells, width), dtype=np.uint32)
            out = cupy.zeros(cells + n * n_columns, dtype=np.int64)  # sizes, then sums
            self._kernel("cells_of_families")(
                (cells, -(-width // SLICE)), (THREADS,),
                (sets, np.int64(width), plan, np.int32(n), np.int64(SLICE), masks, out),
            )  # fmt: skip
            joint = self._joint(masks, sets[:n_kept])
            self._kernel("likelihoods_of_families")(
                (-(-n_columns // COLUMN_THREADS), n), (COLUMN_THREADS,),
                (joint, np.int64(joint.shape[1]), out, plan, np.int32(n), *columns,
                 np.int32(n_columns), self._terms(total), out[cells:]),
            )  # fmt: skip
            host = cupy.asnumpy(out)
        return host[cells:].view(np.float64).reshape(n, n_columns), host[:cells]

    @property
    def binary_rows(self) -> int:
        """The rows up to which `strong_binary_parents` works."""
        return BINARY_ROWS if self.capability >= TENSOR_CORES else 0

    def strong_pairs(
        self, left: ScreenSide, right: ScreenSide, total: int, limit: Floats, least: Floats
    ) -> Array:
        """The pairs (i, j), i < j, whose log-likelihood ratio N · MI is above least[d].

        d are the degrees of freedom. Pairs of a χ² up to limit[d] cannot have so much.
        """
        if total <= self.binary_rows and left.is_binary and right.is_binary and limit[1] > 0:
            return self._strong_binary_pairs(left, right, total, float(limit[1]), float(least[1]))
        n = len(left.starts) - 1, len(right.starts) - 1
        with self._card, _gpu_errors("screen pairs"):
            joint = self._joint(left.sets, right.sets)
            arrays = [cupy.asarray(x.astype(np.int32)) for x in
                      (left.starts, right.starts, left.sizes, right.sizes)]  # fmt: skip
            limits, ratios = cupy.asarray(limit), cupy.asarray(least)

            return _listed(
                self._kernel("strong_pairs"), (-(-n[1] // 32), -(-n[0] // 8)),
                joint, np.int64(joint.shape[1]), np.int32(n[0]), np.int32(n[1]), np.int64(left.at),
                np.int64(right.at), *arrays, np.float64(total), limits, ratios,
                np.int32(len(limit)),
            )  # fmt: skip

    def strong_parents(self, tasks: FamilyTasks, right: ScreenSide) -> Array:
        """The (task, column) whose ratio within the task's configurations is above the least."""
        n = len(tasks.states), len(right.starts) - 1
        with self._card, _gpu_errors("screen families"):
            joint = self._joint(tasks.masks, right.sets)
            first, sizes = cupy.asarray(tasks.first), cupy.asarray(tasks.sizes)
            states = cupy.asarray(tasks.states.astype(np.int32))
            starts = cupy.asarray(right.starts.astype(np.int32))
            least = cupy.asarray(np.ascontiguousarray(tasks.least))
            return _listed(
                self._kernel("strong_parents"), (-(-n[1] // 32), -(-n[0] // 8)),
                joint, np.int64(joint.shape[1]), np.int32(n[0]), np.int32(n[1]), np.int64(right.at),
                first, states, sizes, starts, least, np.int32(tasks.least.shape[1]),
            )  # fmt: skip

    def _strong_binary_pairs(
        self, left: ScreenSide, right: ScreenSide, total: int, limit: float, least: float
    ) -> Array:
        deviation = np.sqrt(limit * (1 - SCREEN_SLACK) / total)
        with np.errstate(divide="ignore"):
            scales = [np.sqrt(total / (s.sizes * (total - s.sizes))) for s in (left, right)]
        of_left = [left.sizes / total, np.where(np.isinf(scales[0]), 0.0, scales[0])]
        of_right = [right.sizes, np.where(np.isinf(scales[1]), np.inf, deviation / scales[1])]
        m, n = len(left.sizes), len(right.sizes)
        grid, chunk = self._screen_grid(m, n)
        with self._card, _gpu_errors("screen pairs"):
            sides = [_tiled(of_left, [0.0, 0.0]), _tiled(of_right, [0.0, np.inf])]
            ones = [cupy.asarray(s.sizes.astype(np.int32)) for s in (left, right)]
            terms = self._terms(total)
            return _listed(
                self._kernel("strong_binary_pairs"), grid,
                left.sets, right.sets, np.int32(m), np.int32(n), np.int32(left.sets.shape[1]),
                np.int64(left.at), np.int64(right.at), np.int32(chunk), *sides, *ones,
                np.int32(total), np.float64(least), terms,
            )[:, ::-1]  # fmt: skip

    def strong_binary_parents(
        self, words: Any, sets: Ints, least: Floats, total: int, right: Sequence[ScreenSide]
    ) -> Array:
        """The same where all columns are binary.

        sets[k] has the set of state 0 of the child of task k, and both sets of each parent.
        """
        n_tasks, width = len(sets), int(words.shape[1])
        configurations = 4 if sets.shape[1] == 5 else 2
        five = sets if configurations == 4 else np.pad(sets, ((0, 0), (0, 2)))
        m = -(-n_tasks * configurations // 32) * 64
        found = []
        with self._card, _gpu_errors("screen families"):
            masks = cupy.zeros((m, width), dtype=np.uint32)
            sizes = cupy.zeros(m, dtype=np.int32)
            self._kernel("family_masks")(
                (-(-n_tasks * configurations * 32 // THREADS),), (THREADS,),
                (words, np.int64(width), cupy.asarray(np.ascontiguousarray(five)),
                 np.int32(n_tasks), np.int32(configurations), masks, sizes),
            )  # fmt: skip
            bars, terms = cupy.asarray(least), self._terms(total)
            for side in right:
                n = len(side.sizes)
                grid, chunk = self._screen_grid(m, n)
                listed = _listed(
                    self._kernel(f"strong_parents_{configurations}"), grid,
                    masks, side.sets, np.int32(m), np.int32(n), np.int32(width), np.int64(side.at),
                    np.int32(chunk), sizes, np.int32(n_tasks), bars, terms,
                )  # fmt: skip
                found.append(listed[:, ::-1])
        return np.concatenate(found)

    def _screen_grid(self, m: int, n: int) -> tuple[tuple[int, int], int]:
        """Blocks of a screen, enough for all of the card, and the columns of each."""
        rows, columns = -(-m // SCREEN_TILE), -(-n // SCREEN_TILE)
        tiles = max(1, min(SCREEN_CHUNK // SCREEN_TILE, rows * columns // (16 * self._processors)))
        return (-(-columns // tiles), rows), tiles * SCREEN_TILE

    def _terms(self, total: int) -> Any:
        """c ln c of 0 … total, on the card."""
        if self._logs is None or len(self._logs) != total + 1:
            logs = np.empty(total + 1)
            fill_clogc(logs)
            self._logs = cupy.asarray(logs)
        return self._logs

    def _joint(self, a: Any, b: Any) -> Any:
        """The product with its rows in order of `a`, also where it has fewer sets than `b`."""
        return cupy.ascontiguousarray(self.product(a, b))

    def _kernel(self, name: str) -> Callable[..., None]:
        screens = name.startswith(("strong", "family"))
        module = self._screening if screens else self._counting
        kernel: Callable[..., None] = module.get_function(name)
        return kernel


@contextmanager
def _gpu_errors(what: str) -> Iterator[None]:
    """Make a `DeviceError` in one sentence of what CuPy and the driver raise."""

    def refused(words: str) -> DeviceError:
        where = "lower memory=, or count on the host", "check the driver with nvidia-smi"
        return DeviceError(f"the card could not {what}: {words}; {where['emory' not in words]}.")

    def absent(words: str) -> MissingExtraError:
        return MissingExtraError(
            "counting on a card needs CuPy, which is not installed; "
            "run pip install 'counterpane[gpu]'."
        )

    with (
        library_errors(absent, (ImportError,)),
        library_errors(refused, only=lambda error: type(error).__module__.startswith("cupy")),
    ):
        yield


def _listed(kernel: Callable[..., None], grid: tuple[int, int], *arguments: Any) -> Array:
    """The pairs that a kernel lists; it runs again if they are more than there was room for."""
    room, n = 0, PAIR_ROOM
    while n > room:
        room = n
        pairs, count = cupy.empty((room, 2), dtype=np.int32), cupy.zeros(1, dtype=np.int32)
        kernel(grid, (THREADS,), (*arguments, np.int32(room), pairs, count))
        n = int(count[0])
    return np.asarray(cupy.asnumpy(pairs[:n]))


def _tiled(values: list[Array], filling: list[float]) -> Any:
    """Numbers of each column side by side, on the card, filled up to whole tiles."""
    n = len(values[0])
    out = np.empty((-(-n // SCREEN_TILE) * SCREEN_TILE, len(values)), dtype=np.float32)
    out[:n] = np.column_stack(values)
    out[n:] = filling
    return cupy.asarray(out)


def card_text(card: CudaBits) -> str:
    """A card in words."""
    free = size_text(card.free_memory())
    return f"{card.name}, compute capability {card.capability / 10}, {free} free"
