"""The particle filter over graphs of Bromberg & Margaritis, as a learner.

F. Bromberg and D. Margaritis, Efficient and robust independence-based Markov network structure
discovery, IJCAI 2007. Particles are a sample of the posterior over graphs. Each step executes the
test that tells most about them for its cost, weights the graphs by the verdict, and moves them. If
no test is worth its cost, the particles are drawn again from the prior with all tests, so that
graphs which were lost can come back; if that finds nothing new, the search is finished.
docs/design/particle-filter.md lists what differs from the paper, and why.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.graphs import UndirectedGraph
from counterpane.graphs.bits import pack, unpack
from counterpane.independence.count_tests import CountTest
from counterpane.independence.ledger import Record
from counterpane.learners.base import Seed
from counterpane.learners.independence.base import (
    IndependenceLearner,
    in_table_order,
    renumbered,
    seconds_by_part,
)
from counterpane.learners.independence.particle_filter import ParticleFilterSearch
from counterpane.learners.independence.particles import GraphPrior, consensus_graph
from counterpane.learners.independence.selection import SelectionScore, TableLimit
from counterpane.seeds import random_generator

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


class ParticleFilterMN(IndependenceLearner):
    """Learns a Markov network by a particle filter over graphs.

    The algorithm of Bromberg & Margaritis (2007). It takes tests of data and others, such as
    `Oracle`. A p-value counts as the likelihood ratio p / alpha, and an answer without a number as
    certain. On data, `PFMN` finds better graphs. Results do not depend on `n_jobs`.

    Parameters
    ----------
    test : str or IndependenceTest, optional
        "bayesian" (the default), or another test; see `GSMN`.
    alpha, cost, potentials
        See `GSMN`.
    n_particles : int
        The number of graphs.
    moves : int
        Moves of each graph after a test.
    prior : {"sparse", "graphs"}
        Pr(k edges) ∝ 1/(k + 1)², or uniform over graphs.
    criterion : {"gain", "entropy"}
        Information per column, or the paper's −H/W.
    min_gain : float, optional
        Stop if no test has this expected gain, in bits per unit of cost; by default 0.02, and 0 for
        tests that are not of data.
    rows_per_cell : float
        Rows per cell that the table of a test of data must have; 0 allows all.
    max_tests, max_cost : optional
        Stop before these are exceeded.
    random_state : int or numpy.random.Generator, optional
        The source of random numbers.
    equivalent_sample_size, missing, discretize, n_jobs, time_limit, progress, checkpoint
        See `GSMN`.

    Attributes
    ----------
    graph_, undirected_, blankets_, model_, n_tests_, cost_, n_tables_, table_cost_, contradictions_
        See `GSMN`.
    tests_ : list of FilterRecord
        The executed tests with their `gain` and the `entropy` after each.
    edge_probabilities_ : array
        The share of the particles with each edge; symmetric.
    best_graph_, log_posterior_
        The most probable graph visited, and its log-posterior up to a constant.
    trace_, seconds_
        A record of each step; seconds spent in tests, in selecting them, and in moves.

    Examples
    --------
    >>> import counterpane as cp
    >>> chain = cp.Oracle(UndirectedGraph(4, [(0, 1), (1, 2), (2, 3)]))
    >>> learner = cp.ParticleFilterMN(chain, potentials=False, random_state=0)
    >>> learner.fit(cp.load_dataset("titanic")).undirected_.edges
    ((0, 1), (1, 2), (2, 3))
    """

    n_particles: int = 200
    moves: int = 100
    prior: GraphPrior = "sparse"
    criterion: SelectionScore = "gain"
    min_gain: float | None = None
    rows_per_cell: float = 5.0
    max_tests: int | None = None
    max_cost: float | None = None
    random_state: Seed = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_least(
            n_particles=2, moves=1, max_tests=1, max_cost=2, n_jobs=1, min_gain=0, rows_per_cell=0
        )

    def _default_test(self) -> str:
        return "bayesian"

    def _learn(self, source: CountSource) -> None:
        test = self._test()
        of_data = isinstance(test, CountTest)
        ordered = self._ordered(source, test)
        search = ParticleFilterSearch(
            test,
            ordered.source,
            seed=int(random_generator(self.random_state).integers(2**62)),
            n_particles=self.n_particles,
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
        self.trace_, state, names = outcome.trace, outcome.state, source.schema.names
        self.seconds_ = seconds_by_part(self.trace_)
        shares = unpack(state.graphs, len(names)).mean(axis=0)
        others = np.stack([pack(shares > 0.5), state.best])
        chosen = consensus_graph(state.graphs, others, len(names))
        self._set_results(source, ordered, UndirectedGraph.from_bits(chosen), state.tests)
        self.edge_probabilities_ = in_table_order(shares, ordered.order)
        best_graph = renumbered(UndirectedGraph.from_bits(state.best), ordered.order)
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


def filter_record(record: Record, gain: float, entropy: float) -> FilterRecord:
    """The record of a test with what the particle filter expected of it."""
    x, y, given, independent, p_value, logs, cost, _ = record
    apart, joint = logs or (None, None)
    return FilterRecord(x, y, given, independent, p_value, apart, joint, cost, gain, entropy)
