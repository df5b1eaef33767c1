"""The cache that every search over networks reads: all single-parent toggles of a family."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource
from counterpane.errors import DataError, ParameterError, ScopeError
from counterpane.progress import Control
from counterpane.scores import _kernels, _row_kernels
from counterpane.scores._row_kernels import RowData, RowStore
from counterpane.scores.base import LocalScore, clogc_table, log_table
from counterpane.scores.pairs import score_pairs
from counterpane.typing import Floats, Ints

MAX_TABLE_CELLS = 2**20


@dataclass(frozen=True)
class Row:
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
    from the family's own table. Other sources are asked for the row's tables in one batch, and give
    the same numbers to the last bit. `memory` bounds the rows kept, in bytes; the oldest go first.
    `max_parents` and `max_cells` mark larger families as −∞.

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
        if isinstance(source, MemoryCounts) and source.has_missing.any():
            name = source.schema.names[int(np.argmax(source.has_missing))]
            raise DataError(
                f"column {name!r} has missing cells, and scores compare families on equal rows; "
                "use Table.resolve_missing('state') or ('drop') first."
            )
        if max_parents is not None and max_parents < 0:
            raise ParameterError(f"max_parents={max_parents}; zero or more is allowed.")
        self.source = source
        self.score = score
        self.names = source.schema.names
        self.max_parents = n - 1 if max_parents is None else min(max_parents, n - 1)
        self.max_cells = max_cells
        self._total = _total_weight(source)
        self.store = _make_store(n, memory)
        self.data = self._make_data()

    def row(self, child: int, parents: Iterable[int] = ()) -> Row:
        """The row of a family, filled if it is not kept."""
        given = np.array(sorted(parents), dtype=np.int64)
        self._check(child, given)
        slot = self.fetch(child, given)
        store = self.store
        found = int(store.n_improving[slot])
        scores = store.scores[slot].copy()
        return Row(float(scores[child]), scores, store.improving[slot, :found].copy())

    def fetch(self, child: int, parents: Ints) -> int:
        """The slot of a row in `store`, filled if needed; `parents` ascend. Searches read slots."""
        if self.data is not None:
            return int(_row_kernels.fetch_row(self.data, self.store, child, parents))
        slot = _row_kernels.find_row(self.store, child, parents)
        if slot < 0:
            scores = self._scores_by_counts(child, parents)
            slot = self._enter(child, parents, scores)
        else:
            self.store.ring[2] += 1
        return int(slot)

    def first_fill(self, *, ctl: Control | None = None) -> None:
        """Fill the rows without parents of all children from the counts of all pairs.

        Scores that the kernels do not know are filled row by row.
        """
        n = len(self.names)
        none = np.empty(0, dtype=np.int64)
        if self.score.form(self._total) is None or self.max_parents == 0:
            for child in range(n):
                self.fetch(child, none)
            return
        block = max(1, 2**22 // max(1, int(self.source.schema.cards.sum())))
        for start in range(0, n, block):
            children = list(range(start, min(start + block, n)))
            scores = score_pairs(self.score, self.source, children, range(n), ctl=ctl)
            for child, row in zip(children, scores, strict=True):
                if _row_kernels.find_row(self.store, child, none) < 0:
                    self._enter(child, none, row)

    @property
    def n_filled(self) -> int:
        """How many rows were computed so far."""
        return int(self.store.ring[3])

    @property
    def n_found(self) -> int:
        """How many rows were asked for and found."""
        return int(self.store.ring[2])

    # ---- inside ----------------------------------------------------------------------------

    def _make_data(self) -> RowData | None:
        """The arrays of the fused kernel; None where it does not apply."""
        form = self.score.form(self._total)
        if form is None or not isinstance(self.source, MemoryCounts):
            return None
        table, n = self.source.table, len(self.names)
        bits = self.source.bits
        weights = np.empty(0)
        if table.weights is None:
            bits.pack(range(n))
        else:
            weights = table.weights.astype(np.float64)
        prior = self.score.structure_prior
        return RowData(
            table.codes, bits.words, bits.first, table.schema.cards, weights,
            clogc_table(self._total), *form, prior.by_count(n), prior.by_edge(n),
            self.max_parents, self.max_cells,
        )  # fmt: skip

    def _scores_by_counts(self, child: int, parents: Ints) -> Floats:
        """One row from one batch of tables with axes (parents…, child, added parent)."""
        n, cards = len(self.names), self.source.schema.cards
        scope = (*parents.tolist(), child)
        cells = float(np.prod(cards[list(scope)], dtype=float))
        room = len(parents) < self.max_parents
        fits = [room and cells * cards[y] <= self.max_cells for y in range(n)]
        added = [y for y in range(n) if y not in scope and fits[y]]
        subsets: list[Sequence[int]] = [scope, *((*scope, y) for y in added)]
        batch = self.source.counts(subsets, missing="error", max_cells=2**62)
        scores = np.full(n, -np.inf)
        scores[child] = self._score(batch[0], child, parents.tolist(), None)
        for i, y in enumerate(added):
            scores[y] = self._score(batch[i + 1], child, parents.tolist(), y)
        for axis, p in enumerate(parents.tolist()):
            fewer = [v for v in parents.tolist() if v != p]
            scores[p] = self._score(batch[0].sum(axis=axis), child, fewer, None)
        return scores

    def _score(self, table: np.ndarray, child: int, parents: list[int], added: int | None) -> float:
        """The score of a table with axes (parents…, child[, added parent]), prior included."""
        form = self.score.form(self._total)
        everyone = parents if added is None else [*parents, added]
        prior = self.score.structure_prior.families(len(self.names), [(child, everyone)])[0]
        if form is None:
            moved = table if added is None else np.swapaxes(table, -1, -2)
            return self.score.family(moved, self._total, child, everyone) + float(prior)
        r = int(self.source.schema.cards[child])
        s = 1 if added is None else int(self.source.schema.cards[added])
        flat = np.ascontiguousarray(table, dtype=np.float64).ravel()
        q = flat.size // (r * s)
        value = _kernels.score_table(flat, q, r, s, *form, log_table(flat))
        return float(value + prior)

    def _enter(self, child: int, parents: Ints, scores: Floats) -> int:
        """Store a finished row."""
        store = self.store
        slot = int(_row_kernels.claim_slot(store, child, parents))
        store.scores[slot] = scores
        is_parent = np.zeros(len(self.names), dtype=bool)
        is_parent[parents] = True
        store.n_improving[slot] = _row_kernels.rank_improving(
            store.scores[slot], child, is_parent, store.improving[slot]
        )
        store.ring[3] += 1
        return slot

    def _check(self, child: int, parents: Ints) -> None:
        n = len(self.names)
        distinct = set(parents.tolist())
        if not 0 <= child < n or len(distinct) < len(parents) or child in distinct:
            raise ScopeError(f"family {child} | {parents.tolist()} repeats or misses a variable.")
        if distinct and not (min(distinct) >= 0 and max(distinct) < n):
            raise ScopeError(f"parents {parents.tolist()} must lie between 0 and {n - 1}.")
        cells = np.prod(self.source.schema.cards[[*distinct, child]], dtype=float)
        if len(distinct) > self.max_parents or cells > self.max_cells:
            raise ScopeError(
                f"family {child} | {parents.tolist()} has {len(distinct)} parents and {cells:.3g} "
                f"cells; the cache holds up to {self.max_parents} and {self.max_cells:,}."
            )


def _total_weight(source: CountSource) -> float:
    if source.total_weight is None:
        return float(source.counts([()]).n[0])
    return source.total_weight


def _make_store(n: int, memory: int) -> RowStore:
    """Empty rows for n variables; pages are touched only as rows are filled."""
    words = -(-n // 64)
    slots = max(64, memory // (16 * n + 8 * words + 40))
    buckets = 1 << int(np.ceil(np.log2(2 * slots)))
    rng = np.random.default_rng(0)
    return RowStore(
        zobrist=rng.integers(0, 2**64, (2, n), dtype=np.uint64),
        head=np.full(buckets, -1, dtype=np.int64),
        next=np.full(slots, -1, dtype=np.int64),
        keys=np.zeros(slots, dtype=np.uint64),
        child=np.zeros(slots, dtype=np.int64),
        parents=np.zeros((slots, words), dtype=np.uint64),
        scores=np.empty((slots, n)),
        improving=np.empty((slots, n), dtype=np.int64),
        n_improving=np.zeros(slots, dtype=np.int64),
        ring=np.zeros(4, dtype=np.int64),
    )
