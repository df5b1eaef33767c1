"""Hill-climbing over DAGs with add, drop and turn, tabu walks and restarts.

Every step takes the best of all moves. With `tabu` the walk goes on past a local optimum, by the
least bad move to a graph not visited lately, until as many moves in a row bring no gain. With
`restarts` the best network is perturbed by random moves and climbed again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane._core.search import ParentLists
from counterpane.errors import ParameterError
from counterpane.graphs import Dag
from counterpane.learners.bayesian.constraints import allowed_matrix, required_matrix
from counterpane.learners.bayesian.engine import (
    SearchEngine,
    check_stored,
    dag_of,
    lists_of,
    restored,
    stored,
)
from counterpane.learners.bayesian.network import (
    NetworkLearner,
    NetworkState,
)
from counterpane.learners.checkpoint import check_range
from counterpane.learners.driver import Search
from counterpane.progress import Control
from counterpane.typing import Bools

STOPPED = "stopped"  # the stage of a climb that goes on from `parents`


class ClimbSearch(Search[NetworkState]):
    """One climb a step: the first from the start, the others from perturbed best networks."""

    def __init__(
        self,
        engine: SearchEngine,
        start: ParentLists,
        *,
        tabu: int,
        restarts: int,
        perturb: int,
        seed: int,
    ) -> None:
        self.engine = engine
        self._start = start
        self.tabu = tabu
        self.restarts = restarts
        self.perturb = perturb
        self.seed = seed

    def start(self) -> NetworkState:
        score = self.engine.score(self._start)
        rows = stored(self._start)
        return NetworkState(rows, score, rows, "climb", 0, score)

    def check(self, state: NetworkState) -> None:
        check_stored(self.engine.n, state.best, state.parents)
        check_range("the number of climbs", state.rounds, 0, self.restarts + 2)

    def done(self, state: NetworkState) -> bool:
        return state.rounds > self.restarts

    def size(self, state: NetworkState) -> tuple[float, float]:
        return state.rounds, self.restarts + 1

    def step(self, state: NetworkState, ctl: Control) -> tuple[NetworkState, dict[str, Any]]:
        resumed = state.stage == STOPPED
        dag = restored(state.parents if resumed else state.best, self.engine.n)
        if state.rounds and not resumed:
            rng = np.random.default_rng([self.seed, state.rounds])
            dag = lists_of(perturbed(self.engine, dag_of(dag), self.perturb, rng))
        reached = self.engine.climb(dag, ctl)
        moves = reached.gains
        if self.tabu and not reached.stopped:
            reached = self.engine.tabu_walk(reached.dag, self.tabu, ctl)
            moves += reached.gains
        after = state._replace(stage="climb", rounds=state.rounds + 1)
        if reached.stopped:  # which the driver notices next; the climb so far counts
            after = state._replace(stage=STOPPED, parents=stored(reached.dag))
        score = self.engine.score(reached.dag)
        if score > state.score + self.engine.limits.tolerance:
            after = after._replace(best=stored(reached.dag), score=score)
        return after, {"restart": state.rounds, "moves": moves, "score": score}


def perturbed(engine: SearchEngine, dag: Dag, times: int, rng: np.random.Generator) -> Dag:
    """`dag` after `times` random legal moves."""
    n = engine.n
    allowed, required = allowed_matrix(engine.limits, n), required_matrix(engine.limits, n)
    parents: Bools = np.zeros((n, n), dtype=bool)  # [x, p]
    parents[[x for _, x in dag.edges], [p for p, _ in dag.edges]] = True
    for _ in range(times):
        reach = np.eye(n, dtype=bool)  # [u, v]: v is u or its descendant
        for v in reversed(dag.topological_order()):
            reach[v] |= reach[list(dag.children(v))].any(axis=0)
        free = parents & ~required
        few = parents.sum(axis=1) < engine.limits.max_parents
        adds = np.argwhere(allowed & ~parents & ~reach & few[:, None])
        # p → x can be turned if p reaches no other parent of x; ways[x, p] counts p itself.
        ways = parents.astype(np.int64) @ reach.T.astype(np.int64)
        turns = np.argwhere(free & allowed.T & (ways == 1) & few[None, :])
        options = [edges for edges in (adds, np.argwhere(free), turns) if len(edges)]
        if not options:
            return dag
        edges = options[rng.integers(len(options))]
        x, p = edges[rng.integers(len(edges))]
        if edges is turns:
            parents[p, x] = True
        parents[x, p] = not parents[x, p]
        dag = Dag(n, [(int(p), int(x)) for x, p in np.argwhere(parents)])
    return dag


class HillClimb(NetworkLearner):
    """Hill-climbing over networks by a score.

    Parameters
    ----------
    criterion : str or LocalScore
        A name, such as "bic", "bdeu" or "k2", or a score.
    tabu : int
        The length of the tabu list, 0 for none.
    restarts : int
        How often to climb again from the best network, perturbed.
    perturb : int
        The number of random moves before each restart.
    max_parents, start, required_edges, forbidden_edges, tiers, false_edges, random_state
        As for every network learner, see `NetworkLearner`.
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
    >>> learner = cp.HillClimb("bic").fit(cp.load_dataset("titanic"))
    >>> learner.model_.dag.n_edges, round(learner.score_, 3)
    (5, -5251.14)
    """

    tabu: int = 0
    restarts: int = 0
    perturb: int = 1

    def _make_search(self, engine: SearchEngine, start: ParentLists) -> Search[NetworkState]:
        if min(self.tabu, self.restarts, self.perturb) < 0:
            raise ParameterError(
                f"tabu={self.tabu}, restarts={self.restarts}, perturb={self.perturb}; "
                "none may be negative."
            )
        options = {"tabu": self.tabu, "restarts": self.restarts, "perturb": self.perturb}
        return ClimbSearch(engine, start, **options, seed=self._seed)
