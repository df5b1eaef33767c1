"""Tables from files and frames; the suffix of a file says how it is read."""

from __future__ import annotations

import codecs
import json
import os
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Literal

from counterpane.data.arff import read_arff
from counterpane.data.clean import typed_columns
from counterpane.data.columns import Column, columns_of
from counterpane.data.csv import (
    EVERY,
    MEGABYTE,
    FileOptions,
    open_text,
    read_delimited,
    read_libra_data,
)
from counterpane.data.datasets import dataset_names
from counterpane.data.excel import read_excel
from counterpane.data.export import frame_kind_of
from counterpane.data.parquet import read_parquet
from counterpane.data.prepare import ColumnsLeftOut, choose_columns, prepare
from counterpane.data.remote import fetched, is_url, list_remote
from counterpane.data.schema_inference import Discretize
from counterpane.data.table import Table
from counterpane.disk import as_path, open_bytes, path_errors
from counterpane.errors import (
    CounterpaneWarning,
    DataError,
    FileFormatError,
    NoFileError,
    ParameterError,
    Setting,
    no_file,
)

MAX_CELLS = 2**28  # columns × rows of JSON lines: with more, keys are no columns
SAFE_CELLS, CELLS_PER_LETTER = 2**24, 16  # of a table of JSON lines, nearly all of them empty
_SUFFIXES = (
    ".csv, .tsv, .tab, .txt, .json, .jsonl, .arff, .data (each also with .gz), .xlsx, .parquet, .pq"
)
BLOCK_BYTES = 2**20
_ODD, _BEYOND_ASCII = re.compile("[\udc80-\udcff]"), re.compile("[^\x00-\x7f]")
RECORDS_NEEDED = 'one object a line is needed, such as {"age": 41, "sex": "male"}.'
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
    if on_unusable not in ("error", "drop", None):
        raise ParameterError(f"on_unusable={on_unusable!r}; 'error' or 'drop' is allowed.")
    options["discretize"] = discretize
    given_cuts = discretize if isinstance(discretize, Mapping) else {}
    auto = isinstance(discretize, Mapping) or (isinstance(discretize, str) and discretize == "auto")
    auto = auto and options.get("schema") is None
    lenient = on_unusable == "drop" or (auto and on_unusable is None)
    columns = source
    if isinstance(source, str | os.PathLike):
        columns = _stored(
            source, FileOptions(delimiter, encoding, decimal, sheet, header, strict=not lenient)
        )
    if isinstance(columns, Table):
        chosen = choose_columns(columns.labels(), drop=drop, categorical=categorical)
        columns = columns.select([c.name for c in chosen]) if drop else columns
        return Table.from_frame(columns, **options)
    if not lenient:
        if drop or categorical:
            columns = choose_columns(columns_of(columns), drop=drop, categorical=categorical)
        return Table.from_frame(columns, **options)
    given = (*(options.get("states") or ()), *given_cuts)
    needed = (options.get("target"), options.get("weights"), *given)
    keep = [name for name in needed if isinstance(name, str)]
    prepared = prepare(columns, keep=keep, drop=drop, categorical=categorical, leave_some=auto)
    if prepared.left_out and not auto:
        warnings.warn(prepared.sentence, ColumnsLeftOut, stacklevel=2)
    table = Table.from_frame(prepared.columns, **options)
    table.preparation, table.frame_kind = prepared.facts(), frame_kind_of(source)
    return table


def read_columns(source: str | os.PathLike[str], **options: Any) -> Any:
    """What a file holds before it is encoded, as `columns_of` takes it.

    `options` are the fields of `FileOptions`.
    """
    contents = _stored(source, FileOptions(**options))
    return contents.labels() if isinstance(contents, Table) else contents


def _stored(source: str | os.PathLike[str], options: FileOptions) -> Any:
    """The contents of a file, which is copied from its store first if `source` is a URL."""
    if not is_url(source):
        return _contents(as_path(source), options)
    paths, root = list_remote(str(source))
    if len(paths) != 1:
        raise DataError(f"{str(root)!r} holds several files, which only `read` takes; name one.")
    with fetched(paths[0]) as copy:
        return _contents(copy, options)


def _contents(path: Path, options: FileOptions) -> Any:
    """The columns or frame in a file; a table where the file states codes and weights itself."""
    read = _reader(path, options)
    guess = "utf-16" if not options.strict and _is_wide(path) else "utf-8-sig"
    encoding = options.encoding or guess
    try:
        return read(path, replace(options, encoding=encoding))
    except FileFormatError as error:
        guessed = encoding == "utf-8-sig" and not options.encoding and not options.strict
        if not guessed or not isinstance(error.__context__, UnicodeError):
            raise
        if _is_damaged_utf8(path):
            return read(path, replace(options, encoding=encoding, damaged=True))
        try:
            return read(path, replace(options, encoding="cp1252"))
        except FileFormatError:
            raise error from None


class BytesReplaced(CounterpaneWarning):
    """A UTF-8 file has bytes that are not valid characters."""


