"""The same counts from memory and from parquet: what reading and encoding cost beside counting.

200 three-variable tables over generated rows of 20 columns with 2 to 5 states, in memory, streamed
by DuckDB, streamed by `ParquetFile.iter_batches`, from packed rows, by Dask, whose threads or two
processes read the files, and by Spark, whose two workers read the files or, "spark-packed", take
the packed rows of a DataFrame. Each way runs in a process of its own, once to be warm
and once to be measured: processor and wall seconds of the whole process and its workers, and the
peak memory of all. Reading alone is measured too: the stream is asked to take at most twice the
memory kernel, and decoding; Dask at most 1.3 times the stream, Spark 2.2 times. The files go to a
temporary folder.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, suppress
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))
import counterpane as cp
from harness import publish

CARDS = [2, 3, 4, 5] * 5
N_TABLES = 200
FILE_ROWS = 1_000_000
WAYS = ("memory", "stream", "packed", "dask", "dask-distributed", "spark", "spark-packed")
LIMITS = {"dask": 1.3, "dask-distributed": 1.3, "spark": 2.2}  # times the stream's processor time


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
    if way.startswith("dask"):
        return run_dask(way, folder, rows)
    if way.startswith("spark"):
        return run_spark(way, folder, rows)
    chosen = scopes()
    small: Any = {"columns": [f"x{j}" for j in range(3)]}
    if way in ("memory", "packed"):
        source: Any = cp.FileSource(str(folder / "*.parquet"), max_memory=2**33)
        made = measured(source.prepare)
        if way == "memory":
            source = source.cache()
        decode = {"cpu": 0.0, "wall": 0.0}
        source.counts([(0, 1)])
    else:
        options: Any = {"cache": False, "max_memory": 2**29}
        cp.FileSource(folder / "000.parquet", **small, **options).counts([(0, 1, 2)])
        source = None

        def make() -> None:
            nonlocal source
            source = cp.FileSource(str(folder / "*.parquet"), **options)

        made = measured(make)
        names = list(source.schema.names)

        def read() -> None:
            for _ in source._reader.blocks(names):
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
    return {
        "way": way, "states_cpu": made["cpu"], "decode_cpu": decode["cpu"], **counted,
        "megabytes": _peak(), "check": float(batch.values @ np.arange(len(batch.values))),
    }  # fmt: skip


def run_dask(way: str, folder: Path, rows: int) -> dict[str, Any]:
    """The same by Dask's threads, or by two worker processes, whose time counts."""
    import dask
    import distributed

    chosen, client = scopes(), None
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(num_workers=2))
        if way == "dask-distributed":
            client = distributed.Client(stack.enter_context(distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0",
            )))  # fmt: skip
            stack.enter_context(client)

        def on_all(fn: Callable[[], float]) -> float:
            return fn() + (sum(client.run(fn).values()) if client is not None else 0.0)

        def timed(work: Callable[[], Any]) -> dict[str, float]:
            cpu, wall = on_all(time.process_time), time.perf_counter()
            work()
            wall = time.perf_counter() - wall
            return {"cpu": on_all(time.process_time) - cpu, "wall": wall}

        files = sorted(folder.glob("*.parquet"))
        warm = cp.DaskSource(files, client=client)
        for _ in range(3):  # until each worker is warm
            warm.counts(chosen)
        made: list[Any] = []
        states = timed(lambda: made.append(cp.DaskSource(files, client=client)))
        counted = timed(lambda: made.append(made[0].counts(chosen)))
        peak = on_all(_peak)
    batch = made[1]
    assert (batch.n == rows).all()
    return {
        "way": way, "states_cpu": states["cpu"], "decode_cpu": 0.0, **counted,
        "megabytes": peak, "check": float(batch.values @ np.arange(len(batch.values))),
    }  # fmt: skip


def run_spark(way: str, folder: Path, rows: int) -> dict[str, Any]:
    """The same by two workers of Spark, whose time counts, and that of their virtual machine."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = session.config("spark.ui.showConsoleProgress", "false")
    for name in ("host", "bindAddress"):
        session = session.config(f"spark.driver.{name}", "127.0.0.1")
    session = session.config("spark.local.dir", str(folder)).config("spark.log.level", "OFF")
    spark = session.getOrCreate()

    def timed(work: Callable[[], Any]) -> dict[str, float]:
        cpu, wall = _tree_cpu(), time.perf_counter()
        work()
        return {"cpu": _tree_cpu() - cpu, "wall": time.perf_counter() - wall}

    data: Any = sorted(folder.glob("*.parquet"))
    if way == "spark-packed":
        data = spark.read.parquet(str(folder)).where("x0 >= '0'")  # not just files any more
    made: list[Any] = []
    states = timed(lambda: made.append(cp.SparkSource(data, spark=spark)))
    for _ in range(3):  # until workers are warm and Java has compiled itself
        made[0].counts(scopes())
    counted = timed(lambda: made.append(made[0].counts(scopes())))
    peak = _peak() + sum(_status(pid, "VmHWM") for pid in _descendants()) / 1024
    spark.stop()
    batch = made[1]
    assert (batch.n == rows).all()
    return {
        "way": way, "states_cpu": states["cpu"], "decode_cpu": 0.0, **counted,
        "megabytes": peak, "check": float(batch.values @ np.arange(len(batch.values))),
    }  # fmt: skip


def _tree_cpu() -> float:
    """Processor seconds of this process and of those below it that live."""
    below = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2] for pid in _descendants()]
    ticks = sum(sum(map(int, stat.split()[11:15])) for stat in below)
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def _descendants() -> list[int]:
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    parents = {pid: _status(pid, "PPid") for pid in pids}
    found = [os.getpid()]
    for above in found:  # grows
        found += [pid for pid, parent in parents.items() if parent == above]
    return found[1:]


def _status(pid: int, field: str) -> int:
    """A number that Linux tells of a process; 0 where it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1])
    return 0


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare(rows: int, texts: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Judged results and the records of all ways over one kind of cells."""
    kind = "texts" if texts else "numbers"
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name:
        generate(Path(name), rows, texts)
        records = []
        for way in WAYS:
            if way.startswith("dask") and importlib.util.find_spec("dask") is None:
                continue
            if way.startswith("spark") and importlib.util.find_spec("pyspark") is None:
                continue
            with ProcessPoolExecutor(1, context) as pool:  # its process may have workers
                records.append(pool.submit(run, way, Path(name), rows).result())
    assert len({record.pop("check") for record in records}) == 1
    memory, stream = (r["cpu"] for r in records if r["way"] in ("memory", "stream"))
    results = []
    for record in records:
        record["cells"] = kind
        what = f"{N_TABLES} triples, {rows:,} rows × {len(CARDS)} {kind}, {record['way']}"
        results.append({"what": f"{what}: processor", "value": record["cpu"], "unit": "s"})
        if record["way"] == "stream":
            left = (record["cpu"] - record["decode_cpu"]) / memory
            results.append({"what": f"{what}: over decoding, in times of memory", "value": left,
                            "unit": "×", "limit": 2.0})  # fmt: skip
            results.append({"what": f"{what}: peak", "value": record["megabytes"], "unit": "MB"})
        if record["way"] in LIMITS:
            results.append({"what": f"{what}: in times of the stream",
                            "value": record["cpu"] / stream, "unit": "×",
                            "limit": LIMITS[record["way"]]})  # fmt: skip
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
