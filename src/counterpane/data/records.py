"""Columns from cells that have types of their own, as those of Excel and JSON have."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from counterpane.data.columns import Column, from_objects
from counterpane.data.texts import collect, text_columns

NUMERIC = {bool, int, float}


def typed_columns(cells: Mapping[str, list[Any]]) -> dict[str, Column | list[Any]]:
    """Columns by name; a column of lists or objects stays as it is, for `columns_of` to refuse.

    Numbers, truth values, dates and lengths of time keep their kind. A column of texts is read as
    that of a text file is. So is a column of several kinds, whose cells become texts first.
    """
    found: dict[str, Column | list[Any]] = {}
    for name, values in cells.items():
        kinds = {type(value) for value in values} - {type(None)}
        dates = all(issubclass(kind, datetime.date) for kind in kinds)
        if kinds & {list, dict}:
            found[name] = values
        elif kinds <= NUMERIC or dates or kinds == {datetime.timedelta}:
            found[name] = from_objects(name, values)
        else:
            texts = [None if value is None else _text(value) for value in values]
            found[name] = text_columns([name], collect(_as_rows(texts), 1))[0]
    return found


def _as_rows(texts: Sequence[str | None]) -> list[tuple[str | None]]:
    return [(text,) for text in texts]


def _text(value: Any) -> str:
    """A cell as a text file has it: whole numbers without a point, dates in ISO form."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    return value if isinstance(value, str) else str(value)
