"""An order of rows that does not depend on how a table was written."""

from __future__ import annotations

import numpy as np

from counterpane.data.schema import state_text
from counterpane.data.table import Table
from counterpane.typing import Ints


def in_text_order(table: Table) -> Table:
    """The same rows, sorted by the texts of their states, columns taken by name.

    What is drawn from rows in this order is the same for equal cells, whatever the order of rows,
    columns and states.

    >>> rows = Table.from_frame({"b": ["y", "x", "x"], "a": [1, 1, 0]})
    >>> in_text_order(rows).column("b").tolist()
    ['x', 'x', 'y']
    """
    columns = sorted(range(table.n_columns), key=table.schema.names.__getitem__)
    ranks = [_ranks(table, c)[table.codes[c]] for c in columns]
    return table.take(np.lexsort(ranks[::-1]))


def _ranks(table: Table, column: int) -> Ints:
    """The place of each code among the sorted texts of its states; missing cells come last."""
    states = table.schema[column].states
    texts = sorted((s is None, state_text(s), type(s).__name__, c) for c, s in enumerate(states))
    ranks: Ints = np.empty(len(states) + 1, dtype=np.int64)
    ranks[[code for *_, code in texts]] = np.arange(len(states))
    ranks[-1] = len(states)
    return ranks
