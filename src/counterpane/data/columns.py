"""The columns of any frame as numpy: labels with their codes, or numbers."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from counterpane.data.dates import date_labels, date_texts, day_number, numbers_of, round_cuts
from counterpane.data.distinct_values import Cells, tally_numbers
from counterpane.data.intervals import cut_labels
from counterpane.data.number_formats import CellFormat, plain_scalar, widened
from counterpane.data.schema import Schema, Variable
from counterpane.errors import DataError, check_names, library_errors, unknown_name
from counterpane.lazy import lazy
from counterpane.typing import Array, Bools, Floats, Ints, State

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
else:
    nw = lazy("narwhals.stable.v2")


class UnknownState:
    """The type of `UNKNOWN`, a cell that is none of a variable's states, nor missing."""

    def __repr__(self) -> str:
        return "an unknown state"


UNKNOWN: Any = UnknownState()


@dataclass(frozen=True)
class Unread:
    """A column that was not read, because values of its kind have no states."""

    name: str
    kind: str
    rows: int = 0


@dataclass(frozen=True, eq=False)
class Labels:
    """A discrete column: its states in order, and for each row a position among them or -1.

    The states are the frame's `declared` categories, else the sorted observed values. Where they
    are intervals of numbers, `cut` is the variable that the numbers were cut by. `written` says how
    cells were written, if that was found out. With `rows`, each entry stands for so many rows of
    equal cells, of the sum `weights`; `more` rows have other values, `more_values`, than were kept.
    """

    name: str
    states: tuple[State, ...]
    codes: Array
    declared: bool = False
    cut: Variable | None = None
    written: CellFormat | None = None
    rows: Ints | None = None
    weights: Floats | None = None
    more: int = 0
    more_values: int = 0

    def take(self, rows: Any) -> Labels:
        """The rows of a mask, of positions or of a slice."""
        return replace(self, codes=self.codes[rows])


