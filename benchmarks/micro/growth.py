"""How the time of the network searches grows with columns and rows, and what two threads bring.

Columns: samples of 10,000 rows from random sparse networks. Rows: samples of ALARM, where
COUNTERPANE_DATA is set. Processor seconds of `fit` on one thread, and the exponent fitted over the
four largest sizes, where constants count less. Threads: wall time of the first fill of a
row cache and of filling 500 rows with two parents. A plot is drawn where matplotlib is installed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import counterpane as cp
from counterpane.graphs import Dag
from counterpane.graphs.bits import mask
from counterpane.scores import BIC
from counterpane.scores.row_cache import RowCache
from harness import RESULTS, publish, seconds

COLUMNS = (25, 50, 100, 200, 400, 800)
ROWS = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
LEARNERS: dict[str, Callable[[], Any]] = {
    "HillClimb": cp.HillClimb,
    "StructureSearch": cp.StructureSearch,
}
Curve = dict[int, float]


def random_network(n: int, seed: int = 0) -> cp.BayesianNetwork:
    """n variables of 2–4 states with up to three parents each, 1.5 on average."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 5, n)
    edges: list[tuple[int, int]] = []
    tables = []
    for child in range(n):
        k = min(child, int(rng.integers(0, 4)))
        parents = sorted(rng.choice(child, k, replace=False).tolist()) if k else []
        edges += [(p, child) for p in parents]
        shape = tuple(cards[parents])
        tables.append(rng.dirichlet(np.full(cards[child], 0.5), size=shape))
    return cp.BayesianNetwork(cp.Schema.from_cards(cards), Dag(n, edges), tables)


def curve(learner: str, tables: dict[int, cp.Table]) -> Curve:
    """Seconds of `fit` by size."""
    found = {}
    for size, table in tables.items():
        work = LEARNERS[learner]
        first = seconds(lambda w=work, t=table: w().fit(t), repeat=1)
        again = seconds(lambda w=work, t=table: w().fit(t), repeat=3 if first < 1 else 1)
        found[size] = min(first, again)
        print(f"{learner} {size:,}: {found[size]:.4f} s", flush=True)
    return found


def exponent(points: Curve) -> float:
    """The slope of log time over log size at the four largest."""
    sizes = np.array(sorted(points)[-4:])
    return float(np.polyfit(np.log(sizes), np.log([points[s] for s in sizes]), 1)[0])


def growth() -> dict[str, dict[str, Curve]]:
    """The curves by what grows, then by learner."""
    by_columns = {n: random_network(n).sample(10_000, random_state=0) for n in COLUMNS}
    for learner in LEARNERS.values():
        learner().fit(by_columns[COLUMNS[0]])  # warm
    found = {"columns": {name: curve(name, by_columns) for name in LEARNERS}}
    if folder := os.environ.get("COUNTERPANE_DATA"):
        alarm = cp.load(Path(folder) / "networks" / "alarm.bif.gz")
        whole = alarm.sample(ROWS[-1], random_state=0)
        by_rows = {n: whole.take(np.arange(n)) for n in ROWS}
        found["rows"] = {name: curve(name, by_rows) for name in LEARNERS}
    return found


def threads() -> list[dict[str, Any]]:
    """What a second thread brings to the first fill and to filling rows; packed data, wall time."""
    table = random_network(400, seed=1).sample(50_000, random_state=0)
    rng = np.random.default_rng(0)
    n = table.n_columns
    draws = [rng.permutation(n)[:3] for _ in range(500)]
    children = np.array([int(d[0]) for d in draws])
    families = np.array([mask(n, sorted(d[1:].tolist())) for d in draws])
    spent: dict[str, list[float]] = {"first fill": [], "500 rows": []}
    for n_jobs in (1, 2):
        source = cp.MemoryCounts(table, n_jobs=n_jobs)
        source.bits.pack(range(n))
        caches: list[RowCache] = []
        fresh = lambda s=source, c=caches: c.append(RowCache(s, BIC(), max_parents=10))  # noqa: E731
        works = {
            "first fill": lambda c=caches: c[-1].first_fill(),
            "500 rows": lambda c=caches: c[-1].fill(children, families),
        }
        for what, work in works.items():
            work_time = seconds(work, repeat=5, clock=time.perf_counter, before=fresh)
            spent[what].append(work_time)
    rows = []
    for what, (one, two) in spent.items():
        rows.append({"what": f"{what}, 400 columns × 50,000 rows", "value": one, "unit": "s"})
        rows.append({"what": f"{what}, two threads against one, wall time", "value": one / two,
                     "unit": "×"})  # fmt: skip
    return rows


def plot(curves: dict[str, dict[str, Curve]]) -> None:
    """The curves on logarithmic axes, as a PNG."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no plot: matplotlib is not installed")
        return
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, (what, lines) in zip(
        np.atleast_1d(figure.subplots(1, len(curves))), curves.items(), strict=True
    ):
        for learner, points in lines.items():
            label = f"{learner}, {what}^{exponent(points):.2f}"
            axes.loglog(list(points), list(points.values()), "o-", label=label)
        axes.set(xlabel=what, ylabel="processor seconds of fit")
        axes.set_xticks(list(points), [f"{size:,}" for size in points], rotation=45)
        axes.minorticks_off()
        axes.legend()
        axes.grid(alpha=0.3)
    figure.savefig(RESULTS / "growth.png", dpi=120)
    print(f"→ {RESULTS / 'growth.png'}")


def main() -> None:
    curves = growth()
    rows, details = threads(), []
    for what, lines in curves.items():
        for learner, points in lines.items():
            rows.append({"what": f"{learner}: exponent in {what}", "value": exponent(points),
                         "unit": ""})  # fmt: skip
            details += [
                {"grows": what, "size": size, "learner": learner, "fit s": spent}
                for size, spent in points.items()
            ]
    publish("growth", rows, details)
    plot(curves)


if __name__ == "__main__":
    main()
