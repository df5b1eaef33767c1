"""The one way in: tables from what fits in memory, a source of counts from what may not."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from glob import has_magic
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpane.counts.file_readers import kind_of
from counterpane.counts.files import FileSource, ScanOptions
from counterpane.counts.frames import FrameSource
from counterpane.counts.source import CountSource
from counterpane.data.readers import read as read_table
from counterpane.data.table import Table
from counterpane.errors import ParameterError
from counterpane.lazy import lazy

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
else:
    nw = lazy("narwhals.stable.v2")

LARGE_FILE = 2**29  # bytes: what is larger is not read into memory unless asked for


def read(source: Any, **options: Any) -> Table | CountSource:
    """The table of a file, a frame, an array, or a mapping of columns; see `counterpane.data.read`.

    What may not fit into memory comes as a source of counts, which takes the place of a table in
    every learner that works from counts; `options` are then its own. That is a `FileSource` for a
    folder, a pattern such as `"visits/*.parquet"`, a list of files, an Arrow file, and any file of
    half a gigabyte or more; a `FrameSource` for a lazy frame of polars, DuckDB or Ibis; a
    `DaskSource` or `SparkSource` for a frame of theirs. A source comes back as it is.

    >>> read({"rain": ["no", "yes", "no"], "wet": [False, True, True]})
    Table(3 rows × 2 columns: Schema(rain:2, wet:2))
    """
    if isinstance(source, CountSource) and not options:
        return source
    if is_large(source):
        return FileSource(source, **_allowed(FileSource, options))
    frame = _lazy(source)
    if frame is None:
        return read_table(source, **options)
    made = source_class(frame)
    found: CountSource = made(frame.to_native(), **_allowed(made, options))
    return found


def read_blocks(source: Any, target: Any) -> CountSource | None:
    """The source of what is not read into memory, its numbers cut for the class `target`.

    None for all that is. A cluster's frames are cut by their owner.
    """
    frame = None if is_large(source) else _lazy(source)
    if frame is None and not is_large(source):
        return None
    cut = frame is None or source_class(frame) is FrameSource
    options = {"target": target, "discretize": "mdl"} if cut and isinstance(target, str) else {}
    found = read(source, **options)
    assert isinstance(found, CountSource)
    return found


def source_class(frame: nw.LazyFrame[Any]) -> Any:
    """The class of sources that counts a lazy frame."""
    engine = frame.implementation
    if engine.is_dask():
        return import_module("counterpane.counts.dask").DaskSource
    if engine.is_pyspark() or engine.is_pyspark_connect():
        return import_module("counterpane.counts.spark").SparkSource
    return FrameSource


def _lazy(source: Any) -> nw.LazyFrame[Any] | None:
    if isinstance(source, Table | CountSource | Mapping | list | np.ndarray | str | PathLike):
        return None  # no frame, and narwhals need not be loaded to know
    try:
        frame = nw.from_native(source, pass_through=True)
    except nw.exceptions.DuplicateError:  # the table's reader says it better
        return None
    return frame if isinstance(frame, nw.LazyFrame) else None


def _allowed(made: type[CountSource], options: dict[str, Any]) -> dict[str, Any]:
    """The options that are given, if the source knows them all."""
    known = inspect.signature(made).parameters
    names = {n for n, p in known.items() if p.kind is p.KEYWORD_ONLY}
    if any(p.kind is p.VAR_KEYWORD for p in known.values()):
        names |= ScanOptions.__annotations__.keys()
    given = {name: value for name, value in options.items() if value is not None}
    for name in sorted(given.keys() - names):
        raise ParameterError(
            f"the option {name!r} is not known for rows that are read block by block; allowed: "
            f"{', '.join(sorted(names))}."
        )
    return given


def is_large(source: Any) -> bool:
    """Whether `source` names files that are read block by block."""
    if not isinstance(source, str | PathLike):
        several = isinstance(source, Sequence) and len(source) > 0
        return several and all(isinstance(s, str | PathLike) for s in source)
    path = Path(source)
    if not path.is_file():
        return path.is_dir() or has_magic(str(path))
    kind = kind_of(path)
    return kind == "arrow" or (kind is not None and path.stat().st_size >= LARGE_FILE)
