"""Executed tests as columns: what searches keep of them, and what learners report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np

from counterpane.graphs import UndirectedGraph
from counterpane.graphs.bits import members, pack, unpack
from counterpane.independence import IndependenceTest, Ledger, Oracle, Question, Verdict
from counterpane.independence.base import VerdictColumns
from counterpane.independence.ledger import Price
from counterpane.learners.checkpoint import check_range
from counterpane.typing import Bools, Ints, Words


class ExecutedTests(NamedTuple):
    """Executed tests: the pair of each, its conditioning set as a bit row, and the verdicts."""

    pairs: Ints  # (tests, 2)
    given: Words  # (tests, words)
    verdicts: VerdictColumns

    @classmethod
    def empty(cls, n: int) -> Self:
        """Return no test of `n` variables."""
        return cls.of(n, ())

    @classmethod
    def of(cls, n: int, tests: Iterable[tuple[Question, Verdict]]) -> Self:
        """Return some tests of `n` variables."""
        listed = list(tests)
        flags = np.zeros((len(listed), n), dtype=np.bool_)
        for row, ((_, _, given), _) in zip(flags, listed, strict=True):
            row[list(given)] = True
        pairs = np.array([question[:2] for question, _ in listed], dtype=np.int64)
        verdicts = VerdictColumns.of([verdict for _, verdict in listed])
        return cls(pairs.reshape(-1, 2), pack(flags), verdicts)

    @property
    def size(self) -> int:
        """The number of tests."""
        return len(self.pairs)

    @property
    def determined(self) -> Bools:
        """Which tests find one of the pair to be a function of what is given."""
        flags: Bools = (self.verdicts.degrees_of_freedom == 0) & self.given.any(axis=1)
        return flags

    @property
    def separating(self) -> Bools:
        """Which tests separate their pair.

        Without degrees of freedom, one of the pair is a function of what is given. That says
        nothing about the pair, unless nothing is given.
        """
        return self.verdicts.independent & ~self.determined

    def followed_by(self, other: Self) -> Self:
        """Return these tests, and then others."""
        parts = zip(self.verdicts, other.verdicts, strict=True)
        return type(self)(
            np.concatenate([self.pairs, other.pairs]),
            np.concatenate([self.given, other.given]),
            VerdictColumns._make(map(np.concatenate, parts)),
        )

    def first(self, n_tests: int) -> Self:
        """Return the first tests."""
        columns = (column[:n_tests] for column in self.verdicts)
        return type(self)(self.pairs[:n_tests], self.given[:n_tests], VerdictColumns._make(columns))

    def answered(self) -> dict[Question, Verdict]:
        """Return the verdict on each question, in order."""
        questions = zip(self.pairs.tolist(), map(members, self.given), strict=True)
        return {
            (x, y, given): verdict
            for ((x, y), given), verdict in zip(questions, self.verdicts.verdicts(), strict=True)
        }

    def ledger(
        self, names: tuple[str, ...], price: Price = len, test: IndependenceTest | None = None
    ) -> Ledger:
        """Return a ledger of these tests, of variables `names`; it executes others by `test`."""
        placeholder = Oracle(UndirectedGraph(len(names)), names)
        return Ledger(test or placeholder, price, self.answered())


def condition_bits(n: int, conditions: Ints) -> Words:
    """Return sets of variables, one per row, as bit rows."""
    flags = np.zeros((len(conditions), n), dtype=np.bool_)
    np.put_along_axis(flags, conditions, True, axis=1)
    return pack(flags)


def check_tests(tests: ExecutedTests, n: int) -> None:
    """Raise a `ValueError` for tests, read from a file, that are not of `n` variables."""
    sizes = {len(column) for column in (tests.pairs, tests.given, *tests.verdicts)}
    if len(sizes) > 1:
        raise ValueError("the tests have columns of several lengths")
    if np.isinf(tests.verdicts.degrees_of_freedom).any():
        raise ValueError("the degrees of freedom of a test are infinite")
    check_range("a pair", tests.pairs, 0, n)
    check_range("the order of a pair", np.diff(tests.pairs), 1, n)
    check_bits("a conditioning set", tests.given, n)


def check_graphs(graphs: Words, n: int) -> None:
    """Raise a `ValueError` for bit rows, read from a file, that are no undirected graphs."""
    check_bits("a graph", graphs, n)
    flags = unpack(graphs, n)
    if (flags != np.swapaxes(flags, -1, -2)).any() or flags[..., range(n), range(n)].any():
        raise ValueError("a graph is not symmetric")


def check_bits(name: str, rows: Words, n: int) -> None:
    """Raise a `ValueError` for bit rows, read from a file, with other bits than the first `n`."""
    if unpack(rows, 64 * rows.shape[-1])[..., n:].any():
        raise ValueError(f"{name} is out of range")
