"""A cache of family scores with each single parent toggled, for all searches over networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from counterpane._core import scores as kernels
from counterpane._core import watch
from counterpane._core.scores import RowData, RowStore
from counterpane.counts.bitsets import BitColumns
from counterpane.counts.candidates import CandidateCounter, candidate_counter
from counterpane.counts.layout import MAX_BATCH_CELLS
from counterpane.counts.memory import bit_columns
from counterpane.counts.source import CountSource, Policy, threads_of
from counterpane.errors import DataError, ParameterError, ScopeError, Setting
from counterpane.graphs.bits import mask, members
from counterpane.memory import is_small_share
from counterpane.parallel import thread_pool
from counterpane.progress import Control
from counterpane.scores.base import Form, LocalScore, clogc_table, score_pairs
from counterpane.typing import Array, Codes, Floats, Ints, Words

MAX_TABLE_CELLS = 2**20
MEAN_STATES = 512  # states of a column, on average: their bit sets take 64 bytes a cell
SHARE = 2**17  # counts that one thread scores at least
WORDS_PER_COUNT = 16  # words of bit sets that are counted while one count is scored


@dataclass(frozen=True)
class ScoreRow:
    """Scores of a child with each single parent toggled.

    `toggled[y]` is the score with parent y added, or removed if it is one; −∞ where that is not
    allowed. `improving` lists the additions that raise `score`, best first, equal ones by position.
    """

    score: float
    toggled: Floats
    improving: Ints


class RowCache:
    """Score × count source: (child, parents) → the scores of all single-parent toggles.

    With a table in memory and a score the kernels know, a row is one fused call: the masks of the
    family's cells are built once and serve every added parent by popcounts, removals are summed
    from the family's own table. A source that counts cells by the states of all columns
    (`CandidateCounter`) fills many rows together. Others are asked for the tables of a row in one
    batch. All give the same numbers to the last bit (real weights: where they come as one block).
    `memory` bounds the rows kept, in bytes; the oldest go first. `max_parents` and `max_cells` mark
    larger families as −∞.

    >>> from counterpane.counts import MemoryCounts
    >>> from counterpane.data.datasets import load_dataset
    >>> from counterpane.scores import BIC
    >>> cache = RowCache(MemoryCounts(load_dataset("titanic")), BIC())
    >>> row = cache.row(3)
    >>> round(row.score, 3), [cache.names[y] for y in row.improving]
    (-1388.577, ['sex', 'status', 'age'])
    """

    def __init__(
        self,
        source: CountSource,
        score: LocalScore,
        *,
        max_parents: int | None = None,
        max_cells: int = MAX_TABLE_CELLS,
        memory: int = 2**28,
    ) -> None:
        n = len(source.schema)
        gaps = source.has_missing.any() and not score.available_case
        if gaps and source.table is not None:
            name = source.schema.names[int(np.argmax(source.has_missing))]
            raise DataError(
                f"column {name!r} has missing cells, and scores compare families on equal rows; "
                "use Table.resolve_missing('state') or ('drop') first, or NodeAverageLikelihood()."
            )
        if max_parents is not None and max_parents < 0:
            raise ParameterError(Setting("max_parents", max_parents), "; zero or more is allowed.")
        self.source = source
        self.score = score
        self.names = source.schema.names
        self.max_parents = n - 1 if max_parents is None else min(max_parents, n - 1)
        self.max_cells = max_cells
        self.n_jobs = threads_of(source)
        self.total_weight = _total_weight(source, score.missing)
        self._threads: ThreadPoolExecutor | None = None
        self._watcher: Any = None
        self.store = _make_store(n, memory)
        self.data = self._make_data()
        self.fused = self.data.codes.shape[1] > 0  # else rows are filled by batches of counts
        form = score.form(self.total_weight)
        complete = form is not None and not source.has_missing.any()
        self.counter = candidate_counter(source) if complete else None
        likely = form is not None and form.kind == kernels.LIKELIHOOD
        self.summed_cells = self.counter.max_cells_for_likelihoods if self.counter and likely else 0

    def row(self, child: int, parents: Iterable[int] = ()) -> ScoreRow:
        """The row of a family, filled if it is not kept."""
        parent_list = sorted(parents)
        self._check(child, parent_list)
        slot = self.fetch(child, mask(len(self.names), parent_list))
        store = self.store
        n_improving = int(store.n_improving[slot])
        scores = store.scores[slot].copy()
        return ScoreRow(float(scores[child]), scores, store.improving[slot, :n_improving].copy())

    def fetch(self, child: int, family: Words) -> int:
        """The slot in `store` of the row of (child, the set `family`), filled if needed."""
        slot = kernels.find_row(self.store, child, family)
        if slot >= 0:
            self.store.ring[2] += 1
            return slot
        return int(self.fill(np.array([child]), family[None, :])[0])

    def fill(self, children: Ints, families: Words) -> Ints:
        """The slots of those rows that were not kept, filled now: together, and by threads.

        Rows beyond the cache's size would push each other out: ask for fewer at a time.
        """
        slots = np.empty(len(children), dtype=np.int64)
        claimed = slots[: kernels.claim_missing(self.store, children, families, slots)]
        try:
            self._fill_claimed(claimed)
        except BaseException:  # a row that was claimed but not filled must never be found
            self.store.head[:] = 0
            self.store.ring[:2] = 0
            raise
        return claimed

    def _fill_claimed(self, slots: Ints) -> None:
        if self.counter is not None:
            self._fill_by_states(self.counter, slots)
        elif not self.fused:
            self._fill_by_counts(slots)
        else:
            self._in_threads(self._fill_fused, self._fused_parts(slots))
        kernels.rank_rows(self.store, slots)

    def _fill_fused(self, part: tuple[Ints, int, int]) -> None:
        kernels.fill_slots(self.data, self.store, *part)

    def _fused_parts(self, slots: Ints) -> list[tuple[Ints, int, int]]:
        """Rows, or where they are fewer than threads, columns of each, for one thread each."""
        n, jobs = len(self.names), min(self.n_jobs, len(slots))
        if jobs == self.n_jobs:
            return [(some, 0, n) for some in np.array_split(slots, jobs)]
        words = self.data.words.shape[1] * int(self.data.cards.sum())
        return [
            (slots[i : i + 1], first, stop)
            for i, cells in enumerate(self._cells_of(slots).tolist())
            for first, stop in self._shares(cells * words // WORDS_PER_COUNT)
        ]

    def _cells_of(self, slots: Ints) -> Floats:
        """The number of cells of each family."""
        store = self.store
        return np.array(
            [
                self.data.cards[[*members(store.parents[s]), store.child[s]]].prod(dtype=float)
                for s in slots
            ]
        )

    def _in_threads(self, work: Callable[[Any], None], parts: Sequence[Any]) -> None:
        """work(part) for each part; threads are kept, because rows are filled very often."""
        if self.n_jobs == 1 or len(parts) <= 1:
            for part in parts:
                work(part)
            return
        watcher = watch(None)
        watch(watcher)
        if self._threads is None or self._watcher is not watcher:
            self._threads, self._watcher = thread_pool(self.n_jobs), watcher
        waiting = [self._threads.submit(work, part) for part in parts]
        for future in waiting:
            future.exception()  # all have ended before one is raised
        for future in waiting:
            future.result()

    def first_fill(self, *, ctl: Control | None = None) -> None:
        """Fill the rows without parents of all children from the counts of all pairs.

        Scores that the kernels do not know are filled row by row.
        """
        n, cards = len(self.names), self.source.schema.cards
        none = mask(n, ())
        block = max(1, 2**22 // max(1, int(cards.sum())))
        largest = block * int(cards.max(initial=0)) * int(cards.sum())
        if (
            self.score.form(self.total_weight) is None
            or self.max_parents == 0
            or largest > MAX_BATCH_CELLS  # pairs of many states would be counted to be left out
        ):
            self.fill(np.arange(n), np.tile(none, (n, 1)))
            return
        for start in range(0, n, block):
            children = list(range(start, min(start + block, n)))
            scores = score_pairs(self.score, self.source, children, range(n), ctl=ctl)
            too_large = np.multiply.outer(cards[children], cards) > self.max_cells
            too_large[range(len(children)), children] = False
            scores[too_large] = -np.inf
            for child, row in zip(children, scores, strict=True):
                if kernels.find_row(self.store, child, none) < 0:
                    slot = kernels.claim_slot(self.store, child, none)
                    self.store.scores[slot] = row
                    kernels.rank_rows(self.store, np.array([slot]))

    @property
    def n_filled(self) -> int:
        """How many rows were computed so far."""
        return int(self.store.ring[3])

    @property
    def n_found(self) -> int:
        """How many rows were found in the cache."""
        return int(self.store.ring[2])

    def _make_data(self) -> RowData:
        """The arrays of the fused kernel; without rows where it does not apply."""
        n, cards = len(self.names), self.source.schema.cards
        form = self.score.form(self.total_weight)
        codes: Codes = np.empty((n, 0), dtype=np.uint8)
        bits = BitColumns(codes, cards)
        weights = np.empty(0)
        kept = bit_columns(self.source)
        table = None if kept is None else self.source.table
        if form is not None and table is not None and kept is not None and _fits(kept, cards):
            codes, bits = table.codes, kept
            if table.weights is None:
                bits.pack(range(n))
            else:
                weights = table.weights.astype(np.float64)
        prior = self.score.structure_prior
        gaps = self.source.has_missing if self.score.available_case else np.empty(0, dtype=bool)
        return RowData(
            codes, bits.words, bits.total, bits.first, cards, weights,
            clogc_table(self.total_weight),
            *(form or Form(0, 0.0)), prior.by_count(n), np.ascontiguousarray(prior.by_edge(n)),
            prior.by_parameter, self.max_parents, self.max_cells, gaps,
        )  # fmt: skip

    def _fill_by_counts(self, slots: Ints) -> None:
        """Rows from one batch of tables with axes (parents…, child, added parent)."""
        n, store = len(self.names), self.store
        families = [(int(store.child[s]), list(members(store.parents[s]))) for s in slots]
        added = [self._additions(child, parents) for child, parents in families]
        subsets: list[list[int]] = []
        for (child, parents), more in zip(families, added, strict=True):
            subsets += [[*parents, child], *([*parents, child, y] for y in more)]
            if self.score.available_case:  # without a parent there may be more rows
                subsets += [[*(v for v in parents if v != p), child] for p in parents]
        tables = iter(self.source.counts(subsets, missing=self.score.missing, max_cells=2**62))
        for slot, (child, parents), more in zip(slots, families, added, strict=True):
            scores = np.full(n, -np.inf)
            table = next(tables)
            scores[child] = self._score(table, child, parents, None)
            for y in more:
                scores[y] = self._score(next(tables), child, parents, y)
            for axis, p in enumerate(parents):
                fewer = [v for v in parents if v != p]
                less = next(tables) if self.score.available_case else table.sum(axis=axis)
                scores[p] = self._score(less, child, fewer, None)
            store.scores[slot] = scores

    def _fill_by_states(self, counter: CandidateCounter, slots: Ints) -> None:
        """Rows from counts of the families' cells with the states of all columns, or from sums."""
        store = self.store
        scopes = [
            np.array([*members(store.parents[s]), store.child[s]], dtype=np.int64) for s in slots
        ]
        cells = [int(self.data.cards[scope].prod()) for scope in scopes]
        few = [c <= self.summed_cells and len(s) <= 64 for c, s in zip(cells, scopes, strict=True)]
        some = [i for i, summed in enumerate(few) if summed]
        if some:
            self._fill_by_sums(counter, slots[some], [scopes[i] for i in some])
        if len(some) < len(slots):
            others = [i for i, summed in enumerate(few) if not summed]
            self._fill_counted(counter, slots[others], [scopes[i] for i in others])

    def _fill_by_sums(self, counter: CandidateCounter, slots: Ints, scopes: list[Ints]) -> None:
        for part, (sums, totals, cells_from) in counter.state_likelihoods(scopes):
            some = slots[part.start : part.stop]
            kernels.fill_summed(self.data, self.store, some, sums)
            kernels.finish_counted(self.data, self.store, some, cells_from, totals)

    def _fill_counted(self, counter: CandidateCounter, slots: Ints, scopes: list[Ints]) -> None:
        store = self.store
        for part, (counts, totals, cells_from, kept_from) in counter.state_counts(scopes):
            some = slots[part.start : part.stop]
            begins, places = cells_from.tolist(), counts.shape[1]
            parts = [
                (i, *columns)
                for i in range(len(some))
                for columns in self._shares(places * (begins[i + 1] - begins[i]))
            ]

            def fill(
                part: tuple[int, int, int], counts: Ints = counts, totals: Ints = totals,
                begins: list[int] = begins, kept: Ints = kept_from, some: Ints = some,
            ) -> None:  # fmt: skip
                i, first, stop = part
                rows = slice(begins[i], begins[i + 1])
                ends = np.array([0, begins[i + 1] - begins[i]])
                kernels.fill_counted(
                    self.data, store, some[i : i + 1], ends, totals[rows], kept, counts[rows],
                    first, stop,
                )  # fmt: skip

            self._in_threads(fill, parts)
            kernels.finish_counted(self.data, store, some, cells_from, totals)

    def _shares(self, work: float) -> list[tuple[int, int]]:
        """Ranges of columns of a row that are filled by one thread each: about `SHARE` counts."""
        n = len(self.names)
        pieces = int(max(1, min(2 * self.n_jobs, n, work // SHARE))) if self.n_jobs > 1 else 1
        cuts = [n * k // pieces for k in range(pieces + 1)]
        return list(pairwise(cuts))

    def _additions(self, child: int, parents: list[int]) -> list[int]:
        """The parents that may be added to a family."""
        cards = self.source.schema.cards
        if len(parents) >= self.max_parents:
            return []
        cells = math.prod(cards[[*parents, child]].tolist())
        others = (y for y in range(len(cards)) if y != child and y not in parents)
        return [y for y in others if cells * int(cards[y]) <= self.max_cells]

    def _score(self, table: Array, child: int, parents: list[int], added: int | None) -> float:
        """The score of a table with axes (parents…, child[, added parent]), prior included."""
        form = self.score.form(self.total_weight)
        everyone = parents if added is None else [*parents, added]
        cards = self.source.schema.cards
        prior = self.score.structure_prior.families(cards, [(child, everyone)])[0]
        if form is None:
            moved = table if added is None else np.swapaxes(table, -1, -2)
            return self.score.family(moved, self.total_weight, child, everyone) + float(prior)
        r = int(self.source.schema.cards[child])
        s = 1 if added is None else int(self.source.schema.cards[added])
        flat = np.ascontiguousarray(table, dtype=np.float64).ravel()
        q = flat.size // (r * s)
        value = kernels.score_table(flat, q, r, s, *form, self.data.logs)
        return float(value + prior)

    def _check(self, child: int, parents: list[int]) -> None:
        n = len(self.names)
        distinct = set(parents)
        if not 0 <= child < n or len(distinct) < len(parents) or child in distinct:
            raise ScopeError(f"family {child} | {parents} repeats or misses a variable.")
        if distinct and not (min(distinct) >= 0 and max(distinct) < n):
            raise ScopeError(f"parents {parents} must lie between 0 and {n - 1}.")
        cells = np.prod(self.source.schema.cards[[*distinct, child]], dtype=float)
        if len(distinct) > self.max_parents or cells > self.max_cells:
            raise ScopeError(
                f"family {child} | {parents} has {len(distinct)} parents and {cells:.3g} "
                f"cells; the cache holds up to {self.max_parents} and {self.max_cells:,}."
            )


def _fits(bits: BitColumns, cards: Ints) -> bool:
    """Whether bit sets of all states are not much larger than the codes, or than the memory."""
    states = int(cards.sum())
    return states <= MEAN_STATES * len(cards) and is_small_share(8 * states * bits.n_words)


def _total_weight(source: CountSource, missing: Policy) -> float:
    """The weight of all rows; where no cell may be missing, a first look refuses it."""
    if source.total_weight is None or (source.has_missing.any() and missing == "error"):
        batch = source.counts([(v,) for v in range(len(source.schema))], missing=missing)
        if source.total_weight is None:
            return float(batch.n.max())
    return source.total_weight


def row_bytes(n: int) -> int:
    """The memory that one row of n variables takes."""
    return 16 * n + 8 * -(-n // 64) + 40


def _make_store(n: int, memory: int) -> RowStore:
    """Empty rows for n variables; pages are touched only as rows are filled."""
    words = -(-n // 64)
    # No more slots than a thorough search needs: each first touch of a page costs its clearing.
    slots = max(64, min(memory // row_bytes(n), 1024 + 256 * n))
    buckets = 1 << int(np.ceil(np.log2(2 * slots)))
    rng = np.random.default_rng(0)
    return RowStore(
        zobrist=rng.integers(0, 2**64, (2, n), dtype=np.uint64),
        head=np.zeros(buckets, dtype=np.int64),
        next=np.zeros(slots, dtype=np.int64),
        keys=np.zeros(slots, dtype=np.uint64),
        child=np.zeros(slots, dtype=np.int64),
        parents=np.zeros((slots, words), dtype=np.uint64),
        scores=np.empty((slots, n)),
        improving=np.empty((slots, n), dtype=np.int64),
        n_improving=np.zeros(slots, dtype=np.int64),
        ring=np.zeros(4, dtype=np.int64),
    )
