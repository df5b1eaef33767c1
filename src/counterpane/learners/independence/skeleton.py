"""The skeleton of a network by tests of growing conditioning sets: the first stage of PC and FCI.

P. Spirtes, C. Glymour and R. Scheines, Causation, Prediction, and Search, 2nd edition, 2000; the
order-independent form of D. Colombo and M. Maathuis, JMLR 15, 2014: at level k two columns x and y
lose their edge if they are independent given some k of the columns that were joined to x, or to y,
when the level began. So the skeleton depends neither on the order of the columns nor on that of the
tests, and the tests of all pairs go as one batch. A batch takes the most promising sets of each
pair first, and the next batch eight times as many for the pairs that are still joined.
"""

from __future__ import annotations

from math import comb
from typing import Any, Literal, NamedTuple

import numpy as np

from counterpane._core.learn_independence import list_conditions
from counterpane.counts.source import CountSource
from counterpane.graphs import UndirectedGraph
from counterpane.graphs.bits import pack, unpack
from counterpane.independence import IndependenceTest
from counterpane.independence.base import VerdictColumns
from counterpane.independence.count_tests import CountTest
from counterpane.learners.checkpoint import check_range
from counterpane.learners.driver import Search
from counterpane.learners.independence.executed_tests import (
    ExecutedTests,
    check_bits,
    check_graphs,
    check_tests,
    condition_bits,
)
from counterpane.progress import Control
from counterpane.typing import Bools, Floats, Ints, Words

FIRST_SETS = 8  # of each pair in the first batch of a level; each further batch has 8 times as many
MORE_SETS = 8
MOST_SETS = 512  # of one pair and level; the strongest neighbors come first
BATCH_CELLS = 2**24  # of the tables that are counted at once
MOST_CELLS = 2**22  # of the table of one test; larger ones are not tested
BATCH_TESTS = 2**18
MANY = 2**60
ROWS_PER_CELL = 1.0  # the fewest rows, on average, in a cell of a table that is tested


class SkeletonState(NamedTuple):
    """The stage, the level, the sets of it that were tested, two graphs, the tests.

    Sets come from the neighbors in `before`: the graph before the level, or Possible-D-SEP.
    """

    stage: Literal["skeleton", "possible", "end"]
    level: int
    taken: int
    before: Words  # bit rows
    graph: Words
    tests: ExecutedTests


