"""The GPU without a GPU: its device by numpy, and what it must count, from plain tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from counterpane._core import counts as kernels
from counterpane._core.scores import fill_clogc
from counterpane.counts.candidates import StateCounts, StateLikelihoods
from counterpane.counts.gpu.cuda import CudaBits
from counterpane.counts.gpu.sets import (
    BINARY_ROWS,
    Families,
    FamilyTasks,
    PairSide,
    ScreenSide,
    words_of,
)
from counterpane.counts.source import CountSource
from counterpane.memory import available_memory
from counterpane.ragged import offsets_of
from counterpane.typing import Array, Codes, Floats, Ints

HOST_ROOM = 2**22  # words at a time in a product


class HostBits(CudaBits):
    """A device on the CPU, by numpy: slow, and meant for tests of everything above it."""

    name = "host"

    def __init__(self, memory: int | None = None) -> None:
        self.memory = memory

    def free_memory(self) -> int:
        return available_memory() if self.memory is None else self.memory

    def pack(self, codes: Codes, cards: Ints, first: Ints, last: Ints, n_sets: int) -> Array:
        words = np.zeros((n_sets, words_of(codes.shape[1])), dtype=np.uint32)
        n_bytes = -(-codes.shape[1] // 8)
        for v, card in enumerate(cards.tolist()):
            for state in range(card):
                home = first[v] + state if state + 1 < card else last[v]
                bits = np.packbits(codes[v] == state, bitorder="little")
                words.view(np.uint8)[home, :n_bytes] = bits
        return words

    def to_host(self, sets: Array) -> Array:
        return sets.copy()

    def stream(self, blocks: Iterable[Array]) -> Iterator[Array]:
        yield from blocks

    def select(self, sets: Array, which: Ints) -> Array:
        return np.asarray(sets[which])

    def intersect(self, sets: Array, of: Ints, *, keep: bool) -> tuple[Array | None, Ints]:
        masks = np.bitwise_and.reduce(sets[of], axis=1)
        sizes = np.bitwise_count(masks).sum(axis=1, dtype=np.int64)
        return (masks if keep else None), sizes

    def product(self, a: Array, b: Array) -> Array:
        out = np.empty((len(a), len(b)), dtype=np.int32)
        step = max(1, HOST_ROOM // max(1, b.size))
        for i in range(0, len(a), step):
            both = a[i : i + step, None] & b[None]
            out[i : i + step] = np.bitwise_count(both).sum(axis=2, dtype=np.int32)
        return out

    def spread_pairs(self, joint: Array, left: PairSide, right: PairSide) -> Array:
        out = np.empty((len(left.ones), len(right.ones)), dtype=np.int64)
        cards = np.diff(left.begins), np.diff(right.begins)
        kernels.spread_pairs(joint.astype(np.int64), *cards, left.ones, right.ones, False, out)
        return out

    def add_product(self, out: Array, a: Array, b: Array, factor: int) -> None:
        out += factor * self.product(a, b).astype(np.int64)

    def keep(self, values: Ints) -> Ints:
        return values

    def likelihoods(
        self, sets: Array, n_kept: int, families: Families, columns: tuple[Ints, Ints], total: int
    ) -> tuple[Floats, Ints]:
        sums, sizes = [], []
        for i in range(len(families.cells_from) - 1):
            masks = np.bitwise_and.reduce(sets[cell_sets(families, i)], axis=1)
            size = np.bitwise_count(masks).sum(axis=1, dtype=np.int64)
            joint = self.product(masks, sets[:n_kept]).astype(np.int64)
            r = int(families.states[families.members_from[i + 1] - 1])
            sums.append(likelihood_sums(joint, size, r, *columns))
            sizes.append(size)
        return np.array(sums), np.concatenate(sizes)

    def strong_pairs(
        self, left: ScreenSide, right: ScreenSide, total: int, limit: Floats, least: Floats
    ) -> Array:
        joint = self.product(left.sets, right.sets).astype(float)
        found = []
        for i, (a, b) in enumerate(pairwise(left.starts.tolist())):
            for j, (c, d) in enumerate(pairwise(right.starts.tolist())):
                if left.at + i >= right.at + j or a == b or c == d:
                    continue
                sums = _sums(joint[a:b, c:d], left.sizes[a:b], right.sizes[c:d], total)
                degrees = min((b - a) * (d - c), len(limit) - 1)
                if sums[0] > limit[degrees] and sums[1] > least[degrees]:
                    found.append((left.at + i, right.at + j))
        return np.array(found, dtype=np.int32).reshape(-1, 2)

    def strong_parents(self, tasks: FamilyTasks, right: ScreenSide) -> Array:
        joint = self.product(tasks.masks, right.sets).astype(float)
        found = []
        for k, (begin, end) in enumerate(pairwise(tasks.first.tolist())):
            r = int(tasks.states[k])
            for j, (c, d) in enumerate(pairwise(right.starts.tolist())):
                if c == d or d - c >= tasks.least.shape[1]:
                    continue
                sums = np.zeros(2) + sum(
                    _sums(joint[row + 1 : row + r, c:d], tasks.sizes[row + 1 : row + r],
                                joint[row, c:d], int(tasks.sizes[row]))
                    for row in range(begin, end, r) if tasks.sizes[row]
                )  # fmt: skip
                if (sums > tasks.least[k, d - c]).all():
                    found.append((k, right.at + j))
        return np.array(found, dtype=np.int32).reshape(-1, 2)

    @property
    def binary_rows(self) -> int:
        return BINARY_ROWS

    def strong_binary_parents(
        self, words: Array, sets: Ints, least: Floats, total: int, right: Sequence[ScreenSide]
    ) -> Array:
        places = (np.arange(2),) if sets.shape[1] == 3 else tuple(np.indices((2, 2)).reshape(2, -1))
        of = [
            [sets[:, 1 + 2 * i + s] for i, s in enumerate(states)]
            for states in zip(*places, strict=True)
        ]
        masks = [np.bitwise_and.reduce([words[x] for x in some]) for some in of]
        pairs = [m for mask in masks for m in (mask, mask & words[sets[:, 0]])]
        stacked = np.stack(pairs, axis=1).reshape(-1, words.shape[1])
        sizes = np.bitwise_count(stacked).sum(axis=1, dtype=np.int64)
        first = len(pairs) * np.arange(len(sets) + 1)
        states = np.full(len(sets), 2)
        bars = np.column_stack([np.full(len(sets), np.inf), least])
        tasks = FamilyTasks(stacked, first, states, sizes, bars)
        return np.concatenate([self.strong_parents(tasks, side) for side in right])


def _sums(joint: Floats, left: Array, right: Array, total: int) -> Floats:
    """χ² and the log-likelihood ratio of a table without its last row and column."""
    cells = np.zeros((joint.shape[0] + 1, joint.shape[1] + 1))
    cells[:-1, :-1] = joint
    cells[:-1, -1] = left - joint.sum(axis=1)
    cells[-1, :-1] = right - joint.sum(axis=0)
    cells[-1, -1] = total - cells.sum()
    expected = np.outer(cells.sum(axis=1), cells.sum(axis=0)) / total
    some, filled = expected > 0, cells > 0
    ratio = (cells[filled] * np.log(cells[filled] / expected[filled])).sum()
    return np.array([((cells[some] - expected[some]) ** 2 / expected[some]).sum(), ratio])


def cell_sets(families: Families, i: int) -> Ints:
    """The sets whose intersection is each cell of family i, the child's state fastest."""
    some = slice(*families.members_from[i : i + 2])
    cards = families.states[some]
    states = np.stack(np.unravel_index(np.arange(cards.prod()), cards.tolist()), axis=1)
    last = states == cards - 1
    return np.where(last, families.last[some], families.first[some] + states)


