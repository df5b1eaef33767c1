"""A table of the command line with its gaps filled, and the filled cells as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from counterpane.cli.tables import as_learned
from counterpane.data.clean import NO_NUMBER
from counterpane.data.columns import Column, Labels, Numbers
from counterpane.models.imputing import Completed, impute

CHUNK = 2**14  # cells written at a time


def completed(
    model: Any, raw: Sequence[Column], draws: int | None, seed: int | None
) -> list[Completed]:
    """The completed columns and the filled cells; a text among numbers is no gap."""
    read = as_learned(model, raw)
    fixed = {}
    for before, column in zip(raw, read, strict=True):
        known = column.name in model.schema.names
        if known and isinstance(before, Labels) and isinstance(column, Numbers):
            gone = [code for code, s in enumerate(before.states) if s is None or s in NO_NUMBER]
            fixed[column.name] = (before.codes >= 0) & ~np.isin(before.codes, gone)
    return impute(model, list(raw), draws, seed, read=read, fixed=fixed)


def cell_lines(done: Sequence[Completed], draws: int | None) -> Iterator[bytes]:
    """The filled cells as CSV, with the number of the draw first if there are draws."""
    head = ["row", "column", "value", "probability"]
    yield (",".join(head if draws is None else ["draw", *head]) + "\n").encode()
    for place, part in enumerate(done, start=1):
        for low in range(0, len(part.cells), CHUNK):
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            for row, column, value, probability in part.cells[low : low + CHUNK]:
                cells = [row + 1, column, value_text(value), f"{probability:.6g}"]
                writer.writerow(cells if draws is None else [place, *cells])
            yield text.getvalue().encode()


def value_text(value: Any) -> str:
    """A value as it is written; a date without a time that is midnight."""
    return str(value).removesuffix(" 00:00:00") if isinstance(value, datetime) else str(value)
