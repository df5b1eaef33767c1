"""PFMN on data: edges estimated from all pair tables, and tests where the estimate may be wrong.

A round sets the graph, selects the tests that tell most for their cost about whether a trusting or
a doubting estimate from the pair tables is right, and executes them given minimal separating sets.
Particles, copies of the graph whose uncertain edges are drawn at random, give edge probabilities,
and a test gains less if its set does not separate in all of them. Formulas:
docs/design/questions.md.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from counterpane._core import learn_independence as kernels
from counterpane.counts.source import CountSource
from counterpane.graphs.bits import n_words, pack, unpack
from counterpane.independence import IndependenceTest, Ledger, Question
from counterpane.independence.information import binary_entropy
from counterpane.independence.ledger import Price
from counterpane.learners.checkpoint import check_range
from counterpane.learners.independence.base import LedgerSearch
from counterpane.learners.independence.executed_tests import ExecutedTests, check_graphs
from counterpane.learners.independence.inference_rules import PairTables
from counterpane.learners.independence.separating_sets import (
    bit_set,
    is_separated,
    neighbor_sets,
    smallest_separating_set,
)
from counterpane.progress import Control
from counterpane.typing import Bools, Floats, Words

FLOOR = 3e-5  # s₀: squared partial correlation that the linear approximation may invent anywhere
DOUBT = 0.1  # κ: share of the strength of two-step paths that it may invent
RAISE = 0.003  # κ↑: share of that strength that it may miss
SPARSITY = 0.15  # γ of the extended BIC
OPEN = 8.0  # |log-odds| below which an edge is drawn at random in particles
CERTAIN = 20.0  # nats that a test adds at most
SWEEPS = 3
MAX_TESTS_OF_A_PAIR = 2
ROWS_PER_SLICE = 4.0


class ResolutionState(NamedTuple):
    """The graph, its log-odds and probabilities, particles, and the tests so far."""

    seed: int
    rounds: int  # −1 before the pairs
    finished: bool
    graph: Words  # bit rows
    log_odds: Floats
    probabilities: Floats
    particles: Words  # bit rows
    tested: Bools  # (n, n)
    evidence: Floats  # (n, n), −gap of the tested pairs
    asked: dict[tuple[int, int], tuple[tuple[int, ...], ...]]  # what each pair was tested with
    tests: ExecutedTests

    @property
    def tested_pairs(self) -> kernels.Tested:
        """The tested pairs, as kernels take them."""
        return kernels.Tested(self.tested, self.evidence)


class RankedTest(NamedTuple):
    """A test, and its expected gain in bits per unit of cost."""

    worth: float
    question: Question


class EdgeResolutionSearch(LedgerSearch[ResolutionState, tuple[kernels.Reading, Ledger]]):
    """All pairs first, then a round of tests per step. Random numbers depend on (seed, round)."""

    def __init__(
        self,
        test: IndependenceTest,
        source: CountSource,
        *,
        seed: int,
        n_particles: int,
        min_gain: float,
        max_tests: float,
        max_cost: float,
        price: Price,
    ) -> None:
        super().__init__(test, source, price)
        self.seed = seed
        self.n_particles = n_particles
        self.min_gain = min_gain
        self.max_tests = max_tests
        self.max_cost = max_cost

    def start(self) -> ResolutionState:
        n, words = self.n, n_words(self.n)
        rows, square = np.zeros((n, words), dtype=np.uint64), np.zeros((n, n))
        none = np.zeros((0, n, words), dtype=np.uint64)
        return ResolutionState(
            self.seed, -1, False, rows, square, square, none, square > 0, square, {},
            ExecutedTests.empty(n),
        )  # fmt: skip

    def check(self, state: ResolutionState) -> None:
        super().check(state)
        check_graphs(state.graph, self.n)
        check_graphs(state.particles, self.n)
        check_range("a round", state.rounds, -1, 2**31)
        check_range("the seed", state.seed, 0, 2**63)
        for pair, sets in state.asked.items():
            check_range("a pair", pair, 0, self.n)
            for given in sets:
                check_range("a conditioning set", given, 0, self.n)

    def done(self, state: ResolutionState) -> bool:
        return state.finished

    def size(self, state: ResolutionState) -> tuple[float, float | None]:
        return state.tests.size, None

    def _rebuild(self, state: ResolutionState, ctl: Control) -> tuple[kernels.Reading, Ledger]:
        """The estimates from the pair tables, and the ledger of a state."""
        ledger = self._ledger(state, ctl)
        prior = 2.0 * SPARSITY * float(np.log(max(self.n, 1)))
        tables = PairTables.of(self.source, ctl=ctl)
        return tables.reading(floor=FLOOR, doubt=DOUBT, prior=prior), ledger

    def _advance(
        self, state: ResolutionState, work: tuple[kernels.Reading, Ledger]
    ) -> tuple[ResolutionState, dict[str, Any]]:
        reading, ledger = work
        rng = np.random.default_rng([state.seed, state.rounds + 1])
        clock = time.perf_counter
        began = clock()
        record: dict[str, Any] = {}
        if state.rounds < 0:
            ledger.answer([(x, y, ()) for x in range(self.n) for y in range(x + 1, self.n)])
            tested = clock()
            state = self._with_particles(self._with_graph(state, reading), reading, rng)
            record |= {"test_seconds": tested - began, "move_seconds": clock() - tested}
        else:
            state = self._reopened(state)
            selected = self._select(state, reading, ledger)
            chosen = clock()
            record["score_seconds"] = chosen - began
            if selected:
                state = self._execute(state, selected, ledger)
                tested = clock()
                state = self._with_graph(state, reading)
                record |= {"test_seconds": tested - chosen, "move_seconds": clock() - tested}
                record["gain"] = selected[0].worth
            else:
                if state.rounds > 0:
                    state = self._with_particles(self._with_graph(state, reading), reading, rng)
                state = state._replace(finished=True)
                record["move_seconds"] = clock() - chosen
        tests = self._executed(state, ledger)
        state = state._replace(rounds=state.rounds + 1, tests=tests)
        return state, record | {"n_tests": ledger.n_tests, "cost": ledger.cost}

    def _flags(self, rows: Words) -> Bools:
        return unpack(rows, self.n)

    def _with_graph(self, state: ResolutionState, reading: kernels.Reading) -> ResolutionState:
        """The state with the graph that agrees with tables and tests; particles follow it."""
        before = self._flags(state.graph)
        graph, log_odds = before.copy(), np.zeros((self.n, self.n))
        kernels.settle_graph(reading, state.tested_pairs, graph, log_odds)
        particles = np.where(graph ^ before, graph, self._flags(state.particles))
        return state._replace(
            graph=pack(graph),
            log_odds=log_odds,
            probabilities=logistic_off_diagonal(log_odds),
            particles=pack(particles),
        )

    def _with_particles(
        self, state: ResolutionState, reading: kernels.Reading, rng: np.random.Generator
    ) -> ResolutionState:
        """The state with new particles, and edge probabilities from these."""
        graph = self._flags(state.graph)
        pairs = np.ascontiguousarray(np.argwhere(np.triu(np.abs(state.log_odds) < OPEN, 1)))
        if self.n_particles < 2 or not len(pairs):
            return state
        sums, particles = np.zeros(len(pairs)), []
        for _ in range(self.n_particles):
            particle = graph.copy()
            orders = rng.permuted(np.tile(np.arange(len(pairs)), (SWEEPS, 1)), axis=1)
            draws = rng.random((SWEEPS, len(pairs)))
            kernels.move_graph(reading, state.tested_pairs, particle, pairs, orders, draws, sums)
            particles.append(particle)
        probabilities = logistic_off_diagonal(state.log_odds)
        x, y = pairs.T
        probabilities[x, y] = probabilities[y, x] = sums / (self.n_particles * (SWEEPS - 1))
        rows = pack(np.array(particles))
        return state._replace(probabilities=probabilities, particles=rows)

    def _reopened(self, state: ResolutionState) -> ResolutionState:
        """The state in which a dependent pair may be tested again if its set separates no more."""
        neighbors, tested = neighbor_sets(self._flags(state.graph)), state.tested.copy()
        for (x, y), sets in state.asked.items():
            dependent = tested[x, y] and state.evidence[x, y] > 0
            again = dependent and len(sets) < MAX_TESTS_OF_A_PAIR
            if again and not is_separated(neighbors, x, y, bit_set(sets[-1])):
                tested[x, y] = tested[y, x] = False
        return state._replace(tested=tested)

    def _select(
        self, state: ResolutionState, reading: kernels.Reading, ledger: Ledger
    ) -> list[RankedTest]:
        """The best tests of a round that fit the budget."""
        gains = self._gains(state, reading)
        neighbors = neighbor_sets(self._flags(state.graph))
        particles = [neighbor_sets(g) for g in self._flags(state.particles)]
        sets, cards = state.asked, self.source.schema.cards
        least = 2.0 * self.min_gain if self.price is len else 0.0  # a test has two columns or more
        ranked = []
        for x, y in np.argwhere(np.triu(gains > least, 1)).tolist():
            used = sets.get((x, y), ())
            if len(used) >= MAX_TESTS_OF_A_PAIR:
                continue
            slices = reading.rows[x, y] / ROWS_PER_SLICE
            given = tuple(smallest_separating_set(neighbors, x, y, cards, state.log_odds, slices))
            if given in used:
                continue
            bits = bit_set(given)
            share = np.mean([is_separated(g, x, y, bits) for g in particles]) if particles else 1.0
            cost = ledger.price_of((x, y, given))
            worth = float(gains[x, y] * share / max(cost, 1e-300))
            if worth > self.min_gain:
                ranked.append(RankedTest(worth, (x, y, given)))
        ranked.sort(key=lambda test: (-test.worth, test.question))
        return self._affordable(ranked[: max(1, self.n // 4)], ledger)

    def _gains(self, state: ResolutionState, reading: kernels.Reading) -> Floats:
        """Bits that a test tells about which estimate is right (Jensen–Shannon); 0 if tested."""
        doubts = np.zeros((self.n, self.n))
        graph = self._flags(state.graph)
        kernels.doubt_graph(reading, state.tested_pairs, graph, state.log_odds, RAISE, doubts)
        p, q = state.probabilities, logistic_off_diagonal(doubts)
        gains = binary_entropy((p + q) / 2) - (binary_entropy(p) + binary_entropy(q)) / 2
        gains[state.tested] = 0.0
        return gains

    def _affordable(self, ranked: list[RankedTest], ledger: Ledger) -> list[RankedTest]:
        """The first of the tests, as many as the budget allows."""
        affordable, cost, n_tests = [], ledger.cost, ledger.n_tests
        for test in ranked:
            if test.question not in ledger.answered:
                cost += ledger.price_of(test.question)
                n_tests += 1
            if cost > self.max_cost or n_tests > self.max_tests:
                break
            affordable.append(test)
        return affordable

    def _execute(
        self, state: ResolutionState, selected: list[RankedTest], ledger: Ledger
    ) -> ResolutionState:
        """The state with the verdicts of tests that are executed together."""
        questions = [test.question for test in selected]
        tested, evidence, asked = state.tested.copy(), state.evidence.copy(), dict(state.asked)
        verdicts = ledger.answer(questions)
        for (x, y, given), verdict in zip(questions, verdicts, strict=True):
            gap = self._log_evidence(verdict, CERTAIN)
            tested[x, y] = tested[y, x] = True
            evidence[x, y] = evidence[y, x] = float(np.clip(-gap, -CERTAIN, CERTAIN))
            asked[x, y] = (*asked.get((x, y), ()), given)
        return state._replace(tested=tested, evidence=evidence, asked=asked)


def logistic_off_diagonal(log_odds: Floats) -> Floats:
    """1 / (1 + e^−λ) off the diagonal, 0 on it."""
    probabilities: Floats = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0)))
    np.fill_diagonal(probabilities, 0.0)
    return probabilities
