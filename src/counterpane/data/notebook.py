"""A table as a notebook shows it: its columns, their states, and how many cells are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterpane.data.schema import state_text
from counterpane.markup import framed, grid

if TYPE_CHECKING:
    from counterpane.data.table import Table

SHOWN_COLUMNS = 20
SHOWN_STATES = 4


def table_html(table: Table) -> str:
    """A small page on a table, of a size that does not grow with its columns or rows."""
    rows = []
    for name in table.schema.names[:SHOWN_COLUMNS]:
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
    weighted = "" if table.weights is None else f", weight {table.total_weight:g}"
    title = f"Table: {table.n_rows:,} rows × {table.n_columns:,} columns{weighted}"
    head = ("column", "states", "most frequent", "missing")
    return framed(title, grid(head, rows, more=table.n_columns - len(rows)))
