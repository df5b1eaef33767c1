"""Frames with their gaps filled by a model: the most probable values, or draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from counterpane.data.columns import Column, columns_of
from counterpane.data.encoder import encode_column
from counterpane.data.fill import Patch, cell_values, filled, gaps_in
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError
from counterpane.models.completing import (
    completed_rows,
    missing_marginals,
    without_missing_states,
)
from counterpane.models.query import JointModel
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
    model: JointModel,
    frame: Any,
    draws: int | None,
    random_state: Any,
    *,
    cells: bool = True,
    read: list[Column] | None = None,
    fixed: Mapping[str, Bools] | None = None,
) -> list[Completed]:
    """The frame with the most probable value in each gap, or as many frames as `draws`.

    Without `cells` the filled cells are not listed. `read` are the columns of the frame as the
    model reads them, by default those of the frame; `fixed` marks cells that stay as they are,
    though the model cannot read them.
    """
    if draws is not None and (
        not isinstance(draws, int | np.integer) or not 1 <= draws <= MAX_DRAWS
    ):
        raise ParameterError(f"draws={draws!r}; a whole number from 1 to {MAX_DRAWS} is allowed.")
    found = gaps_of(model.schema, frame if read is None else read)
    for name, rows in (fixed or {}).items():
        found.gaps[model.schema.index(name), rows] = False
    rng = np.random.default_rng(random_state)
    drawing = rng if draws is not None else None
    return [
        _completed(model.schema, frame, found, fill, drawing, cells)
        for fill in fills_of(model, found, draws, rng, cells)
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
    if not n_rows:
        raise DataError("the table has no rows; at least one is needed.")
    gaps: Bools = np.zeros((len(schema), n_rows), dtype=bool)
    codes: Codes = np.repeat(schema.cards[:, None], n_rows, axis=1).astype(np.uint16)
    for v, column in columns.items():
        gaps[v] = gaps_in(column)
        codes[v] = np.where(gaps[v], schema[v].card, encode_column(column, schema[v], "unknown"))
    return Gaps(columns, codes, gaps)


def fills_of(
    model: JointModel, found: Gaps, draws: int | None, rng: np.random.Generator, shares: bool = True
) -> list[Fill]:
    """States for the gaps: the most probable one of each cell, or draws of whole rows.

    Draws without `shares` have no probabilities, which take longer than they do.
    """
    variables, rows = np.nonzero(found.gaps)
    if not rows.size:
        return [Fill(rows, variables, rows, np.empty(0))] * (draws or 1)
    whole = without_missing_states(model, np.unique(variables))
    tables: list[Floats] = []
    if draws is None or shares:
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
        parts = zip(tables, np.split(codes, ends), strict=True) if tables else ()
        each = [table[np.arange(len(c)), c] for table, c in parts]
        fills.append(Fill(rows, variables, codes, np.concatenate([np.empty(0), *each])))
    return fills


def _completed(
    schema: Schema,
    frame: Any,
    found: Gaps,
    fill: Fill,
    rng: np.random.Generator | None,
    cells: bool,
) -> Completed:
    patches: dict[str, Patch] = {}
    for v in np.unique(fill.variables).tolist():
        where = np.flatnonzero(fill.variables == v)
        variable, column = schema[v], found.columns[v]
        values = cell_values(variable, fill.codes[where], column, rng)
        dated = bool(variable.dated and values.dtype != object)
        patches[variable.name] = Patch(fill.rows[where], values, dated)
    done = filled(frame, patches, schema.names)
    return Completed(done, _cells(schema, fill, patches) if cells else [])


def _cells(schema: Schema, fill: Fill, patches: Mapping[str, Patch]) -> list[ImputedCell]:
    """The filled cells, row by row."""
    values: Array = np.empty(len(fill.rows), dtype=object)
    for name, patch in patches.items():
        values[fill.variables == schema.index(name)] = patch.plain().tolist()
    order = np.lexsort((fill.variables, fill.rows))
    names = np.array(schema.names, dtype=object)[fill.variables[order]]
    rows, shares = fill.rows[order].tolist(), fill.probabilities[order].tolist()
    return list(map(ImputedCell, rows, names, values[order], shares))
