"""Markov networks of all columns from hyperedges, by the score of Jakulin & Rish without a class.

A. Jakulin and I. Rish, Bayesian learning of Markov network structure, IBM Research Report (2006).
"""

from __future__ import annotations

from dataclasses import field

from counterpane.counts.source import CountSource
from counterpane.counts.view import reorder_columns
from counterpane.features import Potential
from counterpane.learners.classifiers.faces.face_search import StructurePrior
from counterpane.learners.density import DensityLearner
from counterpane.learners.markov.hyperedge_search import MAX_TREE_CELLS, HyperedgeSearch
from counterpane.models.markov_network import MarkovNetwork


class MarkovNetworkLearner(DensityLearner):
    """Learns a Markov network of all columns from hyperedges of up to `max_order` columns.

    Each hyperedge has a table of joint probabilities. The model is the product of the tables, with
    each overlap counted once, divided by its sum Z, which is computed exactly. A hill climb by
    stages maximizes Σ ln P(row) plus the log of a prior on the degrees of freedom: hyperedges of
    one column, then of two, and so on, at last of any size. `MarkovClassifier` is the same for
    P(class | row).

    Parameters
    ----------
    max_order : int
        The largest number of columns of a hyperedge.
    outliers : float
        The weight of rows spread evenly over the cells of each table.
    prior : {"aicc", "orthodox"}
        The log-prior: −m df / (m − df − 1) for m rows, or −df.
    max_candidates : int
        Of more hyperedges of one size above two, those are tried whose subsets had the largest
        gains. All pairs are tried.
    max_cells : int
        Hyperedges are left out with which a junction tree of connected columns has more cells.
    missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every learner, see `Learner`.

    Attributes
    ----------
    hyperedges_ : list of tuple
        Names of the columns of each hyperedge, in the order in which the climb chose them.
    score_ : float
        The log-posterior of the structure but for a constant, in nats.
    df_ : int
        Its degrees of freedom.
    model_ : MarkovNetwork
        The learned network, with one table for each hyperedge that lies in no other one.
    graph_ : networkx.Graph
        Its graph.
    undirected_ : UndirectedGraph
        The same graph by column numbers.
    trace_ : list of dict
        A record of each step.

    Examples
    --------
    >>> import counterpane as cp
    >>> learner = cp.MarkovNetworkLearner().fit(cp.load_dataset("titanic"))
    >>> learner.hyperedges_[-2:], learner.df_
    ([('sex', 'status', 'survived'), ('age', 'status', 'survived')], 23)
    >>> round(learner.model_.query("survived", {"sex": "female", "status": "first"})["yes"], 3)
    0.972
    """

    model_: MarkovNetwork = field(init=False)

    max_order: int = 3
    outliers: float = 1.0
    prior: StructurePrior = "aicc"
    max_candidates: int = 1000
    max_cells: int = MAX_TREE_CELLS

    def _learn(self, source: CountSource) -> None:
        names = source.schema.names
        # In order of the names, so that equal gains are settled alike however columns are laid out.
        order = sorted(range(len(names)), key=names.__getitem__)
        search = HyperedgeSearch(
            reorder_columns(source, order),
            max_order=self.max_order,
            outliers=self.outliers,
            prior=self.prior,
            max_candidates=self.max_candidates,
            max_cells=self.max_cells,
        )
        outcome = self._driver(source).run(search, "searching")
        structure = search.structure(outcome.state)
        self.trace_ = outcome.trace
        self.hyperedges_ = [tuple(names[order[c]] for c in face) for face in structure.hyperedges]
        self.score_ = structure.log_posterior
        self.df_ = structure.free
        self.model_ = MarkovNetwork(
            source.schema,
            [Potential([order[c] for c in f], t) for f, t in structure.tables.items()],
        )
        self.undirected_, self.graph_ = self.model_.undirected, self.model_.graph
