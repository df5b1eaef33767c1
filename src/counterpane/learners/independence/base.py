"""The base of learners that execute independence tests: parameters, states of tests, results."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import islice
from typing import (
    Annotated,
    Any,
    Generic,
    NamedTuple,
    TypeVar,
)

import numpy as np

from counterpane.checks import (
    NO_ARRAY,
)
from counterpane.counts.shared_tables import SharedTables, table_scopes
from counterpane.counts.source import CountSource, counted_cards
from counterpane.counts.view import reorder_columns
from counterpane.errors import ParameterError, Setting, TableSizeError
from counterpane.graphs import UndirectedGraph
from counterpane.independence import IndependenceTest, Ledger, Verdict, as_test
from counterpane.independence.count_tests import CountTest
from counterpane.independence.ledger import Price
from counterpane.learners.density import DensityLearner
from counterpane.learners.driver import Search
from counterpane.learners.independence.executed_tests import ExecutedTests, check_tests
from counterpane.learners.independence.separating_sets import (
    contradicted_share,
    with_pure_triples,
)
from counterpane.learners.markov.graph_potentials import fit_potentials
from counterpane.learners.order import intrinsic_order
from counterpane.models.markov_network import MarkovNetwork
from counterpane.progress import Control
from counterpane.typing import Floats, Ints

LEAST_P = 1e-300  # so that a p-value of 0 has a logarithm

S = TypeVar("S", bound=tuple[Any, ...])
W = TypeVar("W")


TestChoice = Annotated[str | IndependenceTest | None, NO_ARRAY]
"""A test, or the name of one."""


class LedgerSearch(Search[S], Generic[S, W]):
    """A search that executes tests; its states have the log of them, `tests`.

    A step works on objects W that follow from the state, such as a ledger. They are used again if
    the next step continues from the state that the last one returned, and rebuilt otherwise.
    """

    def __init__(self, test: IndependenceTest, source: CountSource, price: Price) -> None:
        self.test = test
        self.source = source
        self.n = len(source.schema)
        self.price = price
        self._last: tuple[S, W] | None = None

    def check(self, state: Any) -> None:
        check_tests(state.tests, self.n)

    def step(self, state: S, ctl: Control) -> tuple[S, dict[str, Any]]:
        last, self._last = self._last, None  # an interrupted step leaves nothing behind
        work = self._rebuild(state, ctl) if last is None or last[0] is not state else last[1]
        state, record = self._advance(state, work)
        self._last = state, work
        return state, record

    @abstractmethod
    def _rebuild(self, state: S, ctl: Control) -> W:
        """The working objects of a state."""

    @abstractmethod
    def _advance(self, state: S, work: W) -> tuple[S, dict[str, Any]]:
        """The next state, and a record of the step; changes `work` and not `state`."""

    def _ledger(self, state: Any, ctl: Control) -> Ledger:
        """A ledger of the tests of a state, over the test bound to the data."""
        return Ledger(self.test.bind(self.source, ctl=ctl), self.price, state.tests.answered())

    def _executed(self, state: Any, ledger: Ledger) -> ExecutedTests:
        """The tests of a state, and those that the ledger has executed since."""
        tests: ExecutedTests = state.tests
        return tests.followed_by(
            ExecutedTests.of(self.n, islice(ledger.answered.items(), tests.size, None))
        )

    def _log_evidence(self, verdict: Verdict, certain: float) -> float:
        """ln of the evidence for independence over that for dependence.

        A p-value counts as the likelihood ratio p / alpha, an answer without a number as `certain`.
        """
        if verdict.log_evidence is not None:
            return verdict.log_evidence
        if verdict.p_value is not None:
            alpha = getattr(self.test, "alpha", None) or 0.05
            return max(math.log(max(verdict.p_value, LEAST_P) / alpha), -certain)
        return certain if verdict.independent else -certain


class StructureOnly(UserWarning):
    """A graph was learned that is too dense for tables of potentials."""


class OrderedSource(NamedTuple):
    """A source with its columns in the order of the search.

    `order` has the position of each column in the table; `shared` are the scopes of the shared
    tables that were counted before the search.
    """

    source: CountSource
    order: Ints
    shared: list[tuple[int, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in the order of the search."""
        return self.source.schema.names


