"""Boosted trees as a part of a classifier: no path looks at more than three columns.

So the sum of all trees is, exactly, a sum of tables of one to three (rarely four) columns. Numbers
have up to 129 intervals, found without the class. Five folds choose the shape and the number of
trees by the loss of held-out rows; the part is the mean of the fits to the folds and, up to 2,000
rows, of as many fits to all rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterpane._core import boosting as kernels
from counterpane.additive.binning import Binning
from counterpane.additive.boosted_member import BoostedMember
from counterpane.learners.boosting.boosting_search import BoostingSearch, Judge, ShapesTried
from counterpane.learners.boosting.find_binning import find_binning
from counterpane.learners.boosting.fold_boosting import BinnedRows, BoostedFit, FoldFits, by_class
from counterpane.learners.classifiers.additive_learner import SortedTraining
from counterpane.learners.classifiers.folds import HeldOut, join_folds
from counterpane.learners.classifiers.training_data import Training
from counterpane.typing import Floats


class BoostedPart:
    """Boosted trees on the folds of a classifier, as a member of its model."""

    def __init__(
        self,
        training: Training,
        sorted_training: SortedTraining,
        held: Floats,
        rng: np.random.Generator,
        *,
        judge: Judge | None = None,
        n_jobs: int = 1,
    ) -> None:
        rows, weights = sorted_training.rows, sorted_training.weights
        self.sorted_training, self.held = sorted_training, held
        self.binning: Binning = find_binning(
            tuple(training.table.schema),
            sorted_training.codes,
            sorted(training.numeric),
            sorted_training.numbers,
            weights,
            rng,
            columns=sorted_training.layout.columns.tolist(),
        )
        bins = self.binning(sorted_training.codes, sorted_training.numbers)
        self.rows = BinnedRows(
            bins, self.binning.n_bins, self.binning.ordered, rows.labels, rows.n_classes
        )
        seed = int(rng.integers(2**31))
        self.search = BoostingSearch(
            self.rows, weights, held, seed=seed, judge=judge, n_jobs=n_jobs
        )

    def folds(self, state: ShapesTried) -> FoldFits:
        """The fits of the best candidate; none where nothing was tried."""
        if not state.done:
            return FoldFits([], 0, float("nan"))
        return self.search.folds(state)

    def whole(self, state: ShapesTried, folds: FoldFits) -> list[BoostedFit]:
        """Fits to all rows; none where there are many rows, or no trees."""
        return self.search.all_rows(state, folds) if folds.rounds else []

    def log_proba(self, folds: FoldFits) -> list[Floats]:
        """ln P(class) of the held-out rows of each fold."""
        return folds.held_out(self.rows, self.held)

    def held_out(self, folds: FoldFits) -> HeldOut | None:
        """The predictions of held-out rows."""
        if not folds.fits:
            return None
        parts = [
            (logs, self.rows.labels[h > 0], h[h > 0])
            for logs, h in zip(self.log_proba(folds), self.held, strict=False)
        ]
        return join_folds(parts)

    def member(self, folds: FoldFits, whole: Sequence[BoostedFit]) -> BoostedMember:
        """The mean of the mean of the folds' fits and that of the fits to all rows."""
        fits = [(fit, folds.rounds) for fit in folds.fits] + [(fit, fit.rounds) for fit in whole]
        halves = 2.0 if whole else 1.0
        scales = [1 / (halves * max(len(folds.fits), 1))] * len(folds.fits)
        scales += [1 / (halves * max(len(whole), 1))] * len(whole)
        weights = self.sorted_training.weights
        starts = [fit.start for fit, _ in fits] or [self.rows.start(weights)]
        start = np.asarray(scales or [1.0]) @ np.stack(starts)
        constant = by_class(start[None])[0] if self.rows.n_classes > 1 else start
        back = np.argsort(self.sorted_training.layout.classes)
        n_scores = 1 if self.rows.n_classes == 2 else self.rows.n_classes
        parts = [(f.trees, n, s) for (f, n), s in zip(fits, scales, strict=True)]
        trees = joined_trees(parts, n_scores)
        values = trees.values
        if values.shape[2] == 1:  # the log-odds of sorted class 1
            values = values if back[0] == 0 else -values
        else:
            values = values[:, :, back]
        shares = np.array(
            [np.bincount(column, weights, kernels.MOST_BINS) for column in self.rows.bins.T]
        ).reshape(-1, kernels.MOST_BINS)
        trees = trees._replace(values=np.ascontiguousarray(values))
        return BoostedMember(
            self.binning,
            constant[back],
            trees,
            shares / weights.sum(),
            np.array([min(n, fit.rounds) for fit, n in fits], dtype=np.int64),
            np.array(scales, dtype=np.float64),
        )


def joined_trees(parts: Sequence[tuple[kernels.Trees, int, float]], n_scores: int) -> kernels.Trees:
    """The first trees of several fits in one, with values times a scale."""
    if not parts:
        return kernels.Trees(
            np.full((0, 1), -1, dtype=np.int16),
            np.zeros((0, 1), dtype=np.int16),
            np.zeros((0, 1, 4), dtype=np.uint64),
            np.zeros((0, 1), dtype=np.float32),
            np.zeros((0, 1, n_scores), dtype=np.float32),
        )
    structure = [
        np.concatenate([trees[k][:n] for trees, n, _ in parts]) for k in range(len(parts[0][0]) - 1)
    ]
    values = [trees.values[:n] * np.float32(scale) for trees, n, scale in parts]
    return kernels.Trees._make([*structure, np.concatenate(values)])
