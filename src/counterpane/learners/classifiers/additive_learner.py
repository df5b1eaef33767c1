"""Learners whose model is a sum over interactions: its effects, kept rows, and explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from counterpane.additive.boosted_member import BoostedMember
from counterpane.additive.classifier import MAX_SHOWN, AdditiveClassifier
from counterpane.additive.effects import CAPTION, Effects, Explanation, measure_effects, one_row
from counterpane.additive.interactions import Interactions
from counterpane.additive.member import Member
from counterpane.counts.source import CountSource
from counterpane.data.schema import Schema
from counterpane.learners.base import Seed
from counterpane.learners.classifiers.classifier import Classifier
from counterpane.learners.classifiers.folds import HeldOut
from counterpane.learners.classifiers.interactions.canonical_rows import (
    RawRows,
    TableLayout,
    sort_distinct,
    table_rows,
)
from counterpane.learners.classifiers.training_data import Training
from counterpane.models.record import KeptRows, LearningRecord
from counterpane.models.training_rows import TrainingRows, keep_rows
from counterpane.plotting import draw_plot
from counterpane.typing import Codes, Floats

EFFECT_ROWS = 2**15  # at most, for the effects of interactions
EFFECT_ENTRIES = 2**23  # rows × interactions × classes, at most
BOX_WORK = 2**29  # rows × boxes × (scores + columns), at most
LEAST_ROWS = 1024  # for effects, however many boxes there are


class SortedTraining(NamedTuple):
    """Training rows in an order that does not depend on the table, and the way back to it."""

    rows: RawRows
    weights: Floats
    layout: TableLayout
    codes: Codes  # of the same rows, in the columns and states of the table
    numbers: Floats

    @classmethod
    def of(cls, rows: RawRows, weights: Floats, layout: TableLayout) -> SortedTraining:
        """Sorted rows with their cells as the table has them."""
        return cls(rows, weights, layout, *table_rows(rows, layout))

    def kept(self, schema: Schema) -> TrainingRows:
        """The rows that a model keeps: distinct ones of all columns but the class."""
        nobody = np.zeros(len(self.weights), dtype=np.int64)
        rows, weights = sort_distinct(
            self.rows.codes,
            self.rows.cards.copy(),
            self.rows.numeric,
            self.rows.numbers,
            nobody,
            1,
            self.weights,
        )
        codes, numbers = table_rows(rows, self.layout)
        numeric = np.sort(self.layout.columns[rows.numeric])
        for c, values in zip(numeric.tolist(), numbers, strict=True):
            intervals = np.searchsorted(schema[c].cuts or (), values, side="right")
            codes[c] = np.where(np.isnan(values), schema[c].card - 1, intervals)
        return keep_rows(codes, schema.cards, numeric, numbers, weights)


class AdditiveLearner(Classifier):
    """What classifiers share whose `model_` is an `AdditiveClassifier`."""

    model_: AdditiveClassifier = field(init=False)
    held_out_: HeldOut | None = field(init=False)
    _many_states: ClassVar[bool] = True

    keep_rows: bool = True
    random_state: Seed = 0

    def _build(
        self,
        training: Training,
        sorted_training: SortedTraining,
        members: Sequence[Member | BoostedMember],
        shares: Floats | None,
    ) -> AdditiveClassifier:
        """The model of some members, with its effects and kept rows."""
        schema = training.table.schema
        kept = sorted_training.kept(schema) if self.keep_rows else None
        model = AdditiveClassifier(
            Schema([*schema, training.target]),
            members,
            float(sorted_training.weights.sum()),
            shares=shares,
            rows=kept,
        )
        labels = sorted_training.layout.classes[sorted_training.rows.labels]
        classes = np.bincount(labels, sorted_training.weights, model.n_classes)
        model.effects = _effects(model, sorted_training, classes / classes.sum())
        return model

    def _record(self, source: CountSource, seconds: float) -> LearningRecord:
        kept = self.model_.rows
        about = None if kept is None else KeptRows(len(kept), kept.seen)
        return super()._record(source, seconds).with_parts(data={"kept_rows": about})

    def _log_proba(self, codes: Codes, numbers: Floats) -> Floats:
        return self.model_.average_log_proba(codes, numbers)

    @property
    def interactions_(self) -> Interactions:
        """A record for each interaction, the largest effect first."""
        return self.model_.interactions()

    @property
    def feature_importances_(self) -> Floats:
        """The share of each training column in the variance of all effects; they sum to one.

        An interaction counts for its columns in equal parts. A column that is not in the model has
        0. The order is that of the training columns, as in `feature_names_in_`.
        """
        self._check_fitted()
        sizes = np.zeros(len(self.schema_))
        assert self.model_.effects is not None
        shares = self.model_.effects.variance_shares.tolist()
        for face, share in zip(self.model_.faces, shares, strict=True):
            sizes[list(face)] += share / len(face)
        return self._importances_of(sizes)

    def explain(self, row: Any) -> Explanation:
        """What each interaction adds to the log-odds of the classes of one row, largest first.

        `row` is a mapping from names to cells, a list, or a frame or array of one row. See
        `counterpane.additive.effects.explanation` for the records.
        """
        self._check_fitted()
        codes, numbers = self._encoded(*self._new_rows(one_row(row, self.schema_.names)))
        return self.model_.explain_cells(codes, numbers)

    def plot_effects(self, columns: Any = None, **options: Any) -> Any:
        """What interactions add to the log-odds; see `AdditiveClassifier.plot_effects`."""
        self._check_fitted()
        return self.model_.plot_effects(columns, **options)

    def plot(self, kind: str = "hypergraph", **options: Any) -> Any:
        """The hypergraph of the largest interactions; see `counterpane.plots.hypergraph`.

        Labels are effects; opacity is the share of half samples on which an interaction was
        selected, if that is known. A pair within a triple is not drawn. Other kinds are
        "interactions", all effects as bars, "effects", one interaction by its cells (`columns`),
        and "trace".
        """
        self._check_fitted()
        if kind == "effects":
            return draw_plot("effects", self, **options)
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
    model: AdditiveClassifier, sorted_training: SortedTraining, class_shares: Floats
) -> Effects:
    """The effects of a model's interactions on rows, or on some of them where they are many."""
    most = EFFECT_ENTRIES // ((1 + len(model.faces)) * model.n_classes)
    boxes = [m.box_values for m in model.members if isinstance(m, BoostedMember)]
    if boxes:
        work = sum(len(values) * (values.shape[1] + 3) for values in boxes)
        most = min(most, max(BOX_WORK // max(work, 1), LEAST_ROWS))
    weights = sorted_training.weights
    size = min(len(weights), EFFECT_ROWS, max(most, 1))
    rows = np.linspace(0, len(weights) - 1, size).astype(np.int64)
    codes, numbers = sorted_training.codes[:, rows], sorted_training.numbers[:, rows]
    contributions = model.contributions(codes, numbers)[1:]
    effects = measure_effects(contributions, weights[rows], class_shares)
    # All models have the single columns; no samples were drawn to select the others.
    shares = np.array([0.0 if len(face) > 1 else np.nan for face in model.faces])
    return effects._replace(shares=shares, samples=0)
