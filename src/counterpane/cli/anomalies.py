"""`counterpane score --rows`: the rows that a model finds odd, and the cells that make them so."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table as Grid

from counterpane.cli.app import console, emit, notes
from counterpane.cli.tables import as_learned, read_raw
from counterpane.data.schema import state_text
from counterpane.models.formats.atomic import write_atomically
from counterpane.models.odd_rows import OddRow

CELLS = 3  # of a row that are told
LEGEND = (
    "below mean: nats by which the row's ln P is below that of the mean row, a missing cell "
    "counting as the mean of its column; P: probability of the cell, and of the most probable "
    "value, given the other cells of the row."
)


def show(
    model: Any,
    data: str,
    text: Mapping[str, str | None],
    n: int,
    output: Path | None,
    *,
    progress: bool,
    as_json: bool,
) -> None:
    """Print or write the `n` oddest rows of DATA."""
    raw = read_raw(data, text, model, progress=progress)
    columns = as_learned(model, raw)
    named = {c.name for c in columns}
    absent = [repr(name) for name in model.schema.names if name not in named]
    if absent:
        line = escape(f"Not in DATA, so summed out: {', '.join(absent)}.")
        notes.print(f"[dim]{line}[/dim]", soft_wrap=True)
    odd = model.odd_rows(columns, n, cells=CELLS)
    if output is not None:
        write_atomically(output, _lines(odd))
    if as_json:
        emit({"rows": [_record(row) for row in odd], "output": output and str(output)})
    elif output is not None:
        console.print(f"Saved to [bold]{escape(str(output))}[/bold]", soft_wrap=True)
    else:
        console.print(_picture(odd))
        console.print(f"[dim]{LEGEND}[/dim]", highlight=False, soft_wrap=True)


def _record(odd: OddRow) -> dict[str, Any]:
    """A row for JSON; rows are counted from 1, as in the other outputs."""
    cells = [cell._asdict() for cell in odd.cells]
    return {**odd._asdict(), "row": odd.row + 1, "cells": cells}


def _lines(odd: Sequence[OddRow]) -> Iterator[bytes]:
    """The rows as CSV, each with its cells beside it."""
    head = ["row", "log_probability", "nats_below_mean"]
    parts = ("column", "value", "probability", "expected", "expected_probability")
    head += [f"{part}_{k}" for k in range(1, CELLS + 1) for part in parts]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    for row in odd:
        line = [row.row + 1, f"{row.log_prob:.6g}", f"{row.excess:.6g}"]
        for cell in row.cells:
            line += [cell.column, state_text(cell.value), f"{cell.probability:.6g}"]
            line += [state_text(cell.expected), f"{cell.expected_probability:.6g}"]
        writer.writerow([*line, *[""] * (len(head) - len(line))])
    yield out.getvalue().encode()


def _picture(odd: Sequence[OddRow]) -> Grid:
    """Each row with its odd cells below each other; P is given the rest of the row."""
    grid = Grid(box=None)
    for head in ("row", "ln P (nats)", "below mean"):
        grid.add_column(head, justify="right")
    for head in ("odd cell", "P", "expected", "P"):
        grid.add_column(head, justify="right" if head == "P" else "left")
    for row in odd:
        first = [str(row.row + 1), f"{row.log_prob:.2f}", f"{row.excess:.2f}"]
        for cell in row.cells:
            value = f"{cell.column} = {state_text(cell.value)}"
            expected = escape(state_text(cell.expected))
            shares = f"{cell.probability:.4f}", f"{cell.expected_probability:.4f}"
            grid.add_row(*first, escape(value), shares[0], expected, shares[1])
            first = ["", "", ""]
        if not row.cells:
            grid.add_row(*first)
    return grid
