"""Names and ordered states of the columns of a table; later steps see only codes."""

from __future__ import annotations

import bisect
import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import pairwise
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

from counterpane.checks import ITERABLE, check
from counterpane.data.dates import are_dates, day_number
from counterpane.data.number_formats import (
    NO_NUMBER,
    CellFormat,
    NumberFormat,
    number_text,
    plain_scalar,
)
from counterpane.errors import (
    DataError,
    ParameterError,
    Setting,
    StateError,
    check_names,
    unknown_name,
    visible,
)
from counterpane.typing import Ints, State

MAX_STATES = 65_535  # a code fits uint16, and one code is kept for the missing cell
Quantiles: TypeAlias = tuple[tuple[float, ...], ...]
"""For each interval its least value, quantiles at even levels, and its largest; () if empty."""

MISSING = "(missing)"  # how the state None, the missing cell, is written wherever text is shown


@dataclass(frozen=True)
class Variable:
    """A discrete variable: a name and its states in order.

    Parameters
    ----------
    name : str
        The name of the column.
    states : tuple
        The states in the order of their codes. A last state None is the missing cell.
    cuts : tuple of float, optional
        Of a numeric column that was discretized: state i holds the values in [cuts[i-1], cuts[i]).
    quantiles : tuple, optional
        The quantiles of the values in each interval, from which numbers are drawn.
    step : float, optional
        Numbers are drawn as multiples of it: 1 for whole numbers, .01 for two decimals.
    written : CellFormat, optional
        How the cells were written, if they were texts: new texts are read in the same way.

    Examples
    --------
    >>> age = Variable("age", ("[0, 18)", "[18, 99]"), cuts=(18.0,))
    >>> age.card, age.code("[18, 99]")
    (2, 1)
    """

    name: str
    states: tuple[State, ...]
    cuts: tuple[float, ...] | None = None
    quantiles: Quantiles | None = field(default=None, repr=False, compare=False)
    step: float | None = field(default=None, repr=False, compare=False)
    written: CellFormat | None = field(default=None, repr=False, compare=False)
    _codes: Mapping[State, int] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise DataError(f"a variable's name must be a non-empty string, got {self.name!r}.")
        if not isinstance(self.states, tuple):
            raise DataError(
                f"column {self.name!r} has the states {self.states!r}; a tuple of them is needed."
            )
        if not 1 <= len(self.states) <= MAX_STATES:
            raise DataError(
                f"column {self.name!r} has {len(self.states)} states; allowed: 1 to {MAX_STATES}."
            )
        if any(state != state for state in self.states):
            raise DataError(
                f"column {self.name!r} has the state NaN, which is equal to nothing; None is the "
                "state of missing values."
            )
        codes = {state: code for code, state in enumerate(self.states)}
        if len(codes) != len(self.states):
            twice = next(s for i, s in enumerate(self.states) if s in self.states[:i])
            raise DataError(f"column {self.name!r} lists the state {twice!r} more than once.")
        needed = len(self.states) - 1 - (self.states[-1] is None)
        cuts = self.cuts if isinstance(self.cuts, tuple) else ()
        sound = self.cuts is None or isinstance(self.cuts, tuple)
        sound = sound and all(isinstance(c, (int, float)) and math.isfinite(c) for c in cuts)
        sound = sound and all(a < b for a, b in pairwise(cuts))
        if self.cuts is not None and (len(cuts) != needed or not sound):
            raise DataError(
                f"column {self.name!r} has {len(self.states)} states and the cuts {self.cuts}; "
                f"{needed} finite, rising cuts are needed."
            )
        if self.quantiles is not None:
            self._check_quantiles(needed + 1)
        object.__setattr__(self, "_codes", codes)

    def to_record(self) -> dict[str, Any]:
        """The variable as a model's file holds it, without what is not set."""
        record = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        record["written"] = None if self.written is None else self.written.to_dict()
        return {name: value for name, value in record.items() if value is not None}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Variable:
        """The variable that `to_record` described."""
        if not isinstance(record, Mapping):
            raise TypeError(f"{record!r} is not the record of a variable")
        cuts, quantiles = record.get("cuts"), record.get("quantiles")
        written = record.get("written")
        return cls(
            record["name"],
            tuple(record["states"]),
            None if cuts is None else tuple(cuts),
            None if quantiles is None else tuple(tuple(part) for part in quantiles),
            record.get("step"),
            None if written is None else CellFormat.from_dict(written),
        )

    def _check_quantiles(self, n_intervals: int) -> None:
        parts: Any = self.quantiles
        if not isinstance(parts, Sequence) or not all(isinstance(q, Sequence) for q in parts):
            parts = ()
        numbers = [q for part in parts for q in part]
        sound = all(isinstance(q, (int, float)) and math.isfinite(q) for q in numbers)
        sound = sound and all(a <= b for a, b in pairwise(numbers))
        step = self.step is None or (isinstance(self.step, float) and 0 < self.step < math.inf)
        if self.cuts is None or len(parts) != n_intervals or not sound or not step:
            raise DataError(
                f"column {self.name!r} has quantiles that do not fit its cuts; rising numbers for "
                f"each of {n_intervals} intervals are needed, and a positive step."
            )

    @property
    def card(self) -> int:
        """The number of states."""
        return len(self.states)

    @property
    def n_known(self) -> int:
        """The number of states without that of the missing cell."""
        return self.card - (self.states[-1] is None)

    @property
    def missing_code(self) -> int:
        """The code of a missing cell: that of the state None if there is one, else `card`."""
        return self._codes.get(None, self.card)

    @cached_property
    def dated(self) -> bool:
        """Whether the cuts are dates, as days since 1970-01-01."""
        return self.cuts is not None and are_dates(self.states[0])

    @cached_property
    def _texts(self) -> Mapping[str, int]:
        """The first code of each state's text."""
        present = [(c, s) for c, s in enumerate(self.states) if s is not None]
        return {_text(s): c for c, s in reversed(present)}

    @cached_property
    def numeric(self) -> bool:
        """Whether the states are numbers, or intervals of numbers or dates."""
        if self.cuts is not None:
            return True
        known = [s for s in self.states if s is not None]
        return bool(known) and all(
            isinstance(s, int | float) and s is not True and s is not False for s in known
        )

    @cached_property
    def _days(self) -> Mapping[float, int]:
        """The first code of each date among the states, if all of them are dates."""
        days = [(day_number(s), c) for c, s in enumerate(self.states) if s is not None]
        if any(day is None for day, _ in days):
            return {}
        return {day: code for day, code in reversed(days) if day is not None}

    def has_state(self, value: State) -> bool:
        """Whether a value is one of the states as it is."""
        return value in self._codes

    def find(self, value: Any) -> int | None:
        """The code of `value`, or None if it is not a state.

        States are found by equality, intervals by the number or date that lies in them; otherwise
        two spellings of one value are the same state: 1, 1.0 and "1.00", True and "true", two texts
        of one date. Texts are read in the format of the texts that the variable was made from.
        "(missing)" finds the state None, the missing cell.
        """
        value = plain_scalar(value)
        if isinstance(value, (str, int, float, type(None))) and value in self._codes:
            return self._codes[value]
        if isinstance(value, str) and value == MISSING:
            return self._codes.get(None)
        written = self.written or CellFormat()
        if self.dated:
            number = day_number(value, day_first=written.day_first)
            return None if number is None else bisect.bisect_right(self.cuts or (), number)
        if self.numeric and isinstance(value, str):
            if self.cuts is None and value in self._texts:  # digits that no float has
                return self._texts[value]
            number = written.number.number(value)
            value = value if number is None else number
        if self.cuts is not None:
            number = math.nan
            with contextlib.suppress(TypeError, ValueError):
                number = float(value)
            return None if math.isnan(number) else bisect.bisect_right(self.cuts, number)
        if value is None:
            return None
        code = self._texts.get(_text(value))
        if code is None and self._days:
            day = day_number(value, day_first=written.day_first)
            code = None if day is None else self._days.get(day)
        return code

    def means_missing(self, text: Any) -> bool:
        """Whether a text is a word for a missing cell in this column.

        Such words are those that were taken so when the column was read, as all texts that are not
        numbers in a column of numbers, and "NA", "" and the like there.
        """
        if not isinstance(text, str) or text in self._codes:
            return False
        if self.written is not None and text in self.written.gap_words:
            return True
        return self.numeric and text.strip() in NO_NUMBER

    def code(self, value: Any) -> int:
        """The code of `value`, as `find` gives it; an unknown value raises `StateError`."""
        code = self.find(value)
        if code is None:
            ranged = isinstance(value, str) and value.lstrip().startswith(("<", ">", "≤", "≥"))
            hint = "; for a range pass counterpane.Range(low=…, high=…)" if ranged else ""
            raise StateError(
                f"column {self.name!r}: {self.not_a_state(value)}{hint}.",
                parameter=self.name,
                value=value,
                allowed=self.states,
            )
        return code

    def not_a_state(self, value: Any) -> str:
        """Words for an error: `value` is none of the states, which are listed."""
        shown = MISSING if value is None else repr(value)
        return f"{shown} is not one of {self.card} states ({self.shown_states})"

    @property
    def shown_states(self) -> str:
        """The first of the states, for a message."""
        shown = ", ".join(MISSING if s is None else repr(s) for s in self.states[:8])
        return shown + (", …" if self.card > 8 else "")


