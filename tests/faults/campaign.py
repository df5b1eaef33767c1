"""Runs the fuzzers for hours: `make faults HOURS=8`. Each takes its turn; seeds go on after a stop.

Prints tries and failures of each, and ends with code 1 if there was one. Each failure becomes a
test.
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

SHARES = {"files_fuzzer": 6.0, "kills": 1.0, "interrupts": 1.0}
BATCH = 100  # seeds of `try_many`, where a fuzzer has it
ROUND = 60.0  # seconds of one round of all fuzzers


def fuzzers() -> Iterator[tuple[str, Any, float]]:
    """(name, module, share of the time) of each module of this folder that has `try_once`."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem.startswith("test_") or path.stem == Path(__file__).stem:
            continue
        module = importlib.import_module(f"faults.{path.stem}")
        if hasattr(module, "try_once"):
            yield path.stem, module, SHARES.get(path.stem, 2.0)


def main() -> None:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=8.0)
    parser.add_argument("--only", nargs="*", help="names of fuzzers")
    parser.add_argument("--out", type=Path, default=Path("build/faults"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    record = options.out / "campaign.json"
    done = json.loads(record.read_text()) if record.exists() else {}
    chosen = [f for f in fuzzers() if not options.only or f[0] in options.only]
    shares, failures = sum(share for *_, share in chosen), 0
    end = time.monotonic() + 3600 * options.hours
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=Path(__file__).parent,
        capture_output=True, text=True, check=False,
    ).stdout.strip()  # fmt: skip
    while time.monotonic() < end:
        for name, module, share in chosen:
            try_once, try_many = module.try_once, getattr(module, "try_many", None)
            facts = done.setdefault(name, {"tries": 0, "failures": 0, "seconds": 0.0})
            facts["commits"] = list(dict.fromkeys([*facts.get("commits", []), commit]))
            began = time.monotonic()
            stop = min(end, began + ROUND * share / shares)
            while time.monotonic() < stop:
                seeds = range(facts["tries"], facts["tries"] + (BATCH if try_many else 1))
                faults = try_many(seeds) if try_many else [try_once(seeds[0])]
                faults = [fault for fault in faults if fault is not None]
                facts["tries"] = seeds.stop
                facts["failures"] += len(faults)
                failures += len(faults)
                with (options.out / "failures.txt").open("a") as file:
                    file.writelines(f"{fault}\n\n" for fault in faults)
            facts["seconds"] = round(facts["seconds"] + time.monotonic() - began, 1)
        record.write_text(json.dumps(done, indent=1) + "\n")
    for name, facts in done.items():
        print(f"{name:20}{facts['tries']:>10,} tries{facts['failures']:>6} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
