"""PFMN: Markov networks from few tests, selected by their information per cost.

On data, edges are estimated from all pair tables together, and tests are executed where that
estimate may be wrong (`EdgeResolutionSearch`). The other variant is the particle filter over graphs
of F. Bromberg and D. Margaritis, Efficient and robust independence-based Markov network structure
discovery, IJCAI 2007, which also works for tests without tables, such as an oracle
(`ParticleFilterSearch`). There particles are a sample of the posterior; each step executes the test
that tells most about them for its cost, weights the graphs by the verdict, and moves them. If no
test is worth its cost, the particles are drawn again from the prior with all tests, so that graphs
which were lost can come back; if that finds nothing new, the search is finished.
docs/design/particle-filter.md lists what differs from the paper, and why.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.errors import ParameterError, Setting
from counterpane.graphs import UndirectedGraph
from counterpane.graphs.bits import pack, unpack
from counterpane.independence import IndependenceTest
from counterpane.independence.count_tests import CountTest
from counterpane.independence.ledger import Record
from counterpane.learners.base import Seed
from counterpane.learners.independence.base import (
    IndependenceLearner,
    OrderedSource,
    renumbered,
)
from counterpane.learners.independence.edge_resolution import EdgeResolutionSearch
from counterpane.learners.independence.particle_filter import ParticleFilterSearch
from counterpane.learners.independence.particles import GraphPrior, consensus_graph
from counterpane.learners.independence.selection import SelectionScore, TableLimit
from counterpane.seeds import random_generator
from counterpane.typing import Floats, Ints

MIN_GAIN = 0.02  # bits for each unit of cost that an uncertain test must promise


class FilterRecord(NamedTuple):
    """One executed test, its expected `gain`, and the `entropy` after it, in bits.

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