class IndependenceLearner(DensityLearner):
    """Learns a Markov network from independence tests."""

    test: TestChoice = field(default=None, kw_only=False)
    alpha: float | None = None
    cost: Price | None = None
    potentials: bool = True
    equivalent_sample_size: float = 1.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._test()

    def _test(self) -> IndependenceTest:
        """The test to execute, not yet bound to data."""
        test = as_test(self._default_test() if self.test is None else self.test)
        if test is self.test or self.alpha is None or not hasattr(test, "alpha"):
            return test
        return type(test)(alpha=self.alpha)  # type: ignore[call-arg]

    def _default_test(self) -> str:
        """The name of the test that is executed if none is passed."""
        return "stratified"

    @property
    def _price(self) -> Price:
        return len if self.cost is None else self.cost

    def _check_least(self, **least: float) -> None:
        """Refuse parameters that are less than these numbers, or infinite."""
        for name, smallest in least.items():
            value = getattr(self, name)
            if value is not None and not smallest <= value < math.inf:
                raise ParameterError(Setting(name, value), f"; a number from {smallest} is needed.")

    def _ordered(
        self, source: CountSource, test: IndependenceTest, cells: int | None = None
    ) -> OrderedSource:
        """The source to search.

        For tests of data, the order of its columns does not depend on their order in the table.
        Other tests know columns by position. With `cells`, shared tables of at most as many cells
        are counted here.
        """
        if not isinstance(test, CountTest):
            return OrderedSource(source, np.arange(len(source.schema)), [])
        order = intrinsic_order(source)
        tables = SharedTables(reorder_columns(source, order))
        if cells is not None:
            tables.count_blocks(cells)
        return OrderedSource(tables, np.array(order, dtype=np.int64), list(tables.scopes))

    def _set_results(
        self,
        source: CountSource,
        ordered: OrderedSource,
        graph: UndirectedGraph,
        executed: ExecutedTests,
        triples_by: IndependenceTest | None = None,
    ) -> None:
        """Set the results that all learners share.

        `graph` and `executed` are on the columns in the order of the search. With a test, all
        triples without pair effects are tested too.
        """
        bound = None if triples_by is None else triples_by.bind(ordered.source)
        ledger = executed.ledger(ordered.names, self._price, bound)
        if bound is not None:
            graph = with_pure_triples(graph, ledger)
        self.contradictions_ = contradicted_share(ledger, graph)
        graph = renumbered(graph, ordered.order)
        names = source.schema.names
        self.model_ = self._model(source, graph) if self.potentials else None
        self.undirected_ = graph
        self.graph_: Any = graph.to_networkx(names)
        self.blankets_ = {
            name: tuple(names[j] for j in graph.neighbors(i)) for i, name in enumerate(names)
        }
        self.n_tests_ = ledger.n_tests
        self.cost_ = ledger.cost
        self.tests_: list[Any] = ledger.records
        scopes: list[tuple[int, ...]] = []
        if isinstance(ordered.source, SharedTables):
            cards = counted_cards(ordered.source)
            scopes = table_scopes(ledger.answered, cards, ordered.shared)
        self.n_tables_ = len(scopes)
        self.table_cost_ = sum(
            self._price(tuple(ledger.names[v] for v in scope)) for scope in scopes
        )

    def _model(self, source: CountSource, graph: UndirectedGraph) -> MarkovNetwork | None:
        """The graph with potentials; None, and a warning, if it is too dense for tables."""
        try:
            size = self.equivalent_sample_size
            return fit_potentials(source, graph, equivalent_sample_size=size)
        except TableSizeError as error:
            message = f"the graph was found, but model_ is None: {error}"
            warnings.warn(message, StructureOnly, stacklevel=5)
            return None


class PairTableLearner(IndependenceLearner):
    """A learner that reads all pairs from shared tables, if its test is one of data."""

    table_cells: int | None = 64
    interactions: bool = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.table_cells is not None and not self.table_cells >= 4:
            raise ParameterError(
                Setting("table_cells", self.table_cells), "; None or 4 and more is needed."
            )


def in_table_order(numbers: Floats, order: Ints) -> Floats:
    """A square array of the search, with row and column i at position `order[i]`."""
    out = np.empty_like(numbers)
    out[np.ix_(order, order)] = numbers
    return out


def seconds_by_part(trace: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The seconds spent in tests, in selecting them, and in moves."""
    return {
        part: sum(row.get(f"{part}_seconds", 0.0) for row in trace)
        for part in ("test", "score", "move")
    }


def renumbered(graph: UndirectedGraph, order: Ints) -> UndirectedGraph:
    """The graph with node i as node `order[i]`."""
    return UndirectedGraph(graph.n, [(order[a], order[b]) for a, b in graph.edges])
