"""Markdown of the papers' tables: our values beside the printed ones, with the difference.

A file `_figures/papers/NAME.json` has `script`, `commit`, `date`, `machine`, `versions` and
`tables`. A table has `title`, `columns`, `rows` (lists as long as `columns`; an empty cell is null)
and, if needed, `note`, and `digits`: the decimals of its numbers, one for all or one a column name.
A column "X, printed" belongs to the column "X": the difference, ours less theirs, is added here.
"""

from __future__ import annotations

import re
from typing import Any

PRINTED = ", printed"
KEYS = ("script", "commit", "date", "machine", "versions", "tables")
Cell = str | float | int | None


def problems(record: dict[str, Any]) -> list[str]:
    """What is wrong with a file of tables; empty if nothing is."""
    wrong = [f"no {key}" for key in KEYS if not record.get(key)]
    if "dirty" in str(record.get("commit", "")):
        wrong.append("commit: the tree had changes that no commit holds; run it again")
    titles = [table["title"] for table in record.get("tables", [])]
    wrong += [f"two tables have the title {t}" for t in set(titles) if titles.count(t) > 1]
    for table in record.get("tables", []):
        wrong += [f"{table['title']}: {text}" for text in _problems(table)]
    return wrong


def _problems(table: dict[str, Any]) -> list[str]:
    columns = table["columns"]
    wrong = ["no rows"] if not table["rows"] else []
    wrong += [f"row {i} has {len(row)} cells, not {len(columns)}"
              for i, row in enumerate(table["rows"]) if len(row) != len(columns)]  # fmt: skip
    wrong += [f"column {c}: no column {c.removesuffix(PRINTED)} before it" for i, c in
              enumerate(columns) if c.endswith(PRINTED)
              and c.removesuffix(PRINTED) not in columns[:i]]  # fmt: skip
    digits = table.get("digits")
    if isinstance(digits, dict):
        wrong += [f"digits: no column {name}" for name in digits if name not in columns]
    return wrong


def pages(name: str, record: dict[str, Any]) -> dict[str, str]:
    """Text by file name: NAME.md with all tables, NAME/TITLE.md with one."""
    wrong = problems(record)
    if wrong:
        raise ValueError(f"_figures/papers/{name}.json: {'; '.join(wrong)}")
    texts = {}
    parts = []
    for table in record["tables"]:
        text = f"{markdown(table)}\n{source(record)}\n"
        texts[f"{name}/{slug(table['title'])}.md"] = f"**{table['title']}**\n\n{text}"
        parts.append(f"**{table['title']}**\n\n{markdown(table)}")
    texts[f"{name}.md"] = "\n".join([*parts, source(record), ""])
    return texts


def slug(title: str) -> str:
    """The title as a file name: lower case, words joined by hyphens."""
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))


def markdown(table: dict[str, Any]) -> str:
    """The lines of a table with the differences, and its note."""
    columns, rows = with_differences(table["columns"], table["rows"])
    numeric = [any(isinstance(row[i], (int, float)) for row in rows) for i in range(len(columns))]
    lines = [f"| {' | '.join(columns)} |"]
    lines.append("|" + "|".join("---:" if number else "---" for number in numeric) + "|")
    for row in rows:
        cells = [cell_text(cell, _digits(table, columns, i)) for i, cell in enumerate(row)]
        lines.append(f"| {' | '.join(cells)} |")
    note = [table["note"], ""] if table.get("note") else []
    return "\n".join([*lines, "", *note])


def with_differences(
    columns: list[str], rows: list[list[Cell]]
) -> tuple[list[str], list[list[Cell]]]:
    """The columns and rows with "difference" after each printed column."""
    heads: list[str] = []
    sources: list[tuple[int, int | None]] = []  # (column, the printed column to subtract)
    for i, name in enumerate(columns):
        heads.append(name)
        sources.append((i, None))
        if name.endswith(PRINTED):
            heads.append("difference")
            sources.append((columns.index(name.removesuffix(PRINTED)), i))
    wide = [[_difference(row[i], None if j is None else row[j], j is not None)
             for i, j in sources] for row in rows]  # fmt: skip
    return heads, wide


def _difference(ours: Cell, printed: Cell, subtract: bool) -> Cell:
    if not subtract:
        return ours
    if isinstance(ours, (int, float)) and isinstance(printed, (int, float)):
        return ours - printed
    return None


def _digits(table: dict[str, Any], columns: list[str], i: int) -> int | None:
    """The decimals of a column; a difference has those of the printed column before it."""
    digits = table.get("digits")
    if not isinstance(digits, dict):
        return digits
    name = columns[i - 1] if columns[i] == "difference" else columns[i]
    return digits.get(name, digits.get(name.removesuffix(PRINTED)))


def cell_text(cell: Cell, digits: int | None = None) -> str:
    """A cell as shown: numbers to `digits` decimals, by default to four significant digits."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell.replace("|", "\\|")
    if digits is not None and not isinstance(cell, int):
        text = f"{cell:,.{digits}f}"
        return text.replace("-", "") if not float(text.replace(",", "")) else text
    if isinstance(cell, int) or abs(cell) >= 1000 or cell == int(cell):
        return f"{cell:,.0f}"
    return f"{cell:.4g}"


def source(record: dict[str, Any]) -> str:
    """What measured the tables, when and on what."""
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    where = f"`{record['script']}`, {record['date']}, commit {record['commit']}"
    return f"*Source: {where}; {record['machine']}; {versions}.*"
