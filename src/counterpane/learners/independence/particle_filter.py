"""The particle filter of PFMN: each step selects a test, executes it, and updates the particles."""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.graphs.bits import members, n_words
from counterpane.independence import IndependenceTest, Ledger, Question, Verdict
from counterpane.independence.count_tests import TIE
from counterpane.independence.ledger import Price
from counterpane.learners.checkpoint import check_range
from counterpane.learners.independence.base import LedgerSearch
from counterpane.learners.independence.executed_tests import ExecutedTests, check_bits, check_graphs
from counterpane.learners.independence.particles import (
    GraphPrior,
    Population,
    draw_graphs,
)
from counterpane.learners.independence.selection import (
    SelectedTest,
    SelectionScore,
    StartSets,
    TableLimit,
    select_test,
)
from counterpane.progress import Control
from counterpane.typing import Floats, Ints, Words

CERTAIN = 30.0  # nats for an answer without likelihoods
LOST = 15.0  # nats below the best graph at which a new population has missed it
TRIES = 3  # new populations that may miss it before the old one is final


class FilterState(NamedTuple):
    """Particles, the tests so far, and start sets."""

    seed: int
    steps: int
    finished: bool
    renewed: int  # new populations since the last test that missed the best; TRIES: no gain
    graphs: Words
    totals: Floats  # log-likelihoods
    best: Words  # the most probable graph since the last test
    best_log_posterior: float
    starts: Ints  # variables and sets that the next selection starts from
    sets: Words
    gains: Floats
    entropies: Floats
    tests: ExecutedTests


