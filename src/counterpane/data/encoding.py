"""Values to codes: the states of each column, and the codes of its cells."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    Unread,
    check_columns,
    columns_of,
    find_column,
    known_columns,
    n_rows,
)
from counterpane.data.dates import day_number
from counterpane.data.distinct_values import places_from
from counterpane.data.number_formats import PLAIN, CellFormat
from counterpane.data.prepare import without_words
from counterpane.data.schema import Schema, Variable, code_dtype
from counterpane.data.schema_inference import Discretize, check_limits, infer_schema
from counterpane.data.weights import check_weights, column_weights, weight_numbers
from counterpane.errors import Advice, DataError, ParameterError, Setting, StateError
from counterpane.typing import Array, Bools, Codes, Floats, Ints, State

SHORT = 256  # a range of integers of which all are looked up
SPAN = 2**16  # the widest range of integers that is looked up in an array

Unseen = Literal["error", "missing", "unknown"]
"""What a value outside the states is: a mistake, a missing cell, or a cell that was not observed.

The last two differ where missing is a state of its own.
"""

# ---- codes of values by a known variable ---------------------------------------------------------


class ValueCodes(dict[Any, int]):
    """Codes of a variable's values by value, each looked up once; -1 for a value that is no state.

    None and NaN are missing cells, as are words for them, and texts that are empty in a file of
    text: their code is `missing`. A text is a number only if it is written as those of the column.

    >>> codes = ValueCodes(Variable("size", (1, 2, 4)))
    >>> codes[4.0], codes["2"], codes[None], codes["huge"]
    (2, 1, 3, -1)
    """

    def __init__(self, variable: Variable, *, text_file: bool = False) -> None:
        super().__init__()
        self.variable, self._text_file = variable, text_file
        self.missing = variable.missing_code
        self[None] = self.missing

    def __missing__(self, value: Any) -> int:
        if value != value:
            return self.missing
        code = self._find(value)
        self[value] = -1 if code is None else code
        return self[value]

    def __reduce__(self) -> Any:
        """Pickled without the codes: these may be many, and are soon looked up again."""
        return type(self), (self.variable,), {"_text_file": self._text_file}

    def _find(self, value: Any) -> int | None:
        """The code of a value that was not seen before; None if it is no state."""
        variable = self.variable
        if isinstance(value, str):
            if variable.means_missing(value) or (self._text_file and not value):
                return self.missing
            if variable.numeric and not variable.dated and not variable.has_state(value):
                value = value.strip()
                if (variable.written or CellFormat()).number.number(value) is None:
                    return None
        return variable.find(value)

    def of(self, column: Column) -> Ints:
        """The codes of the cells of a column, -1 for one that is no state."""
        if isinstance(column, Labels):
            return self._taken(column)
        variable, values = self.variable, column.values
        if variable.cuts is not None and column.dated == variable.dated:
            codes: Ints = np.searchsorted(np.array(variable.cuts), values, side="right")
        elif values.dtype.kind in "iu" and not column.dated and len(values):
            low, high = int(values.min()), int(values.max())
            if high - low >= SPAN:
                return self._taken(column.labels())
            places, span = places_from(values, low), high - low + 1
            present = np.arange(span) if span <= SHORT else np.flatnonzero(np.bincount(places))
            lookup = np.empty(span, dtype=np.int64)
            lookup[present] = [self[low + place] for place in present.tolist()]
            consecutive = span <= SHORT and lookup[0] >= 0 and (np.diff(lookup) == 1).all()
            codes = lookup[places] if not consecutive else places
            if consecutive and lookup[0]:
                codes += lookup[0].astype(codes.dtype)
        else:
            return self._taken(column.labels())
        if column.missing.any():
            codes[column.missing] = self.missing
        return codes

    def _taken(self, column: Labels) -> Ints:
        lookup = np.array([*map(self.__getitem__, column.states), self.missing])
        codes: Ints = np.take(lookup, column.codes)
        return codes

    def of_block(self, column: Column, unseen: Unseen) -> Ints:
        """The codes of the cells of a column of a block; `unseen` says what others are."""
        codes = self.of(column)
        if codes.min(initial=0) < 0:
            if unseen == "error":
                value = shown_cell(column, int(np.argmin(codes)))
                raise StateError(
                    f"column {self.variable.name!r}: {self.variable.not_a_state(value)}; declare "
                    "it with states=…, or make the source again if rows were added.",
                    parameter=self.variable.name,
                    value=value,
                    allowed=self.variable.states,
                )
            codes[codes < 0] = self.missing if unseen == "missing" else self.variable.card
        return codes


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
    codes = ValueCodes(variable).of(read)
    if isinstance(read, Numbers) and isinstance(column, Labels):
        gaps = [s is None or variable.means_missing(s) for s in column.states]
        codes[read.missing & ~np.array([*gaps, True])[column.codes]] = -1
    unknown = codes < 0
    if warn and 2 * unknown.sum() > (codes != missing).sum():
        _warn_unknown(column, unknown, variable)
    if unknown.any():
        if unseen == "error":
            row = int(np.argmax(unknown))
            value = shown_cell(column, row)
            raise StateError(
                f"column {variable.name!r}, row {row}: {variable.not_a_state(value)}; ",
                Advice('pass unseen="missing"', "leave such rows out"),
                ".",
                parameter=variable.name,
                value=value,
                allowed=variable.states,
            )
        codes[unknown] = missing if unseen == "missing" else variable.card
    return codes


def shown_cell(column: Column, row: int) -> Any:
    """A cell of a column, as it is shown in a message."""
    if isinstance(column, Labels):
        return column.states[column.codes[row]]
    return column.take([row]).labels().states[0]


def _warn_unknown(column: Column, unknown: Bools, variable: Variable) -> None:
    cells = int(unknown.sum())
    several = f"{cells:,} cells hold values" if cells > 1 else "1 cell holds a value"
    warnings.warn(
        f"column {variable.name!r}: {several} that the model does not know, such as "
        f"{shown_cell(column, int(np.argmax(unknown)))!r}. They are treated as not observed. Known "
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
        numbers: Floats = column.values.astype(np.float64)
        numbers[column.missing if column.dated == dated else slice(None)] = np.nan
        return numbers
    values = np.full(len(column.states) + 1, np.nan)  # code -1 takes the last
    for i, state in enumerate(column.states):
        with suppress(TypeError, ValueError):
            number = day_number(state) if dated else float(state)  # type: ignore[arg-type]
            values[i] = np.nan if number is None else number
    return np.asarray(values[column.codes])


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
        raise ParameterError(
            Setting("unseen", unseen), "; 'error', 'missing' or 'unknown' is allowed."
        )
    check_limits(max_states, n_bins)
    columns = check_columns(columns_of(frame) if schema is None else known_columns(frame, schema))
    rows = n_rows(next(iter(columns.values())))
    if isinstance(weights, str):
        column = find_column(columns, weights)
        del columns[column.name]
        weights = weight_numbers(column)
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


# ---- rows that are read block by block -----------------------------------------------------------


class BlockEncoder:
    """The codes of `schema` and the weights of blocks of columns; can be pickled.

    `weights` names the weight column; with `whole` its sums are integers. The columns `as_text` of
    a text file are read as texts. With `finite` infinite numbers are missing cells. A missing cell
    raises in the columns that `has_missing` says have none.
    """

    has_missing: Bools

    def __init__(
        self, schema: Schema, weights: str | None, *, whole: bool, text_file: bool,
        as_text: Sequence[str], unseen: Unseen, finite: bool,
    ) -> None:  # fmt: skip
        self.schema, self.weights, self.as_text = schema, weights, as_text
        self.weight_dtype = np.dtype(np.int64 if whole else np.float64)
        self.dtype = code_dtype(schema.cards)
        self._unseen: Unseen = unseen
        self._finite = finite
        self._known = [ValueCodes(v, text_file=text_file) for v in schema]

    def find_missing(self, columns: Mapping[str, Column]) -> None:
        """Note which of the schema's columns have missing cells, by columns of all values."""
        self.has_missing = np.array([
            bool((self._codes(v, columns[name]) == self.schema.cards[v]).any())
            or getattr(columns[name], "more", 0) > 0
            for v, name in enumerate(self.schema.names)
        ])  # fmt: skip

    def names(self, columns: Sequence[int]) -> list[str]:
        """The names of the columns to read, each once, the weights last; at least one."""
        names = [self.schema.names[v] for v in dict.fromkeys(columns)]
        names += [] if self.weights is None else [self.weights]
        return names or [self.schema.names[0]]

    def encode(self, block: Sequence[Any], columns: Sequence[int], out: Codes) -> None:
        """Write the codes of a block of some columns to `out`."""
        for codes, column, v in zip(out, block, columns, strict=False):  # without the weights
            codes[:] = self._codes(v, column)
            if not self.has_missing[v] and codes.max(initial=0) == self.schema.cards[v]:
                raise DataError(
                    f"column {self.schema.names[v]!r} has missing cells, and had none when the "
                    "source was made; make it again."
                )

    def weights_of(self, block: Sequence[Any]) -> Array | None:
        """The weights of a block."""
        if self.weights is None:
            return None
        return column_weights(block[-1]).astype(self.weight_dtype)

    def rows(
        self, blocks: Iterable[Sequence[Any]], columns: Sequence[int], size: int
    ) -> Iterator[tuple[Codes, Array | None]]:
        """The codes and weights of all rows, exactly `size` at a time, the last fewer.

        Sums of real weights are then the same as in memory.
        """
        once = list(dict.fromkeys(columns))  # pairs may contain a column on both sides
        order = None if once == list(columns) else [once.index(v) for v in columns]
        codes, weights, filled = self._empty(len(once), size)
        room: Codes = np.empty((len(once), 0), dtype=self.dtype)  # fresh memory costs time
        for block in blocks:
            n, at = n_rows(block[0]), 0
            room = room if room.shape[1] >= n else np.empty((len(once), n), dtype=self.dtype)
            coded = room[:, :n]
            self.encode(block, once, coded)
            own = self.weights_of(block)
            while at < n:
                k = min(n - at, size - filled)
                codes[:, filled : filled + k] = coded[:, at : at + k]
                if weights is not None and own is not None:
                    weights[filled : filled + k] = own[at : at + k]
                at, filled = at + k, filled + k
                if filled == size:
                    yield codes if order is None else codes[order], weights
                    codes, weights, filled = self._empty(len(once), size)
        if filled:
            codes = codes[:, :filled] if order is None else codes[order, :filled]
            yield codes, None if weights is None else weights[:filled]

    def _empty(self, width: int, size: int) -> tuple[Codes, Array | None, int]:
        codes: Codes = np.empty((width, size), dtype=self.dtype)
        return codes, None if self.weights is None else np.empty(size, self.weight_dtype), 0

    def _codes(self, v: int, column: Any) -> Array:
        if isinstance(column, Unread):
            raise DataError(f"column {column.name!r} holds {column.kind}; convert it.")
        return self._known[v].of_block(
            finite_numbers(column) if self._finite else column, self._unseen
        )
