"""Class probabilities from Markov networks with hyperedges, averaged over structures.

A. Jakulin and I. Rish, Bayesian learning of Markov network structure: application to class
probability estimation, IBM Research Report (2006).
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from counterpane.additive.effects import Explanation, check_one, explanation, one_row
from counterpane.counts.source import CountSource
from counterpane.data.schema import Schema
from counterpane.data.table import Table, distinct_rows
from counterpane.errors import ParameterError, Setting
from counterpane.features import Potential
from counterpane.learners.classifiers.class_vector import (
    ClassVector,
    join_classes,
    names_of_classes,
)
from counterpane.learners.classifiers.classifier import Classifier
from counterpane.learners.classifiers.faces.face_average import FaceAverage
from counterpane.learners.classifiers.faces.face_search import (
    FaceSearch,
    FaceStructure,
    StructurePrior,
)
from counterpane.learners.classifiers.folds import MIN_WEIGHT, Fold, folds_of, join_folds
from counterpane.learners.classifiers.training_data import Training
from counterpane.learners.driver import to_end
from counterpane.models.markov_network import MarkovNetwork
from counterpane.models.mixture import Mixture
from counterpane.models.record import LearningRecord
from counterpane.models.training_rows import TrainingRows, keep_rows
from counterpane.plotting import draw_plot
from counterpane.progress import Control
from counterpane.typing import Array, Codes, Floats, Ints

Average = bool | Literal["accepted"]


class MarkovClassifier(Classifier):
    """P(class | row) from hyperedges of the class and up to `max_order` − 1 features.

    A structure is a set of hyperedges. Each has a table of joint probabilities. The model is the
    product of the tables, with each overlap counted once. A hill climb by stages maximizes
    Σ ln P(class | row) plus the log of a prior on the degrees of freedom. For a state that did not
    occur in training, the tables of that column are left out.

    `fit(X, ["a", "b"])` learns P(a, b | other columns): the columns are joined to one class with
    a state for each joint state, so the list should be short. `predict` then has a column for
    each, `predict_proba` is joint, in the order of `classes_`, and `predict_marginals` gives
    P(a | row) and P(b | row). `model_` is about `a` and `b` and keeps no training rows.

    Parameters
    ----------
    max_order : int
        The largest number of columns of a hyperedge, the class included.
    outliers : float
        The weight of rows spread evenly over the cells of each table.
    prior : {"aicc", "orthodox"}
        The log-prior: −m df / (m − df − 1) for m rows, or −df.
    average : bool or "accepted"
        By default predictions are averaged over all evaluated structures whose posterior is at
        least 1 % of the best, weighted by their posterior; with "accepted" over the structures on
        the path of the climb; with False they come from the best structure alone.
    cycles : bool
        With False hyperedges have at most two features, and form a forest.
    max_candidates : int
        Of more hyperedges of one size, those are tried whose subsets had the largest gains.
    keep_rows : bool
        Whether `model_` keeps distinct training rows, for queries with evidence on some of the
        columns, as `InteractionClassifier` does. Without them it sums out the others by its
        networks, which describe the class and not the other columns.
    floor : bool
        Repeat the search in five folds; if predictions of held-out rows are no better than the
        shares of the classes, the structure is the class alone.
    categorical, max_states, max_bins, missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every classifier, see `counterpane.learners.classifiers.classifier.Classifier`.

    Attributes
    ----------
    hyperedges_ : list
        Names of the features, in the order in which the best structure was built.
    log_posterior_ : float
        Of the best structure; `structures_` lists all that are averaged.
    model_ : Mixture
        A mixture of `MarkovNetwork`s over the features and the class; `graph_` is its graph.
    trace_ : list of dict
        A record of each step.

    Examples
    --------
    >>> import counterpane as cp
    >>> learner = cp.MarkovClassifier().fit(cp.load_dataset("titanic"), "survived")
    >>> learner.hyperedges_[-2:], round(learner.log_posterior_, 3)
    ([('sex', 'status'), ('age', 'status')], -1063.116)
    >>> [round(structure["posterior"], 3) for structure in learner.structures_]
    [0.823, 0.126, 0.051]
    >>> both = cp.MarkovClassifier().fit(cp.load_dataset("titanic"), ["age", "survived"])
    >>> marginals = both.predict_marginals({"status": ["crew"], "sex": ["female"]})
    >>> {name: p.shape for name, p in marginals.items()}
    {'age': (1, 2), 'survived': (1, 2)}
    """

    _vector: ClassVector | None = field(init=False)

    max_order: int = 4
    outliers: float = 1.0
    prior: StructurePrior = "aicc"
    average: Average = True
    cycles: bool = True
    max_candidates: int = 1000
    keep_rows: bool = True
    floor: bool = True

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """See `Classifier`; `y` may also name several columns, if all are columns of `X`."""
        names = names_of_classes(y)
        joined = None if names is None else join_classes(X, names)
        if joined is None:
            self._vector = None
            return super()._read(X, y, sample_weight)
        X, self._vector, weights = joined
        data = super()._read(X, X[-1].name, weights if sample_weight is None else sample_weight)
        self.classes_ = self._vector.classes
        return data

    def predict(self, X: Any) -> Array:
        """The most probable class of each row; of several class columns, shape (rows, columns)."""
        self._check_fitted()
        if self._vector is None:
            return super().predict(X)
        return self._vector.states(self.predict_log_proba(X).argmax(axis=1))

    def predict_marginals(self, X: Any) -> dict[str, Floats]:
        """P(state | row) of each class column, by name, shape (rows, states)."""
        proba = self.predict_proba(X)
        return {self.target_.name: proba} if self._vector is None else self._vector.marginals(proba)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose most probable class, of several columns all classes, is `y`."""
        self._check_fitted()
        vector = self._vector
        if vector is None:
            return super().score(X, y, sample_weight)
        if names_of_classes(y) != tuple(v.name for v in vector.variables):
            raise ParameterError(
                Setting("y", y), "; the names of the class columns are needed, as in fit."
            )
        if isinstance(X, CountSource):
            X = X.rows()
            sample_weight = X.weights if sample_weight is None else sample_weight
        named, columns = self._new_rows(X)
        right = self._of_columns(named, columns).argmax(axis=1) == vector.codes(columns)
        return float(np.average(right, weights=sample_weight))

    def _record(self, source: CountSource, seconds: float) -> LearningRecord:
        record = super()._record(source, seconds)
        if self._vector is None:
            return record
        names = tuple(v.name for v in self._vector.variables)
        return record.with_parts(data={"target": None, "targets": names})

    def _learn(self, training: Training) -> None:
        names = self.schema_.names
        # In order of the names, so that equal gains are settled alike however columns are laid out.
        self._order = sorted(range(len(names)), key=names.__getitem__)
        search = self._search(training.joint)
        outcome = self._driver(training.source).run(search, "searching")
        every = search.structures(outcome.state)
        if self.floor and outcome.stopped is None and training.joint.total_weight >= MIN_WEIGHT:
            folds = [self._judged(fold) for fold in folds_of(training.joint)]
            if folds and not join_folds(folds).beats_prior(errors=0.0):
                every = [search.structures(search.start())[0]]
        self._average, kept = self._averaged(search, every)
        self.hyperedges_ = self._named(kept[0])
        self.log_posterior_ = kept[0].log_posterior
        self.trace_ = outcome.trace
        for record in self.trace_:
            if "hyperedge" in record:
                record["hyperedge"] = tuple(names[self._order[c]] for c in record["hyperedge"])
        self._kept = _kept(training) if self.keep_rows and self._vector is None else None

    def _set_record(self, record: LearningRecord) -> None:
        self._learning_record = record  # `model_` is made when it is first asked for

    def _search(self, joint: Table) -> FaceSearch:
        """The climb on rows whose last column is the class."""
        return FaceSearch(
            joint.codes[self._order],
            self.schema_.cards[self._order],
            joint.codes[-1].astype(np.int64),
            self.target_.card,
            joint.weights,
            max_order=self.max_order,
            outliers=self.outliers,
            prior=self.prior,
            cycles=self.cycles,
            max_candidates=self.max_candidates,
            n_jobs=self.n_jobs,
        )

    def _averaged(
        self, search: FaceSearch, every: list[FaceStructure]
    ) -> tuple[FaceAverage, list[FaceStructure]]:
        """The average of structures, and those that it is of, the best first."""
        accepted = [s for s in every if s.accepted]
        kept = {True: every, "accepted": accepted, False: accepted[:1]}[self.average]
        logs = np.array([s.log_posterior for s in kept])
        weights = np.exp(logs - logs.max()) if logs[0] > -np.inf else np.ones(1)
        weights /= weights.sum()
        cards, rows = self.schema_.cards[self._order], search.tables.rows
        average = FaceAverage(rows, cards, self.target_.card, self.outliers, kept, weights)
        return average, kept

    def _judged(self, fold: Fold) -> tuple[Floats, Ints, Floats]:
        """What the same search on the other folds says of a fold's rows."""
        search = self._search(fold.training)
        every = search.structures(to_end(search, Control()))
        codes = fold.codes[:-1].copy()
        for row, seen, card in zip(codes, fold.training.codes, self.schema_.cards, strict=False):
            row[~np.isin(row, seen)] = card  # as a state that training did not see
        log_proba = self._averaged(search, every)[0].log_proba(codes[self._order])
        return log_proba, fold.codes[-1].astype(np.int64), fold.weights

    def _log_proba(self, codes: Codes, numbers: Floats) -> Floats:
        return self._average.log_proba(codes[self._order])

    @cached_property
    def structures_(self) -> list[dict[str, Any]]:
        """The structures averaged, the best first.

        Each with its `posterior`, the `step` of the climb at which it was reached or looked at,
        `log_posterior`, degrees of freedom `df`, `hyperedges`, and for each of these the
        interaction information as a share of the class entropy, `interactions`.
        """
        known: dict[tuple[int, ...], float] = {}
        records = []
        for structure, weight in zip(
            self._average.structures, self._average.weights.tolist(), strict=True
        ):
            for hyperedge in structure.hyperedges:
                if hyperedge not in known:
                    known[hyperedge] = self._average.interaction(hyperedge)
            records.append(
                {
                    "posterior": weight,
                    "step": len(structure.hyperedges),
                    "accepted": structure.accepted,
                    "log_posterior": structure.log_posterior,
                    "df": structure.free,
                    "hyperedges": self._named(structure),
                    "interactions": [known[h] for h in structure.hyperedges],
                }
            )
        return records

    @cached_property
    def model_(self) -> Mixture:
        """The structures as Markov networks, averaged with weights that evidence does not shift."""
        targets = (self.target_,) if self._vector is None else self._vector.variables
        schema = Schema([*self.schema_, *targets])
        average, last = self._average, range(len(self.schema_), len(schema))
        shape = [target.card for target in targets]
        potentials = {
            face: Potential(
                (*(self._order[c] for c in face), *last),
                average.phi(face).reshape([*average.phi(face).shape[:-1], *shape]),
            )
            for face in [(), *average.faces]
        }
        networks = [
            MarkovNetwork(schema, [potentials[f] for f in [(), *average.faces_of(structure)]])
            for structure in average.structures
        ]
        return Mixture(
            networks, average.weights, fixed=True, rows=self._kept, record=self._learning_record
        )

    @cached_property
    def graph_(self) -> Any:
        """The edges of all structures, as a networkx graph."""
        return self.model_.graph

    def explain(self, row: Any) -> Explanation:
        """What each interaction adds to the log-odds of the classes of one row, largest first.

        `row` is a mapping from names to cells, a list, or a frame or array of one row. See
        `counterpane.additive.effects.explanation` for the records.
        """
        self._check_fitted()
        codes, _ = self._encoded(*self._new_rows(one_row(row, self.schema_.names)))
        check_one(codes.shape[1])
        average, variables = self._average, [self.schema_[c] for c in self._order]
        codes = codes[self._order]
        faces = [(), *average.faces]
        cells = codes[:, 0].tolist()
        return explanation(
            [tuple(variables[c].name for c in face) for face in faces],
            [tuple((*variables[c].states, "?")[cells[c]] for c in face) for face in faces],
            average.contributions(codes),
            [1.0, *average.shares],
            average.log_proba(codes)[0],
            self.classes_,
            self.target_.name,
        )

    def plot(self, kind: str = "hypergraph", *, average: bool = True, **options: Any) -> Any:
        """The hypergraph of all structures averaged, or of the best alone, on matplotlib axes.

        The label of a hyperedge has the step of the climb, the interaction information in percent
        of the class entropy, and the posterior of the structure after this step if it is 1 % or
        more. `options` are those of `counterpane.plots.hypergraph`.
        Other kinds are "graph" and "trace".
        """
        self._check_fitted()
        if kind != "hypergraph":
            return super().plot(kind, **options)
        records = _pictured(self.structures_ if average else self.structures_[:1])
        return draw_plot("hypergraph", records, **{"title": self.target_.name} | options)

    def _named(self, structure: FaceStructure) -> list[tuple[str, ...]]:
        names = self.schema_.names
        return [tuple(names[self._order[c]] for c in edge) for edge in structure.hyperedges]


