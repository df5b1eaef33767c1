"""What the learners that ask independence tests share: a memory of answers, and their results."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self, Unpack, get_args

import numpy as np

from counterpane.counts.shared_tables import SharedTables, table_scopes
from counterpane.counts.source import CountSource
from counterpane.counts.view import reordered
from counterpane.errors import ParameterError, TableSizeError
from counterpane.graphs import UndirectedGraph
from counterpane.graphs.bits import members, n_words
from counterpane.independence import IndependenceTest, Ledger, Oracle, Question, Verdict, as_test
from counterpane.independence.count_tests import CountTest
from counterpane.independence.ledger import Price
from counterpane.learn.base import LearnerOptions
from counterpane.learn.density import DensityLearner
from counterpane.learn.independence.separators import is_separated
from counterpane.learn.markov.graph_potentials import fit_potentials
from counterpane.learn.order import intrinsic_order
from counterpane.models.markov_network import MarkovNetwork
from counterpane.progress import Control
from counterpane.typing import Floats, Ints

Variant = Literal["default", "paper"]


class Asked(NamedTuple):
    """Executed tests as arrays, for states: pairs (tests, 2), sets as bit rows, verdicts.

    `numbers` holds independent, statistic, p-value, degrees of freedom, the two log-likelihoods,
    the probability and the gap of each verdict, NaN for what does not apply.
    """

    pairs: Ints
    given: Ints
    numbers: Floats

    @classmethod
    def nothing(cls, n: int) -> Self:
        """No test of `n` variables."""
        return cls(
            np.zeros((0, 2), dtype=np.int64),
            np.zeros((0, n_words(n)), dtype=np.int64),
            np.zeros((0, 8)),
        )

    def extended(self, n: int, asked: Iterable[tuple[Question, Verdict]]) -> Self:
        """These tests and some more."""
        pairs, sets, numbers = [], [], []
        for (x, y, given), verdict in asked:
            pairs.append((x, y))
            row = sum(1 << v for v in given).to_bytes(8 * n_words(n), "little")
            sets.append(np.frombuffer(row, dtype="<i8").astype(np.int64))
            first, *middle, logs, probability, gap = verdict
            numbers.append((float(first), *middle, *(logs or (None, None)), probability, gap))
        if not pairs:
            return self
        return type(self)(
            np.concatenate([self.pairs, np.array(pairs, dtype=np.int64)]),
            np.concatenate([self.given, np.array(sets)]),
            np.concatenate([self.numbers, np.array(numbers, dtype=np.float64)]),
        )

    def verdicts(self) -> dict[Question, Verdict]:
        """Questions with their verdicts, in order."""
        known: dict[Question, Verdict] = {}
        for (x, y), row, numbers in zip(self.pairs.tolist(), self.given, self.numbers, strict=True):
            first, statistic, p_value, freedom, *logs, probability, gap = (
                None if v != v else v for v in numbers.tolist()
            )
            known[x, y, members(row.view(np.uint64))] = Verdict(
                bool(first),
                statistic,
                p_value,
                None if freedom is None else int(freedom),
                None if logs[0] is None else (logs[0], logs[1]),  # type: ignore[arg-type]
                probability,
                gap,
            )
        return known

    def ledger(
        self, names: tuple[str, ...], price: Price = len, test: IndependenceTest | None = None
    ) -> Ledger:
        """A ledger of these tests of variables with these `names`; further ones are of `test`."""
        known = self.verdicts()
        nothing = Oracle(UndirectedGraph(len(names)), names)
        ledger = Ledger(Remembered(test or nothing, known), price)
        ledger.answer(list(known))
        return ledger


class Remembered(IndependenceTest):
    """`test`, with the answers that were `known` from before; new ones are added to these."""

    def __init__(self, test: IndependenceTest, known: dict[Question, Verdict]) -> None:
        self.test = test
        self.known = known

    @property
    def names(self) -> tuple[str, ...]:
        return self.test.names

    def bind(self, source: CountSource, *, ctl: Control | None = None) -> Self:
        """The same memory over the test bound to `source`."""
        return type(self)(self.test.bind(source, ctl=ctl), self.known)

    def answer(self, questions: Sequence[Question]) -> list[Verdict]:
        fresh = [asked for asked in questions if asked not in self.known]
        if fresh:
            self.known.update(zip(fresh, self.test.answer(fresh), strict=True))
        return [self.known[asked] for asked in questions]


class StructureOnly(UserWarning):
    """A graph was learned that is too dense for tables of potentials."""


class LaidOut(NamedTuple):
    """A source to search, the place in the table of each of its columns, and tables counted."""

    source: CountSource
    order: Ints
    blocks: list[tuple[int, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the source."""
        return self.source.schema.names


