"""Runs the fuzzers for hours: `make faults HOURS=8`. Each takes its turn; seeds go on after a stop.

With `--inputs` the fuzzers of files, questions, tables and totals run until so many inputs were
tried, in the mix of `MIX`; two processes need two values of `--first`. Prints tries and failures of
each, and ends with code 1 if there was one. Each failure becomes a test.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from faults.peak import faults_of

SHARES = {"files_fuzzer": 6.0, "kills": 1.0, "interrupts": 1.0}
BATCH = 100  # seeds of a fuzzer whose memory is measured once
ROUND = 60.0  # seconds of one round of all fuzzers
MIX = {"files_fuzzer": 570, "questions_fuzzer": 400, "tables_fuzzer": 20, "totals_fuzzer": 10}
NOTHING = {"tries": 0, "failures": 0, "seconds": 0.0}


def fuzzers() -> Iterator[tuple[str, Any, float]]:
    """(name, module, share of the time) of each module of this folder that has `try_once`."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem.startswith("test_") or path.stem == Path(__file__).stem:
            continue
        module = importlib.import_module(f"faults.{path.stem}")
        if hasattr(module, "try_once"):
            yield path.stem, module, SHARES.get(path.stem, 2.0)


def read_record(folder: Path) -> dict[str, Any]:
    """What all processes that write into a folder have tried, by fuzzer."""
    done: dict[str, Any] = {}
    for path in sorted(folder.glob("campaign*.json")):
        for name, facts in json.loads(path.read_text()).items():
            total = done.setdefault(name, {**NOTHING, "commits": []})
            for key in NOTHING:
                total[key] += facts[key]
            total["commits"] = list(dict.fromkeys([*total["commits"], *facts["commits"]]))
    return done


class Record:
    """The tries of one process, kept in a file; seeds begin at `first`."""

    def __init__(self, folder: Path, first: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.first = first
        self.path = folder / (f"campaign-{first}.json" if first else "campaign.json")
        self.failed = folder / "failures.txt"
        self.done = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.failures = 0
        self.commit = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=Path(__file__).parent,
            capture_output=True, text=True, check=False,
        ).stdout.strip()  # fmt: skip

    def tries(self, name: str) -> int:
        """How many seeds a fuzzer has tried."""
        return int(self.done.get(name, {"tries": 0})["tries"])

    def run(self, name: str, module: Any, tries: int) -> None:
        """Let a fuzzer try its next seeds."""
        facts = self.done.setdefault(name, {**NOTHING, "commits": []})
        facts["commits"] = list(dict.fromkeys([*facts["commits"], self.commit]))
        start, began = self.first + facts["tries"], time.process_time()
        faults = faults_of(range(start, start + tries), module.try_once)
        facts["tries"] += tries
        facts["failures"] += len(faults)
        facts["seconds"] = round(facts["seconds"] + time.process_time() - began, 2)
        self.failures += len(faults)
        with self.failed.open("a") as file:
            file.writelines(f"{fault}\n\n" for fault in faults)

    def write(self) -> None:
        """Keep what was tried."""
        self.path.write_text(json.dumps(self.done, indent=1) + "\n")


def try_inputs(folder: Path, inputs: int, first: int) -> int:
    """Try fuzzed inputs until `inputs` were tried in all; the number of failures."""
    record, rounds = Record(folder, first), inputs // sum(MIX.values())
    modules = {name: importlib.import_module(f"faults.{name}") for name in MIX}
    for k in range(1, rounds + 1):
        for name, module in modules.items():
            left = k * MIX[name] - record.tries(name)
            if left > 0:
                record.run(name, module, left)
        record.write()
    return record.failures


def try_for_hours(folder: Path, hours: float, only: list[str] | None) -> int:
    """Let each fuzzer take its turn; the number of failures."""
    record = Record(folder)
    chosen = [f for f in fuzzers() if not only or f[0] in only]
    shares = sum(share for *_, share in chosen)
    end = time.monotonic() + 3600 * hours
    while time.monotonic() < end:
        for name, module, share in chosen:
            stop = min(end, time.monotonic() + ROUND * share / shares)
            while time.monotonic() < stop:
                record.run(name, module, BATCH if name == "files_fuzzer" else 1)
        record.write()
    return record.failures


def main() -> None:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=8.0)
    parser.add_argument("--only", nargs="*", help="names of fuzzers")
    parser.add_argument("--inputs", type=int, help="fuzzed inputs, in place of hours")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--out", type=Path, default=Path("build/faults"))
    options = parser.parse_args()
    if options.inputs:
        failures = try_inputs(options.out, options.inputs, options.first)
    else:
        failures = try_for_hours(options.out, options.hours, options.only)
    for name, facts in read_record(options.out).items():
        print(f"{name:20}{facts['tries']:>10,} tries{facts['failures']:>6} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
