"""Tables from files and frames: the one way in."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from counterpane.data.arff import read_arff
from counterpane.data.datasets import dataset_names
from counterpane.data.delimited import read_delimited
from counterpane.data.libra import read_libra_data
from counterpane.data.table import Table
from counterpane.errors import DataError, FileFormatError, NoFileError, ParameterError, no_file

_SUFFIXES = ".csv, .tsv, .txt, .arff, .data (each also with .gz), .parquet or .pq"


def read(
    source: Any, *, delimiter: str | None = None, encoding: str = "utf-8-sig", **options: Any
) -> Table:
    """The table of a file, a frame, an array, or a mapping of columns; a table comes back as it is.

    A path is read by its suffix: .csv, .tsv, .txt (a header row; the delimiter is found unless
    given), .arff, .data (Libra's: state numbers and no header), all of them also packed as .gz, and
    .parquet or .pq (with pyarrow or polars).
    `options` are those of `Table.from_frame`: states, weights, discretize, target, schema, ….

    >>> read({"rain": ["no", "yes", "no"], "wet": [False, True, True]})
    Table(3 rows × 2 columns: Schema(rain:2, wet:2))
    """
    if not isinstance(source, str | os.PathLike):
        return Table.from_frame(source, **options)
    found = _read_file(source, delimiter=delimiter, encoding=encoding)
    return Table.from_frame(found, **options)


def read_columns(
    source: str | os.PathLike[str], *, delimiter: str | None = None, encoding: str = "utf-8-sig"
) -> Any:
    """What a file holds before it is encoded, as `columns_of` takes it; see `read`."""
    found = _read_file(source, delimiter=delimiter, encoding=encoding)
    return found.labels() if isinstance(found, Table) else found


def _read_file(source: str | os.PathLike[str], *, delimiter: str | None, encoding: str) -> Any:
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
        return read_delimited(path, delimiter=delimiter, encoding=encoding)
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