def _is_damaged_utf8(path: Path) -> bool:
    """Whether a file is UTF-8 text but for a few bytes; a warning says where the first is.

    Text of another encoding has hardly any sequence of bytes that is a character beyond ASCII in
    UTF-8, and UTF-8 has many for each byte that was damaged.
    """
    good = bad = offset = lines = 0
    first = (0, 0)
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    with path_errors(path, "read"), open_bytes(path, packed=path.suffix.lower() == ".gz") as file:
        while block := file.read(BLOCK_BYTES):
            text = decoder.decode(block)
            odd = _ODD.search(text)
            if odd and not bad:
                before = text[: odd.start()]
                first = (
                    offset + len(before.encode(errors="surrogateescape")),
                    lines + before.count("\n") + 1,
                )
            n_odd = len(_ODD.findall(text))
            bad, good = bad + n_odd, good + len(_BEYOND_ASCII.findall(text)) - n_odd
            offset, lines = (
                offset + len(text.encode(errors="surrogateescape")),
                lines + text.count("\n"),
            )
    if good < bad:
        return False
    several = f"{bad:,} bytes are" if bad > 1 else "1 byte is"
    warnings.warn(
        BytesReplaced(
            f"file {str(path)!r}: {several} not valid UTF-8, the first at byte {first[0]:,} (line "
            f"{first[1]:,}), and read as '\ufffd'; pass ",
            Setting("encoding"),
            " if the text has another encoding.",
        ),
        stacklevel=4,
    )
    return True


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


def _is_wide(path: Path) -> bool:
    """Whether a file begins as UTF-16 text does."""
    with path_errors(path, "read"), path.open("rb") as file:
        return file.read(2) in (b"\xff\xfe", b"\xfe\xff")


def read_json_lines(path: Path, options: FileOptions) -> dict[str, Column | list[Any]]:
    """The columns of a file with one JSON object a line; a key that a line lacks is missing there.

    A file of one list of objects is read as well. Values are texts, numbers, truth values or null;
    those of an object within an object are columns of their own, such as `user.country`. A column
    with lists among its cells is for `columns_of` to refuse or to leave out.
    """
    cells: dict[str, list[Any]] = {}
    rows = letters = 0
    with open_text(path, options) as opened:
        file: Any = opened
        for number, length, record in _records(file, path):
            letters += length
            for key, value in record.items():
                column = cells.setdefault(key, [])
                column.extend([None] * (rows - len(column)))
                column.append(value)
            rows += 1
            most = min(MAX_CELLS, max(SAFE_CELLS, CELLS_PER_LETTER * letters))
            if len(cells) * rows > most:
                raise FileFormatError(
                    f"file {str(path)!r}, line {number}: {len(cells):,} keys in {rows:,} lines "
                    f"make more than {most:,} cells; keys that name things are no columns."
                )
            if options.report is not None and rows % EVERY == 0:
                options.report("reading, megabytes", file.buffer.tell() / MEGABYTE, None)
    if not rows:
        raise FileFormatError(f"file {str(path)!r} is empty; one JSON object a line is needed.")
    for column in cells.values():
        column.extend([None] * (rows - len(column)))
    return typed_columns(cells)


def _records(file: IO[str], path: Path) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Number, length and object of each line that is not blank, or of each object of a list."""
    listed = path.name.lower().removesuffix(".gz").endswith(".json")
    for number, line in enumerate(file, start=1):
        where = f"file {str(path)!r}, line {number}"
        if listed and line.lstrip().startswith("["):
            text = line + file.read()
            objects = _parsed(text, f"file {str(path)!r}")
            for place, each in enumerate(objects, start=1):
                where = f"file {str(path)!r}, object {place}"
                yield place, len(text) // len(objects) + 1, _record(each, where)
        elif line.strip():
            yield number, len(line), _record(_parsed(line, where), where)
            listed = False


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        words = getattr(error, "msg", None) or type(error).__name__
        raise FileFormatError(f"{where} is no JSON ({words}); {RECORDS_NEEDED}") from None


def _record(value: Any, where: str) -> dict[str, Any]:
    """The cells of an object by column; those of an object in it have both names, with a dot."""
    if not isinstance(value, dict):
        raise FileFormatError(f"{where} is a JSON {type(value).__name__}; {RECORDS_NEEDED}")
    if "" in value:
        raise FileFormatError(f"{where} has an empty key; each column needs a name.")
    cells: dict[str, Any] = {}
    nested = [("", value)]
    while nested:
        prefix, within = nested.pop()
        for key, cell in within.items():
            if isinstance(cell, dict):
                nested.append((f"{prefix}{key}.", cell))
            else:
                cells[f"{prefix}{key}"] = cell
    return cells


_TEXT_READERS: dict[str, Callable[[Path, FileOptions], Any]] = {
    ".arff": read_arff,
    ".data": read_libra_data,
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), read_delimited),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), read_json_lines),
}
_BINARY_READERS: dict[str, Callable[[Path, FileOptions], Any]] = {
    **dict.fromkeys((".xlsx", ".xlsm"), read_excel),
    **dict.fromkeys((".parquet", ".pq"), read_parquet),
}
