"""The search for interactions, then for boosted trees on the same folds, and the pool of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from counterpane.learners.boosting.boosting_search import ShapesTried
from counterpane.learners.boosting.fold_boosting import FoldFits, log_softmax
from counterpane.learners.boosting.pool import pool_weights
from counterpane.learners.checkpoint import GROWS, check_range
from counterpane.learners.classifiers.boosted_part import BoostedPart
from counterpane.learners.classifiers.folds import HeldOut
from counterpane.learners.classifiers.interactions.interaction_search import (
    ChoiceState,
    InteractionSearch,
)
from counterpane.learners.classifiers.interactions.ridge import smooth
from counterpane.learners.classifiers.interactions.table_trial import costly, try_tables
from counterpane.learners.driver import Search
from counterpane.progress import Control
from counterpane.typing import Floats

LEAST_SHARE = 0.005  # of the held-out loss, by which a pool must be better
LEAST_NATS = 0.001  # of held-out loss per row, by which a pool must be better
NOTHING_LEFT = 0.005  # nats of held-out loss of the tables at which no trees are tried


EVERY, NO_TABLES = "every", "none"


class PooledState(NamedTuple):
    """The state of the search for interactions, and that of the search for trees.

    `structures` says which structures of tables are fitted: "" before the trial that tells, EVERY,
    NO_TABLES, or the name of one; `trial_weight` and `trial_rows` are those of the trial.
    """

    structures: str
    trial_weight: float
    trial_rows: int
    done: int
    scores: Annotated[Floats, GROWS]  # fewer structures after a trial
    shapes_done: int
    losses: Floats

    @property
    def tables(self) -> ChoiceState:
        """The state of the search for interactions."""
        return ChoiceState(self.done, self.scores)

    @property
    def trees(self) -> ShapesTried:
        """The state of the search for trees."""
        return ShapesTried(self.shapes_done, self.losses)


class Pool(NamedTuple):
    """Weights of the log-probabilities of tables and of trees, and what they were judged by.

    `held_out` has the pooled predictions of held-out rows, smoothed as predictions are; the losses
    are those of tables and trees alone on the same rows. `table_loss` is NaN where a trial left the
    tables out; `trial` says so in words.
    """

    table_weight: float
    tree_weight: float
    shape: str
    fits: FoldFits
    held_out: HeldOut
    table_loss: float
    tree_loss: float
    trial: str

    @property
    def pays(self) -> bool:
        """Whether the held-out loss is clearly below those of the tables and the class shares.

        Several shapes of trees were tried: some are better than the shares by chance.
        """
        if np.isnan(self.table_loss):
            return True
        return self._gains and self.held_out.beats_prior(errors=2.0)

    @property
    def _gains(self) -> bool:
        """Whether the held-out loss is clearly below that of the tables."""
        gain = self.table_loss - self.held_out.log_loss
        return gain > max(LEAST_SHARE * self.table_loss, LEAST_NATS)

    def to_dict(self, *, used: bool) -> dict[str, Any]:
        """The pool for a result and a file; the weights are those of the model."""
        caution = self.held_out.caution
        return {
            "tables": self.table_weight if used else 1.0,
            "trees": self.tree_weight if used else 0.0,
            "shape": self.shape,
            "rounds": self.fits.rounds,
            "log_loss": self.held_out.log_loss if used else self.table_loss,
            "log_loss_tables": None if np.isnan(self.table_loss) else self.table_loss,
            "log_loss_trees": self.tree_loss,
            "note": " ".join(filter(None, [self.trial, self._sentence(used=used), caution])),
        }

    def _sentence(self, *, used: bool) -> str:
        """What the pool weighs, and why: differences of log-losses on the folds of the search."""
        loss, tables, trees = self.held_out.log_loss, self.table_loss, self.tree_loss
        if np.isnan(tables):
            return ""
        if not used:
            return f"Boosted trees were tried and left out: they {self._too_little(tables - loss)}."
        a, b = self.table_weight, self.tree_weight
        if a == b == 0:
            return (
                "Neither tables nor boosted trees predict the classes of held-out rows: the model "
                "gives all classes the same probability."
            )
        if b == 0:
            return (
                "Boosted trees were tried and left out; the log-probabilities of the tables are "
                f"multiplied by {a:.2f}, which lowers the log-loss of held-out rows by "
                f"{tables - loss:.4f}."
            )
        if a == 0:
            return (
                f"The model is a sum of boosted trees ({b:.2f} times their log-probabilities): the "
                f"log-loss of held-out rows is {tables - loss:.4f} lower than with tables of "
                "intervals."
            )
        return (
            f"Log-probabilities are {a:.2f} times those of tables plus {b:.2f} times those of "
            f"boosted trees: the log-loss of held-out rows is {tables - loss:.4f} lower than with "
            f"the tables alone, and {trees - loss:.4f} lower than with the trees alone."
        )

    def _too_little(self, gain: float) -> str:
        """What trees would change, and why that is not enough."""
        if gain <= 0:
            return "do not lower the log-loss of held-out rows"
        by = f"lower the log-loss of held-out rows by {gain:.4f}, "
        if self._gains:
            return f"{by}but the model is not clearly better than class shares"
        return f"{by}which is too little"


class PooledSearch(Search[PooledState]):
    """All steps of the search for interactions, then all steps of the search for trees.

    Trees are judged by the pool with the tables of the chosen interactions, since they need only be
    good at what the tables do not tell. None are tried where the tables leave no loss. Where tables
    are costly, the first step is a trial that may leave them out, or all structures but one.
    """

    def __init__(
        self, tables: InteractionSearch, trees: BoostedPart | None, *, only_trees: bool = False
    ) -> None:
        self.tables, self.trees = tables, trees
        self.only_trees = only_trees and trees is not None
        self._tables_held_out: HeldOut | None = None
        if trees is not None:
            trees.search.judge = self.pooled_loss

    def start(self) -> PooledState:
        """Nothing tried."""
        losses = np.zeros(0) if self.trees is None else self.trees.search.start().losses
        structures = "" if self.trees is not None and costly(self.tables) else EVERY
        structures = NO_TABLES if self.only_trees else structures
        return PooledState(structures, 0.0, 0, *self.tables.start(), 0, losses)

    def check(self, state: PooledState) -> None:
        """The structures are known, and the scores are theirs."""
        names = {"": 0, EVERY: len(self.tables.names), NO_TABLES: 0}
        n_scores = names.get(state.structures, 1)
        if state.structures not in (*names, *self.tables.names):
            raise ValueError("its structures are not known")
        if state.structures not in ("", NO_TABLES) and len(state.scores) != n_scores:
            raise ValueError("its scores do not fit")
        check_range("the number of structures", state.done, 0, n_scores + 1)
        check_range("the number of shapes", state.shapes_done, 0, len(state.losses) + 1)

    def done(self, state: PooledState) -> bool:
        """Whether both searches are done."""
        if not self._tables_done(state):
            return False
        if self.trees is None or self.trees.search.done(state.trees):
            return True
        if state.structures == NO_TABLES:
            return False
        return self.tables.choose(state.tables).log_loss < NOTHING_LEFT

    def _tables_done(self, state: PooledState) -> bool:
        if state.structures not in ("", EVERY, NO_TABLES):
            self.tables.names = (state.structures,)
        return state.structures == NO_TABLES or (
            state.structures != "" and self.tables.done(state.tables)
        )

    def size(self, state: PooledState) -> tuple[float, float | None]:
        """Candidates done, of all."""
        n_tables = 0 if state.structures == NO_TABLES else len(self.tables.names)
        return float(state.done + state.shapes_done), float(n_tables + len(state.losses))

    def step(self, state: PooledState, ctl: Control) -> tuple[PooledState, dict[str, Any]]:
        """The trial, one more structure of interactions, or one more shape of trees."""
        if state.structures == "":
            return self._try_tables(state)
        if not self._tables_done(state):
            tables, record = self.tables.step(state.tables, ctl)
            return state._replace(done=tables.done, scores=tables.scores), record
        assert self.trees is not None
        if self._tables_held_out is None and state.done:
            self._tables_held_out = self.tables.held_out(self.tables.choose(state.tables))
        trees, record = self.trees.search.step(state.trees, ctl)
        return state._replace(shapes_done=trees.done, losses=trees.losses), record

    def _try_tables(self, state: PooledState) -> tuple[PooledState, dict[str, Any]]:
        assert self.trees is not None
        trial = try_tables(self.tables, self.trees)
        structures = trial.structure if trial.pays else NO_TABLES
        tried = state._replace(
            structures=structures,
            trial_weight=trial.weight,
            trial_rows=trial.rows,
            scores=state.scores[:1] if trial.pays else state.scores[:0],
        )
        record = {"trial_rows": trial.rows, "weight_of_tables": trial.weight}
        return tried, record | {"structures": structures}

    def pooled_loss(self, log_proba: Sequence[Floats]) -> float:
        """The log-loss of the pool on the held-out rows of some folds."""
        tables = self._tables_held_out
        if tables is None:
            assert self.trees is not None
            return self.trees.search.mean_loss(log_proba)
        there = tables.folds < len(log_proba)
        logs = [tables.log_proba[there], np.concatenate(log_proba)]
        return pool_weights(logs, tables.labels[there], tables.weights[there])[1]

    def pool(self, state: PooledState, tables: HeldOut | None) -> Pool | None:
        """The pool of the best trees with the predictions of tables, or of the trees alone.

        None without trees.
        """
        if self.trees is None or not state.shapes_done:
            return None
        fits = self.trees.folds(state.trees)
        alone = self.trees.held_out(fits)
        assert alone is not None
        logs, table_loss = [alone.log_proba], float("nan")
        if tables is not None:
            known = tables.of_folds(len(fits.fits))
            logs, table_loss = [known.log_proba, *logs], known.log_loss
        weights, _ = pool_weights(logs, alone.labels, alone.weights)
        mixed = log_softmax(np.tensordot(weights, np.stack(logs), 1))
        total = float(self.tables.weights.sum())
        pooled = alone._replace(log_proba=smooth(mixed.T, total).T)
        alone = alone._replace(log_proba=smooth(alone.log_proba.T, total).T)
        a, b = weights.tolist() if tables is not None else (0.0, float(weights[0]))
        shape = self.trees.search.best_shape(state.trees)
        trial = "" if self.only_trees else trial_note(state)
        return Pool(a, b, shape, fits, pooled, table_loss, alone.log_loss, trial)


def trial_note(state: PooledState) -> str:
    """What a trial left out, in a sentence; empty without one."""
    where = f"a trial on {state.trial_rows:,} rows"
    if state.structures == NO_TABLES and not state.trial_rows:
        return (
            "Tables of intervals were left out, since they would take too long with so many "
            "classes and columns: the model is a sum of boosted trees."
        )
    if not state.trial_rows:
        return ""
    if state.structures == NO_TABLES:
        return (
            f"Tables of intervals would take long and were left out: {where} gave them the weight "
            f"{state.trial_weight:.2f} beside boosted trees."
        )
    return (
        f"Of the structures of tables only {state.structures!r} was fitted, the best in {where}, "
        "since all would take long."
    )
