"""Rows in which columns were set from outside: such a cell says nothing about its causes.

G. Cooper and C. Yoo, Causal discovery from a mixture of experimental and observational data, UAI
1999: a family is scored and fitted on the rows in which its child was not set. Directions that the
sets of columns decide are those of A. Hauser and P. Bühlmann, Characterization and greedy learning
of interventional Markov equivalence classes, JMLR 13, 2012.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from counterpane._core import scores as kernels
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource, threads_of
from counterpane.data.schema import Schema
from counterpane.errors import DataError, ParameterError, unknown_name
from counterpane.scores import LocalScore
from counterpane.scores.row_cache import RowCache
from counterpane.typing import Bools, Ints


class SetCells(NamedTuple):
    """Which cells were set from outside.

    Parameters
    ----------
    flags : array of bool, shape (columns, rows)
        Whether the cell was set.
    source : MemoryCounts
        The rows.

    Examples
    --------
    >>> import counterpane as cp
    >>> source = cp.MemoryCounts(cp.read({"a": ["x", "y", "y"], "b": ["u", "u", "v"]}))
    >>> cells = read_interventions(["a", None, "a"], source)
    >>> cells.flags.tolist(), sorted(map(sorted, cells.targets))
    ([[True, False, True], [False, False, False]], [[], [0]])
    """

    flags: Bools
    source: MemoryCounts

    @property
    def targets(self) -> set[frozenset[int]]:
        """The distinct sets of columns that were set together; empty for a row of observation."""
        rows = np.unique(self.flags.T, axis=0)
        return {frozenset(np.flatnonzero(row).tolist()) for row in rows}

    @property
    def always(self) -> list[int]:
        """The columns that were set in every row: nothing shows their causes."""
        return np.flatnonzero(self.flags.all(axis=1)).tolist()

    def moved(self, source: CountSource, order: Sequence[int]) -> SetCells:
        """The same cells of `source`, whose column i is column order[i]."""
        assert isinstance(source, MemoryCounts)
        return SetCells(self.flags[list(order)], source)

    def free(self, column: int) -> MemoryCounts:
        """The counts of the rows in which a column was not set; of all, if it always was."""
        rows = ~self.flags[column]
        if rows.all() or not rows.any():
            return self.source
        return MemoryCounts(self.source.table.take(rows), n_jobs=threads_of(self.source))

    def directions(self, edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """The edges whose direction shows: a set of columns holds one of the two ends."""
        targets = self.targets
        return [(p, x) for p, x in edges if any((p in t) != (x in t) for t in targets)]


def read_interventions(interventions: Any, source: CountSource) -> SetCells:
    """The cells that were set, checked.

    Parameters
    ----------
    interventions : sequence or mapping
        For each row the name of the column that was set, a list of names, or None; or for each
        column that was set a flag a row.
    source : CountSource
        The rows, in memory and without missing cells.

    Returns
    -------
    SetCells
        The cells.

    Examples
    --------
    >>> import counterpane as cp
    >>> source = cp.MemoryCounts(cp.read({"a": ["x", "y"], "b": ["u", "v"]}))
    >>> read_interventions({"b": [True, False]}, source).flags.tolist()
    [[False, False], [True, False]]
    """
    if not isinstance(source, MemoryCounts):
        raise ParameterError(
            f"interventions need the rows in memory, and {type(source).__name__} only counts; "
            "read the table first."
        )
    n_rows, schema = source.table.n_rows, source.schema
    flags: Bools = np.zeros((len(schema), n_rows), dtype=bool)
    if isinstance(interventions, Mapping):
        for name, column in interventions.items():
            values = np.asarray(column)
            if values.dtype != bool or values.shape != (n_rows,):
                raise ParameterError(
                    f"interventions of {name!r} are {values.dtype} of shape {values.shape}; a true "
                    f"or false for each of the {n_rows:,} rows is needed."
                )
            flags[_place(name, schema)] = values
    else:
        _fill_from_rows(list(interventions), flags, schema)
    for x in np.flatnonzero(flags.any(axis=1)).tolist():
        if len(np.unique(source.table.codes[x])) < 2:
            raise DataError(
                f"column {schema.names[x]!r} was set, but has one state in all rows; interventions "
                "on a column that does not vary tell nothing: leave it out."
            )
    return SetCells(flags, source)


def _fill_from_rows(rows: list[Any], flags: Bools, schema: Schema) -> None:
    if len(rows) != flags.shape[1]:
        raise ParameterError(
            f"interventions have {len(rows):,} entries and the table {flags.shape[1]:,} rows; one "
            "entry a row is needed: a column name, a list of names, or None."
        )
    for row, entry in enumerate(rows):
        if entry is None or entry == "" or entry != entry:  # NaN of a frame
            continue
        for name in [entry] if isinstance(entry, str) else entry:
            flags[_place(name, schema), row] = True


def _place(name: Any, schema: Schema) -> int:
    if name not in schema.names:
        raise unknown_name("interventions: the column", name, schema.names)
    return schema.index(name)


class InterventionCache(RowCache):
    """A row cache whose rows of a child count the table's rows in which the child was not set."""

    def __init__(self, cells: SetCells, score: LocalScore, **options: Any) -> None:
        super().__init__(cells.source, score, **options)
        some = np.flatnonzero(cells.flags.any(axis=1) & ~cells.flags.all(axis=1)).tolist()
        limits: dict[str, Any] = {"max_parents": self.max_parents, "max_cells": self.max_cells}
        self._own = {x: RowCache(cells.free(x), score, memory=2**20, **limits) for x in some}

    def first_fill(self, **options: Any) -> None:
        """Fill the rows without parents, those of columns that were set one by one."""
        n = len(self.names)
        some = np.array(sorted(self._own), dtype=np.int64)
        self.fill(some, np.zeros((len(some), self.store.parents.shape[1]), dtype=np.uint64))
        if len(some) < n:
            super().first_fill(**options)

    def _fill_claimed(self, slots: Ints) -> None:
        children = self.store.child[slots]
        own = np.isin(children, list(self._own))
        super()._fill_claimed(slots[~own])
        for slot in slots[own].tolist():
            cache = self._own[int(self.store.child[slot])]
            kernels.fill_slots(cache.data, self.store, np.array([slot]), 0, len(self.names))
        kernels.rank_rows(self.store, slots[own])
