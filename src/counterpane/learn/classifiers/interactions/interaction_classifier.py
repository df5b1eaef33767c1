"""Class probabilities from all single columns and selected interactions, by a ridge regression."""

from __future__ import annotations

import time
from typing import Any, Literal, Unpack

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.data.schema import Schema
from counterpane.errors import ParameterError
from counterpane.learn.classifiers.classifier import Classifier, ClassifierOptions
from counterpane.learn.classifiers.folds import HeldOut
from counterpane.learn.classifiers.interactions.canonical_rows import (
    RawRows,
    TableLayout,
    canonical_rows,
    sort_distinct,
    table_interaction,
    table_member,
    table_rows,
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
from counterpane.learn.classifiers.training_data import Training, read_features
from counterpane.learn.driver import Driver
from counterpane.models.additive import AdditiveClassifier
from counterpane.models.additive_member import Member
from counterpane.models.effects import CAPTION, Effects, Explanation, measure_effects, one_row
from counterpane.models.purified import purified
from counterpane.models.training_rows import TrainingRows, keep_rows
from counterpane.plotting import draw_plot
from counterpane.typing import Codes, Floats

MAX_SHOWN = 60  # interactions in a picture
EFFECT_ROWS = 2**15  # at most, for the effects of interactions
EFFECT_ENTRIES = 2**23  # rows × interactions × classes, at most


class InteractionClassifier(Classifier):
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

    model_: AdditiveClassifier
    held_out_: HeldOut | None

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
        rows, weights, layout = canonical_rows(training)
        rng = np.random.default_rng(self.random_state)
        search = InteractionSearch(rows, weights, rng, n_jobs=self.n_jobs)
        outcome = self._driver(source).run(search, "choosing interactions")
        self.trace_ = outcome.trace
        choice = search.choose(outcome.state)
        self.held_out_ = search.held_out(choice) if outcome.state.done else None
        if self.held_out_ is not None and not self.held_out_.beats_prior(errors=0.0):
            self.held_out_ = search.held_out(choice._replace(strength=PRIOR_ONLY))
            choice = choice._replace(strength=PRIOR_ONLY, log_loss=self.held_out_.log_loss)
        if self.held_out_ is not None:
            self.held_out_ = self.held_out_.with_classes(layout.classes)
        self.structure_, self.penalty_, self.inner_log_loss_ = choice
        folds = not self.single_fit and outcome.state.done > 0
        all_rows = outcome.stopped is None or not folds
        fits = search.fits(choice, folds=folds, all_rows=all_rows)
        shares: dict[Interaction, float] = {}
        samples = 0
        left = None if self.time_limit is None else self.time_limit + began - time.monotonic()
        if outcome.stopped is None and (left is None or left > 0):
            shares, samples = self._shares(rows, weights, rng, left)
        members = [table_member(_member(fit), layout) for fit in fits]
        codes, numbers = table_rows(rows, layout)
        kept = _kept(training.table.schema, rows, weights, layout) if self.keep_rows else None
        about = None if kept is None else {"kept": len(kept), "distinct": kept.seen}
        model = AdditiveClassifier(
            Schema([*training.table.schema, training.target]),
            [purified(member, codes, numbers, weights) for member in members],
            float(weights.sum()),
            rows=kept,
            provenance=self._provenance(source, time.monotonic() - began)
            | {"target": training.target.name, "kept_rows": about},
        )
        classes = np.bincount(layout.classes[rows.labels], weights, model.n_classes)
        effects = _effects(model, codes, numbers, weights, classes / classes.sum())
        by_columns = {table_interaction(s, layout): share for s, share in shares.items()}
        selected = [by_columns.get(s, 0.0) if len(s) > 1 else np.nan for s in model.faces]
        model.effects = effects._replace(shares=np.array(selected), samples=samples)
        self.model_ = model

    def _shares(
        self, rows: RawRows, weights: Floats, rng: np.random.Generator, limit: float | None
    ) -> tuple[dict[Interaction, float], int]:
        """The share of half samples on which each interaction is selected, and their number."""
        samples = auto_samples(rows) if self.bootstrap == "auto" else self.bootstrap
        if not samples:
            return {}, 0
        search = SelectionSearch(rows, weights, self.structure_, samples, rng, n_jobs=self.n_jobs)
        driver = Driver(self.schema_, time_limit=limit, progress=self.progress)
        state = driver.run(search, "selecting interactions on half samples").state
        return state.shares, state.done

    def _log_proba(self, codes: Codes, numbers: Floats) -> Floats:
        return self.model_.average_log_proba(codes, numbers)

    @property
    def interactions_(self) -> list[dict[str, Any]]:
        """A record for each interaction, the largest effect first."""
        return self.model_.interactions()

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

    def explain(self, row: Any) -> Explanation:
        """What each interaction adds to the log-odds of the classes of one row, largest first.

        `row` is a mapping from names to cells, a list, or a frame or array of one row. See
        `counterpane.models.effects.explanation` for the records; the one whose columns are None
        has the effect of the smoothing of the probabilities and of averaging over unknown cells.
        """
        self._check_fitted()
        codes, numbers = self._encoded(*read_features(one_row(row)))
        return self.model_.explain_cells(codes, numbers)

    def plot(self, kind: str = "hypergraph", **options: Any) -> Any:
        """The hypergraph of the largest interactions; see `counterpane.plots.hypergraph`.

        Labels are effects; opacity is the share of half samples on which an interaction was
        selected, if that is known. A pair within a triple is not drawn. Other kinds are
        "interactions", all effects as bars, and "trace".
        """
        self._check_fitted()
        if kind != "hypergraph":
            return super().plot(kind, **options)
        shown = self.interactions_[:MAX_SHOWN]
        records = [
            {
                "hyperedge": tuple(r["columns"]),
                "share": r.get("share", 1.0),
                "label": f"{r['effect']:.2f}",
            }
            for r in shown
            if r["order"] == 1 or not any(set(r["columns"]) < set(o["columns"]) for o in shown)
        ]
        about = {"title": self.target_.name, "note": CAPTION}
        return draw_plot("hypergraph", records, **about | options)


def _effects(
    model: AdditiveClassifier, codes: Codes, numbers: Floats, weights: Floats, classes: Floats
) -> Effects:
    """The effects of a model's interactions on the rows, or on a sample if there are many."""
    most = EFFECT_ENTRIES // ((1 + len(model.faces)) * model.n_classes)
    size = min(len(weights), EFFECT_ROWS, max(most, 1))
    sample = np.linspace(0, len(weights) - 1, size).astype(np.int64)
    parts = model.contributions(codes[:, sample], numbers[:, sample])[1:]
    return measure_effects(parts, weights[sample], classes)


def _kept(schema: Schema, rows: RawRows, weights: Floats, layout: TableLayout) -> TrainingRows:
    """The rows that the model keeps: distinct ones of all columns but the class."""
    one_class = np.zeros(len(weights), dtype=np.int64)
    rows, weights = sort_distinct(
        rows.codes, rows.cards.copy(), rows.numeric, rows.numbers, one_class, 1, weights
    )
    codes, numbers = table_rows(rows, layout)
    numeric = np.sort(layout.columns[rows.numeric])
    for c, values in zip(numeric.tolist(), numbers, strict=True):
        interval = np.searchsorted(schema[c].cuts or (), values, side="right")
        codes[c] = np.where(np.isnan(values), schema[c].card - 1, interval)
    return keep_rows(codes, schema.cards, numeric, numbers, weights)


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
