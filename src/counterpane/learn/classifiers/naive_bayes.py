"""Naive Bayes and its tree: the class is a parent of every feature."""

from __future__ import annotations

from counterpane.counts.source import CountSource
from counterpane.graphs import Dag
from counterpane.learn.bayesian.chow_liu import ChowLiu
from counterpane.learn.classifiers.network_classifier import NetworkClassifier


class NaiveBayes(NetworkClassifier):
    """Learns P(class | row) ∝ P(class) Π_i P(x_i | class).

    With `smoothing="backoff"` the tables are shrunk towards P(x_i), and mixed with it by a weight
    that held-out rows choose. So redundant features get less weight, and if no feature predicts the
    class, the model predicts the shares of the classes (`share_` is 0). With "even" the tables are
    posterior means, with the prior weight `equivalent_sample_size` spread evenly over the cells of
    each table.

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
    """Learns P(class | row) with a tree over the features: the tree-augmented naive Bayes.

    Each feature has the class and at most one other feature as parents. The tree of largest
    likelihood is a maximum spanning tree on I(X_i; X_j | class), rooted at the feature of largest
    entropy. N. Friedman, D. Geiger and M. Goldszmidt, Bayesian network classifiers, Machine
    Learning 29 (1997). Cost: n²/2 tables of three columns.

    With `smoothing="backoff"` P(x | parent, class) is shrunk towards P(x | class), and that towards
    P(x), so a parent of many states has only as much effect as held-out rows support; see
    `NaiveBayes` for the rest.

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
