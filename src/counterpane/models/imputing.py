"""Frames with their gaps filled by a model: the most probable values, or draws."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane.data.columns import Column, columns_of
from counterpane.data.filling import Patch, cell_values, filled, gaps_in
from counterpane.data.frames import encode_column
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError
from counterpane.models.base import Model
from counterpane.models.completing import (
    completed_rows,
    missing_marginals,
    without_missing_states,
)
from counterpane.typing import Array, Bools, Codes, Floats, Ints, State

MAX_DRAWS = 1000


class ImputedCell(NamedTuple):
    """A cell that was filled: its value, and P(value | the observed cells of the row).

    For a column that was cut, the probability is that of the interval.
    """

    row: int
    column: str
    value: State
    probability: float


class Gaps(NamedTuple):
    """A frame in a model's terms: columns by variable, codes (variables, rows), cells to fill.

    A code at the card is not observed: a gap, a state that the model does not know, or a column
    that the frame does not have. Only the first is filled.
    """

    columns: dict[int, Column]
    codes: Codes
    gaps: Bools


class Fill(NamedTuple):
    """Row, variable, code and probability of each cell to fill, variable by variable."""

    rows: Ints
    variables: Ints
    codes: Ints
    probabilities: Floats


class Completed(NamedTuple):
    """A frame without gaps in the model's columns, and the cells that were filled, row by row."""

    frame: Any
    cells: list[ImputedCell]


def impute(
    model: Model, frame: Any, draws: int | None, random_state: Any, read: Any = None
) -> list[Completed]:
    """The frame with the most probable value in each gap, or as many frames as `draws`.

    `read` are the columns of the frame as the model reads them, by default those of the frame.
    """
    if draws is not None and (
        not isinstance(draws, int | np.integer) or not 1 <= draws <= MAX_DRAWS
    ):
        raise ParameterError(f"draws={draws!r}; a whole number from 1 to {MAX_DRAWS} is allowed.")
    found = gaps_of(model.schema, frame if read is None else read)
    rng = np.random.default_rng(random_state)
    drawing = rng if draws is not None else None
    return [
        _completed(model.schema, frame, found, fill, drawing)
        for fill in fills_of(model, found, draws, rng)
    ]


def gaps_of(schema: Schema, frame: Any) -> Gaps:
    """The gaps of a frame in the columns that the model knows."""
    table = isinstance(frame, Table)
    listed = frame.labels() if table else columns_of(frame, schema.names, unusable={})
    known = {name: v for v, name in enumerate(schema.names)}
    columns = {known[c.name]: c for c in listed if c.name in known}
    if not columns:
        shown = ", ".join(repr(c.name) for c in listed[:6])
        raise DataError(
            f"no column of the frame ({shown}) is a column of the model; name the columns as in "
            "the model's schema."
        )
    n_rows = gaps_in(next(iter(columns.values()))).size
    gaps: Bools = np.zeros((len(schema), n_rows), dtype=bool)
    codes: Codes = np.repeat(schema.cards[:, None], n_rows, axis=1).astype(np.uint16)
    for v, column in columns.items():
        gaps[v] = gaps_in(column)
        codes[v] = np.where(gaps[v], schema[v].card, encode_column(column, schema[v], "unknown"))
    return Gaps(columns, codes, gaps)


def fills_of(model: Model, found: Gaps, draws: int | None, rng: np.random.Generator) -> list[Fill]:
    """States for the gaps: the most probable one of each cell, or draws of whole rows."""
    variables, rows = np.nonzero(found.gaps)
    if not rows.size:
        return [Fill(rows, variables, rows, np.empty(0))] * (draws or 1)
    whole = without_missing_states(model, np.unique(variables))
    tables = list(missing_marginals(whole, found.codes, found.gaps).values())
    if draws is None:
        chosen = [np.concatenate([table.argmax(axis=1) for table in tables])]
    else:
        some = np.unique(rows)
        place = np.searchsorted(some, rows)
        seeds = rng.integers(2**63, size=draws).tolist()
        drawn = (completed_rows(whole, found.codes[:, some], seed) for seed in seeds)
        chosen = [codes[variables, place].astype(np.int64) for codes in drawn]
    ends = np.cumsum([len(table) for table in tables])[:-1]
    fills = []
    for codes in chosen:
        parts = zip(tables, np.split(codes, ends), strict=True)
        shares = np.concatenate([table[np.arange(len(c)), c] for table, c in parts])
        fills.append(Fill(rows, variables, codes, shares))
    return fills


def _completed(
    schema: Schema, frame: Any, found: Gaps, fill: Fill, rng: np.random.Generator | None
) -> Completed:
    patches: dict[str, Patch] = {}
    values: Array = np.empty(len(fill.rows), dtype=object)
    for v in np.unique(fill.variables).tolist():
        where = np.flatnonzero(fill.variables == v)
        variable, column = schema[v], found.columns[v]
        cells = cell_values(variable, fill.codes[where], column, rng)
        dated = bool(variable.dated and cells.dtype != object)
        patches[variable.name] = Patch(fill.rows[where], cells, dated)
        values[where] = patches[variable.name].plain().tolist()
    order = np.lexsort((fill.variables, fill.rows)).tolist()
    names, rows = schema.names, fill.rows.tolist()
    variables, shares = fill.variables.tolist(), fill.probabilities.tolist()
    cells_ = [ImputedCell(rows[k], names[variables[k]], values[k], shares[k]) for k in order]
    return Completed(filled(frame, patches, schema.names), cells_)
