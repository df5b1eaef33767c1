"""PC beside StructureSearch and other tools: edges and seconds; and with an oracle.

    python benchmarks/pc.py [--part quality|speed|oracle] [--peers PYTHON]

PYTHON has causal-learn and pgmpy. One line of JSON a unit of work in results/pc.jsonl; a stopped
run goes on where it was. All seconds are of the processor. A peer is stopped at its limit.
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
TOOLS = ("PC", "StructureSearch", *PEERS)
ALPHA = 0.05
CHOSEN_ON = ("asia", "sachs", "child", "insurance", "alarm", "win95pts")  # or may have been
FRESH = ("cancer", "earthquake", "survey", "hailfinder", "hepar2", "andes")
ROWS = (5_000, 20_000)
SPEED = (("alarm", 20_000), ("andes", 10_000))  # beside the fastest peer
ORACLE = sorted(path.name.removesuffix(".bif.gz") for path in NETWORKS.glob("*.bif.gz"))
LIMITS = {"quality": 10, "speed": 100}  # processor seconds of a peer
REPEATS = 3  # of our own fit where speed is measured; the least counts


def load(name: str) -> Any:
    return cp.load(NETWORKS / f"{name}.bif.gz")


def distance(found: Cpdag, true: Dag) -> dict[str, float]:
    """SHD and F1 of a pattern, which need not be that of a DAG."""
    a, b = _marks(found), _marks(cpdag(true))
    both = ((a > 0) & (b > 0)).sum()
    return {"shd": int((a != b).sum()), "f1": 2 * both / max((a > 0).sum() + (b > 0).sum(), 1)}


def run_ours(make: Any, table: Any, true: Any, repeats: int = 1) -> dict[str, Any]:
    times = []
    for _ in range(repeats):
        learner = make()
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learner.fit(table)
        times.append(time.process_time() - began)
    dag = getattr(learner, "dag_", None) or learner.model_.dag
    measured = compare_structures(dag, true.dag)
    return {"seconds": min(times), "n_tests": getattr(learner, "n_tests_", None),
            "shd": measured.structural_hamming_distance, "f1": measured.f1}  # fmt: skip


def run_peer(python: str, tool: str, table: Any, true: Any, limit: int) -> dict[str, Any]:
    script = Path(__file__).parent / "peers" / "pc_peers.py"
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file.name, table.codes.T)
        words = [python, "-W", "ignore", str(script), tool, file.name, str(ALPHA), str(limit)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    try:
        record = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {"failed": " ".join(done.stderr.strip().splitlines()[-1:])}
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
            record["cycle"] = True
    return record


def units(part: str, peers: str | None) -> list[dict[str, Any]]:
    some: list[dict[str, Any]] = []
    if part in ("all", "speed"):
        some += [{"part": "speed", "network": n, "rows": r, "tool": tool} for n, r in SPEED
                 for tool in ("PC", *(PEERS[:1] if peers else ()))]  # fmt: skip
    if part in ("all", "quality"):
        some += [{"part": "quality", "network": n, "rows": r, "tool": tool}
                 for n in (*CHOSEN_ON, *FRESH) for r in ROWS
                 for tool in TOOLS if peers or tool not in PEERS]  # fmt: skip
    if part in ("all", "oracle"):
        some += [{"part": "oracle", "network": n, "tool": "PC"} for n in ORACLE]
    return some


def run_unit(unit: dict[str, Any], peers: str | None) -> dict[str, Any]:
    true = load(unit["network"])
    if unit["part"] == "oracle":
        began = time.process_time()
        learner = cp.PC(cp.Oracle(true.dag)).fit(true.sample(10, random_state=0))
        return {"same_class": cpdag(learner.dag_) == cpdag(true.dag), "columns": true.dag.n,
                "n_tests": learner.n_tests_, "seconds": time.process_time() - began}  # fmt: skip
    table = true.sample(unit["rows"], random_state=1)
    if unit["tool"] in PEERS:
        return run_peer(str(peers), unit["tool"], table, true, LIMITS[unit["part"]])
    if unit["tool"] == "StructureSearch":
        return run_ours(cp.StructureSearch, table, true)
    if unit["part"] == "speed":  # what is loaded by the first fit of a process is not counted
        run_ours(cp.PC, load("asia").sample(100, random_state=0), load("asia"))
    repeats = REPEATS if unit["part"] == "speed" else 1
    return run_ours(lambda: cp.PC("g2", alpha=ALPHA), table, true, repeats)


def quality_table(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for each network and number of rows, a column for each tool and measure."""
    lines = []
    for network in (*CHOSEN_ON, *FRESH):
        for rows in ROWS:
            here = {
                r["tool"]: r
                for r in records
                if r["part"] == "quality" and r["network"] == network and r["rows"] == rows
            }
            if not here:
                continue
            line: dict[str, Any] = {"network": f"{network}, {rows:,} rows"}
            for measure in ("shd", "f1"):
                for tool in TOOLS:
                    line[f"{measure.upper()}, {tool}"] = cell(here.get(tool), measure)
            for tool in TOOLS:
                if tool in here and "seconds" in here[tool]:
                    line[f"s, {tool}"] = float(f"{here[tool]['seconds']:.3g}")
            lines.append(line)
    return lines


