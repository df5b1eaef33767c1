"""Tables from files and frames; the suffix of a file says how it is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Literal

from counterpane.data.arff import read_arff
from counterpane.data.columns import columns_of
from counterpane.data.datasets import dataset_names
from counterpane.data.excel import read_excel
from counterpane.data.export import frame_kind_of
from counterpane.data.prepare import ReadRules, choose_columns
from counterpane.data.readers.arrow import ArrowFiles, ParquetFiles, read_parquet, table_bytes
from counterpane.data.readers.files import KINDS, FileReader, Paths, file_kind, locate_files
from counterpane.data.readers.json_lines import read_json_lines
from counterpane.data.readers.libra import read_libra_data
from counterpane.data.readers.text import TextFiles, read_delimited
from counterpane.data.readers.text_files import FileOptions, other_encoding, with_encoding
from counterpane.data.remote import FilePath, fetched, is_url, list_remote
from counterpane.data.schema_inference import Discretize
from counterpane.data.table import Table
from counterpane.disk import as_path
from counterpane.errors import (
    CounterpaneError,
    DataError,
    FileFormatError,
    NoFileError,
    ParameterError,
    Setting,
    no_file,
)

LARGE_FILE = 2**29  # bytes; larger files are read block by block
SWELLS = 8  # times that size, in memory, of the table of a parquet file
_SUFFIXES = (
    ".csv, .tsv, .tab, .txt, .json, .jsonl, .arff, .data (each also with .gz), .xlsx, .parquet, .pq"
)
_OTHERS = {
    ".xls": " (save it as .xlsx)",
    ".ods": " (save it as .xlsx or .csv)",
}


def read_table(
    source: Any,
    *,
    discretize: Discretize = "auto",
    on_unusable: Literal["error", "drop"] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    sheet: str | int | None = None,
    header: bool | None = None,
    drop: Collection[str] = (),
    categorical: Collection[str] = (),
    **options: Any,
) -> Table:
    """The table of a file, a frame, an array, or a mapping of columns; a table comes back as it is.

    `counterpane.read` describes the parameters; `options` are those of `Table.from_frame`. With
    discretize="auto" or {column: cuts} the columns are prepared by
    `counterpane.data.prepare.prepare`; the target, the weights and columns with `states` or cuts
    are never dropped.

    >>> table = read_table({"age": [31.5, 18.25, 44.0, 27.75], "wet": [False, True, True, False]})
    >>> table.notes
    ['Cut into intervals: age.']
    """
    rules = ReadRules(
        states=options.get("states") or {}, schema=options.get("schema"), discretize=discretize,
        target=options.get("target"), on_unusable=on_unusable, drop=drop, categorical=categorical,
    )  # fmt: skip
    options["discretize"], columns = discretize, source
    if isinstance(source, str | os.PathLike):
        strict = not rules.lenient
        text = FileOptions(delimiter, encoding, decimal, sheet, header, strict=strict)
        columns = _contents(source, text)
    if isinstance(columns, Table):
        chosen = choose_columns(columns.labels(), drop=drop, categorical=categorical)
        columns = columns.select([c.name for c in chosen]) if drop else columns
        return Table.from_frame(columns, **options)
    if not rules.lenient:
        if drop or categorical:
            columns = choose_columns(columns_of(columns), drop=drop, categorical=categorical)
        return Table.from_frame(columns, **options)
    weights = options.get("weights")
    keep = [weights] if isinstance(weights, str) else []
    prepared = rules.prepared(columns, keep=keep, drop=drop)
    table = Table.from_frame(prepared.columns, **options)
    table.preparation, table.frame_kind = prepared.facts(), frame_kind_of(source)
    return table


def read_columns(source: str | os.PathLike[str], **options: Any) -> Any:
    """What a file holds before it is encoded, as `columns_of` takes it.

    `options` are the fields of `FileOptions`.
    """
    contents = _contents(source, FileOptions(**options))
    return contents.labels() if isinstance(contents, Table) else contents


def _contents(source: str | os.PathLike[str], options: FileOptions) -> Any:
    """The columns or frame in a file; a table where the file states codes and weights itself.

    A file of a store is copied first.
    """
    if is_url(source):
        paths, root = list_remote(str(source))
        if len(paths) != 1:
            raise DataError(
                f"{str(root)!r} holds several files, which only `read` takes; name one."
            )
        with fetched(paths[0]) as copy:
            return _contents(copy, options)
    path = as_path(source)
    read = _reader(path, options)
    options = with_encoding(path, options)
    try:
        return read(path, options)
    except FileFormatError as error:
        other = other_encoding(path, options, error)
        if other is None:
            raise
        try:
            return read(path, other)
        except FileFormatError:
            raise error from None


def _reader(path: Path, options: FileOptions) -> Callable[[Path, FileOptions], Any]:
    """The function that reads files with the suffix of `path`."""
    if not path.is_file() and str(path) in dataset_names():
        raise NoFileError(f"there is no file {str(path)!r}; use load_dataset({str(path)!r}).")
    if not path.is_file():
        raise no_file(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] == [".gz"]
    suffix = "".join((suffixes[:-1] if packed else suffixes)[-1:])
    if options.sheet is not None and suffix not in (".xlsx", ".xlsm"):
        raise ParameterError(Setting("sheet", options.sheet), f"; {str(path)!r} is no Excel file.")
    if suffix in _TEXT_READERS:
        return _TEXT_READERS[suffix]
    if suffix in _BINARY_READERS and not packed:
        return _BINARY_READERS[suffix]
    raise FileFormatError(
        f"file {str(path)!r} is of no known kind{_OTHERS.get(suffix, '')}; these suffixes are "
        f"known: {_SUFFIXES}."
    )


_TEXT_READERS: dict[str, Callable[[Path, FileOptions], Any]] = {
    ".arff": read_arff,
    ".data": read_libra_data,
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), read_delimited),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), read_json_lines),
}
_BINARY_READERS: dict[str, Callable[[Path, FileOptions], Any]] = {
    **dict.fromkeys((".xlsx", ".xlsm"), read_excel),
    **dict.fromkeys((".parquet", ".pq"), lambda path, _: read_parquet(path)),
}


# ---- files that are read block by block ----------------------------------------------------------


def is_large_file(path: FilePath) -> bool:
    """Whether one file is read block by block: all Arrow files, and those of many bytes or rows."""
    kind = file_kind(path)
    if kind is None or kind == "arrow":
        return kind is not None
    if path.stat().st_size >= LARGE_FILE or kind == "text":
        return path.stat().st_size >= LARGE_FILE
    try:
        return table_bytes(path) >= SWELLS * LARGE_FILE
    except CounterpaneError:  # whoever reads it says what is wrong
        return False


def open_files(paths: Paths, options: FileOptions) -> FileReader:
    """The reader of files that are all of one kind; `options` are for text."""
    located = locate_files(paths)
    kinds = {file_kind(path): path for path, _ in located}
    if None in kinds or len(kinds) > 1:
        raise FileFormatError(
            f"the files {', '.join(repr(str(p)) for p in kinds.values())} are not of one known "
            f"kind; all must end in one of {', '.join(KINDS)}."
        )
    if "text" in kinds:
        return TextFiles(located, options)
    return ParquetFiles(located) if "parquet" in kinds else ArrowFiles(located)
