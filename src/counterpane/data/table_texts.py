"""Tables of data as texts: the rows of a small one, the columns of a large one."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane.data.schema import state_text
from counterpane.data.table import Table
from counterpane.present.table import LISTED, TextTable
from counterpane.typing import State

SHOWN_STATES = 4


def row_table(table: Table, title: str) -> TextTable:
    """Return the rows of a table; a missing cell is empty."""
    names = table.schema.names
    columns = [[_cell_text(cell) for cell in table[name].tolist()] for name in names]
    return TextTable.of(names, zip(*columns, strict=True), title=title)


def _cell_text(value: Any) -> str:
    missing = value is None or value != value
    return "" if missing else state_text(value) if isinstance(value, State) else str(value)


def column_table(table: Table, title: str) -> TextTable:
    """Return a line for each of the first columns, with its most frequent states."""
    rows = []
    for name in table.schema.names[:LISTED]:
        variable = table.schema[name]
        shares = table.shares(name)
        order = np.argsort(-shares, kind="stable")[:SHOWN_STATES].tolist()
        states = ", ".join(f"{state_text(variable.states[k])[:30]} {shares[k]:.0%}" for k in order)
        rest = variable.card - len(order)
        missing = 1.0 - float(shares.sum())
        rows.append(
            (
                name,
                variable.card,
                states + (f", … {rest} more" if rest else ""),
                f"{missing:.1%}" if missing > 1e-12 else "",
            )
        )
    head = ("column", "states", "most frequent", "missing")
    return TextTable.of(head, rows, title=title, total=table.n_columns)
