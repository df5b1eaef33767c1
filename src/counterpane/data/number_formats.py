"""How numbers are written: decimal marks, thousands separators, currencies and percent signs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from heapq import nsmallest
from typing import Any

import numpy as np

from counterpane.data.dates import day_number
from counterpane.typing import Array

GAP_WORDS = frozenset({"NA", "N/A", "NaN", "nan", "null", "NULL", "?"})  # for missing cells
NO_NUMBER = frozenset({  # missing among numbers, as infinite ones of frames are
    "", *GAP_WORDS,
    "inf", "-inf", "+inf", "Inf", "-Inf", "+Inf", "Infinity", "-Infinity", "+Infinity",
})  # fmt: skip
_NO_CODE = r"(?![+-]?[0-9]{19,}\Z)"  # codes of things are long, or have leading zeros
NUMBER = re.compile(rf"{_NO_CODE}[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
MAX_DIGITS = 300  # of a text that is read as a number
SPACES = " \u00a0\u202f"
APOSTROPHES = "'’"
CURRENCIES = ("$", "€", "£", "¥", "₹", "US$", "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR")
_UNIT = "|".join(map(re.escape, sorted(("%", *CURRENCIES), key=len, reverse=True)))
_SHAPE = re.compile(
    rf"(?P<open>\()?(?P<sign>[+\-−])?(?P<before>{_UNIT})?[{SPACES}]?(?P<inner>[+\-−])?"
    rf"(?P<body>[0-9.,{APOSTROPHES}{SPACES}]*[0-9.,])(?P<power>[eE][+-]?[0-9]+)?"
    rf"[{SPACES}]?(?P<after>{_UNIT})?(?P<close>\))?"
)
_WHOLE = "(?:0|[1-9][0-9]*)"
_MARKS = [(d, g) for g in ("", ",", ".", SPACES, APOSTROPHES) for d in (".", ",") if d != g]
SHOWN = 1000  # texts among which an example is chosen


@dataclass(frozen=True)
class NumberFormat:
    """The marks of a column's numbers, and the unit that its cells have in common.

    `group` holds the characters that separate thousands. `reason` says how an ambiguous column was
    decided, and `example` is one of the texts; neither matters for reading.

    >>> NumberFormat(".", ",", "$").number("-$1,234.50"), NumberFormat(",").number("1,5")
    (-1234.5, 1.5)
    """

    decimal: str = "."
    group: str = ""
    unit: str = ""
    example: str = field(default="", compare=False)
    reason: str = field(default="", compare=False)

    @cached_property
    def _body(self) -> re.Pattern[str]:
        return _body(self.decimal, self.group)

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as in programs: 1234.5."""
        return (self.decimal, self.group, self.unit) == (".", "", "")

    def number(self, text: str) -> float | None:
        """The number that `text` stands for; None where it is not written in this format.

        A currency may be left out, a percent sign may not.
        """
        parts = _parts(text)
        if parts is None:
            return None
        negative, unit, body, power = parts
        same = unit == self.unit or (unit == "" and self.unit != "%")
        if not same or not self._body.fullmatch(body):
            return None
        for mark in self.group:
            body = body.replace(mark, "")
        value = float(body.replace(self.decimal, ".") + power)
        return -value if negative else value

    def words(self) -> str:
        """How the numbers were read, as words after "Read COLUMN as …"."""
        value = self.number(self.example)
        shown = "" if value is None else f": {self.example!r} is {value:.15g}"
        return f"numbers{shown}{self.reason}"

    def to_dict(self) -> dict[str, str]:
        """The format as the schema of a model keeps it."""
        return {"decimal": self.decimal, "group": self.group, "unit": self.unit}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> NumberFormat:
        """The format that `to_dict` described."""
        decimal, group, unit = (stored[name] for name in ("decimal", "group", "unit"))
        if decimal not in (".", ",") or not isinstance(group, str) or not isinstance(unit, str):
            raise ValueError(f"{stored!r} is not a format of numbers")
        return cls(decimal, group, unit)


PLAIN = NumberFormat()


