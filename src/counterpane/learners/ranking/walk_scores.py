"""Scores of items by a random walk that starts again and again at the items of a user."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpane.data.schema import Schema
from counterpane.errors import ParameterError, Setting
from counterpane.lazy import lazy
from counterpane.learners.ranking.link_scores import LinkScores, pairs_of, score_arrays
from counterpane.models.arrays import Arrays, store_as
from counterpane.models.record import LearningRecord
from counterpane.typing import Array, Codes, Floats

if TYPE_CHECKING:
    import scipy.sparse as sparse
else:
    sparse = lazy("scipy.sparse")

MAX_DENSE = 2**12  # items whose walks are solved as one dense system; more are iterated
PRECISION = 1e-12  # of an iterated walk: the chance of walks longer than the last step


class WalkScores(LinkScores):
    """score(j) = the share of its time that a walker from the user's items spends at j.

    From item k the walker goes to j with probability `pairs[k, j]`; before each step it stops with
    probability 1 − `damping` and starts anew at an item of the user, all equally likely. So the
    scores of a user are x = (1 − a) Σ_t aᵗ d Pᵗ = (1 − a) d (I − a P)⁻¹. `constants` are added,
    which break the ties of items that no walk reaches.
    """

    kind = "walk_scores"

    def __init__(
        self,
        schema: Schema,
        pairs: Any,
        constants: Floats,
        damping: float,
        *,
        record: LearningRecord | None = None,
    ) -> None:
        super().__init__(schema, pairs, np.zeros(len(schema)), constants, record=record)
        if not 0 <= damping < 1:
            raise ParameterError(
                Setting("damping", damping), "; a number from 0 up to 1 is needed."
            )
        self.damping = float(damping)

    def link_scores(self, codes: Codes) -> Floats:
        """The score of each item for each column of `codes` (items, users): (users, items)."""
        return self.visits(codes) + self.constants

    def visits(self, codes: Codes) -> Floats:
        """The shares of time, (users, items); all are zero for a user without items."""
        sizes = codes.sum(axis=0, dtype=np.int64)
        starts = (codes / np.maximum(sizes, 1)).T
        if len(self.schema) > MAX_DENSE:
            return self._walk(starts)
        visits: Floats = sparse.csr_array(starts) @ self._solved  # rounds each user alone
        return visits

    @cached_property
    def _solved(self) -> Floats:
        """(1 − a) (I − a P)⁻¹: row k has the shares of a walk from item k."""
        n = len(self.schema)
        system = np.eye(n) - self.damping * self.pairs.toarray()
        solution: Floats = (1.0 - self.damping) * np.linalg.inv(system)
        return np.maximum(solution, 0.0)

    def _walk(self, starts: Floats) -> Floats:
        """The same by steps, until longer walks no longer matter."""
        step, left = self.pairs.T.tocsr(), 1.0
        at: Floats = np.ascontiguousarray(starts.T)
        total = (1.0 - self.damping) * at
        while left > PRECISION:
            left *= self.damping
            at = step @ at
            total += (1.0 - self.damping) * left * at
        return np.ascontiguousarray(total.T)


def walk_arrays(model: WalkScores) -> dict[str, Array]:
    """All of the scores but the schema, as arrays."""
    return score_arrays(model) | {"damping": np.array([model.damping])}


def _read(schema: Schema, arrays: Arrays, record: LearningRecord | None) -> WalkScores:
    damping = float(arrays["damping"][0])
    return WalkScores(schema, pairs_of(schema, arrays), arrays["constants"], damping, record=record)


store_as(WalkScores.kind, walk_arrays, _read)
