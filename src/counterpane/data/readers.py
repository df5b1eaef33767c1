"""Tables from files and frames: the one way in."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

from counterpane.data.arff import read_arff
from counterpane.data.datasets import dataset_names
from counterpane.data.delimited import read_delimited
from counterpane.data.exporting import frame_kind_of
from counterpane.data.libra import read_libra_data
from counterpane.data.preparing import ColumnsLeftOut, Prepared, prepare
from counterpane.data.table import Table
from counterpane.errors import DataError, FileFormatError, NoFileError, ParameterError, no_file
from counterpane.progress import Report

_SUFFIXES = ".csv, .tsv, .txt, .arff, .data (each also with .gz), .parquet or .pq"


def read(
    source: Any,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8-sig",
    on_unusable: Literal["error", "drop"] = "error",
    **options: Any,
) -> Table:
    """The table of a file, a frame, an array, or a mapping of columns; a table comes back as it is.

    A path is read by its suffix: .csv, .tsv, .txt (a header row; the delimiter is found unless
    given), .arff, .data (Libra's: state numbers and no header), all of them also packed as .gz, and
    .parquet or .pq (with pyarrow or polars).
    `options` are those of `Table.from_frame`: states, weights, discretize, target, schema, ….

    With on_unusable="drop" columns that nothing can be learned from are left out with a warning
    that names them, and texts that are dates or numbers become such; see
    `counterpane.data.preparing.prepare`. The target, the weights and what has `states` stay.

    >>> read({"rain": ["no", "yes", "no"], "wet": [False, True, True]})
    Table(3 rows × 2 columns: Schema(rain:2, wet:2))
    """
    if on_unusable not in ("error", "drop"):
        raise ParameterError(f"on_unusable={on_unusable!r}; 'error' or 'drop' is allowed.")
    if on_unusable == "error" or isinstance(source, Table):
        if isinstance(source, str | os.PathLike):
            source = _read_file(source, delimiter=delimiter, encoding=encoding)
        return Table.from_frame(source, **options)
    named = (options.get("target"), options.get("weights"), *(options.get("states") or ()))
    keep = [name for name in named if isinstance(name, str)]
    found = read_prepared(source, keep=keep, delimiter=delimiter, encoding=encoding)
    if found.left_out:
        warnings.warn(found.told, ColumnsLeftOut, stacklevel=2)
    table = Table.from_frame(found.columns, **options)
    table.frame_kind = frame_kind_of(source)
    return table


def read_prepared(
    source: Any,
    *,
    keep: Collection[str] = (),
    delimiter: str | None = None,
    encoding: str | None = None,
    report: Report | None = None,
) -> Prepared:
    """The columns of a file or frame made fit to learn from; see `prepare` for what that means.

    Columns of a text file that have no name are called after their place. Without `encoding` text
    is UTF-8, UTF-16 where it begins as such, else Windows-1252.
    """
    if isinstance(source, str | os.PathLike):
        source = read_any(source, delimiter=delimiter, encoding=encoding, report=report)
    return prepare(source, keep=keep)


def read_any(
    source: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    report: Report | None = None,
) -> Any:
    """What a file holds, as `columns_of` takes it; names and encodings as in `read_prepared`."""
    path = Path(source)
    options: Any = {"delimiter": delimiter, "name_blanks": True, "report": report}
    first = encoding or ("utf-16" if _is_wide(path) else "utf-8-sig")
    try:
        found = _read_file(path, encoding=first, **options)
    except FileFormatError as error:
        if first != "utf-8-sig" or encoding or not isinstance(error.__context__, UnicodeError):
            raise
        try:
            found = _read_file(path, encoding="cp1252", **options)
        except FileFormatError:
            raise error from None
    return found.labels() if isinstance(found, Table) else found


def _is_wide(path: Path) -> bool:
    """Whether a file begins as UTF-16 text does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(2) in (b"\xff\xfe", b"\xfe\xff")


def read_columns(
    source: str | os.PathLike[str], *, delimiter: str | None = None, encoding: str = "utf-8-sig"
) -> Any:
    """What a file holds before it is encoded, as `columns_of` takes it; see `read`."""
    found = _read_file(source, delimiter=delimiter, encoding=encoding)
    return found.labels() if isinstance(found, Table) else found


def _read_file(
    source: str | os.PathLike[str], *, delimiter: str | None, encoding: str, **delimited: Any
) -> Any:
    """The columns or frame in a file; a table where it says codes and weights itself."""
    if delimiter is not None and len(delimiter) != 1:
        raise ParameterError(f"delimiter={delimiter!r}; one character is needed.")
    path = Path(source)
    if not path.is_file() and str(path) in dataset_names():
        raise NoFileError(f"there is no file {str(path)!r}; use load_dataset({str(path)!r}).")
    if not path.is_file():
        raise no_file(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] == [".gz"]
    kind = (suffixes[:-1] if packed else suffixes)[-1:]
    if kind == [".arff"]:
        return read_arff(path, encoding=encoding)
    if kind == [".data"]:
        return read_libra_data(path, encoding=encoding)
    if kind in ([".csv"], [".tsv"], [".txt"]):
        return read_delimited(path, delimiter=delimiter, encoding=encoding, **delimited)
    if kind in ([".parquet"], [".pq"]) and not packed:
        return _read_parquet(path)
    raise FileFormatError(f"file {str(path)!r}: the suffix says no known kind; {_SUFFIXES} do.")


def _read_parquet(path: Path) -> Any:
    """The frame in a parquet file, by the first library there is."""
    for library, name in (("pyarrow.parquet", "read_table"), ("polars", "read_parquet")):
        try:
            reader = getattr(importlib.import_module(library), name)
        except ImportError:
            continue
        try:
            return reader(path)
        except Exception as error:  # each library has its own, and none of them is ours
            words = " ".join(str(error).split())[:200]
            raise FileFormatError(
                f"file {str(path)!r} cannot be read as parquet: {words}"
            ) from None
    raise DataError(
        f"file {str(path)!r} needs pyarrow or polars to be read; install counterpane[duckdb]."
    )
