"""The two screens of a wide search on a card, judged exactly on the host.

The card lists what can gain: pairs, and columns given a family, whose log-likelihood ratio is above
what a gain needs. It is at most N ln(1 + χ² / N), so that few logarithms are taken. The host
computes the gains of what is listed, so that the search sees the same numbers as without a card.
"""

from __future__ import annotations

import numpy as np

from counterpane._core import wide as kernels
from counterpane._core.scores import LIKELIHOOD
from counterpane._core.wide import WideData
from counterpane.counts.candidates import CandidateCounter
from counterpane.parallel import map_in_threads
from counterpane.ragged import groups_of
from counterpane.typing import Array, Floats, Ints

TASKS = 2**12  # families of one batch on the card
BINARY_TASKS = 2**14  # where its columns are binary
SLACK = 1e-6


class CardScreens:
    """Screens of the columns of `source`, which stand in the order of `data`."""

    def __init__(self, source: CandidateCounter, data: WideData, keep: Floats, n_jobs: int) -> None:
        self.source, self.data, self.keep, self.n_jobs = source, data, keep, n_jobs
        self.n = len(data.cards)
        self.step = source.screened_together
        self.tasks = BINARY_TASKS if source.screens_binary else TASKS
        self.starts = list(range(0, self.n, self.step))
        most = int(data.cards.max())
        d: Floats = np.arange((most - 1) ** 2 + 1, dtype=np.float64)
        least = keep[np.minimum(d.astype(int), len(keep) - 1)] + self._bar(d, d, 0)
        chi = data.n_rows * np.expm1(least / data.n_rows) * (1 - SLACK)
        self.limit = np.where(least <= 0, -1.0, chi)
        self.least = least - SLACK * (1 + np.abs(least))
        self.most = most

    def pairs(self, start: int) -> tuple[Ints, Floats]:
        """The pairs of the columns from `start` on that are kept, with their gains."""
        end = min(start + self.step, self.n)
        listed = self.source.pairs_above_threshold(start, end, self.limit, self.least)

        def judge(part: Ints) -> Floats:
            gains = np.empty(len(part))
            kernels.judge_pairs(self.data, self.keep, part.astype(np.int32), gains)
            return gains

        parts = np.array_split(listed, max(1, self.n_jobs))
        gains = np.concatenate(list(map_in_threads(judge, parts, self.n_jobs)))
        kept = gains > -np.inf
        return listed[kept], gains[kept]

    def families(
        self, first: int, stop: int, parents_from: Ints, parents: Array, children_from: Ints,
        children: Array, most: int,
    ) -> Array:  # fmt: skip
        """Up to `most` columns that gain most given the present family of each node."""

        def choose(start: int) -> Array:
            chosen = np.empty((min(self.tasks, stop - start), 2), dtype=np.int32)
            kernels.choose_families(
                self.data, parents_from, parents, children_from, children, start, chosen
            )
            return chosen

        starts = list(range(first, stop, self.tasks))
        chosen = list(map_in_threads(choose, starts, self.n_jobs))
        listed = [self._listed(s, c) for s, c in zip(starts, chosen, strict=True)]

        def judge(k: int) -> Array:
            best = np.empty((len(chosen[k]), most), dtype=np.int32)
            rows, columns = listed[k][:, 0], listed[k][:, 1].astype(np.int32)
            begins = groups_of(rows, len(best))
            kernels.judge_families(
                self.data, parents_from, parents, starts[k], chosen[k], begins, columns, best
            )
            return best

        return np.concatenate(list(map_in_threads(judge, range(len(starts)), self.n_jobs)))

    def _listed(self, start: int, chosen: Array) -> Ints:
        """(place in the batch, column) of what the card lists for a batch of nodes."""
        some = np.flatnonzero(chosen[:, 0] >= 0)
        if not some.size:
            return np.zeros((0, 2), dtype=np.int64)
        cards, families = self.data.cards, chosen[some].astype(np.int64)
        children = start + some
        both = families[:, 1] >= 0
        q = cards[families[:, 0]] * np.where(both, cards[families[:, 1]], 1)
        d = np.multiply.outer(cards[children] - 1, np.arange(self.most))
        bars = np.where(
            both[:, None], self._bar(d, q[:, None] * d, 2), self._bar(d, q[:, None] * d, 1)
        )
        pairs = self.source.parents_above_threshold(children, families, bars * (1 - SLACK) - SLACK)
        return np.column_stack([some[pairs[:, 0]], pairs[:, 1]])

    def _bar(self, d: Array, parameters: Array, n_parents: int) -> Floats:
        """What one more parent must bring in log-likelihood before it can pay; see `WideData`."""
        data = self.data
        price = data.price[np.minimum(d.astype(np.int64), len(data.price) - 1)]
        prior = data.by_count[n_parents + 1] - data.by_count[n_parents]
        penalty = data.a * parameters if data.kind == LIKELIHOOD else 0.0
        return np.asarray(penalty + price - prior - data.by_parameter * parameters)
