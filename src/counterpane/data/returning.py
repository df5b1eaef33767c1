"""Rows that go back to the caller as a frame of the kind that came in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from counterpane.data.columns import Column
from counterpane.data.exporting import Exportable, column_array, column_list, frame_kind_of, library
from counterpane.data.table import Table


class Columns(Exportable):
    """Columns that become a frame."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._made = list(columns)

    def to_columns(self) -> Sequence[Column]:
        """The columns, in order."""
        return self._made


def like(frame: Any, rows: Exportable | Sequence[Column]) -> Any:
    """`rows` as a frame of the kind of `frame`: pandas, polars, pyarrow, a mapping or an array.

    A column that `frame` has as well gets the type that it has there, if that can hold its cells: a
    text is a text and no category. Where there are as many rows, a pandas frame has the same index.
    What goes with no frame (a `Table`, a path, `Column`s) gets a `Table` back as it is, and other
    columns as a frame of the library that is installed.

    >>> like({"size": [1, 2]}, Table.from_frame({"kind": ["a", "b"]}))
    {'kind': ['a', 'b']}
    """
    made = rows if isinstance(rows, Exportable) else Columns(rows)
    if isinstance(frame, Mapping):
        return {c.name: column_list(c) for c in made.to_columns()}
    if isinstance(frame, np.ndarray):
        return np.asarray(_stacked(made.to_columns()))
    kind = frame_kind_of(frame)
    if kind is None:
        if isinstance(made, Table):
            return made
        return made.to_frame(frame.frame_kind if isinstance(frame, Table) else None)
    found = made.to_frame(kind)
    return _TYPED[kind](found, frame)


def _stacked(columns: Sequence[Column]) -> Any:
    cells = [column_array(c) for c in columns]
    plain = all(c.dtype.kind in "iuf" for c in cells)
    return np.column_stack(cells if plain else [c.astype(object) for c in cells])


def _pandas(found: Any, frame: Any) -> Any:
    """A pandas frame with the index and the types of another."""
    if len(found) == len(frame):
        found.index = frame.index
    if hasattr(frame, "columns"):
        for name in found.columns.intersection(frame.columns):
            kept = _cast(lambda: found[name].astype(frame[name].dtype))  # noqa: B023
            if kept is not None and kept.isna().sum() == found[name].isna().sum():
                found[name] = kept
    return found


def _polars(found: Any, frame: Any) -> Any:
    """A polars frame with the types of another."""
    for name in set(found.columns) & set(getattr(frame, "columns", ())):
        kept = _cast(lambda: found[name].cast(frame.schema[name]))  # noqa: B023
        if kept is not None:
            found = found.with_columns(kept)
    return found


def _arrow(found: Any, frame: Any) -> Any:
    """An Arrow table with the types of another."""
    arrow = library("pyarrow")
    names = set(getattr(frame, "column_names", ()))
    for place, name in enumerate(found.column_names):
        if name in names:
            kept = _cast(lambda: found.column(place).cast(frame.schema.field(name).type))  # noqa: B023
            if kept is not None:
                field = arrow.field(name, kept.type)
                found = found.set_column(place, field, kept)
    return found


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
