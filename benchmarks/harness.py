"""What all benchmarks share: timing, and a JSON file that says where it was measured."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("counterpane", "numpy", "numba", "scipy", "scikit-learn", "pyagrum")


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


def circumstances() -> dict[str, Any]:
    """The commit, the versions and the machine."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parent,
    ).stdout.strip()  # fmt: skip
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except ModuleNotFoundError:
            packages[name] = None
    return {
        "commit": commit,
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


def publish(name: str, rows: list[dict[str, Any]]) -> Path:
    """Write the results as JSON, print them as a table, and return the file."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"circumstances": circumstances(), "results": rows}, indent=1))
    for row in rows:
        limit = row.get("limit")
        sign = row.get("sign", "≤")
        verdict = ""
        if limit is not None:
            met = row["value"] <= limit if sign == "≤" else row["value"] >= limit
            verdict = f"  (asked: {sign} {limit:g}: {'met' if met else 'MISSED'})"
        print(f"{row['what']:<72} {row['value']:>14.7g} {row['unit']}{verdict}")
    print(f"→ {path}")
    return path
