"""Grow–shrink for Markov networks: each variable's blanket, by independence tests.

GSMN* and GSIMN (F. Bromberg, D. Margaritis and V. Honavar, Efficient Markov network structure
discovery using independence tests, JAIR 35, 2009). A variable's blanket first grows by every
variable that it depends on given the blanket so far, then shrinks by every variable that it does
not need. Cost: C(n, 2) unconditional tests in one batch, and at most two conditional ones for each
ordered pair; a test that the blanket of its other variable decides is not executed.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.graphs import UndirectedGraph
from counterpane.graphs.bits import pack, unpack
from counterpane.independence import IndependenceTest, Ledger, Verdict
from counterpane.independence.count_tests import CountTest
from counterpane.independence.ledger import Price
from counterpane.learners.checkpoint import check_range
from counterpane.learners.independence.base import (
    LEAST_P,
    LedgerSearch,
    PairTableLearner,
)
from counterpane.learners.independence.executed_tests import ExecutedTests, check_bits
from counterpane.learners.independence.inference_rules import (
    KnowledgeBase,
    PairTableRules,
    PairTables,
)
from counterpane.learners.independence.separating_sets import bit_set
from counterpane.progress import Control
from counterpane.typing import Bools, Floats, Ints, Words


class GrowShrinkState(NamedTuple):
    """The number of examined variables (−1 before the pairs), their blankets, executed tests."""

    done: int
    order: Ints  # the examined variables, in order
    blankets: Words  # bit rows, empty for variables that are not examined
    tests: ExecutedTests


class GrowShrink:
    """The algorithm, one variable at a time.

    `rules` are consulted before the ledger. Variables are visited in the order of the p-values of
    their pairs, or `by_evidence`, because p-values of strong pairs are 0 if there are many rows.
    """

    def __init__(
        self,
        ledger: Ledger,
        n: int,
        *,
        rules: KnowledgeBase | PairTableRules | None = None,
        by_evidence: bool = False,
    ) -> None:
        self.ledger = ledger
        self.n = n
        self.rules = rules
        self.by_evidence = by_evidence
        self.blankets: dict[int, list[int]] = {}

    def advance(self, done: int) -> int | None:
        """The next stage: all pairs if `done` is −1, then one variable, which is returned."""
        if done < 0:
            self.test_pairs()
            return None
        return self.examine()

    def test_pairs(self) -> None:
        """Execute all unconditional tests; they determine the order of visits."""
        n = self.n
        pairs = [(x, y, ()) for x in range(n) for y in range(x + 1, n)]
        self.linked: Bools = np.zeros((n, n), dtype=np.bool_)
        ranks: Floats = np.zeros((n, n)) if self.by_evidence else np.ones((n, n))
        rank = evidence_rank if self.by_evidence else p_value_rank
        for (x, y, _), verdict in zip(pairs, self.ledger.answer(pairs), strict=True):
            self.linked[x, y] = self.linked[y, x] = not verdict.independent
            ranks[x, y] = ranks[y, x] = rank(verdict)
            if self.rules is not None:
                self.rules.add(x, y, 0, verdict.independent)
        if self.by_evidence:
            totals = np.minimum(ranks, 0.0).sum(axis=1)
        else:
            totals = np.log(np.maximum(ranks, LEAST_P)).sum(axis=1)  # the diagonal adds ln 1
        self.waiting: list[int] = np.argsort(totals, kind="stable").tolist()
        self.lists: list[list[int]] = [
            [y for y in np.argsort(ranks[x], kind="stable").tolist() if y != x] for x in range(n)
        ]

    def examine(self) -> int:
        """Find the blanket of the next variable; that variable."""
        x = self.waiting.pop(0)
        inside = [y for y in self.lists[x] if y in self.blankets and x in self.blankets[y]]
        outside = [y for y in self.lists[x] if y in self.blankets and x not in self.blankets[y]]
        propagated = {**dict.fromkeys(inside, False), **dict.fromkeys(outside, True)}
        self.lists[x] = [y for y in self.lists[x] if y not in propagated] + inside + outside
        blanket: list[int] = []
        for y in self.lists[x]:
            if self.linked[x, y] and not self.independent(x, y, blanket, propagated):
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
            if self.independent(x, y, others, propagated):
                blanket = others
        self.blankets[x] = blanket
        return x

    def independent(self, x: int, y: int, given: list[int], propagated: dict[int, bool]) -> bool:
        """Whether x ⊥ y | given: propagated from other blankets, inferred, or tested."""
        answer = propagated.get(y)
        bits = bit_set(given)
        if self.rules is not None:
            answer = self.rules.infer(x, y, bits, answer)
        if answer is None:
            verdict = self.ledger(x, y, given)
            if self.by_evidence and given and verdict.degrees_of_freedom == 0:
                return False  # an inconclusive test: the two are as dependent as before
            answer = verdict.independent
            if self.rules is not None:
                self.rules.add(x, y, bits, answer)
        return answer


class GrowShrinkSearch(LedgerSearch[GrowShrinkState, GrowShrink]):
    """First all pairs, then one variable per step.

    The algorithm is deterministic, so a state does not hold its lists: a resumed search rebuilds
    them from the verdicts in the state, without a look at the data.
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
        super().__init__(test, source, price)
        self.infer = infer
        self.reads_tables = reads_tables

    def start(self) -> GrowShrinkState:
        empty = pack(np.zeros((self.n, self.n), dtype=np.bool_))
        none = np.zeros(0, dtype=np.int64)
        return GrowShrinkState(-1, none, empty, ExecutedTests.empty(self.n))

    def check(self, state: GrowShrinkState) -> None:
        super().check(state)
        check_range("an examined variable", state.order, 0, self.n)
        check_bits("a blanket", state.blankets, self.n)
        if len(np.unique(state.order)) != max(state.done, 0) or len(state.order) > self.n:
            raise ValueError("an examined variable is missing")

    def done(self, state: GrowShrinkState) -> bool:
        return state.done == self.n

    def size(self, state: GrowShrinkState) -> tuple[float, float]:
        return state.done + 1, self.n + 1

    def _rebuild(self, state: GrowShrinkState, ctl: Control) -> GrowShrink:
        rules: KnowledgeBase | PairTableRules | None = None
        if self.infer and self.reads_tables:
            rules = PairTableRules(PairTables.of(self.source, ctl=ctl))
        elif self.infer:
            rules = KnowledgeBase(self.n)
        ledger = self._ledger(state, ctl)
        run = GrowShrink(ledger, self.n, rules=rules, by_evidence=self.reads_tables)
        for done in range(-1, state.done):
            run.advance(done)
        return run

    def _advance(
        self, state: GrowShrinkState, run: GrowShrink
    ) -> tuple[GrowShrinkState, dict[str, Any]]:
        examined = run.advance(state.done)
        flags = np.zeros((self.n, self.n), dtype=np.bool_)
        for x, blanket in run.blankets.items():
            flags[x, blanket] = True
        names = self.source.schema.names
        record = {
            "variable": None if examined is None else names[examined],
            "n_tests": run.ledger.n_tests,
            "cost": run.ledger.cost,
        }
        order = state.order if examined is None else np.append(state.order, examined)
        tests = self._executed(state, run.ledger)
        return GrowShrinkState(state.done + 1, order, pack(flags), tests), record


