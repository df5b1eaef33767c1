"""Which states the columns of a frame have: declared, observed, or cut from numbers."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from counterpane.data.columns import Column, Labels, Numbers, find_column
from counterpane.data.cuts import mdl_cuts, quantile_cuts
from counterpane.data.dates import day_number
from counterpane.data.quantiles import find_quantiles, find_step
from counterpane.data.schema import MAX_STATES, Schema, Variable
from counterpane.errors import Advice, DataError, DiscretizeError, ParameterError, Setting
from counterpane.typing import Array, Floats, State

Discretize: TypeAlias = Any
"""How numbers become states: "auto", "mdl", "quantile", {column: cuts}, an object with `fit`; None.

"auto" is "mdl" where there is a discrete target, else "quantile". None refuses numbers that are
not states as they are.
"""


def infer_schema(
    columns: Mapping[str, Column],
    states: Mapping[str, Sequence[State]],
    discretize: Discretize,
    target: str | None,
    weights: Floats,
    *,
    max_states: int,
    n_bins: int,
) -> Schema:
    """The schema of columns, in their order; parameters are those of `Table.from_frame`."""
    given = discretize if isinstance(discretize, Mapping) else {}
    for name in (*states, *given, *([] if target is None else [target])):
        find_column(columns, name)
    if isinstance(discretize, str) and discretize == "auto":
        classes_known = target is not None and (
            target in states or _is_discrete(columns[target], max_states)
        )
        discretize = "mdl" if classes_known else "quantile"
    _check(discretize, target)
    found: dict[str, Variable] = {}
    numeric: dict[str, Numbers] = {}
    for name, column in columns.items():
        if name in states:
            found[name] = Variable(name, tuple(states[name]))
        elif name in given:
            found[name] = _cut_variable(column, given[name], weights)
        elif isinstance(column, Labels) or _is_discrete(column, max_states):
            found[name] = _observed_variable(column)
        elif len(column.distinct) == 1:  # one real number needs no cut
            found[name] = _cut_variable(column, (), None)
        elif discretize is None or given:
            raise _needs_cuts(column, max_states)
        else:
            numeric[name] = column
    if numeric:
        classes = None
        if target is not None and discretize != "quantile":
            classes = _classes(columns[target], target in numeric)
        for name, numbers in numeric.items():
            cuts = _find_cuts(numbers, discretize, classes, weights, n_bins)
            found[name] = _cut_variable(numbers, cuts, weights)
    return Schema(found[name] for name in columns)


def _check(discretize: Discretize, target: str | None) -> None:
    custom = isinstance(discretize, Mapping) or hasattr(discretize, "fit")
    if not custom and discretize not in (None, "mdl", "quantile"):
        raise ParameterError(
            Setting("discretize", discretize),
            "; 'auto', 'mdl', 'quantile', None, a mapping of column to cuts, or an object with fit "
            "is allowed.",
        )
    if discretize == "mdl" and target is None:
        raise ParameterError(
            Setting("discretize", "mdl"),
            " cuts against a class; pass ",
            Setting("target"),
            " with the name of its column.",
        )


def _is_discrete(column: Column, max_states: int) -> bool:
    if isinstance(column, Labels):
        return True
    return column.distinct.dtype.kind in "iu" and len(column.distinct) <= max_states


def _observed_variable(column: Column) -> Variable:
    """The variable of a column whose values are states as they are."""
    if isinstance(column, Labels) and column.cut is not None:
        return replace(column.cut, name=column.name)
    states = column.states if isinstance(column, Labels) else column.labels().states
    if not states:
        raise DataError(
            f"column {column.name!r} has no value at all; drop it",
            Advice(
                ' (read with on_unusable="drop" does), or declare what it could hold with '
                f"states={{{column.name!r}: […]}}"
            ),
            ".",
        )
    if len(states) > MAX_STATES:
        raise DataError(
            f"column {column.name!r} has {len(states)} different values, and {MAX_STATES} are "
            "allowed; drop it if it names the rows",
            Advice(' (read with on_unusable="drop" does)'),
            ", or group its values.",
        )
    return Variable(column.name, states)


def cut_variable(column: Numbers, cuts: Floats, weights: Array | None = None) -> Variable:
    """The variable of a column of numbers cut at rising `cuts`, with what its numbers were like."""
    names, plain = column.intervals(cuts)
    values = column.values
    rows = ~column.missing & np.isfinite(values)
    if weights is not None:
        rows &= weights > 0
        weights = None if (weights[rows] == 1).all() else weights[rows]
    quantiles = find_quantiles(values[rows], weights, plain) if rows.any() else None
    step = find_step(values[rows], dated=column.dated)
    return Variable(column.name, names, plain, quantiles, None if quantiles is None else step)


def _cut_variable(
    column: Column, cuts: Sequence[float] | Floats, weights: Floats | None
) -> Variable:
    """The variable of a numeric column cut at `cuts`."""
    if isinstance(column, Labels):
        raise DiscretizeError(
            f"column {column.name!r} holds no numbers to cut; leave it out of discretize."
        )
    if column.dated:
        cuts = [c if (day := day_number(c)) is None else day for c in cuts]
    array = np.asarray(cuts)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iuf"):
        raise DiscretizeError(f"column {column.name!r}: the cuts are {cuts!r}; numbers are needed.")
    if not np.isfinite(array.astype(np.float64)).all() or (array[1:] <= array[:-1]).any():
        raise DiscretizeError(
            f"column {column.name!r}: the cuts are {cuts!r}; finite, rising numbers are needed."
        )
    return cut_variable(column, array.astype(np.float64), weights)


def _needs_cuts(column: Numbers, max_states: int) -> DiscretizeError:
    kind = "whole numbers" if column.distinct.dtype.kind in "iu" else "real numbers"
    kind = "dates" if column.dated else kind
    return DiscretizeError(
        f"column {column.name!r} holds {len(column.distinct)} different {kind} and must be "
        "cut into states; read the table with ",
        Setting("discretize", "mdl"),
        " and ",
        Setting("target"),
        ", or with ",
        Setting("discretize", "quantile"),
        Advice(f", or discretize={{{column.name!r}: [cuts, …]}}"),
        f" (up to max_states={max_states} whole numbers or dates are states as they are).",
    )


def _classes(column: Column, is_numeric: bool) -> Array:
    """The class of each row for a supervised discretizer; -1 where it is missing."""
    if is_numeric:
        raise DiscretizeError(
            f"the target {column.name!r} is numeric itself; pass a target that is discrete, or "
            f"declare its states with states={{{column.name!r}: […]}}."
        )
    return (column if isinstance(column, Labels) else column.labels()).codes


def _find_cuts(
    column: Numbers, discretize: Discretize, classes: Array | None, weights: Floats, n_bins: int
) -> Floats:
    """The cuts that a rule finds on the rows that say something."""
    values = column.values.astype(np.float64)
    rows = ~column.missing & np.isfinite(values) & (weights > 0)
    if discretize == "quantile":
        return quantile_cuts(values[rows], weights[rows], n_bins)
    if classes is not None:
        rows &= classes >= 0
        classes = classes[rows]
    if discretize == "mdl":
        assert classes is not None  # _check saw a target
        return mdl_cuts(values[rows], classes, weights[rows])
    options = {} if (weights == 1).all() else {"sample_weight": weights[rows]}
    fitted = copy.deepcopy(discretize).fit(values[rows, None], classes, **options)
    if hasattr(fitted, "cuts_"):
        return np.asarray(fitted.cuts_[0])
    if hasattr(fitted, "bin_edges_"):
        return np.asarray(fitted.bin_edges_[0][1:-1])
    raise ParameterError(
        f"discretize={discretize!r} has neither cuts_ nor bin_edges_ after fit, so that new "
        "numbers could not be cut alike; pass MDLDiscretizer(), KBinsDiscretizer() or a mapping."
    )
