"""Text files: opened safely, CSV files, and Libra's files of state numbers."""

from __future__ import annotations

import csv
import gzip
import io
import math
import warnings
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import IO, Any

import numpy as np

from counterpane.boundary import check_kind
from counterpane.data.clean import Cell, collect, text_columns
from counterpane.data.columns import Column
from counterpane.data.headers import (
    FIRST_LINES,
    split_best,
    table_below,
    title_lines,
    titles_left_out,
)
from counterpane.data.number_formats import NumberFormat
from counterpane.data.schema import MAX_STATES, Schema
from counterpane.data.table import Table
from counterpane.disk import open_bytes, path_errors
from counterpane.errors import FileFormatError, ParameterError, Setting
from counterpane.progress import Report
from counterpane.typing import Array, Floats, Ints

EVERY = 10_000  # rows between two reports
MEGABYTE = 1e6
MAX_CODES = 2**24  # states of all columns of a Libra file together


@dataclass(frozen=True)
class FileOptions:
    """How a file is written; None is detected.

    Without `encoding` text is UTF-8, UTF-16 if it begins so, otherwise Windows-1252; if `damaged`,
    bytes that are no text of the encoding are replaced. `header` says whether the first row has the
    names of the columns. `sheet` is one of an Excel file. `formats` are the formats of numbers that
    a model was learned from, by column. Columns without a name are named after their position. If
    `strict`, they are refused, and so is text that is not UTF-8. `report` is told how much was
    read.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    sheet: str | int | None = None
    header: bool | None = None
    formats: Mapping[str, NumberFormat] | None = None
    report: Report | None = None
    strict: bool = False
    damaged: bool = False

    def __post_init__(self) -> None:
        if self.decimal not in (None, ".", ","):
            raise ParameterError(Setting("decimal", self.decimal), "; '.' or ',' is allowed.")
        if self.delimiter is not None:
            check_delimiter(self.delimiter)
        check_kind("encoding", "str | None", self.encoding)
        check_kind("header", "bool | None", self.header)


def check_delimiter(delimiter: Any) -> None:
    """Refuse a delimiter that is not one character."""
    if not isinstance(delimiter, str) or len(delimiter) != 1:
        raise ParameterError(Setting("delimiter", delimiter), "; one character is needed.")


@contextmanager
def open_text(path: Path, options: FileOptions) -> Iterator[IO[str]]:
    """The text of a file, unpacked where its name ends in .gz; every failure is one sentence."""
    encoding, errors = options.encoding or "utf-8-sig", "replace" if options.damaged else "strict"
    try:
        io.TextIOWrapper(io.BytesIO(), encoding)
    except (LookupError, ValueError):  # one of bytes, or with a null character
        raise ParameterError(
            Setting("encoding", encoding), " is not known; try 'latin-1'."
        ) from None
    packed = path.suffix.lower() == ".gz"
    try:
        with (
            path_errors(path, "read"),
            io.TextIOWrapper(open_bytes(path, packed=packed), encoding, errors, newline="") as file,
        ):
            yield file
    except EOFError:
        raise FileFormatError(
            f"file {str(path)!r} is cut short: its gzip data have no end; fetch it again."
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FileFormatError(
            f"file {str(path)!r} is not a sound gzip file ({error}); fetch it again, or "
            "drop .gz from its name."
        ) from None
    except UnicodeError as error:
        raise FileFormatError(
            f"file {str(path)!r} is not {encoding} text ({error}); pass ",
            Setting("encoding"),
            " if it is text of another kind.",
        ) from None
    except csv.Error as error:
        raise FileFormatError(f"file {str(path)!r} cannot be read as text: {error}.") from None


def read_delimited(path: Path, options: FileOptions) -> list[Column]:
    """The columns of a file with a header row; see `text_columns` for their kinds.

    The default delimiter is the one of comma, semicolon, tab and bar that splits the header most.
    Blank lines are skipped; a row with more or fewer fields than the header is refused. Unless
    `strict`, titles above the header and a description below it are left out, with a warning.
    """
    with open_text(path, options) as file:
        above, lines = _header_line(file, options)
        mark = options.delimiter or split_best(lines[0] if lines else "")
        reader = csv.reader(chain(repeat("\n", above), lines, file), delimiter=mark, strict=True)
        try:
            header = _header(reader, path, options)
            rows = _rows(reader, len(header), path)
            if not options.strict or options.header is False:
                header, rows = table_below(header, rows, f"file {str(path)!r}", options.header)
            if options.report is not None:
                rows = _reported(rows, file, path.stat().st_size / MEGABYTE, options.report)
            columns = collect(rows, len(header))
        except csv.Error as error:
            raise FileFormatError(f"file {str(path)!r}, line {reader.line_num}: {error}.") from None
    return text_columns(
        header,
        columns,
        decimal=options.decimal,
        semicolons=mark == ";",
        formats=options.formats,
    )


def _header_line(file: IO[str], options: FileOptions) -> tuple[int, list[str]]:
    """The number of lines above the header, and the lines from there on that were read."""
    lines: list[str] = []
    above = 0
    for line in file:
        if lines or line.strip():
            lines.append(line)
        else:
            above += 1
        if len(lines) == (1 if options.strict else FIRST_LINES):
            break
    titles = 0 if options.strict or options.header is False else title_lines(lines)
    if titles:
        warnings.warn(titles_left_out(titles + above, lines[0].strip(",;|\t\r\n ")), stacklevel=5)
    return above + titles, lines[titles:]


def _reported(
    rows: Iterator[list[str]], file: Any, size: float, report: Report
) -> Iterator[list[str]]:
    """The rows; every so many rows it reports how much of the file was read."""
    packed = getattr(file.buffer, "fileobj", file.buffer)
    for place, row in enumerate(rows):
        if place % EVERY == 0:
            report("reading, megabytes", packed.tell() / MEGABYTE, size)
        yield row


def _header(reader: Any, path: Path, options: FileOptions) -> list[str]:
    header: list[str] = next(filter(None, reader), [])
    if not header:
        raise FileFormatError(f"file {str(path)!r} is empty; a header row is needed.")
    if options.strict and "" in header and options.header is not False:
        raise FileFormatError(
            f"file {str(path)!r}: column {header.index('') + 1} has no name in the header; name "
            "each column (pandas writes an unnamed index unless told index=False)."
        )
    return header


def _rows(reader: Any, width: int, path: Path) -> Iterator[list[str]]:
    """The rows of a reader, each as wide as the header; blank lines are left out."""
    for row in reader:
        if len(row) == width:
            yield row
        elif row:
            raise FileFormatError(
                f"file {str(path)!r}, line {reader.line_num}: {len(row)} fields where the header "
                f"has {width}; repair the line, or pass ",
                Setting("delimiter"),
                " if it is not as guessed.",
            )


def read_libra_data(path: Path, options: FileOptions) -> Table:
    """The table of a file of rows such as `0,2,*,1` or, with a weight, `2.5|0,2,*,1`.

    `*` is a missing cell. Columns are v0, v1, … with the states 0, 1, … up to the largest seen. A
    first row that exceeds all others in every column holds the numbers of states instead.
    """
    weights = array("d")
    with open_text(path, options) as file:
        rows = _libra_rows(file, path, weights)
        first = next(rows, None)
        if first is None:
            raise FileFormatError(f"file {str(path)!r} is empty; rows of numbers are needed.")
        columns = collect(chain([first], rows), len(first))
    codes = np.stack([_libra_codes(v, *column, path) for v, column in enumerate(columns)])
    head, rest = codes[:, 0], codes[:, 1:]
    if rest.size and (head > rest.max(axis=1)).all():
        cards, codes = head, rest
    else:
        cards = np.maximum(codes.max(axis=1) + 1, 1)
    if cards.sum() > MAX_CODES:
        raise FileFormatError(
            f"file {str(path)!r} has {cards.sum():,} states in all; {MAX_CODES:,} are allowed."
        )
    row_weights = np.array(weights)[-codes.shape[1] :]
    schema = Schema.from_cards(cards, prefix="v")
    return Table(schema, np.where(codes < 0, cards[:, None], codes), _libra_weights(row_weights))


def _libra_rows(lines: Iterable[str], path: Path, weights: array[float]) -> Iterator[list[Cell]]:
    """The cells of each row; its weight is appended to `weights`, NaN where there is none."""
    width = 0
    for number, line in enumerate(lines, 1):
        if not (text := line.strip()):
            continue
        head, bar, body = text.partition("|")
        cells: list[Cell] = [*(body if bar else head).split(",")]
        width = width or len(cells)
        if len(cells) != width:
            raise FileFormatError(
                f"file {str(path)!r}, line {number}: {len(cells)} numbers where the first row has "
                f"{width}."
            )
        try:
            weights.append(float(head) if bar else math.nan)
        except ValueError:
            raise FileFormatError(
                f"file {str(path)!r}, line {number}: {head[:40]!r} is not a weight; a number is "
                "needed before '|'."
            ) from None
        yield cells


def _libra_codes(v: int, cells: list[Cell], codes: Array, path: Path) -> Ints:
    """The state number of each row, −1 where it is missing."""
    states = []
    for text in (str(cell).strip() for cell in cells):
        if text != "*" and not (text.isdecimal() and len(text) < 6 and int(text) <= MAX_STATES):
            raise FileFormatError(
                f"file {str(path)!r}, column {v}: {text[:40]!r} is no state; a whole number up to "
                f"{MAX_STATES} or '*' is needed."
            )
        states.append(-1 if text == "*" else int(text))
    numbers: Ints = np.array(states, dtype=np.int64)
    return numbers[codes]


def _libra_weights(weights: Floats) -> Floats | None:
    """1 for a row without a weight; None where no row has one."""
    return None if np.isnan(weights).all() else np.where(np.isnan(weights), 1.0, weights)