def likelihood_sums(counts: Ints, totals: Ints, r: int, first: Ints, cards: Ints) -> Floats:
    """Σ N_jk ln(N_jk / N_j) of a family with each column as one more parent.

    `counts` has the family's cells, its child's r states fastest, by all states but the last of
    the columns, which begin at `first`. Terms are added in the order of the kernels.
    """
    logs = np.empty(int(totals.sum()) + 1)
    fill_clogc(logs)
    sums = np.zeros(len(cards))
    for v, (begin, card) in enumerate(zip(first.tolist(), cards.tolist(), strict=True)):
        cells = np.column_stack([counts[:, begin : begin + card - 1], totals])
        cells[:, -1] -= cells[:, :-1].sum(axis=1)
        table = cells.reshape(-1, r, card).swapaxes(1, 2)
        rows = -logs[table.sum(axis=2, keepdims=True)]
        sums[v] = np.cumsum(np.concatenate([logs[table], rows], axis=2))[-1]
    return sums


def state_counts(source: CountSource, scopes: Sequence[Ints]) -> list[StateCounts]:
    """The counts of the cells of each scope with the states of all columns, from plain tables."""
    cards = source.schema.cards
    kept_from = offsets_of(cards - 1)
    found = []
    for scope in scopes:
        columns = scope.tolist()
        others = [v for v in range(len(cards)) if v not in columns]
        tables = source.counts([columns, *([*columns, v] for v in others)])
        totals = tables[0].reshape(-1)
        counts = np.zeros((len(totals), int(kept_from[-1])), dtype=totals.dtype)
        for v, table in zip(others, list(tables)[1:], strict=True):
            counted = table.reshape(len(totals), -1)[:, :-1]
            counts[:, kept_from[v] : kept_from[v + 1]] = counted
        states = np.unravel_index(np.arange(len(totals)), cards[scope])
        for v, state in zip(columns, states, strict=True):
            inside = state[:, None] == np.arange(cards[v] - 1)
            counts[:, kept_from[v] : kept_from[v + 1]] = totals[:, None] * inside
        found.append(StateCounts(counts, totals, np.array([0, len(totals)]), kept_from))
    return found


def state_likelihoods(source: CountSource, scopes: Sequence[Ints]) -> list[StateLikelihoods]:
    """The log-likelihood of each scope's last column given its others and one more column."""
    cards = source.schema.cards
    found = []
    for scope, (counts, totals, cells_from, first) in zip(
        scopes, state_counts(source, scopes), strict=True
    ):
        r = int(cards[scope[-1]])
        sums = likelihood_sums(counts, totals, r, first[: len(cards)], cards)
        found.append(StateLikelihoods(sums[None], totals, cells_from))
    return found
