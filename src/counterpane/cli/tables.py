"""Tables on the command line: written as CSV and JSON, and read with the options of a command."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from counterpane.cli.app import notes
from counterpane.cli.options import TextFormat
from counterpane.data.columns import Column, Labels, n_rows
from counterpane.data.dates import date_texts
from counterpane.data.encoding import Unseen
from counterpane.data.export import column_list
from counterpane.disk import write_atomically
from counterpane.errors import visible
from counterpane.typing import Array
from counterpane.workflow import inputs
from counterpane.workflow.inputs import as_learned, data_notes, kept_texts, lacking_columns

__all__ = ["as_learned", "data_notes", "kept_texts", "lacking_columns", "n_rows"]

CHUNK = 2**14  # rows written at a time


def read_raw(data: str, text: TextFormat, model: Any, *, by_count: bool = False) -> list[Column]:
    """The columns of DATA as they are; see `counterpane.workflow.inputs.model_columns`."""
    shown = not notes.quiet
    return inputs.model_columns(data, text.to_dict(), model, by_count=by_count, progress=shown)


def table_for(model: Any, data: str, text: TextFormat, *, unseen: Unseen = "error") -> Any:
    """The rows of DATA in the model's states; see `counterpane.workflow.inputs.model_table`."""
    shown = not notes.quiet
    return inputs.model_table(model, data, text.to_dict(), unseen=unseen, progress=shown)


def write_csv(columns: Sequence[Column], path: Path | None = None) -> None:
    """Write columns as CSV to a file, or to standard output."""
    blocks = (
        zip(*(cell_texts(c, low, low + CHUNK) for c in columns), strict=True)
        for low in range(0, n_rows(columns[0]), CHUNK)
    )
    write_lines([column.name for column in columns], chain.from_iterable(blocks), path)


def write_lines(
    header: Sequence[str], lines: Iterable[Sequence[Any]], path: Path | None = None
) -> None:
    """Write lines of cells as CSV in chunks: to a file, completely or not at all, or to stdout."""
    if path is not None:
        write_atomically(path, _chunks(header, lines))
        return
    for chunk in _chunks(header, lines):
        text = chunk.decode()
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)


def _chunks(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> Iterator[bytes]:
    rest = iter(lines)
    batch = [header, *islice(rest, CHUNK)]
    while batch:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(batch)
        yield text.getvalue().encode()
        batch = list(islice(rest, CHUNK))


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
