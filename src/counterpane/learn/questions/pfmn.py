"""Markov networks by a particle filter over graphs that chooses its own tests.

Bromberg & Margaritis, IJCAI 2007. A population of graphs stands for the posterior; each step asks
the test that tells most about it for its cost, weighs the graphs by the answer, and moves them.
Where no test is worth its cost, the population begins again from the prior with all tests at once,
so that graphs which it had lost come back; if that finds nothing new either, it is done. What
differs from the paper, and why, is in docs/design/particle-filter.md.
"""

from __future__ import annotations

import math
import time
from typing import Any, Literal, NamedTuple, Self, Unpack, get_args

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.errors import ParameterError
from counterpane.graphs import UndirectedGraph
from counterpane.graphs.bits import pack, unpack
from counterpane.independence import IndependenceTest
from counterpane.independence.counted import CountTest
from counterpane.learn.base import LearnerOptions
from counterpane.learn.questions.asking import Asked, AskingLearner, moved
from counterpane.learn.questions.choosing import Room, Score
from counterpane.learn.questions.consensus import consensus
from counterpane.learn.questions.filtering import Filtered, FilterSearch
from counterpane.learn.questions.particles import Prior, Proposal
from counterpane.typing import Ints

Estimate = Literal["consensus", "median", "best"]

MIN_GAIN = 0.02  # bits for each unit of cost that an uncertain test must promise


class FilterRecord(NamedTuple):
    """One executed test: `gain` bits were expected of it, `entropy` bits were left after it.

    Both are about the particles of one class, which agree on all tests before.
    """

    x: str
    y: str
    given: tuple[str, ...]
    independent: bool
    p_value: float | None
    log_likelihood_independent: float | None
    log_likelihood_dependent: float | None
    cost: int
    gain: float
    entropy: float


