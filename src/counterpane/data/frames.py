"""A frame in; schema, codes and weights out. First the schema is found, then columns obey it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from counterpane.data.columns import Column, Numbers, columns_of, find_column, n_rows
from counterpane.data.schema import Schema, Variable, code_dtype
from counterpane.data.states import Discretize, infer_schema
from counterpane.data.weights import check_weights
from counterpane.errors import Advice, DataError, ParameterError, StateError, WeightError
from counterpane.typing import Codes, Floats, Ints, State

Unseen = Literal["error", "missing", "unknown"]
"""What a value outside the states is: a mistake, a missing cell, or a cell that was not observed.

The last two differ where missing is a state of its own.
"""


def encode_frame(
    frame: Any,
    *,
    schema: Schema | None,
    states: Mapping[str, Sequence[State]],
    weights: str | npt.ArrayLike | None,
    discretize: Discretize,
    target: str | None,
    unseen: Unseen,
    max_states: int,
    n_bins: int,
) -> tuple[Schema, Codes, Ints | Floats | None]:
    """The schema of a frame (or the one given), its codes and its weights.

    Parameters are those of `Table.from_frame`.
    """
    if unseen not in get_args(Unseen):
        raise ParameterError(f"unseen={unseen!r}; 'error', 'missing' or 'unknown' is allowed.")
    if max_states < 1 or n_bins < 1:
        raise ParameterError(f"max_states={max_states}, n_bins={n_bins}; each must be 1 or more.")
    columns = check_columns(columns_of(frame, None if schema is None else schema.names))
    rows = n_rows(next(iter(columns.values())))
    if isinstance(weights, str):
        column = find_column(columns, weights)
        del columns[column.name]
        if not isinstance(column, Numbers):
            raise WeightError(f"the weight column {column.name!r} holds no numbers; it must.")
        weights = np.where(column.missing, np.nan, column.values)
    checked = None if weights is None else check_weights(weights, rows)
    if schema is None:
        plain = np.ones(rows) if checked is None else checked.astype(np.float64)
        schema = infer_schema(
            columns, states, discretize, target, plain, max_states=max_states, n_bins=n_bins
        )
    codes: Codes = np.empty((len(schema), rows), dtype=code_dtype(schema.cards))
    for i, variable in enumerate(schema):
        codes[i] = encode_column(find_column(columns, variable.name), variable, unseen)
    return schema, codes, checked


def encode_column(column: Column, variable: Variable, unseen: Unseen = "error") -> Ints:
    """The codes of a column's rows among the states of `variable`; missing cells get `card`."""
    absent = variable.find(None)  # missing may be a state of its own
    missing = variable.card if absent is None else absent
    if isinstance(column, Numbers):
        if variable.cuts is not None and column.dated == variable.dated:
            codes = np.searchsorted(variable.cuts, column.values, side="right")
            return np.where(column.missing, missing, codes)
        column = column.labels()
    places = [missing if state is None else variable.find(state) for state in column.states]
    lookup = np.array([-1 if p is None else p for p in places] + [missing], dtype=np.int64)
    codes = lookup[column.codes]
    strange = codes < 0
    if strange.any():
        if unseen == "error":
            row = int(np.argmax(strange))
            value = column.states[column.codes[row]]
            raise StateError(
                f"column {variable.name!r}, row {row}: {variable.not_a_state(value)}; ",
                Advice('pass states=… or unseen="missing"', "leave such rows out"),
                ".",
            )
        codes[strange] = missing if unseen == "missing" else variable.card
    return codes


def check_columns(columns: Iterable[Column]) -> dict[str, Column]:
    """Columns by name; refuses none, no rows, a name that occurs twice, and different lengths."""
    found: dict[str, Column] = {}
    for column in columns:
        if column.name in found:
            raise DataError(f"the column name {column.name!r} occurs twice; each needs its own.")
        found[column.name] = column
    lengths = {name: n_rows(column) for name, column in found.items()}
    if not lengths:
        raise DataError("the table has no columns; at least one is needed.")
    if len(set(lengths.values())) > 1:
        short, long = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
        raise DataError(
            f"column {short!r} has {lengths[short]} rows and column {long!r} has {lengths[long]}; "
            "all columns need the same number."
        )
    if not max(lengths.values()):
        raise DataError("the table has no rows; at least one is needed.")
    return found
