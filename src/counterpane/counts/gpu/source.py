"""Counts by a graphics card: the bit sets of the table live in its memory.

Counts of whole numbers are those of the host to the last bit. What a card does badly stays on the
host: distinct rows, tables of very many cells, columns of very many states, real weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from counterpane._core import counts as kernels
from counterpane.counts.candidates import CandidateCounter, StateCounts, StateLikelihoods
from counterpane.counts.gpu.cuda import CudaBits
from counterpane.counts.gpu.device_table import SETS_SHARE, DeviceTable, with_plane
from counterpane.counts.gpu.sets import (
    Families,
    FamilyTasks,
    PairSide,
    ScreenSide,
    words_of,
)
from counterpane.counts.layout import (
    MAX_CELLS,
    CountBatch,
    CountLayout,
    PairCounts,
    Scope,
)
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import (
    Policy,
    checked_layout,
    checked_pairs,
    finish_counts,
    observed_pairs,
)
from counterpane.data.table import Table
from counterpane.errors import ParameterError, Setting
from counterpane.progress import Control
from counterpane.ragged import offsets_of
from counterpane.typing import Array, Bools, Floats, Ints

SCREENED_STATES = 64  # of a column in a screen
SCREENED_COLUMNS = 2**14  # of one side of a tile whose counts are in memory
BINARY_COLUMNS = 2**17  # of one side of a tile of binary columns
TABLES = 2**17  # counted together
MOST_CELLS = 2**14  # of a table that the card counts, one intersection a cell
MOST_SCOPES = 2**15  # counted together with all states
SUMMED_ROWS = 2**24  # up to so many there is a table of c ln c on the card


class GpuCounts(CandidateCounter):
    """Counts of a table by an NVIDIA card (extra `gpu`).

    The columns become bit sets in the memory of the card, once, and all tables are intersections
    and products of them. Structure searches, Chow–Liu trees and tests of independence take it in
    place of a table and give the same result. It pays from some hundred thousand rows or some
    thousand columns on; smaller tables are faster without it.

    Parameters
    ----------
    table : Table
        The rows.
    device : int
        The number of the card.
    memory : int, optional
        The bytes of the card's memory that may be taken; by default four fifths of what is free.
        Where the bit sets need more than half of it, rows are streamed through it in blocks.
    n_jobs : int
        The number of threads of what stays on the host.

    Attributes
    ----------
    card : str
        The name of the card.
    resident : bool
        Whether all bit sets stay on the card; otherwise each batch of counts copies them again.

    Examples
    --------
    >>> import counterpane as cp
    >>> source = cp.GpuCounts(cp.load_dataset("titanic"))                   # doctest: +SKIP
    >>> source.counts([["sex", "survived"]])[0].tolist()                    # doctest: +SKIP
    [[1364, 367], [126, 344]]
    """

    def __init__(
        self,
        table: Table,
        *,
        device: int | CudaBits = 0,
        memory: int | None = None,
        n_jobs: int = 1,
    ) -> None:
        if not isinstance(device, int | CudaBits):
            raise ParameterError(Setting("device", device), "; the number of a card is needed.")
        device = CudaBits(device) if isinstance(device, int) else device
        device.threads = n_jobs
        self._show(DeviceTable(table, device, memory), range(table.n_columns), n_jobs)

    def _show(self, kept: DeviceTable, order: Sequence[int], n_jobs: int) -> None:
        """Show the columns `order` of a table on the card."""
        self._kept, self._order = kept, list(order)
        self.n_jobs = n_jobs
        self._first, self._last = kept.first[self._order], kept.last[self._order]
        self._on_card = kept.on_device[self._order]
        table = kept.table
        in_order = self._order == list(range(table.n_columns))
        self.schema = table.schema if in_order else table.schema.select(self._order)
        self.has_missing = table.has_missing[self._order]
        self.n_rows, self.total_weight = table.n_rows, table.total_weight
        self._cards: Ints = self.schema.cards + self.has_missing
        self._sides: dict[int, ScreenSide] = {}
        self.card, self.resident = kept.device.name, kept.resident

    @cached_property
    def table(self) -> Table:  # type: ignore[override]
        """The rows, on the host; a copy in another order is made only when it is needed."""
        table = self._kept.table
        in_order = self._order == list(range(table.n_columns))
        return table if in_order else table.select(self._order)

    @cached_property
    def _host(self) -> MemoryCounts:
        return MemoryCounts(self.table, n_jobs=self.n_jobs)

    def reorder_columns(self, order: Sequence[int]) -> GpuCounts:
        """Return the same counts with column `order[i]` at place i; bit sets are shared."""
        view: GpuCounts = object.__new__(GpuCounts)
        view._show(self._kept, [self._order[v] for v in order], self.n_jobs)
        return view

    def count_table(self, table: Table) -> GpuCounts:
        """Return counts of another table on the same GPU."""
        return GpuCounts(
            table, device=self._kept.device, memory=self._kept.room, n_jobs=self.n_jobs
        )

    def prepare(self) -> None:
        """Copy the table to the card."""
        self._kept.prepare()

    # ---- counts ----------------------------------------------------------------------------

    def map_reduce(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        return self._host.map_reduce(fn, columns, ctl=ctl)

    def distinct(
        self, columns: Scope, *, limit: int | None = None, ctl: Control | None = None
    ) -> Table:
        return self._host.distinct(columns, limit=limit, ctl=ctl)

    def counts(
        self, subsets: Iterable[Scope], *, missing: Policy = "drop", max_cells: int = MAX_CELLS,
        ctl: Control | None = None,
    ) -> CountBatch:  # fmt: skip
        layout = checked_layout(self, subsets, missing, max_cells)
        dense = layout.dense
        weights = self._kept.table.weights
        out = np.zeros(layout.n_cells, np.int64 if weights is None else weights.dtype)
        here = self._counted_here(layout, dense)
        if not here.all():
            out += self._host.count_tables(layout, dense[~here], ctl)
        some = dense[here]
        step = TABLES if self.resident else max(1, len(some))  # else all in one pass over the rows
        for begin in range(0, len(some), step):
            self._count_cells(layout, some[begin : begin + step], out, ctl)
        return finish_counts(self, layout, out, missing, scans=1, ctl=ctl)

    def _counted_here(self, layout: CountLayout, queries: Ints) -> Bools:
        """Which tables the card counts: of few cells, and of columns that have bit sets."""
        cells, depth = np.diff(layout.out_from)[queries], np.diff(layout.scope_from)[queries]
        absent = np.concatenate([[0], np.cumsum(~self._on_card[layout.scopes])])
        complete = absent[layout.scope_from[1:]] == absent[layout.scope_from[:-1]]
        fits: Bools = (cells <= MOST_CELLS) & (depth > 0) & complete[queries] & self._kept.whole
        return fits

    def _count_cells(
        self, layout: CountLayout, queries: Ints, out: Array, ctl: Control | None
    ) -> None:
        """Add the counts of `queries` to their places in `out`."""
        sizes, depths = np.diff(layout.out_from)[queries], np.diff(layout.scope_from)[queries]
        places = np.repeat(layout.out_from[queries] - offsets_of(sizes)[:-1], sizes)
        places += np.arange(len(places))
        flat = np.repeat(layout.scope_from[queries] - offsets_of(depths)[:-1], depths)
        scopes = layout.scopes[flat + np.arange(len(flat))]
        of = self._cell_sets(scopes, depths, layout.cards)
        for words in self._kept.blocks(ctl):
            for plane in self._kept.planes():
                sets = with_plane(of, plane.set)
                out[places] += plane.factor * self._device.intersect(words, sets, keep=False)[1]

    def _cell_sets(self, scopes: Ints, depths: Ints, cards: Ints) -> Ints:
        """The sets whose intersection is each cell of the tables of `scopes`, all end to end.

        Shorter scopes repeat their first set.
        """
        deepest = int(depths.max())
        columns = np.repeat(scopes[offsets_of(depths)[:-1], None], deepest, axis=1)
        inside = np.arange(deepest) < depths[:, None]
        columns[inside] = scopes
        states = np.where(inside, cards[columns], 1)
        sizes = states.prod(axis=1)
        table = np.repeat(np.arange(len(depths)), sizes)
        left = np.arange(len(table)) - np.repeat(offsets_of(sizes)[:-1], sizes)
        of = np.empty((len(table), deepest), dtype=np.int64)
        for d in range(deepest - 1, -1, -1):
            column = columns[table, d]
            state = left % states[table, d]
            left //= states[table, d]
            of[:, d] = self._set_of(column, state)
        return np.where(inside[table], of, of[:, :1])

    def pair_counts(
        self, columns: Scope | None = None, *, against: Scope | None = None,
        ctl: Control | None = None,
    ) -> PairCounts:  # fmt: skip
        left, other = checked_pairs(self, columns, against)
        right = left if other is None else other
        if not (self._kept.whole and self._on_card[[*left, *right]].all()):
            return self._host.pair_counts(left, against=other, ctl=ctl)
        rows, among = self._kept_sets(left), self._kept_sets(right)
        sides = self._pair_side(left, ctl), self._pair_side(right, ctl)
        shape = len(sides[0].ones), len(sides[1].ones)
        room = (1 - SETS_SHARE) * self._kept.room
        if self.resident and self._kept.n_digits == 0 and 12 * shape[0] * shape[1] <= room:
            (words,) = self._kept.blocks(ctl)
            b = self._part(words, among)
            a = b if left is right else self._part(words, rows)
            counted = self._device.spread_pairs(self._device.product(a, b), *sides)
            return observed_pairs(self, counted, left, right)
        joint: Ints = np.zeros((len(rows), len(among)), dtype=np.int64)
        for words in self._kept.blocks(ctl):
            b = self._part(words, among)
            for plane in self._kept.planes():
                if plane.set is None:
                    a = b if left is right else self._part(words, rows)
                else:
                    sets = with_plane(rows[:, None], plane.set)
                    a = self._device.intersect(words, sets, keep=True)[0]
                self._device.add_product(joint, a, b, plane.factor)
        out = np.empty(shape, dtype=np.int64)
        cards = self._cards[left], self._cards[right]
        kernels.spread_pairs(joint, *cards, sides[0].ones, sides[1].ones, left is right, out)
        return observed_pairs(self, out, left, right)

    def _pair_side(self, columns: list[int], ctl: Control | None) -> PairSide:
        cards = self._cards[columns]
        ones = self._state_sizes(columns, ctl)
        return PairSide(offsets_of(cards - 1), offsets_of(cards), ones)

    @property
    def prefers_state_counts(self) -> bool:
        """Whether `state_counts` works here: not with real weights or columns of many states."""
        return self._kept.whole and bool(self._kept.on_device.all())

    def state_counts(
        self, scopes: Sequence[Ints], *, ctl: Control | None = None
    ) -> Iterator[tuple[range, StateCounts]]:
        cards, kept, most = self.schema.cards, self._kept, self._most_cells
        for part, flat, depths, sizes in self._batches(scopes):
            of, cells_from = self._cell_sets(flat, depths, cards), offsets_of(sizes)
            if self.resident and kept.n_digits == 0 and len(of) <= most:
                (words,) = kept.blocks(ctl)
                masks, totals = self._device.intersect(words, of, keep=True)
                counted = self._device.to_host(self._device.product(masks, words[: kept.n_kept]))
                counts: Ints = counted.astype(np.int64, order="C")
                yield part, StateCounts(counts, totals, cells_from, self._first)
                continue
            counts = np.zeros((len(of), kept.n_kept), dtype=np.int64)
            totals = np.zeros(len(of), dtype=np.int64)
            for words in kept.blocks(ctl):
                for plane in kept.planes():
                    for a in range(0, len(of), most):
                        rows = slice(a, a + most)
                        sets = with_plane(of[rows], plane.set)
                        masks, in_cell = self._device.intersect(words, sets, keep=True)
                        totals[rows] += plane.factor * in_cell
                        self._device.add_product(
                            counts[rows], masks, words[: kept.n_kept], plane.factor
                        )
            yield part, StateCounts(counts, totals, cells_from, self._first)

    @property
    def max_cells_for_likelihoods(self) -> int:
        few = self.n_rows is not None and self.n_rows <= SUMMED_ROWS
        here = few and self.resident and self._kept.n_digits == 0 and not self.has_missing.any()
        return self._most_cells if here and self.prefers_state_counts else 0

    def state_likelihoods(self, scopes: Sequence[Ints]) -> Iterator[tuple[range, StateLikelihoods]]:
        (words,) = self._kept.blocks(None)
        assert self.n_rows is not None
        for part, flat, depths, sizes in self._batches(scopes):
            places = self._first[flat], self._last[flat], self._cards[flat]
            families = Families(offsets_of(sizes), offsets_of(depths), *places)
            sums, totals = self._device.likelihoods(
                words, self._kept.n_kept, families, self._columns, self.n_rows
            )
            yield part, StateLikelihoods(sums, totals, families.cells_from)

    @cached_property
    def _columns(self) -> tuple[Any, Any]:
        """The set of each column's state 0, and its states, on the card."""
        return self._device.keep(self._first), self._device.keep(self._cards.astype(np.int32))

    @property
    def _most_cells(self) -> int:
        """The cells whose masks and counts with all states fit into the memory beside the sets."""
        kept = self._kept
        cell_bytes = 4 * words_of(kept.ends[0]) + 12 * kept.n_kept
        return max(1, int((1 - SETS_SHARE) * kept.room) // cell_bytes)

    def _batches(self, scopes: Sequence[Ints]) -> Iterator[tuple[range, Ints, Ints, Ints]]:
        """Scopes that are counted together: which, end to end, their depths and cells."""
        flat, depths = np.concatenate(scopes), np.array([len(scope) for scope in scopes])
        starts = offsets_of(depths)
        sizes = np.multiply.reduceat(self.schema.cards[flat], starts[:-1])
        begin = 0
        while begin < len(scopes):
            some = np.cumsum(sizes[begin : begin + MOST_SCOPES])
            end = begin + max(1, int(np.searchsorted(some, self._most_cells, "right")))
            members = flat[starts[begin] : starts[end]]
            yield range(begin, end), members, depths[begin:end], sizes[begin:end]
            begin = end

    # ---- screens of wide tables ------------------------------------------------------------

    @property
    def screens(self) -> bool:
        """Whether pairs and families are screened here: rows without weights, all on the card."""
        kept = self._kept
        few = int(self.schema.cards.max(initial=1)) <= SCREENED_STATES
        return kept.resident and kept.n_digits == 0 and few and not self.has_missing.any()

    @property
    def screened_together(self) -> int:
        return BINARY_COLUMNS if self.screens_binary else SCREENED_COLUMNS

    @cached_property
    def screens_binary(self) -> bool:
        assert self.n_rows is not None
        return bool((self._cards == 2).all()) and self.n_rows <= self._device.binary_rows

    def pairs_above_threshold(self, begin: int, end: int, limit: Floats, least: Floats) -> Ints:
        (words,) = self._kept.blocks(None)
        n, step, found = len(self._cards), self.screened_together, []
        assert self.n_rows is not None
        for first in range(begin, end, step):
            left = self._side(words, first)
            for other in range(first, n, step):
                right = self._side(words, other)
                listed = self._device.strong_pairs(left, right, self.n_rows, limit, least)
                found.append(listed)
        return _sorted_pairs(np.concatenate(found))

    def parents_above_threshold(self, children: Ints, families: Ints, least: Floats) -> Ints:
        (words,) = self._kept.blocks(None)
        assert self.n_rows is not None
        starts = range(0, len(self._cards), self.screened_together)
        sides = [self._side(words, start) for start in starts]
        if not self.screens_binary:
            of, first = self._family_sets(children, families)
            masks, sizes = self._device.intersect(words, of, keep=True)
            tasks = FamilyTasks(masks, first, self._cards[children], sizes, least)
            found = [self._device.strong_parents(tasks, side) for side in sides]
            return _sorted_pairs(np.concatenate(found))
        found = []
        for two in (False, True):
            some = np.flatnonzero((families[:, 1] >= 0) == two)
            if not some.size:
                continue
            parents = families[some, : 1 + two]
            of = np.empty((len(some), 3 + 2 * two), dtype=np.int64)
            of[:, 0] = self._first[children[some]]
            of[:, 1::2], of[:, 2::2] = self._first[parents], self._last[parents]
            bars = np.ascontiguousarray(least[some, 1])
            listed = self._device.strong_binary_parents(words, of, bars, self.n_rows, sides)
            found.append(np.column_stack([some[listed[:, 0]], listed[:, 1]]))
        return _sorted_pairs(np.concatenate(found))

    def _side(self, words: Any, begin: int) -> ScreenSide:
        """The columns of a tile from `begin` on, kept on the card."""
        if begin not in self._sides:
            end = min(begin + self.screened_together, len(self._cards))
            sets = self._kept_sets(np.arange(begin, end))
            starts = offsets_of(self._cards[begin:end] - 1)
            sizes = self._kept.state_sizes(None)[sets]
            self._sides[begin] = ScreenSide(self._part(words, sets), starts, sizes, begin)
        return self._sides[begin]

    def _family_sets(self, children: Ints, families: Ints) -> tuple[Ints, Ints]:
        """The sets whose intersection is each mask of `FamilyTasks`, and where tasks begin."""
        cards = self._cards
        alone = families[:, 1] < 0
        second = np.where(alone, families[:, 0], families[:, 1])
        r, b = cards[children], np.where(alone, 1, cards[second])
        sizes = cards[families[:, 0]] * b * r
        first = offsets_of(sizes)
        task = np.repeat(np.arange(len(children)), sizes)
        place = np.arange(len(task)) - first[task]
        configuration, slot = place // r[task], place % r[task]
        of = np.empty((len(task), 3), dtype=np.int64)
        of[:, 0] = self._set_of(families[task, 0], configuration // b[task])
        of[:, 1] = self._set_of(second[task], configuration % b[task])
        of[:, 1] = np.where(alone[task], of[:, 0], of[:, 1])
        of[:, 2] = np.where(slot == 0, of[:, 0], self._set_of(children[task], slot - 1))
        return of, first

    def _set_of(self, columns: Ints, states: Ints) -> Ints:
        last = states == self._cards[columns] - 1
        return np.where(last, self._last[columns], self._first[columns] + states)

    @property
    def _device(self) -> CudaBits:
        return self._kept.device

    def _kept_sets(self, columns: Sequence[int] | Ints) -> Ints:
        """The sets of all states but the last of some columns."""
        sizes = self._cards[columns] - 1
        starts = self._first[columns] - offsets_of(sizes)[:-1]
        return np.repeat(starts, sizes) + np.arange(int(sizes.sum()))

    def _part(self, words: Any, sets: Ints) -> Any:
        """Some sets; without a copy where they stand together."""
        if len(sets) and (np.diff(sets) == 1).all():
            return words[sets[0] : sets[-1] + 1]
        return self._device.select(words, sets)

    def _state_sizes(self, columns: Sequence[int], ctl: Control | None) -> Ints:
        """The weight of each state of some columns, one column after the other."""
        sizes = self._kept.state_sizes(ctl)
        cards = self._cards[columns]
        ends = np.cumsum(cards)
        sets = np.repeat(self._first[columns] - (ends - cards), cards) + np.arange(int(cards.sum()))
        sets[ends - 1] = self._last[columns]
        return sizes[sets]


def _sorted_pairs(pairs: Array) -> Ints:
    """Pairs of small whole numbers by the first, then by the second."""
    keys = pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1].astype(np.int64)
    keys.sort()
    return np.column_stack([keys >> 32, keys & 0xFFFFFFFF])