class Binned(NamedTuple):
    """What is known of the numbers of a column that has too many to keep each of them."""

    n_values: int  # estimated
    step: float | None  # that all numbers are multiples of
    read_as: str = ""  # words for the note on a column of texts


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers; `missing` marks the rows without one.

    If `dated`, they are dates and times, in days since 1970-01-01. `written` is the format of the
    texts that they were read from, if they were. With `rows`, each entry stands for so many rows of
    equal cells, of the sum `weights`; where more numbers are distinct than were kept, `binned` has
    their number and step, and an entry is the least number of its bin.
    """

    name: str
    values: Array
    missing: Bools
    dated: bool = False
    written: CellFormat | None = None
    rows: Ints | None = None
    weights: Floats | None = None
    binned: Binned | None = None

    def take(self, rows: Any) -> Numbers:
        """The rows of a mask, of positions or of a slice."""
        return replace(self, values=self.values[rows], missing=self.missing[rows])

    @cached_property
    def distinct(self) -> Array:
        """The observed values, sorted; integers where all of them are whole."""
        values = self._cells[0]
        exact = values.dtype.kind == "f" and bool((np.abs(values) < 2**53).all())
        return values.astype(np.int64) if exact and (values == np.rint(values)).all() else values

    @cached_property
    def _cells(self) -> Cells:
        return tally_numbers(self.values[~self.missing], None)

    def tallied(self, weights: Floats | None) -> Numbers:
        """The same column with an entry for each distinct number; `weights` are those of rows."""
        if self.rows is not None:
            return self
        if weights is None or (weights == 1).all():
            values, rows, sums = self._cells
        else:
            values, rows, sums = tally_numbers(self.values[~self.missing], weights[~self.missing])
        missing = np.zeros(len(values), dtype=bool)
        return replace(self, values=values, missing=missing, rows=rows, weights=sums)

    @property
    def n_values(self) -> int:
        """The number of different values."""
        return len(self.distinct) if self.binned is None else self.binned.n_values

    def labels(self) -> Labels:
        """The same column with each distinct number as a state, dates as ISO texts."""
        codes = np.searchsorted(self.distinct, self.values).astype(np.int64)
        codes[self.missing] = -1
        states = date_texts(self.distinct) if self.dated else tuple(self.distinct.tolist())
        return Labels(
            self.name, states, codes, written=self.written, rows=self.rows, weights=self.weights
        )

    def intervals(self, cuts: Floats) -> tuple[tuple[str, ...], tuple[float, ...]]:
        """The names of the intervals between rising cuts, and the cuts; dates are rounded."""
        if not self.dated:
            plain = tuple(cuts.astype(np.float64).tolist())
            return cut_labels(plain), plain
        known = ~self.missing
        rows = None if self.rows is None else self.rows[known]
        plain = tuple(round_cuts(self.values[known].astype(np.float64), cuts, rows).tolist())
        return date_labels(plain), plain


Column: TypeAlias = Labels | Numbers


def n_rows(column: Column | Unread) -> int:
    """The number of rows of one column."""
    if isinstance(column, Unread):
        return column.rows
    entries = column.codes if isinstance(column, Labels) else column.values
    more = column.more if isinstance(column, Labels) else 0
    return more + (len(entries) if column.rows is None else int(column.rows.sum()))


def count_rows(column: Column, entries: Bools) -> int:
    """The number of rows of the entries that a mask marks."""
    return int(entries.sum() if column.rows is None else column.rows[entries].sum())


def find_column(columns: Mapping[str, Column], name: str) -> Column:
    """The column called `name`; an unknown name raises and offers the nearest."""
    if name not in columns:
        raise unknown_name("the frame's column", name, columns)
    return columns[name]


def check_columns(columns: Iterable[Column]) -> dict[str, Column]:
    """Columns by name; refuses none, no rows, a name that occurs twice, and different lengths."""
    columns = list(columns)
    check_names(column.name for column in columns)
    by_name = {column.name: column for column in columns}
    lengths = {name: n_rows(column) for name, column in by_name.items()}
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
    return by_name


def columns_of(
    frame: Any, names: Sequence[str] | None = None, *, unusable: dict[str, str] | None = None
) -> list[Column]:
    """The columns of a frame, a 2-D array, a mapping of columns, or columns already made.

    `names` name the columns of an array when there are as many; it has none of its own. A column
    of a kind that has no states raises, or is left out, with the reason in `unusable`.
    """
    if isinstance(frame, list) and frame and all(isinstance(c, Labels | Numbers) for c in frame):
        return frame
    if isinstance(frame, np.ndarray):
        return _of_array(frame, names, unusable)
    if isinstance(frame, Mapping):
        return _each(_of_values, frame.items(), unusable)
    try:
        wrapped = nw.from_native(frame)
    except nw.exceptions.DuplicateError:
        names = list(map(str, getattr(frame, "column_names", None) or frame.columns))
        check_names(names)
        raise
    except TypeError:
        raise DataError(
            f"a table cannot be read from {type(frame).__name__}; pass a pandas, polars or pyarrow "
            "frame, a 2-D numpy array or a mapping of columns, or give the path of a file to read."
        ) from None
    if isinstance(wrapped, nw.LazyFrame):
        raise DataError(
            f"the frame is lazy ({type(frame).__name__}); call its collect() first, which "
            "reads all rows into memory."
        )
    return _each(_of_series, ((s.name, s) for s in wrapped.iter_columns()), unusable)


def known_columns(frame: Any, schema: Schema) -> list[Column]:
    """The columns of a frame for a schema: those of a kind that has no states may be others."""
    unusable: dict[str, str] = {}
    columns = columns_of(frame, schema.names, unusable=unusable)
    check_usable(schema.names, unusable)
    return columns


def check_usable(names: Iterable[str], unusable: Mapping[str, str]) -> None:
    """Refuse a column that is needed, and is of a kind that has no states."""
    for name in names:
        if name in unusable:
            raise DataError(f"column {name!r} holds {unusable[name]}; convert it.")


def _each(
    make: Callable[[str, Any], Column],
    items: Iterable[tuple[Any, Any]],
    unusable: dict[str, str] | None,
) -> list[Column]:
    """The columns of named values; with `unusable` it gets the reasons of those left out."""
    columns = []
    for name, values in items:
        try:
            columns.append(make(str(name), values))
        except UnusableError as error:
            if unusable is None:
                raise
            unusable[str(name)] = f"{error.kind} values, which have no states"
    return columns


def _of_array(
    array: Array, names: Sequence[str] | None, unusable: dict[str, str] | None
) -> list[Column]:
    if array.dtype.names is not None:
        return _each(_of_values, ((name, array[name]) for name in array.dtype.names), unusable)
    if array.ndim != 2:
        raise DataError(f"the array has {array.ndim} axes; 2 are needed: rows by columns.")
    if names is None or len(names) != array.shape[1]:
        names = [f"x{i}" for i in range(array.shape[1])]
    return [_of_values(name, array[:, i]) for i, name in enumerate(names)]


def _of_values(name: str, values: Any) -> Column:
    """A column from a numpy array, a series of a frame library, or a sequence of objects."""
    if isinstance(values, Labels | Numbers):
        return values
    if isinstance(values, Unread):
        raise UnusableError(name, values.kind)
    if isinstance(values, list | tuple):
        return from_objects(name, list(values))
    if not isinstance(values, np.ndarray):
        series = nw.from_native(values, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            return _of_series(name, series)
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise DataError(f"column {name!r} is {values!r}; a sequence of its cells is needed.")
        return from_objects(name, list(values))
    if values.ndim != 1:
        raise DataError(f"column {name!r} has shape {values.shape}; one axis is needed.")
    if isinstance(values, np.ma.MaskedArray):
        cells = np.ma.getdata(values).astype(object)
        cells[np.ma.getmaskarray(values)] = None
        return from_objects(name, cells.tolist())
    kind = values.dtype.kind
    if kind == "b":
        return Labels(name, (False, True), values.astype(np.int8), declared=True)
    if kind in "iuf":
        return Numbers(name, widened(values), np.isnan(values))
    if kind == "M":
        return Numbers(name, *numbers_of(values), dated=True)
    if kind == "m":
        return _durations(name, values)
    if kind == "S":
        return from_objects(name, np.char.decode(values, "utf-8", "replace").tolist())
    if kind in "UO":
        return from_objects(name, values.tolist())
    raise UnusableError(name, str(values.dtype))


def _durations(name: str, values: Array) -> Numbers:
    """A column of lengths of time, in seconds."""
    missing = np.isnat(values)
    return Numbers(name, np.where(missing, 0, values) / np.timedelta64(1, "s"), missing)


def _of_series(name: str, series: nw.Series[Any]) -> Column:
    dtype = series.dtype
    if dtype == nw.Boolean:
        codes = series.cast(nw.Int8).fill_null(-1).to_numpy()
        return Labels(name, (False, True), codes, declared=True)
    if dtype.is_decimal():
        return _of_decimals(name, series)
    if dtype in (nw.Int128, nw.UInt128):  # which numpy does not have
        return from_objects(name, series.to_list())
    if dtype.is_numeric():
        if not series.null_count():
            values = series.to_numpy()
            return Numbers(name, widened(values), np.isnan(values))
        missing = series.is_null().to_numpy()
        values = series.fill_null(0).to_numpy()
        return Numbers(name, widened(values), missing | np.isnan(values))
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return _of_texts(name, series)
    if dtype in (nw.Object, nw.Unknown):
        return from_objects(name, series.to_list())
    if dtype == nw.Datetime and dtype.time_zone is not None:  # type: ignore[attr-defined]
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if dtype == nw.Date:
        series = series.cast(nw.Datetime("us"))  # pandas over Arrow gives objects for dates
    if dtype in (nw.Date, nw.Datetime):
        return Numbers(name, *numbers_of(series.to_numpy().astype("M8[us]")), dated=True)
    if dtype == nw.Duration:
        return _durations(name, series.to_numpy().astype("m8[us]"))
    raise UnusableError(name, str(dtype))


def _of_decimals(name: str, series: nw.Series[Any]) -> Column:
    """A column of decimals: the doubles that are written alike, as 0.35 is, or exact integers."""
    missing = series.is_null().to_numpy()
    texts = (series.fill_null(0) if missing.any() else series).cast(nw.String)
    values = texts.cast(nw.Float64).to_numpy()
    if len(values) and np.abs(values).max() >= 2**53:  # doubles may not tell them apart
        return from_objects(name, series.to_list())
    return Numbers(name, values, missing)


def _of_texts(name: str, series: nw.Series[Any]) -> Column:
    """A column of texts or categories; one message if the memory of its library is no text."""
    bad = "column {!r} holds text that cannot be read ({}); write it again as valid UTF-8."
    with library_errors(lambda words: DataError(bad.format(name, words))):
        try:
            return _of_categories(name, series)
        except UnicodeEncodeError:  # half of a surrogate pair, which only Python's texts can hold
            return from_objects(name, series.to_list())


def _of_categories(name: str, series: nw.Series[Any]) -> Labels:
    """Labels from a frame library's own dictionary of a column, made here for strings.

    A polars Categorical declares nothing (its pool is shared by the whole process and it sorts by
    text), so it is read as strings are; a polars Enum, pandas categories and an Arrow dictionary
    keep their order and their unobserved states.
    """
    if series.implementation.is_polars():
        declared = series.dtype == nw.Enum
        native = series.to_native()
        if not declared:
            native = native.cast(str)
            enum = series.__native_namespace__().Enum
            native = native.cast(enum(native.drop_nulls().unique()))
        codes = native.to_physical().cast(int).fill_null(-1).to_numpy()
        binary = native.dtype.categories.cast(series.__native_namespace__().Binary)
        states = [state.decode() for state in binary.to_list()]  # polars crashes on invalid UTF-8
        return make_labels(name, states, codes, declared=declared)
    declared, pandas = series.dtype != nw.String, not series.implementation.is_pyarrow()
    native = (series.cast(nw.Categorical) if pandas and not declared else series).to_native()
    if hasattr(native, "cat"):
        states, codes = native.cat.categories.tolist(), native.cat.codes.to_numpy()
    else:  # Arrow, or pandas over Arrow
        states, codes = arrow_codes(native.array.__arrow_array__() if pandas else native)
    return make_labels(name, states, codes, declared=declared)


def arrow_codes(values: Any) -> tuple[list[str], Ints]:
    """The states of an Arrow array of texts or of their codes, and the code of each row or -1."""
    if not hasattr(values.type, "value_type"):
        values = values.cast("large_string").dictionary_encode()  # views have no direct way
    if hasattr(values, "chunks"):
        values = values.unify_dictionaries().combine_chunks()
    return values.dictionary.to_pylist(), values.indices.cast("int64").fill_null(-1).to_numpy()


def from_objects(name: str, cells: list[Any]) -> Column:
    """A column from Python objects, of the kind that its values are."""
    try:
        index = {value: code for code, value in enumerate(dict.fromkeys(cells))}
    except TypeError:
        unusable = next(c for c in cells if getattr(c, "__hash__", None) is None)
        raise UnusableError(name, type(unusable).__name__) from None
    codes = np.fromiter(map(index.__getitem__, cells), dtype=np.int64, count=len(cells))
    values = [_plain(value) for value in index]
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {bool}:
        lookup = np.array([-1 if v is None else int(v) for v in values], dtype=np.int8)
        return Labels(name, (False, True), lookup[codes], declared=True)
    if kinds and kinds <= {bool, int, float}:
        missing = np.array([v is None for v in values])
        numbers = np.array([0 if v is None else v for v in values])
        if numbers.dtype.kind in "Of" and int in kinds:  # some do not fit 64 bits, or 53
            reals = numbers.astype(np.float64)
            if len(set(reals.tolist())) < len({0 if v is None else v for v in values}):
                return _exact_numbers(name, values, codes)
            numbers = reals
        return Numbers(name, numbers[codes], missing[codes])
    if kinds and all(issubclass(kind, datetime.date) for kind in kinds):
        days = np.array([np.nan if v is None else day_number(v) for v in values])
        no_date = np.isnan(days)
        return Numbers(name, np.where(no_date, 0.0, days)[codes], no_date[codes], dated=True)
    if kinds == {datetime.timedelta}:
        return _durations(name, np.array(values, dtype="m8[us]")[codes])
    for unusable in kinds - {bool, int, float, str}:
        raise UnusableError(name, unusable.__name__)
    return make_labels(name, values, codes, declared=False)


def _exact_numbers(name: str, values: Sequence[Any], codes: Array) -> Labels:
    """Numbers that doubles cannot tell apart as states, in their order."""
    states = sorted({value for value in values if value is not None})
    place = {state: code for code, state in enumerate(states)}
    lookup = np.array([-1 if value is None else place[value] for value in values])
    return Labels(name, tuple(states), lookup[codes], declared=True)


def make_labels(name: str, states: Sequence[Any], codes: Array, *, declared: bool) -> Labels:
    """Labels without missing states, sorted unless declared; a category of another type is text."""
    present = [state for state in states if _plain(state) is not None]
    if not declared:
        present.sort(key=None if all(isinstance(s, str) for s in present) else str)
    place = {state: code for code, state in enumerate(present)}
    narrow = np.min_scalar_type(-1 - len(present))  # codes of all columns are held at one time
    lookup = np.array([place.get(state, -1) for state in states] + [-1], dtype=narrow)
    plain = (_plain(state) for state in present)
    texts = tuple(s if isinstance(s, str | int | float) else str(s) for s in plain)
    return Labels(name, texts, lookup[codes], declared)


def is_missing(value: Any) -> bool:
    """Whether a value is one of the ways to write a missing cell."""
    return _plain(value) is None


def _plain(value: Any) -> Any:
    """`value` as a plain Python object; None for every way to write a missing cell."""
    value = plain_scalar(value)
    if isinstance(value, float):
        return None if math.isnan(value) else value
    return None if type(value).__name__ in ("NAType", "NaTType") else value  # pandas' own two


class UnusableError(DataError):
    """A column holds values of a kind that has no states."""

    def __init__(self, name: str, kind: str) -> None:
        super().__init__(
            f"column {name!r} holds {kind} values; texts, booleans, numbers, dates or categories "
            "are allowed: convert the column or drop it."
        )
        self.kind = kind
