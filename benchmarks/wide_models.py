"""Models over many columns: processor seconds and peak memory of what is done with one, by width.

The network is random, with 0 to 2 parents a binary column, and its parameters come from 1,000 rows.
Each width runs in a process of its own. "Query" is the distribution of the last column given two
others, asked ten times; "report" is a page of the model. Memory is the peak of the process, Python
and the table included. Times of 100,000 columns over those of 10,000 say whether a cost is linear.

    python benchmarks/wide_models.py [--largest 100_000]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import counterpane as cp
from harness import commit, publish
from wide import ROWS, generate

WIDTHS = (10_000, 30_000, 100_000)


def run_width(n: int) -> dict[str, Any]:
    """The seconds of each step with a network over n columns."""
    codes, dag = generate(n, ROWS, 2, 1)
    table = cp.Table(cp.Schema.from_cards([2] * n), codes)
    record: dict[str, Any] = {"columns": n, "commit": commit(), "edges": dag.n_edges}

    def timed(what: str, work: Callable[[], Any]) -> Any:
        began = time.process_time()
        result = work()
        record[what] = time.process_time() - began
        return result

    model = timed("parameters", lambda: cp.fit_parameters(cp.MemoryCounts(table), dag))
    names = model.schema.names
    given = {names[n // 2]: 1, names[n // 3]: 0}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cp"
        timed("save", lambda: model.save(path))
        record["saved_mb"] = os.path.getsize(path) / 2**20
        loaded = timed("load", lambda: cp.load(path))
        timed("first query", lambda: loaded.query(names[-1], given))
        timed("ten queries", lambda: [loaded.query(names[-1], given) for _ in range(10)])
        timed("sample of 1,000 rows", lambda: loaded.sample(1_000, random_state=0))
        page = Path(folder) / "model.html"
        timed("report", lambda: cp.write_report(loaded, path=page))
        record["report_mb"] = os.path.getsize(page) / 2**20
    record["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return record


def rows_of(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures; growth is the exponent of a cost in the columns."""
    rows = []
    steps = [k for k in records[0] if k not in ("columns", "commit", "edges")]
    names = {step: _name(step) for step in steps}
    for record in records:
        for step in steps:
            unit = "MB" if step.endswith("_mb") else "s"
            what = f"{record['columns']:,} columns: {names[step]}"
            rows.append({"what": what, "value": record[step], "unit": unit})
    if len(records) > 1:
        first, last = records[0], records[-1]
        for step in steps:
            share = (last[step] / first[step]) / (last["columns"] / first["columns"])
            what = f"{names[step]}: growth over the columns'"
            rows.append({"what": what, "value": share, "unit": ""})
    return rows


def _name(step: str) -> str:
    """What a key of a record stands for."""
    sizes = {"saved_mb": "file", "report_mb": "file of the report", "peak_mb": "peak memory"}
    return sizes.get(step, step)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=WIDTHS[-1])
    arguments = parser.parse_args()
    records = []
    for n in WIDTHS:
        if n > arguments.largest:
            continue
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            records.append(pool.apply(run_width, (n,)))
        print(records[-1], flush=True)
    publish("wide_models", rows_of(records), records=records)


if __name__ == "__main__":
    main()
