"""Columns as frames of other libraries: pandas, polars, pyarrow, and the protocols between them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from counterpane.data.columns import Column, Labels, Numbers
from counterpane.data.dates import datetimes
from counterpane.errors import MissingExtraError, ParameterError, Setting
from counterpane.typing import Array, Bools, Floats, State

FrameKind: TypeAlias = Literal["pandas", "polars", "pyarrow"]
"""The libraries whose frames are made."""


class Exportable:
    """Base of what can become a frame of any library; a subclass defines `to_columns`.

    Texts become categories in the order of their states (pandas Categorical, polars Enum, Arrow
    dictionary), numbers, truth values and dates stay what they are, and a missing cell is the
    frame's own missing value.
    """

    frame_kind: FrameKind | None = None  # of the frame that was read

    @abstractmethod
    def to_columns(self) -> Sequence[Column]:
        """The columns, in order."""

    def to_pandas(self) -> Any:
        """A pandas DataFrame; whole numbers with missing cells are floats, as pandas reads them."""
        pandas = library("pandas")
        return pandas.DataFrame({c.name: pandas_series(c, pandas) for c in self.to_columns()})

    def to_polars(self) -> Any:
        """A polars DataFrame."""
        polars = library("polars")
        return polars.DataFrame([polars_series(c, polars) for c in self.to_columns()])

    def to_arrow(self) -> Any:
        """A pyarrow Table."""
        arrow = library("pyarrow")
        columns = self.to_columns()
        return arrow.table([arrow_array(c, arrow) for c in columns], [c.name for c in columns])

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """A frame of "pandas", "polars" or "pyarrow": by default of the kind that was read.

        Where no frame was read, it is of the first of the three that is installed.
        """
        makers = {
            "pandas": self.to_pandas,
            "polars": self.to_polars,
            "pyarrow": self.to_arrow,
        }
        chosen = kind or self.frame_kind
        if chosen is None:
            chosen = next((k for k in get_args(FrameKind) if find_spec(k) is not None), "pandas")
        if chosen not in makers:
            raise ParameterError(
                Setting("kind", kind),
                f"; {', '.join(map(repr, makers))} are allowed.",
                allowed=tuple(makers),
            )
        return makers[chosen]()

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        """The object of the dataframe interchange protocol."""
        return self.to_arrow().__dataframe__(nan_as_null, allow_copy)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The capsule of the Arrow stream protocol: polars.DataFrame and pyarrow.table take it."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def frame_kind_of(frame: Any) -> FrameKind | None:
    """The library of a frame; None if it is of none of the three."""
    module = type(frame).__module__.partition(".")[0]
    kinds: dict[str, FrameKind] = {"pandas": "pandas", "polars": "polars", "pyarrow": "pyarrow"}
    return kinds.get(module)


def library(name: str) -> Any:
    """The frame library called `name`; one that is not installed raises."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(
            f"{name} is not installed, and this makes a frame of it; run pip install {name}."
        ) from None


def column_array(column: Column) -> Array:
    """The cells of a column as numpy has them.

    A missing cell is NaN, not-a-time, or None. Numbers are int64 where all are whole and none is
    missing, dates are datetime64, truth values bool, others objects.
    """
    if isinstance(column, Labels):
        numbers = _as_numbers(column)
        if numbers is None:
            states: Array = np.empty(len(column.states) + 1, dtype=object)
            states[: len(column.states)] = column.states
            cells: Array = states[column.codes]
            truths = set(map(type, column.states)) <= {bool, type(None)}
            complete = all(cell is not None for cell in cells.tolist())
            return cells.astype(bool) if truths and complete else cells
        column = numbers
    if column.dated:
        return _stamps(column)
    if not column.missing.any():
        return column.values
    return np.where(column.missing, np.nan, column.values.astype(np.float64))


def column_list(column: Column) -> list[Any]:
    """The cells of a column as plain objects; a missing one is None."""
    cells = column_array(column)
    missing = (
        np.array([cell is None for cell in cells]) if cells.dtype == object else cells != cells
    )
    return [
        None if gap else cell for cell, gap in zip(cells.tolist(), missing.tolist(), strict=True)
    ]


def pandas_series(column: Column, pandas: Any) -> Any:
    """A column as a pandas Series."""
    if isinstance(column, Labels) and _is_text(column):
        codes, states = _known_states(column)
        cells = pandas.Categorical.from_codes(codes, states, ordered=column.cut is not None)
        return pandas.Series(cells, name=column.name)
    return pandas.Series(column_array(column), name=column.name)


def polars_series(column: Column, polars: Any) -> Any:
    """A column as a polars Series."""
    if isinstance(column, Labels) and _is_text(column):
        places, states = _known_states(column)
        texts = [str(s) for s in states]
        cells = polars.Series(column.name, texts, polars.Enum(texts))
    else:
        values, missing = _values(column)
        cells = polars.Series(column.name, values)
        if not missing.any():
            return cells
        places = np.where(missing, -1, np.arange(len(values)))
    chosen = polars.Series(places)
    return cells.gather(chosen.set(chosen < 0, None))


def arrow_array(column: Column, arrow: Any) -> Any:
    """A column as a pyarrow array."""
    if isinstance(column, Labels) and _is_text(column):
        codes, states = _known_states(column)
        indices = arrow.array(codes.astype(np.int32), mask=codes < 0)
        texts = arrow.array([str(s) for s in states], arrow.string())
        return arrow.DictionaryArray.from_arrays(indices, texts, ordered=column.cut is not None)
    values, missing = _values(column)
    return arrow.array(values, mask=missing if missing.any() else None)


