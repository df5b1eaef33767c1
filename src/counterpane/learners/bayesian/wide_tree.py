"""Chow–Liu trees of wide tables: the exact maximum forest, in memory linear in the columns.

All pairs are screened span by span. The maximum forest of a union is that of the parts' forests, so
that only the forest so far and the pairs of one span are held. For a spanning tree, pairs that
chance alone explains are left out at first: what is kept is the exact beginning of the tree. Where
columns remain outside of the largest part, they are then scored with all columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane._core import wide as kernels
from counterpane._core.wide import WideData
from counterpane.learners.bayesian.wide_search import (
    LANES,
    chance_gains,
    lane_blocks,
    screened_pairs,
    span_ends,
)
from counterpane.learners.driver import Search
from counterpane.parallel import map_in_threads
from counterpane.progress import Control
from counterpane.ragged import groups_of
from counterpane.typing import Floats, Ints


class ForestState(NamedTuple):
    """The pairs of the forest so far, end to end, with their gains, and how many steps are done."""

    pairs: Ints
    gains: Floats
    steps: int


class WideForest(Search[ForestState]):
    """The forest of greatest gain; with `spanning`, one tree whatever an edge gains."""

    def __init__(self, data: WideData, *, spanning: bool, n_jobs: int) -> None:
        self.data = data
        self.n = len(data.cards)
        self.n_jobs = n_jobs
        self.spanning = spanning
        self.ends = span_ends(data)
        self.starts = list(range(0, len(self.ends), n_jobs))
        none: Floats = np.zeros(len(data.price))
        self.keep = np.maximum(none, chance_gains(data)) if spanning else none

    def start(self) -> ForestState:
        return ForestState(np.zeros(0, dtype=np.int64), np.zeros(0), 0)

    def done(self, state: ForestState) -> bool:
        return state.steps >= len(self.starts) + self.spanning

    def size(self, state: ForestState) -> tuple[float, float]:
        return state.steps, len(self.starts) + self.spanning

    def step(self, state: ForestState, ctl: Control) -> tuple[ForestState, dict[str, Any]]:
        pairs, gains = state.pairs.reshape(-1, 2), state.gains
        if state.steps < len(self.starts):
            first = self.starts[state.steps]
            spans = list(range(first, min(first + self.n_jobs, len(self.ends))))
            forests = list(map_in_threads(self._forest_of_span, spans, self.n_jobs))
        else:
            forests = [self._join_the_rest(pairs, gains)]
        pairs = np.concatenate([pairs, *(p for p, _ in forests)])
        gains = np.concatenate([gains, *(g for _, g in forests)])
        pairs, gains = self._forest(pairs, gains)
        state = ForestState(pairs.ravel(), gains, state.steps + 1)
        return state, {"stage": "screen", "edges": len(gains)}

    def _forest_of_span(self, k: int) -> tuple[Ints, Floats]:
        begin = 0 if k == 0 else int(self.ends[k - 1])
        pairs, gains = np.zeros((0, 2), dtype=np.int64), np.zeros(0)
        for more, theirs in screened_pairs(self.data, self.keep, begin, int(self.ends[k])):
            pairs, gains = np.concatenate([pairs, more]), np.concatenate([gains, theirs])
            pairs, gains = self._forest(pairs, gains)
        return pairs, gains

    def _forest(self, pairs: Ints, gains: Floats) -> tuple[Ints, Floats]:
        """The maximum forest of some pairs; of equal gains, the pair of earlier columns."""
        rounded = np.round(gains, 6)  # the last bits must not decide between equals
        order = np.lexsort((pairs[:, 1], pairs[:, 0], -rounded))
        ranked = np.ascontiguousarray(pairs[order], dtype=np.int32)
        root, kept = np.empty(self.n, dtype=np.int64), np.empty(len(order), dtype=bool)
        kernels.join_pairs(ranked, root, kept)
        return pairs[order[kept]], gains[order[kept]]

    def _join_the_rest(self, pairs: Ints, gains: Floats) -> tuple[Ints, Floats]:
        """The pairs of all columns outside the largest part with every column, as a forest."""
        root = np.empty(self.n, dtype=np.int64)
        kept = np.empty(len(pairs), dtype=bool)
        kernels.join_pairs(pairs.astype(np.int32), root, kept)
        labels, place = np.unique(root, return_inverse=True)
        sizes = np.diff(groups_of(np.sort(place), len(labels)))
        outside = place != int(np.argmax(sizes))
        cards = self.data.cards
        some = lane_blocks(np.where(outside, 1, cards)), lane_blocks(np.where(outside, cards, 1))
        none = np.zeros((0, 2), dtype=np.int64), np.zeros(0)
        if not len(some[1]):
            return self._with_constants(*none)
        data = self.data._replace(lanes=np.concatenate(some).reshape(-1, LANES))
        every = np.full(len(self.keep), -np.inf)
        begin, forest = len(some[0]), none
        for block in range(begin, len(data.lanes)):
            for more, theirs in screened_pairs(data, every, block, block + 1):
                joined = np.concatenate([forest[0], more]), np.concatenate([forest[1], theirs])
                forest = self._forest(*joined)
        return self._with_constants(*forest)

    def _with_constants(self, pairs: Ints, gains: Floats) -> tuple[Ints, Floats]:
        """Constants depend on nothing: they hang on the first column."""
        alone = np.flatnonzero(self.data.cards < 2)
        alone = alone[alone > 0]
        more = np.column_stack([np.zeros_like(alone), alone])
        if len(self.data.cards) and self.data.cards[0] < 2 and len(alone) < self.n - 1:
            other = int(np.flatnonzero(self.data.cards > 1)[0])
            more = np.concatenate([more, [[0, other]]])
        return np.concatenate([pairs, more]), np.concatenate([gains, np.zeros(len(more))])


def rooted_parents(pairs: Ints, n: int, root: int) -> Ints:
    """The parent of each node of a forest, −1 for roots: `root`, and the lowest node of each tree.

    >>> rooted_parents(np.array([[0, 1], [1, 2]]), 4, 2).tolist()
    [1, 2, -1, -1]
    """
    ends, others = pairs.T.ravel(), pairs[:, ::-1].T.ravel()
    order = np.argsort(ends, kind="stable")
    offsets, lists = groups_of(ends[order], n).tolist(), others[order].tolist()
    parents = [-2] * n
    for start in (root, *range(n)):
        if parents[start] != -2:
            continue
        parents[start] = -1
        waiting = [start]
        while waiting:
            v = waiting.pop()
            for u in lists[offsets[v] : offsets[v + 1]]:
                if parents[u] == -2:
                    parents[u] = v
                    waiting.append(u)
    result: Ints = np.array(parents, dtype=np.int64)
    return result
