"""Class probabilities from all single columns and selected interactions, by a ridge regression."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import Any, Literal

import numpy as np

from counterpane.additive.boosted_member import BoostedMember
from counterpane.additive.member import Member
from counterpane.additive.purified import purified
from counterpane.counts.source import CountSource
from counterpane.errors import ParameterError, Setting
from counterpane.learners.boosting.fold_boosting import FoldFits
from counterpane.learners.classifiers.additive_learner import AdditiveLearner, SortedTraining
from counterpane.learners.classifiers.boosted_part import BoostedPart
from counterpane.learners.classifiers.interactions.canonical_rows import (
    canonical_rows,
    table_interaction,
    table_member,
)
from counterpane.learners.classifiers.interactions.interaction_search import (
    PRIOR_ONLY,
    InteractionSearch,
    StructureFit,
)
from counterpane.learners.classifiers.interactions.pooled_search import (
    NO_TABLES,
    Pool,
    PooledSearch,
    PooledState,
)
from counterpane.learners.classifiers.interactions.ridge import Interaction, log_prior
from counterpane.learners.classifiers.interactions.selection_shares import (
    SelectionSearch,
    auto_samples,
)
from counterpane.learners.classifiers.training_data import Training
from counterpane.learners.driver import Driver, Outcome
from counterpane.models.record import LearningRecord, PoolRecord
from counterpane.seeds import random_generator
from counterpane.typing import Floats


class InteractionClassifier(AdditiveLearner):
    """Learns P(class | row) ∝ exp Σ_T f_T(x_T, class), a sum of effects; nothing to tune.

    T runs over *interactions*: all single columns, and the pairs and triples that a search selects.
    Numbers have a smooth term besides their intervals. The tables f_T maximize the conditional
    likelihood with a ridge penalty that is larger for larger interactions. Five folds choose the
    structure and the penalty by the likelihood of held-out rows; in each fold all steps are
    repeated, also the cuts of numbers. The model is the mean of the five fits and of one fit to all
    rows, which is again a sum over interactions. If predictions of held-out rows are no better than
    the shares of the classes, the penalty is so large that the model predicts the shares for every
    row. The model does not depend on `n_jobs` or on the order of rows, columns, states and classes.
    docs/design/interaction-classifier.md describes what was tried.

    Numbers that act together finely need more than intervals that were cut before: boosted trees,
    no path of which looks at more than three columns (rarely four), are learned on the same folds.
    They are, exactly, a sum of tables too. The logs of both probabilities are added with two
    weights that are fitted to held-out rows. Where tables would take long (many rows, columns and
    classes), a trial on one fold of some rows decides whether they are fitted.

    Parameters
    ----------
    parts : {"auto", "both", "tables", "trees"}
        What the model is made of. "auto" learns tables of intervals and boosted trees, and pools
        them if that lowers the log-loss of held-out rows by at least half a percent and 0.001 nats;
        else the model is the tables. "both" always pools them.
    bootstrap : int or "auto"
        The number of random halves of the rows on which the search of the chosen structure runs
        again, to measure how often it selects each interaction; "auto" means 20 if distinct rows ×
        columns² is at most 524,288, about a second of work, and 0 otherwise. None where boosted
        trees weigh more than the tables, whose interactions are searched.
    keep_rows : bool
        Whether the model keeps the distinct training rows: all, or a sample of at most 32,768 rows
        and 4 MB. If a query has evidence on some columns only, the answer is averaged over these
        rows; without them a query needs all columns.
    random_state : int or numpy.random.Generator, optional
        Draws the folds.
    categorical, max_states, max_bins, missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every classifier, see `counterpane.learners.classifiers.classifier.Classifier`.

    Attributes
    ----------
    model_ : AdditiveClassifier
        The model.
    interactions_ : Interactions
        A record for each interaction, the largest effect first, with `columns` and their number
        `order`; `effect`, the standard deviation, over the training rows, of what the interaction
        adds to the log-odds of the class, in nats; and `explained`, its variance over the sum of
        the variances of all interactions, so that it is from 0 to 1 and sums to one. Interactions
        are purified: each has the mean zero over each of its columns, and single columns hold all
        they can explain alone. `counterpane.additive.effects` defines both, also for more than two
        classes. An interaction of two or more columns also has `share`, the share of `samples` half
        samples on which it was selected, if there were at least twenty.
    feature_importances_ : array
        The share of each training column in the variance of all effects, in the order of
        `feature_names_in_`; an interaction counts for its columns in equal parts.
    structure_, penalty_, inner_log_loss_
        The chosen structure and penalty, and the log-loss on the held-out rows. The structure is
        "none" where tables were left out.
    pool_ : dict or None
        The weights of the log-probabilities of the tables ("tables") and of the boosted trees
        ("trees"), the shape of the trees and their number, the log-loss of held-out rows with the
        model, the tables alone and the trees alone, and all that in a sentence ("note"); None if no
        trees were learned.
    pool_note_ : str
        What the pool weighs and why, in a sentence; empty with `parts="tables"`.
    held_out_ : HeldOut
        The predictions of the five fits for their held-out rows.
    trace_ : list of dict
        The best penalty and loss of each structure, and the loss of each shape of trees.

    Examples
    --------
    >>> import counterpane as cp
    >>> titanic = cp.load_dataset("titanic")
    >>> classifier = cp.InteractionClassifier().fit(titanic, "survived")
    >>> [(record["columns"], round(record["effect"], 1)) for record in classifier.interactions_[:3]]
    [(['sex'], 1.2), (['status'], 0.7), (['status', 'age'], 0.7)]
    """

    parts: Literal["auto", "both", "tables", "trees"] = "auto"
    bootstrap: int | Literal["auto"] = 0

    def _learn(self, training: Training) -> None:
        began = time.monotonic()
        rows = SortedTraining.of(*canonical_rows(training))
        rng = random_generator(self.random_state)
        tables = InteractionSearch(rows.rows, rows.weights, rng, n_jobs=self.n_jobs)
        trees = None
        if self.parts != "tables" and len(tables.held):
            # The generator of the trees is another one, so that they change no other result.
            other = rng.spawn(1)[0]
            trees = BoostedPart(training, rows, tables.held, other, n_jobs=self.n_jobs)
        search = PooledSearch(tables, trees, only_trees=self.parts == "trees")
        what = "choosing interactions" + ("" if trees is None else " and trees")
        outcome = self._driver(training.source).run(search, what)
        self.trace_ = outcome.trace
        fits, pool = self._choose(search, outcome, rows)
        shares: dict[Interaction, float] = {}
        samples = 0
        left = None if self.time_limit is None else self.time_limit + began - time.monotonic()
        # Halves of the rows select interactions of tables: they tell little of a model of trees.
        of_tables = pool is None or pool.table_weight >= pool.tree_weight
        if of_tables and outcome.stopped is None and (left is None or left > 0):
            shares, samples = self._shares(rows, rng, left)
        members, weights = self._members(search, outcome, rows, fits, pool)
        model = self._build(training, rows, members, weights)
        by_columns = {table_interaction(s, rows.layout): share for s, share in shares.items()}
        unknown = np.nan if pool is not None else 0.0
        selected = [by_columns.get(s, unknown) if len(s) > 1 else np.nan for s in model.faces]
        assert model.effects is not None
        model.effects = model.effects._replace(shares=np.array(selected), samples=samples)
        self.model_ = model

    def _record(self, source: CountSource, seconds: float) -> LearningRecord:
        shown = {f.name: self.pool_[f.name] for f in fields(PoolRecord)} if self.pool_ else {}
        pool = PoolRecord(**shown | {"note": self.pool_note_})
        return super()._record(source, seconds).with_parts(pool=pool)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.bootstrap != "auto" and self.bootstrap < 0:
            raise ParameterError(
                Setting("bootstrap", self.bootstrap), "; 0 or more samples, or 'auto', are allowed."
            )

    def _choose(
        self, search: PooledSearch, outcome: Outcome[PooledState], rows: SortedTraining
    ) -> tuple[list[StructureFit], Pool | None]:
        """The fits of the chosen interactions, and the pool with trees; sets the results."""
        state, tables = outcome.state, search.tables
        choice = tables.choose(state.tables)
        held_out = tables.held_out(choice) if state.done else None
        if held_out is not None and not held_out.beats_prior(errors=0.0):
            held_out = tables.held_out(choice._replace(strength=PRIOR_ONLY))
            choice = choice._replace(strength=PRIOR_ONLY, log_loss=held_out.log_loss)
        self.structure_, self.penalty_, self.inner_log_loss_ = choice
        left_out = state.structures == NO_TABLES
        pool = search.pool(state, held_out) if held_out is not None or left_out else None
        used = pool is not None and (self.parts == "both" or pool.pays)
        self.pool_ = None if pool is None else pool.to_dict(used=used)
        caution = "" if held_out is None else held_out.caution
        self.pool_note_ = _pool_note(self.pool_, search, outcome, caution)
        if pool is not None and used:
            held_out, self.inner_log_loss_ = pool.held_out, pool.held_out.log_loss
        self.held_out_ = None if held_out is None else held_out.with_classes(rows.layout.classes)
        if left_out:
            self.structure_, self.penalty_ = NO_TABLES, float("nan")
            return [], pool
        folds = state.done > 0
        all_rows = outcome.stopped is None or not folds
        return tables.fits(choice, folds=folds, all_rows=all_rows), pool if used else None

    def _members(
        self,
        search: PooledSearch,
        outcome: Outcome[PooledState],
        rows: SortedTraining,
        fits: list[StructureFit],
        pool: Pool | None,
    ) -> tuple[list[Member | BoostedMember], Floats | None]:
        """The members of the model and their shares; tables of weight zero are left out."""
        members: list[Member | BoostedMember] = []
        if pool is None or pool.table_weight > 0 or pool.tree_weight == 0:
            for fit in fits:
                member = table_member(_member(fit), rows.layout)
                members.append(purified(member, rows.codes, rows.numbers, rows.weights))
        if search.trees is not None and not fits and (pool is None or not pool.tree_weight):
            # Stopped before the first trees, or trees that predict nothing: the class shares.
            return [search.trees.member(FoldFits([], 0, float("nan")), [])], None
        if pool is None or search.trees is None:
            return members, None
        shares = [pool.table_weight / max(len(members), 1)] * len(members)
        if pool.tree_weight > 0:
            whole = [] if outcome.stopped else search.trees.whole(outcome.state.trees, pool.fits)
            members.append(search.trees.member(pool.fits, whole))
            shares.append(pool.tree_weight)
        return members, np.array(shares)

    def _shares(
        self, rows: SortedTraining, rng: np.random.Generator, limit: float | None
    ) -> tuple[dict[Interaction, float], int]:
        """The share of half samples on which each interaction is selected, and their number."""
        samples = auto_samples(rows.rows) if self.bootstrap == "auto" else self.bootstrap
        if not samples or self.structure_ == NO_TABLES:
            return {}, 0
        search = SelectionSearch(
            rows.rows, rows.weights, self.structure_, samples, rng, n_jobs=self.n_jobs
        )
        driver = Driver(self.schema_, time_limit=limit, progress=self.progress)
        state = driver.run(search, "selecting interactions on half samples").state
        return state.shares, state.done


def _pool_note(
    pool: dict[str, Any] | None,
    search: PooledSearch,
    outcome: Outcome[PooledState],
    caution: str,
) -> str:
    """What the pool weighs and why, or why there is none; empty where none was to be learned."""
    if pool is not None:
        return str(pool["note"])
    if search.trees is None:
        return ""
    if outcome.stopped is not None:
        return f"Boosted trees were not tried, since learning was stopped ({outcome.stopped})."
    return (
        "Boosted trees were not tried: the tables alone leave too little log-loss to lower. "
        f"{caution}"
    ).rstrip()


def _member(fit: StructureFit) -> Member:
    """The fit as a member of the model: tables of all classes, cells in order."""
    ridge, structure = fit.ridge, fit.structure
    weights = np.concatenate([-ridge.w / 2, ridge.w / 2]) if ridge.binary else ridge.w
    prior = log_prior(ridge.labels, ridge.n_classes, ridge.weights)
    keys, tables = [], []
    for start, cells in zip(ridge.design.starts, ridge.design.keys, strict=True):
        order = np.argsort(cells)
        keys.append(cells[order])
        tables.append(np.ascontiguousarray(weights[:, start + order].T))
    terms = weights[:, int(ridge.design.arrays.first_number) :].T
    return Member(
        structure.coding,
        prior + weights[:, 0],
        structure.interactions,
        tuple(keys),
        tuple(tables),
        np.ascontiguousarray(terms),
    )