class TestBatches:
    """Executes tests on arrays, in batches whose tables fit in memory.

    A test on fewer than `ROWS_PER_CELL` rows for each cell of its table decides nothing, and is not
    executed; nor is one on a table of more than `MOST_CELLS`.
    """

    __test__ = False  # pytest takes it for a test otherwise

    def __init__(self, test: IndependenceTest, source: CountSource, ctl: Control | None) -> None:
        self.test = test.bind(source, ctl=ctl)
        self.cards = source.schema.cards.astype(np.float64)
        self.most_cells = np.inf
        if isinstance(test, CountTest):
            rows = float(source.total_weight or source.n_rows or np.inf)
            self.most_cells = min(float(MOST_CELLS), rows / ROWS_PER_CELL)
        self.ctl = ctl
        self.n_batches = 0

    def execute(self, pairs: Ints, conditions: Ints) -> ExecutedTests:
        """Execute those tests x ⊥ y | given that can be; all sets have one size."""
        cells = self.cards[pairs].prod(axis=1) * self.cards[conditions].prod(axis=1)
        if conditions.shape[1]:
            small = cells <= self.most_cells
            pairs, conditions, cells = pairs[small], conditions[small], cells[small]
        log, n = ExecutedTests.empty(len(self.cards)), len(self.cards)
        batch = np.maximum(np.cumsum(cells) // BATCH_CELLS, np.arange(len(cells)) // BATCH_TESTS)
        for part in np.split(np.arange(len(pairs)), np.flatnonzero(np.diff(batch)) + 1):
            if len(part):
                verdicts = self.test.judge_all(pairs[part], conditions[part])
                bits = condition_bits(n, conditions[part])
                log = log.followed_by(ExecutedTests(pairs[part], bits, verdicts))
                self.n_batches += 1
                if self.ctl is not None:
                    self.ctl.check()
        return log


def remaining_graph(possible: Bools, required: Bools, executed: ExecutedTests) -> Bools:
    """The edges that tests leave, without those of columns that are functions of others.

    If x = f(z), then x ⊥ y | z holds whatever joins x and y. The edge x – y is not needed while z
    is joined to y, and it is needed if z was separated from y, perhaps by x itself. Columns come by
    falling entropy: edges of those with little go first.
    """
    graph = possible.copy()
    apart = executed.pairs[executed.separating]
    graph[apart[:, 0], apart[:, 1]] = graph[apart[:, 1], apart[:, 0]] = False
    graph |= required
    rows = np.flatnonzero(executed.determined)
    rows = rows[graph[executed.pairs[rows, 0], executed.pairs[rows, 1]]]
    for row in rows[np.lexsort(executed.pairs[rows].T)][::-1].tolist():
        x, y = executed.pairs[row].tolist()
        members = unpack(executed.given[row], len(graph))
        if not required[x, y] and (members & graph[x] & graph[y]).any():
            graph[x, y] = graph[y, x] = False
    return graph


class SkeletonSearch(Search[SkeletonState]):
    """One batch a step.

    `possible` and `required` say which pairs may and must be joined, and later[z, x] that column z
    comes after x: what is later than x and y is never given. All are on the columns of `source`.
    """

    def __init__(
        self,
        test: IndependenceTest,
        source: CountSource,
        *,
        most_given: int | None = None,
        possible: Bools | None = None,
        required: Bools | None = None,
        later: Bools | None = None,
    ) -> None:
        self.test = test
        self.source = source
        self.n = n = len(source.schema)
        self.most_given = n if most_given is None else most_given
        self.most_sets = MANY
        if isinstance(test, CountTest):  # beyond, a table of any columns has too few rows
            rows = max(float(source.total_weight or source.n_rows or 2.0**60) / ROWS_PER_CELL, 1.0)
            self.most_given = min(self.most_given, max(int(np.log2(rows)) - 2, 1))
            self.most_sets = MOST_SETS
        none: Bools = np.zeros((n, n), dtype=bool)
        self.possible = ~np.eye(n, dtype=bool) if possible is None else possible
        self.required = none if required is None else required
        self.later = none if later is None else later

    def start(self) -> SkeletonState:
        rows = pack(self.possible)
        return SkeletonState("skeleton", 0, 0, rows, rows, ExecutedTests.empty(self.n))

    def check(self, state: SkeletonState) -> None:
        check_tests(state.tests, self.n)
        check_graphs(state.graph, self.n)
        check_bits("a graph", state.before, self.n)
        check_range("the level", state.level, 0, self.n + 2)
        check_range("the number of sets", state.taken, 0, MOST_SETS**2)
        if state.level and state.tests.size < np.triu(self.possible).sum():
            raise ValueError("tests of pairs are missing")

    def done(self, state: SkeletonState) -> bool:
        if state.level > self.most_given:
            return True
        if state.level == 0 or state.taken:
            return False
        ends = np.argwhere(np.triu(rows_of(state.graph, self.n) & ~self.required))
        degrees = rows_of(state.before, self.n).sum(axis=1)
        return not len(ends) or int((degrees[ends] - 1).max()) < state.level

    def size(self, state: SkeletonState) -> tuple[float, float | None]:
        return state.tests.size, None

    def step(self, state: SkeletonState, ctl: Control) -> tuple[SkeletonState, dict[str, Any]]:
        batches = TestBatches(self.test, self.source, ctl)
        if state.level and (answered := self._separated(state, batches.test)) is not None:
            return answered
        more, last = False, 0
        if state.level == 0:
            pairs: Ints = np.argwhere(np.triu(self.possible)).astype(np.int64)
            conditions: Ints = np.zeros((len(pairs), 0), dtype=np.int64)
        else:
            first = state.taken
            last = MORE_SETS * first if first else FIRST_SETS
            pairs, conditions, more = self._questions(state, first, last)
        if state.stage != "skeleton":
            fresh = new_tests(state.tests, self.n, pairs, conditions)
            pairs, conditions = pairs[fresh], conditions[fresh]
        new = batches.execute(pairs, conditions)
        executed = state.tests.followed_by(new)
        graph = rows_of(state.graph, self.n)
        if more:
            apart = new.pairs[new.separating]
            graph[apart[:, 0], apart[:, 1]] = graph[apart[:, 1], apart[:, 0]] = False
            graph |= self.required
        else:
            graph = remaining_graph(self.possible, self.required, executed)
        rows = pack(graph)
        record = {
            "stage": state.stage,
            "level": state.level,
            "n_tests": new.size,
            "batches": batches.n_batches,
            "edges": int(graph.sum()) // 2,
        }
        if more:
            state = state._replace(taken=last, graph=rows)
        else:
            before = rows if state.stage == "skeleton" else state.before
            state = state._replace(level=state.level + 1, taken=0, before=before, graph=rows)
        return state._replace(tests=executed), record

    def _separated(
        self, state: SkeletonState, test: IndependenceTest
    ) -> tuple[SkeletonState, dict[str, Any]] | None:
        """The level by one question a pair, where the test knows the smallest separating sets.

        A pair whose smallest set among the neighbors of x, or of y, has as many members as the
        level loses its edge, exactly as if all sets of this size were tested. Smaller ones were
        found at earlier levels. When no set of any size separates a pair, no level is left.
        """
        ends = np.argwhere(np.triu(rows_of(state.graph, self.n) & ~self.required)).astype(np.int64)
        allowed = ~(self.later[:, ends[:, 0]] & self.later[:, ends[:, 1]]).T
        candidates = rows_of(state.before, self.n)[ends.T] & allowed
        rows = np.arange(len(ends))
        candidates[:, rows, ends[:, 0]] = candidates[:, rows, ends[:, 1]] = False
        both = pack(candidates.reshape(-1, self.n))
        answer = test.separating_sets(np.concatenate([ends, ends]), both, state.level)
        if answer is None:
            return None
        sizes, sets = answer[0].reshape(2, -1), answer[1].reshape(2, len(ends), -1)
        sizes = np.where(sizes < 0, self.n, sizes)
        side, least = sizes.argmin(axis=0), sizes.min(axis=0, initial=self.n)
        apart = least <= state.level
        verdicts = VerdictColumns.made_of(np.ones(int(apart.sum()), dtype=bool))
        new = ExecutedTests(ends[apart], sets[side, rows][apart], verdicts)
        executed = state.tests.followed_by(new)
        graph = rows_of(state.graph, self.n)
        x, y = ends[apart].T
        graph[x, y] = graph[y, x] = False
        bits = pack(graph)
        open_pairs = (least > state.level) & (least < self.n)
        level = state.level + 1 if open_pairs.any() else self.most_given + 1
        before = bits if state.stage == "skeleton" else state.before
        record = {"stage": state.stage, "level": state.level, "n_tests": int(apart.sum()),
                  "batches": 1, "edges": int(graph.sum()) // 2}  # fmt: skip
        state = state._replace(level=level, before=before, graph=bits)
        return state._replace(tests=executed), record

    def _questions(self, state: SkeletonState, first: int, last: int) -> tuple[Ints, Ints, bool]:
        """The pairs and sets number first … last − 1 of each pair; whether some have more."""
        ends = np.argwhere(np.triu(rows_of(state.graph, self.n) & ~self.required)).astype(np.int64)
        last = min(last, self.most_sets)
        pairs, conditions, more = self.conditions(
            state.before, self.strengths(state), ends, state.level, first, last
        )
        return pairs, conditions, more and last < self.most_sets

    def conditions(
        self, graph: Words, strength: Floats, ends: Ints, size: int, first: int, last: int
    ) -> tuple[Ints, Ints, bool]:
        """The sets number first … last − 1 of each pair, with the pairs; whether some have more.

        They are `size` columns that `graph` joins to x, or to y, those near to both first; see
        `list_conditions`.
        """
        joined, later = graph, pack(self.later.T)
        allowed = ~(later[ends[:, 0]] & later[ends[:, 1]])
        rows = np.arange(len(ends))
        for column in ends.T:
            allowed[rows, column >> 6] &= ~(np.uint64(1) << (column & 63).astype(np.uint64))
        left, right = joined[ends[:, 0]] & allowed, joined[ends[:, 1]] & allowed
        subsets = np.array([min(comb(k, size), MANY) for k in range(self.n + 1)])
        n_left, n_right, n_both = (
            subsets[np.bitwise_count(words).sum(axis=1, dtype=np.int64)]
            for words in (left, right, left & right)
        )
        totals = n_left + n_right - n_both
        lengths = np.maximum(np.minimum(totals, last) - first, 0)
        starts: Ints = np.concatenate([[0], np.cumsum(lengths)])
        sets: Ints = np.empty((int(starts[-1]), size), dtype=np.int64)
        list_conditions(joined, later, strength, np.ascontiguousarray(ends), first, starts, sets)
        return np.repeat(ends, lengths, axis=0), sets, bool((totals > last).any())

    def strengths(self, state: SkeletonState) -> Floats:
        """How strongly each pair depends, as far as the first level tells; larger is stronger."""
        strength: Floats = np.zeros((self.n, self.n))
        n_pairs = int(np.triu(self.possible).sum())
        pairs = state.tests.first(n_pairs)
        columns = pairs.verdicts
        value = columns.statistic - np.nan_to_num(columns.degrees_of_freedom)
        ratio = columns.log_likelihoods[:, 1] - columns.log_likelihoods[:, 0]
        for other in (ratio, -columns.gap):
            value = np.where(np.isnan(other), value, other)
        x, y = pairs.pairs.T
        strength[x, y] = strength[y, x] = np.nan_to_num(value)
        return strength


def rows_of(bits: Words, n: int) -> Bools:
    """Stored bit rows as a matrix that may be changed."""
    return unpack(bits, n)


def skeleton_of(state: SkeletonState) -> UndirectedGraph:
    """The graph of a state."""
    return UndirectedGraph.from_bits(state.graph)


def new_tests(executed: ExecutedTests, n: int, pairs: Ints, conditions: Ints) -> Bools:
    """Which of some tests, all given as many columns, were not executed."""
    sizes = np.bitwise_count(executed.given).sum(axis=1)
    alike = np.flatnonzero(sizes == conditions.shape[1])
    ends = executed.pairs[alike]
    alike = alike[np.isin(ends[:, 0] * n + ends[:, 1], pairs[:, 0] * n + pairs[:, 1])]
    known = set(
        map(bytes, np.column_stack([executed.pairs[alike].view(np.uint64), executed.given[alike]]))
    )
    asked = map(bytes, np.column_stack([pairs.view(np.uint64), condition_bits(n, conditions)]))
    return np.fromiter((key not in known for key in asked), dtype=bool, count=len(pairs))
