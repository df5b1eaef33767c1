"""The Arrow types of a table's columns, and which values they hold."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from counterpane.errors import DataError, MissingExtraError, unknown_name

Block = list[Any]
"""Arrow arrays of one length, one for each column asked for."""


class ColumnTypes:
    """The Arrow type of each column, by name; with `texts` every cell is that of a text file.

    `what` names them in messages. The null type is one that only the rows will tell.
    """

    def __init__(self, types: Mapping[str, Any], *, what: str, texts: bool = False) -> None:
        self.types = dict(types)
        self.what = what
        self.texts = texts

    def check(self, names: Sequence[str]) -> None:
        """Refuse columns that are not there, or whose type no state can have."""
        for name in names:
            if name not in self.types:
                raise unknown_name(f"column of {self.what}", name, self.types)
            if not is_null(self.types[name]):
                family_of(name, self.types[name])


def family(kind: Any) -> str | None:
    """Which values an Arrow type holds: "text", "truth", "number", or None for all others."""
    types = arrow("types")
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    if types.is_boolean(kind):
        return "truth"
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return "number" if number else None


def family_of(name: str, kind: Any) -> str:
    """The family of a column's type, which must be one of the three."""
    found = family(kind)
    if found is None:
        raise DataError(
            f"column {name!r} holds {kind}; texts, booleans, numbers or categories are allowed: "
            "leave it out by columns=…, or convert it."
        )
    return found


def is_null(kind: Any) -> bool:
    """Whether a type is that of missing cells alone."""
    types = arrow("types")
    return bool(types.is_null(kind.value_type if types.is_dictionary(kind) else kind))


def arrow(module: str) -> Any:
    """A module of pyarrow, imported when it is first needed."""
    try:
        return importlib.import_module(f"pyarrow.{module}")
    except ImportError:
        raise MissingExtraError(
            "tables larger than memory are read by pyarrow, which is not installed; install "
            "counterpane[duckdb]."
        ) from None
