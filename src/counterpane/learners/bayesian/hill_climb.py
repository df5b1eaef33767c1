"""Hill-climbing over DAGs with add, drop and turn, tabu walks and restarts.

Every step takes the best of all moves. With `tabu` the walk goes on past a local optimum, by the
least bad move to a graph not visited lately, until as many moves in a row bring no gain. With
`restarts` the best network is perturbed by random moves and climbed again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane._core.bayesian import ADD, DROP, TURN, DagState, make_move
from counterpane.errors import ParameterError
from counterpane.graphs.bits import unpack
from counterpane.learners.bayesian.moves import Moves, dag_of
from counterpane.learners.bayesian.network import (
    NetworkLearner,
    NetworkState,
    bits_of,
    stored,
)
from counterpane.learners.driver import Search
from counterpane.progress import Control, Stopped
from counterpane.typing import Words

STOPPED = "stopped"  # the stage of a climb that goes on from `parents`


class ClimbSearch(Search[NetworkState]):
    """One climb a step: the first from the start, the others from perturbed best networks."""

    def __init__(
        self, moves: Moves, start: Words, *, tabu: int, restarts: int, perturb: int, seed: int
    ) -> None:
        self.moves = moves
        self._start = start
        self.tabu = tabu
        self.restarts = restarts
        self.perturb = perturb
        self.seed = seed

    def start(self) -> NetworkState:
        score = self.moves.score(dag_of(self._start))
        rows = stored(self._start)
        return NetworkState(rows, score, rows, "climb", 0, score)

    def done(self, state: NetworkState) -> bool:
        return state.rounds > self.restarts

    def size(self, state: NetworkState) -> tuple[float, float]:
        return state.rounds, self.restarts + 1

    def step(self, state: NetworkState, ctl: Control) -> tuple[NetworkState, dict[str, Any]]:
        resumed = state.stage == STOPPED
        dag = dag_of(bits_of(state.parents if resumed else state.best))
        if state.rounds and not resumed:
            shake(self.moves, dag, self.perturb, np.random.default_rng([self.seed, state.rounds]))
        after = state._replace(stage="climb", rounds=state.rounds + 1)
        moved = 0
        try:
            moved = self.moves.climb(dag, ctl)
            moved += self.moves.tabu_walk(dag, self.tabu) if self.tabu else 0
        except Stopped:  # which the driver notices next; the climb so far counts
            after = state._replace(stage=STOPPED, parents=stored(dag.parents))
        score = self.moves.score(dag)
        if score > state.score + self.moves.limits.tolerance:
            after = after._replace(best=stored(dag.parents), score=score)
        return after, {"restart": state.rounds, "moves": moved, "score": score}


def shake(moves: Moves, dag: DagState, times: int, rng: np.random.Generator) -> None:
    """Make `times` random legal moves."""
    n, limits = moves.n, moves.limits
    allowed = unpack(limits.allowed, n)
    for _ in range(times):
        parents, reach = unpack(dag.parents, n), unpack(dag.reach, n)
        free = parents & ~unpack(limits.required, n)  # [x, p]
        few = parents.sum(axis=1) < moves.max_parents
        adds = [(ADD, p, x) for x, p in np.argwhere(allowed & ~parents & ~reach & few[:, None])]
        drops = [(DROP, p, x) for x, p in np.argwhere(free)]
        ways = (parents[:, :, None] & reach.T[:, None, :]).sum(
            axis=1
        )  # parents of x that p reaches
        turns = [(TURN, p, x) for x, p in np.argwhere(free & allowed.T & (ways == 1)) if few[p]]
        options = [kind for kind in (adds, drops, turns) if kind]
        if not options:
            return
        kind = options[rng.integers(len(options))]
        move, p, x = kind[rng.integers(len(kind))]
        make_move(dag, move, int(p), int(x))


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

    def _make_search(self, moves: Moves, start: Words) -> Search[NetworkState]:
        if min(self.tabu, self.restarts, self.perturb) < 0:
            raise ParameterError(
                f"tabu={self.tabu}, restarts={self.restarts}, perturb={self.perturb}; "
                "none may be negative."
            )
        options = {"tabu": self.tabu, "restarts": self.restarts, "perturb": self.perturb}
        return ClimbSearch(moves, start, **options, seed=self._seed)
