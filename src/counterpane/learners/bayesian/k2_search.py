"""K2: greedy parents in a given order, or in the best of several random ones.

Cooper & Herskovits, Machine Learning 9 (1992): each variable takes the best parent among those
before it, while that improves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from counterpane._core.search import ParentLists
from counterpane.errors import GraphError, ParameterError, Setting
from counterpane.graphs import Dag
from counterpane.learners.bayesian.constraints import required_matrix
from counterpane.learners.bayesian.engine import SearchEngine, check_stored, lists_of, stored
from counterpane.learners.bayesian.network import (
    NetworkLearner,
    NetworkState,
)
from counterpane.learners.bayesian.score_learner import Criterion
from counterpane.learners.checkpoint import check_range
from counterpane.learners.driver import Search
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.progress import Control
from counterpane.typing import Ints


class OrderSearch(Search[NetworkState]):
    """One order a step."""

    def __init__(self, engine: SearchEngine, order: Ints | None, restarts: int, seed: int) -> None:
        self.engine = engine
        self.order = order
        self.n_orders = 1 if order is not None else restarts + 1
        self.seed = seed

    def start(self) -> NetworkState:
        rows = stored(lists_of(Dag(self.engine.n, [])))
        return NetworkState(rows, -np.inf, rows, "order", 0, -np.inf)

    def _after_parents(self, order: Ints) -> Ints:
        """The order, with each variable moved behind the parents that are required for it."""
        required = required_matrix(self.engine.limits, self.engine.n)
        waiting, placed = order.tolist(), []
        while waiting:
            free = next(x for x in waiting if not required[x, waiting].any())
            waiting.remove(free)
            placed.append(free)
        return np.array(placed, dtype=np.int64)

    def check(self, state: NetworkState) -> None:
        check_stored(self.engine.n, state.best, state.parents)
        check_range("the number of orders", state.rounds, 0, self.n_orders + 1)

    def done(self, state: NetworkState) -> bool:
        return state.rounds >= self.n_orders

    def size(self, state: NetworkState) -> tuple[float, float]:
        return state.rounds, self.n_orders

    def step(self, state: NetworkState, ctl: Control) -> tuple[NetworkState, dict[str, Any]]:
        order = self.order
        if order is None:
            rng = np.random.default_rng([self.seed, state.rounds])
            order = self._after_parents(rng.permutation(self.engine.n))
        dag, score = self.engine.parents_in_order(order, shrink=False)
        if score > state.score + self.engine.limits.tolerance:
            state = state._replace(best=stored(dag), score=score)
        return state._replace(rounds=state.rounds + 1), {"order": state.rounds, "score": score}


class K2Search(NetworkLearner):
    """Learns a network by greedy parents along an order.

    Parameters
    ----------
    criterion : str or LocalScore
        A name, such as "bic", "bdeu" or "k2", or a score.
    order : sequence of str, optional
        All columns, parents before children. By default `restarts` + 1 random orders are tried, and
        the best network is returned.
    restarts : int
        The number of random orders after the first one.
    max_parents, required_edges, forbidden_edges, tiers, false_edges, random_state
        As for every network learner, see `NetworkLearner`; `start` is refused.
    equivalent_sample_size, missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every learner, see `Learner`; the first is the prior weight of the model's
        parameters, in rows.

    Attributes
    ----------
    model_ : BayesianNetwork
        The network.
    graph_ : networkx.DiGraph
        Its edges; `cpdag_` is its equivalence class.
    score_ : float
        Its score.
    strengths_, gains_ : Edges
        Each edge with its strength in bits per row, and with the score in nats that would be lost
        without it; largest first.
    trace_ : list of dict
        The steps of the search.

    Examples
    --------
    >>> import counterpane as cp
    >>> order = ["sex", "age", "status", "survived"]
    >>> learner = cp.K2Search(order=order).fit(cp.load_dataset("titanic"))
    >>> sorted(learner.graph_.predecessors("survived"))
    ['age', 'sex', 'status']
    """

    criterion: Criterion = field(default="k2", kw_only=False)
    order: Sequence[str] | None = None
    restarts: int = 20

    def _known_directions(self, model: BayesianNetwork) -> list[tuple[int, int]]:
        """All edges if the user gave an order; else those that follow from constraints."""
        if self.order is not None:
            return list(model.dag.edges)
        return super()._known_directions(model)

    def _make_search(self, engine: SearchEngine, start: ParentLists) -> Search[NetworkState]:
        if self.start is not None:
            raise ParameterError(
                "K2Search has no start: each variable takes its parents along the order; leave "
                "start out, require edges, or use HillClimb."
            )
        if self.restarts < 0:
            raise ParameterError(Setting("restarts", self.restarts), "; zero or more is allowed.")
        order = None
        if self.order is not None:
            names = engine.cache.names
            schema = engine.cache.source.schema
            order = np.array([schema.index(name) for name in self.order], dtype=np.int64)
            must = required_matrix(engine.limits, engine.n)
            for place, x in enumerate(order.tolist()):
                if must[x, order[place:]].any():
                    raise GraphError(
                        f"the order puts {names[x]!r} before a parent that is required for it; "
                        "move one of the two, or drop the edge."
                    )
            if len(set(self.order)) != len(names) or len(self.order) != len(names):
                raise GraphError(
                    f"the order lists {len(self.order)} columns; each of {len(names)} must "
                    "occur once."
                )
        return OrderSearch(engine, order, self.restarts, self._seed)
