"""Columns to codes: the states of each column, the codes of its cells, the weights of the rows."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from counterpane.data.columns import Column, Labels, Numbers, columns_of, find_column, n_rows
from counterpane.data.dates import day_number
from counterpane.data.intervals import find_quantiles, find_step, mdl_cuts, quantile_cuts
from counterpane.data.schema import MAX_STATES, Schema, Variable, code_dtype
from counterpane.errors import (
    Advice,
    DataError,
    DiscretizeError,
    ParameterError,
    Setting,
    StateError,
    WeightError,
)
from counterpane.typing import Array, Codes, Floats, Ints, State

Unseen = Literal["error", "missing", "unknown"]
"""What a value outside the states is: a mistake, a missing cell, or a cell that was not observed.

The last two differ where missing is a state of its own.
"""


def encode_frame(
    frame: Any,
    *,
    schema: Schema | None,
    states: Mapping[str, Sequence[State]],
    weights: str | npt.ArrayLike | None,
    discretize: Discretize,
    target: str | None,
    unseen: Unseen,
    max_states: int,
    n_bins: int,
) -> tuple[Schema, Codes, Ints | Floats | None]:
    """The schema of a frame (or the one given), its codes and its weights.

    Parameters are those of `Table.from_frame`.
    """
    if unseen not in get_args(Unseen):
        raise ParameterError(f"unseen={unseen!r}; 'error', 'missing' or 'unknown' is allowed.")
    if max_states < 1 or n_bins < 1:
        raise ParameterError(f"max_states={max_states}, n_bins={n_bins}; each must be 1 or more.")
    columns = check_columns(columns_of(frame, None if schema is None else schema.names))
    rows = n_rows(next(iter(columns.values())))
    if isinstance(weights, str):
        column = find_column(columns, weights)
        del columns[column.name]
        if not isinstance(column, Numbers):
            raise WeightError(f"the weight column {column.name!r} holds no numbers; it must.")
        weights = np.where(column.missing, np.nan, column.values)
    checked = None if weights is None else check_weights(weights, rows)
    if schema is None:
        plain = np.ones(rows) if checked is None else checked.astype(np.float64)
        schema = infer_schema(
            columns, states, discretize, target, plain, max_states=max_states, n_bins=n_bins
        )
    codes: Codes = np.empty((len(schema), rows), dtype=code_dtype(schema.cards))
    for i, variable in enumerate(schema):
        codes[i] = encode_column(find_column(columns, variable.name), variable, unseen)
    return schema, codes, checked


def encode_column(column: Column, variable: Variable, unseen: Unseen = "error") -> Ints:
    """The codes of a column's rows among the states of `variable`; missing cells get `card`."""
    absent = variable.find(None)  # missing may be a state of its own
    missing = variable.card if absent is None else absent
    if isinstance(column, Numbers):
        if variable.cuts is not None and column.dated == variable.dated:
            codes = np.searchsorted(variable.cuts, column.values, side="right")
            return np.where(column.missing, missing, codes)
        column = column.labels()
    places = [missing if state is None else variable.find(state) for state in column.states]
    lookup = np.array([-1 if p is None else p for p in places] + [missing], dtype=np.int64)
    codes = lookup[column.codes]
    strange = codes < 0
    if strange.any():
        if unseen == "error":
            row = int(np.argmax(strange))
            value = column.states[column.codes[row]]
            raise StateError(
                f"column {variable.name!r}, row {row}: {variable.not_a_state(value)}; ",
                Advice('pass states=… or unseen="missing"', "leave such rows out"),
                ".",
            )
        codes[strange] = missing if unseen == "missing" else variable.card
    return codes


def check_columns(columns: Iterable[Column]) -> dict[str, Column]:
    """Columns by name; refuses none, no rows, a name that occurs twice, and different lengths."""
    found: dict[str, Column] = {}
    for column in columns:
        if column.name in found:
            raise DataError(f"the column name {column.name!r} occurs twice; each needs its own.")
        found[column.name] = column
    lengths = {name: n_rows(column) for name, column in found.items()}
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
    return found


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


def encode_rows(
    columns: Sequence[Column], variables: Sequence[Variable], numeric: Sequence[int]
) -> tuple[Codes, Floats]:
    """The codes (variables, rows) and the numbers (len(numeric), rows) of columns.

    A code equal to the variable's card stands for a state that the variable does not have.
    """
    rows = n_rows(columns[0])
    cards = np.array([v.card for v in variables])
    codes: Codes = np.empty((len(variables), rows), dtype=code_dtype(cards))
    for column, variable, out in zip(columns, variables, codes, strict=True):
        out[:] = encode_column(column, variable, "unknown")
    numbers = np.empty((len(numeric), rows))
    for i, out in zip(numeric, numbers, strict=True):
        out[:] = as_numbers(columns[i], dated=variables[i].dated)
    return codes, numbers


def as_numbers(column: Column, *, dated: bool = False) -> Floats:
    """The numbers of a column, also where they are written as texts; NaN for anything else.

    Where `dated`, they are those of dates, which alone count.
    """
    if isinstance(column, Numbers):
        usable = ~column.missing & (column.dated == dated)
        return np.where(usable, column.values.astype(np.float64), np.nan)
    values = np.full(len(column.states) + 1, np.nan)  # code -1 finds the last
    for i, state in enumerate(column.states):
        with suppress(TypeError, ValueError):
            number = day_number(state) if dated else float(state)  # type: ignore[arg-type]
            values[i] = np.nan if number is None else number
    found: Floats = values[column.codes]
    return found


def check_weights(weights: npt.ArrayLike, n_rows: int) -> Ints | Floats:
    """`weights` as int64 where all are whole numbers, else float64; checked and read-only."""
    array = np.asarray(weights)
    if array.shape != (n_rows,):
        raise WeightError(f"weights have shape {array.shape}; {n_rows} rows need ({n_rows},).")
    if array.dtype.kind not in "biuf":
        raise WeightError(f"weights have type {array.dtype}; whole or real numbers are allowed.")
    values = array.astype(np.float64)
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise WeightError(
            f"the weight of row {row} is {array[row]}; weights must be finite and not negative."
        )
    if n_rows and values.sum() == 0:
        raise WeightError("all weights are zero; at least one row needs a positive weight.")
    whole = bool((values == np.floor(values)).all()) and values.sum() < 2**53
    result: Ints | Floats = values.astype(np.int64) if whole else values
    result.flags.writeable = False
    return result
