"""What classifiers share whose model is a Bayesian network over the features and the class."""

from __future__ import annotations

import time
from abc import abstractmethod

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource
from counterpane.data.table import Table
from counterpane.graphs import Dag
from counterpane.learn.classify.classifier import Classifier
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

    @abstractmethod
    def _network(self, source: CountSource) -> Dag:
        """The network of the features and of the class, which is the last variable."""

    def _learn(self, training: Training) -> None:
        self._learn_counts(MemoryCounts(training.joint, n_jobs=self.n_jobs))

    def _learn_counts(self, source: CountSource) -> None:
        began = time.monotonic()
        dag = self._network(source)
        self.model_ = fit_parameters(
            source,
            dag,
            equivalent_sample_size=self.equivalent_sample_size,
            provenance=self._provenance(source, time.monotonic() - began),
        )
        self.graph_ = self.model_.graph

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
