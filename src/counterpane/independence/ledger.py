"""How many looks at the data: a test that remembers, and adds up what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

from counterpane.counts.source import CountSource
from counterpane.independence.base import IndependenceTest, Question, Verdict
from counterpane.progress import Control


class Record(NamedTuple):
    """One executed test, its variables by name; `cost` is |given| + 2."""

    x: str
    y: str
    given: tuple[str, ...]
    independent: bool
    p_value: float | None
    log_likelihoods: tuple[float, float] | None
    cost: int


class Ledger(IndependenceTest):
    """A test with a cache: a repeated test, with x and y in any order, is not executed again.

    `n_tests` counts the executed tests, and `cost` sums the number of variables in each,
    |given| + 2 (Bromberg, Margaritis & Honavar 2009).

    >>> from counterpane.graphs import UndirectedGraph
    >>> from counterpane.independence import Oracle
    >>> ledger = Ledger(Oracle(UndirectedGraph(3, [(0, 1), (1, 2)])))
    >>> [bool(ledger(0, 2)), bool(ledger(2, 0, 1)), bool(ledger(0, 2, [1]))]
    [False, True, True]
    >>> ledger.n_tests, ledger.cost
    (2, 5)
    """

    def __init__(self, test: IndependenceTest) -> None:
        self.test = test
        self.cost = 0
        self._known: dict[Question, Verdict] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return self.test.names

    def bind(self, source: CountSource, *, ctl: Control | None = None) -> Self:
        """An empty ledger of the test bound to `source`."""
        return type(self)(self.test.bind(source, ctl=ctl))

    def answer(self, questions: Sequence[Question]) -> list[Verdict]:
        known = self._known
        fresh = [asked for asked in dict.fromkeys(questions) if asked not in known]
        if fresh:
            known.update(zip(fresh, self.test.answer(fresh), strict=True))
            self.cost += sum(len(given) + 2 for _, _, given in fresh)
        return [known[asked] for asked in questions]

    @property
    def n_tests(self) -> int:
        """The number of tests executed."""
        return len(self._known)

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
                len(given) + 2,
            )
            for (x, y, given), verdict in self._known.items()
        ]
