"""Boosted trees on the folds of a table: settings, fits, and held-out predictions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from counterpane._core import boosting as kernels
from counterpane.memory import FEWER_STATES, need_memory
from counterpane.parallel import map_in_threads
from counterpane.ragged import join
from counterpane.typing import Array, Bools, Floats, Ints

RATE = 0.1
MIN_WEIGHT = 3.0  # of the sampled rows on each side of a split
ROW_SHARE = 0.5
PATIENCE = 40
MOST_ROUNDS = 1000
NEARLY_ZERO = 0.001  # nats of held-out loss below which no more trees are added
PENALTY_ROWS = 4.0  # the penalty of a leaf is the curvature of so many rows
TAIL_SLOPE = 1e-4  # by which the loss of a fold that has stopped is taken to rise each round


class TreeShape(NamedTuple):
    """How trees are grown: leaves, columns on a path, shares of columns and rows, the rate."""

    leaves: int
    columns: int
    column_share: float
    rate: float = RATE
    row_share: float = ROW_SHARE


class BinnedRows(NamedTuple):
    """Rows of bins, their classes and weights."""

    bins: Array  # (rows, columns) uint8
    n_bins: Ints
    ordered: Bools
    labels: Ints
    n_classes: int

    def take(self, places: Ints) -> BinnedRows:
        """Some of the rows."""
        bins = np.ascontiguousarray(self.bins[places])
        return self._replace(bins=bins, labels=self.labels[places])

    def start(self, weights: Floats) -> Floats:
        """The scores before the first tree: the log-shares of classes, or their log-odds."""
        counts = np.bincount(self.labels, weights, self.n_classes)
        prior = np.log((counts + 1 / self.n_classes) / (weights.sum() + 1))
        return np.asarray(prior[1:] - prior[:1] if self.n_classes == 2 else prior)


class BoostedFit(NamedTuple):
    """Trees of one fit, the scores before them, and the held-out loss after each."""

    trees: kernels.Trees
    start: Floats
    curve: Floats

    @property
    def rounds(self) -> int:
        """The number of trees."""
        return len(self.curve)

    def first(self, rounds: int) -> BoostedFit:
        """The fit with its first trees only."""
        trees = kernels.Trees._make(array[:rounds] for array in self.trees)
        return BoostedFit(trees, self.start, self.curve[:rounds])

    def scores(self, bins: Array, rounds: int) -> Floats:
        """Scores of rows after some rounds, (rows, scores)."""
        scores = np.repeat(self.start[None], len(bins), axis=0)
        kernels.add_scores(bins, self.trees, min(rounds, self.rounds), scores)
        return scores


def boost_once(
    rows: BinnedRows,
    weights: Floats,
    held: Floats,
    shape: TreeShape,
    *,
    seed: int,
    rounds: int = MOST_ROUNDS,
    sets: Sequence[Sequence[int]] = (),
    base: Floats | None = None,
) -> BoostedFit:
    """One fit to rows of some weights, followed on the rows that are held out.

    Without held-out rows it has `rounds` trees. `sets` confines paths to sets of columns. `base`,
    (rows, scores), are scores of another model that the trees are added to; by default trees start
    from the log-shares of classes.
    """
    n_scores = 1 if rows.n_classes == 2 else rows.n_classes
    n_rows, n_columns = rows.bins.shape
    settings = kernels.Settings(
        rate=shape.rate,
        penalty=PENALTY_ROWS * (rows.n_classes - 1) / rows.n_classes**2,
        min_weight=MIN_WEIGHT,
        row_share=shape.row_share,
        n_columns=max(1, math.ceil(shape.column_share * n_columns)),
        most_leaves=shape.leaves,
        most_columns=shape.columns,
        seed=seed,
        patience=PATIENCE,
        enough=NEARLY_ZERO,
    )
    need_memory(
        12 * n_scores * n_rows, f"boosting {n_scores:,} classes on {n_rows:,} rows", FEWER_STATES
    )
    start = rows.start(weights) if base is None else np.zeros(n_scores)
    scores = np.repeat(start[None], n_rows, axis=0) if base is None else base
    scores = scores.astype(np.float32)
    trees = empty_trees(rounds, shape.leaves, n_scores)
    curve: Floats = np.empty(rounds)
    data = kernels.Data(
        rows.bins, rows.n_bins, rows.ordered, rows.labels, weights, held, rows.n_classes
    )
    done = kernels.boost(data, settings, *join(sets), 0, rounds, scores, trees, curve)
    grown = kernels.Trees._make(array[:done].copy() for array in trees)  # the room is given back
    return BoostedFit(grown, start, curve[:done].copy())


def empty_trees(rounds: int, leaves: int, n_scores: int) -> kernels.Trees:
    """Room for trees, each a single leaf of value zero."""
    nodes = 2 * leaves - 1
    return kernels.Trees(
        np.full((rounds, nodes), -1, dtype=np.int16),
        np.zeros((rounds, nodes), dtype=np.int16),
        np.zeros((rounds, nodes, 4), dtype=np.uint64),
        np.zeros((rounds, nodes), dtype=np.float32),
        np.zeros((rounds, leaves, n_scores), dtype=np.float32),
    )


class FoldFits(NamedTuple):
    """A fit for each fold, one number of rounds for all, and the mean held-out loss at it."""

    fits: list[BoostedFit]
    rounds: int
    log_loss: float

    def held_out(self, rows: BinnedRows, held: Floats) -> list[Floats]:
        """ln P(class) of the held-out rows of each fold, (rows, classes)."""
        return [
            log_softmax(by_class(fit.scores(np.ascontiguousarray(rows.bins[h > 0]), self.rounds)))
            for fit, h in zip(self.fits, held, strict=False)
        ]

    def gains(self) -> dict[tuple[int, ...], float]:
        """What each set of columns gained: a split counts for its path's columns and its own."""
        total: dict[tuple[int, ...], float] = {}
        for fit in self.fits:
            for columns, gain in path_gains(fit.trees, self.rounds):
                total[columns] = total.get(columns, 0.0) + gain
        return total


