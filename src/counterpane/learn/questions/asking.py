"""What the learners that ask independence tests share: a memory of answers, and their results."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self, Unpack

import numpy as np

from counterpane.counts.reordered import reordered
from counterpane.counts.source import CountSource
from counterpane.errors import TableSizeError
from counterpane.graphs import UndirectedGraph
from counterpane.graphs.bits import members, n_words
from counterpane.independence import IndependenceTest, Ledger, Oracle, Question, Verdict, as_test
from counterpane.independence.counted import CountTest
from counterpane.learn.base import LearnerOptions
from counterpane.learn.density import DensityLearner
from counterpane.learn.fields.graph_potentials import fit_potentials
from counterpane.learn.structure.network import intrinsic_order
from counterpane.models.markov_network import MarkovNetwork
from counterpane.progress import Control
from counterpane.typing import Floats, Ints


class Asked(NamedTuple):
    """Executed tests as arrays, for states: pairs (tests, 2), sets as bit rows, verdicts.

    `numbers` holds independent, statistic, p-value, degrees of freedom, the two log-likelihoods and
    the probability of each verdict, NaN for what does not apply.
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
            np.zeros((0, 7)),
        )

    def extended(self, n: int, asked: Iterable[tuple[Question, Verdict]]) -> Self:
        """These tests and some more."""
        pairs, sets, numbers = [], [], []
        for (x, y, given), verdict in asked:
            pairs.append((x, y))
            row = sum(1 << v for v in given).to_bytes(8 * n_words(n), "little")
            sets.append(np.frombuffer(row, dtype="<i8").astype(np.int64))
            first, *middle, logs, probability = verdict
            numbers.append((float(first), *middle, *(logs or (None, None)), probability))
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
            first, statistic, p_value, freedom, *logs, probability = (
                None if v != v else v for v in numbers.tolist()
            )
            known[x, y, members(row.view(np.uint64))] = Verdict(
                bool(first),
                statistic,
                p_value,
                None if freedom is None else int(freedom),
                None if logs[0] is None else (logs[0], logs[1]),  # type: ignore[arg-type]
                probability,
            )
        return known

    def ledger(self, names: tuple[str, ...]) -> Ledger:
        """A ledger of these tests of variables with these `names`."""
        known = self.verdicts()
        oracle = Oracle(UndirectedGraph(len(names)), names)
        ledger = Ledger(Remembered(oracle, known))
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


class AskingLearner(DensityLearner):
    """Learns a Markov network by asking an independence test.

    `test` is a name ("chi2", "g2", "bayesian") or a test; one given by name has the level `alpha`
    where it has one. `equivalent_sample_size` is that of the potentials.

    Results: `graph_` (networkx), `undirected_`, `blankets_` (the neighbors of each variable),
    `model_` (a `MarkovNetwork`), `tests_` (a record for each executed test), `n_tests_`, `cost_`
    (the sum of |given| + 2 over the tests), `trace_`.
    """

    def __init__(
        self,
        test: str | IndependenceTest = "chi2",
        *,
        alpha: float = 0.05,
        potentials: bool = True,
        **options: Unpack[LearnerOptions],
    ) -> None:
        super().__init__(**options)
        self.test = test
        self.alpha = alpha
        self.potentials = potentials

    def _test(self) -> IndependenceTest:
        """The test to ask, not yet bound."""
        test = as_test(self.test)
        if isinstance(self.test, str) and hasattr(test, "alpha"):
            return type(test)(alpha=self.alpha)  # type: ignore[call-arg]
        return test

    def _laid_out(self, source: CountSource, test: IndependenceTest) -> tuple[CountSource, Ints]:
        """The source to search, and the place in the table of each of its columns.

        Tests of data go by an order of columns that does not depend on how the table was laid out.
        Others know columns by their place.
        """
        if not isinstance(test, CountTest):
            return source, np.arange(len(source.schema))
        order = intrinsic_order(source)
        return reordered(source, order), np.array(order, dtype=np.int64)

    def _settle(
        self, source: CountSource, graph: UndirectedGraph, ledger: Ledger, seconds: float
    ) -> None:
        """Set the results that all share; `graph` is on the columns of the table."""
        names = source.schema.names
        self.model_ = self._model(source, graph, seconds) if self.potentials else None
        self.undirected_ = graph
        self.graph_: Any = graph.to_networkx(names)
        self.blankets_ = {
            name: tuple(names[j] for j in graph.neighbors(i)) for i, name in enumerate(names)
        }
        self.n_tests_ = ledger.n_tests
        self.cost_ = ledger.cost

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
