"""Classifiers whose model is a Bayesian network: the shared base, naive Bayes and TAN."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import field
from typing import ClassVar, Literal

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource
from counterpane.data.table import Table
from counterpane.errors import TableSizeError
from counterpane.graphs import Dag
from counterpane.learners.bayesian.chow_liu import ChowLiu
from counterpane.learners.classifiers.classifier import Classifier
from counterpane.learners.classifiers.folds import MIN_WEIGHT
from counterpane.learners.classifiers.table_smoothing import (
    ShrunkFamily,
    best_share,
    class_tables,
    feature_tables,
    fold_losses,
    shrunk_table,
)
from counterpane.learners.classifiers.training_data import Training
from counterpane.learners.parameters import fit_parameters
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.typing import Codes, Floats

MAX_SOURCE_ROWS = 2**20  # of more rows only the counts are used, with a share of 1


class NetworkClassifier(Classifier):
    """P(class | row) from a Bayesian network in which the class is the last variable.

    A feature whose state was not seen in training counts as not observed, and is summed out.
    `NaiveBayes` describes the parameters and attributes.
    """

    model_: BayesianNetwork = field(init=False)
    _by_counts: ClassVar[bool] = True

    smoothing: Literal["backoff", "even"] = "backoff"
    equivalent_sample_size: float = 1.0

    @abstractmethod
    def _network(self, source: CountSource) -> Dag:
        """The network of the features and of the class, which is the last variable."""

    def _learn(self, data: Training | CountSource) -> None:
        source = data.source if isinstance(data, Training) else data
        dag = self._network(source)
        self.share_ = 1.0
        if self.smoothing == "even":
            size = self.equivalent_sample_size
            self.model_ = fit_parameters(source, dag, equivalent_sample_size=size)
        else:
            families = self._families(source, dag)
            self.share_ = self._share(source)
            tables = [shrunk_table(family, self.share_) for family in families]
            strengths = [family.strength for family in families]
            self.model_ = BayesianNetwork(source.schema, dag, tables, strengths)
        self.graph_ = self.model_.graph

    def _families(self, source: CountSource, dag: Dag) -> list[ShrunkFamily]:
        """The smoothed tables of a network, with and without the class."""
        scopes = [(*dag.parents(i), i) for i in range(dag.n)]
        last, prior = dag.n - 1, self.equivalent_sample_size
        varying = int((source.schema.cards[:last] > 1).sum())
        families = []
        for scope, table in zip(scopes, source.counts(scopes, missing="error"), strict=True):
            counts: Floats = np.asarray(table, dtype=np.float64)
            if scope[-1] == last:
                tables = class_tables(counts, prior, varying)
            else:
                axis = scope.index(last) if last in scope else None
                tables = feature_tables(counts, axis, prior, varying - 1)
            families.append(ShrunkFamily(scope, *tables, counts.sum(axis=-1) + prior))
        return families

    def _share(self, source: CountSource) -> float:
        """The weight of the tables with the class, by held-out rows."""
        n, weight = source.n_rows, source.total_weight
        if self.target_.card < 2 or n is None or n > MAX_SOURCE_ROWS or (weight or n) < MIN_WEIGHT:
            return 1.0
        try:
            table = source.rows()
        except TableSizeError:
            return 1.0
        quiet = self.copied(progress=False, checkpoint=None)

        def learn(rows: Table) -> list[ShrunkFamily]:
            counts = MemoryCounts(rows, n_jobs=self.n_jobs)
            return quiet._families(counts, quiet._network(counts))

        return best_share(fold_losses(learn, table))

    @property
    def feature_importances_(self) -> Floats:
        """The share of each training column in what the tables tell about the class.

        A column with the class as a parent counts with I(column; class | its other parents) under
        the model, and the parents of the class share I(parents; class). The shares sum to one, in
        the order of the training columns, as in `feature_names_in_`. A column without an edge to
        the class has 0.
        """
        self._check_fitted()
        sizes, last = np.zeros(len(self.schema_)), len(self.schema_)
        for child in range(last + 1):
            parents = self.model_.dag.parents(child)
            if last in (child, *parents) and parents:
                others = [p for p in parents if p != last]
                told = others if child == last else [child]
                given = [] if child == last else others
                sizes[told] += self._information(told, given) / len(told)
        return self._importances_of(sizes)

    def _information(self, told: Sequence[int], given: Sequence[int]) -> float:
        """I(columns `told`; class | columns `given`) under the model, in nats."""
        scope = [*given, *told, len(self.schema_)]
        joint = self.model_.query([self.model_.schema.names[v] for v in scope]).probabilities
        joint = joint.reshape(math.prod(joint.shape[: len(given)]), -1, joint.shape[-1])
        apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=2, keepdims=True)
        whole = joint.sum(axis=(1, 2), keepdims=True)
        seen = joint > 0
        ratio = np.divide(joint * whole, apart, out=np.ones_like(joint), where=seen)
        return max(float(joint[seen] @ np.log(ratio[seen])), 0.0)

    def _log_proba(self, codes: Codes, numbers: Floats) -> Floats:
        known = (codes < self.schema_.cards[:, None]).all(axis=0)
        rows = np.vstack([codes, np.zeros_like(codes[:1])])  # the class itself is not read
        last = len(self.schema_)
        out: Floats = np.empty((codes.shape[1], self.target_.card))
        out[known] = self.model_.engine.blanket.full_conditionals(rows[:, known], [last])
        if not known.all():
            table = Table(self.schema_, codes[:, ~known])
            answers = self.model_.query_many(self.target_.name, table, impossible="prior")
            with np.errstate(divide="ignore"):
                out[~known] = np.log(answers.probabilities)
        return out


class NaiveBayes(NetworkClassifier):
    """Learns P(class | row) ∝ P(class) Π_i P(x_i | class).

    Parameters
    ----------
    smoothing : {"backoff", "even"}
        "backoff" shrinks each table towards those of smaller contexts, P(x | parents, class)
        towards P(x | class) and that towards P(x), by the strength that maximizes the likelihood of
        left-out rows. Then each table is mixed with the one that ignores the class. Its weight
        `share_` is chosen by the log-loss of held-out rows in five folds (of at most 50,000 rows),
        in which the structure is learned again. So redundant features get less weight, and if no
        feature predicts the class, the model predicts the shares of the classes. If there are fewer
        than 20 rows, or more than a million in a source, the share is 1. "even" takes posterior
        means with the prior weight `equivalent_sample_size` spread evenly over the cells.
    equivalent_sample_size : float
        The weight of the prior.
    categorical, max_states, max_bins, missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every classifier, see `counterpane.learners.classifiers.classifier.Classifier`.

    Attributes
    ----------
    model_ : BayesianNetwork
        The network over the features and the class; `graph_` is its graph.
    share_ : float
        The weight of the tables that involve the class.
    classes_, n_features_in_, feature_names_in_, schema_, target_
        As for every classifier.

    Examples
    --------
    >>> import counterpane as cp
    >>> titanic = cp.load_dataset("titanic")
    >>> classifier = cp.NaiveBayes().fit(titanic, "survived")
    >>> row = {"status": ["first"], "age": ["child"], "sex": ["female"]}
    >>> classifier.predict(row).tolist(), round(classifier.score(titanic, "survived"), 4)
    (['yes'], 0.7783)
    """

    def _network(self, source: CountSource) -> Dag:
        target = len(source.schema) - 1
        return Dag(target + 1, [(target, i) for i in range(target)])


class TAN(NetworkClassifier):
    """Learns P(class | row) with a tree over the features: the tree-augmented naive Bayes.

    Each feature has the class and at most one other feature as parents. The tree of largest
    likelihood is a maximum spanning tree on I(X_i; X_j | class), rooted at the feature of largest
    entropy. N. Friedman, D. Geiger and M. Goldszmidt, Bayesian network classifiers, Machine
    Learning 29 (1997). Cost: n²/2 tables of three columns.

    Parameters
    ----------
    smoothing, equivalent_sample_size
        See `NaiveBayes`, as for all other parameters.

    Attributes
    ----------
    model_, graph_, share_
        See `NaiveBayes`, as for all other attributes.
    gains_ : Edges
        Each edge of the tree with its gain in nats, largest first.

    Examples
    --------
    >>> import counterpane as cp
    >>> classifier = cp.TAN().fit(cp.load_dataset("titanic"), "survived")
    >>> sorted(classifier.graph_.edges)[:2]
    [('status', 'age'), ('status', 'sex')]
    """

    def _network(self, source: CountSource) -> Dag:
        target = source.schema.names[-1]
        tree = ChowLiu(target=target, n_jobs=self.n_jobs, time_limit=self.time_limit).fit(source)
        self.gains_ = tree.gains_
        return tree.model_.dag
