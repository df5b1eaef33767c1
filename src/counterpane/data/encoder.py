"""Values to codes: the states of each column, the codes of its cells, and the weights of rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from counterpane.data.clean import format_of, numbers_of_texts
from counterpane.data.columns import (
    Column,
    Labels,
    Numbers,
    check_columns,
    columns_of,
    find_column,
    known_columns,
    n_rows,
)
from counterpane.data.dates import day_number
from counterpane.data.gap_words import without_words
from counterpane.data.number_formats import PLAIN, CellFormat
from counterpane.data.schema import Schema, Variable, code_dtype
from counterpane.data.schema_inference import Discretize, check_limits, infer_schema
from counterpane.errors import (
    Advice,
    ParameterError,
    StateError,
    WeightError,
)
from counterpane.typing import Array, Bools, Codes, Floats, Ints, State

MAX_TOTAL = 1e100  # of weights; squares of sums are numbers, and so are their inverses

Unseen = Literal["error", "missing", "unknown"]
"""What a value outside the states is: a mistake, a missing cell, or a cell that was not observed.

The last two differ where missing is a state of its own.
"""

# ---- codes of values by a known variable ---------------------------------------------------------


class ValueCodes(dict[Any, int]):
    """Codes of a variable's values by value, each looked up once; -1 for a value that is no state.

    None and NaN are missing cells: their code is `missing`.

    >>> codes = ValueCodes(Variable("size", (1, 2, 4)))
    >>> codes[4.0], codes["2"], codes[None], codes["huge"]
    (2, 1, 3, -1)
    """

    def __init__(self, variable: Variable) -> None:
        super().__init__()
        self.variable = variable
        self.missing = variable.missing_code
        self[None] = self.missing

    def __missing__(self, value: Any) -> int:
        if value != value:
            return self.missing
        code = self.find(value)
        self[value] = -1 if code is None else code
        return self[value]

    def __reduce__(self) -> Any:
        """Pickled without the codes: these may be many, and are soon looked up again."""
        state = {name: value for name, value in vars(self).items() if name != "variable"}
        return type(self), (self.variable,), state

    def find(self, value: Any) -> int | None:
        """The code of a value that was not seen before; None if it is no state."""
        return self.variable.find(value)

    def encode(self, values: Sequence[Any], places: Array | None, out: Array) -> None:
        """Write the codes of the cells `values[places]`, or of all values, to `out`.

        A place after the last value is a missing cell. A cell that is no state raises `StateError`;
        values at no place may be anything.
        """
        codes = np.fromiter(map(self.__getitem__, values), dtype=np.int64, count=len(values))
        if places is not None:
            codes = np.append(codes, self.missing)
            if codes.min() >= 0:
                np.take(codes.astype(out.dtype), places, out=out, mode="clip")
                return
            codes = codes[places]
        if codes.min(initial=0) < 0:
            first = int(np.argmin(codes))
            raise self.refusal(values[first if places is None else places[first]])
        out[:] = codes

    def refusal(self, value: Any) -> StateError:
        """The error for a cell of a source that is none of the states."""
        return StateError(
            f"column {self.variable.name!r}: {self.variable.not_a_state(value)}; declare it with "
            "states=…, or make the source again if rows were added."
        )


class UnknownCells(UserWarning):
    """Most cells of a column are none of the states that the model knows."""


def as_written(column: Column, variable: Variable) -> Column:
    """A column with its texts read as those that the variable was made from.

    Texts become numbers or dates for a variable of these, and words for missing cells missing.
    """
    if isinstance(column, Numbers):
        return column
    others = [s for s in column.states if isinstance(s, str) and not variable.has_state(s)]
    if not variable.numeric:
        words = [s for s in others if variable.means_missing(s)]
        return without_words(column, words) if words else column
    if not others:
        return column
    written = variable.written or CellFormat()
    form = None if variable.dated else format_of(column, written.number)
    written = replace(written, number=form or PLAIN)
    return numbers_of_texts(column, written, dated=variable.dated)


def encode_column(
    column: Column, variable: Variable, unseen: Unseen = "error", *, warn: bool = False
) -> Ints:
    """The codes of a column's rows among the states of `variable`; missing cells get `card`.

    This is how any cell becomes a state, in training rows as in new ones. With `warn`, a warning
    names a column of which more than half of the cells that are not missing are unknown.
    """
    missing, read = variable.missing_code, as_written(column, variable)
    lost = np.zeros(n_rows(column), dtype=np.bool_)
    if isinstance(read, Numbers) and isinstance(column, Labels):
        gaps = [s is None or variable.means_missing(s) for s in column.states]
        lost = read.missing & ~np.array([*gaps, True])[column.codes]
    if isinstance(read, Numbers) and variable.cuts is not None and read.dated == variable.dated:
        codes = np.searchsorted(variable.cuts, read.values, side="right")
        codes = np.where(read.missing, missing, codes)
    else:
        labels = read.labels() if isinstance(read, Numbers) else read
        places = [missing if state is None else variable.find(state) for state in labels.states]
        lookup = np.array([-1 if p is None else p for p in places] + [missing], dtype=np.int64)
        codes = lookup[labels.codes]
    unknown = codes < 0
    if warn and 2 * (lost | unknown).sum() > (lost | (codes != missing)).sum():
        _warn_unknown(column, lost | unknown, variable)
    unknown |= lost
    if unknown.any():
        if unseen == "error":
            row = int(np.argmax(unknown))
            value = _cell(column, row)
            raise StateError(
                f"column {variable.name!r}, row {row}: {variable.not_a_state(value)}; ",
                Advice('pass unseen="missing"', "leave such rows out"),
                ".",
            )
        codes[unknown] = missing if unseen == "missing" else variable.card
    return codes


def _cell(column: Column, row: int) -> Any:
    """A cell of a column, as it is shown in a message."""
    if isinstance(column, Labels):
        return column.states[column.codes[row]]
    return column.take([row]).labels().states[0]


def _warn_unknown(column: Column, unknown: Bools, variable: Variable) -> None:
    cells = int(unknown.sum())
    several = f"{cells:,} cells hold values" if cells > 1 else "1 cell holds a value"
    warnings.warn(
        f"column {variable.name!r}: {several} that the model does not know, such as "
        f"{_cell(column, int(np.argmax(unknown)))!r}. They are treated as not observed. Known "
        f"states: {variable.shown_states}.",
        UnknownCells,
        stacklevel=4,
    )


def as_states(column: Column, variable: Variable) -> Labels:
    """A column with the states of a variable; a cell of no such state is missing."""
    codes = encode_column(column, variable, "unknown")
    places = np.where(codes < variable.card, codes, -1)
    cut = None if variable.cuts is None else variable
    return Labels(column.name, variable.states, places, True, cut, variable.written)


def finite_numbers(column: Column) -> Column:
    """The column with its infinite numbers as missing cells."""
    if isinstance(column, Labels) or column.values.dtype.kind != "f":
        return column
    infinite = np.isinf(column.values)
    return replace(column, missing=column.missing | infinite) if infinite.any() else column


def encode_rows(
    columns: Sequence[Column], variables: Sequence[Variable], numeric: Sequence[int]
) -> tuple[Codes, Floats]:
    """The codes (variables, rows) and the numbers (len(numeric), rows) of columns.

    A code equal to the variable's card stands for a state that the variable does not have. An
    infinite number is missing, as it was where the numbers were learned from.
    """
    columns = [
        finite_numbers(as_written(c, v)) if i in numeric else c
        for i, (c, v) in enumerate(zip(columns, variables, strict=True))
    ]
    rows = n_rows(columns[0])
    cards = np.array([v.card for v in variables])
    codes: Codes = np.empty((len(variables), rows), dtype=code_dtype(cards))
    for column, variable, out in zip(columns, variables, codes, strict=True):
        out[:] = encode_column(column, variable, "unknown", warn=True)
    numbers = np.empty((len(numeric), rows))
    for i, out in zip(numeric, numbers, strict=True):
        out[:] = column_numbers(columns[i], dated=variables[i].dated)
    return codes, numbers


def column_numbers(column: Column, *, dated: bool = False) -> Floats:
    """The numbers of a column, also where they are written as texts; NaN for anything else.

    With `dated` only dates count, as days since 1970-01-01.
    """
    if isinstance(column, Numbers):
        usable = ~column.missing & (column.dated == dated)
        return np.where(usable, column.values.astype(np.float64), np.nan)
    values = np.full(len(column.states) + 1, np.nan)  # code -1 takes the last
    for i, state in enumerate(column.states):
        with suppress(TypeError, ValueError):
            number = day_number(state) if dated else float(state)  # type: ignore[arg-type]
            values[i] = np.nan if number is None else number
    numbers: Floats = values[column.codes]
    return numbers


# ---- a frame: schema, codes and weights ----------------------------------------------------------


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
) -> tuple[Schema, Codes, Ints | Floats | None, dict[str, Floats]]:
    """The schema of a frame (or the one given), its codes, weights and discretized numbers.

    Parameters are those of `Table.from_frame`.
    """
    if unseen not in get_args(Unseen):
        raise ParameterError(f"unseen={unseen!r}; 'error', 'missing' or 'unknown' is allowed.")
    check_limits(max_states, n_bins)
    columns = check_columns(columns_of(frame) if schema is None else known_columns(frame, schema))
    rows = n_rows(next(iter(columns.values())))
    if isinstance(weights, str):
        column = find_column(columns, weights)
        del columns[column.name]
        if not isinstance(column, Numbers):
            raise WeightError(f"the weight column {column.name!r} holds no numbers; it must.")
        weights = np.where(column.missing, np.nan, column.values)
    checked = None if weights is None else check_weights(weights, rows)
    predicting = schema is not None and unseen == "unknown"
    if schema is None:
        heights = np.ones(rows) if checked is None else checked.astype(np.float64)
        schema = infer_schema(
            columns, states, discretize, target, heights, max_states=max_states, n_bins=n_bins
        )
    codes: Codes = np.empty((len(schema), rows), dtype=code_dtype(schema.cards))
    numbers = {}
    for i, variable in enumerate(schema):
        column = find_column(columns, variable.name)
        codes[i] = encode_column(column, variable, unseen, warn=predicting)
        if variable.cuts is not None and isinstance(column, Numbers):
            numbers[variable.name] = column_numbers(column, dated=variable.dated)
    return schema, codes, checked, numbers


def check_weights(weights: npt.ArrayLike, n_rows: int) -> Ints | Floats:
    """`weights` as int64 where all are whole numbers, else float64; checked and read-only."""
    array = np.asarray(weights)
    if array.shape != (n_rows,):
        raise WeightError(f"weights have shape {array.shape}; {n_rows} rows need ({n_rows},).")
    if array.dtype.kind not in "biuf":
        raise WeightError(f"weights have type {array.dtype}; whole or real numbers are allowed.")
    values = array.astype(np.float64)
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise WeightError(
            f"the weight of row {row} is {array[row]}; weights must be finite and not negative."
        )
    with np.errstate(over="ignore"):
        total = float(values.sum())
    if n_rows:
        check_total_weight(total)
    integral = bool((values == np.floor(values)).all()) and total < 2**53
    checked: Ints | Floats = values.astype(np.int64) if integral else values
    checked.flags.writeable = False
    return checked


def check_total_weight(total: float) -> None:
    """Refuse weights whose sum is zero, or so far from 1 that products of sums are no numbers."""
    if total == 0:
        raise WeightError("all weights are zero; at least one row needs a positive weight.")
    if not 1 / MAX_TOTAL <= total <= MAX_TOTAL:
        raise WeightError(
            f"the weights sum to {total:g}; a sum from {1 / MAX_TOTAL:g} to {MAX_TOTAL:g} is "
            "needed: multiply all weights by one number."
        )
