"""The choice between cuts by minimum description length and cuts of boosted trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from counterpane.data.columns import Column, Labels
from counterpane.data.encoder import encode_rows
from counterpane.learn.classifiers.folds import MIN_WEIGHT, deal_folds
from counterpane.learn.classifiers.training_data import Training, make_training
from counterpane.learn.classifiers.tree_cuts import MOST_CUTS, TreeCuts
from counterpane.learn.driver import Driver, Search
from counterpane.progress import Control
from counterpane.typing import Array, Codes, Floats, Ints

LEVELS = {"most": 0.0003, "many": 0.001, "some": 0.003, "few": 0.01}
"""Of the variance of scores, what a cut must tell."""
JOINED = "joined"  # MDL cuts, and for columns that have none, some of the trees
N_FOLDS = 5
MAX_ROWS = 20_000  # for the choice

LogProba = Callable[[Codes, Floats], Floats]
Fit = Callable[[Training], LogProba]
"""Learns from rows, and tells ln P(class) of others."""


class CutChoice(NamedTuple):
    """Where numbers are cut (None: by minimum description length), and the reason in a sentence.

    `log_loss` is that of held-out rows, by the kind of cuts.
    """

    cuts: Mapping[str, Floats] | None
    sentence: str
    log_loss: dict[str, float]


class CutsTried(NamedTuple):
    """How many folds are done, their weight, and the summed loss of each kind of cuts."""

    done: int
    weight: float
    losses: Floats


class CutSearch(Search[CutsTried]):
    """Each step learns on one more fold with each kind of cuts, and judges its held-out rows."""

    def __init__(
        self,
        fit: Fit,
        columns: Sequence[Column],
        target: Labels,
        weights: Array | None,
        options: Mapping[str, Any],
        *,
        n_jobs: int = 1,
    ) -> None:
        self.fit, self.options, self.n_jobs = fit, dict(options), n_jobs
        self.training = make_training(columns, target, weights, **options)
        self.names = ("mdl", *LEVELS, JOINED) if self.training.numeric else ("mdl",)
        # All folds have the same columns of numbers, and the same classes.
        numeric = {columns[c].name for c in self.training.numeric}
        self.options["categorical"] = [c.name for c in columns if c.name not in numeric]
        self.columns, self.target = columns, replace(target, declared=True)
        order = row_order(columns, target)
        rows = np.ones(len(order)) if weights is None else weights.astype(np.float64)
        used = order[rows[order] > 0]
        rng = np.random.default_rng(0)
        if len(used) > MAX_ROWS:
            used = used[np.sort(rng.choice(len(used), MAX_ROWS, replace=False))]
        self.rows = np.zeros(len(rows))
        self.rows[used] = rows[used]
        labels = target.codes[used].astype(np.int64)
        enough = self.rows.sum() >= MIN_WEIGHT and len(np.unique(labels)) > 1
        dealt = deal_folds(labels, rows[used], N_FOLDS if enough else 0, rng)
        self.held = np.zeros((len(dealt), len(rows)))
        self.held[:, used] = dealt

    def start(self) -> CutsTried:
        """Nothing tried."""
        return CutsTried(0, 0.0, np.zeros(len(self.names)))

    def done(self, state: CutsTried) -> bool:
        """Whether all folds were tried; at once where there is nothing to choose."""
        return state.done == len(self.held) or len(self.names) == 1

    def size(self, state: CutsTried) -> tuple[float, float | None]:
        """Folds done, of all."""
        return float(state.done), float(len(self.held))

    def step(self, state: CutsTried, ctl: Control) -> tuple[CutsTried, dict[str, Any]]:
        """One more fold."""
        held = self.held[state.done]
        rest = self.rows - held
        columns = [column.take(rest > 0) for column in self.columns]
        target, weights = self.target.take(rest > 0), rest[rest > 0]
        there = held > 0
        cells = [column.take(there) for column in self.columns]
        labels = self.target.codes[there]
        own = make_training(columns, target, weights, **self.options)
        losses = []
        for cuts in self.candidates(own):
            ctl.check()
            training = own
            if cuts is not None:
                training = make_training(columns, target, weights, **self.options, cuts=cuts)
            log_proba = self.fit(training)
            encoded = encode_rows(cells, tuple(training.table.schema), training.numeric)
            logs = smoothed(log_proba(*encoded)[np.arange(len(labels)), labels], training)
            losses.append(-float(held[there] @ logs))
        weight = float(held.sum())
        record = dict(zip(self.names, (np.array(losses) / weight).tolist(), strict=True))
        after = CutsTried(state.done + 1, state.weight + weight, state.losses + losses)
        return after, {"held_out_log_loss": record}

    def candidates(self, training: Training) -> list[Mapping[str, Floats] | None]:
        """The cuts of each kind, in the order of `names`; None for those that rows have."""
        most = (self.options["max_bins"] or MOST_CUTS + 1) - 1
        trees = TreeCuts(training, n_jobs=self.n_jobs)
        kinds: list[Mapping[str, Floats] | None] = [None]
        kinds += [trees.above(level, min(most, MOST_CUTS)) for level in LEVELS.values()]
        joined = dict(kinds[1 + list(LEVELS).index("some")] or {})
        for c in training.numeric:
            variable = training.table.schema[c]
            if variable.cuts:
                joined[variable.name] = np.array(variable.cuts)
        return [*kinds, joined]

    def choice(self, state: CutsTried) -> CutChoice:
        """The kind of cuts of least held-out loss, found again on all rows."""
        if not state.done:
            why = "the table has no numbers to cut" if len(self.names) == 1 else "too few rows"
            return CutChoice(None, f"Cuts are those of minimum description length: {why}.", {})
        losses = (state.losses / state.weight).tolist()
        by_name = dict(zip(self.names, losses, strict=True))
        best = int(np.argmin(losses))  # the first of equal ones, so MDL
        first = by_name["mdl"]
        if not best:
            sentence = (
                "Numbers are cut by minimum description length: cuts of boosted trees are no better"
                f" (log-loss of held-out rows {min(losses[1:]):.3f} instead of {first:.3f})."
            )
            return CutChoice(None, sentence, by_name)
        joined = self.names[best] == JOINED
        which = "Numbers that minimum description length does not cut" if joined else "Numbers"
        sentence = (
            f"{which} are cut where boosted trees split them (log-loss of held-out rows "
            f"{losses[best]:.3f} instead of {first:.3f} with cuts by minimum description length)."
        )
        return CutChoice(self.candidates(self.training)[best], sentence, by_name)


def row_order(columns: Sequence[Column], target: Labels) -> Ints:
    """Positions of rows in an order that depends on their cells alone."""
    by_name = sorted(columns, key=lambda column: column.name)
    cells = [
        column.codes if isinstance(column, Labels) else np.where(column.missing, 0, column.values)
        for column in by_name
    ]
    return np.lexsort([*cells, target.codes]).astype(np.int64)


def smoothed(logs: Floats, training: Training) -> Floats:
    """Logs of probabilities, with one more row in which all classes are as likely."""
    weight, n = training.joint.total_weight, training.target.card
    return np.asarray(np.log((weight * np.exp(logs) + 1 / n) / (weight + 1)))


def choose_cuts(search: CutSearch, *, time_limit: float | None, progress: Any) -> CutChoice:
    """The cuts of least held-out loss; half of the time limit is for the choice."""
    limit = None if time_limit is None else time_limit / 2
    driver = Driver(search.training.table.schema, time_limit=limit, progress=progress)
    return search.choice(driver.run(search, "choosing cuts").state)
