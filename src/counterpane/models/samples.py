"""Drawn rows: how many fit into memory, and numbers within their intervals."""

from __future__ import annotations

import numpy as np

from counterpane.data.ranges import Range, number_of
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import ParameterError, Setting
from counterpane.memory import need_memory
from counterpane.models.evidence import Evidence

CELL_BYTES, ROW_BYTES = 4, 64  # that a drawn cell takes, and a row while it is drawn


def check_n_rows(n: int, schema: Schema) -> int:
    """`n` as a number of rows of the columns of `schema` to draw, for which there is memory."""
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
        raise ParameterError(
            Setting("n", n), " rows cannot be drawn; a whole number from 1 is needed."
        )
    numbers = sum(variable.cuts is not None for variable in schema)
    each = CELL_BYTES * len(schema) + 8 * numbers + ROW_BYTES
    need_memory(
        int(n) * each, f"a sample of {int(n):,} rows of {len(schema):,} columns", "draw fewer rows"
    )
    return int(n)


def with_drawn_numbers(table: Table, evidence: Evidence, rng: np.random.Generator) -> Table:
    """The table of drawn codes with numbers within their intervals, as the evidence has them."""
    known = evidence or {}
    within = {name: value for name, value in known.items() if isinstance(value, Range)}
    table = table.with_numbers(rng, within)
    for name in table.numbers.keys() & known.keys():
        number = number_of(table.schema[name], known[name])
        if number is not None:
            table.numbers[name][:] = number
    return table