@dataclass(frozen=True)
class CellFormat:
    """How the cells of a column were written, where it was read from texts.

    `number` is the format of numbers, `day_first` whether the day comes first in dates such as
    3/4/2021, and `gap_words` the words for missing cells. With `empty_is_value` an empty cell is a
    value of the column, which nothing is imputed for.
    """

    number: NumberFormat = PLAIN
    day_first: bool | None = None
    gap_words: frozenset[str] = frozenset()
    empty_is_value: bool = False

    def value(self, text: str, *, dated: bool) -> float | None:
        """The number or, if `dated`, the date that a text stands for, as a number; None if none."""
        return day_number(text, day_first=self.day_first) if dated else self.number.number(text)

    def to_dict(self) -> dict[str, Any]:
        """The format as a model's file keeps it."""
        stored = {
            "number": None if self.number.is_plain else self.number.to_dict(),
            "day_first": self.day_first,
            "gap_words": sorted(self.gap_words) or None,
            "empty_is_value": self.empty_is_value or None,
        }
        return {name: value for name, value in stored.items() if value is not None}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> CellFormat:
        """The format that `to_dict` described."""
        if not isinstance(stored, Mapping):
            raise TypeError(f"{stored!r} is not a format of cells")
        number, words = stored.get("number"), stored.get("gap_words", [])
        form = PLAIN if number is None else NumberFormat.from_dict(number)
        order, empty = stored.get("day_first"), stored.get("empty_is_value", False)
        flags = (order is None or isinstance(order, bool)) and isinstance(empty, bool)
        if not flags or not isinstance(words, list):
            raise TypeError(f"{stored!r} is not a format of cells")
        return cls(form, order, frozenset(map(str, words)), empty)


def number_text(text: str) -> str | None:
    """The text of the number that a text in the plain format stands for; None for another text.

    Spellings of one number have one text.

    >>> [number_text(t) for t in ("1", " 1.00", "+1", "1e0", ".5", "007", "one")]
    ['1', '1', '1', '1', '0.5', None, None]
    """
    text = text.strip()
    if len(text) > MAX_DIGITS or not NUMBER.fullmatch(text):
        return None
    if text.lstrip("+-").isdigit():
        return str(int(text))
    number = float(text)
    return str(int(number)) if number.is_integer() else repr(number)


def widened(values: Array) -> Array:
    """Numbers of 16 or 32 bits as the doubles that are written alike; others as they are.

    .1 in 32 bits is 0.10000000149; as that number it would lie above a cut at .1.

    >>> widened(np.array([0.1, -0.02], dtype=np.float32)).tolist()
    [0.1, -0.02]
    """
    if values.dtype not in (np.float16, np.float32):
        return values
    distinct, places = np.unique(values, return_inverse=True)
    wide: Array = distinct.astype(str).astype(np.float64)[places]
    return wide


def plain_scalar(value: Any) -> Any:
    """A numpy scalar, a decimal or a period as a Python object; any other value as it is.

    Narrow floats become what `widened` makes of them.

    >>> plain_scalar(Decimal("2.0")), plain_scalar(np.float32(0.1)), plain_scalar("2.0")
    (2, 0.1, '2.0')
    """
    if isinstance(value, Decimal):
        return int(value) if value.is_finite() and value == int(value) else float(value)
    if isinstance(value, np.float16 | np.float32):
        return float(str(value))
    if type(value).__name__ == "Period":  # of pandas; its first moment
        return value.start_time.to_pydatetime()
    return value.item() if isinstance(value, np.generic) else value


def plain_array(values: Any) -> Array:
    """Values as an array, of numbers where they are decimals.

    >>> plain_array([Decimal("0.25"), Decimal(2)]).tolist()
    [0.25, 2.0]
    """
    array = np.asarray(values)
    if array.dtype.kind != "O" or array.ndim != 1:
        return array
    return np.asarray([plain_scalar(value) for value in array])


def is_number_like(text: str) -> bool:
    """Whether a text could be a number in some format."""
    return _parts(text) is not None


def find_format(
    texts: Sequence[str], *, decimal: str | None = None, semicolons: bool = False
) -> NumberFormat | None:
    """The format in which all of the texts are numbers; None where there is none.

    Texts such as 1,234 can be read in two ways where every comma has three digits after it. Then
    `decimal`, the decimal mark of the file, decides. Without it, the comma separates thousands,
    unless fields are separated by `semicolons`, as they are where the comma is the decimal mark.
    The same holds for 1.234, which is 1234 only if `decimal` is the comma. In amounts of money
    either mark separates thousands.

    >>> find_format(["1,234", "22,50"]).decimal, find_format(["1,234", "22,500"]).decimal
    (',', '.')
    """
    bodies, unit = _bodies(texts)
    fits = _fitting(bodies)
    if not fits:
        return None
    few = nsmallest(SHOWN, texts)  # the same in whatever order the texts come
    example = max(few, key=lambda text: sum(not c.isalnum() for c in text))
    first = fits[0]
    pair = _two_readings(fits, bodies)
    if pair is None:
        return NumberFormat(*first, unit, example)
    mark, why = _decided(pair, decimal, unit, semicolons=semicolons)
    chosen, left = sorted(pair, key=lambda marks: marks[0] != mark)
    other = NumberFormat(*left, unit).number(example)
    reason = f", {why}; with the decimal mark {left[0]!r} it would be {other:.15g}"
    return NumberFormat(*chosen, unit, example, reason)