def state_text(state: State) -> str:
    """A state as text, for every place that shows one."""
    return MISSING if state is None else str(state)


def _text(value: Any) -> str:
    """The text by which a value meets a state of another type: 1.0, "1.00" and 1, True and TRUE."""
    if isinstance(value, str):
        return number_text(value) or (
            value.lower() if value.lower() in ("true", "false") else value
        )
    text = str(int(value) if isinstance(value, float) and value.is_integer() else value)
    return text.lower() if isinstance(value, bool) else text


def code_dtype(cards: Ints) -> np.dtype[np.unsignedinteger[Any]]:
    """The narrowest type that holds every code and the missing code."""
    return np.dtype(np.uint8 if cards.max(initial=0) < 256 else np.uint16)


class Schema(Sequence[Variable]):
    """The ordered variables of a table; final, compared by value.

    Parameters
    ----------
    variables : iterable of Variable
        One for each column; their names differ.

    Examples
    --------
    >>> schema = Schema([Variable("smoke", ("no", "yes")), Variable("lung", ("no", "yes"))])
    >>> schema.index("lung"), schema.cards.tolist()
    (1, [2, 2])
    """

    def __init__(self, variables: Iterable[Variable]) -> None:
        self._variables = tuple(variables)
        self._index = {v.name: i for i, v in enumerate(self._variables)}
        if len(self._index) != len(self._variables):
            check_names(v.name for v in self._variables)

    @classmethod
    def from_cards(cls, cards: Iterable[int], prefix: str = "x") -> Schema:
        """A schema of variables `x0`, `x1`, … whose states are 0, 1, …"""
        return cls(Variable(f"{prefix}{i}", tuple(range(int(r)))) for i, r in enumerate(cards))

    def __len__(self) -> int:
        return len(self._variables)

    def __getitem__(self, key: SupportsIndex | str) -> Variable:  # type: ignore[override]
        return self._variables[key if isinstance(key, SupportsIndex) else self.index(key)]

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._variables)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._variables == other._variables

    def __hash__(self) -> int:
        return hash(self._variables)

    def __repr__(self) -> str:
        shown = ", ".join(f"{v.name}:{v.card}" for v in self._variables[:8])
        return visible(f"Schema({shown}{', …' if len(self) > 8 else ''})")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(self._index)

    @cached_property
    def cards(self) -> Ints:
        """Numbers of states in order, read-only."""
        cards = np.array([v.card for v in self._variables], dtype=np.int64)
        cards.flags.writeable = False
        return cards

    def index(self, name: Any, start: int = 0, stop: int | None = None) -> int:
        """The position of the variable called `name`."""
        try:
            return self._index[name]
        except (KeyError, TypeError):
            raise unknown_name("column", name, self._index) from None

    def indices(self, names: Iterable[str]) -> tuple[int, ...]:
        """The positions of several names."""
        return tuple(self.index(n) for n in names)

    def select(self, columns: Iterable[SupportsIndex | str]) -> Schema:
        """The schema of some columns, by position or name, in the order given."""
        check("columns", columns, ITERABLE)
        try:
            return Schema(
                self._variables[c if hasattr(c, "__index__") else self.index(c)] for c in columns
            )
        except (IndexError, TypeError):
            raise ParameterError(
                Setting("columns", columns), f"; positions from 0 to {len(self) - 1} are needed."
            ) from None


def formats_of(schema: Iterable[Variable]) -> dict[str, NumberFormat]:
    """The formats of columns whose numbers are not written as in programs, by name."""
    written = {v.name: v.written.number for v in schema if v.written is not None}
    return {name: form for name, form in written.items() if not form.is_plain}
