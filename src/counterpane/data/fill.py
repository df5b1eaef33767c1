"""The gaps of a frame, and the same frame with values in them; every other cell stays as it is."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from counterpane.data.columns import Column, Labels, Numbers
from counterpane.data.dates import date_texts, datetimes
from counterpane.data.intervals import draw_numbers, interval_points
from counterpane.data.schema import Variable
from counterpane.data.table import Table
from counterpane.errors import DataError
from counterpane.lazy import lazy
from counterpane.typing import Array, Bools, Floats, Ints, State

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
else:
    nw = lazy("narwhals.stable.v2")


class Patch(NamedTuple):
    """Values to write into some rows of a column; dates are days since 1970-01-01 if `dated`."""

    rows: Ints
    values: Array
    dated: bool = False

    def floats(self) -> Floats:
        """The values as numbers, and texts that are numbers as these."""
        return np.array([float(value) for value in self.values.tolist()])

    def plain(self) -> Array:
        """The values as numbers or objects; days as datetime64."""
        if not self.dated:
            return self.values
        return datetimes(self.floats())

    def durations(self) -> Array:
        """Seconds as timedelta64."""
        return np.rint(self.floats() * 1e6).astype(np.int64).astype("m8[us]")


def gaps_in(column: Column) -> Bools:
    """Which rows of a column have no value."""
    if isinstance(column, Numbers):
        return column.missing
    missing = [code for code, state in enumerate(column.states) if state is None]
    gaps: Bools = (column.codes < 0) | np.isin(column.codes, missing)
    return gaps


def cell_values(
    variable: Variable, codes: Ints, column: Column, rng: np.random.Generator | None
) -> Array:
    """The values that codes stand for: states, or for a column that was cut numbers.

    The number of an interval is the median of the training values in it, or with `rng` a draw from
    them. A variable that kept no quantiles takes the values that `column` has in the interval, and
    where it has none the middle of the interval, or its only end. A column that names its intervals
    gets their names.
    """
    named = isinstance(column, Labels) and any(state is not None for state in column.states)
    if variable.cuts is None or named:
        states: Array = np.empty(variable.card, dtype=object)
        states[:] = variable.states
        chosen: Array = states[codes]
        if isinstance(column, Numbers) and column.values.dtype.kind == "f" and not column.dated:
            numeric = all(isinstance(value, int | float) for value in chosen.tolist())
            return chosen.astype(np.float64) if numeric else chosen
        return chosen
    if variable.quantiles is not None and rng is not None:
        return _whole(variable, draw_numbers(variable, codes, rng))
    values: Floats = np.empty(0)
    if isinstance(column, Numbers):
        values = column.values[~column.missing].astype(np.float64)
    places = np.searchsorted(variable.cuts, values, side="right")
    out: Floats = np.empty(len(codes))
    for code in np.unique(codes).tolist():
        rows = np.flatnonzero(codes == code)
        observed = values[places == code] if variable.quantiles is None else np.empty(0)
        if observed.size and rng is not None:
            out[rows] = rng.choice(observed, rows.size)
        elif observed.size:
            out[rows] = np.sort(observed)[(observed.size - 1) // 2]
        else:
            out[rows] = _middle(variable, code)
    return _whole(variable, out)


def _whole(variable: Variable, numbers: Floats) -> Array:
    """The numbers, as integers where the column had no others."""
    integers = variable.step == 1 and not variable.dated and (np.abs(numbers) < 2**53).all()
    return numbers.astype(np.int64) if integers else numbers


def _middle(variable: Variable, code: int) -> float:
    """The median of an interval by its quantiles, else its middle, or its only end."""
    points = interval_points(variable, code)
    if points is not None and len(points) > 2:
        return float(points[len(points) // 2])
    cuts = variable.cuts or (0.0,)
    ends = cuts[max(code - 1, 0) : code + 1]
    middle = sum(ends) / len(ends)
    per = None if variable.step is None else round(1 / variable.step)
    return middle if per is None else float(np.rint(middle * per) / per)


def filled(frame: Any, patches: Mapping[str, Patch], names: Sequence[str] | None = None) -> Any:
    """The frame with patches by column name: of the same kind, with the same types and order.

    `names` are those of the columns of an array. A column whose type cannot hold a value (a state
    that is no category of it) becomes text.

    >>> filled({"size": [1.0, None], "id": [7, 8]}, {"size": Patch(np.array([1]), np.array([2.5]))})
    {'size': [1.0, 2.5], 'id': [7, 8]}
    """
    if isinstance(frame, Table):
        return _in_table(frame, patches)
    if isinstance(frame, list) and all(isinstance(c, Labels | Numbers) for c in frame):
        return [_in_column(c, patches[c.name]) if c.name in patches else c for c in frame]
    if isinstance(frame, np.ndarray):
        return _in_array(frame, patches, names)
    if isinstance(frame, Mapping):
        changed = {k: _in_values(v, patches[str(k)]) for k, v in frame.items() if str(k) in patches}
        return {**frame, **changed}
    wrapped = nw.from_native(frame, eager_only=True)
    series = [
        _in_series(wrapped[name], patches[str(name)])
        for name in wrapped.columns
        if str(name) in patches
    ]
    return wrapped.with_columns(*series).to_native() if series else frame


def _in_table(table: Table, patches: Mapping[str, Patch]) -> Table:
    codes = table.codes.copy()
    for name, patch in patches.items():
        variable = table.schema[name]
        codes[table.schema.index(name), patch.rows] = [variable.code(v) for v in patch.values]
    return Table(table.schema, codes, table.weights)


def _in_column(column: Column, patch: Patch) -> Column:
    if isinstance(column, Numbers):
        integral = (
            column.values.dtype.kind in "iu" and (patch.values == np.rint(patch.floats())).all()
        )
        values = column.values.copy() if integral else column.values.astype(np.float64)
        values[patch.rows] = patch.floats()
        missing = column.missing.copy()
        missing[patch.rows] = False
        return replace(column, values=values, missing=missing)
    codes = column.codes.astype(np.int64)
    place = {state: code for code, state in enumerate(column.states)}
    states: Sequence[State] = date_texts(patch.floats()) if patch.dated else patch.values.tolist()
    for state in states:
        place.setdefault(state, len(place))
    codes[patch.rows] = [place[state] for state in states]
    return replace(column, states=tuple(place), codes=codes)


def _in_array(array: Array, patches: Mapping[str, Patch], names: Sequence[str] | None) -> Array:
    out = array.copy()
    if array.dtype.names is not None:
        for name, patch in patches.items():
            out[name][patch.rows] = patch.plain()
        return out
    if names is None or len(names) != array.shape[1]:
        names = [f"x{i}" for i in range(array.shape[1])]
    for name, patch in patches.items():
        out[patch.rows, list(names).index(name)] = patch.plain()
    return out


def _in_values(values: Any, patch: Patch) -> Any:
    """A column of a mapping."""
    if isinstance(values, np.ndarray):
        out = np.ma.getdata(values).copy() if np.ma.isMaskedArray(values) else values.copy()
        if out.dtype.kind == "U":
            out = out.astype(object)
        out[patch.rows] = patch.durations() if out.dtype.kind == "m" else patch.plain()
        return out
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _in_series(series, patch).to_native()
    cells = list(values)
    kind = type(next((cell for cell in cells if cell is not None), None))
    times = patch.durations() if kind is datetime.timedelta else patch.plain()
    for row, value in zip(patch.rows.tolist(), times.tolist(), strict=True):
        cells[row] = value.date() if patch.dated and kind is datetime.date else value
    return cells


def _in_series(series: nw.Series[Any], patch: Patch) -> nw.Series[Any]:
    """A column of a frame library; as text where its type cannot hold the values."""
    left = int(series.is_null().sum()) - len(patch.rows)
    for write in (_scattered, _rebuilt, _by_text, _as_text):
        try:
            done = write(series, patch)
        except Exception:  # each library has errors of its own for values that a type cannot hold
            continue
        if int(done.is_null().sum()) <= left:
            return done
    raise DataError(
        f"column {series.name!r} of type {series.dtype} cannot hold the value "
        f"{patch.values.tolist()[0]!r}; convert the column to text first."
    )


def _scattered(series: nw.Series[Any], patch: Patch) -> nw.Series[Any]:
    return series.scatter(patch.rows.tolist(), _values_for(series, patch))


def _rebuilt(series: nw.Series[Any], patch: Patch) -> nw.Series[Any]:
    """From the cells as objects, for types that cannot be written to (durations of Arrow)."""
    cells = _in_values(series.to_list(), patch)
    return nw.new_series(series.name, cells, series.dtype, backend=series.implementation)


def _by_text(series: nw.Series[Any], patch: Patch) -> nw.Series[Any]:
    return _as_text(series, patch).cast(series.dtype)


def _as_text(series: nw.Series[Any], patch: Patch) -> nw.Series[Any]:
    return _scattered(series.cast(nw.String), patch)


def _values_for(series: nw.Series[Any], patch: Patch) -> Any:
    """The values in terms of a column's type."""
    dtype = series.dtype
    if patch.dated or dtype == nw.Duration:
        cells = patch.plain() if patch.dated else patch.durations()
        times = nw.new_series("", cells, backend=series.implementation)
        zone = getattr(dtype, "time_zone", None)
        if zone is not None:
            times = times.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        return times.cast(dtype)
    if dtype.is_integer():
        return np.rint(patch.floats()).astype(np.int64).tolist()
    if dtype.is_numeric():
        return patch.floats().tolist()
    if dtype == nw.String:
        return [str(value) for value in patch.plain().tolist()]
    return patch.plain().tolist()
