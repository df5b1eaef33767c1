"""The tables of docs/design/inference.md: `python benchmarks/uai_tables.py`.

Writes the records of benchmarks/results to docs/_figures/uai and prints the tables as Markdown.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import geometric_mean, mean
from typing import Any

import harness
import uai
import uai_estimates

FIGURES = Path(__file__).parents[1] / "docs" / "_figures" / "uai"
METHODS = ("bp", "join_graph", "gibbs", "chosen")


def by_family(records: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The records of each family of problems."""
    families = defaultdict(list)
    for record in records:
        families[record["problem"].split("_")[0]].append(record)
    return dict(families)


def row(*cells: object) -> None:
    """Print a row of a table."""
    print("|", " | ".join(map(str, cells)), "|")


def exact_table(records: list[dict[str, Any]]) -> None:
    """Time, memory and error by family, then beside pyAgrum."""
    ours = [r for r in records if r["tool"] == "counterpane" and r["limit_mb"] == 1500]
    for family, list_ in by_family(ours).items():
        seconds, peaks = ([r[k] for r in list_] for k in ("cpu_s", "peak_mb"))
        worst = max(r["max_error"] for r in list_)
        row(family, len(list_), f"{mean(seconds):.1f}", max(seconds), max(peaks), f"{worst:.0e}")
    print()
    own = {r["problem"]: r for r in ours}
    peers = [r for r in records if r["tool"] == "pyagrum" and r["problem"] in own]
    for family, list_ in by_family(peers).items():
        solved = [r for r in list_ if "cpu_s" in r]
        wrong = sum(not r["max_error"] <= 1e-6 for r in solved)
        ratios = [(r["cpu_s"] / own[r["problem"]]["cpu_s"]) for r in solved]
        sizes = [(r["peak_mb"] / own[r["problem"]]["peak_mb"]) for r in solved]
        late = sum("no answer" in r.get("failed", "") for r in list_)
        means = [f"{geometric_mean(x):.1f}" if x else "" for x in (ratios, sizes)]
        failed = len(list_) - len(solved) - late
        row(family, len(list_), len(solved) - wrong, wrong, failed, late, *means)
    print()
    limited = [r for r in records if r["tool"] == "counterpane"]
    for family, list_ in by_family(limited).items():
        cells = []
        for limit in (25, 50, 100, 200):
            part = [r for r in list_ if r["limit_mb"] == limit]
            solved = [r for r in part if "cpu_s" in r]
            most = f"{max(r['cpu_s'] for r in solved)} / " if solved else ""
            most += f"{max(r['peak_mb'] for r in solved)}" if solved else ""
            cells.append(f"{len(solved)} of {len(part)}: {most}" if part else "")
        row(family, *cells)
    for r in limited:
        if "failed" in r:
            row(r["problem"], r["limit_mb"], r["failed"][:200])


def estimate_table(records: list[dict[str, Any]]) -> None:
    """Largest and mean errors by time, family and method."""
    for seconds in sorted({r["seconds"] for r in records}):
        print()
        part = [r for r in records if r["seconds"] == seconds]
        for family, list_ in by_family(part).items():
            errors = [
                f"{max(r[m]['max'] for r in list_):.3f} / {mean(r[m]['mean'] for r in list_):.4f}"
                for m in METHODS
            ]
            trusted = f"{sum(r['trusted'] for r in list_)} of {sum(r['columns'] for r in list_)}"
            worst = max(r["trusted_error"]["max"] for r in list_)
            row(f"{seconds:.0f}", family, len(list_), *errors, trusted, f"{worst:.3f}")


def main() -> None:
    """Write the records, print the tables."""
    found = uai.records()
    marginals = {**harness.circumstances(found), "records": found}
    lines = [json.loads(line) for line in uai_estimates.OUT.read_text().splitlines()]
    estimates = {**harness.circumstances(lines), "records": lines}
    for name, record in (("marginals", marginals), ("estimates", estimates)):
        (FIGURES / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    exact_table(found)
    estimate_table(lines)


if __name__ == "__main__":
    main()
