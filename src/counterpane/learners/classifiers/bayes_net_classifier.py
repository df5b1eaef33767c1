"""Bayesian network classifiers by a hill climb on the conditional likelihood of the class."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane._core import classifiers as kernels
from counterpane.counts.source import CountSource
from counterpane.data.table import Table
from counterpane.graphs import Dag
from counterpane.learners.classifiers.network_classifiers import NetworkClassifier
from counterpane.learners.driver import Search
from counterpane.learners.order import intrinsic_order
from counterpane.parallel import map_in_threads
from counterpane.progress import Control
from counterpane.typing import Bools, Floats, Ints

MAX_CELLS = 2**20  # of a family's table; a larger one would be almost empty
MIN_GAIN = 1e-6  # nats per row that a move must gain; less is noise in a likelihood near 1


class EdgeState(NamedTuple):
    """The parents of each variable, (variables, 2), padded with −1, and the score."""

    parents: Ints
    score: float
    stuck: bool


class ConditionalClimb(Search[EdgeState]):
    """One edge is added, deleted or reversed per step; the class is the last variable."""

    def __init__(self, table: Table, prior: float, n_jobs: int) -> None:
        rows, cards = table.distinct(), table.schema.cards
        weights: Floats = np.asarray(rows.weights, dtype=np.float64)
        self.data = (rows.codes, weights, cards, float(prior))
        self.names, self.n_jobs, self.total = table.schema.names, n_jobs, float(weights.sum())
        self.max_cells = min(MAX_CELLS, int(np.sort(cards[:-1])[-2:].prod() * cards[-1]))
        self.posterior: Floats = np.empty((rows.n_rows, int(cards[-1])))

    def start(self) -> EdgeState:
        parents = np.full((len(self.names), 2), -1, dtype=np.int64)
        return EdgeState(parents, self._score(parents), False)

    def done(self, state: EdgeState) -> bool:
        return state.stuck

    def size(self, state: EdgeState) -> tuple[float, None]:
        return float((state.parents >= 0).sum()), None

    def step(self, state: EdgeState, ctl: Control) -> tuple[EdgeState, dict[str, Any]]:
        self._score(state.parents)  # fills the posterior, also after a checkpoint
        tie = 1e-9 * self.total
        largest, best = MIN_GAIN * self.total, None
        for child, (gain, move) in enumerate(self._moves(state.parents, tie, ctl)):
            if gain > largest + tie:
                largest, best = gain, (int(move[0]), int(move[1]), child)
        if best is None:
            return state._replace(stuck=True), {"score": state.score}
        kind, parent, child = best
        parents = with_edge_move(state.parents, kind, parent, child)
        score = self._score(parents)
        words = ("add", "delete", "reverse")[kind - 1], self.names[parent], self.names[child]
        record = dict(zip(("move", "parent", "child"), words, strict=True))
        return EdgeState(parents, score, False), {**record, "score": score}

    def _moves(self, parents: Ints, tie: float, ctl: Control) -> list[tuple[float, Ints]]:
        """The gain and the move of the best edge into each child."""
        above = ancestors(parents)

        def best_into(child: int) -> tuple[float, Ints]:
            ctl.check()
            move = np.empty(2, dtype=np.int64)
            state = (parents, above, self.posterior, child)
            return kernels.best_move(*self.data, *state, self.max_cells, tie, move), move

        return list(map_in_threads(best_into, range(len(parents)), self.n_jobs))

    def _score(self, parents: Ints) -> float:
        """The conditional log-likelihood; fills the posterior."""
        return kernels.fill_posterior(*self.data, parents, self.posterior)


class BayesNetClassifier(NetworkClassifier):
    """Learns a network with at most two parents per variable that predicts the class.

    Hill climbing starts from the empty network. Each step adds, deletes or reverses the edge that
    raises the conditional log-likelihood Σ ln P(class | row) most, until no step raises it by 1e-6
    nats per row: BNC-2P of D. Grossman and P. Domingos, Learning Bayesian network classifiers by
    maximizing conditional likelihood, ICML 2004. Parameters still maximize the joint likelihood.
    An edge between features that are not children of the class has no effect and is never added.
    Cost of a step: features × children of the class × rows.

    Parameters
    ----------
    smoothing, equivalent_sample_size
        See `NaiveBayes`, as for all other parameters.

    Attributes
    ----------
    model_, graph_, share_
        See `NaiveBayes`, as for all other attributes.
    score_ : float
        The objective: the conditional log-likelihood of the training rows in nats, with
        smoothing="even".
    trace_ : list of dict
        The moves.

    Examples
    --------
    >>> import counterpane as cp
    >>> classifier = cp.BayesNetClassifier().fit(cp.load_dataset("titanic"), "survived")
    >>> [f"{m['move']} {m['parent']} → {m['child']}" for m in classifier.trace_[:2]]
    ['add survived → sex', 'add status → sex']
    """

    def _network(self, source: CountSource) -> Dag:
        last = len(source.schema) - 1
        # Ties go to the first feature, in an order that does not depend on the table's layout.
        order = [*(c for c in intrinsic_order(source) if c != last), last]
        table = source.rows().select(order)
        climb = ConditionalClimb(table, self.equivalent_sample_size, self.n_jobs)
        outcome = self._driver(source).run(climb, "searching edges")
        self.score_ = float(outcome.state.score)
        self.trace_ = [record for record in outcome.trace if "move" in record]
        rows = enumerate(outcome.state.parents.tolist())
        edges = [(order[p], order[c]) for c, row in rows for p in row if p >= 0]
        return Dag(last + 1, edges)


def with_edge_move(parents: Ints, kind: int, parent: int, child: int) -> Ints:
    """`parents` after the edge parent → child was added, deleted or reversed."""
    lists = [[p for p in row if p >= 0] for row in parents.tolist()]
    if kind == kernels.ADD:
        lists[child].append(parent)
    else:
        lists[child].remove(parent)
    if kind == kernels.TURN:
        lists[parent].append(child)
    return np.array([[*row, -1, -1][:2] for row in lists], dtype=np.int64)


def ancestors(parents: Ints) -> Bools:
    """above[v, u]: whether a directed path leads from u to v."""
    dag = Dag.from_parents([p for p in row if p >= 0] for row in parents.tolist())
    above: Bools = np.zeros((dag.n, dag.n), dtype=bool)
    for v in dag.topological_order():
        for p in dag.parents(v):
            above[v] |= above[p]
            above[v, p] = True
    return above