def p_value_rank(verdict: Verdict) -> float:
    """The p-value, else the probability of independence, else 0 or 1."""
    for number in (verdict.p_value, verdict.probability):
        if number is not None:
            return number
    return float(verdict.independent)


def evidence_rank(verdict: Verdict) -> float:
    """The log evidence for independence, else ln p; where p underflows, −statistic / 2."""
    log_evidence = verdict.log_evidence
    if log_evidence is not None:
        return log_evidence
    if verdict.p_value is None or verdict.statistic is None:
        return 1.0 if verdict.independent else -1.0
    if verdict.p_value > LEAST_P:
        return float(np.log(verdict.p_value))
    return min(float(np.log(LEAST_P)), -verdict.statistic / 2)


def agreed_graph(state: GrowShrinkState, n: int) -> UndirectedGraph:
    """The graph with an edge where all blankets of examined variables agree on it."""
    rows = unpack(state.blankets, n)
    waiting = np.ones(n, dtype=np.bool_)
    waiting[state.order] = False
    flags = (rows | waiting[:, None]) & (rows.T | waiting[None, :])
    return UndirectedGraph.from_bits(pack(flags & ~(waiting[:, None] & waiting[None, :])))


class GSMN(PairTableLearner):
    """Learns a Markov network by growing and shrinking each variable's blanket.

    Parameters
    ----------
    test : str or IndependenceTest, optional
        "stratified" (the default), "bayesian", "chi2", "g2", or a test such as `Oracle`.
    variant : {"default", "paper"}
        "paper" is the published algorithm: χ² tests, visits in the order of p-values. It is also
        used if the test is not one of data. By default all pairs are read from shared tables.
    alpha : float, optional
        The level of a test given by name.
    table_cells : int, optional
        The largest size of a shared table; None for one table per pair.
    cost : callable, optional
        The cost of a test, a function of the names of its columns; by default their number.
    interactions : bool
        Whether to test all triples of columns without pair effects too, such as those of xor.
    potentials : bool
        Whether to fit a model to the graph.
    equivalent_sample_size, missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every learner; the first is the prior weight of the potentials.

    Attributes
    ----------
    graph_ : networkx.Graph
        The graph; `undirected_` is the same by position, `blankets_` has the neighbors by name.
    model_ : MarkovNetwork
        The graph with potentials; None without `potentials`, or if it is too dense.
    tests_ : list of Record
        The executed tests; `n_tests_` is their number, `cost_` the sum of their costs.
    n_tables_, table_cost_ : int, float
        The number of tables that had to be counted, and the sum of their costs.
    contradictions_ : float
        The share of tests that the graph contradicts.
    trace_ : list of dict
        A record of each step.

    Examples
    --------
    >>> import counterpane as cp
    >>> learner = cp.GSMN().fit(cp.load_dataset("titanic"))
    >>> learner.n_tests_, learner.cost_, learner.table_cost_
    (13, 36, 4)
    """

    _infer: ClassVar[bool] = False

    variant: Literal["default", "paper"] = "default"

    def _default_test(self) -> str:
        return "chi2" if self.variant == "paper" else "stratified"

    def _learn(self, source: CountSource) -> None:
        test = self._test()
        reads_tables = self.variant == "default" and isinstance(test, CountTest)
        ordered = self._ordered(source, test, self.table_cells if reads_tables else None)
        search = GrowShrinkSearch(
            test,
            ordered.source,
            infer=self._infer,
            reads_tables=reads_tables,
            price=self._price,
        )
        outcome = self._driver(source).run(search, "asking tests")
        self.trace_ = outcome.trace
        graph = agreed_graph(outcome.state, len(ordered.order))
        triples_by = test if self.interactions else None
        self._set_results(source, ordered, graph, outcome.state.tests, triples_by)


class GSIMN(GSMN):
    """`GSMN` with inference: tests whose result can be inferred are not executed.

    On data, a result is inferred from executed tests of the same pair, and from the pair tables if
    these decide it by a clear margin (`PairTableRules`). With `variant="paper"`, and if the test
    does not use data (such as `Oracle`), the inference is that of Bromberg, Margaritis & Honavar
    (2009): strong union and the triangle rules of `KnowledgeBase`, which are sound if all answers
    are correct.

    Parameters
    ----------
    test, variant, alpha, table_cells, cost, interactions, potentials
        See `GSMN`, as for all other parameters.

    Attributes
    ----------
    graph_, model_, tests_, n_tests_, cost_
        See `GSMN`, as for all other attributes.

    Examples
    --------
    >>> import counterpane as cp
    >>> learner = cp.GSIMN().fit(cp.load_dataset("titanic"))
    >>> learner.n_tests_, learner.cost_, learner.table_cost_
    (7, 16, 4)
    """

    _infer: ClassVar[bool] = True
