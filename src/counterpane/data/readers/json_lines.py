"""Files with one JSON object a line, or a list of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from counterpane.data.clean import typed_columns
from counterpane.data.columns import Column
from counterpane.data.readers.text_files import MEGABYTE, FileOptions, open_text
from counterpane.errors import FileFormatError

EVERY = 10_000  # rows between two reports
MAX_CELLS = 2**28  # columns × rows: with more, keys are no columns
SAFE_CELLS, CELLS_PER_LETTER = 2**24, 16  # of a table, nearly all of them empty
RECORDS_NEEDED = 'one object a line is needed, such as {"age": 41, "sex": "male"}.'


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
