"""PFMN on data: read edges from all pair tables, and ask where that reading may err.

A round settles the graph, chooses the tests that tell most for their cost about whether a trusting
or a doubting reading of the pair tables is right, and asks them given minimal separators.
Particles, copies of the graph whose open edges are set by chance, give edge probabilities and
withhold tests whose set does not separate in the population. Formulas: docs/design/questions.md.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np

from counterpane._core import learn_independence as kernels
from counterpane.counts.source import CountSource
from counterpane.graphs.bits import members, n_words, pack, unpack
from counterpane.independence import IndependenceTest, Ledger, Question, Verdict
from counterpane.independence.ledger import Price
from counterpane.learn.driver import Search
from counterpane.learn.independence.asking import Asked, Remembered
from counterpane.learn.independence.partial import PairTables
from counterpane.learn.independence.separators import bit_rows, is_separated, smallest_separator
from counterpane.progress import Control
from counterpane.typing import Bools, Floats, Ints

FLOOR = 3e-5  # s₀: squared partial correlation that a linear reading may invent anywhere
DOUBT = 0.1  # κ: what it may invent of the strength of two-step paths
RAISE = 0.003  # κ↑: what it may overlook
SPARSITY = 0.15  # γ of the extended BIC
OPEN = 8.0  # |log-odds| below which an edge is set by chance in particles
CERTAIN = 20.0  # nats that a test adds at most
SWEEPS = 3
MOST_ASKED = 2  # times that a pair is asked
ROWS_PER_SLICE = 4.0


class Read(NamedTuple):
    """The graph, its log-odds and probabilities, particles, and the tests so far."""

    seed: int
    rounds: int  # −1 before the pairs
    finished: bool
    graph: Ints  # bit rows, viewed as int64
    log_odds: Floats
    probabilities: Floats
    particles: Ints  # bit rows
    tested: Ints  # (n, n) flags
    evidence: Floats  # (n, n), −gap of the tested pairs
    asked_pairs: Ints  # conditional tests, in order, those answered from memory included
    asked_sets: Ints
    pairs: Ints
    given: Ints
    numbers: Floats


class Proposal(NamedTuple):
    """A test that would tell something: its worth is bits for each unit of cost."""

    worth: float
    question: Question


class ReadingSearch(Search[Read]):
    """All pairs first, then a round of tests a step. Random numbers depend on (seed, round)."""

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
        self.test = test
        self.source = source
        self.n = len(source.schema)
        self.seed = seed
        self.n_particles = n_particles
        self.min_gain = min_gain
        self.max_tests = max_tests
        self.max_cost = max_cost
        self.price = price
        self._live: tuple[kernels.Reading, Ledger] | None = None

    def start(self) -> Read:
        n, words = self.n, n_words(self.n)
        rows, square = np.zeros((n, words), dtype=np.int64), np.zeros((n, n))
        return Read(
            self.seed, -1, False, rows, square, square, np.zeros((0, n, words), dtype=np.int64),
            np.zeros((n, n), dtype=np.int64), square, np.zeros((0, 2), dtype=np.int64), rows[:0],
            *Asked.nothing(n),
        )  # fmt: skip

    def done(self, state: Read) -> bool:
        return state.finished

    def size(self, state: Read) -> tuple[float, float | None]:
        return len(state.pairs), None

    def step(self, state: Read, ctl: Control) -> tuple[Read, dict[str, Any]]:
        rng = np.random.default_rng([state.seed, state.rounds + 1])
        clock = time.perf_counter
        began = clock()
        reading, ledger = self._live or self._revive(state, ctl)
        self._live = None  # until the step is whole
        info: dict[str, Any] = {}
        if state.rounds < 0:
            ledger.answer([(x, y, ()) for x in range(self.n) for y in range(x + 1, self.n)])
            asked = clock()
            state = self._populated(self._settled(state, reading), reading, rng)
            info |= {"test_seconds": asked - began, "move_seconds": clock() - asked}
        else:
            state = self._reopened(state)
            best = self._choose(state, reading, ledger)
            chosen = clock()
            info["score_seconds"] = chosen - began
            if best:
                state = self._ask(state, best, ledger)
                asked = clock()
                state = self._settled(state, reading)
                info |= {"test_seconds": asked - chosen, "move_seconds": clock() - asked}
                info["gain"] = best[0].worth
            else:
                if state.rounds > 0:
                    state = self._populated(self._settled(state, reading), reading, rng)
                state = state._replace(finished=True)
                info["move_seconds"] = clock() - chosen
        known = list(ledger.answered.items())[len(state.pairs) :]
        tests = Asked(*state[-3:]).extended(self.n, known)
        state = state._replace(rounds=state.rounds + 1, **tests._asdict())
        self._live = reading, ledger
        return state, info | {"n_tests": ledger.n_tests, "cost": ledger.cost}

    def _revive(self, state: Read, ctl: Control) -> tuple[kernels.Reading, Ledger]:
        """The reading of the pair tables, and the ledger of a state."""
        known = Asked(*state[-3:]).verdicts()
        ledger = Ledger(Remembered(self.test.bind(self.source, ctl=ctl), known), self.price)
        ledger.answer(list(known))
        prior = 2.0 * SPARSITY * float(np.log(max(self.n, 1)))
        tables = PairTables.of(self.source, ctl=ctl)
        return tables.reading(floor=FLOOR, doubt=DOUBT, prior=prior), ledger

    def _flags(self, rows: Ints) -> Bools:
        return unpack(rows.view(np.uint64), self.n)

    def _settled(self, state: Read, reading: kernels.Reading) -> Read:
        """The state with the graph that agrees with all that is known; particles follow it."""
        before = self._flags(state.graph)
        graph, log_odds = before.copy(), np.zeros((self.n, self.n))
        kernels.settle_graph(reading, tested_of(state), graph, log_odds)
        particles = np.where(graph ^ before, graph, self._flags(state.particles))
        return state._replace(
            graph=pack(graph).view(np.int64),
            log_odds=log_odds,
            probabilities=logistic(log_odds),
            particles=pack(particles).view(np.int64),
        )

    def _populated(self, state: Read, reading: kernels.Reading, rng: np.random.Generator) -> Read:
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
            kernels.move_graph(reading, tested_of(state), particle, pairs, orders, draws, sums)
            particles.append(particle)
        probabilities = logistic(state.log_odds)
        x, y = pairs.T
        probabilities[x, y] = probabilities[y, x] = sums / (self.n_particles * (SWEEPS - 1))
        rows = pack(np.array(particles)).view(np.int64)
        return state._replace(probabilities=probabilities, particles=rows)

    def _reopened(self, state: Read) -> Read:
        """The state where dependent pairs that their set no longer separates may be asked again."""
        rows, tested = bit_rows(self._flags(state.graph)), state.tested.copy()
        for (x, y), asked in self._sets(state).items():
            given = sum(1 << v for v in asked[-1])
            again = tested[x, y] and state.evidence[x, y] > 0 and len(asked) < MOST_ASKED
            if again and not is_separated(rows, x, y, given):
                tested[x, y] = tested[y, x] = 0
        return state._replace(tested=tested)

    def _sets(self, state: Read) -> dict[tuple[int, int], list[tuple[int, ...]]]:
        """The sets that each pair was tested with, in order."""
        sets: dict[tuple[int, int], list[tuple[int, ...]]] = {}
        for (x, y), row in zip(state.asked_pairs.tolist(), state.asked_sets, strict=True):
            sets.setdefault((x, y), []).append(members(row.view(np.uint64)))
        return sets

    def _choose(self, state: Read, reading: kernels.Reading, ledger: Ledger) -> list[Proposal]:
        """The most worthy tests of a round that fit the budget."""
        gains = self._gains(state, reading)
        graph_rows = bit_rows(self._flags(state.graph))
        particles = [bit_rows(g) for g in self._flags(state.particles)]
        sets, cards = self._sets(state), self.source.schema.cards
        least = 2.0 * self.min_gain if self.price is len else 0.0  # no test has fewer columns
        found = []
        for x, y in np.argwhere(np.triu(gains > least, 1)).tolist():
            asked = sets.get((x, y), [])
            if len(asked) >= MOST_ASKED:
                continue
            slices = reading.rows[x, y] / ROWS_PER_SLICE
            given = tuple(smallest_separator(graph_rows, x, y, cards, state.log_odds, slices))
            if given in asked:
                continue
            mask = sum(1 << v for v in given)
            share = np.mean([is_separated(g, x, y, mask) for g in particles]) if particles else 1.0
            cost = ledger.price_of((x, y, given))
            worth = float(gains[x, y] * share / max(cost, 1e-300))
            if worth > self.min_gain:
                found.append(Proposal(worth, (x, y, given)))
        found.sort(key=lambda p: (-p.worth, p.question))
        return self._affordable(found[: max(1, self.n // 4)], ledger)

    def _gains(self, state: Read, reading: kernels.Reading) -> Floats:
        """Bits that a test tells of which reading is right (Jensen–Shannon), 0 of tested pairs."""
        doubts = np.zeros((self.n, self.n))
        graph = self._flags(state.graph)
        kernels.doubt_graph(reading, tested_of(state), graph, state.log_odds, RAISE, doubts)
        trusting, doubting = state.probabilities, logistic(doubts)
        gains = entropy((trusting + doubting) / 2) - (entropy(trusting) + entropy(doubting)) / 2
        gains[state.tested > 0] = 0.0
        return gains

    def _affordable(self, found: list[Proposal], ledger: Ledger) -> list[Proposal]:
        """The first of some tests, as many as the budget allows."""
        kept, cost, n_tests = [], ledger.cost, ledger.n_tests
        for proposal in found:
            if proposal.question not in ledger.answered:
                cost += ledger.price_of(proposal.question)
                n_tests += 1
            if cost > self.max_cost or n_tests > self.max_tests:
                break
            kept.append(proposal)
        return kept

    def _ask(self, state: Read, best: list[Proposal], ledger: Ledger) -> Read:
        """The state with the answers to some tests, asked together."""
        questions = [proposal.question for proposal in best]
        tested, evidence = state.tested.copy(), state.evidence.copy()
        for (x, y, _), verdict in zip(questions, ledger.answer(questions), strict=True):
            gap = self._gap(verdict)
            tested[x, y] = tested[y, x] = 1
            evidence[x, y] = evidence[y, x] = float(np.clip(-gap, -CERTAIN, CERTAIN))
        flags = np.zeros((len(questions), self.n), dtype=np.bool_)
        for row, (_, _, given) in zip(flags, questions, strict=True):
            row[list(given)] = True
        new = np.array([q[:2] for q in questions], dtype=np.int64)
        return state._replace(
            tested=tested,
            evidence=evidence,
            asked_pairs=np.concatenate([state.asked_pairs, new]),
            asked_sets=np.concatenate([state.asked_sets, pack(flags).view(np.int64)]),
        )

    def _gap(self, verdict: Verdict) -> float:
        """The log evidence for independence; a p-value counts as the likelihood ratio p / alpha."""
        if verdict.log_evidence is not None:
            return verdict.log_evidence
        if verdict.p_value is not None:
            alpha = getattr(self.test, "alpha", None) or 0.05
            return math.log(max(verdict.p_value, 1e-300) / alpha)
        return CERTAIN if verdict.independent else -CERTAIN


def tested_of(state: Read) -> kernels.Tested:
    """The tested pairs of a state, as kernels take them."""
    return kernels.Tested(state.tested > 0, state.evidence)


def logistic(log_odds: Floats) -> Floats:
    """1 / (1 + e^−λ) off the diagonal, 0 on it."""
    probabilities: Floats = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0)))
    np.fill_diagonal(probabilities, 0.0)
    return probabilities


def entropy(p: Floats) -> Floats:
    """Bits of a coin with probability p."""
    p = np.clip(p, 1e-12, 1 - 1e-12)
    bits: Floats = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    return bits
