"""What all benchmarks share: timing, and files (JSON, Markdown) that say where it was measured."""

from __future__ import annotations

import functools
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PAPERS = Path(__file__).parents[1] / "docs" / "_figures" / "papers"
PACKAGES = (
    "counterpane", "numpy", "scipy", "scikit-learn", "pyagrum", "pybnesian", "pgmpy",
    "lightgbm", "interpret-core",
)  # fmt: skip


def seconds(
    work: Callable[[], Any],
    *,
    repeat: int = 5,
    clock: Callable[[], float] = time.process_time,
    before: Callable[[], Any] | None = None,
) -> float:
    """The least time of several runs; processor time by default, so that neighbors matter less."""
    times = []
    for _ in range(repeat):
        if before is not None:
            before()
        began = clock()
        work()
        times.append(clock() - began)
    return min(times)


@functools.cache
def commit() -> str:
    """The commit of the tree when it is first asked for, with "-dirty" if the tree has changes."""
    return subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parent,
    ).stdout.strip()  # fmt: skip


def commits_of(records: Sequence[dict[str, Any]]) -> str:
    """The commits that measured some records, each once, in the order of the records."""
    return ", ".join(dict.fromkeys(record.get("commit", "unknown") for record in records))


def circumstances(records: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """The commit, the versions and the machine; the commits are those of the records, if any."""
    packages: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except ModuleNotFoundError:
            packages[name] = None
    return {
        "commit": commits_of(records) or commit(),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "packages": packages,
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def publish(
    name: str,
    rows: Sequence[dict[str, Any]],
    details: Sequence[dict[str, Any]] = (),
    records: Sequence[dict[str, Any]] = (),
) -> Path:
    """Write the results as JSON and Markdown, print them, and return the JSON file."""
    path = write(name, rows, details, records)
    for row in map(judged, rows):
        asked = f"  (asked: {row['asked']}: {row['verdict']})" if row["asked"] else ""
        print(f"{row['what']:<72} {row['value']:>14.7g} {row['unit']}{asked}")
    print(f"→ {path}")
    return path


def write(
    name: str,
    rows: Sequence[dict[str, Any]],
    details: Sequence[dict[str, Any]] = (),
    records: Sequence[dict[str, Any]] = (),
) -> Path:
    """Write the results as JSON and Markdown, and return the JSON file.

    Each row says `what`, `value` and `unit`; with a `limit` (and a `sign`, ≤ unless given) it is
    judged. `details` is a wide table of any columns; `records` name the commits that measured.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    where = circumstances(records)
    found = {"circumstances": where, "results": list(rows)}
    if details:
        found["details"] = list(details)
    path.write_text(json.dumps(found, indent=1))
    packages = ", ".join(f"{k} {v}" for k, v in where["packages"].items() if v is not None)
    text = f"# {name}\n\n{where['when']}, commit {where['commit']}, {where['processor']}, "
    text += f"load {where['load']:.1f}, Python {where['python']}, {packages}.\n"
    for table in filter(None, (list(map(judged, rows)), details)):
        text += "\n" + as_markdown(table)
    path.with_suffix(".md").write_text(text)
    return path


def publish_tables(
    name: str, script: str, tables: Sequence[dict[str, Any]], where: dict[str, Any] | None = None
) -> Path:
    """Write the tables of a paper for the site: `docs/_figures/papers/NAME.json`.

    `docs/paper_tables.py` says what a table is. `where` are the circumstances of the measurement,
    by default those of now; `circumstances(records)` has the commits of lines of several runs.
    """
    where = circumstances() if where is None else where
    record = {
        "script": script,
        "commit": where["commit"],
        "date": where["when"][:10],
        "machine": f"{where['cores']} cores, {where['machine']}",
        "versions": {
            "python": where["python"],
            **{package: number for package, number in where["packages"].items() if number},
        },
        "tables": list(tables),
    }
    PAPERS.mkdir(parents=True, exist_ok=True)
    path = PAPERS / f"{name}.json"
    path.write_text(tables_text(record), encoding="utf-8")
    print(f"→ {path}")
    return path


def tables_text(record: dict[str, Any]) -> str:
    """JSON with one row of a table a line, so that a change of a value is a change of a line."""
    marks: dict[str, str] = {}

    def mark(line: list[Any]) -> str:
        key = f"@row {len(marks)}@"
        marks[f'"{key}"'] = json.dumps(line, ensure_ascii=False)
        return key

    tables = [
        {**table, "columns": mark(table["columns"]), "rows": [mark(r) for r in table["rows"]]}
        for table in record["tables"]
    ]
    text = json.dumps({**record, "tables": tables}, indent=1, ensure_ascii=False)
    for key, line in marks.items():
        text = text.replace(key, line)
    return text + "\n"


def judged(row: dict[str, Any]) -> dict[str, Any]:
    """A row as it is shown: what was asked, and whether it is met."""
    shown = {"what": row["what"], "value": row["value"], "unit": row["unit"]}
    if row.get("limit") is None:
        return {**shown, "asked": "", "verdict": ""}
    sign, limit = row.get("sign", "≤"), row["limit"]
    met = row["value"] <= limit if sign == "≤" else row["value"] >= limit
    return {**shown, "asked": f"{sign} {limit:g}", "verdict": "met" if met else "MISSED"}


def as_markdown(rows: Sequence[dict[str, Any]]) -> str:
    """A table with a column for each key; numbers to seven digits, at the right."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    numeric = {c: any(isinstance(row.get(c), int | float) for row in rows) for c in columns}
    lines = [columns, ["---:" if numeric[c] else "---" for c in columns]]
    lines += [[_cell(row.get(c)) for c in columns] for row in rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.7g}" if isinstance(value, float) else str(value).replace("|", "\\|")