def _is_text(column: Labels) -> bool:
    """Whether the states are categories, and not numbers or truth values alone."""
    kinds = set(map(type, column.states)) - {type(None)}
    return not (kinds == {bool} or (kinds and kinds <= {int, float}))


def _known_states(column: Labels) -> tuple[Array, list[State]]:
    """Codes, -1 for missing, and states without the one that stands for the missing cell."""
    present = [code for code, state in enumerate(column.states) if state is not None]
    lookup = np.full(len(column.states) + 1, -1, dtype=np.int64)
    lookup[present] = np.arange(len(present))
    return lookup[column.codes], [column.states[code] for code in present]


def _as_numbers(column: Labels) -> Numbers | None:
    """A column whose states are numbers as a column of these."""
    kinds = set(map(type, column.states)) - {type(None)}
    if not kinds or not kinds <= {int, float}:
        return None
    states = np.array([0 if s is None else s for s in (*column.states, None)])
    if states.dtype.kind not in "iuf":  # integers of more than 64 bits
        states = states.astype(np.float64)
    missing = np.array([s is None for s in (*column.states, None)])
    return Numbers(column.name, states[column.codes], missing[column.codes])


def _values(column: Column) -> tuple[Array, Bools]:
    """Numbers, truth values or dates of a column, with any value where it is missing."""
    if isinstance(column, Labels):
        numbers = _as_numbers(column)
        if numbers is None:
            codes, states = _known_states(column)
            return np.array(states, dtype=bool)[np.maximum(codes, 0)], codes < 0
        column = numbers
    return (_stamps(column) if column.dated else column.values), column.missing


def _stamps(column: Numbers) -> Array:
    """Dates as datetime64, in whole days where all are."""
    days = np.where(column.missing, 0.0, column.values.astype(np.float64))
    whole_days = (days == np.rint(days)).all()
    stamps = days.astype(np.int64).astype("M8[D]") if whole_days else datetimes(days)
    stamps[column.missing] = np.datetime64("NaT")
    return stamps


def numbers_column(name: str, numbers: Floats, step: float | None, *, dated: bool) -> Numbers:
    """A column of numbers that may be NaN; integers where all are multiples of a whole step."""
    missing = np.isnan(numbers)
    values: Array = np.where(missing, 0.0, numbers)
    integral = step is not None and step >= 1 and not dated
    if integral and (np.abs(values) < 2**53).all():
        values = values.astype(np.int64)
    return Numbers(name, values, missing, dated)


class Columns(Exportable):
    """Columns that become a frame."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._made = list(columns)

    def to_columns(self) -> Sequence[Column]:
        """The columns, in order."""
        return self._made


def frame_like(frame: Any, rows: Exportable | Sequence[Column]) -> Any:
    """`rows` as a frame of the kind of `frame`: pandas, polars, pyarrow, a mapping or an array.

    A column that `frame` has as well gets the type that it has there, if that can hold its cells: a
    text is a text and no category. Where there are as many rows, a pandas frame has the same index.
    If `frame` is of no such kind (a `Table`, a path, a list of `Column`s), a `Table` is returned as
    it is, and columns as a frame of a library that is installed.

    >>> from counterpane.data.table import Table
    >>> frame_like({"size": [1, 2]}, Table.from_frame({"kind": ["a", "b"]}))
    {'kind': ['a', 'b']}
    """
    columns = rows if isinstance(rows, Exportable) else Columns(rows)
    if isinstance(frame, Mapping):
        return {c.name: column_list(c) for c in columns.to_columns()}
    if isinstance(frame, np.ndarray):
        return np.asarray(_stacked(columns.to_columns()))
    kind = frame_kind_of(frame)
    if kind is None:
        if isinstance(rows, Exportable):
            return rows
        return columns.to_frame(frame.frame_kind if isinstance(frame, Exportable) else None)
    result = columns.to_frame(kind)
    return _TYPED[kind](result, frame)


def _stacked(columns: Sequence[Column]) -> Any:
    cells = [column_array(c) for c in columns]
    plain = all(c.dtype.kind in "iuf" for c in cells)
    return np.column_stack(cells if plain else [c.astype(object) for c in cells])


def _pandas(result: Any, frame: Any) -> Any:
    """A pandas frame with the index and the types of another."""
    if len(result) == len(frame):
        result.index = frame.index
    if hasattr(frame, "columns"):
        for name in result.columns.intersection(frame.columns):
            cast = _cast(lambda: result[name].astype(frame[name].dtype))  # noqa: B023
            if cast is not None and cast.isna().sum() == result[name].isna().sum():
                result[name] = cast
    return result


def _polars(result: Any, frame: Any) -> Any:
    """A polars frame with the types of another."""
    for name in set(result.columns) & set(getattr(frame, "columns", ())):
        cast = _cast(lambda: result[name].cast(frame.schema[name]))  # noqa: B023
        if cast is not None:
            result = result.with_columns(cast)
    return result


def _arrow(result: Any, frame: Any) -> Any:
    """An Arrow table with the types of another."""
    arrow = library("pyarrow")
    names = set(getattr(frame, "column_names", ()))
    for place, name in enumerate(result.column_names):
        if name in names:
            cast = _cast(lambda: result.column(place).cast(frame.schema.field(name).type))  # noqa: B023
            if cast is not None:
                field = arrow.field(name, cast.type)
                result = result.set_column(place, field, cast)
    return result


def _cast(change: Callable[[], Any]) -> Any:
    """A column of another type; None where that cannot hold it."""
    try:
        return change()
    except Exception:  # each library has errors of its own for this
        return None


_TYPED: dict[str, Callable[[Any, Any], Any]] = {
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": _arrow,
}
