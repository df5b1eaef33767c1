"""Directed edges from interventional rows, beside observational rows of the same number.

    python benchmarks/interventions.py [--seeds N] [--networks NAME …]

Ten columns are set, one at a time, in a tenth part of the rows each; an eleventh part is
observational. Directed SHD counts the pairs of columns that the learned class and the true DAG
join differently: missing and extra edges, and edges that are open or point the other way.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np

import counterpane as cp
from counterpane.graphs import Dag
from harness import publish

NETWORKS = Path(os.environ["COUNTERPANE_DATA"]) / "networks"
ROWS, SETS = 5_500, 10


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


def distances(learner: Any, true: Any) -> dict[str, int]:
    """Pairs that are joined in one graph only, and pairs whose direction is open or wrong."""
    marks: dict[frozenset[str], Any] = {}
    for a, b, directed in learner.cpdag_.edges(data="directed"):
        marks[frozenset((a, b))] = (a, b) if directed else "open"
    names = true.schema.names
    truth = {frozenset((names[p], names[x])): (names[p], names[x]) for p, x in true.dag.edges}
    both = marks.keys() & truth.keys()
    return {
        "edges": len(marks.keys() ^ truth.keys()),
        "open": sum(marks[pair] == "open" for pair in both),
        "turned": sum(marks[pair] not in ("open", truth[pair]) for pair in both),
    }


def measured(name: str, seed: int) -> dict[str, dict[str, int]]:
    """The distances of both ways, from one draw of rows and columns."""
    true: Any = cp.load(NETWORKS / f"{name}.bif.gz")
    columns = np.random.default_rng(seed).choice(true.dag.n, SETS, replace=False).tolist()
    table, was_set = intervened(true, columns, ROWS, seed)
    watched = cp.StructureSearch().fit(true.sample(ROWS, random_state=seed))
    changed = cp.StructureSearch().fit(table, interventions=was_set)
    return {"observed": distances(watched, true), "set": distances(changed, true)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--networks", nargs="*", default=["alarm", "child", "insurance"])
    arguments = parser.parse_args()
    rows, lines = [], []
    for name in arguments.networks:
        runs = [measured(name, seed) for seed in range(arguments.seeds)]
        total = {way: np.array([sum(run[way].values()) for run in runs])
                 for way in ("observed", "set")}  # fmt: skip
        line: dict[str, Any] = {"network": name}
        for way, words in (("observed", "observed"), ("set", "10 columns set")):
            line[f"directed SHD, {words}"] = float(total[way].mean())
            for part in ("edges", "open", "turned"):
                line[f"{part}, {words}"] = float(np.mean([run[way][part] for run in runs]))
        fall = total["observed"] - total["set"]
        line["fall"] = float(fall.mean())
        line["its standard error"] = float(f"{fall.std(ddof=1) / len(runs) ** 0.5:.2g}")
        lines.append(line)
        rows.append({"what": f"{name}: directed SHD falls by interventions, mean of {len(runs)}",
                     "value": line["fall"], "unit": "", "limit": 0, "sign": "≥"})  # fmt: skip
        print(line, flush=True)
    publish("interventions", rows, lines)


if __name__ == "__main__":
    main()
