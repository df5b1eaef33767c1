"""Tests that are computed from counts: one batch of tables, dense or sparse, one kernel call."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from counterpane._core import independence as kernels
from counterpane.counts.batch import MAX_BATCH_CELLS, Layout, SparseCounts
from counterpane.counts.source import CountSource
from counterpane.errors import FitError, TableSizeError
from counterpane.independence.base import IndependenceTest, Question, Verdict
from counterpane.progress import Control
from counterpane.typing import Array, Floats


class CountTest(IndependenceTest):
    """A test of the counts of (given…, x, y); rows with a missing cell among these are left out."""

    name: ClassVar[str]
    _n_numbers: ClassVar[int] = 3  # that `_measure` fills for each question
    _every_slice: bool = False  # whether configurations of given that do not occur count too
    _source: CountSource | None = None
    _ctl: Control | None = None

    def bind(self, source: CountSource, *, ctl: Control | None = None) -> Self:
        bound = copy.copy(self)
        bound._source, bound._ctl = source, ctl
        return bound

    @property
    def source(self) -> CountSource:
        """The data that the test is bound to."""
        if self._source is None:
            raise FitError(f"{self!r} has no data yet; call bind(source) and ask what it returns.")
        return self._source

    @property
    def names(self) -> tuple[str, ...]:
        return self.source.schema.names

    def answer(self, questions: Sequence[Question]) -> list[Verdict]:
        if not questions:
            return []
        batch = self.source.counts([(*given, x, y) for x, y, given in questions], ctl=self._ctl)
        layout = batch.layout
        n_slices = np.zeros(len(questions))
        if self._every_slice:
            kernels.count_configurations(layout.cards, layout.scopes, layout.scope_from, n_slices)
        numbers = np.empty((len(questions), self._n_numbers))
        self._measure(batch.values, layout, n_slices, numbers)
        for i in range(len(questions)):
            if batch.is_sparse(i):
                one = slice(i, i + 1)
                self._measure(*compact(batch.sparse(i)), n_slices[one], numbers[one])
        return self._judge(numbers)

    @abstractmethod
    def _measure(self, values: Array, layout: Layout, n_slices: Floats, out: Floats) -> None:
        """Fill the rows of `out` with the numbers of the tables, by a kernel."""

    @abstractmethod
    def _judge(self, numbers: Floats) -> list[Verdict]:
        """The verdicts on what `_measure` filled."""


def compact(counts: SparseCounts) -> tuple[Array, Layout]:
    """A flat table with axes (occurring configuration of given, x, y), and its layout."""
    *given, x, y = counts.codes
    fresh = np.zeros(counts.values.size, dtype=np.int64)
    for column in given:  # cells come sorted: a configuration starts where any column changes
        fresh[1:] |= column[1:] != column[:-1]
    shape = (int(fresh.sum()) + 1, *counts.shape[-2:])
    size = int(np.prod(shape))
    if size > MAX_BATCH_CELLS:
        raise TableSizeError(
            f"{shape[0]:,} configurations of the given columns by {shape[1]}×{shape[2]} states are "
            f"{size:,} cells; the limit is {MAX_BATCH_CELLS:,}: condition on fewer columns."
        )
    table = np.zeros(shape, dtype=counts.values.dtype)
    table[np.cumsum(fresh), x, y] = counts.values
    axes = np.arange(3)
    return table.ravel(), Layout(np.array(shape), axes, np.array([0, 3]), np.array([0, size]))
