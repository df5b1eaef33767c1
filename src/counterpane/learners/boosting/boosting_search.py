"""The choice of a tree shape by held-out loss, the sets of columns, and the fits that are averaged.

All candidates share the folds. With many rows they are compared on the first fold only, with very
many on a sample of its training rows, and the chosen one is fitted on all folds in a last step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from counterpane.learners.boosting.fold_boosting import (
    MOST_ROUNDS,
    BinnedRows,
    BoostedFit,
    FoldFits,
    TreeShape,
    boost_folds,
    boost_once,
)
from counterpane.learners.driver import Search
from counterpane.parallel import map_in_threads
from counterpane.progress import Control
from counterpane.typing import Floats, Ints

SHAPES = {
    "small": TreeShape(leaves=8, columns=3, column_share=0.8),
    "large": TreeShape(leaves=24, columns=3, column_share=0.8),
    "sparse": TreeShape(leaves=8, columns=3, column_share=0.3),
    "four": TreeShape(leaves=24, columns=4, column_share=0.8),
    # Half of the rows may be too few to find columns that matter only together, beside idle ones.
    "whole": TreeShape(leaves=24, columns=4, column_share=0.8, row_share=1.0),
}
DEEP = ("four", "whole")  # four columns on a path
FEW_SETS = "few sets"
ALL_FOLDS = "all folds"
LATER = (FEW_SETS, ALL_FOLDS)  # steps with the best of the shapes
FOUR_GAIN = 0.02  # by which four columns on a path must be better than three
FEW_LOSS = 0.005  # that confining paths to few sets of columns may cost
LEAST_SETS = 32
MANY_ROWS = 3000  # from which candidates are compared on one fold
TRIED_ROWS = 50_000  # training rows of that fold, at most
MANY_SCORES = 2**22  # rows × classes from which there is one shape, of fast steps, on two folds
FAST_RATE = 0.3
MANY_COLUMNS = 1000  # from which there is one shape, of few drawn columns
DRAWN_COLUMNS = 300  # for a tree, where there are many columns
FEW_ROWS = 2000  # up to which there are fits to all rows besides
MORE_ROUNDS = 1.1  # of fits to all rows, which have more of them
FIRST_ROUNDS = 150  # of a fit that only finds sets of columns

Judge = Callable[[Sequence[Floats]], float]
"""The loss of held-out predictions, ln P(class), one array for each fold that was fitted."""


class ShapesTried(NamedTuple):
    """How many candidates were tried, and the held-out loss of each."""

    done: int
    losses: Floats


class BoostingSearch(Search[ShapesTried]):
    """Each step fits one more candidate: the shapes, the best with few sets, that on all folds.

    Parameters
    ----------
    rows, weights
        All rows, and their weights.
    held
        The weight of each row in each fold, (folds, rows).
    judge
        How held-out predictions are judged; by default by their mean log-loss.
    """

    def __init__(
        self,
        rows: BinnedRows,
        weights: Floats,
        held: Floats,
        *,
        seed: int,
        judge: Judge | None = None,
        n_jobs: int = 1,
    ) -> None:
        heavy = len(weights) * rows.n_classes > MANY_SCORES and rows.n_classes > 2
        held = held[:2] if heavy else held
        self.rows, self.weights, self.held = rows, weights, held
        self.seed, self.n_jobs = seed, n_jobs
        self.judge = judge or self.mean_loss
        n_columns = rows.bins.shape[1]
        self.shapes = shapes_for(n_columns)
        if heavy:
            name = "large" if "large" in self.shapes else "sparse"
            self.shapes = {name: self.shapes[name]._replace(rate=FAST_RATE)}
        self.names = [*self.shapes, *([FEW_SETS] if n_columns > 1 and not heavy else [])]
        self.tried_on = held[:1] if len(weights) > MANY_ROWS and not heavy else held
        self.thin = len(weights) > 2 * TRIED_ROWS
        self.names += [ALL_FOLDS] if self.thin or len(self.tried_on) < len(held) else []
        self._fits: dict[str, FoldFits] = {}

    def start(self) -> ShapesTried:
        """Nothing tried."""
        return ShapesTried(0, np.full(len(self.names), np.inf))

    def done(self, state: ShapesTried) -> bool:
        """Whether all candidates were tried; at once where there are no folds or columns."""
        return state.done == len(self.names) or not len(self.held) or not self.rows.bins.shape[1]

    def size(self, state: ShapesTried) -> tuple[float, float | None]:
        """Candidates done, of all."""
        return float(state.done), float(len(self.names))

    def step(self, state: ShapesTried, ctl: Control) -> tuple[ShapesTried, dict[str, Any]]:
        """One more candidate."""
        name = self.names[state.done]
        few = name == FEW_SETS or (name == ALL_FOLDS and self.few_sets(state))
        shape = self.best_shape(state) if name in LATER else name
        fits = self._fit(shape, few=few, last=name == ALL_FOLDS)
        loss = self.judge(fits.held_out(self.rows, self.held))
        losses = state.losses.copy()
        losses[state.done] = loss
        new_state = ShapesTried(state.done + 1, losses)
        self._fits[name] = fits
        kept = {self.best_shape(new_state), *LATER}  # trees of many shapes take memory
        self._fits = {n: f for n, f in self._fits.items() if n in kept}
        if new_state.done < len(self.names) and self.names[new_state.done] == "whole":
            new_state = self._pass_over_whole(new_state)
        record = {"trees": name, "rounds": fits.rounds, "held_out_log_loss": loss}
        return new_state, record

    def _pass_over_whole(self, state: ShapesTried) -> ShapesTried:
        """The state after "whole" too, where four columns are no better than three on half rows."""
        losses = dict(zip(self.names, state.losses, strict=True))
        three = min(x for n, x in losses.items() if n not in (*DEEP, *LATER))
        return state if losses["four"] < three else state._replace(done=state.done + 1)

    def best_shape(self, state: ShapesTried) -> str:
        """The shape of least loss; four columns on a path only if clearly better."""
        tried = {n: float(x) for n, x in zip(self.names, state.losses, strict=True)}
        three = {n: x for n, x in tried.items() if n not in (*DEEP, *LATER)}
        best = min(three, key=lambda n: three[n])
        deep = min(DEEP, key=lambda n: tried.get(n, math.inf))
        return deep if tried.get(deep, math.inf) < (1 - FOUR_GAIN) * three[best] else best

    def few_sets(self, state: ShapesTried) -> bool:
        """Whether paths stay within few sets of columns: where that costs next to nothing."""
        if FEW_SETS not in self.names:
            return False
        best = float(state.losses[self.names.index(self.best_shape(state))])
        return float(state.losses[self.names.index(FEW_SETS)]) <= (1 + FEW_LOSS) * best

    def folds(self, state: ShapesTried) -> FoldFits:
        """The fits of the chosen candidate on all folds, or on the first one if it stopped there.

        What a checkpoint does not hold is fitted again.
        """
        shape, few = self.best_shape(state), self.few_sets(state)
        last = ALL_FOLDS in self.names and self.done(state)
        known = self._fits.get(ALL_FOLDS if last else FEW_SETS if few else shape)
        return self._fit(shape, few=few, last=last) if known is None else known

    def all_rows(self, state: ShapesTried, folds: FoldFits) -> list[BoostedFit]:
        """Fits to all rows, as many as there are folds; none where there are many rows."""
        if len(self.weights) > FEW_ROWS:
            return []
        shape = self.shapes[self.best_shape(state)]
        sets = top_sets(folds, self.rows.bins.shape[1]) if self.few_sets(state) else ()
        rounds = max(1, min(round(MORE_ROUNDS * folds.rounds), MOST_ROUNDS))
        nothing = np.zeros_like(self.weights)

        def fit(k: int) -> BoostedFit:
            seed = self.seed + 1000 + k
            return boost_once(
                self.rows, self.weights, nothing, shape, seed=seed, rounds=rounds, sets=sets
            )

        return list(map_in_threads(fit, range(len(self.held)), self.n_jobs))

    def mean_loss(self, log_proba: Sequence[Floats]) -> float:
        """The mean log-loss of the held-out rows of some folds, in nats."""
        total = weight = 0.0
        for logs, held in zip(log_proba, self.held, strict=False):
            there = held > 0
            own = logs[np.arange(len(logs)), self.rows.labels[there]]
            total -= float(held[there] @ own)
            weight += float(held.sum())
        return total / weight

    def _fit(self, name: str, *, few: bool, last: bool) -> FoldFits:
        """The fits of a shape, on all folds and rows in the last step, else on those to try.

        `few` confines paths to sets that each fold found.
        """
        options: dict[str, Any] = {"seed": self.seed, "n_jobs": self.n_jobs}
        rows, weights, held = self.rows, self.weights, self.held if last else self.tried_on
        if self.thin and not last:
            places = self._tried_rows
            held = np.ascontiguousarray(held[:, places])
            rows, weights = rows.take(places), weights[places]
        fold_rows = (rows, weights, held, self.shapes[name])
        if not few:
            return boost_folds(*fold_rows, **options)
        known = None if last else self._fits.get(name)
        if known is None:
            # The sets of a fold must not come from rows that are held out in it.
            rounds = FIRST_ROUNDS if last else MOST_ROUNDS
            known = boost_folds(*fold_rows, **options, rounds=rounds)
        n_columns = self.rows.bins.shape[1]
        sets = [top_sets(known._replace(fits=[fit]), n_columns) for fit in known.fits]
        return boost_folds(*fold_rows, **options, sets=sets)

    @cached_property
    def _tried_rows(self) -> Ints:
        """The held-out rows of the first fold, and a sample of its training rows."""
        training = np.flatnonzero(self.weights > self.held[0])
        rng = np.random.default_rng(self.seed)
        sample = rng.choice(training, min(TRIED_ROWS, len(training)), replace=False)
        return np.union1d(sample, np.flatnonzero(self.held[0] > 0))


def shapes_for(n_columns: int) -> dict[str, TreeShape]:
    """The shapes to try on so many columns."""
    if n_columns > MANY_COLUMNS:
        return {"sparse": SHAPES["sparse"]._replace(column_share=DRAWN_COLUMNS / n_columns)}
    least = {"sparse": 7, "four": 4, "whole": 4}
    return {name: shape for name, shape in SHAPES.items() if n_columns >= least.get(name, 1)}


def top_sets(folds: FoldFits, n_columns: int) -> list[tuple[int, ...]]:
    """The sets of two and more columns that gained most, and all single columns."""
    gains = folds.gains()
    larger = sorted((c for c in gains if len(c) > 1), key=lambda c: (-gains[c], c))
    most = max(LEAST_SETS, 2 * n_columns)
    return larger[:most] + [(c,) for c in range(n_columns)]
