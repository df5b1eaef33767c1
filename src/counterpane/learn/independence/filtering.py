"""The particle filter a step at a time: choose a test, ask it, absorb the answer."""

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
from counterpane.learn.driver import Search
from counterpane.learn.independence.asking import Asked, Remembered
from counterpane.learn.independence.choosing import Choice, Pool, Room, Score, choose
from counterpane.learn.independence.gsmn import LEAST_P
from counterpane.learn.independence.particles import Population, Prior, Proposal, draw_graphs
from counterpane.progress import Control
from counterpane.typing import Floats, Ints

CERTAIN = 30.0  # nats for an answer without likelihoods
LOST = 15.0  # nats below the best graph that tell that a new population missed it
TRIES = 3  # new populations that may miss it before the old one is believed


class Filtered(NamedTuple):
    """Particles, the tests so far, and where to look for the next; bit rows viewed as int64."""

    seed: int
    steps: int
    finished: bool
    renewed: int  # new populations since the last test that missed the best; TRIES: in vain
    graphs: Ints
    totals: Floats  # log-likelihoods
    best: Ints  # the most probable graph since the last test
    best_log_posterior: float
    starts: Ints  # variables and sets that the next choice starts from
    sets: Ints
    gains: Floats
    entropies: Floats
    pairs: Ints
    given: Ints
    numbers: Floats