class ParticleFilterSearch(LedgerSearch[FilterState, tuple[Population, Ledger]]):
    """One test per step, or a new population. Random numbers depend on (seed, step) only."""

    def __init__(
        self,
        test: IndependenceTest,
        source: CountSource,
        *,
        seed: int,
        n_particles: int,
        moves: int,
        prior: GraphPrior,
        score: SelectionScore,
        limit: TableLimit,
        min_gain: float,
        max_tests: int | None,
        max_cost: float | None,
        n_jobs: int,
        price: Price = len,
    ) -> None:
        super().__init__(test, source, price)
        self.seed = seed
        self.n_particles = n_particles
        self.moves = moves
        self.prior: GraphPrior = prior
        self.score: SelectionScore = score
        self.limit = limit
        self.min_gain = min_gain
        self.max_tests = math.inf if max_tests is None else max_tests
        self.max_cost = math.inf if max_cost is None else max_cost
        self.n_jobs = n_jobs

    def start(self) -> FilterState:
        n, words = self.n, n_words(self.n)
        rng = np.random.default_rng([self.seed, 0])
        graphs = draw_graphs(rng, self.n_particles, n, self.prior)
        rows, none = np.zeros((n, words), dtype=np.uint64), np.zeros(0)
        return FilterState(
            self.seed, 0, n < 2, 0, graphs, np.zeros(self.n_particles), rows, -np.inf,
            np.zeros(0, dtype=np.int64), rows[:0], none, none, ExecutedTests.empty(n),
        )  # fmt: skip

    def check(self, state: FilterState) -> None:
        super().check(state)
        for graphs in (state.graphs, state.best):
            check_graphs(graphs, self.n)
        check_bits("a set", state.sets, self.n)
        check_range("a total", state.totals, -1e300, 1.0)
        check_range("the number of new populations", state.renewed, 0, TRIES + 1)
        check_range("a start", state.starts, 0, self.n)
        check_range("a step", state.steps, 0, 2**31)
        check_range("the seed", state.seed, 0, 2**63)
        if {len(state.gains), len(state.entropies)} != {state.tests.size}:
            raise ValueError("the tests have columns of several lengths")
        if len(state.starts) != len(state.sets):
            raise ValueError("the start sets have columns of several lengths")

    def done(self, state: FilterState) -> bool:
        return state.finished or state.tests.size >= self.max_tests

    def size(self, state: FilterState) -> tuple[float, float | None]:
        return state.tests.size, None

    def _rebuild(self, state: FilterState, ctl: Control) -> tuple[Population, Ledger]:
        """The population and the ledger of a state."""
        ledger = self._ledger(state, ctl)
        population = Population(
            state.graphs,
            state.tests.pairs,
            state.tests.given,
            np.array([self._gap(*item) for item in ledger.answered.items()], dtype=np.float64),
            moves=self.moves,
            prior=self.prior,
            n_jobs=self.n_jobs,
        )
        population.totals = state.totals.copy()  # summed in another order, they would differ
        return population, ledger

    def _advance(
        self, state: FilterState, work: tuple[Population, Ledger]
    ) -> tuple[FilterState, dict[str, Any]]:
        population, ledger = work
        rng = np.random.default_rng([state.seed, state.steps + 1])
        began = time.perf_counter()
        classes = population.group()
        selected = None
        if classes.entropy > 0.0:
            start_sets = StartSets(state.starts, state.sets)
            selected = select_test(
                population, classes, start_sets, rng, score=self.score, limit=self.limit
            )
        record: dict[str, Any] = {"score_seconds": time.perf_counter() - began}
        state = state._replace(steps=state.steps + 1)
        cost = 0.0
        if selected is not None:
            cost = ledger.price_of((*selected.pair, members(selected.given)))
        if selected is None or selected.gain < self.min_gain * cost:
            state = self._renew(state, population, rng, record)
        elif ledger.cost + cost > self.max_cost:
            state = state._replace(finished=True)
        else:
            state = self._execute(state, population, selected, ledger, rng, record)
        return state, record | {"n_tests": ledger.n_tests, "cost": ledger.cost}

    def _execute(
        self,
        state: FilterState,
        population: Population,
        selected: SelectedTest,
        ledger: Ledger,
        rng: np.random.Generator,
        record: dict[str, Any],
    ) -> FilterState:
        """Execute a test and update the population by its verdict."""
        began = time.perf_counter()
        question = (*selected.pair, members(selected.given))
        verdict = ledger.answer([question])[0]
        tested = time.perf_counter()
        population.absorb(selected.pair, selected.given, self._gap(question, verdict), rng)
        classes = population.group()
        record |= {
            "test_seconds": tested - began,
            "move_seconds": time.perf_counter() - tested,
            "gain": selected.gain,
            "entropy": classes.entropy,
            "n_classes": len(classes.bounds) - 1,
            "n_graphs": classes.n_graphs,
        }
        state = state._replace(
            renewed=0,
            best_log_posterior=-np.inf,
            starts=selected.start_sets.starts,
            sets=selected.start_sets.sets,
            gains=np.append(state.gains, selected.gain),
            entropies=np.append(state.entropies, classes.entropy),
            tests=self._executed(state, ledger),
        )
        return self._with_particles(state, population)

    def _renew(
        self,
        state: FilterState,
        population: Population,
        rng: np.random.Generator,
        record: dict[str, Any],
    ) -> FilterState:
        """Draw a new population; finished if that has brought nothing since the last test.

        A new population that misses the best graph by far is dropped, and another one tried.
        """
        if state.renewed == TRIES:
            return state._replace(finished=True)
        began = time.perf_counter()
        before = population.graphs, population.totals
        population.renew(rng)
        gain = float(population.log_posteriors.max()) - state.best_log_posterior
        renewed = 0 if gain > 1e-9 else TRIES
        if gain < -LOST:
            population.restore(*before)
            renewed = state.renewed + 1
        record |= {"renewed": True, "move_seconds": time.perf_counter() - began}
        return self._with_particles(state._replace(renewed=renewed), population)

    def _with_particles(self, state: FilterState, population: Population) -> FilterState:
        """The state with the particles, and the best graph since the last test."""
        log_posteriors = population.log_posteriors
        top = int(np.argmax(log_posteriors))
        best, value = state.best, state.best_log_posterior
        if log_posteriors[top] > value + 1e-9:
            best, value = population.graphs[top].copy(), float(log_posteriors[top])
        return state._replace(
            graphs=population.graphs.copy(),
            totals=population.totals.copy(),
            best=best,
            best_log_posterior=value,
        )

    def _gap(self, question: Question, verdict: Verdict) -> float:
        """ln P(D | independent) − ln P(D | dependent).

        A tie without `given` counts as certain: one of the two variables is constant.
        """
        gap = self._log_evidence(verdict, CERTAIN)
        tie = verdict.log_evidence is not None and abs(gap) < TIE and not question[2]
        return CERTAIN if tie else gap