class PFMN(AskingLearner):
    """Learns a Markov network with few tests: those with the most information per cost.

    Parameters: `test` ("bayesian", "chi2", "g2", or a test such as `Oracle`) and `alpha`, its level
    if it has one: a p-value counts as the likelihood ratio p / alpha, and an answer without a
    number as certain. `n_particles` graphs, each moved `moves` times after a test. `prior`:
    "sparse", Pr(k edges) ∝ 1/(k + 1)²; "sizes", uniform over numbers of edges; "graphs", uniform
    over graphs. `proposal`: "symmetric" moves, or "class", those of the paper. `score`: "gain",
    information per cost, or "entropy", the paper's −H/W. `estimate`: the graph whose independences
    agree best with the particles ("consensus"), the edges of probability above ½ ("median"), or the
    most probable graph that was visited ("best").

    The learner stops when no test has an expected gain of `min_gain` bits per unit of cost (by
    default 0.02 for tests of data, and 0 for others), or before `max_tests`, `max_cost` or
    `time_limit` are exceeded. Tests of data are executed only if their table has `rows_per_cell`
    rows per cell, because others have no power; 0 allows all. `potentials=False` leaves out the
    model. `random_state`, and the parameters of every learner; results do not depend on `n_jobs`.

    Results: `graph_` (networkx), `undirected_`, `blankets_`, `edge_probabilities_` (a symmetric
    array), `best_graph_` and its `log_posterior_` (up to a constant), `model_` (a `MarkovNetwork`),
    `tests_` (a record of each executed test), `n_tests_`, `cost_` (|given| + 2 a test), `trace_`,
    `seconds_` spent in tests, in choosing them, and in moves.

    >>> import counterpane as cp
    >>> learner = cp.PFMN(random_state=0).fit(cp.load_dataset("titanic"))
    >>> sorted(learner.graph_.neighbors("survived"))
    ['age', 'sex', 'status']
    """

    def __init__(
        self,
        test: str | IndependenceTest = "bayesian",
        *,
        n_particles: int = 200,
        moves: int = 100,
        prior: Prior = "sparse",
        proposal: Proposal = "symmetric",
        score: Score = "gain",
        estimate: Estimate = "consensus",
        min_gain: float | None = None,
        rows_per_cell: float = 5.0,
        max_tests: int | None = None,
        max_cost: float | None = None,
        alpha: float = 0.05,
        potentials: bool = True,
        random_state: int | np.random.Generator | None = None,
        **options: Unpack[LearnerOptions],
    ) -> None:
        super().__init__(test, alpha=alpha, potentials=potentials, **options)
        self.n_particles = n_particles
        self.moves = moves
        self.prior = prior
        self.proposal = proposal
        self.score = score
        self.estimate = estimate
        self.min_gain = min_gain
        self.rows_per_cell = rows_per_cell
        self.max_tests = max_tests
        self.max_cost = max_cost
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from `X`: a frame, a numpy array, a path, a `Table` or a `CountSource`."""
        began = time.monotonic()
        self._check()
        test = self._test()
        source = self._source(X, sample_weight, self.missing, self.n_jobs)
        inner, order = self._laid_out(source, test)
        uncertain = isinstance(test, CountTest)
        search = FilterSearch(
            test,
            inner,
            seed=int(np.random.default_rng(self.random_state).integers(2**62)),
            n_particles=self.n_particles,
            moves=self.moves,
            prior=self.prior,
            proposal=self.proposal,
            score=self.score,
            room=self._room(inner, limited=uncertain),
            min_gain=MIN_GAIN * uncertain if self.min_gain is None else self.min_gain,
            max_tests=self.max_tests,
            max_cost=self.max_cost,
            n_jobs=self.n_jobs,
        )
        outcome = self._driver(source).run(search, "asking tests")
        self.trace_ = outcome.trace
        self._report(source, outcome.state, order, time.monotonic() - began)
        self.seconds_ = {
            part: sum(row.get(f"{part}_seconds", 0.0) for row in self.trace_)
            for part in ("test", "score", "move")
        }
        return self

    def _room(self, source: CountSource, *, limited: bool) -> Room:
        """What tables may be asked for; those of two columns always."""
        cards = source.schema.cards.astype(np.float64)
        cells = np.inf
        if limited and self.rows_per_cell > 0:
            rows = source.total_weight or 0.0
            cells = max(rows / self.rows_per_cell, cards.max(initial=1.0) ** 2)
        return Room(np.log(cards), float(np.log(cells)))

    def _report(self, source: CountSource, state: Filtered, order: Ints, seconds: float) -> None:
        """Set the results; column i of the search is column `order[i]` of the table."""
        names = source.schema.names
        ledger = Asked(*state[-3:]).ledger(tuple(names[i] for i in order))
        shares = unpack(state.graphs.view(np.uint64), len(names)).mean(axis=0)
        probabilities = np.empty_like(shares)
        probabilities[np.ix_(order, order)] = shares
        best, median = state.best.view(np.uint64), pack(shares > 0.5)
        chosen = best if self.estimate == "best" else median
        if self.estimate == "consensus":
            others = np.stack([median, best])
            chosen = consensus(state.graphs.view(np.uint64), others, len(names))
        self._settle(source, moved(UndirectedGraph.from_bits(chosen), order), ledger, seconds)
        self.edge_probabilities_ = probabilities
        best_graph = moved(UndirectedGraph.from_bits(best), order)
        self.best_graph_: Any = best_graph.to_networkx(names)
        self.log_posterior_ = float(state.best_log_posterior)
        told = zip(ledger.records, state.gains.tolist(), state.entropies.tolist(), strict=True)
        self.tests_ = []
        for r, gain, entropy in told:
            logs = r.log_likelihoods or (None, None)
            facts = (r.x, r.y, r.given, r.independent, r.p_value)
            self.tests_.append(FilterRecord(*facts, logs[0], logs[1], r.cost, gain, entropy))

    def _check(self) -> None:
        """Refuse parameters before the work."""
        words = {"prior": Prior, "proposal": Proposal, "score": Score, "estimate": Estimate}
        for name, kind in words.items():
            if getattr(self, name) not in get_args(kind):
                allowed = ", ".join(map(repr, get_args(kind)))
                raise ParameterError(f"{name}={getattr(self, name)!r}; one of {allowed} is needed.")
        least = {"n_particles": 2, "moves": 1, "max_tests": 1, "max_cost": 2, "n_jobs": 1}
        least |= {"min_gain": 0, "rows_per_cell": 0}
        for name, smallest in least.items():
            value = getattr(self, name)
            if value is None and name in ("max_tests", "max_cost", "min_gain"):
                continue
            whole = name in ("n_particles", "moves", "max_tests", "n_jobs")
            number = (int, np.integer) if whole else (int, float, np.number)
            if not isinstance(value, number) or not smallest <= value < math.inf:
                raise ParameterError(f"{name}={value!r}; a number from {smallest} is needed.")
