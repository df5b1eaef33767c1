"""Chow–Liu and hill-climbing (BIC) on parquet larger than memory, end to end.

The rows are drawn from a network of 20 columns with 2 to 5 states, each with up to two parents, and
written as files of a million rows. Each learner runs in a process of its own, with rows kept packed
in memory and without, and reports wall and processor seconds, its peak memory, how often it read
the files, and for the climb how often per step. 100 million rows are asked for:

    python benchmarks/micro/large.py --rows 100_000_000 --folder large
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))
import counterpane as cp
from harness import publish

CARDS = [2, 3, 4, 5] * 5
FILE_ROWS = 1_000_000
PEAK_MB = 800  # asked at 100 million rows
SCANS_PER_STEP = 3.0


def generate(folder: Path, rows: int) -> None:
    """Files of a million rows, unless they are there already."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [folder / f"{i:03}.parquet" for i in range(-(-rows // FILE_ROWS))]
    if sorted(folder.glob("*.parquet")) == wanted:
        return
    rng = np.random.default_rng(0)
    parents = [sorted(rng.choice(j, min(j, int(rng.integers(0, 3))), replace=False).tolist())
               for j in range(len(CARDS))]  # fmt: skip
    tables = [
        np.cumsum(rng.dirichlet(np.full(r, 0.7), int(np.prod([CARDS[p] for p in ps]))), axis=1)
        for r, ps in zip(CARDS, parents, strict=True)
    ]
    for i, path in enumerate(wanted):
        n = min(FILE_ROWS, rows - i * FILE_ROWS)
        columns: list[Any] = []
        for ps, table in zip(parents, tables, strict=True):
            place = np.zeros(n, dtype=np.int64)
            for p in ps:
                place = place * CARDS[p] + columns[p]
            drawn = (rng.random(n)[:, None] > table[place, :-1]).sum(axis=1)
            columns.append(drawn.astype(np.uint8))
        pq.write_table(pa.table({f"x{j}": c for j, c in enumerate(columns)}), path)


def run(learner: str, cache: bool, folder: Path) -> dict[str, Any]:
    """A record of one learner; in a process of its own."""
    wall, cpu = time.perf_counter(), time.process_time()
    source = cp.FileSource(folder, cache=cache, max_memory=2**31 if cache else 2**29)
    made: Any = cp.ChowLiu("bic") if learner == "Chow–Liu" else cp.HillClimb("bic")
    made.fit(source)
    steps = sum(entry.get("moves", 0) for entry in made.trace_)
    return {
        "learner": learner, "cache": cache, "rows": source.n_rows, "edges": len(made.gains_),
        "score": made.score_, "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "scans": source.n_scans, "steps": steps,
    }  # fmt: skip


def judged(record: dict[str, Any]) -> list[dict[str, Any]]:
    """What is published of a record."""
    kept = "rows packed" if record["cache"] else "rows not kept"
    what = f"{record['learner']}, {record['rows']:,} rows × {len(CARDS)}, {kept}"
    results = [
        {"what": f"{what}: wall", "value": record["wall"], "unit": "s"},
        {"what": f"{what}: processor", "value": record["cpu"], "unit": "s"},
        {
            "what": f"{what}: peak",
            "value": record["megabytes"],
            "unit": "MB",
            **({} if record["cache"] else {"limit": PEAK_MB}),
        },
        {"what": f"{what}: scans", "value": record["scans"], "unit": ""},
    ]
    if record["learner"] != "Chow–Liu":
        results.append({"what": f"{what}: steps", "value": record["steps"], "unit": ""})
        results.append({"what": f"{what}: scans a step", "value": record["scans"] / record["steps"],
                        "unit": "", "limit": SCANS_PER_STEP})  # fmt: skip
    return results


def measure(folder: Path, rows: int) -> None:
    generate(folder, rows)
    context = multiprocessing.get_context("spawn")
    records = []
    for learner in ("Chow–Liu", "hill-climb"):
        for cache in (False, True):
            with context.Pool(1) as pool:
                records.append(pool.apply(run, (learner, cache, folder)))
    for one, other in zip(records[::2], records[1::2], strict=True):
        assert one["score"] == other["score"]
    publish("large", [row for record in records for row in judged(record)], records)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--folder", type=Path, help="keeps the files; else a temporary one")
    given = parser.parse_args()
    if given.folder is not None:
        measure(given.folder, given.rows)
        return
    with tempfile.TemporaryDirectory() as name:
        measure(Path(name), given.rows)


if __name__ == "__main__":
    main()
