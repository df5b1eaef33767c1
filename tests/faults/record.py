"""Runs the counted campaigns once, and writes what they count: `python -m faults.record`.

Kills, Ctrl-C, disk errors and large totals have fixed numbers of tries. Fuzzed inputs are those
that `make faults` has tried so far. The file goes to `docs/_figures/faults.json`; each part is kept
in `build/faults/counted.json`, so that a stopped run goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import counterpane as cp
from faults import interrupts, kills, totals_fuzzer
from faults.campaign import read_record
from faults.disk_errors import check_error, each_call

ROOT = Path(__file__).parents[2]
KILLS, PRESSES, SEEDS = 600, 200, 4


def count(tries: range, try_once: Callable[[int], str | None]) -> dict[str, Any]:
    """The number of tries, and the faults."""
    faults = [fault for seed in tries if (fault := try_once(seed)) is not None]
    return {"tries": len(tries), "faults": faults}


def large_totals() -> dict[str, Any]:
    """Each learner on tables of each total."""
    cases = [
        (entry, seed, total)
        for entry in totals_fuzzer.ENTRIES
        for total in totals_fuzzer.TOTALS
        for seed in range(SEEDS)
    ]
    return count(range(len(cases)), lambda k: totals_fuzzer.try_learner(*cases[k]))


def disk_errors() -> dict[str, Any]:
    """Each call to the disk fails, with each error, while models, tables and pages are written."""
    table = cp.load_dataset("titanic")
    old, new = cp.ChowLiu().fit(table).model_, cp.HillClimb().fit(table).model_
    tries, faults = 0, []
    for name in ("m.cp", "m.cp.gz", "m.bif", "m.xmlbif", "m.uai", "m.net", "m.xdsl", "r.html"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name

            def write(model: Any, path: Path = path) -> None:
                if path.suffix == ".html":
                    cp.write_report(model, path=path)
                else:
                    model.save(path)

            write(new)
            after = path.read_bytes()
            write(old)
            before = path.read_bytes()

            def check(
                error: BaseException | None,
                path: Path = path,
                pages: tuple[bytes, bytes] = (before, after),
            ) -> None:
                try:
                    check_error(error, path)
                    assert path.read_bytes() in (pages if error else pages[1:])
                except AssertionError as fault:
                    faults.append(f"{path.name}: {fault}")
                path.write_bytes(pages[0])

            tries += each_call(lambda write=write: write(new), check)
    return {"tries": tries, "faults": faults}


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "kills while saving, learning and reporting": lambda: count(range(KILLS), kills.try_once),
    "Ctrl-C": lambda: count(range(PRESSES), interrupts.try_once),
    "errors at each call to the disk": disk_errors,
    "learners on totals of 1e9 to 2^53": large_totals,
}


def main() -> None:
    """Count what is not counted yet, and write the figures."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from harness import circumstances

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "faults")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    kept = options.out / "counted.json"
    done = json.loads(kept.read_text()) if kept.exists() else {}
    for name, run in PARTS.items():
        if name not in done:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                done[name] = {**run(), "commits": [circumstances()["commit"]]}
            kept.write_text(json.dumps(done, indent=1))
    where = circumstances()
    for name, facts in read_record(options.out).items():
        if name.endswith("_fuzzer"):
            done[f"fuzzed {name.removesuffix('_fuzzer')}"] = facts
    rows = [
        {
            "campaign (commits)": f"{name} ({', '.join(facts['commits'])})",
            "tries": facts["tries"],
            "faults": facts["failures"] if "failures" in facts else len(facts["faults"]),
        }
        for name, facts in done.items()
    ]
    record = {
        "name": "faults", "script": "tests/faults/record.py", "commit": where["commit"],
        "date": where["when"][:10], "machine": where["processor"],
        "versions": {"python": where["python"], "numpy": where["packages"]["numpy"]},
        "figures": [], "details": rows,
    }  # fmt: skip
    path = ROOT / "docs" / "_figures" / "faults.json"
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
