"""Class probabilities from all single columns and the interactions worth having, fitted to tell."""

from __future__ import annotations

import time
from typing import Any, Unpack

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.data.schema import Schema
from counterpane.drawing import draw
from counterpane.learn.classify.classifier import Classifier, ClassifierOptions
from counterpane.learn.classify.explain import Explanation, check_one, explanation, one_row
from counterpane.learn.classify.features import read_features
from counterpane.learn.classify.held_out import HeldOut
from counterpane.learn.classify.training import Training
from counterpane.learn.interactions.fold_coding import RawRows
from counterpane.learn.interactions.fold_rows import sorted_rows
from counterpane.learn.interactions.interaction_search import (
    PRIOR_ONLY,
    Fitted,
    InteractionSearch,
)
from counterpane.learn.interactions.ridge import log_prior
from counterpane.models.additive import AdditiveClassifier
from counterpane.models.additive_member import Member
from counterpane.typing import Codes, Floats

MAX_SHOWN = 60  # faces in a picture
STRENGTH_ROWS = 5000  # at most, for the strengths of faces
STRENGTH_ENTRIES = 2**23  # rows × faces × classes, at most


class InteractionClassifier(Classifier):
    """Learns P(class | row) ∝ exp Σ_T f_T(x_T, class): readable, and nothing to tune.

    T runs over all single columns and the pairs and triples that a search finds; numbers have a
    smooth term besides their intervals. Tables are fitted to predict the class (ridge regression,
    larger sets held more tightly). Which structure and how strong the ridge is decided by the
    likelihood of held-out rows in five folds, in which everything, cuts included, is done anew; the
    model is the mean of the five fits and of one on all rows, and that is again a sum over faces.
    docs/design/interaction-classifier.md tells what was tried.

    `random_state` draws the folds; neither the order of rows nor `n_jobs` matters. With
    `single_fit` the model is the fit on all rows alone: shorter to read, a little worse.
    `equivalent_sample_size` is not used.

    Results beyond those of `Classifier`: `model_`; `faces_`, a record for each set of columns with
    the share of the six fits that hold it and its strength (root mean square, in nats, of what it
    adds to the log-odds of a class); `structure_` and `penalty_` chosen, `inner_log_loss_` on the
    held-out rows, `trace_`, the best penalty and loss of each structure; `held_out_`, what the five
    fits say of their held-out rows. Where these gain nothing over the classes' shares, by one
    standard error, the ridge is so strong that the model says the shares for every row.

    >>> import counterpane as cp
    >>> titanic = cp.load_dataset("titanic")
    >>> classifier = cp.InteractionClassifier().fit(titanic, "survived")
    >>> sorted(record["face"] for record in classifier.faces_ if record["order"] == 2)
    [('status', 'age'), ('status', 'sex')]
    """

    model_: AdditiveClassifier
    held_out_: HeldOut | None

    def __init__(
        self,
        *,
        single_fit: bool = False,
        random_state: int | np.random.Generator | None = 0,
        **options: Unpack[ClassifierOptions],
    ) -> None:
        super().__init__(**options)
        self.single_fit = single_fit
        self.random_state = random_state

    def _learn(self, training: Training) -> None:
        began = time.monotonic()
        source = MemoryCounts(training.joint, n_jobs=self.n_jobs)
        table, n_classes = training.table, training.target.card
        rows, weights = sorted_rows(
            table.codes,
            table.schema.cards.copy(),
            np.array(training.numeric, dtype=np.int64),
            training.numbers,
            training.labels,
            n_classes,
            table.weights,
        )
        rng = np.random.default_rng(self.random_state)
        search = InteractionSearch(rows, weights, rng, n_jobs=self.n_jobs)
        outcome = self._driver(source).run(search, "choosing interactions")
        self.trace_ = outcome.trace
        choice = search.choose(outcome.state)
        self.held_out_ = search.held_out(choice) if outcome.state.done else None
        if self.held_out_ is not None and not self.held_out_.beats_prior(errors=1.0):
            self.held_out_ = search.held_out(choice._replace(strength=PRIOR_ONLY))
            choice = choice._replace(strength=PRIOR_ONLY, log_loss=self.held_out_.log_loss)
        self.structure_, self.penalty_, self.inner_log_loss_ = choice
        folds = not self.single_fit and outcome.state.done > 0
        whole = outcome.stopped is None or not folds
        fits = search.fits(choice, folds=folds, whole=whole)
        provenance = self._provenance(source, time.monotonic() - began)
        self.model_ = AdditiveClassifier(
            Schema([*table.schema, training.target]),
            [_member(fit) for fit in fits],
            float(weights.sum()),
            provenance=provenance | {"target": training.target.name},
        )
        self.faces_ = self._faces(rows, weights)

    def _log_proba(self, codes: Codes, numbers: Floats) -> Floats:
        return self.model_.log_proba(codes, numbers)

    def _faces(self, rows: RawRows, weights: Floats) -> list[dict[str, Any]]:
        """A record for each face, the strongest first; strengths are those of some rows."""
        model = self.model_
        most = STRENGTH_ENTRIES // ((1 + len(model.faces)) * model.n_classes)
        size = min(len(weights), STRENGTH_ROWS, max(most, 1))
        some = np.linspace(0, len(weights) - 1, size).astype(np.int64)
        sample, weights = rows.take(some), weights[some]
        parts = model.contributions(sample.codes, sample.numbers)[1:]
        strengths = np.sqrt((parts**2).mean(axis=2) @ weights / weights.sum())
        told = zip(model.hyperedges, model.shares.tolist(), strengths.tolist(), strict=True)
        records = [
            {"face": names, "order": len(names), "share": share, "strength": strength}
            for names, share, strength in told
        ]
        return sorted(records, key=lambda record: -record["strength"])

    def explain(self, row: Any) -> Explanation:
        """What each face adds to the logs of the class probabilities of one row, largest first.

        `row` is a mapping from names to cells, a list, or a frame or array of one row. See
        `counterpane.learn.classify.explain.explanation` for the records; the one whose face is None
        holds what the smoothing of the probabilities takes back.
        """
        self._check_fitted()
        codes, numbers = self._encoded(*read_features(one_row(row)))
        check_one(codes.shape[1])
        model, cells = self.model_, codes[:, 0].tolist()
        faces = [(), *model.faces]
        return explanation(
            [(), *model.hyperedges],
            [tuple((*self.schema_[c].states, "?")[cells[c]] for c in face) for face in faces],
            model.contributions(codes, numbers)[:, 0],
            [1.0, *model.shares],
            model.log_proba(codes, numbers)[0],
            self.classes_,
        )

    def plot(self, kind: str = "hypergraph", **options: Any) -> Any:
        """The hypergraph of the strongest faces; see `counterpane.plots.hypergraph`.

        Opacity is the share of the fits that hold a face, its label the strength; a pair within a
        triple is not drawn. Other kinds are "interactions", all strengths as bars, and "trace".
        """
        self._check_fitted()
        if kind != "hypergraph":
            return super().plot(kind, **options)
        shown = self.faces_[:MAX_SHOWN]
        records = [
            {"hyperedge": r["face"], "share": r["share"], "label": f"{r['strength']:.2f}"}
            for r in shown
            if len(r["face"]) == 1 or not any(set(r["face"]) < set(o["face"]) for o in shown)
        ]
        return draw("hypergraph", records, **{"title": self.target_.name} | options)


def _member(fit: Fitted) -> Member:
    """The fit as a part of the model: tables of all classes, cells in order."""
    ridge, structure = fit.ridge, fit.structure
    weights = np.concatenate([-ridge.w / 2, ridge.w / 2]) if ridge.binary else ridge.w
    prior = log_prior(ridge.labels, ridge.n_classes, ridge.weights)
    keys, tables = [], []
    for start, own in zip(ridge.design.starts, ridge.design.keys, strict=True):
        order = np.argsort(own)
        keys.append(own[order])
        tables.append(np.ascontiguousarray(weights[:, start + order].T))
    terms = weights[:, int(ridge.design.arrays.first_number) :].T
    return Member(
        structure.coding,
        prior + weights[:, 0],
        structure.faces,
        tuple(keys),
        tuple(tables),
        np.ascontiguousarray(terms),
    )
