"""Columns of a delimited text file (CSV), with the standard library alone."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from counterpane.data.columns import Column
from counterpane.data.number_formats import NumberFormat
from counterpane.data.texts import collect, open_text, text_columns
from counterpane.errors import FileFormatError, Setting
from counterpane.progress import Report

DELIMITERS = ",;\t|"
EVERY = 10_000  # rows between two reports
MEGABYTE = 1e6


def read_delimited(
    path: Path,
    *,
    delimiter: str | None,
    encoding: str,
    name_blanks: bool = False,
    report: Report | None = None,
    decimal: str | None = None,
    formats: Mapping[str, NumberFormat] | None = None,
) -> list[Column]:
    """The columns of a file with a header row; see `text_columns` for their kinds.

    Without `delimiter`, it is the one of comma, semicolon, tab and bar that splits the header most.
    Blank lines are skipped; a row with more or fewer fields than the header is refused, and so is
    a column without a name, unless `name_blanks` calls it after its place.
    """
    with open_text(path, encoding) as file:
        start: list[str] = []
        for line in file:
            start.append(line)
            if line.strip():
                break
        mark = delimiter or _sniff(start)
        reader = csv.reader(chain(start, file), delimiter=mark, strict=True)
        try:
            header = _header(reader, path, name_blanks=name_blanks)
            rows = _rows(reader, len(header), path)
            if report is not None:
                rows = _reported(rows, file, path.stat().st_size / MEGABYTE, report)
            columns = collect(rows, len(header))
        except csv.Error as error:
            raise FileFormatError(f"file {str(path)!r}, line {reader.line_num}: {error}.") from None
    return text_columns(header, columns, decimal=decimal, semicolons=mark == ";", formats=formats)


def _sniff(lines: list[str]) -> str:
    return max(DELIMITERS, key=lambda mark: sum(map(len, csv.reader(lines, delimiter=mark))))


def _reported(
    rows: Iterator[list[str]], file: Any, size: float, report: Report
) -> Iterator[list[str]]:
    """The rows, with a word now and then on how much of the file is read."""
    packed = getattr(file.buffer, "fileobj", file.buffer)
    for place, row in enumerate(rows):
        if place % EVERY == 0:
            report("reading, megabytes", packed.tell() / MEGABYTE, size)
        yield row


def _header(reader: Any, path: Path, *, name_blanks: bool) -> list[str]:
    header: list[str] = next(filter(None, reader), [])
    if not header:
        raise FileFormatError(f"file {str(path)!r} is empty; a header row is needed.")
    if name_blanks:
        return [name or f"column {place}" for place, name in enumerate(header, start=1)]
    if "" in header:
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
