"""Libra's files of state numbers, `.data`."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from counterpane.data.clean import Cell, columns_of_rows
from counterpane.data.columns import Labels
from counterpane.data.readers.text_files import FileOptions, open_text
from counterpane.data.schema import MAX_STATES, Schema
from counterpane.data.table import Table
from counterpane.errors import FileFormatError
from counterpane.typing import Floats, Ints

MAX_CODES = 2**24  # states of all columns of a file together


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
        columns = columns_of_rows(chain([first], rows), [str(v) for v in range(len(first))])
    codes = np.stack([_libra_codes(column, path) for column in columns])
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


def _libra_codes(column: Labels, path: Path) -> Ints:
    """The state number of each row, −1 where it is missing."""
    states = []
    for text in (str(cell).strip() for cell in column.states):
        if text != "*" and not (text.isdecimal() and len(text) < 6 and int(text) <= MAX_STATES):
            raise FileFormatError(
                f"file {str(path)!r}, column {column.name}: {text[:40]!r} is no state; a whole "
                f"number up to {MAX_STATES} or '*' is needed."
            )
        states.append(-1 if text == "*" else int(text))
    numbers: Ints = np.array(states, dtype=np.int64)
    return numbers[column.codes]


def _libra_weights(weights: Floats) -> Floats | None:
    """1 for a row without a weight; None where no row has one."""
    return None if np.isnan(weights).all() else np.where(np.isnan(weights), 1.0, weights)
