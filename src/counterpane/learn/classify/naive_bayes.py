"""Naive Bayes and its tree: the class is a parent of every feature."""

from __future__ import annotations

from counterpane.counts.source import CountSource
from counterpane.graphs import Dag
from counterpane.learn.classify.network_classifier import NetworkClassifier
from counterpane.learn.structure.chow_liu import ChowLiu


class NaiveBayes(NetworkClassifier):
    """Learns P(class | row) ∝ P(class) Π_i P(x_i | class).

    With `smoothing` "backoff" the tables are estimated around P(x_i), and mixed with it so far as
    held-out rows ask for it: features that repeat each other are believed less, and where none
    predicts the class, the model says the classes' shares (`share_` 0). With "even" they are the
    textbook's posterior means, with the prior weight `equivalent_sample_size` spread evenly over
    the cells of each table.

    Other parameters and results are those of every `Classifier`, and `model_`, `graph_`, `share_`.

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
    """Learns P(class | row) with a tree over the features beside the class.

    Of all trees, in which each feature has at most one parent besides the class, the one of
    greatest likelihood: a maximum spanning tree on I(X_i; X_j | class), rooted at the feature of
    largest entropy. N. Friedman, D. Geiger and M. Goldszmidt, Bayesian network classifiers, Machine
    Learning 29 (1997). Cost: n²/2 tables of three columns.

    With `smoothing` "backoff" P(x | parent, class) is estimated around P(x | class), and that
    around P(x), so that a parent of many states is believed only as far as left-out rows bear it
    out; see `NaiveBayes` for the rest.

    Other parameters and results are those of every `Classifier`, and `model_`, `graph_`, `share_`,
    `gains_` (parent, child, the gain in nats; largest first).

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
