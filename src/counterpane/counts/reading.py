"""The one way in: tables from what fits in memory, a source of counts from what may not."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from glob import has_magic
from os import PathLike
from pathlib import Path
from typing import Any

from counterpane.counts.file_readers import kind_of
from counterpane.counts.files import FileSource
from counterpane.data.readers import read as read_table
from counterpane.data.table import Table
from counterpane.errors import ParameterError

LARGE_FILE = 2**29  # bytes: what is larger is not read into memory unless asked for


def read(source: Any, **options: Any) -> Table | FileSource:
    """The table of a file, a frame, an array, or a mapping of columns; see `counterpane.data.read`.

    A folder, a pattern such as `"visits/*.parquet"`, a list of files, an Arrow file, and any file
    of half a gigabyte or more come as a `FileSource`, which takes the place of a table in every
    learner that works from counts; `options` are then its own.

    >>> read({"rain": ["no", "yes", "no"], "wet": [False, True, True]})
    Table(3 rows × 2 columns: Schema(rain:2, wet:2))
    """
    if not _is_large(source):
        return read_table(source, **options)
    options = {name: value for name, value in options.items() if value is not None}
    known = inspect.signature(FileSource).parameters
    for name in options.keys() - known.keys():
        raise ParameterError(
            f"the option {name!r} is not known for files that are read block by block; allowed: "
            f"{', '.join(list(known)[1:])}."
        )
    return FileSource(source, **options)


def _is_large(source: Any) -> bool:
    if not isinstance(source, str | PathLike):
        several = isinstance(source, Sequence) and len(source) > 0
        return several and all(isinstance(s, str | PathLike) for s in source)
    path = Path(source)
    if not path.is_file():
        return path.is_dir() or has_magic(str(path))
    kind = kind_of(path)
    return kind == "arrow" or (kind is not None and path.stat().st_size >= LARGE_FILE)
