"""How many looks at the data: a test that remembers, and adds up what it cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Self, TypeAlias

from counterpane.counts.source import CountSource
from counterpane.independence.base import IndependenceTest, Question, Verdict
from counterpane.progress import Control

Price: TypeAlias = Callable[[tuple[str, ...]], float]
"""What it costs to look at some columns together, by name."""


class Record(NamedTuple):
    """One executed test, its variables by name; `cost` is |given| + 2 unless columns have prices.

    `gap` is the log evidence for independence minus that for dependence, where the test has one.
    """

    x: str
    y: str
    given: tuple[str, ...]
    independent: bool
    p_value: float | None
    log_likelihoods: tuple[float, float] | None
    cost: float
    gap: float | None = None


class Ledger(IndependenceTest):
    """A test with a cache: a repeated test, with x and y in any order, is not executed again.

    `n_tests` counts the executed tests, and `cost` sums the number of variables in each,
    |given| + 2 (Bromberg, Margaritis & Honavar 2009), or `price` of their names.

    >>> from counterpane.graphs import UndirectedGraph
    >>> from counterpane.independence import Oracle
    >>> ledger = Ledger(Oracle(UndirectedGraph(3, [(0, 1), (1, 2)])))
    >>> [bool(ledger(0, 2)), bool(ledger(2, 0, 1)), bool(ledger(0, 2, [1]))]
    [False, True, True]
    >>> ledger.n_tests, ledger.cost
    (2, 5)
    """

    def __init__(self, test: IndependenceTest, price: Price = len) -> None:
        self.test = test
        self._price = price
        self.cost: float = 0
        self._known: dict[Question, Verdict] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return self.test.names

    def bind(self, source: CountSource, *, ctl: Control | None = None) -> Self:
        """An empty ledger of the test bound to `source`."""
        return type(self)(self.test.bind(source, ctl=ctl), self._price)

    def answer(self, questions: Sequence[Question]) -> list[Verdict]:
        known = self._known
        fresh = [asked for asked in dict.fromkeys(questions) if asked not in known]
        if fresh:
            known.update(zip(fresh, self.test.answer(fresh), strict=True))
            self.cost += sum(map(self.price_of, fresh))
        return [known[asked] for asked in questions]

    def price_of(self, question: Question) -> float:
        """The cost of a question, known or not."""
        x, y, given = question
        names = self.names
        return self._price(tuple(names[v] for v in (x, y, *given)))

    @property
    def n_tests(self) -> int:
        """The number of tests executed."""
        return len(self._known)

    @property
    def answered(self) -> Mapping[Question, Verdict]:
        """The executed tests, in order."""
        return self._known

    @property
    def records(self) -> list[Record]:
        """The executed tests, in order."""
        names = self.names
        return [
            Record(
                names[x],
                names[y],
                tuple(names[v] for v in given),
                verdict.independent,
                verdict.p_value,
                verdict.log_likelihoods,
                self.price_of((x, y, given)),
                verdict.log_evidence,
            )
            for (x, y, given), verdict in self._known.items()
        ]
