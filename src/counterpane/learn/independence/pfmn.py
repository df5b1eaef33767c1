"""Markov networks by few tests, chosen by what they tell for their cost.

On data, edges are read from all pair tables together, and tests are asked where that reading may
err (`ReadingSearch`). The other variant is the particle filter over graphs of Bromberg & Margaritis
(IJCAI 2007), which also serves tests without tables, such as an oracle. There a population of
graphs stands for the posterior; each step asks the test that tells most about it for its cost,
weighs the graphs by the answer, and moves them. Where no test is worth its cost, the population
begins again from the prior with all tests at once, so that graphs which it had lost come back; if
that finds nothing new either, it is done. What differs from the paper, and why, is in
docs/design/particle-filter.md.
"""

from __future__ import annotations

import inspect
import math
import time
from itertools import combinations
from typing import Any, ClassVar, Literal, NamedTuple, Self, Unpack, get_args

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.errors import ParameterError
from counterpane.graphs import UndirectedGraph
from counterpane.graphs.bits import pack, unpack
from counterpane.independence import IndependenceTest
from counterpane.independence.count_tests import CountTest
from counterpane.independence.ledger import Price
from counterpane.learn.base import LearnerOptions
from counterpane.learn.independence.asking import Asked, AskingLearner, LaidOut, Variant, moved
from counterpane.learn.independence.choosing import Room, Score
from counterpane.learn.independence.consensus import consensus
from counterpane.learn.independence.filtering import Filtered, FilterSearch
from counterpane.learn.independence.interactions import with_interactions
from counterpane.learn.independence.particles import Prior, Proposal
from counterpane.learn.independence.reading import Read, ReadingSearch
from counterpane.typing import Floats, Ints

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
    cost: float
    gain: float
    entropy: float


