"""Columns of a sheet of an Excel workbook, read with openpyxl."""

from __future__ import annotations

import datetime
import importlib
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import Any

from counterpane.data.clean import typed_columns
from counterpane.data.columns import Column
from counterpane.data.headers import (
    FIRST_LINES,
    is_header,
    numbered_names,
    table_below,
    titles_left_out,
)
from counterpane.data.readers.text_files import FileOptions
from counterpane.disk import check_unpacked
from counterpane.errors import (
    CounterpaneWarning,
    FileFormatError,
    MissingExtraError,
    ParameterError,
    Setting,
    check_names,
    library_errors,
    unknown_name,
)

MAX_ROWS, MAX_COLUMNS = 2**20, 2**14  # of a sheet, by its format
FEW_CELLS = 2**22  # that any sheet may have
TABLE_ROWS = 10  # of the first sheet that is read without being named
FAULTS = frozenset({"#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"})


class SheetChosen(CounterpaneWarning):
    """A workbook has several sheets, and the first of them that holds a table was read."""


def read_excel(path: Path, options: FileOptions) -> dict[str, Column | list[Any]]:
    """The columns of a sheet: the first row that is not empty, nor a title, holds their names.

    The sheet is given by its name, or its number from 1. Without it the first is read that holds a
    table, of two columns and ten rows or more, or else the first; a warning names the others.
    Formulas count as the values that were stored with them, their errors
    as missing. Rows and columns without any cell are passed over.
    """
    try:
        openpyxl = importlib.import_module("openpyxl")
    except ImportError:
        raise MissingExtraError(
            f"file {str(path)!r} needs openpyxl to be read; install it with "
            "pip install 'counterpane[excel]', or save the sheet as CSV."
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on styles and other things that are no cells
        with _workbook_errors(path):
            size = _unpacked_size(path)
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            page = _page(book, options.sheet, path)
            with _workbook_errors(path):
                rows = list(_rows(page, path, max(FEW_CELLS, size)))
        finally:
            book.close()
    titles = 0 if options.strict or options.header is False else _title_rows(rows)
    cells = _columns(rows[titles:], path, options)
    if options.sheet is None and len(book.worksheets) > 1:
        others = ", ".join(repr(each.title) for each in book.worksheets if each is not page)
        warnings.warn(
            SheetChosen(
                f"{str(path)!r} has {len(book.worksheets)} sheets; {page.title!r} was read, and "
                f"not {others}. ",
                Setting("sheet"),
                " reads another.",
            ),
            stacklevel=2,
        )
    return typed_columns(cells)


def _workbook_errors(path: Path) -> AbstractContextManager[None]:
    """Turns what zip, XML and openpyxl raise, which share no base class, into one error."""
    return library_errors(
        lambda words: FileFormatError(
            f"file {str(path)!r} cannot be read as an Excel workbook: {words}"
        )
    )


def _unpacked_size(path: Path) -> int:
    """The size of all parts of a workbook; zipfile reads no more than is declared."""
    with zipfile.ZipFile(path) as archive:
        size = sum(part.file_size for part in archive.infolist())
    check_unpacked(path, size, "save the sheet as CSV")
    return size


def _page(book: Any, sheet: str | int | None, path: Path) -> Any:
    """The sheet that was named or numbered."""
    pages = book.worksheets
    names = [page.title for page in pages]
    if not pages:
        raise FileFormatError(f"file {str(path)!r} has no sheet with cells.")
    if sheet is None:
        return next((page for page in pages if len(pages) > 1 and _holds_table(page)), pages[0])
    if str(sheet) in names:
        return pages[names.index(str(sheet))]
    if str(sheet).isdecimal():
        if not 1 <= int(sheet) <= len(pages):
            raise ParameterError(
                Setting("sheet", sheet), f"; {str(path)!r} has {len(pages)}, counted from 1."
            )
        return pages[int(sheet) - 1]
    raise unknown_name("sheet", sheet, names)


def _holds_table(page: Any) -> bool:
    """Whether a sheet has enough rows and columns; one of notes or totals has not."""
    rows = (sum(cell is not None for cell in row) for row in page.iter_rows(values_only=True))
    filled = list(islice(filter(None, rows), TABLE_ROWS))
    return len(filled) == TABLE_ROWS and max(filled) > 1


def _title_rows(rows: Sequence[list[Any]]) -> int:
    """The number of rows above the names of the columns: those with fewer than half as many cells.

    A row of names is a row of different words; where there is none, the first row is it.
    """
    sizes = [sum(cell is not None for cell in row) for row in rows[:FIRST_LINES]]
    first = next((place for place, n in enumerate(sizes) if 2 * n > max(sizes)), 0)
    if not first or not is_header(rows[first]):
        return 0
    words = next(str(cell) for cell in rows[0] if cell is not None)
    warnings.warn(titles_left_out(first, words), stacklevel=4)
    return first


def _rows(page: Any, path: Path, most: int) -> Iterator[list[Any]]:
    """The rows that have a cell; the size stored in a sheet is often wrong, and not used.

    A sheet has at most as many cells, gaps between them included, as its file has bytes.
    """
    page.reset_dimensions()
    size = 0
    for number, row in enumerate(page.iter_rows(values_only=True), start=1):
        if number > MAX_ROWS or len(row) > MAX_COLUMNS:
            raise FileFormatError(
                f"file {str(path)!r}, row {number}: a sheet has at most {MAX_ROWS:,} rows and "
                f"{MAX_COLUMNS:,} columns."
            )
        cells = [_cell(value) for value in row]
        while cells and cells[-1] is None:
            cells.pop()
        size += len(cells)
        if size > most:
            raise FileFormatError(
                f"file {str(path)!r}, row {number}: the rows so far have {size:,} cells, nearly "
                "all of them empty; move the table to the first columns, or save the sheet as CSV."
            )
        if cells:
            yield cells


def _cell(value: Any) -> Any:
    if isinstance(value, datetime.time):
        return value.isoformat()
    empty = isinstance(value, str) and (not value.strip() or value in FAULTS)
    return None if empty else value


def _columns(rows: Sequence[list[Any]], path: Path, options: FileOptions) -> dict[str, list[Any]]:
    """Cells by column name, the first row holding the names; all columns have the same length."""
    width = max(map(len, rows), default=0)
    if not width:
        raise FileFormatError(f"file {str(path)!r} is empty; a header row is needed.")
    if options.header is False:
        rows = [numbered_names(width), *rows]
    header, *table = ([*row, *[None] * (width - len(row))] for row in rows)
    named = {i for i, name in enumerate(header) if name is not None}
    kept = [i for i in range(width) if i in named or any(row[i] is not None for row in table)]
    if options.strict and len(kept) > len(named):
        place = next(i for i in kept if i not in named)
        raise FileFormatError(
            f"file {str(path)!r}: column {place + 1} has no name in the first row; name each "
            "column."
        )
    names = [f"column {i + 1}" if header[i] is None else str(header[i]).strip() for i in kept]
    cells: Iterator[list[Any]] = ([row[i] for i in kept] for row in table)
    if not options.strict:
        # Names that were not there are not guessed again.
        header_given = True if options.header is False else options.header
        names, cells = table_below(names, cells, f"file {str(path)!r}", header_given)
    check_names(names, f"file {str(path)!r}: ")
    table = list(cells)
    return {name: [row[i] for row in table] for i, name in enumerate(names)}
