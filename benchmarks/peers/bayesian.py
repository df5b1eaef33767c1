"""Structure learners beside pyAgrum and PyBNesian, on tables sampled from known networks.

One thread, processor time, warm, the data already in each tool's own form. Every network is scored
by one scorer, ours, which the tests hold against bnlearn's published scores. `--quick` runs the
small networks only. R's bnlearn joins where Rscript has it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import counterpane as cp
from counterpane.evaluate import structural_hamming_distance
from counterpane.graphs import Dag
from counterpane.scores import BIC, score_dag
from harness import publish

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pandas as pd
    import pyagrum

    try:
        import pybnesian
    except ImportError:
        pybnesian = None

FOLDER = Path(os.environ["COUNTERPANE_DATA"])
SAMPLED = [
    ("alarm", 1000), ("alarm", 20_000), ("hailfinder", 20_000), ("andes", 10_000),
    ("pigs", 10_000), ("link", 5000), ("alarm", 200_000),
]  # fmt: skip
ORDERS = 3  # the file's column order and two shuffles

Edges = list[tuple[str, str]]


def timed(work: Callable[[], Any], repeat: int = 1) -> tuple[Any, float]:
    best = float("inf")
    for _ in range(repeat):
        began = time.process_time()
        result = work()
        best = min(best, time.process_time() - began)
    return result, best


def ours(learner: Any) -> Callable[[cp.Table], tuple[Edges, float]]:
    def run(table: cp.Table) -> tuple[Edges, float]:
        fitted, spent = timed(lambda: learner.fit(table), repeat=3)
        return list(fitted.graph_.edges), spent

    return run


def by_pyagrum(table: cp.Table) -> tuple[Edges, float]:
    pyagrum.setNumberOfThreads(1)
    learner = pyagrum.BNLearner(frame(table))
    learner.useGreedyHillClimbing()
    learner.useScoreBIC()
    learner.useNoPrior()
    learner.setNumberOfThreads(1)
    dag, spent = timed(learner.learnDAG)
    names = learner.names()
    return [(names[a], names[b]) for a, b in dag.arcs()], spent


def by_pybnesian(table: cp.Table) -> tuple[Edges, float]:
    data = frame(table)

    def work() -> Any:
        start = pybnesian.DiscreteBN(list(data.columns))
        return pybnesian.GreedyHillClimbing().estimate(
            pybnesian.ArcOperatorSet(), pybnesian.BIC(data), start, max_indegree=10
        )

    network, spent = timed(work)
    return list(network.arcs()), spent


def by_bnlearn(table: cp.Table) -> tuple[Edges, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        frame(table).to_csv(path, index=False)
        script = (
            f'd <- read.csv("{path}", colClasses="factor", check.names=FALSE); library(bnlearn);'
            "t <- system.time(g <- hc(d, score='bic', maxp=10));"
            "cat(sum(t[1:2]), '\\n'); write.table(arcs(g), sep='\\t', col.names=FALSE,"
            " row.names=FALSE, quote=FALSE)"
        )
        text = subprocess.run(
            ["Rscript", "-e", script], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    return [tuple(line.split("\t")) for line in text[1:]], float(text[0])


def has_bnlearn() -> bool:
    if shutil.which("Rscript") is None:
        return False
    return (
        subprocess.run(["Rscript", "-e", "library(bnlearn)"], capture_output=True).returncode == 0
    )


def frame(table: cp.Table) -> Any:
    columns = {
        v.name: pd.Categorical.from_codes(codes, [f"s{s}" for s in v.states])
        for v, codes in zip(table.schema, table.codes, strict=True)
    }
    return pd.DataFrame(columns)


def tools(table: cp.Table) -> dict[str, Callable[[cp.Table], tuple[Edges, float]]]:
    found = {
        "HillClimb": ours(cp.HillClimb()),
        "GES": ours(cp.GES()),
        "StructureSearch": ours(cp.StructureSearch()),
    }
    if table.n_columns <= 300:
        found["StructureSearch thorough"] = ours(cp.StructureSearch(effort="thorough"))
    if table.n_columns <= 300:  # minutes beyond
        found["pyAgrum"] = by_pyagrum
    if pybnesian is not None and table.n_columns <= 300 and table.n_rows <= 20_000:
        found["PyBNesian"] = by_pybnesian
    if has_bnlearn() and table.n_columns <= 300:
        found["bnlearn"] = by_bnlearn
    return found


def compare(name: str, table: cp.Table, true: Dag | None) -> list[dict[str, Any]]:
    source = cp.MemoryCounts(table)
    rng = np.random.default_rng(7)
    orders = [list(range(table.n_columns))]
    orders += [rng.permutation(table.n_columns).tolist() for _ in range(ORDERS - 1)]
    rows, spent = [], {}
    for tool, learn in tools(table).items():
        scores, times, distances = [], [], []
        for order in orders if not tool.startswith("py") or table.n_columns < 100 else orders[:1]:
            edges, used = learn(table.select(order))
            index = table.schema.index
            dag = Dag(table.n_columns, [(index(p), index(c)) for p, c in edges])
            parents = [dag.parents(i) for i in range(dag.n)]
            scores.append(score_dag(BIC(), source, parents))
            times.append(used)
            if true is not None:
                distances.append(structural_hamming_distance(dag, true))
        spent[tool] = float(np.mean(times))
        rows.append(
            {"what": f"{name}: {tool}, BIC", "value": float(np.mean(scores)), "unit": "nats"}
        )
        rows.append({"what": f"{name}: {tool}, time", "value": spent[tool], "unit": "s"})
        if distances:
            shd = float(np.mean(distances))
            rows.append({"what": f"{name}: {tool}, SHD", "value": shd, "unit": "edges"})
    if true is not None:
        parents = [true.parents(i) for i in range(true.n)]
        truth = score_dag(BIC(), source, parents)
        rows.append({"what": f"{name}: the true network, BIC", "value": truth, "unit": "nats"})
    peers = {k: v for k, v in spent.items() if k in ("pyAgrum", "PyBNesian", "bnlearn")}
    for tool in ("HillClimb", "StructureSearch"):
        if peers:
            ratio = min(peers.values()) / spent[tool]
            fastest = min(peers, key=peers.__getitem__)
            rows.append({"what": f"{name}: {tool} faster than {fastest}", "value": ratio,
                         "unit": "×"})  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small networks only")
    quick = parser.parse_args().quick
    rows = []
    for name in ("alarm", "insurance"):
        table = cp.read(FOLDER / "bnlearn" / f"{name}.csv.gz")
        for learner in (cp.HillClimb(), cp.StructureSearch(effort="thorough")):
            learner.fit(table.take(np.arange(500)))  # compile
        rows += compare(f"bnlearn's {name}", table, None)
    for name, size in SAMPLED[:3] if quick else SAMPLED:
        network = cp.load(FOLDER / "networks" / f"{name}.bif.gz")
        rows += compare(f"{name} {size:,}", network.sample(size, random_state=0), network.dag)
    publish("bayesian", rows)


if __name__ == "__main__":
    main()
