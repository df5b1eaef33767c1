"""A range of numbers or dates, as evidence on a column."""

from __future__ import annotations

import datetime
import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpane.data.dates import date_texts, day_number
from counterpane.data.intervals import interval_points, share_below
from counterpane.data.number_formats import plain_scalar
from counterpane.data.schema import Variable
from counterpane.errors import EvidenceError, ParameterError
from counterpane.typing import Floats, State


@dataclass(frozen=True)
class Range:
    """The numbers or dates from `low` to `high`, as evidence on a column.

    The column was cut into intervals, or its states are numbers or dates. An interval that is
    partly in the range is weighted by the share of its values in the range, which the quantiles of
    the column tell.

    Parameters
    ----------
    low, high : number, date or None
        The two ends; None leaves a side open.
    include_low, include_high : bool
        Whether an end belongs to the range; by default `low` does and `high` does not.

    Examples
    --------
    >>> import counterpane as cp
    >>> model = cp.ChowLiu().fit(cp.load_dataset("iris")).model_
    >>> round(model.query("class", {"petal_width": cp.Range(low=2)})["virginica"], 2)
    0.97
    >>> cp.Range(20, 30, include_high=True)
    Range(20 ≤ value ≤ 30)
    """

    low: Any = None
    high: Any = None
    include_low: bool = True
    include_high: bool = False

    def __post_init__(self) -> None:
        for side in map(plain_scalar, (self.low, self.high)):
            kinds = (int, float, str, datetime.date, type(None))
            if not isinstance(side, kinds) or (isinstance(side, float) and math.isnan(side)):
                raise ParameterError(
                    f"a range from {self.low!r} to {self.high!r} is not possible; numbers, dates "
                    "or None are needed."
                )
        if self.low is None and self.high is None:
            raise ParameterError("a range without low and high holds everything; give one of them.")

    def __repr__(self) -> str:
        return f"Range({self.text('value')})"

    def text(self, name: str) -> str:
        """The range as people write it, of a column called `name`: mpg > 30."""
        low, high = "≤" if self.include_low else "<", "≤" if self.include_high else "<"
        if self.high is None:
            return f"{name} {'≥' if self.include_low else '>'} {self.low}"
        if self.low is None:
            return f"{name} {high} {self.high}"
        return f"{self.low} {low} {name} {high} {self.high}"

    def __and__(self, other: Range) -> Range:
        """The range of what lies in both; both must be of numbers, or both of dates."""
        both = (self, other)
        lows = [r for r in both if r.low is not None]
        highs = [r for r in both if r.high is not None]
        low = max(lows, key=lambda r: (_number_of(r.low) or 0.0, not r.include_low), default=self)
        high = min(highs, key=lambda r: (_number_of(r.high) or 0.0, r.include_high), default=self)
        return Range(low.low, high.high, low.include_low, high.include_high)

    def shares(self, variable: Variable) -> Floats:
        """For each state of `variable` the share of its values that lie in the range.

        A range without any value of the column, or on a column without numbers, is an error.
        """
        low, high = self.ends(variable)
        weights: Floats = np.zeros(variable.card)
        if variable.cuts is not None:
            for code in range(variable.n_known):
                first, last = self.levels(variable, code)
                weights[code] = max(last - first, 0.0)
        else:
            for code, state in enumerate(variable.states):
                number = _number_of(state)
                if number is not None:
                    above = number > low or (number == low and self.include_low)
                    below = number < high or (number == high and self.include_high)
                    weights[code] = above and below
        if not weights.any():
            raise EvidenceError(
                f"no value of {variable.name!r} lies in {self.text(variable.name)}; its values are "
                f"{_extent(variable)}."
            )
        return weights

    def levels(self, variable: Variable, code: int) -> tuple[float, float]:
        """From which to which level of an interval's distribution its values are in the range."""
        low, high = self.ends(variable)
        first = share_below(variable, code, low, inclusive=not self.include_low)
        last = share_below(variable, code, high, inclusive=self.include_high)
        if first is None or last is None:
            cuts = variable.cuts or ()
            shown: Any = date_texts(np.array(cuts)) if variable.dated else cuts
            raise EvidenceError(
                f"{self.text(variable.name)} parts the interval {variable.states[code]!r}, and the "
                f"model does not know how the values lie in it; let the range end at a cut "
                f"({', '.join(map(str, shown))}), or learn the model again from the rows."
            )
        return first, last

    def ends(self, variable: Variable) -> tuple[float, float]:
        """The two ends as numbers; days since 1970-01-01 where the variable holds dates."""
        dated = variable.dated or _dated_states(variable)
        if (
            variable.cuts is None
            and not dated
            and all(_number_of(s) is None for s in variable.states)
        ):
            raise EvidenceError(
                f"{self.text(variable.name)} is a range, and the states of {variable.name!r} are "
                f"no numbers; name one of them, or a set: {variable.shown_states}."
            )
        return (
            self._end(variable, self.low, dated, -math.inf),
            self._end(variable, self.high, dated, math.inf),
        )

    def _end(self, variable: Variable, side: Any, dated: bool, open_end: float) -> float:
        if side is None:
            return open_end
        side = plain_scalar(side)
        number = _parsed(side, dated)
        if number is None:
            kind = "date, such as 2021-03-04," if dated else "number"
            raise EvidenceError(
                f"{self.text(variable.name)}: {side!r} is not a {kind} and {variable.name!r} holds "
                f"{'dates' if dated else 'numbers'}; change it."
            )
        return number


def number_of(variable: Variable, value: Any) -> float | None:
    """The number, or the date in days, that evidence on a cut column is; None for an interval."""
    value = plain_scalar(value)
    if isinstance(value, bool) or value in variable.states:
        return None
    return _parsed(value, variable.dated)


def _parsed(value: Any, dated: bool) -> float | None:
    """The days of a date if `dated`, else the number that a value is; None for others and NaN."""
    with suppress(TypeError, ValueError):
        number = day_number(value) if dated else float(value)
        return None if number is None or math.isnan(number) else number
    return None


def _number_of(state: State) -> float | None:
    """The number that a state is, or a date in days; None for others."""
    if isinstance(state, bool) or state is None:
        return None
    if isinstance(state, int | float):
        return float(state)
    days = day_number(state)
    if days is not None:
        return days
    with suppress(ValueError):
        return float(state)
    return None


def _dated_states(variable: Variable) -> bool:
    """Whether the states are dates as they are."""
    texts = [s for s in variable.states if s is not None]
    return variable.cuts is None and all(day_number(s) is not None for s in texts) and bool(texts)


def _extent(variable: Variable) -> str:
    """From where to where the values of a variable lie, as words."""
    if variable.cuts is None:
        numeric = [s for s in variable.states if _number_of(s) is not None]
        ordered = sorted(numeric, key=lambda s: _number_of(s) or 0.0)
        return f"from {ordered[0]} to {ordered[-1]}"
    points = [interval_points(variable, c) for c in range(variable.n_known)]
    values = np.concatenate([p for p in points if p is not None] or [np.array(variable.cuts)])
    if not values.size:
        return "not known"
    ends = np.array([values.min(), values.max()])
    shown = date_texts(ends) if variable.dated else [f"{e:g}" for e in ends]
    return f"from {shown[0]} to {shown[1]}"
