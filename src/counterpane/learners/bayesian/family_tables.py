"""The scores of all families over a few variables, as arrays indexed by bit masks.

`FamilyTables` has all families over some columns; `parent_tables` those of each variable and its
likely parents, with their sums over subsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterpane._core import bayesian as kernels
from counterpane._core.bayesian import Tables, log_sum_subsets
from counterpane._core.scores import CONSTANT
from counterpane.counts.source import CountSource
from counterpane.errors import ParameterError, Setting, TableSizeError
from counterpane.graphs import Dag
from counterpane.memory import FEWER_STATES, need_memory
from counterpane.progress import Control
from counterpane.scores import LocalScore, score_families
from counterpane.scores.base import clogc_table, score_pairs
from counterpane.typing import Floats, Ints

SPLIT = 6  # a step counts the sets that agree on the first 6 columns: at most 2⁶ steps
BATCH = 4096  # families scored at a time if the kernels do not know the score


class FamilyTables:
    """The scores of each of `columns` given sets of at most `max_parents` of the others.

    The table's distinct rows are read once. `steps` calls of `count` fill the terms of all sets,
    O(2ᵏ × distinct rows) for k columns; `child` then gives one child's scores. A score that the
    kernels do not know has no steps, and `child` asks the source for its families in batches.

    >>> from counterpane.counts import MemoryCounts
    >>> from counterpane.data.datasets import load_dataset
    >>> from counterpane.scores import BIC
    >>> tables = FamilyTables(MemoryCounts(load_dataset("titanic")), BIC(), [2, 3], 1)
    >>> for step in range(tables.steps):
    ...     tables.count(step)
    >>> tables.child(1).round(3).tolist()  # survived given nothing, given sex
    [-1388.577, -1175.191]
    """

    def __init__(
        self, source: CountSource, score: LocalScore, columns: Sequence[int], max_parents: int
    ) -> None:
        self.source = source
        self.score = score
        self.columns = list(columns)
        self.max_parents = max_parents
        self.cards: Ints = source.schema.cards[self.columns].astype(np.int64)
        n, k = len(source.schema), len(self.columns)
        self._by_count = score.structure_prior.by_count(n)
        by_edge = score.structure_prior.by_edge(n)
        self._by_edge = by_edge[np.ix_(self.columns, self.columns)] if by_edge.size else None
        rows = source.distinct(self.columns)
        rows = rows.resolve_missing("error")
        assert rows.weights is not None
        self._codes = rows.codes.astype(np.uint32)
        self._weights = rows.weights.astype(np.float64)
        self.total = total = float(self._weights.sum())
        # The kernels add terms of sets; an average over rows is not such a sum.
        self.form = None if score.available_case else score.form(total)
        self._logs = clogc_table(total)
        self._ranks, self._rank_of = np.unique(self.cards, return_inverse=True)
        self._split = min(SPLIT, k)
        self.steps = 0 if self.form is None else 2**self._split
        rows_of_terms = 1 + (self._ranks.size if self.form and self.form.kind == CONSTANT else 0)
        if self.steps:  # a label and a count for each cell of the rows met and a column
            widest, met = int(self.cards.max(initial=1)), self._weights.size
            need_memory(12 * widest * met, f"a column with {widest:,} states", FEWER_STATES)
        self.terms: Floats = np.zeros((rows_of_terms, 2**k if self.steps else 0))

    def count(self, step: int) -> None:
        """Fill the terms of the sets of one step."""
        assert self.form is not None
        kernels.fill_terms(
            self._codes, self._weights, self.cards, self._split, step, self.max_parents + 1,
            *self.form, self._ranks, self._logs, self.terms,
        )  # fmt: skip

    def child(self, position: int, *, ctl: Control | None = None) -> Floats:
        """ln-scores of columns[position] given each set of the others, −∞ for larger sets."""
        k = len(self.columns)
        out: Floats = np.full(2 ** (k - 1), -np.inf)
        if self.form is None:
            self._ask(position, out, ctl)
            return out
        row = 1 + int(self._rank_of[position]) if len(self.terms) > 1 else 0
        by_edge = np.zeros(k) if self._by_edge is None else self._by_edge[:, position].copy()
        kernels.fill_families(
            self.terms[0], self.terms[row], self.cards, position, self.max_parents, *self.form,
            self._by_count, by_edge, self.score.structure_prior.by_parameter, out,
        )  # fmt: skip
        return out

    def _ask(self, position: int, out: Floats, ctl: Control | None) -> None:
        others = np.array(self.columns[:position] + self.columns[position + 1 :], dtype=np.int64)
        masks = np.arange(out.size)
        masks = masks[np.bitwise_count(masks) <= self.max_parents]
        for start in range(0, masks.size, BATCH):
            part = masks[start : start + BATCH]
            families = [
                (self.columns[position], columns_of_mask(mask, others)) for mask in part.tolist()
            ]
            out[part] = score_families(self.score, self.source, families, ctl=ctl)


def columns_of_mask(mask: int, others: Ints) -> list[int]:
    """The columns whose bits are set in `mask`, in the order of the bits.

    >>> columns_of_mask(0b101, np.array([4, 5, 7]))
    [4, 7]
    """
    return [int(v) for bit, v in enumerate(others) if mask >> bit & 1]


def checked_limit(max_parents: int | None, n: int) -> int:
    """`max_parents` as a number of other variables; None is all of them."""
    if max_parents is None:
        return n - 1
    if not isinstance(max_parents, (int, np.integer)) or max_parents < 0:
        raise ParameterError(
            Setting("max_parents", max_parents), "; a whole number from 0 is needed."
        )
    return min(int(max_parents), n - 1)


MAX_CELLS = 2**27  # of all tables: 1 GB each for the scores and the sums


@dataclass(frozen=True)
class ParentTables:
    """The tables of the chains; `offsets` are the largest log-scores, which were subtracted."""

    arrays: Tables
    offsets: Floats

    def spread(self, values: Floats, fill: float) -> Floats:
        """(parent, child) from (child, candidate) values; `fill` where there is no candidate."""
        n = len(values)
        out: Floats = np.full((n, n), fill)
        out[self.arrays.candidates, np.arange(n)[:, None]] = values
        return out

    def dag(self, chosen: Ints) -> Dag:
        """The network of a parent set, a mask of candidates, for each node."""
        pairs = zip(chosen.tolist(), self.arrays.candidates, strict=True)
        return Dag.from_parents(columns_of_mask(mask, candidates) for mask, candidates in pairs)

    def best_within(self, ranks: Ints) -> tuple[Dag, float]:
        """The best network in which all parents of a node have a lower rank, and its score."""
        candidates, sets, scores = self.arrays.candidates, self.arrays.sets, self.arrays.scores
        before = ranks[candidates] < ranks[:, None]
        allowed = (before << np.arange(candidates.shape[1])).sum(axis=1)
        first = ((sets & ~allowed[:, None]) == 0).argmax(axis=1)  # the sets are by falling score
        rows = np.arange(len(sets))
        chosen = sets[rows, first]
        return self.dag(chosen), float((scores[rows, chosen] + self.offsets).sum())


def parent_tables(
    source: CountSource,
    score: LocalScore,
    *,
    max_parents: int,
    max_candidates: int,
    ctl: Control | None = None,
) -> ParentTables:
    """The tables of all variables; candidates are those of largest score as the only parent."""
    n = len(source.schema)
    k = min(n - 1, max_candidates)
    if k < 0 or (n > 1 and k < 1):
        raise ParameterError(
            Setting("max_candidates", max_candidates), "; a number from 1 is needed."
        )
    if n * 2**k > MAX_CELLS:
        raise TableSizeError(
            f"{n:,} variables with {k} candidate parents need tables of {n * 2**k:,} cells; the "
            f"limit is {MAX_CELLS:,}: lower max_candidates."
        )
    alone = score_pairs(score, source, range(n), range(n), ctl=ctl)
    np.fill_diagonal(alone, -np.inf)
    candidates = np.sort(np.argsort(-alone, axis=1, kind="stable")[:, :k], axis=1)
    bits = np.zeros((n, n), dtype=np.int64)
    np.put_along_axis(bits, candidates, np.left_shift(1, np.arange(k))[None, :], axis=1)
    scores: Floats = np.empty((n, 2**k))
    for child in range(n):
        tables = FamilyTables(source, score, [*candidates[child].tolist(), child], max_parents)
        for step in range(tables.steps):
            if ctl is not None:
                ctl.check()
            tables.count(step)
        scores[child] = tables.child(k, ctl=ctl)
    offsets = scores.max(axis=1)
    scores -= offsets[:, None]
    sums = scores.copy()
    for row in sums:
        log_sum_subsets(row)
    masks = np.arange(2**k)
    sets = masks[np.bitwise_count(masks) <= max_parents]
    sets = sets[np.argsort(-scores[:, sets], axis=1, kind="stable")]
    return ParentTables(Tables(candidates, bits, sets, scores, sums), offsets)
