"""PC beside StructureSearch and other tools: edges, seconds, statements, interventions.

python benchmarks/pc.py [--part quality|speed|oracle|interventions] [--peers PYTHON]: PYTHON has
causal-learn and pgmpy. One line of JSON a unit of work in results/pc.jsonl; a stopped run goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import counterpane as cp
from counterpane.evaluate import compare_structures
from counterpane.evaluate.structure import _marks
from counterpane.graphs import Cpdag, Dag, UndirectedGraph, cpdag
from harness import RESULTS, commit, publish

NETWORKS = Path(os.environ["COUNTERPANE_DATA"]) / "networks"
LINES = RESULTS / "pc.jsonl"
PEERS = ("causal-learn", "pgmpy")
ALPHA = 0.05
QUALITY = [(name, rows) for name in ("asia", "sachs", "child", "insurance", "alarm", "win95pts")
           for rows in (5_000, 20_000)]  # fmt: skip
SPEED = (("alarm", 20_000), ("andes", 10_000))
ORACLE = ("asia", "cancer", "earthquake", "survey", "sachs", "child", "insurance", "alarm",
          "hailfinder", "win95pts", "hepar2", "andes", "pigs", "link")  # fmt: skip
LIMIT = 200  # seconds of a peer


def load(name: str) -> Any:
    return cp.load(NETWORKS / f"{name}.bif.gz")


def distance(found: Cpdag, true: Dag) -> dict[str, float]:
    """SHD and F1 of a pattern, which need not be that of a DAG."""
    a, b = _marks(found), _marks(cpdag(true))
    both = ((a > 0) & (b > 0)).sum()
    return {"shd": int((a != b).sum()), "f1": 2 * both / max((a > 0).sum() + (b > 0).sum(), 1)}


def run_ours(learner: Any, table: Any, true: Any) -> dict[str, Any]:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(table)
    seconds = time.perf_counter() - began
    dag = getattr(learner, "dag_", None) or learner.model_.dag
    measured = compare_structures(dag, true.dag)
    return {"seconds": seconds, "n_tests": getattr(learner, "n_tests_", None),
            "shd": measured.structural_hamming_distance, "f1": measured.f1}  # fmt: skip


def run_peer(python: str, tool: str, table: Any, true: Any) -> dict[str, Any]:
    script = Path(__file__).parent / "peers" / "pc_peers.py"
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file.name, table.codes.T)
        words = [python, "-W", "ignore", str(script), tool, file.name, str(ALPHA), str(LIMIT)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    try:
        record = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {"failed": done.stderr.strip().splitlines()[-1:]}
    edges = record.pop("edges", None)
    if edges is not None:
        arcs = [(a, b) for a, b, directed in edges if directed]
        lines = [(a, b) for a, b, directed in edges if not directed]
        try:
            record |= distance(
                Cpdag(Dag(true.dag.n, arcs), UndirectedGraph(true.dag.n, lines)), true.dag
            )
        except cp.CounterpaneError:  # a cycle: only the skeleton can be compared
            pairs = UndirectedGraph(true.dag.n, [*arcs, *lines])
            record["f1"] = distance(Cpdag(Dag(true.dag.n), pairs), true.dag)["f1"]
    return record


def intervened(true: Any, columns: list[int], rows: int, seed: int) -> tuple[Any, list[Any]]:
    """Rows of observation, and of one random setting of each column, in equal parts."""
    each = rows // (len(columns) + 1)
    parts, was_set = [true.sample(each, random_state=seed)], [None] * each
    for i, x in enumerate(columns):
        dag = Dag(true.dag.n, [(p, c) for p, c in true.dag.edges if c != x])
        tables = list(true.tables)
        card = len(true.schema[x].states)
        tables[x] = np.full(card, 1 / card)
        changed = cp.BayesianNetwork(true.schema, dag, tables)
        parts.append(changed.sample(each, random_state=seed + 1000 + i))
        was_set += [true.schema.names[x]] * each
    return cp.Table(true.schema, np.concatenate([p.codes for p in parts], axis=1)), was_set


def directed_distance(learner: Any, true: Any) -> int:
    """Pairs of columns that the learned class and the true DAG join differently."""
    marks: dict[frozenset[str], Any] = {}
    for a, b, directed in learner.cpdag_.edges(data="directed"):
        marks[frozenset((a, b))] = (a, b) if directed else "open"
    names = true.schema.names
    truth = {frozenset((names[p], names[x])): (names[p], names[x]) for p, x in true.dag.edges}
    return sum(marks.get(pair) != truth.get(pair) for pair in {*marks, *truth})


def units(part: str, peers: str | None) -> list[dict[str, Any]]:
    some: list[dict[str, Any]] = []
    if part in ("all", "quality"):
        some += [{"part": "quality", "network": n, "rows": r, "tool": tool} for n, r in QUALITY
                 for tool in ("PC", "StructureSearch", *(PEERS if peers else ()))]  # fmt: skip
    if part in ("all", "speed"):
        some += [{"part": "speed", "network": n, "rows": r, "tool": tool} for n, r in SPEED
                 for tool in ("PC", *(PEERS if peers else ()))]  # fmt: skip
    if part in ("all", "interventions"):
        some += [{"part": "interventions", "network": n, "rows": 5_500, "seed": s, "tool": t}
                 for n in ("alarm", "child", "insurance") for s in range(5)
                 for t in ("StructureSearch", "StructureSearch, interventions")]  # fmt: skip
    if part in ("all", "oracle"):
        some += [{"part": "oracle", "network": n, "tool": "PC"} for n in ORACLE]
    return some


def run_unit(unit: dict[str, Any], peers: str | None) -> dict[str, Any]:
    true = load(unit["network"])
    if unit["part"] == "oracle":
        began = time.perf_counter()
        most = max(len(true.dag.parents(i)) for i in range(true.dag.n))
        learner = cp.PC(cp.Oracle(true.dag), max_given=most).fit(true.sample(10, random_state=0))
        return {"same_class": cpdag(learner.dag_) == cpdag(true.dag), "n_tests": learner.n_tests_,
                "seconds": time.perf_counter() - began}  # fmt: skip
    if unit["part"] == "interventions":
        seed = unit["seed"]
        columns = np.random.default_rng(seed).choice(true.dag.n, 10, replace=False).tolist()
        learner = cp.StructureSearch()
        if unit["tool"] == "StructureSearch":
            learner.fit(true.sample(unit["rows"], random_state=seed))
        else:
            table, was_set = intervened(true, columns, unit["rows"], seed)
            learner.fit(table, interventions=was_set)
        return {"directed_shd": directed_distance(learner, true)}
    table = true.sample(unit["rows"], random_state=1)
    if unit["tool"] in PEERS:
        return run_peer(str(peers), unit["tool"], table, true)
    learner = cp.PC("g2", alpha=ALPHA) if unit["tool"] == "PC" else cp.StructureSearch()
    if unit["part"] == "speed":
        run_ours(cp.PC(alpha=ALPHA), load("asia").sample(100, random_state=0), load("asia"))
    return run_ours(learner, table, true)


def rows_of(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for r in records:
        if r["part"] == "speed" and r["tool"] != "PC" and "seconds" in r:
            ours = next(o for o in records if o["part"] == "speed" and o["tool"] == "PC"
                        and o["network"] == r["network"])  # fmt: skip
            name = f"{r['network']} {r['rows']:,} rows: {r['tool']} / PC"
            rows.append({"what": f"{name}, seconds", "value": r["seconds"] / ours["seconds"],
                         "unit": "×", "limit": 50, "sign": "≥"})  # fmt: skip
            if r.get("n_tests"):
                each = (r["seconds"] / r["n_tests"]) / (ours["seconds"] / ours["n_tests"])
                rows.append({"what": f"{name}, seconds a test", "value": each, "unit": "×"})
    for network in ("alarm", "child", "insurance"):
        for tool in ("StructureSearch", "StructureSearch, interventions"):
            values = [r["directed_shd"] for r in records if r["part"] == "interventions"
                      and r["network"] == network and r["tool"] == tool]  # fmt: skip
            if values:
                rows.append({"what": f"{network}: directed SHD, {tool}", "value": np.mean(values),
                             "unit": ""})  # fmt: skip
    oracle = [r for r in records if r["part"] == "oracle"]
    if oracle:
        rows.append({"what": f"classes of {len(oracle)} networks from an oracle, right",
                     "value": sum(r["same_class"] for r in oracle), "unit": "",
                     "limit": len(oracle), "sign": "≥"})  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="all")
    parser.add_argument("--peers")
    arguments = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    kept = [json.loads(line) for line in LINES.read_text().splitlines()] if LINES.exists() else []
    for unit in units(arguments.part, arguments.peers):
        if any(unit.items() <= record.items() for record in kept):
            continue
        record = unit | run_unit(unit, arguments.peers) | {"commit": commit()}
        kept.append(record)
        with LINES.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(record, flush=True)
    wide = [r for r in kept if r["part"] == "quality"]
    keys = ("network", "rows", "tool", "shd", "f1", "seconds", "n_tests", "stopped")
    publish("pc", rows_of(kept), [{k: r.get(k) for k in keys} for r in wide], kept)


if __name__ == "__main__":
    main()
