"""Stability selection: how often a search selects an interaction on random halves of the rows.

The search of the chosen structure runs again, cuts included, on random halves of the rows, drawn
without replacement in complementary pairs. A half varies as much as a bootstrap sample and has no
row twice: a search that leaves a row out, or compares a gain with chance, would take the second
copy of a row for evidence, and select dozens of useless interactions.

N. Meinshausen and P. Bühlmann, Stability selection, J. R. Stat. Soc. B 72 (2010);
R. Shah and R. Samworth, Variable selection with error control, J. R. Stat. Soc. B 75 (2013).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane.learners.classifiers.faces.face_tables import face_columns
from counterpane.learners.classifiers.folds import deal_folds
from counterpane.learners.classifiers.interactions.canonical_rows import RawRows
from counterpane.learners.classifiers.interactions.fold_data import FoldData
from counterpane.learners.classifiers.interactions.interaction_search import FoldStructures
from counterpane.learners.classifiers.interactions.ridge import Interaction
from counterpane.learners.driver import Search
from counterpane.parallel import map_in_threads
from counterpane.progress import Control
from counterpane.typing import Floats, Ints

SAMPLES = 20  # of "auto", for tables that are small enough
MAX_WORK = 2**19  # distinct rows × columns² above which "auto" takes no samples


class SharesState(NamedTuple):
    """The number of samples so far, and how often each interaction was selected.

    `selected` are the columns of the interactions, padded with −1.
    """

    done: int
    selected: Ints
    counts: Ints

    @property
    def shares(self) -> dict[Interaction, float]:
        """The share of samples on which each interaction was selected."""
        interactions = map(face_columns, self.selected.tolist())
        shares = (self.counts / max(self.done, 1)).tolist()
        return dict(zip(interactions, shares, strict=True))


def auto_samples(rows: RawRows) -> int:
    """The number of samples of "auto", by the size of the table."""
    columns, n_rows = rows.codes.shape
    small = n_rows * columns**2 <= MAX_WORK
    return SAMPLES if small and rows.n_classes > 1 and n_rows > 1 else 0


class SelectionSearch(Search[SharesState]):
    """Runs the search of one structure on half samples: two complementary halves per step."""

    def __init__(
        self,
        rows: RawRows,
        weights: Floats,
        structure: str,
        samples: int,
        rng: np.random.Generator,
        *,
        n_jobs: int = 1,
    ) -> None:
        self.rows, self.weights = rows, weights
        self.structure, self.samples, self.rng = structure, samples, rng
        self.n_jobs = n_jobs

    def start(self) -> SharesState:
        """No sample."""
        none: Ints = np.empty(0, dtype=np.int64)
        return SharesState(0, np.empty((0, 3), dtype=np.int64), none)

    def done(self, state: SharesState) -> bool:
        """Whether all samples were taken."""
        return state.done >= self.samples

    def size(self, state: SharesState) -> tuple[float, float | None]:
        """Samples so far, of all."""
        return float(state.done), float(self.samples)

    def step(self, state: SharesState, ctl: Control) -> tuple[SharesState, dict[str, Any]]:
        """The two halves of one more division of the rows."""
        halves = deal_folds(self.rows.labels, self.weights, 2, self.rng)
        samples = [*halves][: self.samples - state.done]
        selected = map_in_threads(self._select, samples, self.n_jobs)
        rows = np.concatenate([np.repeat(state.selected, state.counts, axis=0), *selected])
        distinct, counts = np.unique(rows, axis=0, return_counts=True)
        return SharesState(state.done + len(samples), distinct, counts), {}

    def _select(self, half: Floats) -> Ints:
        """The interactions of two or three columns that are selected on a half, a row each."""
        structures = FoldStructures(FoldData(self.rows, half, np.zeros_like(half)))
        selected = structures.structure(self.structure).interactions
        rows = [(*s, -1)[:3] for s in selected if len(s) > 1]
        return np.array(rows, dtype=np.int64).reshape(-1, 3)
