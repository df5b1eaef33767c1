"""What an independence test is: an answer to "is x independent of y, given these?"."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.errors import ScopeError, unknown_name
from counterpane.progress import Control

Column: TypeAlias = int | str
"""A variable, by position or by name."""

Columns: TypeAlias = Column | Iterable[Column]
"""One variable or several."""

ONE = (int, str, np.integer)  # the types of a single column

Question: TypeAlias = tuple[int, int, tuple[int, ...]]
"""(x, y, given) in normal form: positions, x < y, given rising."""


class Verdict(NamedTuple):
    """The answer of a test, true where it says `independent`; what does not apply is None.

    Asymptotic tests give `statistic`, `p_value` and `degrees_of_freedom`. The Bayesian test gives
    `log_likelihoods` = (ln P(D | independent), ln P(D | dependent)) and the posterior
    `probability` of independence. The stratified test also gives `gap`, the log evidence for
    independence minus that for dependence.
    """

    independent: bool
    statistic: float | None = None
    p_value: float | None = None
    degrees_of_freedom: int | None = None
    log_likelihoods: tuple[float, float] | None = None
    probability: float | None = None
    gap: float | None = None

    @property
    def log_evidence(self) -> float | None:
        """ln of the evidence for independence over that for dependence, where the test has one."""
        if self.gap is None and self.log_likelihoods is not None:
            return self.log_likelihoods[0] - self.log_likelihoods[1]
        return self.gap

    def __bool__(self) -> bool:
        return self.independent


class IndependenceTest(ABC):
    """Answers to x ⊥ y | given, one at a time by calling it, or many by `verdicts`.

    A test of data is bound first, `test = GTest().bind(source)`, so that learners and the ledger
    ask every test alike. Answers depend on neither the order of x and y nor that of `given`.
    """

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The variables that can be asked about, in order."""

    @abstractmethod
    def bind(self, source: CountSource, *, ctl: Control | None = None) -> Self:
        """This test, asked of the data in `source`; `ctl` may stop a long count."""

    @abstractmethod
    def answer(self, questions: Sequence[Question]) -> list[Verdict]:
        """The verdicts on questions already in normal form, together."""

    def __call__(self, x: Column, y: Column, given: Columns = ()) -> Verdict:
        """The verdict on x ⊥ y | given; variables by position or name."""
        return self.answer([self.question(x, y, given)])[0]

    def verdicts(self, questions: Iterable[tuple[Column, Column, Columns]]) -> list[Verdict]:
        """The verdicts on several (x, y, given), from one batch of counts."""
        return self.answer([self.question(*asked) for asked in questions])

    def question(self, x: Column, y: Column, given: Columns = ()) -> Question:
        """The checked normal form of a question.

        A variable that occurs twice raises `ScopeError`, an unknown one `UnknownNameError`.
        """
        names = self.names
        several = (given,) if isinstance(given, ONE) else given
        scope = [v if type(v) is int else position(v, names) for v in (x, y, *several)]
        if len(set(scope)) < len(scope) or min(scope) < 0 or max(scope) >= len(names):
            raise self._malformed(scope)
        first, second, *rest = scope
        rest.sort()
        return (first, second, tuple(rest)) if first < second else (second, first, tuple(rest))

    def _malformed(self, scope: list[int]) -> ScopeError:
        for v in scope:
            if not 0 <= v < len(self.names):
                return ScopeError(
                    f"there is no column {v}; positions run from 0 to {len(self.names) - 1}."
                )
        x, y, *given = scope
        if x == y:
            what = f"x and y are both {self.names[x]!r}; a test needs two variables."
        elif x in given or y in given:
            clash = self.names[x if x in given else y]
            what = f"{clash!r} is both asked about and given; take it out of `given`."
        else:
            twice = next(v for i, v in enumerate(given) if v in given[:i])
            what = f"{self.names[twice]!r} is given more than once; name each column once."
        return ScopeError(what)

    def __repr__(self) -> str:
        shown = (f"{k}={v!r}" for k, v in vars(self).items() if not k.startswith("_"))
        return f"{type(self).__name__}({', '.join(shown)})"


def position(column: Any, names: tuple[str, ...]) -> int:
    """The position of a column given by position or by name; an unknown name raises."""
    try:
        return operator.index(column)
    except TypeError:
        if column in names:
            return names.index(column)
        raise unknown_name("column", column, names) from None
