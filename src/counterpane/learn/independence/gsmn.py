"""Grow–shrink for Markov networks: each variable's blanket, by independence tests.

GSMN* (Bromberg, Margaritis & Honavar, JAIR 35, 2009). A variable's blanket first grows by every
variable that it depends on given the blanket so far, then shrinks by every one it does not need.
Cost: C(n, 2) unconditional tests, asked in one batch, and at most two conditional ones for each
ordered pair; what one blanket tells of another is not asked again.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple, Self

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.graphs import UndirectedGraph
from counterpane.graphs.bits import pack, unpack
from counterpane.independence import IndependenceTest, Ledger, Question, Verdict
from counterpane.independence.ledger import Price
from counterpane.learn.driver import Search
from counterpane.learn.independence.asking import Asked, AskingLearner, Remembered
from counterpane.learn.independence.interactions import with_interactions
from counterpane.learn.independence.knowledge import Knowledge
from counterpane.learn.independence.partial import Margins, PairTables
from counterpane.progress import Control
from counterpane.typing import Bools, Floats, Ints

LEAST_P = 1e-300  # so that a p-value of 0 has a logarithm


class Examined(NamedTuple):
    """Tests so far, the number of variables examined (−1: not even pairs), and their blankets."""

    done: int
    order: Ints  # the examined variables, in order
    blankets: Ints  # bit rows, empty where not examined
    pairs: Ints
    given: Ints
    numbers: Floats


class GrowShrink:
    """The algorithm itself, a variable at a time.

    `knowledge` is asked before the ledger. Variables come in the order of the p-values of pairs,
    or `by_evidence`: those are 0 for every strong pair of many rows.
    """

    def __init__(
        self,
        ledger: Ledger,
        n: int,
        *,
        knowledge: Knowledge | Margins | None = None,
        by_evidence: bool = False,
    ) -> None:
        self.ledger = ledger
        self.n = n
        self.knowledge = knowledge
        self.by_evidence = by_evidence
        self.blankets: dict[int, list[int]] = {}

    def ask_pairs(self) -> None:
        """Ask all unconditional tests; they set the order of all that follows."""
        n = self.n
        pairs = [(x, y, ()) for x in range(n) for y in range(x + 1, n)]
        self.linked: Bools = np.zeros((n, n), dtype=np.bool_)
        ranks: Floats = np.zeros((n, n)) if self.by_evidence else np.ones((n, n))
        rank = evidence if self.by_evidence else chance
        for (x, y, _), verdict in zip(pairs, self.ledger.answer(pairs), strict=True):
            self.linked[x, y] = self.linked[y, x] = not verdict.independent
            ranks[x, y] = ranks[y, x] = rank(verdict)
            if self.knowledge is not None:
                self.knowledge.add(x, y, 0, verdict.independent)
        if self.by_evidence:
            totals = np.minimum(ranks, 0.0).sum(axis=1)
        else:
            totals = np.log(np.maximum(ranks, LEAST_P)).sum(axis=1)  # p = 1 of itself adds nothing
        self.waiting: list[int] = np.argsort(totals, kind="stable").tolist()
        self.lists: list[list[int]] = [
            [y for y in np.argsort(ranks[x], kind="stable").tolist() if y != x] for x in range(n)
        ]

    def examine(self) -> int:
        """Find the blanket of the next variable, and return it."""
        x = self.waiting.pop(0)
        inside = [y for y in self.lists[x] if y in self.blankets and x in self.blankets[y]]
        outside = [y for y in self.lists[x] if y in self.blankets and x not in self.blankets[y]]
        known = {**dict.fromkeys(inside, False), **dict.fromkeys(outside, True)}
        self.lists[x] = [y for y in self.lists[x] if y not in known] + inside + outside
        blanket: list[int] = []
        for y in self.lists[x]:
            if self.linked[x, y] and not self.independent(x, y, blanket, known):
                first = [*blanket, x]
                self.lists[y] = first + [v for v in self.lists[y] if v not in first]
                blanket.append(y)
        for y in reversed(blanket):
            if y in self.waiting:
                self.waiting.remove(y)
                self.waiting.insert(0, y)
                break
        for y in reversed(list(blanket)):
            others = [v for v in blanket if v != y]
            if self.independent(x, y, others, known):
                blanket = others
        self.blankets[x] = blanket
        return x

    def independent(self, x: int, y: int, given: list[int], known: dict[int, bool]) -> bool:
        """Whether x ⊥ y | given: by propagation from `known`, by inference, or by a test."""
        told = known.get(y)
        bits = sum(1 << v for v in given)
        if self.knowledge is not None:
            told = self.knowledge.infer(x, y, bits, told)
        if told is None:
            verdict = self.ledger(x, y, given)
            if self.by_evidence and given and verdict.degrees_of_freedom == 0:
                return False  # this test could tell nothing: the two are as dependent as before
            told = verdict.independent
            if self.knowledge is not None:
                self.knowledge.add(x, y, bits, told)
        return told


class GrowShrinkSearch(Search[Examined]):
    """First all pairs, then a variable a step.

    The algorithm is deterministic, so a state need not hold its lists: after an interruption they
    are made again from the answers in the state, without a look at the data.
    """

    def __init__(
        self,
        test: IndependenceTest,
        source: CountSource,
        *,
        infer: bool,
        reads_tables: bool = False,
        price: Price = len,
    ) -> None:
        self.test = test
        self.source = source
        self.n = len(source.schema)
        self.infer = infer
        self.reads_tables = reads_tables
        self.price = price
        self._run: GrowShrink | None = None
        self._known: dict[Question, Verdict] = {}

    def start(self) -> Examined:
        empty = pack(np.zeros((self.n, self.n), dtype=np.bool_)).view(np.int64)
        return Examined(-1, np.zeros(0, dtype=np.int64), empty, *Asked.nothing(self.n))

    def done(self, state: Examined) -> bool:
        return state.done == self.n

    def size(self, state: Examined) -> tuple[float, float]:
        return state.done + 1, self.n + 1

    def step(self, state: Examined, ctl: Control) -> tuple[Examined, dict[str, Any]]:
        asked = Asked(*state[-3:])
        run = self._run
        if run is None:
            self._known = asked.verdicts()
            run = self._make_run(ctl)
            for done in range(-1, state.done):
                advance(run, done)
        self._run = None  # until the step is whole
        examined = advance(run, state.done)
        self._run = run
        fresh = list(self._known.items())[len(asked.pairs) :]
        flags = np.zeros((self.n, self.n), dtype=np.bool_)
        for x, blanket in run.blankets.items():
            flags[x, blanket] = True
        names = self.source.schema.names
        info = {
            "variable": None if examined is None else names[examined],
            "n_tests": run.ledger.n_tests,
            "cost": run.ledger.cost,
        }
        order = state.order if examined is None else np.append(state.order, examined)
        rows = pack(flags).view(np.int64)
        return Examined(state.done + 1, order, rows, *asked.extended(self.n, fresh)), info

    def _make_run(self, ctl: Control) -> GrowShrink:
        """The algorithm before its first stage."""
        test = Remembered(self.test.bind(self.source, ctl=ctl), self._known)
        knowledge: Knowledge | Margins | None = None
        if self.infer:
            reads = self.reads_tables
            knowledge = Margins(PairTables.of(self.source, ctl=ctl)) if reads else Knowledge(self.n)
        ledger = Ledger(test, self.price)
        return GrowShrink(ledger, self.n, knowledge=knowledge, by_evidence=self.reads_tables)


def advance(run: GrowShrink, done: int) -> int | None:
    """The next stage: pairs first, then one variable, which is returned."""
    if done < 0:
        run.ask_pairs()
        return None
    return run.examine()


def chance(verdict: Verdict) -> float:
    """The p-value, else the probability of independence, else 0 or 1."""
    for number in (verdict.p_value, verdict.probability):
        if number is not None:
            return number
    return float(verdict.independent)


def evidence(verdict: Verdict) -> float:
    """ln of the evidence for independence: the gap, else ln p, also where p is too small for it."""
    log_evidence = verdict.log_evidence
    if log_evidence is not None:
        return log_evidence
    if verdict.p_value is None or verdict.statistic is None:
        return 1.0 if verdict.independent else -1.0
    if verdict.p_value > LEAST_P:
        return float(np.log(verdict.p_value))
    return min(float(np.log(LEAST_P)), -verdict.statistic / 2)


def agreed(state: Examined, n: int) -> UndirectedGraph:
    """The graph that joins two variables where all blankets that were found say so."""
    rows = unpack(state.blankets.view(np.uint64), n)
    open_ = np.ones(n, dtype=np.bool_)
    open_[state.order] = False
    flags = (rows | open_[:, None]) & (rows.T | open_[None, :])
    return UndirectedGraph.from_bits(pack(flags & ~(open_[:, None] & open_[None, :])))


class GSMN(AskingLearner):
    """Learns a Markov network by growing and shrinking each variable's blanket.

    Parameters: `test` ("stratified", "bayesian", "chi2", "g2", or a test such as `Oracle`),
    `alpha`, the level of a test given by name, `variant` ("default", or "paper": χ² and the order
    of visits as published), `table_cells`, the size of the tables that all pairs are read from,
    `cost`, a function of the columns of a test, `interactions`, a second look at triples of
    columns without pair effects, `equivalent_sample_size` of the potentials, and those of every
    learner.

    Results: `graph_` (networkx), `undirected_`, `blankets_`, `model_` (a `MarkovNetwork`), `tests_`
    (a record of each executed test), `n_tests_`, `cost_` (|given| + 2 a test), `n_tables_`,
    `table_cost_`, `contradictions_`, `trace_`.

    >>> import counterpane as cp
    >>> learner = cp.GSMN().fit(cp.load_dataset("titanic"))
    >>> learner.n_tests_, learner.cost_, learner.table_cost_
    (13, 36, 4)
    """

    _infer = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from `X`: a frame, a numpy array, a path, a `Table` or a `CountSource`."""
        began = time.monotonic()
        test = self._test()
        source = self._source(X, sample_weight, self.missing, self.n_jobs)
        laid_out = self._laid_out(source, test)
        search = GrowShrinkSearch(
            test,
            laid_out.source,
            infer=self._infer,
            reads_tables=self._reads_tables(test),
            price=self._price,
        )
        outcome = self._driver(source).run(search, "asking tests")
        self.trace_ = outcome.trace
        bound = test.bind(laid_out.source) if self.interactions else None
        ledger = Asked(*outcome.state[-3:]).ledger(laid_out.names, self._price, bound)
        graph = agreed(outcome.state, len(laid_out.order))
        if self.interactions:
            graph = with_interactions(graph, ledger)
        self._settle(source, laid_out, graph, ledger, time.monotonic() - began)
        self.tests_ = ledger.records
        return self