def cell(record: dict[str, Any] | None, measure: str) -> Any:
    if record is None:
        return ""
    if measure in record:
        value = record[measure]
        return value if measure == "shd" else round(value, 3)
    return next((w for w in ("stopped", "failed", "cycle") if record.get(w)), "")


def means(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean SHD and F1 of each tool where all of them finished, of both groups of networks."""
    rows = []
    for words, names in (("choosing defaults", CHOSEN_ON), ("no part in it", FRESH)):
        units: dict[Any, dict[str, Any]] = {}
        for r in records:
            if r["part"] == "quality" and r["network"] in names and "shd" in r:
                units.setdefault((r["network"], r["rows"]), {})[r["tool"]] = r
        for tools in (TOOLS, TOOLS[:2]):
            whole = [unit for unit in units.values() if set(tools) <= set(unit)]
            for tool in tools if whole else ():
                for measure in ("shd", "f1"):
                    value = float(np.mean([unit[tool][measure] for unit in whole]))
                    about = f"{words}, {len(whole)} tables that {len(tools)} tools finished"
                    rows.append({"what": f"{about}: mean {measure.upper()}, {tool}",
                                 "value": value, "unit": ""})  # fmt: skip
    return rows


def ratios(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many times as fast PC is as each peer: in all, and a test."""
    rows = []
    for r in records:
        if r["part"] == "speed" and r["tool"] != "PC" and "seconds" in r:
            ours = next(o for o in records if o["part"] == "speed" and o["tool"] == "PC"
                        and o["network"] == r["network"])  # fmt: skip
            name = f"{r['network']} {r['rows']:,} rows: {r['tool']} / PC"
            short = f" (stopped at {r['stopped']} s: at least)" if "stopped" in r else ""
            rows.append({"what": f"{name}, seconds{short}", "unit": "×",
                         "value": r["seconds"] / ours["seconds"]})  # fmt: skip
            if r.get("n_tests"):
                each = (r["seconds"] / r["n_tests"]) / (ours["seconds"] / ours["n_tests"])
                rows.append({"what": f"{name}, seconds a test", "value": each, "unit": "×",
                             "limit": 50, "sign": "≥"})  # fmt: skip
    return rows


def oracle_rows(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many classes are right, and the slowest one."""
    oracle = [r for r in records if r["part"] == "oracle"]
    if not oracle:
        return []
    slow = max(oracle, key=lambda r: r["seconds"])
    return [
        {"what": f"oracle, {len(oracle)} networks: right classes",
         "value": sum(r["same_class"] for r in oracle), "unit": "", "limit": len(ORACLE),
         "sign": "≥"},
        {"what": f"oracle: the slowest network, {slow['network']}, {slow['columns']} columns",
         "value": slow["seconds"], "unit": "s"},
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="all")
    parser.add_argument("--peers")
    parser.add_argument("--tools", nargs="*", default=TOOLS, help="only these of the tools")
    parser.add_argument("--networks", nargs="*", help="only these of the networks")
    arguments = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    kept = [json.loads(line) for line in LINES.read_text().splitlines()] if LINES.exists() else []
    for unit in units(arguments.part, arguments.peers):
        known = any(unit.items() <= record.items() for record in kept)
        left_out = unit["network"] not in (arguments.networks or [unit["network"]])
        if known or left_out or unit["tool"] not in arguments.tools:
            continue
        record = unit | run_unit(unit, arguments.peers) | {"commit": commit()}
        kept.append(record)
        with LINES.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(record, flush=True)
    speed = [r for r in kept if r["part"] in ("speed", "oracle")]
    quality = [r for r in kept if r["part"] == "quality"]
    publish("pc", ratios(kept) + oracle_rows(kept), records=speed)
    publish("pc_quality", means(kept), quality_table(kept), quality)


if __name__ == "__main__":
    main()