class PFMN(AskingLearner):
    """Learns a Markov network with few tests: those with the most information per cost.

    All pairs of columns are asked first, from shared tables of at most `table_cells` cells. Edges
    are read from these tables together. Further tests, given a minimal separator, are executed
    where that reading may err. The learner stops when no test has an expected gain of `min_gain`
    bits per unit of cost (by default 0.02), or before `max_tests`, `max_cost` or `time_limit` are
    exceeded.

    Parameters: `test` ("stratified", "bayesian", "chi2", "g2") and its level `alpha`, `n_particles`
    (by default 16), `cost`, a function of the columns of a test, `interactions`, a second look at
    triples of columns without pair effects, `potentials=False` to leave out the model,
    `random_state`, and those of every learner. Results do not depend on `n_jobs`.

    `variant="paper"` is the particle filter of Bromberg & Margaritis (2007), which is also used
    if the test is not one of data, such as `Oracle`: a p-value counts as the likelihood ratio
    p / alpha, and an answer without a number as certain. Its parameters: `n_particles` graphs
    (by default 200), each moved `moves` times after a test. `prior`: "sparse", Pr(k edges) ∝
    1/(k + 1)²; "sizes", uniform over numbers of edges; "graphs", uniform over graphs. `proposal`:
    "symmetric" moves, or "class", those of the paper. `score`: "gain", information per column, or
    "entropy", the paper's −H/W. `estimate`: the graph whose independences agree best with the
    particles ("consensus"), the edges of probability above ½ ("median"), or the most probable graph
    that was visited ("best"). Tests of data are executed only if their table has `rows_per_cell`
    rows per cell; 0 allows all.

    Results: `graph_` (networkx), `undirected_`, `blankets_`, `edge_probabilities_` (a symmetric
    array) and, of the default variant, `edge_log_odds_`; `model_` (a `MarkovNetwork`), `tests_` (a
    record of each executed test), `n_tests_`, `cost_` (|given| + 2 a test), `n_tables_`,
    `table_cost_`, `contradictions_`, `trace_`, `seconds_` spent in tests, in choosing them, and in
    moves; of the paper's variant also `best_graph_` and its `log_posterior_` (up to a constant).

    >>> import counterpane as cp
    >>> learner = cp.PFMN(random_state=0).fit(cp.load_dataset("titanic"))
    >>> sorted(learner.graph_.neighbors("survived"))
    ['age', 'sex', 'status']
    """

    _paper_test: ClassVar[str] = "bayesian"

    def __init__(
        self,
        test: str | IndependenceTest | None = None,
        *,
        variant: Variant = "default",
        n_particles: int | None = None,
        moves: int = 100,
        prior: Prior = "sparse",
        proposal: Proposal = "symmetric",
        score: Score = "gain",
        estimate: Estimate = "consensus",
        min_gain: float | None = None,
        rows_per_cell: float = 5.0,
        max_tests: int | None = None,
        max_cost: float | None = None,
        alpha: float | None = None,
        table_cells: int | None = 64,
        cost: Price | None = None,
        interactions: bool = False,
        potentials: bool = True,
        random_state: int | np.random.Generator | None = None,
        equivalent_sample_size: float = 1.0,
        **options: Unpack[LearnerOptions],
    ) -> None:
        super().__init__(
            test,
            variant=variant,
            alpha=alpha,
            table_cells=table_cells,
            cost=cost,
            interactions=interactions,
            potentials=potentials,
            equivalent_sample_size=equivalent_sample_size,
            **options,
        )
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
        test = self._test()
        self._check(test)
        source = self._source(X, sample_weight, self.missing, self.n_jobs)
        laid_out = self._laid_out(source, test)
        learn = self._read if self._reads_tables(test) else self._filter
        learn(source, laid_out, test, began)
        self.seconds_ = {
            part: sum(row.get(f"{part}_seconds", 0.0) for row in self.trace_)
            for part in ("test", "score", "move")
        }
        return self

    @property
    def _seed(self) -> int:
        return int(np.random.default_rng(self.random_state).integers(2**62))

    def _read(
        self, source: CountSource, laid_out: LaidOut, test: IndependenceTest, began: float
    ) -> None:
        """Learn by reading all pair tables, and set the results."""
        self._check_budget(source)
        search = ReadingSearch(
            test,
            laid_out.source,
            seed=self._seed,
            n_particles=16 if self.n_particles is None else self.n_particles,
            min_gain=MIN_GAIN if self.min_gain is None else self.min_gain,
            max_tests=math.inf if self.max_tests is None else self.max_tests,
            max_cost=math.inf if self.max_cost is None else self.max_cost,
            price=self._price,
        )
        outcome = self._driver(source).run(search, "asking tests")
        self.trace_ = outcome.trace
        state: Read = outcome.state
        bound = test.bind(laid_out.source) if self.interactions else None
        ledger = Asked(*state[-3:]).ledger(laid_out.names, self._price, bound)
        graph = UndirectedGraph.from_bits(pack(state.probabilities > 0.5))
        if self.interactions:
            graph = with_interactions(graph, ledger)
        self._settle(source, laid_out, graph, ledger, time.monotonic() - began)
        self.edge_probabilities_ = placed(state.probabilities, laid_out.order)
        self.edge_log_odds_ = placed(state.log_odds, laid_out.order)
        self.tests_: list[Any] = ledger.records

    def _check_budget(self, source: CountSource) -> None:
        """Refuse a budget that does not even allow all pairs."""
        names = source.schema.names
        pairs = list(combinations(names, 2))
        least = {"max_tests": float(len(pairs)), "max_cost": float(sum(map(self._price, pairs)))}
        for name, needed in least.items():
            value = getattr(self, name)
            if value is not None and value < needed:
                raise ParameterError(
                    f"{name}={value!r}; all pairs of {len(names)} columns need {needed:g}: allow "
                    "that, or pass variant='paper'."
                )

    def _filter(
        self, source: CountSource, laid_out: LaidOut, test: IndependenceTest, began: float
    ) -> None:
        """Learn by the particle filter over graphs, and set the results."""
        uncertain = isinstance(test, CountTest)
        search = FilterSearch(
            test,
            laid_out.source,
            seed=self._seed,
            n_particles=200 if self.n_particles is None else self.n_particles,
            moves=self.moves,
            prior=self.prior,
            proposal=self.proposal,
            score=self.score,
            room=self._room(laid_out.source, limited=uncertain),
            min_gain=MIN_GAIN * uncertain if self.min_gain is None else self.min_gain,
            max_tests=self.max_tests,
            max_cost=self.max_cost,
            n_jobs=self.n_jobs,
            price=self._price,
        )
        outcome = self._driver(source).run(search, "asking tests")
        self.trace_ = outcome.trace
        self._report(source, laid_out, outcome.state, time.monotonic() - began)

    def _room(self, source: CountSource, *, limited: bool) -> Room:
        """What tables may be asked for; those of two columns always."""
        cards = source.schema.cards.astype(np.float64)
        cells = np.inf
        if limited and self.rows_per_cell > 0:
            rows = source.total_weight or 0.0
            cells = max(rows / self.rows_per_cell, cards.max(initial=1.0) ** 2)
        return Room(np.log(cards), float(np.log(cells)))

    def _report(
        self, source: CountSource, laid_out: LaidOut, state: Filtered, seconds: float
    ) -> None:
        """Set the results of the particle filter."""
        names = source.schema.names
        ledger = Asked(*state[-3:]).ledger(laid_out.names, self._price)
        shares = unpack(state.graphs.view(np.uint64), len(names)).mean(axis=0)
        best, median = state.best.view(np.uint64), pack(shares > 0.5)
        chosen = best if self.estimate == "best" else median
        if self.estimate == "consensus":
            others = np.stack([median, best])
            chosen = consensus(state.graphs.view(np.uint64), others, len(names))
        self._settle(source, laid_out, UndirectedGraph.from_bits(chosen), ledger, seconds)
        self.edge_probabilities_ = placed(shares, laid_out.order)
        best_graph = moved(UndirectedGraph.from_bits(best), laid_out.order)
        self.best_graph_: Any = best_graph.to_networkx(names)
        self.log_posterior_ = float(state.best_log_posterior)
        told = zip(ledger.records, state.gains.tolist(), state.entropies.tolist(), strict=True)
        self.tests_ = []
        for r, gain, entropy in told:
            logs = r.log_likelihoods or (None, None)
            facts = (r.x, r.y, r.given, r.independent, r.p_value)
            self.tests_.append(FilterRecord(*facts, logs[0], logs[1], r.cost, gain, entropy))

    def _check(self, test: IndependenceTest) -> None:
        """Refuse parameters before the work."""
        words = {"prior": Prior, "proposal": Proposal, "score": Score, "estimate": Estimate}
        usual = inspect.signature(type(self)).parameters
        for name, kind in words.items():
            if getattr(self, name) not in get_args(kind):
                allowed = ", ".join(map(repr, get_args(kind)))
                raise ParameterError(f"{name}={getattr(self, name)!r}; one of {allowed} is needed.")
            if self._reads_tables(test) and getattr(self, name) != usual[name].default:
                raise ParameterError(
                    f"{name}={getattr(self, name)!r}; this is a parameter of the particle filter: "
                    "pass variant='paper' too."
                )
        if self.interactions and not self._reads_tables(test):
            raise ParameterError(
                "interactions=True; the particle filter does not ask all pairs, so it cannot look "
                "at triples: leave it out, or pass variant='default' and a test of data."
            )
        least = {"n_particles": 2, "moves": 1, "max_tests": 1, "max_cost": 2, "n_jobs": 1}
        least |= {"min_gain": 0, "rows_per_cell": 0}
        for name, smallest in least.items():
            value = getattr(self, name)
            if value is None and name in ("max_tests", "max_cost", "min_gain", "n_particles"):
                continue
            whole = name in ("n_particles", "moves", "max_tests", "n_jobs")
            number = (int, np.integer) if whole else (int, float, np.number)
            if not isinstance(value, number) or not smallest <= value < math.inf:
                raise ParameterError(f"{name}={value!r}; a number from {smallest} is needed.")


def placed(numbers: Floats, order: Ints) -> Floats:
    """A square array of the search, with row and column i at place `order[i]`."""
    out = np.empty_like(numbers)
    out[np.ix_(order, order)] = numbers
    return out
