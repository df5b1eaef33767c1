"""Class probabilities from all single columns and selected interactions, by a ridge regression."""

from __future__ import annotations

import time
from typing import Any, Literal, Unpack

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.errors import ParameterError
from counterpane.learn.classifiers.additive_learner import AdditiveLearner, SortedTraining
from counterpane.learn.classifiers.classifier import ClassifierOptions
from counterpane.learn.classifiers.interactions.canonical_rows import (
    canonical_rows,
    table_interaction,
    table_member,
)
from counterpane.learn.classifiers.interactions.interaction_search import (
    PRIOR_ONLY,
    InteractionSearch,
    StructureFit,
)
from counterpane.learn.classifiers.interactions.ridge import Interaction, log_prior
from counterpane.learn.classifiers.interactions.selection_shares import (
    SelectionSearch,
    auto_samples,
)
from counterpane.learn.classifiers.training_data import Training
from counterpane.learn.driver import Driver
from counterpane.models.additive_member import Member
from counterpane.models.purified import purified
from counterpane.seeds import random_generator


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

    Parameters
    ----------
    single_fit : bool
        The model is the fit to all rows alone: shorter to read, a little worse.
    bootstrap : int or "auto"
        The number of random halves of the rows on which the search of the chosen structure runs
        again, to measure how often it selects each interaction; "auto" means 20 if distinct rows ×
        columns² is at most 524,288, about a second of work, and 0 otherwise.
    keep_rows : bool
        Whether the model keeps the distinct training rows: all, or a sample of at most 32,768 rows
        and 4 MB. If a query has evidence on some columns only, the answer is averaged over these
        rows; without them a query needs all columns.
    random_state : int or numpy.random.Generator, optional
        Draws the folds.
    categorical, max_states, max_bins, missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every classifier, see `counterpane.learn.classifiers.classifier.Classifier`.

    Attributes
    ----------
    model_ : AdditiveClassifier
        The model.
    interactions_ : list of dict
        A record for each interaction, the largest effect first, with `columns` and their number
        `order`; `effect`, the standard deviation, over the training rows, of what the interaction
        adds to the log-odds of the class, in nats; and `explained`, the share of the variance of
        the log-odds: the covariance with the sum of all interactions, divided by its variance, so
        that it sums to one. Interactions are purified: each has the mean zero over each of its
        columns, and single columns hold all they can explain alone. `counterpane.models.effects`
        defines both, for more than two classes too. An interaction of two or more columns also has
        `share`, the share of `samples` half samples on which it was selected, if there were at
        least twenty.
    structure_, penalty_, inner_log_loss_
        The chosen structure and penalty, and their log-loss on the held-out rows.
    held_out_ : HeldOut
        The predictions of the five fits for their held-out rows.
    trace_ : list of dict
        The best penalty and loss of each structure.

    Examples
    --------
    >>> import counterpane as cp
    >>> titanic = cp.load_dataset("titanic")
    >>> classifier = cp.InteractionClassifier().fit(titanic, "survived")
    >>> [(record["columns"], round(record["effect"], 1)) for record in classifier.interactions_[:3]]
    [(['sex'], 1.2), (['status'], 0.7), (['status', 'age'], 0.7)]
    """

    def __init__(
        self,
        *,
        single_fit: bool = False,
        bootstrap: int | Literal["auto"] = 0,
        keep_rows: bool = True,
        random_state: int | np.random.Generator | None = 0,
        **options: Unpack[ClassifierOptions],
    ) -> None:
        super().__init__(**options)
        self.single_fit = single_fit
        self.bootstrap = bootstrap
        self.keep_rows = keep_rows
        self.random_state = random_state

    def _learn(self, training: Training) -> None:
        if self.bootstrap != "auto" and not self.bootstrap >= 0:
            raise ParameterError(
                f"bootstrap={self.bootstrap!r}; 0 or more samples, or 'auto', are allowed."
            )
        began = time.monotonic()
        source = MemoryCounts(training.joint, n_jobs=self.n_jobs)
        rows = SortedTraining.of(*canonical_rows(training))
        rng = random_generator(self.random_state)
        search = InteractionSearch(rows.rows, rows.weights, rng, n_jobs=self.n_jobs)
        outcome = self._driver(source).run(search, "choosing interactions")
        self.trace_ = outcome.trace
        choice = search.choose(outcome.state)
        self.held_out_ = search.held_out(choice) if outcome.state.done else None
        if self.held_out_ is not None and not self.held_out_.beats_prior(errors=0.0):
            self.held_out_ = search.held_out(choice._replace(strength=PRIOR_ONLY))
            choice = choice._replace(strength=PRIOR_ONLY, log_loss=self.held_out_.log_loss)
        if self.held_out_ is not None:
            self.held_out_ = self.held_out_.with_classes(rows.layout.classes)
        self.structure_, self.penalty_, self.inner_log_loss_ = choice
        folds = not self.single_fit and outcome.state.done > 0
        all_rows = outcome.stopped is None or not folds
        fits = search.fits(choice, folds=folds, all_rows=all_rows)
        shares: dict[Interaction, float] = {}
        samples = 0
        left = None if self.time_limit is None else self.time_limit + began - time.monotonic()
        if outcome.stopped is None and (left is None or left > 0):
            shares, samples = self._shares(rows, rng, left)
        members = [
            purified(
                table_member(_member(fit), rows.layout), rows.codes, rows.numbers, rows.weights
            )
            for fit in fits
        ]
        provenance = self._provenance(source, time.monotonic() - began)
        model = self._build(training, rows, members, None, provenance)
        by_columns = {table_interaction(s, rows.layout): share for s, share in shares.items()}
        selected = [by_columns.get(s, 0.0) if len(s) > 1 else np.nan for s in model.faces]
        assert model.effects is not None
        model.effects = model.effects._replace(shares=np.array(selected), samples=samples)
        self.model_ = model

    def _shares(
        self, rows: SortedTraining, rng: np.random.Generator, limit: float | None
    ) -> tuple[dict[Interaction, float], int]:
        """The share of half samples on which each interaction is selected, and their number."""
        samples = auto_samples(rows.rows) if self.bootstrap == "auto" else self.bootstrap
        if not samples:
            return {}, 0
        search = SelectionSearch(
            rows.rows, rows.weights, self.structure_, samples, rng, n_jobs=self.n_jobs
        )
        driver = Driver(self.schema_, time_limit=limit, progress=self.progress)
        state = driver.run(search, "selecting interactions on half samples").state
        return state.shares, state.done

    @property
    def faces_(self) -> list[dict[str, Any]]:
        """The interactions as in earlier versions, by `face`, `order`, `share` and `strength`."""
        return [
            {
                "face": tuple(record["columns"]),
                "order": record["order"],
                "share": record.get("share"),
                "strength": record["effect"],
            }
            for record in self.interactions_
        ]


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
