"""Baskets of many items: screen, dependency networks, fields and ranking, by their lists alone.

Half of the items of a row come from two of many groups of 25 items, the others by popularity
(Zipf, exponent .8). Each line runs in a process of its own, which reads the matrix from a file:
seconds are processor seconds of the method, memory is the peak of the process, with Python, the
matrix as it was read, and the model. A table of bytes would take rows × items, bit sets an eighth.

    python benchmarks/baskets.py [--rows 1_000_000] [--items 50_000] [--only "regular expression"]

Lines are kept in benchmarks/results/baskets_lines.json; one that is there is not run again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse

import counterpane as cp
from counterpane.counts.baskets import BasketCounts
from counterpane.learners.partners import Partners
from harness import RESULTS, commit, publish

LINES = Path(RESULTS) / "baskets_lines.json"
PER_ROW, GROUP = 20, 25
METHODS = (
    "read", "screen", "tree network", "logistic network", "hybrid random field", "item-cosine",
    "naive-bayes",
)  # fmt: skip


def generate(n_rows: int, n_items: int, seed: int = 0) -> Any:
    """A matrix of 0 and 1, (rows, items); items that are drawn twice count once."""
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, n_items + 1) ** 0.8
    ends = rng.permutation(popularity / popularity.sum()).cumsum()
    free = np.searchsorted(ends, rng.random((n_rows, PER_ROW // 2))).clip(max=n_items - 1)
    groups = rng.integers(0, n_items // GROUP, (n_rows, 2)).repeat(PER_ROW // 4, axis=1)
    near = groups * GROUP + (GROUP * rng.random(groups.shape) ** 2).astype(np.int64)
    items = np.concatenate([free, near], axis=1)
    rows = np.arange(n_rows).repeat(items.shape[1])
    shape = (n_rows, n_items)
    matrix = sparse.csr_array((np.ones(items.size, np.int8), (rows, items.ravel())), shape=shape)
    matrix.data[:] = 1
    return matrix


def save(path: str, rows: int, items: int) -> None:
    sparse.save_npz(path, generate(rows, items), compressed=False)


def same_group(edges: Any) -> float:
    """The share of edges within a group of items."""
    pairs = [(int(a[4:]) // GROUP, int(b[4:]) // GROUP) for a, b in edges]
    return sum(a == b for a, b in pairs) / max(1, len(pairs))


def run_line(line: dict[str, Any]) -> dict[str, Any]:
    """One method on one matrix, and what it costs."""
    matrix = sparse.load_npz(line["path"])
    method = line["method"]
    began = time.process_time()
    baskets = cp.read_baskets(matrix)
    del matrix
    result: dict[str, Any] = {"entries": baskets.n_entries}
    if method != "read":
        began = time.process_time()
    if method == "screen":
        partners = Partners(BasketCounts(baskets), 20)
        n, block = partners.n, partners.block
        near = [partners.of(i, min(i + block, n), None) for i in range(0, n, block)]
        nearest = np.concatenate(near)[:, 0]
        result["edges"] = int((nearest >= 0).sum())
        result["same_group"] = float((nearest // GROUP == np.arange(n) // GROUP).mean())
    elif method.endswith("network"):
        learner = cp.DependencyNetworkLearner(method.split()[0]).fit(baskets)
        edges = list(learner.graph_.edges)
        result |= {"edges": len(edges), "same_group": same_group(edges)}
    elif method == "hybrid random field":
        field = cp.HybridRandomFieldLearner().fit(baskets)
        edges = list(field.graph_.edges)
        result |= {"edges": len(edges), "same_group": same_group(edges), "pll": field.score_}
    elif method != "read":
        ranker = cp.LinkRanker(method).fit(baskets)
        result["pairs"] = int(ranker.ranking_model.pairs.nnz)
        began_rank = time.process_time()
        ranker.rank(["item0", "item1"])
        result["rank_ms"] = 1e3 * (time.process_time() - began_rank)
    result["cpu_s"] = time.process_time() - began
    result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {k: v for k, v in line.items() if k != "path"} | {"commit": commit()} | result


def rows_of(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures of all lines."""
    rows = []
    for record in records:
        name = record["name"]
        rows += [
            {"what": f"{name}: processor", "value": record["cpu_s"], "unit": "s"},
            {"what": f"{name}: peak", "value": record["peak_mb"], "unit": "MB"},
        ]
        if "same_group" in record:
            rows.append(
                {"what": f"{name}: within groups", "value": record["same_group"], "unit": ""}
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--items", type=int, default=50_000)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    kept = json.loads(LINES.read_text()) if LINES.exists() else {}
    size = f"{arguments.rows:,} × {arguments.items:,}"
    path = str(Path(RESULTS) / f"baskets_{arguments.rows}_{arguments.items}.npz")
    spawn = multiprocessing.get_context("spawn")
    for method in METHODS:
        line = {"name": f"{size}, {method}", "method": method, "path": path}
        if line["name"] in kept or not re.search(arguments.only, line["name"]):
            continue
        if not Path(path).exists():
            with spawn.Pool(1) as pool:
                pool.apply(save, (path, arguments.rows, arguments.items))
        with spawn.Pool(1) as pool:
            record = pool.apply(run_line, (line,))
        kept[line["name"]] = record
        LINES.write_text(json.dumps(kept, indent=1))
        print(record, flush=True)
    Path(path).unlink(missing_ok=True)
    publish("baskets", rows_of(list(kept.values())), records=list(kept.values()))


if __name__ == "__main__":
    main()
