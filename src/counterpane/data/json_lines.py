"""Columns of a file of JSON lines: one object a line, its keys are columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from counterpane.data.columns import Column
from counterpane.data.delimited import EVERY, MEGABYTE
from counterpane.data.records import typed_columns
from counterpane.data.texts import open_text
from counterpane.errors import FileFormatError
from counterpane.progress import Report

MAX_CELLS = 2**28  # columns × rows: what is larger has keys that are no columns


def read_json_lines(
    path: Path, *, encoding: str, report: Report | None = None
) -> dict[str, Column | list[Any]]:
    """The columns of a file; a key that a line lacks is a missing cell.

    Values are texts, numbers, truth values or null. A column with lists or objects among its cells
    is for `columns_of` to refuse or to leave out.
    """
    cells: dict[str, list[Any]] = {}
    rows = 0
    with open_text(path, encoding) as opened:
        file: Any = opened
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            record = _record(line, number, path)
            for key, value in record.items():
                column = cells.get(key)
                if column is None:
                    column = cells[key] = []
                column.extend([None] * (rows - len(column)))
                column.append(value)
            rows += 1
            if len(cells) * rows > MAX_CELLS:
                raise FileFormatError(
                    f"file {str(path)!r}, line {number}: {len(cells):,} keys in {rows:,} lines "
                    f"make more than {MAX_CELLS:,} cells; keys that name things are no columns."
                )
            if report is not None and rows % EVERY == 0:
                report("reading, megabytes", file.buffer.tell() / MEGABYTE, None)
    if not rows:
        raise FileFormatError(f"file {str(path)!r} is empty; one JSON object a line is needed.")
    for column in cells.values():
        column.extend([None] * (rows - len(column)))
    return typed_columns(cells)


def _record(line: str, number: int, path: Path) -> dict[str, Any]:
    where = f"file {str(path)!r}, line {number}"
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        words = getattr(error, "msg", None) or type(error).__name__
        raise FileFormatError(
            f"{where} is no JSON ({words}); one object a line is needed, such as "
            '{"age": 41, "sex": "male"}.'
        ) from None
    if not isinstance(record, dict):
        raise FileFormatError(
            f"{where} is a JSON {type(record).__name__}; one object a line is needed, such as "
            '{"age": 41, "sex": "male"}.'
        )
    if "" in record:
        raise FileFormatError(f"{where} has an empty key; each column needs a name.")
    return record
