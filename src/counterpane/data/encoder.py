"""Values to codes: the states of each column, the codes of its cells, and the weights of rows."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from counterpane.data.columns import (
    Column,
    Labels,
    Numbers,
    check_columns,
    columns_of,
    find_column,
    n_rows,
)
from counterpane.data.dates import day_number
from counterpane.data.intervals import (
    bounded,
    find_cut_points,
    find_quantiles,
    find_step,
    mdl_cuts,
)
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

MAX_TOTAL = 1e100  # of weights; squares of sums are numbers, and so are their inverses

Unseen = Literal["error", "missing", "unknown"]
"""What a value outside the states is: a mistake, a missing cell, or a cell that was not observed.

The last two differ where missing is a state of its own.
"""

Discretize: TypeAlias = Any
"""How numbers become states: "auto", "mdl", "quantile", {column: cuts}, an object with `fit`; None.

"auto" is "mdl" if there is a discrete target, otherwise "quantile"; it also applies to the columns
that a mapping does not name. None refuses numbers that are not states as they are.
"""


# ---- codes of values by a known variable ---------------------------------------------------------


class ValueCodes(dict[Any, int]):
    """Codes of a variable's values by value, each looked up once; -1 for a value that is no state.

    None and NaN are missing cells: their code is `missing`.

    >>> codes = ValueCodes(Variable("size", (1, 2, 4)))
    >>> codes[Decimal(4)], codes["2"], codes[None], codes["huge"]
    (2, 1, 3, -1)
    """

    def __init__(self, variable: Variable) -> None:
        super().__init__()
        self.variable = variable
        self.missing = variable.missing_code
        self[None] = self.missing

    def __missing__(self, value: Any) -> int:
        if value != value:
            return self.missing
        code = self.find(value)
        self[value] = -1 if code is None else code
        return self[value]

    def __reduce__(self) -> Any:
        """Pickled without the codes: these may be many, and are soon looked up again."""
        state = {name: value for name, value in vars(self).items() if name != "variable"}
        return type(self), (self.variable,), state

    def find(self, value: Any) -> int | None:
        """The code of a value that was not seen before; None if it is no state."""
        return self.variable.find(plain_number(value))

    def encode(self, values: Sequence[Any], places: Array | None, out: Array) -> None:
        """Write the codes of the cells `values[places]`, or of all values, to `out`.

        A place after the last value is a missing cell. A cell that is no state raises `StateError`;
        values at no place may be anything.
        """
        codes = np.fromiter(map(self.__getitem__, values), dtype=np.int64, count=len(values))
        if places is not None:
            codes = np.append(codes, self.missing)
            if codes.min() >= 0:
                np.take(codes.astype(out.dtype), places, out=out, mode="clip")
                return
            codes = codes[places]
        if codes.min(initial=0) < 0:
            first = int(np.argmin(codes))
            raise self.refusal(values[first if places is None else places[first]])
        out[:] = codes

    def refusal(self, value: Any) -> StateError:
        """The error for a cell of a source that is none of the states."""
        return StateError(
            f"column {self.variable.name!r}: {self.variable.not_a_state(value)}; declare it with "
            "states=…, or make the source again if rows were added."
        )


def plain_number(value: Any) -> Any:
    """A decimal as a whole number or a float, as states are; any other value as it is.

    >>> plain_number(Decimal("2.0")), plain_number("2.0")
    (2, '2.0')
    """
    if not isinstance(value, Decimal):
        return value
    return int(value) if value.is_finite() and value == int(value) else float(value)


def encode_column(column: Column, variable: Variable, unseen: Unseen = "error") -> Ints:
    """The codes of a column's rows among the states of `variable`; missing cells get `card`."""
    missing = variable.missing_code
    if isinstance(column, Numbers):
        if variable.cuts is not None and column.dated == variable.dated:
            codes = np.searchsorted(variable.cuts, column.values, side="right")
            return np.where(column.missing, missing, codes)
        column = column.labels()
    places = [missing if state is None else variable.find(state) for state in column.states]
    lookup = np.array([-1 if p is None else p for p in places] + [missing], dtype=np.int64)
    codes = lookup[column.codes]
    unknown = codes < 0
    if unknown.any():
        if unseen == "error":
            row = int(np.argmax(unknown))
            value = column.states[column.codes[row]]
            raise StateError(
                f"column {variable.name!r}, row {row}: {variable.not_a_state(value)}; ",
                Advice('pass states=… or unseen="missing"', "leave such rows out"),
                ".",
            )
        codes[unknown] = missing if unseen == "missing" else variable.card
    return codes


