"""What a device does with bit sets, and its twin on the host that shows it without a card.

A bit set is a row of `width` words of 32 bits, in multiples of 16 words. A device packs codes into
sets, intersects some of them, and multiplies: the *bit product* of A and B is |A_i ∩ B_j| for all
i and j. Whatever counts on a card is made of these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from counterpane._core import counts as kernels
from counterpane.counts.layout import likelihood_sums
from counterpane.memory import available_memory
from counterpane.typing import Array, Codes, Floats, Ints

STAGE = 16  # words of one step of a product: widths are multiples of it
BINARY_ROWS = 2**16 - 1  # up to so many, binary columns are screened without counts in memory
HOST_ROOM = 2**22  # words at a time in a product on the host


class PairSide(NamedTuple):
    """Columns of a table of pairs: where each begins without and with its last state, and sizes."""

    kept: Ints  # one more than columns
    begins: Ints  # likewise
    ones: Ints  # rows of each state


class ScreenSide(NamedTuple):
    """Columns of a screen, by the sets of all their states but the last."""

    sets: Any
    starts: Ints  # one more than columns
    sizes: Ints  # rows of each set
    at: int  # the number of the first column

    @property
    def is_binary(self) -> bool:
        """Whether each column has one set."""
        return len(self.sizes) == len(self.starts) - 1 and bool((np.diff(self.starts) == 1).all())


class FamilyTasks(NamedTuple):
    """Families of a screen: for each configuration of the parents a mask of its rows, then masks of
    its rows with each state of the child but the last.
    """

    masks: Any
    first: Ints  # the first mask of each task, one more than tasks
    states: Ints  # of its child
    sizes: Ints  # rows of each mask
    least: Floats  # (tasks, states): the least log-likelihood ratio of a column of s + 1 states


class Families(NamedTuple):
    """Families of a batch, each its parents and then its child, end to end."""

    cells_from: Ints  # one more than families
    members_from: Ints  # likewise
    first: Ints  # of each member: the set of its state 0
    last: Ints  # the set of its last state
    states: Ints  # their number

    def cell_sets(self, i: int) -> Ints:
        """The sets whose intersection is each cell of family i, the child's state fastest."""
        some = slice(*self.members_from[i : i + 2])
        cards = self.states[some]
        states = np.stack(np.unravel_index(np.arange(cards.prod()), cards.tolist()), axis=1)
        last = states == cards - 1
        return np.where(last, self.last[some], self.first[some] + states)


class BitDevice(ABC):
    """Bit sets in the memory of a device; sets and masks stay there, counts come back."""

    name: str
    threads = 1  # of the host, for copies

    @abstractmethod
    def free_memory(self) -> int:
        """The bytes that can still be taken."""

    @abstractmethod
    def pack(self, codes: Codes, cards: Ints, first: Ints, last: Ints, n_sets: int) -> Any:
        """Sets of a block of rows, (n_sets, width).

        State s of column v is the set first[v] + s, its last one the set last[v]. Codes that are no
        state are in no set.
        """

    @abstractmethod
    def to_host(self, sets: Any) -> Array:
        """Sets as an array of the host."""

    @abstractmethod
    def stream(self, blocks: Iterable[Array]) -> Iterator[Any]:
        """Blocks of the host on the device, one after the other; a block is valid until the next.

        The next block is copied while the caller computes.
        """

    @abstractmethod
    def select(self, sets: Any, which: Ints) -> Any:
        """Some of the sets, copied."""

    @abstractmethod
    def intersect(self, sets: Any, of: Ints, *, keep: bool) -> tuple[Any, Ints]:
        """The intersection of the sets of[k] for each k, None unless `keep`, and their sizes."""

    @abstractmethod
    def product(self, a: Any, b: Any) -> Any:
        """|a_i ∩ b_j| as integers, (len(a), len(b)), on the device; `a is b` costs half."""

    @abstractmethod
    def spread_pairs(self, joint: Any, left: PairSide, right: PairSide) -> Array:
        """All states by all states, on the host, from a product of all states but the last."""

    @abstractmethod
    def add_product(self, out: Array, a: Any, b: Any, factor: int) -> None:
        """Add factor · |a_i ∩ b_j| to `out` on the host."""

    @abstractmethod
    def keep(self, values: Ints) -> Any:
        """Numbers in the memory of the device, to be used many times."""

    @abstractmethod
    def likelihoods(
        self, sets: Any, n_kept: int, families: Families, columns: tuple[Any, Any], total: int
    ) -> tuple[Floats, Ints]:
        """Σ N_jk ln(N_jk / N_j) of each family with each column as one more parent; cell sizes.

        `columns` has, kept, the set of each column's state 0, and its states; all sets but those of
        last states are the first `n_kept`. Terms are added in the order of the host's kernels, so
        that sums are equal to the last bit. A member as one more parent may have any number.
        """

    @abstractmethod
    def strong_pairs(
        self, left: ScreenSide, right: ScreenSide, total: int, limit: Floats, least: Floats
    ) -> Array:
        """The pairs (i, j), i < j, whose log-likelihood ratio N · MI is above least[d].

        d are the degrees of freedom. Pairs of a χ² up to limit[d] cannot have so much.
        """

    @abstractmethod
    def strong_parents(self, tasks: FamilyTasks, right: ScreenSide) -> Array:
        """The (task, column) whose ratio within the task's configurations is above the least."""

    @property
    @abstractmethod
    def binary_rows(self) -> int:
        """The rows up to which `strong_binary_parents` works."""

    @abstractmethod
    def strong_binary_parents(
        self, words: Any, sets: Ints, least: Floats, total: int, right: Sequence[ScreenSide]
    ) -> Array:
        """The same where all columns are binary.

        sets[k] has the set of state 0 of the child of task k, and both sets of each parent.
        """


def words_of(n_rows: int) -> int:
    """The width of a set of so many rows.

    >>> words_of(1), words_of(512), words_of(513)
    (16, 16, 32)
    """
    return -(-max(n_rows, 1) // (32 * STAGE)) * STAGE


class HostBits(BitDevice):
    """The same on the host, by numpy: slow, and meant for tests of everything above it."""

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
            masks = np.bitwise_and.reduce(sets[families.cell_sets(i)], axis=1)
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
