"""Columns of a sheet of an Excel workbook, read with openpyxl."""

from __future__ import annotations

import datetime
import importlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from counterpane.data.clean import typed_columns
from counterpane.data.columns import Column
from counterpane.data.csv import FileOptions
from counterpane.errors import (
    DataError,
    FileFormatError,
    MissingExtraError,
    ParameterError,
    Setting,
    unknown_name,
)

MAX_CELLS = 2**28
FAULTS = frozenset({"#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"})


class SheetChosen(UserWarning):
    """A workbook has several sheets, and the first of them was read."""


def read_excel(path: Path, options: FileOptions) -> dict[str, Column | list[Any]]:
    """The columns of a sheet: the first row that is not empty holds their names.

    The sheet is given by its name, or its number from 1; without it the first sheet is read, and a
    warning names the others. Formulas count as the values that were stored with them, their errors
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
        try:
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        except Exception as error:  # zip, XML and its own: all mean the same
            words = " ".join(str(error).split())[:200]
            raise FileFormatError(
                f"file {str(path)!r} cannot be read as an Excel workbook: {words}"
            ) from None
        try:
            page = _page(book, options.sheet, path)
            rows = _rows(page, path)
            header = next(rows, [])
            cells = _columns(header, rows, path, strict=options.strict)
        finally:
            book.close()
    if options.sheet is None and len(book.worksheets) > 1:
        others = ", ".join(repr(each.title) for each in book.worksheets[1:])
        warnings.warn(
            f"{str(path)!r} has {len(book.worksheets)} sheets; {page.title!r} was read, and not "
            f"{others}.",
            SheetChosen,
            stacklevel=2,
        )
    return typed_columns(cells)


def _page(book: Any, sheet: str | int | None, path: Path) -> Any:
    """The sheet that was named or numbered."""
    pages = book.worksheets
    names = [page.title for page in pages]
    if not pages:
        raise FileFormatError(f"file {str(path)!r} has no sheet with cells.")
    if sheet is None:
        return pages[0]
    if str(sheet) in names:
        return pages[names.index(str(sheet))]
    if str(sheet).isdecimal():
        if not 1 <= int(sheet) <= len(pages):
            raise ParameterError(
                Setting("sheet", sheet), f"; {str(path)!r} has {len(pages)}, counted from 1."
            )
        return pages[int(sheet) - 1]
    raise unknown_name("sheet", sheet, names)


def _rows(page: Any, path: Path) -> Iterator[list[Any]]:
    """The rows that have a cell; the size stored in a sheet is often wrong, and not used."""
    page.reset_dimensions()
    size = 0
    for row in page.iter_rows(values_only=True):
        cells = [_cell(value) for value in row]
        while cells and cells[-1] is None:
            cells.pop()
        size += len(cells)
        if size > MAX_CELLS:
            raise FileFormatError(f"file {str(path)!r} has more than {MAX_CELLS:,} cells.")
        if cells:
            yield cells


def _cell(value: Any) -> Any:
    if isinstance(value, datetime.time):
        return value.isoformat()
    empty = isinstance(value, str) and (not value.strip() or value in FAULTS)
    return None if empty else value


def _columns(
    header: list[Any], rows: Iterator[list[Any]], path: Path, *, strict: bool
) -> dict[str, list[Any]]:
    """Cells by column name; all columns have the same length."""
    table = list(rows)
    width = max(map(len, [header, *table]), default=0)
    if not width:
        raise FileFormatError(f"file {str(path)!r} is empty; a header row is needed.")
    columns: dict[str, list[Any]] = {}
    for place in range(width):
        name = header[place] if place < len(header) else None
        cells = [row[place] if place < len(row) else None for row in table]
        if name is None and all(cell is None for cell in cells):
            continue
        if name is None and strict:
            raise FileFormatError(
                f"file {str(path)!r}: column {place + 1} has no name in the first row; name each "
                "column."
            )
        text = f"column {place + 1}" if name is None else str(name).strip()
        if text in columns:
            raise DataError(f"the column name {text!r} occurs twice; each needs its own.")
        columns[text] = cells
    return columns
