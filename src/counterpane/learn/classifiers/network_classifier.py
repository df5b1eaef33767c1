"""What classifiers share whose model is a Bayesian network over the features and the class."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Literal, Unpack

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource
from counterpane.data.table import Table
from counterpane.errors import ParameterError, TableSizeError
from counterpane.graphs import Dag
from counterpane.learn.classifiers.backoff import class_tables, feature_tables
from counterpane.learn.classifiers.classifier import Classifier, ClassifierOptions
from counterpane.learn.classifiers.held_out import MIN_WEIGHT
from counterpane.learn.classifiers.shrinkage import (
    ShrunkFamily,
    believed_share,
    fold_losses,
    shrunk,
)
from counterpane.learn.classifiers.training import Training
from counterpane.learn.parameters import fit_parameters
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.typing import Codes, Floats

MAX_ROWS = 2**20  # of a source; beyond, the rows are not fetched and all tables are believed


class NetworkClassifier(Classifier):
    """P(class | row) from a Bayesian network in which the class is the last variable.

    With `smoothing` "backoff" the tables are estimated around those of smaller contexts,
    P(x | parents, class) around P(x | class) around P(x), as strongly as makes left-out rows most
    probable. Then each table is mixed with the one that ignores the class; `share_` is the weight
    of the former, chosen by the log-loss of held-out rows in five folds (of 50,000 rows at most),
    in which the structure is learned again; it is 0 where the features do not predict the class. A
    source of more than a million rows is used by its counts alone, with a share of 1; so are fewer
    than 20 rows, which are too few to judge by.

    With `smoothing` "even" the tables are the textbook's posterior means, each cell of a family
    with the prior weight `equivalent_sample_size` / cells. A feature whose state was not seen in
    training counts as not observed, and is summed out.

    Results beyond those of `Classifier`: `model_`, `graph_`, `share_`.
    """

    model_: BayesianNetwork

    def __init__(
        self,
        *,
        smoothing: Literal["backoff", "even"] = "backoff",
        equivalent_sample_size: float = 1.0,
        **options: Unpack[ClassifierOptions],
    ) -> None:
        super().__init__(**options)
        self.smoothing = smoothing
        self.equivalent_sample_size = equivalent_sample_size

    @abstractmethod
    def _network(self, source: CountSource) -> Dag:
        """The network of the features and of the class, which is the last variable."""

    def _learn(self, training: Training) -> None:
        self._learn_counts(MemoryCounts(training.joint, n_jobs=self.n_jobs))

    def _learn_counts(self, source: CountSource) -> None:
        began = time.monotonic()
        if self.smoothing not in ("backoff", "even"):
            raise ParameterError(f"smoothing={self.smoothing!r}; 'backoff' or 'even' is allowed.")
        dag = self._network(source)
        self.share_ = 1.0
        if self.smoothing == "even":
            size = self.equivalent_sample_size
            self.model_ = fit_parameters(source, dag, equivalent_sample_size=size)
        else:
            families = self._families(source, dag)
            self.share_ = self._share(source, families)
            tables = [shrunk(family, self.share_) for family in families]
            strengths = [family.strength for family in families]
            self.model_ = BayesianNetwork(source.schema, dag, tables, strengths)
        self.model_.provenance = self._provenance(source, time.monotonic() - began)
        self.graph_ = self.model_.graph

    def _families(self, source: CountSource, dag: Dag) -> list[ShrunkFamily]:
        """The smoothed tables of a network, with and without the class."""
        scopes = [(*dag.parents(i), i) for i in range(dag.n)]
        last, prior = dag.n - 1, self.equivalent_sample_size
        varying = int((source.schema.cards[:last] > 1).sum())
        families = []
        for scope, counted in zip(scopes, source.counts(scopes, missing="error"), strict=True):
            counts: Floats = np.asarray(counted, dtype=np.float64)
            if scope[-1] == last:
                tables = class_tables(counts, prior, varying)
            else:
                axis = scope.index(last) if last in scope else None
                tables = feature_tables(counts, axis, prior, varying - 1)
            families.append(ShrunkFamily(scope, *tables, counts.sum(axis=-1) + prior))
        return families

    def _share(self, source: CountSource, families: list[ShrunkFamily]) -> float:
        """The weight of the tables with the class, by held-out rows."""
        n, weight = source.n_rows, source.total_weight
        if self.target_.card < 2 or n is None or n > MAX_ROWS or (weight or n) < MIN_WEIGHT:
            return 1.0
        try:
            table = source.rows()
        except TableSizeError:
            return 1.0
        quiet = type(self)(**self.get_params(deep=False))
        quiet.set_params(progress=False, checkpoint=None)

        def learn(rows: Table) -> list[ShrunkFamily]:
            part = MemoryCounts(rows, n_jobs=self.n_jobs)
            return quiet._families(part, quiet._network(part))

        return believed_share(fold_losses(learn, table))

    def _log_proba(self, codes: Codes, numbers: Floats) -> Floats:
        known = (codes < self.schema_.cards[:, None]).all(axis=0)
        rows = np.vstack([codes, np.zeros_like(codes[:1])])  # the class itself is not read
        last = len(self.schema_)
        out: Floats = np.empty((codes.shape[1], self.target_.card))
        out[known] = self.model_.blanket.full_conditionals(rows[:, known], [last])
        if not known.all():
            table = Table(self.schema_, codes[:, ~known])
            answers = self.model_.query_many(self.target_.name, table, impossible="prior")
            with np.errstate(divide="ignore"):
                out[~known] = np.log(answers.probabilities)
        return out
