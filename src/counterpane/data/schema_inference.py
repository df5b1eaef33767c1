"""The states of columns: declared, observed, or cut from numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

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
from counterpane.data.number_formats import plain_array, plain_scalar
from counterpane.data.schema import MAX_STATES, Schema, Variable
from counterpane.errors import Advice, DataError, DiscretizeError, ParameterError, Setting
from counterpane.typing import Array, Bools, Floats, State

Discretize: TypeAlias = Any
"""How numbers become states: "auto", "mdl", "quantile", {column: cuts}, an object with `fit`; None.

"auto" is "mdl" if there is a discrete target, otherwise "quantile"; it also applies to the columns
that a mapping does not name. None refuses numbers that are not states as they are.
"""


ByClass: TypeAlias = Callable[[list[str], Variable], Mapping[str, tuple[Numbers, Array]]]
"""Tallies columns by name and by the classes that a variable has: numbers and their classes."""


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
    by_class: ByClass | None = None,
) -> Schema:
    """The schema of columns, in their order; parameters are those of `Table.from_frame`.

    `weights` are those of rows; a column that stands for more rows has its own. `by_class` tallies
    columns of numbers by the classes of the target, where rows are not in memory.
    """
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
            variables[name] = Variable(
                name, tuple(map(plain_scalar, states[name])), written=column.written
            )
        elif name in cuts_of:
            variables[name] = _checked_cuts(column, cuts_of[name], weights)
        elif isinstance(column, Labels) or _is_discrete(column, max_states):
            variables[name] = _observed_variable(column)
        elif column.n_values == 1:  # one real number needs no cut
            variables[name] = _checked_cuts(column, (), None)
        elif discretize is None:
            raise _needs_cuts(column, max_states)
        else:
            numeric[name] = column
    if numeric:
        classes = None
        if target is not None and discretize != "quantile":
            classes = _classes(columns[target], target in numeric)
        tallies: Mapping[str, tuple[Numbers, Array | None]] = {}
        if by_class is not None and classes is not None and target is not None:
            tallies = by_class(list(numeric), variables[target])
        for name, numbers in numeric.items():
            by_value = numbers.tallied(weights)
            whole = by_value if discretize == "quantile" else numbers
            cells, codes = tallies.get(name, (whole, classes))
            cuts = _find_cuts(cells, discretize, codes, weights, n_bins)
            variables[name] = _checked_cuts(by_value, cuts, weights)
    return Schema(variables[name] for name in columns)


def cut_variable(column: Numbers, cuts: Floats, weights: Array | None = None) -> Variable:
    """The variable of a column of numbers cut at rising `cuts`, and its quantiles."""
    names, ends = column.intervals(cuts)
    values = column.values
    rows = ~column.missing & np.isfinite(values)
    weights = weights if column.rows is None else column.weights
    if weights is not None:
        rows &= weights > 0
        weights = None if (weights[rows] == 1).all() else weights[rows]
    quantiles = find_quantiles(values[rows], weights, ends) if rows.any() else None
    step = None if quantiles is None else _step(column, rows)
    return Variable(column.name, names, ends, quantiles, step, column.written)


def _step(column: Numbers, rows: Bools) -> float | None:
    """The step of the numbers in some entries; see `find_step`."""
    if column.binned is not None:
        return column.binned.step
    return find_step(column.values[rows], dated=column.dated)


def numeric_target(name: str) -> DiscretizeError:
    """The error for a class column that would have to be cut itself."""
    return DiscretizeError(
        f"the target {name!r} is numeric itself; pass a target that is discrete, or "
        f"declare its states with states={{{name!r}: […]}}."
    )


def _is_discrete(column: Column, max_states: int) -> bool:
    if isinstance(column, Labels):
        return True
    return column.distinct.dtype.kind in "iu" and column.n_values <= max_states


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
    array = plain_array(cuts)
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
        f"column {column.name!r} holds {column.n_values} different {kind} and must be "
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
    weights = weights if column.weights is None else column.weights
    rows = ~column.missing & (weights > 0)
    if discretize in ("quantile", "mdl"):
        values = bounded(values)
    else:
        rows &= np.isfinite(values)
    if discretize == "quantile":
        step = _step(column, rows & np.isfinite(values))
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


class CutRule(NamedTuple):
    """How the cut points of `columns` were found: "quantile", or "mdl" against `target`."""

    rule: str
    columns: tuple[str, ...]
    n_bins: int
    target: str | None


def cut_rule_of(
    schema: Schema, states: Collection[str], discretize: Any, target: str | None, n_bins: int
) -> CutRule | None:
    """The rule that `Table.from_frame` used; None for a discretizer of the user.

    Columns with `states`, or with cut points in the mapping `discretize`, do not follow a rule.

    >>> schema = Schema([Variable("age", ("<18", "≥18"), (18.0,)), Variable("sex", ("f", "m"))])
    >>> cut_rule_of(schema, (), "auto", "sex", 4)
    CutRule(rule='mdl', columns=('age',), n_bins=4, target='sex')
    """
    given = {*states, *(discretize if isinstance(discretize, Mapping) else ())}
    rule = discretize
    if isinstance(discretize, Mapping) or (isinstance(discretize, str) and discretize == "auto"):
        rule = "quantile" if target is None or schema[target].cuts is not None else "mdl"
    if not isinstance(rule, str):
        return None
    columns = tuple(v.name for v in schema if v.cuts is not None and v.name not in given)
    return CutRule(rule, columns, n_bins, target)
