"""How often a search selects an interaction when it sees other rows of the same kind.

The search of the chosen structure runs again, cuts included, on random halves of the rows, drawn
without replacement in complementary pairs (stability selection). A half varies as much as a
bootstrap sample, and holds no row twice: a search that leaves a row out, or compares a gain with
chance, takes the second copy of a row for evidence, and selects dozens of useless interactions.

N. Meinshausen and P. Bühlmann, Stability selection, J. R. Stat. Soc. B 72 (2010);
R. Shah and R. Samworth, Variable selection with error control, J. R. Stat. Soc. B 75 (2013).
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from counterpane.learn.classifiers.folds import deal_folds
from counterpane.learn.classifiers.interactions.face_design import Face
from counterpane.learn.classifiers.interactions.fold_coding import RawRows
from counterpane.learn.classifiers.interactions.interaction_structures import Part
from counterpane.learn.driver import Search
from counterpane.parallel import map_in_threads
from counterpane.progress import Control
from counterpane.typing import Floats

SAMPLES = 20  # of "auto", for tables that are small enough
MAX_WORK = 2**19  # distinct rows × columns², above which "auto" takes no samples


class SamplesDone(NamedTuple):
    """How many samples were looked at."""

    done: int


def auto_samples(rows: RawRows) -> int:
    """The number of samples of "auto"; it depends on the size of the table and not on the clock."""
    columns, n_rows = rows.codes.shape
    small = n_rows * columns**2 <= MAX_WORK
    return SAMPLES if small and rows.n_classes > 1 and n_rows > 1 else 0


class SelectionShares(Search[SamplesDone]):
    """Runs one search on half samples; `shares` has the share of them that each face is in."""

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
        self.counts: Counter[Face] = Counter()

    def start(self) -> SamplesDone:
        """No sample looked at."""
        return SamplesDone(0)

    def done(self, state: SamplesDone) -> bool:
        """Whether all samples were looked at."""
        return state.done >= self.samples

    def size(self, state: SamplesDone) -> tuple[float, float | None]:
        """Samples done, of all."""
        return float(state.done), float(self.samples)

    def step(self, state: SamplesDone, ctl: Control) -> tuple[SamplesDone, dict[str, Any]]:
        """The two halves of one more division of the rows."""
        halves = deal_folds(self.rows.labels, self.weights, 2, self.rng)
        some = [*halves][: self.samples - state.done]
        for faces in map_in_threads(self._select, some, self.n_jobs):
            self.counts.update(faces)
        return SamplesDone(state.done + len(some)), {}

    def _select(self, half: Floats) -> list[Face]:
        part = Part(self.rows, half, np.zeros_like(half))
        return [face for face in part.structure(self.structure).faces if len(face) > 1]
