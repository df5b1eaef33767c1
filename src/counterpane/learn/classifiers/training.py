"""What a classifier learns from: columns and a class in; states, labels and numbers out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from counterpane.data.columns import Column, Labels, Numbers
from counterpane.data.encoder import cut_variable, encode_rows
from counterpane.data.intervals import mdl_cuts
from counterpane.data.schema import Schema, Variable
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError, Setting
from counterpane.learn.base import Missing
from counterpane.learn.gap_policy import GapPolicy, explicit_policy
from counterpane.typing import Array, Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Training:
    """The rows that a classifier learns from; a row of weight zero is not among them.

    `table` holds the features: a missing cell is a state of its own (None) where there are any,
    and a column of numbers was cut against the class. `labels` are the codes of the class, of
    which some may have no row. `numbers`, (len(numeric), rows), holds the columns at the positions
    `numeric` as they were before the cuts, NaN where missing.
    """

    table: Table
    target: Variable
    labels: Ints
    numeric: tuple[int, ...]
    numbers: Floats

    @property
    def joint(self) -> Table:
        """The features, and the class as the last column."""
        schema = Schema([*self.table.schema, self.target])
        joint = Table(schema, np.vstack([self.table.codes, self.labels]), self.table.weights)
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
    variables = [
        _cut_variable(column, labels, weights, len(target.states), max_bins)
        if i in numeric and isinstance(column, Numbers)
        else _state_variable(column)
        for i, column in enumerate(columns)
    ]
    codes, numbers = encode_rows(columns, variables, numeric)
    class_variable = Variable(target.name, target.states)
    if target.cut is not None:
        class_variable = replace(target.cut, name=target.name)
    return Training(
        Table(Schema(variables), codes, weights), class_variable, labels, numeric, numbers
    )


def missing_cells(column: Column) -> Bools:
    """Which rows of a column are missing."""
    return column.codes < 0 if isinstance(column, Labels) else column.missing


def check_policy(missing: Missing) -> None:
    """Refuse a policy for missing cells that classifiers do not have."""
    if missing not in ("auto", "state", "drop", "error"):
        raise ParameterError(
            Setting("missing", missing), "; 'auto', 'state', 'drop' or 'error' is allowed."
        )


def policy_of_columns(
    columns: Sequence[Column], weights: Array | None, missing: Missing
) -> GapPolicy:
    """What is done about the missing cells of features, and how many there are."""
    each = [missing_cells(column) for column in columns]
    cells = [float(m.sum() if weights is None else m @ weights) for m in each]
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
        holes = missing_cells(column) & used
        if missing == "error" and holes.any():
            raise DataError(
                f"column {column.name!r} has missing cells, the first of them in row "
                f"{int(np.argmax(holes))}; pass ",
                Setting("missing", "state"),
                " or ",
                Setting("missing", "drop"),
                ".",
            )
        used = used & ~holes
    if not used.any():
        raise DataError("each row has a missing cell; pass ", Setting("missing", "state"), ".")
    return used


def _take(column: Column, rows: Bools) -> Column:
    if isinstance(column, Labels):
        return _take_labels(column, rows)
    return Numbers(column.name, column.values[rows], column.missing[rows], column.dated)


def _take_labels(labels: Labels, rows: Bools) -> Labels:
    """Some rows of a column; unless its states are declared, those that lost all rows go."""
    codes = labels.codes[rows]
    if labels.declared:
        return replace(labels, codes=codes)
    seen = np.unique(codes[codes >= 0])
    lookup = np.append(np.searchsorted(seen, np.arange(len(labels.states))), -1)
    return Labels(labels.name, tuple(labels.states[c] for c in seen), lookup[codes])


def _numeric(
    columns: Sequence[Column], categorical: Collection[str] | None, max_states: int
) -> tuple[int, ...]:
    """The positions of the columns that are numbers, by the rule that `Classifier` tells."""
    numbers = {i: c for i, c in enumerate(columns) if isinstance(c, Numbers)}
    named: Collection[int]
    if categorical is None:
        named = [i for i, c in numbers.items() if _has_few_values(c, max_states)]
    else:
        named = [i for i, c in enumerate(columns) if c.name in categorical]
    return tuple(i for i in numbers if i not in named)


def _has_few_values(column: Numbers, max_states: int) -> bool:
    return column.distinct.dtype.kind in "iu" and len(column.distinct) <= max_states


def _state_variable(column: Column) -> Variable:
    """The variable of a column whose values are states as they are, or were cut before."""
    labels = column.labels() if isinstance(column, Numbers) else column
    hole = (None,) if (labels.codes < 0).any() else ()
    states = (*labels.states, *hole)
    if labels.cut is not None:
        return replace(labels.cut, states=states)
    return Variable(column.name, states)


def _cut_variable(
    column: Numbers, labels: Ints, weights: Array | None, n_classes: int, max_bins: int | None
) -> Variable:
    """The variable of a column of numbers, cut against the class."""
    values = column.values.astype(np.float64)
    rows = ~column.missing
    endless = rows & np.isinf(values)
    if endless.any():
        row = int(np.argmax(endless))
        raise DataError(
            f"column {column.name!r} holds {values[row]} (row {row} of those used); a finite "
            "number, or a missing cell, is needed."
        )
    weighed = np.ones(len(values)) if weights is None else weights.astype(np.float64)
    cuts = mdl_cuts(values[rows], labels[rows], weighed[rows])
    if max_bins is not None and len(cuts) >= max_bins:
        cells = np.searchsorted(cuts, values[rows], side="right") * n_classes + labels[rows]
        counts = np.bincount(cells, weighed[rows], (len(cuts) + 1) * n_classes).astype(float)
        cuts = _fewer_cuts(cuts, counts.reshape(-1, n_classes), max_bins)
    hole = () if rows.all() else (None,)
    variable = cut_variable(column, cuts, weights)
    return replace(variable, states=(*variable.states, *hole))


def _fewer_cuts(cuts: Floats, counts: Floats, max_bins: int) -> Floats:
    """`cuts` without those that tell least of the class, one after the other.

    `counts` are those of (interval, class); a cut tells the entropy, in nats × weight, that its
    two intervals lose when they become one.
    """
    while len(cuts) >= max_bins:
        joined = counts[:-1] + counts[1:]
        bits = _weighed_entropy(counts)
        least = int(np.argmin(_weighed_entropy(joined) - bits[:-1] - bits[1:]))
        counts = np.delete(counts, least, axis=0)
        counts[least] = joined[least]
        cuts = np.delete(cuts, least)
    return cuts


def _weighed_entropy(counts: Floats) -> Floats:
    """N times the entropy of each row of counts, in nats."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    nats: Floats = -(counts * logs).sum(axis=1)
    return nats
