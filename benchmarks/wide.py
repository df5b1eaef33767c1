"""Networks of wide tables: processor seconds, peak memory, precision, recall and SHD by width.

Rows come from a random network: 0 to 2 parents a column, conditional tables Beta(.4, .4) within
[.05, .95] (Dirichlet(.4) for more states). Hubs: half of the columns have one of twenty as a
parent. Near copies: columns in blocks of ten, nine of which are the first with 2 % of its cells
changed. Each line runs in a process of its own; seconds are those of `fit`, after one of a small
table that loads the libraries; memory is the peak of the process, Python and the table included.
SHD is between patterns.

    python benchmarks/wide.py [--largest 100_000] [--only "regular expression"]

Lines are kept in benchmarks/results/wide_lines.json; one that is there is not run again.
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

import counterpane as cp
from counterpane.graphs import Dag, cpdag
from harness import RESULTS, commit, publish

ROWS = 1_000
LINES = Path(RESULTS) / "wide_lines.json"
ASKED = {  # columns: (seconds, MB)
    2_000: (0.2, 150), 10_000: (1.2, 150), 30_000: (9, 250), 100_000: (80, 500),
}  # fmt: skip


def parents_of(v: int, shape: str, rng: np.random.Generator) -> list[int]:
    """The parents of column v: any, one of twenty hubs as well, or the first of a block of ten."""
    if shape == "copies":
        return [v - v % 10] if v % 10 else []
    drawn = rng.choice(v, min(v, int(rng.integers(0, 3))), replace=False).tolist() if v else []
    if shape == "hubs" and v >= 20 and rng.random() < 0.5:
        drawn = [*drawn[:1], int(rng.integers(0, 20))]
    return list(dict.fromkeys(drawn))


def generate(
    n: int, rows: int, states: int, seed: int, shape: str = "any"
) -> tuple[np.ndarray, Dag]:
    """Codes of shape (n, rows), and the network that they come from."""
    rng = np.random.default_rng(seed)
    codes = np.zeros((n, rows), dtype=np.uint8)
    edges = []
    for v in range(n):
        parents = parents_of(v, shape, rng)
        edges += [(int(p), v) for p in parents]
        config = np.zeros(rows, dtype=np.int64)
        for p in parents:
            config = config * states + codes[p]
        size = states ** len(parents)
        if shape == "copies" and parents:
            codes[v] = codes[parents[0]] ^ (rng.random(rows) < 0.02)
            continue
        if states == 2:
            ones = np.clip(rng.beta(0.4, 0.4, size), 0.05, 0.95)
            codes[v] = rng.random(rows) < ones[config]
        else:
            bounds = rng.dirichlet(np.full(states, 0.4), size).cumsum(axis=1)[:, :-1]
            codes[v] = (rng.random(rows)[:, None] > bounds[config]).sum(axis=1)
    return codes, Dag(n, edges)


def marks(dag: Dag) -> dict[tuple[int, int], int]:
    """Each edge of the pattern, smaller end first: 0 undirected, 1 to the larger end, 2 from it."""
    pattern = cpdag(dag)
    shown = dict.fromkeys(pattern.reversible.edges, 0)
    for a, b in pattern.compelled.edges:
        shown[min(a, b), max(a, b)] = 1 if a < b else 2
    return shown


def distances(dag: Dag, true: Dag) -> dict[str, float]:
    """Precision, recall and structural Hamming distance of the pattern."""
    here, there = marks(dag), marks(true)
    common = here.keys() & there.keys()
    wrong = sum(here[e] != there[e] for e in common)
    return {
        "edges": len(here), "true_edges": len(there),
        "precision": len(common) / max(1, len(here)), "recall": len(common) / len(there),
        "shd": len(here) + len(there) - 2 * len(common) + wrong,
    }  # fmt: skip


def run_line(line: dict[str, Any]) -> dict[str, Any]:
    """One line: a table, a learner, and what it costs."""
    n, rows, states = line["columns"], line.get("rows", ROWS), line.get("states", 2)
    codes, true = generate(n, rows, states, line.get("seed", 1), line.get("shape", "any"))
    cards, weights = [states] * n, None
    rng = np.random.default_rng(0)
    if line.get("missing"):
        codes[rng.random(codes.shape, dtype=np.float32) < line["missing"]] = states
    if line.get("weighted"):
        weights = rng.choice([0.5, 1.0, 1.5], rows)
    table = cp.Table(cp.Schema.from_cards(cards), codes, weights)
    warm = np.random.default_rng(0).integers(0, 2, (1_001, 50), dtype=np.uint8)
    cp.StructureSearch().fit(cp.Table(cp.Schema.from_cards([2] * 1_001), warm))
    began = time.process_time()
    options = line.get("options", {})
    learner: Any = getattr(cp, line.get("learner", "StructureSearch"))(**options).fit(table)
    used = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    measured = distances(learner.model_.dag, true)
    return {
        **line, "commit": commit(), "method": getattr(learner, "method_", "tree"),
        "cpu_s": used, "peak_mb": peak, "score": learner.score_, **measured,
    }  # fmt: skip


def all_lines(largest: int) -> list[dict[str, Any]]:
    """What is measured."""
    plain = {"false_edges": None}
    lines: list[dict[str, Any]] = [
        {"name": f"{n:,} columns", "columns": n} for n in ASKED if n <= largest
    ]
    lines += [{"name": "2,000 columns, plain BIC", "columns": 2_000, "options": plain}]
    lines += [
        {"name": f"2,000 columns, {name}", "columns": 2_000, **more}
        for name, more in {
            "seed 2": {"seed": 2}, "seed 3": {"seed": 3}, "3 states": {"states": 3},
            "4 states": {"states": 4}, "5 states": {"states": 5},
            "20 hubs": {"shape": "hubs"}, "blocks of 10 near copies": {"shape": "copies"},
            "BDeu": {"options": {"criterion": "bdeu"}},
            "10,000 rows": {"rows": 10_000}, "2 % missing": {"missing": 0.02},
        }.items()
    ]  # fmt: skip
    lines += [{"name": "1,200 columns, real weights", "columns": 1_200, "weighted": True}]
    lines += [
        {"name": f"Chow–Liu, {n:,} columns", "columns": n, "learner": "ChowLiu"}
        for n in (10_000, 100_000) if n <= largest
    ]  # fmt: skip
    return lines


def rows_of(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures, with what was asked of them."""
    rows = []
    for record in records:
        seconds, peak = None, None
        if record["name"] == f"{record['columns']:,} columns":
            seconds, peak = ASKED[record["columns"]]
        elif record["name"] == "Chow–Liu, 100,000 columns":
            seconds, peak = 12, 500
        name = record["name"]
        rows += [
            {"what": f"{name}: processor", "value": record["cpu_s"], "unit": "s", "limit": seconds},
            {"what": f"{name}: peak", "value": record["peak_mb"], "unit": "MB", "limit": peak},
        ]
        if record["method"] == "tree":
            continue
        asked = 0.96 if seconds is not None else None
        rows += [
            {"what": f"{name}: precision", "value": record["precision"], "unit": "",
             "limit": asked, "sign": "≥"},
            {"what": f"{name}: recall", "value": record["recall"], "unit": ""},
            {"what": f"{name}: SHD", "value": record["shd"], "unit": ""},
        ]  # fmt: skip
    cost = {r["columns"]: r["cpu_s"] for r in records if r["name"] == f"{r['columns']:,} columns"}
    if len(cost) > 1:
        widths = sorted(cost)
        growth = np.polyfit(np.log(widths), np.log([cost[n] for n in widths]), 1)[0]
        rows.append({"what": "growth of processor seconds in columns", "value": growth, "unit": ""})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=100_000)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    kept = json.loads(LINES.read_text()) if LINES.exists() else {}
    lines = all_lines(arguments.largest)
    for line in lines:
        if line["name"] in kept or not re.search(arguments.only, line["name"]):
            continue
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            record = pool.apply(run_line, (line,))
        kept[line["name"]] = record
        LINES.write_text(json.dumps(kept, indent=1))
        shown = {k: record[k] for k in ("cpu_s", "peak_mb", "precision", "recall", "shd", "method")}
        print(line["name"], shown, flush=True)
    records = [kept[line["name"]] for line in lines if line["name"] in kept]
    publish("wide", rows_of(records), records=records)


if __name__ == "__main__":
    main()