def path_gains(trees: kernels.Trees, rounds: int) -> list[tuple[tuple[int, ...], float]]:
    """(columns of a split's path with its own, the sum of such gains) over the first trees."""
    column, child, gain = (array[:rounds] for array in (trees.column, trees.child, trees.gain))
    none = np.iinfo(column.dtype).max
    paths = np.full((*column.shape, kernels.MOST_BOX_COLUMNS), none, dtype=column.dtype)
    for node in range(column.shape[1]):  # children follow their parents
        split = np.flatnonzero(column[:, node] >= 0)
        path, own = paths[split, node], column[split, node]
        fresh = (path != own[:, None]).all(axis=1)
        path[fresh, -1] = own[fresh]
        path.sort(axis=1)
        paths[split, node] = path
        for second in (0, 1):
            paths[split, child[split, node] + second] = path
    splits = column >= 0
    sets, places = np.unique(paths[splits], axis=0, return_inverse=True)
    sums = np.bincount(places.reshape(-1), gain[splits], len(sets))
    columns = [tuple(c for c in row if c != none) for row in sets.tolist()]
    return list(zip(columns, sums.tolist(), strict=True))


def boost_folds(
    rows: BinnedRows,
    weights: Floats,
    held: Floats,
    shape: TreeShape,
    *,
    seed: int,
    n_jobs: int = 1,
    sets: Sequence[Sequence[Sequence[int]]] = (),
    rounds: int = MOST_ROUNDS,
) -> FoldFits:
    """A fit to the rest of each fold; the rounds are those of the least mean held-out loss.

    Each fold's own best number of rounds would make its held-out predictions too good.
    """

    def fit(k: int) -> BoostedFit:
        own = sets[k] if sets else ()
        return boost_once(
            rows, weights - held[k], held[k], shape, seed=seed + k, sets=own, rounds=rounds
        )

    fits = list(map_in_threads(fit, range(len(held)), n_jobs))
    longest = max(f.rounds for f in fits)
    total = np.zeros(longest)
    for f, own in zip(fits, held, strict=True):
        tail = f.curve[-1] + TAIL_SLOPE * np.arange(1, longest - f.rounds + 1)
        total += own.sum() * np.append(f.curve, tail)
    total /= held.sum()
    best = int(total.argmin())
    return FoldFits(fits, best + 1, float(total[best]))


def by_class(scores: Floats) -> Floats:
    """Scores of all classes, from those of the log-odds of class 1 if there are two."""
    if scores.shape[1] > 1:
        return scores
    return np.concatenate([-scores / 2, scores / 2], axis=1)


def log_softmax(scores: Floats) -> Floats:
    """ln of the normalized exponentials of each row."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))
