"""What users hand to a classifier: features in any form, and classes as an array or a name."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.data.columns import Column, Labels, Numbers, columns_of, n_rows
from counterpane.data.files import read_columns
from counterpane.data.prepare import Prepared, prepare
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError, unknown_name
from counterpane.learn.classifiers.training import missing_cells

MANY_CLASSES, ROWS_OF_A_CLASS = 100, 5  # more classes than these need so many rows each, on average


def read_features(X: Any, unusable: dict[str, str] | None = None) -> tuple[bool, list[Column]]:
    """Whether `X` names its columns, and the columns of a frame, array, path, list or `Table`.

    Columns of a kind that has no states raise, or are named in `unusable` with the reason.
    """
    if isinstance(X, str | os.PathLike):
        return True, columns_of(read_columns(X), unusable=unusable)
    if isinstance(X, Table):
        return True, list(X.labels())
    if isinstance(X, CountSource):
        raise DataError(
            f"the rows of a {type(X).__name__} have no order to predict them in; pass a frame, an "
            "array, a file or a Table."
        )
    if hasattr(X, "tocsr"):
        raise DataError(f"X is a sparse {type(X).__name__}; pass X.toarray(), or a frame.")
    plain = isinstance(X, list | tuple) and not (X and isinstance(X[0], Labels | Numbers))
    frame = hasattr(X, "columns") or hasattr(X, "__narwhals_dataframe__")
    if plain or (hasattr(X, "__array__") and not frame and not isinstance(X, np.ma.MaskedArray)):
        X = np.asarray(X)
    if isinstance(X, np.ndarray) and X.dtype.names is None:
        if X.dtype.kind == "c":
            raise DataError("Complex data not supported: X holds complex numbers; split them.")
        if X.ndim != 2:
            raise DataError(
                f"X has {X.ndim} axes; 2 are needed, rows by columns. Reshape your data: "
                "X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
            )
        if not X.shape[1]:
            raise DataError(
                f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
            )
        return False, columns_of(X, unusable=unusable)
    return True, columns_of(X, unusable=unusable)


def prepare_features(
    columns: list[Column], unusable: dict[str, str] | None, keep: Collection[str] | None
) -> Prepared:
    """The columns that a class can be learned from; all of them where no column would be left."""
    prepared = prepare(columns, keep=keep or (), leave_some=True)
    prepared.left_out.update(unusable or {})
    return prepared


def column_names(names: Sequence[str], columns: Iterable[str | int] | None) -> list[str] | None:
    """The names of columns given by name or position, for the parameter `categorical`."""
    if columns is None:
        return None
    found = []
    for column in [columns] if isinstance(columns, str) else columns:
        if isinstance(column, str) and column in names:
            found.append(column)
        elif isinstance(column, int | np.integer) and 0 <= column < len(names):
            found.append(names[int(column)])
        elif isinstance(column, str):
            raise unknown_name("categorical column", column, names)
        else:
            raise ParameterError(
                f"categorical names column {column!r}; names or positions 0 … {len(names) - 1} are "
                "allowed."
            )
    return found


def check_sizes(columns: Sequence[Column], rows: int) -> None:
    """Refuse columns that are none, empty, or of another length than the class."""
    if not columns:
        raise DataError("X has no columns beside the class; at least one feature is needed.")
    if not rows:
        raise DataError("there are no rows; at least one is needed.")
    for column in columns:
        if n_rows(column) != rows:
            raise DataError(
                f"column {column.name!r} has {n_rows(column)} rows and y has {rows}; both need the "
                "same number."
            )


def column_called(columns: Sequence[Column], name: str, named: bool) -> Column:
    """The column of that name; an unknown name raises and offers the nearest."""
    for column in columns:
        if named and column.name == name:
            return column
    raise unknown_name("the column of classes", name, [c.name for c in columns] if named else ())


def column_of_classes(y: Any, names: Sequence[str]) -> tuple[Column, Any]:
    """The column of an array or series of classes, and the type that `classes_` will have."""
    name = getattr(y, "name", None)
    if isinstance(name, str) and name in names:
        raise DataError(
            f"y is called {name!r}, and X has a column of that name; drop that column from X, pass "
            f"y={name!r} if it is the class, or rename y."
        )
    if not isinstance(name, str) or not name:
        name = "class"
        while name in names:
            name += "_"
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning  # slow, and only needed here

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; it was flattened.",
            DataConversionWarning,
            stacklevel=3,
        )
        y = array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"y should be a 1d array of classes; it has shape {array.shape}.")
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: y holds complex numbers; classes are needed.")
    keeps = array.dtype.kind in "biufU"
    values = y if hasattr(y, "dtype") or hasattr(y, "type") else array
    columns = columns_of({name: values})
    return columns[0], array.dtype if keeps else object


def class_labels(column: Column) -> Labels:
    """A column of classes as labels; refuses missing cells, fractions and too many classes."""
    holes = missing_cells(column)
    if holes.any():
        raise DataError(
            f"the class {column.name!r} of row {int(np.argmax(holes))} is missing; drop rows "
            "without a class."
        )
    values = column.distinct if isinstance(column, Numbers) else column.states
    if isinstance(column, Numbers) and column.distinct.dtype.kind not in "iu":
        raise DataError(
            f"Unknown label type: continuous: the class {column.name!r} holds numbers such as "
            f"{column.distinct[0]}; whole numbers, texts, booleans or categories are needed: cut "
            "it into intervals, such as pandas.qcut(y, 4)."
        )
    if len(values) > MANY_CLASSES and len(holes) < ROWS_OF_A_CLASS * len(values):
        raise DataError(
            f"the class {column.name!r} has {len(values):,} different values in {len(holes):,} "
            "rows, too many to learn from; cut numbers into intervals, such as pandas.qcut(y, 4), "
            "or join rare classes."
        )
    if isinstance(column, Numbers):
        return column.labels()
    if all(isinstance(s, bool) for s in column.states):  # these two were declared by nobody
        seen = np.unique(column.codes)
        return Labels(
            column.name, tuple(bool(s) for s in seen), np.searchsorted(seen, column.codes)
        )
    return column
