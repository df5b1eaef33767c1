"""Discretization of numbers within a bootstrap sample, by the rule that their table was read with.

Cut points that are found on all rows and kept for each sample hide how much an edge depends on
where they fall.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterpane.data.intervals import bounded, find_cut_points, mdl_cuts
from counterpane.data.schema import Schema, Variable, code_dtype
from counterpane.data.schema_inference import CutRule
from counterpane.data.table import Table
from counterpane.typing import Array, Bools, Codes, Floats, Ints


class _Column(NamedTuple):
    """A column of numbers: its distinct values, and the place of each row's among them."""

    place: int
    variable: Variable
    distinct: Floats
    places: Ints  # of missing numbers: the number of distinct values


@dataclass(frozen=True)
class SampleIntervals:
    """Discretizes a table anew for each bootstrap sample of its rows."""

    table: Table
    rule: CutRule
    columns: tuple[_Column, ...]
    classes: Array | None
    known: Bools | None  # rows with a class

    @classmethod
    def of(cls, table: Table) -> SampleIntervals | None:
        """For a table that was read with numbers; None if no cut points depend on its rows."""
        rule, names = table.cut_rule, columns_cut_by_rule(table)
        if rule is None or not names:
            return None
        classes = known = None
        if rule.target is not None and rule.rule == "mdl":
            at = table.schema.index(rule.target)
            classes = table.codes[at].astype(np.int64)
            known = classes < table.schema[at].n_known
        columns = []
        for i, variable in enumerate(table.schema):
            if variable.name in names:
                values = bounded(table.numbers[variable.name])
                distinct, places = np.unique(values, return_inverse=True)  # NaN comes last
                distinct = distinct[~np.isnan(distinct)]
                columns.append(_Column(i, variable, distinct, places))
        return cls(table, rule, tuple(columns), classes, known)

    def discretized(self, drawn: Array) -> Table:
        """The table with the cut points of the sample that has each row `drawn` times."""
        variables, heights = list(self.table.schema), drawn.astype(np.float64)
        codes_of: dict[int, Array] = {}  # of the distinct numbers, and last of the missing ones
        for column in self.columns:
            cuts = self._cut_points(column, heights)
            missing = column.variable.states[-1:] if column.variable.states[-1] is None else ()
            states = (*range(len(cuts) + 1), *missing)
            variables[column.place] = Variable(column.variable.name, states)
            codes = np.searchsorted(cuts, column.distinct, side="right")
            codes_of[column.place] = np.append(codes, len(cuts) + 1)
        schema = Schema(variables)
        cells: Codes = self.table.codes.astype(code_dtype(schema.cards))
        for column in self.columns:
            codes = codes_of[column.place].astype(cells.dtype)
            np.take(codes, column.places, out=cells[column.place], mode="clip")  # no copy
        return Table(schema, cells, self.table.weights)

    def _cut_points(self, column: _Column, drawn: Floats) -> Floats:
        n, rule = len(column.distinct), self.rule
        if rule.rule == "quantile":
            sums = np.bincount(column.places, drawn, n + 1)[:n].astype(np.float64)
            met = sums > 0
            return find_cut_points(
                column.distinct[met], sums[met], rule.n_bins, column.variable.step
            )
        assert self.classes is not None and self.known is not None
        rows = (drawn > 0) & (column.places < n) & self.known
        values, weights = column.distinct[column.places[rows]], drawn[rows]
        return mdl_cuts(values, self.classes[rows], weights)


def columns_cut_by_rule(table: Table) -> set[str]:
    """The columns whose cut points depend on the rows of a table that has their numbers."""
    rule = table.cut_rule
    if rule is None or (rule.rule == "mdl" and rule.target not in table.schema.names):
        return set()
    return set(rule.columns) & set(table.numbers)


def in_number_order(table: Table) -> Table:
    """The same rows by their numbers, so that what is drawn does not depend on their order."""
    names = sorted(table.numbers)
    return table.take(np.lexsort([table.numbers[name] for name in names]))