class AskingLearner(DensityLearner):
    """Learns a Markov network by asking an independence test.

    `test` is a name ("stratified", "bayesian", "chi2", "g2") or a test; `alpha` is the level of a
    test given by name that has one. `variant="paper"` is the algorithm as published; it is also
    used where the test is not one of data, such as `Oracle`. In the default variant all pairs are
    first read from shared tables of at most `table_cells` cells, None for one table a pair.
    `cost` is a function of the names of columns that are looked at together, their number by
    default. `interactions=True` asks about all triples of columns without pair effects too.

    Results: `graph_` (networkx), `undirected_`, `blankets_` (the neighbors of each variable),
    `model_` (a `MarkovNetwork`), `tests_` (a record for each executed test), `n_tests_` and
    `cost_` (the sum over these), `n_tables_` and `table_cost_` (the same over the tables that had
    to be counted), `contradictions_` (the share of tests that the graph contradicts), `trace_`.
    """

    _paper_test: ClassVar[str] = "chi2"

    def __init__(
        self,
        test: str | IndependenceTest | None = None,
        *,
        variant: Variant = "default",
        alpha: float | None = None,
        table_cells: int | None = 64,
        cost: Price | None = None,
        interactions: bool = False,
        potentials: bool = True,
        equivalent_sample_size: float = 1.0,
        **options: Unpack[LearnerOptions],
    ) -> None:
        super().__init__(**options)
        self.test = test
        self.variant = variant
        self.alpha = alpha
        self.table_cells = table_cells
        self.cost = cost
        self.interactions = interactions
        self.potentials = potentials
        self.equivalent_sample_size = equivalent_sample_size

    def _test(self) -> IndependenceTest:
        """The test to ask, not yet bound."""
        if self.variant not in get_args(Variant):
            raise ParameterError(f"variant={self.variant!r}; 'default' or 'paper' is allowed.")
        if self.table_cells is not None and not self.table_cells >= 4:
            raise ParameterError(f"table_cells={self.table_cells!r}; None or 4 and more is needed.")
        default = self._paper_test if self.variant == "paper" else "stratified"
        test = as_test(default if self.test is None else self.test)
        if test is self.test or self.alpha is None or not hasattr(test, "alpha"):
            return test
        return type(test)(alpha=self.alpha)  # type: ignore[call-arg]

    @property
    def _price(self) -> Price:
        return len if self.cost is None else self.cost

    def _reads_tables(self, test: IndependenceTest) -> bool:
        """Whether the default variant applies: it needs tables, which an oracle has not."""
        return self.variant == "default" and isinstance(test, CountTest)

    def _laid_out(self, source: CountSource, test: IndependenceTest) -> LaidOut:
        """The source to search.

        Tests of data go by an order of columns that does not depend on how the table was laid out.
        Others know columns by their place. The default variant counts its shared tables here.
        """
        if not isinstance(test, CountTest):
            return LaidOut(source, np.arange(len(source.schema)), [])
        order = intrinsic_order(source)
        shared = SharedTables(reordered(source, order))
        if self._reads_tables(test) and self.table_cells is not None:
            shared.count_blocks(self.table_cells)
        return LaidOut(shared, np.array(order, dtype=np.int64), list(shared.scopes))

    def _settle(
        self,
        source: CountSource,
        laid_out: LaidOut,
        graph: UndirectedGraph,
        ledger: Ledger,
        seconds: float,
    ) -> None:
        """Set the results that all share; `graph` and `ledger` are on the columns as laid out."""
        graph = moved(graph, laid_out.order)
        names = source.schema.names
        self.model_ = self._model(source, graph, seconds) if self.potentials else None
        self.undirected_ = graph
        self.graph_: Any = graph.to_networkx(names)
        self.blankets_ = {
            name: tuple(names[j] for j in graph.neighbors(i)) for i, name in enumerate(names)
        }
        self.n_tests_ = ledger.n_tests
        self.cost_ = ledger.cost
        self.contradictions_ = contradicted(ledger, graph, names)
        scopes: list[tuple[int, ...]] = []  # of a test that counts
        if isinstance(laid_out.source, SharedTables):
            cards = laid_out.source.counted_cards
            scopes = table_scopes(ledger.answered, cards, laid_out.blocks)
        self.n_tables_ = len(scopes)
        self.table_cost_ = sum(
            self._price(tuple(ledger.names[v] for v in scope)) for scope in scopes
        )

    def _model(
        self, source: CountSource, graph: UndirectedGraph, seconds: float
    ) -> MarkovNetwork | None:
        """The graph with potentials; None, and a warning, where it is too dense for tables."""
        try:
            return fit_potentials(
                source,
                graph,
                equivalent_sample_size=self.equivalent_sample_size,
                provenance=self._provenance(source, seconds),
            )
        except TableSizeError as error:
            message = f"the graph was found, but model_ is None: {error}"
            warnings.warn(message, StructureOnly, stacklevel=4)
            return None


def moved(graph: UndirectedGraph, order: Ints) -> UndirectedGraph:
    """The graph with node i called `order[i]`."""
    return UndirectedGraph(graph.n, [(order[a], order[b]) for a, b in graph.edges])


def contradicted(ledger: Ledger, graph: UndirectedGraph, names: tuple[str, ...]) -> float:
    """The share of executed tests that `graph` contradicts.

    It contradicts a dependence of two variables that it separates, and an independence of two that
    it joins by an edge. A test that could tell nothing (a gap of 0) is not contradicted.
    """
    if not ledger.n_tests:
        return 0.0
    place = {name: i for i, name in enumerate(names)}
    rows = [sum(1 << v for v in graph.neighbors(i)) for i in range(graph.n)]
    wrong = 0
    for record in ledger.records:
        x, y = place[record.x], place[record.y]
        joined = bool(rows[x] >> y & 1)
        if record.independent:
            wrong += joined and record.gap != 0
        elif not joined:
            wrong += is_separated(rows, x, y, sum(1 << place[v] for v in record.given))
    return wrong / ledger.n_tests