def finite_numbers(column: Column) -> Column:
    """The column with its infinite numbers as missing cells."""
    if isinstance(column, Labels) or column.values.dtype.kind != "f":
        return column
    infinite = np.isinf(column.values)
    return replace(column, missing=column.missing | infinite) if infinite.any() else column


def encode_rows(
    columns: Sequence[Column], variables: Sequence[Variable], numeric: Sequence[int]
) -> tuple[Codes, Floats]:
    """The codes (variables, rows) and the numbers (len(numeric), rows) of columns.

    A code equal to the variable's card stands for a state that the variable does not have. An
    infinite number is missing, as it was where the numbers were learned from.
    """
    columns = [finite_numbers(c) if i in numeric else c for i, c in enumerate(columns)]
    rows = n_rows(columns[0])
    cards = np.array([v.card for v in variables])
    codes: Codes = np.empty((len(variables), rows), dtype=code_dtype(cards))
    for column, variable, out in zip(columns, variables, codes, strict=True):
        out[:] = encode_column(column, variable, "unknown")
    numbers = np.empty((len(numeric), rows))
    for i, out in zip(numeric, numbers, strict=True):
        out[:] = column_numbers(columns[i], dated=variables[i].dated)
    return codes, numbers


def column_numbers(column: Column, *, dated: bool = False) -> Floats:
    """The numbers of a column, also where they are written as texts; NaN for anything else.

    With `dated` only dates count, as days since 1970-01-01.
    """
    if isinstance(column, Numbers):
        usable = ~column.missing & (column.dated == dated)
        return np.where(usable, column.values.astype(np.float64), np.nan)
    values = np.full(len(column.states) + 1, np.nan)  # code -1 takes the last
    for i, state in enumerate(column.states):
        with suppress(TypeError, ValueError):
            number = day_number(state) if dated else float(state)  # type: ignore[arg-type]
            values[i] = np.nan if number is None else number
    numbers: Floats = values[column.codes]
    return numbers


# ---- a frame: schema, codes and weights ----------------------------------------------------------


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
) -> tuple[Schema, Codes, Ints | Floats | None, dict[str, Floats]]:
    """The schema of a frame (or the one given), its codes, weights and discretized numbers.

    Parameters are those of `Table.from_frame`.
    """
    if unseen not in get_args(Unseen):
        raise ParameterError(f"unseen={unseen!r}; 'error', 'missing' or 'unknown' is allowed.")
    check_limits(max_states, n_bins)
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
        heights = np.ones(rows) if checked is None else checked.astype(np.float64)
        schema = infer_schema(
            columns, states, discretize, target, heights, max_states=max_states, n_bins=n_bins
        )
    codes: Codes = np.empty((len(schema), rows), dtype=code_dtype(schema.cards))
    numbers = {}
    for i, variable in enumerate(schema):
        column = find_column(columns, variable.name)
        codes[i] = encode_column(column, variable, unseen)
        if variable.cuts is not None and isinstance(column, Numbers):
            numbers[variable.name] = column_numbers(column, dated=variable.dated)
    return schema, codes, checked, numbers


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
    with np.errstate(over="ignore"):
        total = float(values.sum())
    if n_rows:
        check_total_weight(total)
    integral = bool((values == np.floor(values)).all()) and total < 2**53
    checked: Ints | Floats = values.astype(np.int64) if integral else values
    checked.flags.writeable = False
    return checked


def check_total_weight(total: float) -> None:
    """Refuse weights whose sum is zero, or so far from 1 that products of sums are no numbers."""
    if total == 0:
        raise WeightError("all weights are zero; at least one row needs a positive weight.")
    if not 1 / MAX_TOTAL <= total <= MAX_TOTAL:
        raise WeightError(
            f"the weights sum to {total:g}; a sum from {1 / MAX_TOTAL:g} to {MAX_TOTAL:g} is "
            "needed: multiply all weights by one number."
        )


# ---- the states of columns: declared, observed, or cut from numbers ------------------------------


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
            variables[name] = Variable(name, tuple(states[name]))
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
    return Variable(column.name, names, ends, quantiles, None if quantiles is None else step)


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
    return Variable(column.name, states)


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
