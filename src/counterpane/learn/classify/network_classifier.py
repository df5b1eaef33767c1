"""What classifiers share whose model is a Bayesian network over the features and the class."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Literal, Unpack

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.counts.rows import rows_of
from counterpane.counts.source import CountSource
from counterpane.data.table import Table
from counterpane.graphs import Dag
from counterpane.learn.classify.backoff import backed_off, class_tables
from counterpane.learn.classify.classifier import Classifier, ClassifierOptions
from counterpane.learn.classify.shrinkage import Family, believed_share, scopes_of, shrunk
from counterpane.learn.classify.training import Training
from counterpane.learn.parameters import fit_parameters
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.typing import Codes, Floats


class NetworkClassifier(Classifier):
    """P(class | row) from a Bayesian network in which the class is the last variable.

    Its tables are posterior means, each cell of a family with the prior weight
    `equivalent_sample_size` / cells. A feature whose state was not seen in training counts as not
    observed, and is summed out.

    Results beyond those of `Classifier`: `model_`, `graph_`.
    """

    model_: BayesianNetwork

    def __init__(
        self,
        *,
        smoothing: Literal["backoff", "even"] = "backoff",
        **options: Unpack[ClassifierOptions],
    ) -> None:
        super().__init__(**options)
        self.smoothing = smoothing

    @abstractmethod
    def _network(self, source: CountSource) -> Dag:
        """The network of the features and of the class, which is the last variable."""

    def _learn(self, training: Training) -> None:
        self._learn_counts(MemoryCounts(training.joint, n_jobs=self.n_jobs))

    def _learn_counts(self, source: CountSource) -> None:
        began = time.monotonic()
        dag = self._network(source)
        if self.smoothing == "even":
            self.model_ = fit_parameters(
                source, dag, equivalent_sample_size=self.equivalent_sample_size
            )
        else:
            self.model_ = self._backed_off(source, dag)
        self.model_.provenance = self._provenance(source, time.monotonic() - began)
        self.graph_ = self.model_.graph

    def _backed_off(self, source: CountSource, dag: Dag) -> BayesianNetwork:
        """The network of smoothed tables, shrunk as far as left-out rows ask for it."""
        scopes, prior = scopes_of(dag), self.equivalent_sample_size
        last = dag.n - 1
        families = []
        for scope, counted in zip(scopes, source.counts(scopes, missing="error"), strict=True):
            counts: Floats = np.asarray(counted, dtype=np.float64)
            if scope[-1] == last:
                tables = class_tables(counts, prior)
            else:
                tables = backed_off(counts, scope.index(last) if last in scope else None, prior)
            families.append(Family(scope, *tables))
        self.share_ = believed_share(families, rows_of(source))
        return BayesianNetwork(source.schema, dag, [shrunk(f, self.share_) for f in families])

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
