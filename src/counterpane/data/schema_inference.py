"""The states of columns: declared, observed, or cut from numbers."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from counterpane.data.columns import Column, Labels, Numbers, find_column
from counterpane.data.dates import day_number
from counterpane.data.intervals import (
    bounded,
    find_cut_points,
    find_quantiles,
    find_step,
    mdl_cuts,
)
from counterpane.data.schema import MAX_STATES, Schema, Variable
from counterpane.errors import Advice, DataError, DiscretizeError, ParameterError, Setting
from counterpane.typing import Array, Floats, State

Discretize: TypeAlias = Any
"""How numbers become states: "auto", "mdl", "quantile", {column: cuts}, an object with `fit`; None.

"auto" is "mdl" if there is a discrete target, otherwise "quantile"; it also applies to the columns
that a mapping does not name. None refuses numbers that are not states as they are.
"""


def check_limits(max_states: int, n_bins: int) -> None:
    """Refuse numbers of states and intervals below one."""
    if max_states < 1 or n_bins < 1:
        raise ParameterError(f"max_states={max_states}, n_bins={n_bins}; each must be 1 or more.")


def check_rule(discretize: Discretize, target: str | None, *, by_block: bool = False) -> str | None:
    """The rule "mdl" or "quantile" by which cuts are found; None if no cuts are to be found so.

    With `by_block`, rows are not in memory, and an object with `fit` cannot be used.
    """
    if isinstance(discretize, Mapping):
        return "quantile" if target is None else "mdl"
    has_cuts = not by_block and hasattr(discretize, "fit")
    if not has_cuts and discretize not in (None, "mdl", "quantile"):
        raise ParameterError(
            Setting("discretize", discretize),
            "; 'quantile', 'mdl' or a mapping of column to cuts is "
            "allowed where rows are read block by block."
            if by_block
            else "; 'auto', 'mdl', 'quantile', None, a mapping of column to cuts, or an object "
            "with fit is allowed.",
        )
    if has_cuts or discretize is None:
        return None
    if discretize == "mdl" and target is None:
        raise ParameterError(
            Setting("discretize", "mdl"),
            " cuts against a class; pass ",
            Setting("target"),
            " with the name of its column.",
        )
    return str(discretize)


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
    cuts_of = discretize if isinstance(discretize, Mapping) else {}
    for name in (*states, *cuts_of, *([] if target is None else [target])):
        find_column(columns, name)
    if isinstance(discretize, Mapping) or (isinstance(discretize, str) and discretize == "auto"):
        has_classes = target is not None and (
            target in states or _is_discrete(columns[target], max_states)
        )
        discretize = "mdl" if has_classes else "quantile"
    check_rule(discretize, target)
    variables: dict[str, Variable] = {}
    numeric: dict[str, Numbers] = {}
    for name, column in columns.items():
        if name in states:
            variables[name] = Variable(name, tuple(states[name]), written=column.written)
        elif name in cuts_of:
            variables[name] = _checked_cuts(column, cuts_of[name], weights)
        elif isinstance(column, Labels) or _is_discrete(column, max_states):
            variables[name] = _observed_variable(column)
        elif len(column.distinct) == 1:  # one real number needs no cut
            variables[name] = _checked_cuts(column, (), None)
        elif discretize is None:
            raise _needs_cuts(column, max_states)
        else:
            numeric[name] = column
    if numeric:
        classes = None
        if target is not None and discretize != "quantile":
            classes = _classes(columns[target], target in numeric)
        for name, numbers in numeric.items():
            cuts = _find_cuts(numbers, discretize, classes, weights, n_bins)
            variables[name] = _checked_cuts(numbers, cuts, weights)
    return Schema(variables[name] for name in columns)


def cut_variable(column: Numbers, cuts: Floats, weights: Array | None = None) -> Variable:
    """The variable of a column of numbers cut at rising `cuts`, and its quantiles."""
    names, ends = column.intervals(cuts)
    values = column.values
    rows = ~column.missing & np.isfinite(values)
    if weights is not None:
        rows &= weights > 0
        weights = None if (weights[rows] == 1).all() else weights[rows]
    quantiles = find_quantiles(values[rows], weights, ends) if rows.any() else None
    step = find_step(values[rows], dated=column.dated)
    step = None if quantiles is None else step
    return Variable(column.name, names, ends, quantiles, step, column.written)


def numeric_target(name: str) -> DiscretizeError:
    """The error for a class column that would have to be cut itself."""
    return DiscretizeError(
        f"the target {name!r} is numeric itself; pass a target that is discrete, or "
        f"declare its states with states={{{name!r}: […]}}."
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
    return Variable(column.name, states, written=column.written)


def _checked_cuts(
    column: Column, cuts: Sequence[float] | Floats, weights: Floats | None
) -> Variable:
    """The variable of a column cut at `cuts`; refuses what is not numeric, and cuts that fall."""
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
        raise numeric_target(column.name)
    return (column if isinstance(column, Labels) else column.labels()).codes


def _find_cuts(
    column: Numbers, discretize: Discretize, classes: Array | None, weights: Floats, n_bins: int
) -> Floats:
    """The cuts that a rule finds on the rows with a number, a class and a positive weight."""
    values = column.values.astype(np.float64)
    rows = ~column.missing & (weights > 0)
    if discretize in ("quantile", "mdl"):
        values = bounded(values)
    else:
        rows &= np.isfinite(values)
    if discretize == "quantile":
        step = find_step(column.values[rows & np.isfinite(values)], dated=column.dated)
        return find_cut_points(values[rows], weights[rows], n_bins, step)
    if classes is not None:
        rows &= classes >= 0
        classes = classes[rows]
    if discretize == "mdl":
        assert classes is not None  # check_rule saw a target
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