class FilterSearch(Search[Filtered]):
    """A test a step, or a new population. Random numbers depend on (seed, step) only."""

    def __init__(
        self,
        test: IndependenceTest,
        source: CountSource,
        *,
        seed: int,
        n_particles: int,
        moves: int,
        prior: Prior,
        proposal: Proposal,
        score: Score,
        room: Room,
        min_gain: float,
        max_tests: int | None,
        max_cost: float | None,
        n_jobs: int,
        price: Price = len,
    ) -> None:
        self.test = test
        self.source = source
        self.n = len(source.schema)
        self.seed = seed
        self.n_particles = n_particles
        self.moves = moves
        self.prior: Prior = prior
        self.proposal: Proposal = proposal
        self.score: Score = score
        self.room = room
        self.min_gain = min_gain
        self.max_tests = math.inf if max_tests is None else max_tests
        self.max_cost = math.inf if max_cost is None else max_cost
        self.n_jobs = n_jobs
        self.price = price
        self._live: tuple[Population, Ledger] | None = None

    def start(self) -> Filtered:
        n, words = self.n, n_words(self.n)
        rng = np.random.default_rng([self.seed, 0])
        graphs = draw_graphs(rng, self.n_particles, n, self.prior).view(np.int64)
        rows, none = np.zeros((n, words), dtype=np.int64), np.zeros(0)
        return Filtered(
            self.seed, 0, n < 2, 0, graphs, np.zeros(self.n_particles), rows, -np.inf,
            np.zeros(0, dtype=np.int64), rows[:0], none, none, *Asked.nothing(n),
        )  # fmt: skip

    def done(self, state: Filtered) -> bool:
        return state.finished or len(state.pairs) >= self.max_tests

    def size(self, state: Filtered) -> tuple[float, float | None]:
        return len(state.pairs), None

    def step(self, state: Filtered, ctl: Control) -> tuple[Filtered, dict[str, Any]]:
        rng = np.random.default_rng([state.seed, state.steps + 1])
        live = self._live or self._revive(state, ctl)
        self._live = None  # until the step is whole
        population, ledger = live
        began = time.perf_counter()
        grouping = population.group()
        choice = None
        if grouping.entropy > 0.0:
            pool = Pool(state.starts, state.sets.view(np.uint64))
            choice = choose(population, grouping, pool, rng, score=self.score, room=self.room)
        info: dict[str, Any] = {"score_seconds": time.perf_counter() - began}
        state = state._replace(steps=state.steps + 1)
        cost = 0.0
        if choice is not None:
            cost = ledger.price_of((*choice.pair, members(choice.given)))
        if choice is None or choice.gain < self.min_gain * cost:
            state = self._renew(state, population, rng, info)
        elif ledger.cost + cost > self.max_cost:
            state = state._replace(finished=True)
        else:
            state = self._ask(state, population, choice, ledger, rng, info)
        self._live = live
        return state, info | {"n_tests": ledger.n_tests, "cost": ledger.cost}

    def _revive(self, state: Filtered, ctl: Control) -> tuple[Population, Ledger]:
        """The population and the ledger of a state."""
        asked = Asked(*state[-3:])
        known = asked.verdicts()
        ledger = Ledger(Remembered(self.test.bind(self.source, ctl=ctl), known), self.price)
        ledger.answer(list(known))
        population = Population(
            state.graphs.view(np.uint64),
            asked.pairs,
            asked.given.view(np.uint64),
            np.array([self._gap(*item) for item in known.items()], dtype=np.float64),
            moves=self.moves,
            prior=self.prior,
            proposal=self.proposal,
            n_jobs=self.n_jobs,
        )
        population.totals = state.totals.copy()  # summed in another order, they would differ
        return population, ledger

    def _ask(
        self,
        state: Filtered,
        population: Population,
        choice: Choice,
        ledger: Ledger,
        rng: np.random.Generator,
        info: dict[str, Any],
    ) -> Filtered:
        """Ask a test and let the population absorb it."""
        began = time.perf_counter()
        question = (*choice.pair, members(choice.given))
        verdict = ledger.answer([question])[0]
        asked = time.perf_counter()
        population.absorb(choice.pair, choice.given, self._gap(question, verdict), rng)
        after = population.group()
        info |= {
            "test_seconds": asked - began,
            "move_seconds": time.perf_counter() - asked,
            "gain": choice.gain,
            "entropy": after.entropy,
            "n_classes": len(after.bounds) - 1,
            "n_graphs": after.n_graphs,
        }
        tests = Asked(*state[-3:]).extended(self.n, [(question, verdict)])
        state = state._replace(
            renewed=0,
            best_log_posterior=-np.inf,
            starts=choice.pool.starts,
            sets=choice.pool.sets.view(np.int64),
            gains=np.append(state.gains, choice.gain),
            entropies=np.append(state.entropies, after.entropy),
            **tests._asdict(),
        )
        return self._noted(state, population)

    def _renew(
        self,
        state: Filtered,
        population: Population,
        rng: np.random.Generator,
        info: dict[str, Any],
    ) -> Filtered:
        """Let the population begin again; done where that was in vain since the last test.

        A new population that misses the best graph by far is dropped, and another one tried.
        """
        if state.renewed == TRIES:
            return state._replace(finished=True)
        began = time.perf_counter()
        kept = population.graphs, population.totals
        population.renew(rng)
        best = float(population.log_posteriors.max())
        better = best - state.best_log_posterior
        renewed = 0 if better > 1e-9 else TRIES
        if better < -LOST:
            population.restore(*kept)
            renewed = state.renewed + 1
        info |= {"renewed": True, "move_seconds": time.perf_counter() - began}
        return self._noted(state._replace(renewed=renewed), population)

    def _noted(self, state: Filtered, population: Population) -> Filtered:
        """The state with the particles, and the best graph since the last test."""
        log_posteriors = population.log_posteriors
        top = int(np.argmax(log_posteriors))
        best, value = state.best, state.best_log_posterior
        if log_posteriors[top] > value + 1e-9:
            best, value = population.graphs[top].view(np.int64).copy(), float(log_posteriors[top])
        return state._replace(
            graphs=population.graphs.view(np.int64).copy(),
            totals=population.totals.copy(),
            best=best,
            best_log_posterior=value,
        )

    def _gap(self, question: Question, verdict: Verdict) -> float:
        """ln P(D | independent) − ln P(D | dependent).

        A p-value counts as the likelihood ratio p / alpha, and a bare answer as all but certain.
        So does a tie where nothing is given: one of the two is constant.
        """
        gap = verdict.log_evidence
        if gap is not None:
            return CERTAIN if abs(gap) < TIE and not question[2] else gap
        if verdict.p_value is not None:
            alpha: float = getattr(self.test, "alpha", 0.05)
            return max(math.log(max(verdict.p_value, LEAST_P) / alpha), -CERTAIN)
        return CERTAIN if verdict.independent else -CERTAIN