def decimal_mark(texts: Sequence[str]) -> str | None:
    """The decimal mark of texts that can be read in one way only; None where nothing is decided."""
    bodies, _ = _bodies(texts)
    fits = _fitting(bodies)
    marks = {decimal for decimal, _ in fits}
    return marks.pop() if len(marks) == 1 else None


def file_decimal(columns: Iterable[Sequence[str]]) -> str | None:
    """The decimal mark that the columns of a file have in common; None where they tell none.

    >>> file_decimal([["1,5", "2"], ["1.234"], ["a"]]), file_decimal([["1,234"], ["7"]])
    (',', None)
    """
    marks = {decimal_mark(texts) for texts in columns} - {None}
    return marks.pop() if len(marks) == 1 else None


def _decided(
    pair: tuple[tuple[str, str], tuple[str, str]],
    decimal: str | None,
    unit: str,
    *,
    semicolons: bool,
) -> tuple[str, str]:
    """The decimal mark of a column that can be read in two ways, and why."""
    if decimal is not None:
        return decimal, f"as {decimal!r} is the decimal mark of the file"
    separator = pair[0][0]
    if unit in CURRENCIES:
        return _other(separator), "as amounts of money rarely have three decimals"
    if separator == "." or not semicolons:
        why = "as three digits follow every comma" if separator == "," else "as is usual"
        return ".", why
    return ",", "as semicolons separate the fields"


def _other(mark: str) -> str:
    return "." if mark == "," else ","


def _two_readings(
    fits: Sequence[tuple[str, str]], bodies: Sequence[str]
) -> tuple[tuple[str, str], tuple[str, str]] | None:
    """The two ways to read a column of one separator, with three digits after each."""
    for mark in ",.":
        pair = ((mark, ""), (_other(mark), mark))
        if all(marks in fits for marks in pair) and any(mark in body for body in bodies):
            return pair
    return None


def _fitting(bodies: Sequence[str]) -> list[tuple[str, str]]:
    """The (decimal mark, thousands separators) by which all bodies are numbers."""
    if not bodies:
        return []
    return [marks for marks in _MARKS if all(map(_body(*marks).fullmatch, bodies))]


def _bodies(texts: Iterable[str]) -> tuple[list[str], str]:
    """The digits and marks of texts, and their unit; none where a text is no number."""
    bodies, units = [], set()
    for text in texts:
        parts = _parts(text)
        if parts is None:
            return [], ""
        units.add(parts[1])
        bodies.append(parts[2])
    return (bodies, units.pop()) if len(units) == 1 else ([], "")


def _parts(text: str) -> tuple[bool, str, str, str] | None:
    """(negative, unit, digits and marks, power) of a text that looks like a number."""
    match = _SHAPE.fullmatch(text.strip())
    if match is None:
        return None
    before, after = match["before"], match["after"]
    brackets = match["open"] is not None
    signs = [sign for sign in (match["sign"], match["inner"]) if sign]
    odd = brackets != (match["close"] is not None) or len(signs) + brackets > 1
    if odd or (before and after) or before == "%":
        return None
    negative = brackets or "-" in signs or "−" in signs
    return negative, before or after or "", match["body"], match["power"] or ""


_PATTERNS: dict[tuple[str, str], re.Pattern[str]] = {}


def _body(decimal: str, group: str) -> re.Pattern[str]:
    """The pattern of digits and marks; numbers with leading zeros are codes, and do not fit."""
    if (decimal, group) not in _PATTERNS:
        point = re.escape(decimal)
        integer = _WHOLE
        if group:
            first = f"[{re.escape(group)}]"
            same = rf"[1-9][0-9]{{0,2}}(?P<mark>{first})[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*"
            integer = f"(?:{same}|{_WHOLE})"
        _PATTERNS[decimal, group] = re.compile(
            f"{_NO_CODE}{integer}(?:{point}[0-9]*)?|{point}[0-9]+"
        )
    return _PATTERNS[decimal, group]
