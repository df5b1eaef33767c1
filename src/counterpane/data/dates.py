"""Dates and times as numbers, days since 1970-01-01, and as texts again."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from counterpane.typing import Array, Floats, Ints

DAY = 86_400_000_000  # microseconds
UNITS = {"D": DAY, "h": DAY // 24, "m": DAY // 1440, "s": 10**6, "us": 1}
MOVED = 0.01  # the share of rows that may change sides for a cut that reads better
ALL = "all dates"

_CLOCK = r"(?:[T ]\s*(\d{1,2}):(\d\d)(?::(\d\d)(\.\d{1,9})?)?\s*(Z|UTC|[+-]\d\d:?\d\d)?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_CLOCK}")
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}){_CLOCK}")
_YEAR_MONTH = re.compile(r"([12]\d{3})([-/])(0[1-9]|1[0-2])")
_SEASON = re.compile(r"\d\d(\d\d)[-/](\d\d)")
_DAY_WORD = re.compile(rf"(\d{{1,2}})[-. ]+([A-Za-z]{{3,9}})[-., ]+(\d{{4}}){_CLOCK}")
_WORD_DAY = re.compile(rf"([A-Za-z]{{3,9}})[-. ]+(\d{{1,2}})[-., ]+(\d{{4}}){_CLOCK}")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july",
    "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH = {name[:n]: i for i, name in enumerate(_MONTHS, 1) for n in (3, 4, len(name))}


def day_number(value: Any, *, day_first: bool | None = None) -> float | None:
    """The days from 1970-01-01 to a date or time, in UTC where it names a zone; None for others.

    Texts are years first (2021-03-04, 2021/3/4, with or without a time; 2021-03 is its first day),
    months as English words
    (4 March 2021, Mar 4, 2021), days first with dots (4.3.2021), or, with slashes or dashes,
    13/3/2021 and 3/13/2021; `day_first` says how to read those that could be either.

    >>> day_number("1970-01-02T12:00"), day_number("3/2/1970", day_first=True), day_number("soon")
    (1.5, 33.0, None)
    """
    if isinstance(value, datetime.datetime):
        return _stamp(value)
    if isinstance(value, datetime.date):
        return float(value.toordinal() - 719_163)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if match := _YEAR_FIRST.fullmatch(text):
        return _moment(match[1], match[3], match[4], match.groups()[4:])
    if match := _YEAR_MONTH.fullmatch(text):
        return _moment(match[1], match[3], 1, (None,) * 5)
    if match := _YEAR_LAST.fullmatch(text):
        first, second = int(match[1]), int(match[3])
        if match[2] == "." or second > 12:
            day_first = match[2] == "."
        elif first > 12:
            day_first = True
        if day_first is None and first != second:
            return None
        day, month = (first, second) if day_first else (second, first)
        return _moment(match[4], month, day, match.groups()[4:])
    if match := _DAY_WORD.fullmatch(text):
        return _moment(match[3], _MONTH.get(match[2].lower(), 0), match[1], match.groups()[3:])
    if match := _WORD_DAY.fullmatch(text):
        return _moment(match[3], _MONTH.get(match[1].lower(), 0), match[2], match.groups()[3:])
    return None


def are_seasons(texts: Iterable[str]) -> bool:
    """Whether all texts are pairs of years such as 2009-10, which look like months.

    >>> are_seasons(["2009-10", "2010-11"]), are_seasons(["2009-10", "2009-11"])
    (True, False)
    """
    matches = [_SEASON.fullmatch(text.strip()) for text in texts]
    return all(m is not None and (int(m[1]) + 1) % 100 == int(m[2]) for m in matches)


def find_day_first(texts: Iterable[str]) -> bool | None:
    """Whether days come first in dates such as 13/3/2021, where one of them tells; else None."""
    for text in texts:
        match = _YEAR_LAST.fullmatch(text.strip())
        if match and match[2] != "." and max(int(match[1]), int(match[3])) > 12:
            return int(match[1]) > 12
    return None


def _moment(year: Any, month: Any, day: Any, clock: Sequence[str | None]) -> float | None:
    """The number of a date and the time after it; None if there is no such day or hour."""
    hour, minute, second, part, zone = clock
    try:
        moment = datetime.datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0)
        )
    except ValueError:
        return None
    shift = 0
    if zone and zone[0] in "+-":
        shift = (int(zone[1:3]) * 60 + int(zone[-2:])) * (-1 if zone[0] == "+" else 1)
    return _stamp(moment + datetime.timedelta(minutes=shift, seconds=float(part or 0)))


def _stamp(moment: datetime.datetime) -> float:
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return (moment - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)


def numbers_of(stamps: Array) -> tuple[Floats, Array]:
    """The numbers of numpy datetimes, and which of them are missing."""
    missing = np.isnat(stamps)
    micros = np.where(missing, 0, stamps.astype("M8[us]").astype(np.int64))
    return micros / DAY, missing


def datetimes(numbers: Array) -> Array:
    """Days since 1970-01-01 as numpy datetimes, to the microsecond."""
    return _micros(numbers).astype("M8[us]")


def date_texts(numbers: Array) -> tuple[str, ...]:
    """ISO texts, as short as all of them allow: days, else minutes, seconds or less.

    >>> date_texts(np.array([0, 18_690])), date_texts(np.array([0.5, 1]))
    (('1970-01-01', '2021-03-04'), ('1970-01-01 12:00', '1970-01-02 00:00'))
    """
    micros = _micros(numbers)
    unit: Any = next(u for u in ("D", "m", "s", "us") if not (micros % UNITS[u]).any())
    texts = np.datetime_as_string(datetimes(numbers), unit=unit)
    return tuple(text.replace("T", " ") for text in texts.tolist())


def date_labels(cuts: Sequence[float]) -> tuple[str, ...]:
    """Names of the intervals between cuts that are dates.

    >>> date_labels([0, 365])
    ('<1970-01-01', '[1970-01-01, 1971-01-01)', '≥1971-01-01')
    """
    return interval_names(date_texts(np.asarray(cuts))) if len(cuts) else (ALL,)


def interval_names(cuts: Sequence[str]) -> tuple[str, ...]:
    """Names of the intervals between cuts that are written so; at least one cut is needed."""
    between = [f"[{low}, {high})" for low, high in pairwise(cuts)]
    return (f"<{cuts[0]}", *between, f"≥{cuts[-1]}")


def are_dates(state: object) -> bool:
    """Whether `state` is what `date_labels` calls the first interval."""
    return isinstance(state, str) and bool(
        state == ALL or (state.startswith("<") and _YEAR_FIRST.fullmatch(state[1:]))
    )


def round_cuts(values: Floats, cuts: Floats, rows: Ints | None = None) -> Floats:
    """Cuts moved up to whole days, hours, minutes or seconds: the longest possible unit.

    At most one row in a hundred changes sides, and no interval becomes empty. With `rows`, a value
    stands for so many rows.
    """
    if not len(cuts):
        return cuts
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    ends = np.arange(len(values)) + 1 if rows is None else np.cumsum(rows[order])
    heights = np.append(0, ends)
    before, micros = heights[np.searchsorted(ordered, cuts)], _micros(cuts)
    for size in UNITS.values():
        moved = -(-micros // size) * size / DAY
        after = heights[np.searchsorted(ordered, moved)]
        none_empty = (np.diff(after, prepend=0, append=heights[-1]) > 0).all()
        if none_empty and np.abs(after - before).sum() <= MOVED * heights[-1]:
            return moved
    return cuts


def _micros(numbers: Array) -> Ints:
    micros: Ints = np.rint(numbers.astype(np.float64) * DAY).astype(np.int64)
    return micros
