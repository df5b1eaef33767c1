"""A cache around an independence test that counts the executed tests and adds up their cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Self, TypeAlias

from counterpane.counts.source import CountSource
from counterpane.independence.base import IndependenceTest, Question, Verdict
from counterpane.progress import Control

Price: TypeAlias = Callable[[tuple[str, ...]], float]
"""The cost of a test, from the names of its columns."""


class Record(NamedTuple):
    """One executed test with the names of its variables.

    `cost` is |given| + 2, or what the ledger's price says. `gap` is the log evidence for
    independence minus that for dependence, where the test has one.
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

    Parameters
    ----------
    test : IndependenceTest
        The test to execute.
    price : callable, optional
        The cost of a test, a function of the names of its columns. By default their number,
        |given| + 2 (Bromberg, Margaritis & Honavar 2009).
    verdicts : mapping, optional
        Verdicts of tests that were executed before, by question; they count in `n_tests`, `cost`.

    Attributes
    ----------
    n_tests : int
        The number of executed tests.
    cost : float
        The sum of their costs.
    answered : mapping
        The verdicts of the executed tests by question, in order.
    records : list of Record
        The executed tests with the names of their variables, in order.

    Examples
    --------
    >>> from counterpane.graphs import UndirectedGraph
    >>> from counterpane.independence import Oracle
    >>> ledger = Ledger(Oracle(UndirectedGraph(3, [(0, 1), (1, 2)])))
    >>> [bool(ledger(0, 2)), bool(ledger(2, 0, 1)), bool(ledger(0, 2, [1]))]
    [False, True, True]
    >>> ledger.n_tests, ledger.cost
    (2, 5)
    """

    def __init__(
        self,
        test: IndependenceTest,
        price: Price = len,
        verdicts: Mapping[Question, Verdict] | None = None,
    ) -> None:
        self.test = test
        self._price = price
        self._verdicts = dict(verdicts or {})
        self.cost: float = sum(map(self.price_of, self._verdicts))

    @property
    def names(self) -> tuple[str, ...]:
        return self.test.names

    def bind(self, source: CountSource, *, ctl: Control | None = None) -> Self:
        """An empty ledger of the test bound to `source`."""
        return type(self)(self.test.bind(source, ctl=ctl), self._price)

    def answer(self, questions: Sequence[Question]) -> list[Verdict]:
        verdicts = self._verdicts
        new = [question for question in dict.fromkeys(questions) if question not in verdicts]
        if new:
            verdicts.update(zip(new, self.test.answer(new), strict=True))
            self.cost += sum(map(self.price_of, new))
        return [verdicts[question] for question in questions]

    def price_of(self, question: Question) -> float:
        """The cost of a test, executed or not."""
        x, y, given = question
        names = self.names
        return self._price(tuple(names[v] for v in (x, y, *given)))

    @property
    def n_tests(self) -> int:
        """The number of executed tests."""
        return len(self._verdicts)

    @property
    def answered(self) -> Mapping[Question, Verdict]:
        """The verdicts of the executed tests, in order."""
        return self._verdicts

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
            for (x, y, given), verdict in self._verdicts.items()
        ]
