"""The protocol of independence tests: questions x ⊥ y | given, and verdicts."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.errors import ScopeError, unknown_name
from counterpane.progress import Control
from counterpane.typing import Bools, Floats, Ints, Words

ColumnKey: TypeAlias = int | str
"""A variable, by position or by name."""

ColumnKeys: TypeAlias = ColumnKey | Iterable[ColumnKey]
"""One variable or several."""

ONE_COLUMN = (int, str, np.integer)  # the types of a single key

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


class VerdictColumns(NamedTuple):
    """The verdicts on many questions as arrays, one entry each; NaN for what does not apply."""

    independent: Bools
    statistic: Floats
    p_value: Floats
    degrees_of_freedom: Floats
    log_likelihoods: Floats  # (tests, 2)
    probability: Floats
    gap: Floats

    @classmethod
    def made_of(cls, independent: Bools, **columns: Floats) -> Self:
        """Return the verdicts with some columns; the others do not apply."""
        missing = np.full(len(independent), np.nan)
        others = dict.fromkeys(cls._fields[1:], missing)
        others["log_likelihoods"] = np.stack([missing, missing], axis=1)
        return cls(independent, **others | columns)

    @classmethod
    def of(cls, verdicts: Sequence[Verdict]) -> Self:
        """Return the columns of verdicts."""
        rows = [(*v[:4], *(v.log_likelihoods or (None, None)), *v[5:]) for v in verdicts]
        numbers = np.array(rows, dtype=np.float64).reshape(-1, 8).T
        return cls._make([numbers[0] == 1, *numbers[1:4], numbers[4:6].T, *numbers[6:]])

    def verdicts(self) -> list[Verdict]:
        """Return the verdicts one by one."""
        columns: list[list[Any]] = [
            [None] * len(column) if np.isnan(column).all() else column.tolist() for column in self
        ]
        freedom, logs = columns[3], columns[4]
        columns[3] = [None if d is None or d != d else int(d) for d in freedom]
        columns[4] = [None if pair is None else tuple(pair) for pair in logs]
        return list(map(Verdict, *columns))


class IndependenceTest(ABC):
    """Verdicts on x ⊥ y | given: one by calling the test, many by `verdicts`.

    A test of data is first bound to a source, `test = GTest().bind(source)`. Verdicts depend
    neither on the order of x and y nor on that of `given`.
    """

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the variables, in order."""

    @abstractmethod
    def bind(self, source: CountSource, *, ctl: Control | None = None) -> Self:
        """This test on the data in `source`; `ctl` may stop a long count."""

    @abstractmethod
    def answer(self, questions: Sequence[Question]) -> list[Verdict]:
        """The verdicts on a batch of questions in normal form."""

    def __call__(self, x: ColumnKey, y: ColumnKey, given: ColumnKeys = ()) -> Verdict:
        """The verdict on x ⊥ y | given; variables by position or name."""
        return self.answer([self.question(x, y, given)])[0]

    def verdicts(
        self, questions: Iterable[tuple[ColumnKey, ColumnKey, ColumnKeys]]
    ) -> list[Verdict]:
        """The verdicts on several (x, y, given), from one batch of counts."""
        return self.answer([self.question(*question) for question in questions])

    def judge_all(self, pairs: Ints, conditions: Ints) -> VerdictColumns:
        """The verdicts on x ⊥ y | given for many questions of one size.

        `pairs` has x < y in each row, `conditions` the given positions, rising.
        """
        questions = zip(pairs.tolist(), conditions.tolist(), strict=True)
        return VerdictColumns.of(self.answer([(x, y, tuple(z)) for (x, y), z in questions]))

    def separating_sets(
        self, pairs: Ints, candidates: Words, most: int
    ) -> tuple[Ints, Words] | None:
        """The smallest sets that separate pairs, if the test knows them without trying all.

        See `smallest_separating_sets` for what comes back; None by default.
        """
        return None

    def question(self, x: ColumnKey, y: ColumnKey, given: ColumnKeys = ()) -> Question:
        """The checked normal form of a question.

        A variable that occurs twice raises `ScopeError`, an unknown one `UnknownNameError`.
        """
        names = self.names
        rest = (given,) if isinstance(given, ONE_COLUMN) else given
        scope = [v if type(v) is int else position(v, names) for v in (x, y, *rest)]
        if len(set(scope)) < len(scope) or min(scope) < 0 or max(scope) >= len(names):
            raise self._malformed(scope)
        first, second, *others = scope
        others.sort()
        return (min(first, second), max(first, second), tuple(others))

    def _malformed(self, scope: list[int]) -> ScopeError:
        for v in scope:
            if not 0 <= v < len(self.names):
                return ScopeError(
                    f"there is no column {v}; positions run from 0 to {len(self.names) - 1}."
                )
        x, y, *given = scope
        if x == y:
            message = f"x and y are both {self.names[x]!r}; a test needs two variables."
        elif x in given or y in given:
            clash = self.names[x if x in given else y]
            message = f"{clash!r} is both asked about and given; take it out of `given`."
        else:
            twice = next(v for i, v in enumerate(given) if v in given[:i])
            message = f"{self.names[twice]!r} is given more than once; name each column once."
        return ScopeError(message)

    def __repr__(self) -> str:
        parameters = (f"{k}={v!r}" for k, v in vars(self).items() if not k.startswith("_"))
        return f"{type(self).__name__}({', '.join(parameters)})"


def position(column: Any, names: tuple[str, ...]) -> int:
    """The position of a column from its position or name; an unknown name raises."""
    try:
        return operator.index(column)
    except TypeError:
        if column in names:
            return names.index(column)
        raise unknown_name("column", column, names) from None
