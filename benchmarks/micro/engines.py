"""The same counts from memory and from parquet: what reading and encoding cost beside counting.

200 three-variable tables over generated rows of 20 columns with 2 to 5 states, in memory, streamed
by DuckDB, streamed by `ParquetFile.iter_batches`, and from packed rows. Each way runs in a process
of its own, once to load what is compiled and once to be measured: processor and wall seconds of the
whole process, and its peak memory. Reading alone is measured too: the stream is asked to take at
most twice the memory kernel, and decoding. The files go to a temporary folder.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))
import counterpane as cp
from counterpane.counts.duckdb_reader import has_duckdb
from harness import publish

CARDS = [2, 3, 4, 5] * 5
N_TABLES = 200
FILE_ROWS = 1_000_000
WAYS = ("memory", "pyarrow", "duckdb", "packed")


def scopes() -> list[tuple[int, ...]]:
    """The tables asked for."""
    triples = list(combinations(range(len(CARDS)), 3))
    chosen = np.random.default_rng(1).choice(len(triples), N_TABLES, replace=False)
    return [triples[i] for i in chosen]


def generate(folder: Path, rows: int, texts: bool) -> None:
    """Files of a million rows; with `texts` each cell is a short text."""
    rng = np.random.default_rng(0)
    for i, start in enumerate(range(0, rows, FILE_ROWS)):
        n = min(FILE_ROWS, rows - start)
        columns = {}
        for j, r in enumerate(CARDS):
            codes = pa.array(rng.integers(0, r, n, dtype=np.uint8))
            labels = pa.array([f"state {k}" for k in range(r)])
            columns[f"x{j}"] = labels.take(codes) if texts else codes
        pq.write_table(pa.table(columns), folder / f"{i:03}.parquet")


def measured(work: Callable[[], Any]) -> dict[str, float]:
    """Processor and wall seconds of some work."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


def run(way: str, folder: Path, rows: int) -> dict[str, Any]:
    """A record of one way; in a process of its own."""
    chosen = scopes()
    small: Any = {"columns": [f"x{j}" for j in range(3)]}
    if way in ("memory", "packed"):
        source: Any = cp.FileSource(str(folder / "*.parquet"), max_memory=2**33, engine="pyarrow")
        made = measured(source.prepare)
        if way == "memory":
            source = source.cache()
        decode = {"cpu": 0.0, "wall": 0.0}
        source.counts([(0, 1)])
    else:
        options: Any = {"engine": way, "cache": False, "max_memory": 2**29}
        cp.FileSource(folder / "000.parquet", **small, **options).counts([(0, 1, 2)])
        source = None

        def make() -> None:
            nonlocal source
            source = cp.FileSource(str(folder / "*.parquet"), **options)

        made = measured(make)
        names = list(source.schema.names)

        def read() -> None:
            for _ in source._blocks(names):
                pass

        decode = measured(read)
    warm = cp.MemoryCounts(cp.Table(source.schema, np.zeros((len(CARDS), 1), np.uint8)))
    warm.counts(chosen)
    batch = None

    def count() -> None:
        nonlocal batch
        batch = source.counts(chosen)

    counted = measured(count)
    assert batch is not None and (batch.n == rows).all()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "way": way, "states_cpu": made["cpu"], "decode_cpu": decode["cpu"], **counted,
        "megabytes": peak, "check": float(batch.values @ np.arange(len(batch.values))),
    }  # fmt: skip


def compare(rows: int, texts: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Judged results and the records of all ways over one kind of cells."""
    kind = "texts" if texts else "numbers"
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name:
        generate(Path(name), rows, texts)
        records = []
        for way in WAYS:
            if way == "duckdb" and not has_duckdb():
                continue
            with context.Pool(1) as pool:
                records.append(pool.apply(run, (way, Path(name), rows)))
    assert len({record.pop("check") for record in records}) == 1
    memory = next(r["cpu"] for r in records if r["way"] == "memory")
    results = []
    for record in records:
        record["cells"] = kind
        what = f"{N_TABLES} triples, {rows:,} rows × {len(CARDS)} {kind}, {record['way']}"
        results.append({"what": f"{what}: processor", "value": record["cpu"], "unit": "s"})
        if record["way"] in ("pyarrow", "duckdb"):
            left = (record["cpu"] - record["decode_cpu"]) / memory
            results.append({"what": f"{what}: over decoding, in times of memory", "value": left,
                            "unit": "×", "limit": 2.0})  # fmt: skip
            results.append({"what": f"{what}: peak", "value": record["megabytes"], "unit": "MB"})
    return results, records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--texts", action="store_true", help="measure texts beside numbers")
    given = parser.parse_args()
    results, details = compare(given.rows, False)
    if given.texts:
        more = compare(given.rows, True)
        results, details = results + more[0], details + more[1]
    publish("engines", results, details)


if __name__ == "__main__":
    main()
