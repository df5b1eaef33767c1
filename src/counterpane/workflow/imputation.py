"""`Imputation`: rows whose missing cells were filled by a model, and these cells."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from counterpane.data.columns import Column
from counterpane.data.export import Exportable
from counterpane.present.table import LISTED, Printed, TextTable, right
from counterpane.tools.imputing import Completed, ImputedCell
from counterpane.workflow.csv_text import Lines, column_lines, write_csv

CELL = ("row", "column", "value", "probability")


@dataclass(frozen=True, eq=False, repr=False)
class Imputation(Printed, Exportable):
    """Completed tables: one with the most probable values, or several that were drawn."""

    completed: Sequence[Completed]
    drawn: bool
    notes: tuple[str, ...] = ()

    @property
    def cells(self) -> list[ImputedCell]:
        """The filled cells, those of the first draw."""
        return self.completed[0].cells

    @property
    def by_column(self) -> dict[str, list[float]]:
        """The probabilities of the filled cells, by column."""
        shares: dict[str, list[float]] = defaultdict(list)
        for cell in self.cells:
            shares[cell.column].append(cell.probability)
        return shares

    def to_columns(self, draw: int = 0) -> list[Column]:
        """The columns of the completed table, or of one of the draws."""
        columns: list[Column] = self.completed[draw].frame
        return columns

    def write(self, path: str | os.PathLike[str], draw: int = 0) -> None:
        """Write the completed table, or one of the draws, as CSV to a file."""
        write_csv(path, column_lines(self.to_columns(draw)))

    def cell_lines(self) -> Lines:
        """The filled cells as lines, with the number of the draw first if there are draws."""
        return (["draw", *CELL] if self.drawn else list(CELL)), self._lines()

    def _lines(self) -> Iterator[list[Any]]:
        for place, table in enumerate(self.completed, start=1):
            for cell in table.cells:
                texts = [*_texts(cell), f"{cell.probability:.6g}"]
                yield [place, *texts] if self.drawn else texts

    def to_dict(self) -> dict[str, Any]:
        """How many cells were filled, in all and by column, for JSON."""
        columns = {
            name: {"cells": len(shares)}
            | ({} if self.drawn else {"mean_probability": sum(shares) / len(shares)})
            for name, shares in self.by_column.items()
        }
        return {
            "cells": len(self.cells),
            "rows": self.n_rows,
            "columns": columns,
            "draws": len(self.completed) if self.drawn else None,
        }

    @property
    def n_rows(self) -> int:
        """The number of rows with a filled cell."""
        return len({cell.row for cell in self.cells})

    def table(self) -> TextTable:
        """Return a table of the first filled cells; rows are counted from 1."""
        rows = [[*_texts(c), f"{c.probability:.4f}"] for c in self.cells[:LISTED]]
        heads = (right("row"), "column", "value", right("probability"))
        return TextTable.of(heads, rows, total=len(self.cells))

    def column_table(self) -> TextTable:
        """Return a table of the columns: cells filled, and the mean probability of the values."""
        heads = ("cells filled",) if self.drawn else ("cells filled", "mean probability")
        rows = []
        for name, shares in self.by_column.items():
            mean = [] if self.drawn else [f"{sum(shares) / len(shares):.4f}"]
            rows.append([name, f"{len(shares):,}", *mean])
        return TextTable.of(["column", *map(right, heads)], rows, most=None)


def _texts(cell: ImputedCell) -> list[Any]:
    """The row from 1, the column, and the value as it is written, a date without midnight."""
    dated = isinstance(cell.value, datetime)
    value = str(cell.value).removesuffix(" 00:00:00") if dated else str(cell.value)
    return [cell.row + 1, cell.column, value]