def _kept(training: Training) -> TrainingRows:
    """The rows that the model keeps: distinct ones of all columns but the class."""
    table = training.table
    codes, weights = distinct_rows(table.codes, table.weights, table.schema.cards)
    nothing = np.empty((0, codes.shape[1]))
    no_numbers = np.empty(0, dtype=np.int64)
    return keep_rows(codes, table.schema.cards, no_numbers, nothing, weights.astype(np.float64))


def _pictured(structures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The hyperedges of structures, each with its share of the posterior and its label."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    completes: dict[tuple[str, ...], float] = {}
    total = sum(structure["posterior"] for structure in structures)
    for structure in structures:
        pairs = zip(structure["hyperedges"], structure["interactions"], strict=True)
        for step, (hyperedge, interaction) in enumerate(pairs, 1):
            label = f"{step}: {100 * interaction:.1f} %"
            record = found.setdefault(
                hyperedge, {"hyperedge": hyperedge, "share": 0.0, "label": label}
            )
            record["share"] += structure["posterior"] / total
        if structure["hyperedges"]:
            last = structure["hyperedges"][-1]
            completes[last] = completes.get(last, 0.0) + structure["posterior"]
    for hyperedge, posterior in completes.items():
        if posterior >= 0.01:
            found[hyperedge]["label"] += f"\n{posterior:.2f}"
    return list(found.values())
