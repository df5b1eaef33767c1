"""PFMN on data: Markov networks from few tests, selected by their information per cost.

Edges are estimated from all pair tables together, and tests are executed where that estimate may be
wrong. `ParticleFilterMN` is the published algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

from counterpane.counts.source import CountSource
from counterpane.errors import ParameterError, Setting
from counterpane.graphs import UndirectedGraph
from counterpane.graphs.bits import pack
from counterpane.independence import IndependenceTest
from counterpane.independence.count_tests import CountTest
from counterpane.learners.base import Seed
from counterpane.learners.independence.base import (
    PairTableLearner,
    in_table_order,
    seconds_by_part,
)
from counterpane.learners.independence.edge_resolution import EdgeResolutionSearch
from counterpane.seeds import random_generator


class PFMN(PairTableLearner):
    """Learns a Markov network with few tests: those with the most information per cost.

    All pairs of columns are tested first, from shared tables of at most `table_cells` cells. Edges
    are estimated from these tables together. Further tests, given a minimal separating set, are
    executed where that estimate may be wrong. Results do not depend on `n_jobs`. The particle
    filter of Bromberg & Margaritis (2007), from which the name comes, is `ParticleFilterMN`; it
    also takes tests that are not of data, such as `Oracle`.

    Parameters
    ----------
    test : str or IndependenceTest, optional
        A test of data; see `GSMN`.
    alpha, table_cells, cost, interactions, potentials
        See `GSMN`.
    n_particles : int
        The number of graphs whose uncertain edges are drawn at random.
    min_gain : float
        Stop if no test has this expected gain, in bits per unit of cost.
    max_tests, max_cost : optional
        Stop before these are exceeded; all pairs must be allowed.
    random_state : int or numpy.random.Generator, optional
        The source of random numbers.
    equivalent_sample_size, missing, discretize, n_jobs, time_limit, progress, checkpoint
        See `GSMN`.

    Attributes
    ----------
    graph_, undirected_, blankets_, model_, n_tests_, cost_, n_tables_, table_cost_, contradictions_
        See `GSMN`.
    tests_ : list of Record
        The executed tests.
    edge_probabilities_, edge_log_odds_ : array
        Symmetric.
    trace_, seconds_
        A record of each step; seconds spent in tests, in selecting them, and in moves.

    Examples
    --------
    >>> import counterpane as cp
    >>> learner = cp.PFMN(random_state=0).fit(cp.load_dataset("titanic"))
    >>> sorted(learner.graph_.neighbors("survived"))
    ['age', 'sex', 'status']
    """

    n_particles: int = 16
    min_gain: float = 0.02
    max_tests: int | None = None
    max_cost: float | None = None
    random_state: Seed = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_least(n_particles=2, max_tests=1, max_cost=2, n_jobs=1, min_gain=0)

    def _test(self) -> IndependenceTest:
        test = super()._test()
        if not isinstance(test, CountTest):
            raise ParameterError(
                Setting("test", test),
                "; PFMN estimates edges from tables, so it needs a test of data: use "
                "ParticleFilterMN or GSMN for others.",
            )
        return test

    def _learn(self, source: CountSource) -> None:
        self._check_budget(source)
        test = self._test()
        ordered = self._ordered(source, test, self.table_cells)
        search = EdgeResolutionSearch(
            test,
            ordered.source,
            seed=int(random_generator(self.random_state).integers(2**62)),
            n_particles=self.n_particles,
            min_gain=self.min_gain,
            max_tests=math.inf if self.max_tests is None else self.max_tests,
            max_cost=math.inf if self.max_cost is None else self.max_cost,
            price=self._price,
        )
        outcome = self._driver(source).run(search, "asking tests")
        self.trace_, state = outcome.trace, outcome.state
        self.seconds_ = seconds_by_part(self.trace_)
        graph = UndirectedGraph.from_bits(pack(state.probabilities > 0.5))
        triples_by = test if self.interactions else None
        self._set_results(source, ordered, graph, state.tests, triples_by)
        self.edge_probabilities_ = in_table_order(state.probabilities, ordered.order)
        self.edge_log_odds_ = in_table_order(state.log_odds, ordered.order)

    def _check_budget(self, source: CountSource) -> None:
        """Refuse a budget that does not allow all pairs."""
        names = source.schema.names
        budgets: list[tuple[str, float | None, Callable[[], float]]] = [
            ("max_tests", self.max_tests, lambda: math.comb(len(names), 2)),
            ("max_cost", self.max_cost, lambda: sum(map(self._price, combinations(names, 2)))),
        ]
        for name, value, least in budgets:
            if value is not None and value < (needed := least()):
                raise ParameterError(
                    Setting(name, value),
                    f"; all pairs of {len(names)} columns need {needed:g}: allow that, or use "
                    "ParticleFilterMN.",
                )
