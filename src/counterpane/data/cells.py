"""Cells of new rows, by variables that are known: codes of states, and numbers as they are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from counterpane.data.columns import Column, Numbers, n_rows
from counterpane.data.dates import day_number
from counterpane.data.frames import encode_column
from counterpane.data.schema import Variable, code_dtype
from counterpane.typing import Codes, Floats


def encode_rows(
    columns: Sequence[Column], variables: Sequence[Variable], numeric: Sequence[int]
) -> tuple[Codes, Floats]:
    """The codes (variables, rows) and the numbers (len(numeric), rows) of columns.

    A code equal to the variable's card stands for a state that the variable does not have.
    """
    rows = n_rows(columns[0])
    cards = np.array([v.card for v in variables])
    codes: Codes = np.empty((len(variables), rows), dtype=code_dtype(cards))
    for column, variable, out in zip(columns, variables, codes, strict=True):
        out[:] = encode_column(column, variable, "unknown")
    numbers = np.empty((len(numeric), rows))
    for i, out in zip(numeric, numbers, strict=True):
        out[:] = as_numbers(columns[i], dated=variables[i].dated)
    return codes, numbers


def as_numbers(column: Column, *, dated: bool = False) -> Floats:
    """The numbers of a column, also where they are written as texts; NaN for anything else.

    Where `dated`, they are those of dates, which alone count.
    """
    if isinstance(column, Numbers):
        usable = ~column.missing & (column.dated == dated)
        return np.where(usable, column.values.astype(np.float64), np.nan)
    values = np.full(len(column.states) + 1, np.nan)  # code -1 finds the last
    for i, state in enumerate(column.states):
        with suppress(TypeError, ValueError):
            number = day_number(state) if dated else float(state)  # type: ignore[arg-type]
            values[i] = np.nan if number is None else number
    found: Floats = values[column.codes]
    return found