class PFMN(IndependenceLearner):
    """Learns a Markov network with few tests: those with the most information per cost.

    All pairs of columns are tested first, from shared tables of at most `table_cells` cells. Edges
    are estimated from these tables together. Further tests, given a minimal separating set, are
    executed where that estimate may be wrong. `variant="paper"` is the particle filter of Bromberg
    & Margaritis (2007), which is also used if the test is not one of data, such as `Oracle`.
    There a p-value counts as the likelihood ratio p / alpha, and an answer without a number as
    certain. Results do not depend on `n_jobs`.

    Parameters
    ----------
    test, alpha, table_cells, cost, interactions, potentials
        See `GSMN`; `interactions` is not possible with the particle filter.
    variant : {"default", "paper"}
        Which of the two methods.
    n_particles : int, optional
        By default 16, or 200 graphs in the particle filter.
    moves : int
        Particle filter: moves of each graph after a test.
    prior : {"sparse", "graphs"}
        Particle filter: Pr(k edges) ∝ 1/(k + 1)², or uniform over graphs.
    criterion : {"gain", "entropy"}
        Particle filter: information per column, or the paper's −H/W.
    min_gain : float, optional
        Stop if no test has this expected gain, in bits per unit of cost; by default 0.02.
    rows_per_cell : float
        Particle filter: rows per cell that the table of a test of data must have; 0 allows all.
    max_tests, max_cost : optional
        Stop before these are exceeded.
    random_state : int or numpy.random.Generator, optional
        The source of random numbers.

    Attributes
    ----------
    graph_, undirected_, blankets_, model_, n_tests_, cost_, n_tables_, table_cost_, contradictions_
        See `GSMN`.
    tests_ : list
        The executed tests; in the particle filter with `gain` and `entropy`.
    edge_probabilities_, edge_log_odds_ : array
        Symmetric; the log-odds are those of the default variant.
    best_graph_, log_posterior_
        Particle filter: the most probable graph visited, its log-posterior up to a constant.
    trace_, seconds_
        A record of each step; seconds spent in tests, in selecting them, and in moves.

    Examples
    --------
    >>> import counterpane as cp
    >>> learner = cp.PFMN(random_state=0).fit(cp.load_dataset("titanic"))
    >>> sorted(learner.graph_.neighbors("survived"))
    ['age', 'sex', 'status']
    """

    _paper_test: ClassVar[str] = "bayesian"

    n_particles: int | None = None
    moves: int = 100
    prior: GraphPrior = "sparse"
    criterion: SelectionScore = "gain"
    min_gain: float | None = None
    rows_per_cell: float = 5.0
    max_tests: int | None = None
    max_cost: float | None = None
    random_state: Seed = None

    def _learn(self, source: CountSource) -> None:
        test = self._test()
        ordered = self._ordered(source, test)
        learn = self._resolve_edges if self._reads_tables(test) else self._filter
        learn(source, ordered, test)
        self.seconds_ = {
            part: sum(row.get(f"{part}_seconds", 0.0) for row in self.trace_)
            for part in ("test", "score", "move")
        }

    @property
    def _seed(self) -> int:
        return int(random_generator(self.random_state).integers(2**62))

    def _resolve_edges(
        self, source: CountSource, ordered: OrderedSource, test: IndependenceTest
    ) -> None:
        """Learn by estimates from all pair tables, and set the results."""
        self._check_budget(source)
        search = EdgeResolutionSearch(
            test,
            ordered.source,
            seed=self._seed,
            n_particles=16 if self.n_particles is None else self.n_particles,
            min_gain=MIN_GAIN if self.min_gain is None else self.min_gain,
            max_tests=math.inf if self.max_tests is None else self.max_tests,
            max_cost=math.inf if self.max_cost is None else self.max_cost,
            price=self._price,
        )
        outcome = self._driver(source).run(search, "asking tests")
        self.trace_ = outcome.trace
        state = outcome.state
        graph = UndirectedGraph.from_bits(pack(state.probabilities > 0.5))
        self._set_results(source, ordered, graph, state.tests, test)
        self.edge_probabilities_ = in_table_order(state.probabilities, ordered.order)
        self.edge_log_odds_ = in_table_order(state.log_odds, ordered.order)

    def _check_budget(self, source: CountSource) -> None:
        """Refuse a budget that does not allow all pairs."""
        names = source.schema.names
        pairs = list(combinations(names, 2))
        least = {"max_tests": float(len(pairs)), "max_cost": float(sum(map(self._price, pairs)))}
        for name, needed in least.items():
            value = getattr(self, name)
            if value is not None and value < needed:
                raise ParameterError(
                    Setting(name, value),
                    f"; all pairs of {len(names)} columns need {needed:g}: allow "
                    "that, or pass variant='paper'.",
                )

    def _filter(self, source: CountSource, ordered: OrderedSource, test: IndependenceTest) -> None:
        """Learn by the particle filter over graphs, and set the results."""
        of_data = isinstance(test, CountTest)
        search = ParticleFilterSearch(
            test,
            ordered.source,
            seed=self._seed,
            n_particles=200 if self.n_particles is None else self.n_particles,
            moves=self.moves,
            prior=self.prior,
            score=self.criterion,
            limit=self._table_limit(ordered.source, limited=of_data),
            min_gain=MIN_GAIN * of_data if self.min_gain is None else self.min_gain,
            max_tests=self.max_tests,
            max_cost=self.max_cost,
            n_jobs=self.n_jobs,
            price=self._price,
        )
        outcome = self._driver(source).run(search, "asking tests")
        self.trace_ = outcome.trace
        state, names = outcome.state, source.schema.names
        shares = unpack(state.graphs, len(names)).mean(axis=0)
        best, median = state.best, pack(shares > 0.5)
        others = np.stack([median, best])
        chosen = consensus_graph(state.graphs, others, len(names))
        graph, executed = UndirectedGraph.from_bits(chosen), state.tests
        self._set_results(source, ordered, graph, executed, test)
        self.edge_probabilities_ = in_table_order(shares, ordered.order)
        best_graph = renumbered(UndirectedGraph.from_bits(best), ordered.order)
        self.best_graph_: Any = best_graph.to_networkx(names)
        self.log_posterior_ = float(state.best_log_posterior)
        gained = zip(state.gains.tolist(), state.entropies.tolist(), strict=True)
        self.tests_ = [
            filter_record(record, *bits) for record, bits in zip(self.tests_, gained, strict=True)
        ]

    def _table_limit(self, source: CountSource, *, limited: bool) -> TableLimit:
        """The largest tables of tests; those of two columns are always allowed."""
        cards = source.schema.cards.astype(np.float64)
        cells = np.inf
        if limited and self.rows_per_cell > 0:
            rows = source.total_weight or 0.0
            cells = max(rows / self.rows_per_cell, cards.max(initial=1.0) ** 2)
        return TableLimit(np.log(cards), float(np.log(cells)))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        test = self._test()
        defaults = self._parameters()
        for name in ("prior", "criterion"):
            if self._reads_tables(test) and getattr(self, name) != defaults[name]:
                raise ParameterError(
                    Setting(name, getattr(self, name)),
                    "; this is a parameter of the particle filter: pass variant='paper' too.",
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
            is_count = name in ("n_particles", "moves", "max_tests", "n_jobs")
            number = (int, np.integer) if is_count else (int, float, np.number)
            if not isinstance(value, number) or not smallest <= value < math.inf:
                raise ParameterError(Setting(name, value), f"; a number from {smallest} is needed.")


def filter_record(record: Record, gain: float, entropy: float) -> FilterRecord:
    """The record of a test with what the particle filter expected of it."""
    x, y, given, independent, p_value, logs, cost, _ = record
    apart, joint = logs or (None, None)
    return FilterRecord(x, y, given, independent, p_value, apart, joint, cost, gain, entropy)


def in_table_order(numbers: Floats, order: Ints) -> Floats:
    """A square array of the search, with row and column i at position `order[i]`."""
    out = np.empty_like(numbers)
    out[np.ix_(order, order)] = numbers
    return out
