"""Markdown tables of the committed figures, for pages to include; every number has its source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import paper_tables

PAGES = {"large": "engines"}  # where figures go that have no page of their own


def write(figures: Path, folder: Path) -> None:
    """Tables in `folder` of the files in `figures`: one page for each, those of engines in one.

    Those of the papers go to `folder/papers`: `NAME.md`, and `NAME/TITLE.md` for each table.
    """
    pages: dict[str, list[str]] = {}
    for path in sorted(figures.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        pages.setdefault(PAGES.get(path.stem, path.stem), []).append(table(record))
    texts = {f"{name}.md": "\n".join(parts) for name, parts in pages.items()}
    for path in sorted((figures / "papers").glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        for name, text in paper_tables.pages(path.stem, record).items():
            texts[f"papers/{name}"] = text
    for name, text in texts.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def table(record: dict[str, Any]) -> str:
    """The figures of one benchmark, and below them when, by what and on what they were measured."""
    targets = any("asked" in row for row in record["figures"])
    lines = []
    if record["figures"]:
        lines = ["| measurement | result |" + (" target |" if targets else "")]
        lines.append("|---|---:|" + ("---:|" if targets else ""))
    for row in record["figures"]:
        cells = [row["what"].replace("|", "\\|"), shown(row)]
        if targets:
            cells.append(target(row))
        lines.append("| " + " | ".join(cells) + " |")
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    source = f"`{record['script']}`, {record['date']}, {commit_words(record['commit'])}"
    lines += ["", *wide_table(record["details"])] if "details" in record else []
    return "\n".join([*lines, "", f"*Source: {source}; {record['machine']}; {versions}.*", ""])


def commit_words(commit: str) -> str:
    """The commit of a measurement, and whether its tree had changes that no commit holds."""
    clean = commit.removesuffix("-dirty")
    return f"commit {clean}" if clean == commit else f"commit {clean} with changes not committed"


def target(row: dict[str, Any]) -> str:
    """The target of a figure, marked if it was missed; empty without a target."""
    if "asked" not in row:
        return ""
    sign, limit = row["asked"].split()
    met = row["value"] >= float(limit) if sign == "≥" else row["value"] <= float(limit)
    return row["asked"] if met else f"{row['asked']}, **missed**"


def wide_table(rows: list[dict[str, Any]]) -> list[str]:
    """The lines of a table with a column for each key, the first one of words."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [f"| {' | '.join(c.replace('_', ' ') for c in columns)} |"]
    lines.append("|---|" + "---:|" * (len(columns) - 1))
    for row in rows:
        cells = [str(row[columns[0]])]
        cells += [shown({"value": row[c]}) if c in row else "" for c in columns[1:]]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def shown(row: dict[str, Any]) -> str:
    """A figure with its unit, to four digits."""
    value = row["value"]
    if isinstance(value, str):
        return value
    text = f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"
    return f"{text}\N{NO-BREAK SPACE}{row['unit']}" if "unit" in row else text
