"""Cuts of numbers from boosted trees: thresholds that matter alone or together with others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from counterpane.learn.boosting.boosting_search import SHAPES
from counterpane.learn.boosting.find_binning import find_binning
from counterpane.learn.boosting.fold_boosting import BinnedRows, FoldFits, boost_folds, by_class
from counterpane.learn.classifiers.folds import deal_folds
from counterpane.learn.classifiers.interactions.canonical_rows import canonical_rows, table_rows
from counterpane.learn.classifiers.training_data import Training
from counterpane.typing import Array, Floats

MOST_CUTS = 15  # of a column
SHAPE = SHAPES["large"]
N_FOLDS, N_FITS = 5, 2  # so many of the folds are boosted
MAX_ROWS = 20_000  # distinct ones; of more rows, so many are drawn
PROFILE_ROWS = 64
PROFILE_CELLS = 2**22  # rows × bins × columns, at most

CutsByName = Mapping[str, Floats]


class TreeCuts:
    """Cuts of columns of numbers, ordered by what each tells of the classes.

    Trees with at most three columns on a path are boosted on fine bins. A column's profile is how
    the scores of some rows change with that column, the other columns being as they are; so a
    column that matters only together with others has one. Adjacent bins are merged by Ward's
    method, which loses least of the profile's variance. `losses` has, for each column of numbers,
    its cuts and the share of the variance of all scores that is lost by the merge at each.
    """

    def __init__(self, training: Training, *, n_jobs: int = 1) -> None:
        self.losses: dict[str, tuple[Floats, Floats]] = {}
        rows, weights, layout = canonical_rows(training)
        codes, numbers = table_rows(rows, layout)
        labels, rng = rows.labels, np.random.default_rng(0)
        if len(weights) > MAX_ROWS:
            drawn = np.sort(rng.choice(len(weights), MAX_ROWS, replace=False))
            codes, numbers = codes[:, drawn], numbers[:, drawn]
            labels, weights = labels[drawn], weights[drawn]
        held = deal_folds(labels, weights, N_FOLDS, rng)[:N_FITS]
        if not len(held) or len(np.unique(labels)) < 2:
            return
        schema = training.table.schema
        binning = find_binning(
            tuple(schema),
            codes,
            sorted(training.numeric),
            numbers,
            weights,
            rng,
            columns=layout.columns.tolist(),
        )
        bins = binning(codes, numbers)
        binned = BinnedRows(bins, binning.n_bins, binning.ordered, labels, rows.n_classes)
        seed = int(rng.integers(2**31))
        fits = boost_folds(binned, weights, held, SHAPE, seed=seed, n_jobs=n_jobs)
        shares = weights / weights.sum()
        scores = mean_scores(fits, bins)
        variance = float(shares @ ((scores - shares @ scores) ** 2).sum(axis=1))
        if not variance > 0:
            return
        cells = int((binning.n_bins * (binning.numbers >= 0)).sum())
        n_profiles = max(1, min(PROFILE_ROWS, PROFILE_CELLS // max(cells, 1)))
        some = bins[np.sort(rng.choice(len(bins), n_profiles, p=shares))]
        for j, cuts in enumerate(binning.cuts):
            if binning.numbers[j] >= 0 and len(cuts):
                by_bin = np.bincount(bins[:, j], shares, len(cuts) + 2)[1:].astype(np.float64)
                losses = merge_losses(_profile(fits, some, j, len(cuts) + 1), by_bin)
                self.losses[schema.names[binning.columns[j]]] = cuts, losses / variance

    def above(self, level: float, most: int = MOST_CUTS) -> dict[str, Floats]:
        """The cuts that lose more than `level`, the `most` largest of each column."""
        chosen = {}
        for name, (cuts, losses) in self.losses.items():
            best = np.argsort(-losses, kind="stable")[:most]
            best = np.sort(best[losses[best] > level])
            if len(best):
                chosen[name] = cuts[best]
        return chosen


def mean_scores(fits: FoldFits, bins: Array) -> Floats:
    """The scores of rows of bins, (rows, classes), less their mean over the classes."""
    scores: Floats = np.mean([by_class(f.scores(bins, fits.rounds)) for f in fits.fits], axis=0)
    return np.asarray(scores - scores.mean(axis=1, keepdims=True))


def _profile(fits: FoldFits, bins: Array, column: int, n_bins: int) -> Floats:
    """Scores of some rows with each bin of a column but 0, (bins, rows × classes)."""
    rows = np.repeat(bins[None], n_bins, axis=0)
    rows[:, :, column] = np.arange(1, n_bins + 1)[:, None]
    scores = mean_scores(fits, np.ascontiguousarray(rows.reshape(-1, bins.shape[1])))
    return np.asarray(scores.reshape(n_bins, -1) / np.sqrt(len(bins)))


def merge_losses(profile: Floats, weights: Floats) -> Floats:
    """What is lost of a profile's weighted variance when the bins at each boundary are merged.

    Of all adjacent groups of bins those are merged, one pair after the other, that lose least; the
    loss of a boundary is at least that of all merges before.

    >>> merge_losses(np.array([[0.0], [0.0], [1.0], [1.0]]), np.full(4, 0.25)).tolist()
    [0.0, 0.25, 0.0]
    """
    means, sizes = profile.copy(), np.maximum(weights, 1e-12)
    firsts = list(range(len(profile)))

    def loss(k: int) -> float:
        a, b = firsts[k], firsts[k + 1]
        share = sizes[a] * sizes[b] / (sizes[a] + sizes[b])
        return float(share * ((means[a] - means[b]) ** 2).sum())

    pending = [loss(k) for k in range(len(firsts) - 1)]
    losses = np.zeros(len(pending))
    highest = 0.0
    while pending:
        k = int(np.argmin(pending))
        highest = max(highest, pending[k])
        a, b = firsts[k], firsts[k + 1]
        losses[b - 1] = highest
        means[a] = (sizes[a] * means[a] + sizes[b] * means[b]) / (sizes[a] + sizes[b])
        sizes[a] += sizes[b]
        del firsts[k + 1], pending[k]
        if k < len(pending):
            pending[k] = loss(k)
        if k:
            pending[k - 1] = loss(k - 1)
    return losses
