"""Structure learners beside the peers: time, score by one scorer, distance from the truth.

One thread, processor time, warm, side by side in one run. Ours is timed twice: "search" is what the
peers' calls do, the structure from data in the tool's own form; "fit" is everything, with packing,
parameters and edge gains. BIC; means over the file's column order and two shuffles. `--quick` takes
the small tables; `--full` lets the peers run on PIGS and LINK too, in one column order, which takes
many minutes. R's bnlearn joins where Rscript has it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import counterpane as cp
from counterpane.evaluate import structural_hamming_distance
from counterpane.graphs import Dag
from harness import publish, write
from peers.tools import (
    FOLDER,
    Tool,
    by_bnlearn,
    by_pgmpy,
    by_pyagrum,
    by_pybnesian,
    column_orders,
    dag_of,
    has_bnlearn,
    has_pgmpy,
    has_pybnesian,
    observed,
    opened,
    ours,
    sampled,
    score_of,
)

SAMPLED = [
    ("alarm", 1000), ("alarm", 20_000), ("hailfinder", 20_000), ("andes", 10_000),
    ("alarm", 200_000), ("pigs", 10_000), ("link", 5000),
]  # fmt: skip
ASKED = {
    "alarm 20,000": 15, "hailfinder 20,000": 15, "andes 10,000": 50, "alarm 200,000": 50,
    "pigs 10,000": 50, "link 5,000": 50,
}  # fmt: skip
ASKED_CLIMB = 30
RIVALS = ("pyAgrum", "PyBNesian", "bnlearn")
MANY = 300  # columns from which peers take minutes
ONCE = 100  # columns from which a peer is run in one column order


def our_tools(n: int) -> dict[str, Tool]:
    """Our learners for n columns."""
    found = {
        "HillClimb": ours(cp.HillClimb, false_edges=None),
        "GES": ours(cp.GES),
        "StructureSearch": ours(cp.StructureSearch, false_edges=None),
    }
    if n <= MANY:
        found["StructureSearch thorough"] = ours(
            cp.StructureSearch, effort="thorough", false_edges=None
        )
    return found


def peer_tools(table: cp.Table, *, full: bool) -> dict[str, Tool]:
    """The peers that get through the table in acceptable time."""
    n, small = table.n_columns, table.n_columns < 40 and table.n_rows <= 20_000
    if n > MANY and not full:
        return {}
    found: dict[str, Tool] = {"pyAgrum": by_pyagrum()}
    if has_pybnesian():
        found["PyBNesian"] = by_pybnesian
    if has_bnlearn():
        found["bnlearn"] = by_bnlearn
    if small and has_pgmpy():
        found["pgmpy"] = by_pgmpy
    return found


def measure(
    name: str, table: cp.Table, true: Dag | None, tool: str, learn: Tool, n_orders: int
) -> dict[str, Any]:
    """One line of the wide table: means over column orders."""
    source = cp.MemoryCounts(table)
    scores, distances, times = [], [], []
    for order in column_orders(table.n_columns)[:n_orders]:
        learned = learn(table.select(order), "bic")
        dag = dag_of(table, learned.edges)
        scores.append(score_of("bic", source, dag))
        times.append(learned.seconds)
        if true is not None:
            distances.append(structural_hamming_distance(dag, true))
    row = {"table": name, "tool": tool, "orders": n_orders, "BIC": float(np.mean(scores))}
    if distances:
        row["SHD"] = float(np.mean(distances))
    for what in times[0]:
        row[f"{what} s"] = float(np.mean([t[what] for t in times]))
    print("  ".join(f"{k} {v}" for k, v in row.items()), flush=True)
    return row


def compare(name: str, table: cp.Table, true: Dag | None, *, full: bool) -> list[dict[str, Any]]:
    """The wide table of all tools on one table."""
    lines = [
        measure(name, table, true, tool, learn, 3)
        for tool, learn in our_tools(table.n_columns).items()
    ]
    n_orders = 1 if table.n_columns > ONCE else 3
    for tool, learn in peer_tools(table, full=full).items():
        once = tool == "pgmpy" or table.n_rows > 100_000
        lines.append(measure(name, table, true, tool, learn, 1 if once else n_orders))
    if true is not None:
        truth = score_of("bic", cp.MemoryCounts(table), true)
        lines.append({"table": name, "tool": "true network", "BIC": truth, "SHD": 0.0})
    return lines


def ratios(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many times faster ours are than the fastest peer on one table, and how much better."""
    peers = {line["tool"]: line for line in lines if line["tool"] in RIVALS}
    mine = {line["tool"]: line for line in lines if "fit s" in line}
    name = lines[0]["table"]
    rows = []
    if not peers:
        return []
    fastest = min(peers, key=lambda tool: peers[tool]["search s"])
    for tool in ("HillClimb", "StructureSearch"):
        limit = ASKED_CLIMB if tool == "HillClimb" and name in ASKED else ASKED.get(name)
        asked = {} if limit is None else {"limit": limit, "sign": "≥"}
        for part in ("search", "fit"):
            ratio = peers[fastest]["search s"] / mine[tool][f"{part} s"]
            what = f"{name}: {tool} {part}, times as fast as {fastest}"
            judged = asked if part == "search" else {}
            rows.append({"what": what, "value": ratio, "unit": "×", **judged})
    best = max(peers, key=lambda tool: peers[tool]["BIC"])
    margin = mine["StructureSearch"]["BIC"] - peers[best]["BIC"]
    what = f"{name}: StructureSearch above {best}, the best of the peers"
    rows.append({"what": what, "value": margin, "unit": "nats", "limit": -0.01, "sign": "≥"})
    return rows


def tables(*, quick: bool) -> Iterator[tuple[str, cp.Table, Dag | None]]:
    """bnlearn's own tables, whose graphs are not in them, and samples of known networks."""
    for name in ("alarm", "insurance"):
        table = observed(cp.read(FOLDER / "bnlearn" / f"{name}.csv.gz"))
        for learner in (cp.HillClimb(), cp.StructureSearch(effort="thorough")):
            learner.fit(table.take(np.arange(500)))  # warm
        yield f"bnlearn's {name}", table, None
    for name, size in SAMPLED[:3] if quick else SAMPLED:
        network = opened(name)
        yield f"{name} {size:,}", sampled(network, size), network.dag


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small networks only")
    parser.add_argument("--full", action="store_true", help="the peers on PIGS and LINK too")
    options = parser.parse_args()
    details: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for name, table, true in tables(quick=options.quick):
        lines = compare(name, table, true, full=options.full)
        details += lines
        rows += ratios(lines)
        write("bayesian", rows, details)  # the last tables take long: what there is, is kept
    publish("bayesian", rows, details)


if __name__ == "__main__":
    main()
