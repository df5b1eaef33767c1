"""Columns and lines of cells written as CSV, and the cells of a column as JSON has them."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from counterpane.data.columns import Column, Labels, n_rows
from counterpane.data.dates import date_texts
from counterpane.data.export import column_list
from counterpane.disk import write_atomically
from counterpane.typing import Array

CHUNK = 2**14  # rows written at a time

Lines = tuple[Sequence[str], Iterable[Sequence[Any]]]
"""A header, and the lines below it."""


def column_lines(columns: Sequence[Column]) -> Lines:
    """Columns as a header and lines of texts."""
    blocks = (
        zip(*(cell_texts(c, low, low + CHUNK) for c in columns), strict=True)
        for low in range(0, n_rows(columns[0]), CHUNK)
    )
    return [column.name for column in columns], chain.from_iterable(blocks)


def write_csv(path: str | os.PathLike[str], lines: Lines) -> None:
    """Write lines as CSV to a file, completely or not at all; a `.gz` is compressed."""
    write_atomically(path, csv_chunks(lines))


def csv_chunks(lines: Lines, chunk: int = CHUNK) -> Iterator[bytes]:
    """The bytes of a CSV file, some lines at a time."""
    header, rest = lines[0], iter(lines[1])
    batch = [header, *islice(rest, chunk)]
    while batch:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(batch)
        yield text.getvalue().encode()
        batch = list(islice(rest, chunk))


def json_columns(columns: Sequence[Column]) -> dict[str, list[Any]]:
    """The cells by column as JSON has them: dates are texts, missing cells null."""
    cells = {
        c.name: column_list(c) if isinstance(c, Labels) else cell_texts(c, 0, n_rows(c))
        for c in columns
    }
    return {name: [None if cell == "" else cell for cell in own] for name, own in cells.items()}


def cell_texts(column: Column, low: int, high: int) -> list[Any]:
    """The cells of some rows as they are written; a missing one is empty."""
    if isinstance(column, Labels):
        texts = ["" if state is None else str(state) for state in column.states]
        states: Array = np.array([*texts, ""], dtype=object)
        return list(states[column.codes[low:high]])
    values: Sequence[Any] = column.values[low:high].tolist()
    if column.dated and len(values):
        values = date_texts(column.values[low:high])
    gaps = column.missing[low:high].tolist()
    return ["" if gap else value for gap, value in zip(gaps, values, strict=True)]
