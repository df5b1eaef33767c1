"""Columns that folders spell by their names, such as `visits/year=2024/part.parquet`."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from counterpane.errors import DataError

NOTHING = "__HIVE_DEFAULT_PARTITION__"  # how Hive, Spark and others spell a missing cell
_WHOLE = re.compile(r"-?[0-9]{1,18}")

Values = Mapping[Path, int | str | None]
"""The value of one column in each file, by its absolute path."""


def folder_columns(files: Sequence[tuple[Path, Path]]) -> dict[str, Values]:
    """The columns in the names of the folders between each file and its root, by name.

    They are whole numbers if all values are, with leading zeros or not, as other readers have it;
    else texts. Percent signs are decoded.

    >>> root = Path("/visits")
    >>> folder_columns([(root / "month=01" / "a.csv", root), (root / "month=2" / "a.csv", root)])
    {'month': {PosixPath('/visits/month=01/a.csv'): 1, PosixPath('/visits/month=2/a.csv'): 2}}
    """
    spelled = {path.absolute(): _spelled(path.relative_to(root).parts[:-1]) for path, root in files}
    first, names = next(iter(spelled.items()))
    for path, values in spelled.items():
        for odd in sorted(values.keys() ^ names.keys()):
            here, there = (path, first) if odd in values else (first, path)
            raise DataError(
                f"column {odd!r} is in the folders of file {str(here)!r} and not of "
                f"{str(there)!r}; all files need the same columns."
            )
    return {name: _typed({path: values[name] for path, values in spelled.items()})
            for name in names}  # fmt: skip


def constant(value: int | str | None, rows: int, kind: Any, *, texts: bool) -> Any:
    """An Arrow array that repeats one value; with `texts` it is that of a text file."""
    pa = importlib.import_module("pyarrow")
    if texts:
        value = "" if value is None else str(value)
    if value is None:
        return pa.nulls(rows, kind)
    if isinstance(value, int):
        return pa.repeat(pa.scalar(value, kind), rows)
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int8()), rows), [value])


def is_whole(values: Values) -> bool:
    """Whether a column holds whole numbers."""
    return not any(isinstance(value, str) for value in values.values())


def _spelled(folders: Sequence[str]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for folder in folders:
        name, sign, value = folder.partition("=")
        if name and sign:
            found[unquote(name)] = None if value == NOTHING else unquote(value)
    return found


def _typed(values: dict[Path, str | None]) -> Values:
    whole = all(value is None or _WHOLE.fullmatch(value) for value in values.values())
    return {path: int(value) if whole and value is not None else value
            for path, value in values.items()}  # fmt: skip
