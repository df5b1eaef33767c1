"""Class probabilities from boosted trees that look at no more than three columns on a path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterpane._core import boosting as kernels
from counterpane.learners.boosting.boosting_search import BoostingSearch, Judge, ShapesTried
from counterpane.learners.boosting.find_binning import find_binning
from counterpane.learners.boosting.fold_boosting import BinnedRows, BoostedFit, FoldFits, by_class
from counterpane.learners.classifiers.additive_learner import AdditiveLearner, SortedTraining
from counterpane.learners.classifiers.folds import HeldOut, deal_folds, first_folds, join_folds
from counterpane.learners.classifiers.interactions.canonical_rows import canonical_rows
from counterpane.learners.classifiers.training_data import Training
from counterpane.models.binning import Binning
from counterpane.models.boosted_member import BoostedMember
from counterpane.seeds import random_generator
from counterpane.typing import Floats

N_FOLDS = 5


class BoostedTables(AdditiveLearner):
    """Learns P(class | row) by boosted trees that are, exactly, a sum of small tables.

    No path of a tree looks at more than three different columns (rarely four), so the sum of all
    trees is a sum of tables of one to three columns, like that of `InteractionClassifier`. Numbers
    have up to 129 intervals, found without the class. Five folds choose among a few shapes of
    trees, and the number of trees, by the loss of held-out rows; the model is the mean of the fits
    to the folds and, up to 2,000 rows, of as many fits to all rows.

    Parameters
    ----------
    keep_rows : bool
        Whether the model keeps distinct training rows, to average over columns without evidence.
    random_state : int, numpy Generator or None
        Draws the folds, the samples of rows and columns, and the cuts of numbers.
    categorical, max_states, max_bins, missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every classifier, see `counterpane.learners.classifiers.classifier.Classifier`.

    Attributes
    ----------
    model_ : AdditiveClassifier
        The model.
    interactions_ : Interactions
        A record for each set of columns, the largest effect first; see `InteractionClassifier`.
    shape_ : str
        The chosen shape of trees: "small", "large", "sparse", "four" or "whole".
    rounds_ : int
        The number of trees of each fit.
    inner_log_loss_ : float
        The log-loss of held-out rows, in nats.
    held_out_ : HeldOut
        The predictions of held-out rows.
    trace_ : list of dict
        The loss of each candidate.

    Examples
    --------
    >>> import counterpane as cp
    >>> classifier = cp.BoostedTables().fit(cp.load_dataset("titanic"), "survived")
    >>> classifier.interactions_[0]["columns"]
    ['sex']
    """

    def _learn(self, training: Training) -> None:
        sorted_training = SortedTraining.of(*canonical_rows(training))
        rng = random_generator(self.random_state)
        n_folds = N_FOLDS if sorted_training.rows.n_classes > 1 else 0
        held = deal_folds(sorted_training.rows.labels, sorted_training.weights, n_folds, rng)
        held = first_folds(held)
        trees = BoostedPart(training, sorted_training, held, rng, n_jobs=self.n_jobs)
        outcome = self._driver(training.source).run(trees.search, "boosting trees")
        self.trace_ = outcome.trace
        folds = trees.folds(outcome.state)
        self.held_out_ = trees.held_out(folds)
        self.shape_ = trees.search.best_shape(outcome.state) if folds.fits else "none"
        self.rounds_ = folds.rounds
        self.inner_log_loss_ = self.held_out_.log_loss if self.held_out_ else float("nan")
        if self.held_out_ is not None and not self.held_out_.beats_prior(errors=0.0):
            folds = folds._replace(rounds=0)
        whole = trees.whole(outcome.state, folds) if outcome.stopped is None else []
        member = trees.member(folds, whole)
        if self.held_out_ is not None:
            self.held_out_ = self.held_out_.with_classes(sorted_training.layout.classes)
        self.model_ = self._build(training, sorted_training, [member], None)


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
