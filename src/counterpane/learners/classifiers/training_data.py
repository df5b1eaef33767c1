"""Training data of classifiers: any table and its classes in; states, labels and numbers out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource
from counterpane.data.columns import Column, Labels, Numbers, columns_of, n_rows
from counterpane.data.encoding import encode_rows
from counterpane.data.intervals import mdl_cuts
from counterpane.data.prepare import Prepared, prepare
from counterpane.data.reading import read_columns
from counterpane.data.schema import Schema, Variable
from counterpane.data.schema_inference import cut_variable
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError, Setting, shown_type, unknown_name
from counterpane.learners.base import Missing
from counterpane.learners.gap_policy import GapPolicy, explicit_policy
from counterpane.typing import Array, Bools, Floats, Ints

MANY_CLASSES, ROWS_PER_CLASS = 100, 5  # with more classes than these, so many rows each are needed


def read_features(X: Any, unusable: dict[str, str] | None = None) -> tuple[bool, list[Column]]:
    """Whether `X` names its columns, and the columns of a frame, array, path, list or `Table`.

    Columns of a kind that has no states raise, or are named in `unusable` with the reason.
    """
    if isinstance(X, str | os.PathLike):
        return True, columns_of(read_columns(X), unusable=unusable)
    if isinstance(X, Table):
        return True, list(X.labels(unknown=True))  # predictions know the difference
    if isinstance(X, CountSource):
        raise DataError(
            f"the rows of {shown_type(X)} have no order to predict them in; pass a frame, an "
            "array, a file or a Table."
        )
    if hasattr(X, "tocsr"):
        raise DataError(f"X is a sparse {type(X).__name__}; pass X.toarray(), or a frame.")
    is_list = isinstance(X, list | tuple) and not (X and isinstance(X[0], Labels | Numbers))
    is_frame = hasattr(X, "columns") or hasattr(X, "__narwhals_dataframe__")
    is_masked = isinstance(X, np.ma.MaskedArray)
    if is_list or (hasattr(X, "__array__") and not is_frame and not is_masked):
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
    columns: list[Column],
    unusable: dict[str, str] | None,
    keep: Collection[str] | None,
    *,
    many_states: bool,
) -> Prepared:
    """The columns that a class can be learned from; all columns if none would be left."""
    prepared = prepare(columns, keep=keep or (), leave_some=True, many_states=many_states)
    prepared.left_out.update(unusable or {})
    return prepared


def column_names(names: Sequence[str], columns: Iterable[str | int] | None) -> list[str] | None:
    """The names of the columns of the parameter `categorical`, which may be positions."""
    if columns is None:
        return None
    result = []
    for column in [columns] if isinstance(columns, str) else columns:
        if isinstance(column, str) and column in names:
            result.append(column)
        elif isinstance(column, int | np.integer) and 0 <= column < len(names):
            result.append(names[int(column)])
        elif isinstance(column, str):
            raise unknown_name("categorical column", column, names)
        else:
            raise ParameterError(
                f"categorical names column {column!r}; names or positions 0 … {len(names) - 1} are "
                "allowed."
            )
    return result


def check_sizes(columns: Sequence[Column], rows: int) -> None:
    """Refuse an empty list of columns, no rows, or columns of another length than the class."""
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
    """The column of that name; an unknown name raises and suggests the nearest."""
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
    has_own_type = array.dtype.kind in "biufU"
    values = y if hasattr(y, "dtype") or hasattr(y, "type") else array
    columns = columns_of({name: values})
    return columns[0], array.dtype if has_own_type else object


def class_labels(column: Column) -> Labels:
    """A column of classes as labels; refuses missing cells, fractions and too many classes."""
    gaps = missing_cells(column)
    if gaps.any():
        raise DataError(
            f"the class {column.name!r} of row {int(np.argmax(gaps))} is missing; drop rows "
            "without a class."
        )
    values = column.distinct if isinstance(column, Numbers) else column.states
    real = isinstance(column, Numbers) and column.distinct.dtype.kind not in "iu"
    if isinstance(column, Numbers) and real and not column.dated:
        raise DataError(
            f"Unknown label type: continuous: the class {column.name!r} holds numbers such as "
            f"{column.distinct[0]}; whole numbers, texts, booleans or categories are needed: cut "
            "it into intervals, such as pandas.qcut(y, 4)."
        )
    if len(values) > MANY_CLASSES and len(gaps) < ROWS_PER_CLASS * len(values):
        raise DataError(
            f"the class {column.name!r} has {len(values):,} different values in {len(gaps):,} "
            "rows, too many to learn from; cut numbers into intervals, such as pandas.qcut(y, 4), "
            "or join rare classes."
        )
    if isinstance(column, Numbers):
        return column.labels()
    if all(isinstance(s, bool) for s in column.states):  # not declared: only those that occur
        seen = np.unique(column.codes)
        return Labels(
            column.name, tuple(bool(s) for s in seen), np.searchsorted(seen, column.codes)
        )
    return column


@dataclass(frozen=True, eq=False)
class Training:
    """The rows that a classifier learns from, without rows of weight zero.

    `table` holds the features: missing cells, if there are any, are a state (None), and columns of
    numbers are cut into intervals against the class. `labels` are the codes of the class; some
    classes may have no row. `numbers`, (len(numeric), rows), holds the columns at the positions
    `numeric` before the cuts, NaN where missing.
    """

    table: Table
    target: Variable
    labels: Ints
    numeric: tuple[int, ...]
    numbers: Floats
    n_jobs: int = 1

    @cached_property
    def source(self) -> MemoryCounts:
        """Counts of the rows."""
        return MemoryCounts(self.joint, n_jobs=self.n_jobs)

    @cached_property
    def joint(self) -> Table:
        """The features, and the class as the last column."""
        schema = Schema([*self.table.schema, self.target])
        names = [schema.names[place] for place in self.numeric if schema[place].cuts is not None]
        numbers = dict(zip(names, self.numbers, strict=False))
        codes = np.vstack([self.table.codes, self.labels])
        joint = Table(schema, codes, self.table.weights, numbers=numbers)
        joint.frame_kind = self.table.frame_kind
        return joint


def make_training(
    columns: Sequence[Column],
    target: Labels,
    weights: Array | None,
    *,
    categorical: Collection[str] | None,
    max_states: int,
    max_bins: int | None,
    missing: Missing,
    n_jobs: int = 1,
) -> Training:
    """The training rows of columns and a class; parameters are those of `Classifier`."""
    if max_states < 0 or (max_bins is not None and max_bins < 1):
        raise ParameterError(
            f"max_states={max_states}, max_bins={max_bins}; 0 or more states and 1 or more bins "
            "are allowed."
        )
    rows = _rows_to_use(columns, weights, missing)
    if not rows.all():
        columns = [_take(column, rows) for column in columns]
        target = _take_labels(target, rows)
        weights = None if weights is None else weights[rows]
    if weights is not None and (weights == 1).all():
        weights = None
    labels = target.codes.astype(np.int64)
    numeric = _numeric(columns, categorical, max_states)
    variables = []
    for i, column in enumerate(columns):
        if i not in numeric or not isinstance(column, Numbers):
            variables.append(_state_variable(column))
        else:
            variables.append(_cut_variable(column, labels, weights, len(target.states), max_bins))
    codes, numbers = encode_rows(columns, variables, numeric)
    class_variable = Variable(target.name, target.states, written=target.written)
    if target.cut is not None:
        class_variable = replace(target.cut, name=target.name)
    table = Table(Schema(variables), codes, weights)
    return Training(table, class_variable, labels, numeric, numbers, n_jobs)


def missing_cells(column: Column) -> Bools:
    """Which rows of a column are missing."""
    return column.codes < 0 if isinstance(column, Labels) else column.missing


def check_policy(missing: Missing) -> None:
    """Refuse a missing-value policy that classifiers do not have."""
    if missing not in ("auto", "state", "drop", "error"):
        raise ParameterError(
            Setting("missing", missing), "; 'auto', 'state', 'drop' or 'error' is allowed."
        )


def policy_of_columns(
    columns: Sequence[Column], weights: Array | None, missing: Missing
) -> GapPolicy:
    """The missing-value policy of features, and the number of missing cells."""
    masks = [missing_cells(column) for column in columns]
    cells = [float(m.sum() if weights is None else m @ weights) for m in masks]
    gaps = np.array([n > 0 for n in cells], dtype=bool)
    policy = "state" if missing == "auto" else missing
    return explicit_policy(policy, [column.name for column in columns], gaps, sum(cells))


def _rows_to_use(columns: Sequence[Column], weights: Array | None, missing: Missing) -> Bools:
    """The rows that have a weight and, unless missing cells are states, no missing cell."""
    check_policy(missing)
    used = np.ones(len(missing_cells(columns[0])), dtype=bool) if weights is None else weights > 0
    if missing in ("auto", "state"):
        return used
    for column in columns:
        gaps = missing_cells(column) & used
        if missing == "error" and gaps.any():
            raise DataError(
                f"column {column.name!r} has missing cells, the first of them in row "
                f"{int(np.argmax(gaps))}; pass ",
                Setting("missing", "state"),
                " or ",
                Setting("missing", "drop"),
                ".",
            )
        used = used & ~gaps
    if not used.any():
        raise DataError("each row has a missing cell; pass ", Setting("missing", "state"), ".")
    return used


def _take(column: Column, rows: Bools) -> Column:
    if isinstance(column, Labels):
        return _take_labels(column, rows)
    return column.take(rows)


def _take_labels(labels: Labels, rows: Bools) -> Labels:
    """Some rows of a column; states that lose all rows are dropped unless they are declared."""
    codes = labels.codes[rows]
    if labels.declared:
        return replace(labels, codes=codes)
    seen = np.unique(codes[codes >= 0])
    lookup = np.append(np.searchsorted(seen, np.arange(len(labels.states))), -1)
    return replace(labels, states=tuple(labels.states[c] for c in seen), codes=lookup[codes])


def _numeric(
    columns: Sequence[Column], categorical: Collection[str] | None, max_states: int
) -> tuple[int, ...]:
    """The positions of the columns that are numbers, by the rule in `Classifier`."""
    numbers = {i: c for i, c in enumerate(columns) if isinstance(c, Numbers)}
    if categorical is not None:
        return tuple(i for i, c in numbers.items() if c.name not in categorical)
    return tuple(i for i, c in numbers.items() if not _has_few_values(c, max_states))


def _has_few_values(column: Numbers, max_states: int) -> bool:
    return column.distinct.dtype.kind in "iu" and len(column.distinct) <= max_states


def _state_variable(column: Column) -> Variable:
    """The variable of a column whose values are states, or were cut before."""
    labels = column.labels() if isinstance(column, Numbers) else column
    gap_state = (None,) if (labels.codes < 0).any() else ()
    states = (*labels.states, *gap_state)
    if labels.cut is not None:
        return replace(labels.cut, states=states)
    return Variable(column.name, states, written=column.written)


def _cut_variable(
    column: Numbers, labels: Ints, weights: Array | None, n_classes: int, max_bins: int | None
) -> Variable:
    """The variable of a column of numbers, cut against the class."""
    values = column.values.astype(np.float64)
    rows = ~column.missing
    infinite = rows & np.isinf(values)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise DataError(
            f"column {column.name!r} holds {values[row]} (row {row} of those used); a finite "
            "number, or a missing cell, is needed."
        )
    row_weights = np.ones(len(values)) if weights is None else weights.astype(np.float64)
    cuts = mdl_cuts(values[rows], labels[rows], row_weights[rows])
    if max_bins is not None and len(cuts) >= max_bins:
        cells = np.searchsorted(cuts, values[rows], side="right") * n_classes + labels[rows]
        counts = np.bincount(cells, row_weights[rows], (len(cuts) + 1) * n_classes).astype(float)
        cuts = _fewer_cuts(cuts, counts.reshape(-1, n_classes), max_bins)
    return _with_gap_state(cut_variable(column, cuts, weights), column)


def _with_gap_state(variable: Variable, column: Numbers) -> Variable:
    """The variable with a last state for missing cells, if the column has some."""
    if not column.missing.any():
        return variable
    return replace(variable, states=(*variable.states, None))


def _fewer_cuts(cuts: Floats, counts: Floats, max_bins: int) -> Floats:
    """`cuts` without the least informative ones, which are removed one after the other.

    `counts` are those of (interval, class). The information of a cut is the increase in entropy,
    in nats × weight, when its two intervals are merged.
    """
    while len(cuts) >= max_bins:
        merged = counts[:-1] + counts[1:]
        nats = _total_entropy(counts)
        least = int(np.argmin(_total_entropy(merged) - nats[:-1] - nats[1:]))
        counts = np.delete(counts, least, axis=0)
        counts[least] = merged[least]
        cuts = np.delete(cuts, least)
    return cuts


def _total_entropy(counts: Floats) -> Floats:
    """N times the entropy of each row of counts, in nats."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    nats: Floats = -(counts * logs).sum(axis=1)
    return nats
