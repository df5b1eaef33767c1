"""How good the networks are that each tool finds, on every known network, by one scorer.

Each network is sampled at 1,000, 5,000 and 20,000 rows and learned by BIC and by BDeu (equivalent
sample size 1), in the file's column order and two shuffles; slow peers get the file's order only on
the large networks. Every run is one line of `results/quality.jsonl`, and a run that is there is not
repeated: stop and start again at will, cheap runs come first. `--again` repeats ours, `--minutes`
starts no run later than that, `--quick` takes the small networks at 1,000 rows.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import counterpane as cp
from counterpane.evaluate import compare_structures
from counterpane.graphs import Dag
from harness import RESULTS, publish
from peers.tools import (
    FOLDER,
    Tool,
    by_bnlearn,
    by_pyagrum,
    by_pybnesian,
    column_orders,
    dag_of,
    has_bnlearn,
    has_pybnesian,
    opened,
    ours,
    sampled,
    score_of,
)

SIZES: tuple[int, ...] = (1000, 5000, 20_000)
LINES = RESULTS / "quality.jsonl"
DEFAULT, THOROUGH, TRUE = "StructureSearch", "StructureSearch thorough", "true network"
MANY = 100  # columns from which a slow tool gets one column order, and ours no thorough search
VERY_MANY = 300  # columns from which peers take minutes: one peer is run first on all of these
TIE = 0.01  # nats

OURS: dict[str, Tool] = {
    DEFAULT: ours(cp.StructureSearch, repeat=1, false_edges=None),
    THOROUGH: ours(cp.StructureSearch, repeat=1, effort="thorough", false_edges=None),
    "HillClimb": ours(cp.HillClimb, repeat=1, false_edges=None),
}
PEERS: dict[str, Tool] = {"pyAgrum": by_pyagrum(), "pyAgrum tabu": by_pyagrum(tabu=True)}
if has_pybnesian():
    PEERS["PyBNesian"] = by_pybnesian
if has_bnlearn():
    PEERS["bnlearn"] = by_bnlearn


class Case(NamedTuple):
    """One run: a tool on a sample, by a score, in a column order."""

    network: str
    rows: int
    score: str
    tool: str
    order: int


@lru_cache(maxsize=4)
def problem(network: str, rows: int) -> tuple[cp.Table, cp.MemoryCounts, Dag]:
    """The sample, its counts, and the true graph."""
    known = opened(network)
    table = sampled(known, rows)
    return table, cp.MemoryCounts(table), known.dag


def cases(networks: dict[str, int], sizes: tuple[int, ...]) -> list[Case]:
    """All runs, cheap ones first."""
    found: list[tuple[float, Case]] = []
    for network, n in networks.items():
        for rows in sizes:
            for score in ("bic", "bdeu"):
                found.append((0.0, Case(network, rows, score, TRUE, 0)))
                for tool in [*OURS, *PEERS]:
                    if tool == THOROUGH and n > MANY:
                        continue
                    for order in range(1 if tool in PEERS and n > MANY else 3):
                        late = tool in PEERS and tool != "pyAgrum" and n > VERY_MANY
                        weight = 0.001 if tool in OURS else 100.0 if late else 1.0
                        cost = n**3 * rows**0.5 * weight
                        found.append((cost, Case(network, rows, score, tool, order)))
    return [case for _, case in sorted(found)]


def run(case: Case) -> dict[str, Any]:
    """The score of what the tool found, its distance from the truth, and its time."""
    table, source, true = problem(case.network, case.rows)
    if case.tool == TRUE:
        return {**case._asdict(), "value": score_of(case.score, source, true)}
    order = column_orders(table.n_columns)[case.order]
    learned = (OURS | PEERS)[case.tool](table.select(order), case.score)
    dag = dag_of(table, learned.edges)
    compared = compare_structures(dag, true)
    return {
        **case._asdict(),
        "value": score_of(case.score, source, dag),
        "shd": compared.structural_hamming_distance,
        "f1": compared.f1,
        "edges": dag.n_edges,
        "seconds": learned.seconds["search"],
    }


def known_lines(*, without_ours: bool) -> dict[Case, dict[str, Any]]:
    """The runs on file; ours are dropped from it where they are to be repeated."""
    if not LINES.exists():
        return {}
    texts = LINES.read_text().splitlines()
    lines = [json.loads(text) for text in texts if text.endswith("}")]  # the last may be cut short
    if without_ours:
        lines = [line for line in lines if line["tool"] not in OURS]
    if len(lines) < len(texts):
        LINES.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return {Case(*(line[f] for f in Case._fields)): line for line in lines}


def run_all(wanted: list[Case], lines: dict[Case, dict[str, Any]], minutes: float) -> None:
    """Run what is not on file yet, and put it there."""
    began = time.monotonic()
    todo = [case for case in wanted if case not in lines]
    RESULTS.mkdir(exist_ok=True)
    for done, case in enumerate(todo):
        if time.monotonic() - began > 60 * minutes:
            print(f"{len(todo) - done} runs left for another time", flush=True)
            return
        lines[case] = run(case)
        with LINES.open("a") as file:
            file.write(json.dumps(lines[case]) + "\n")
        spent = time.monotonic() - began
        print(f"{done + 1}/{len(todo)} {spent:6.0f} s  {' '.join(map(str, case))}", flush=True)


def summaries(lines: dict[Case, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """For each sample and score: every tool's means over column orders, and the margins."""
    groups: dict[tuple[str, int, str], dict[str, list[dict[str, Any]]]] = defaultdict(dict)
    for case in sorted(lines):
        groups[case.score, case.rows, case.network].setdefault(case.tool, []).append(lines[case])
    for (score, rows, network), tools in sorted(groups.items()):
        row: dict[str, Any] = {"score": score, "network": network, "rows": rows}
        for tool in [TRUE, *OURS, *PEERS]:
            if tool in tools:
                row[tool] = float(np.mean([line["value"] for line in tools[tool]]))
        rivals = {t: row[t] for t in PEERS if t in row}
        if DEFAULT in row and rivals:
            best = max(rivals, key=rivals.__getitem__)
            row["best peer"] = best
            row["margin"] = round(row[DEFAULT] - rivals[best], 3) + 0.0  # no minus zero
            row["outcome"] = outcome(row["margin"])
            if "pyAgrum" in row:
                row["above pyAgrum"] = round(row[DEFAULT] - row["pyAgrum"], 3)
            if THOROUGH in row:
                row["thorough margin"] = round(row[THOROUGH] - rivals[best], 3)
        for tool in (DEFAULT, THOROUGH, "pyAgrum", "PyBNesian"):
            if tool in tools:
                row[f"SHD {tool}"] = float(np.mean([line["shd"] for line in tools[tool]]))
                row[f"F1 {tool}"] = float(np.mean([line["f1"] for line in tools[tool]]))
        yield row


def outcome(margin: float) -> str:
    """A win, a tie (less than a hundredth of a nat) or a loss."""
    return "tie" if abs(margin) < TIE else "win" if margin > 0 else "LOSS"


def verdicts(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Never below pyAgrum, never below any peer, by score; and each sample's margin."""
    rows: list[dict[str, Any]] = []
    asked = {"unit": "nats", "limit": -TIE, "sign": "≥"}
    for score in ("bic", "bdeu"):
        mine = [row for row in table if row["score"] == score and "margin" in row]
        if not mine:
            continue
        for kind in ("win", "tie", "LOSS"):
            count = sum(row["outcome"] == kind for row in mine)
            what = f"{score}: {DEFAULT} against the best peer's mean, {kind}"
            rows.append({"what": what, "value": count, "unit": f"of {len(mine)}"})
        for key, what in [("above pyAgrum", "pyAgrum's mean"), ("margin", "any peer's mean")]:
            least = min(row.get(key, np.inf) for row in mine)
            rows.append({"what": f"{score}: never below {what}, least margin", "value": least,
                         **asked})  # fmt: skip
    for row in table:
        if "margin" in row:
            name = f"{row['score']} {row['network']} {row['rows']:,}"
            what = f"{name}: {DEFAULT} above {row['best peer']}"
            rows.append({"what": what, "value": row["margin"], **asked})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small networks at 1,000 rows")
    parser.add_argument("--again", action="store_true", help="repeat our own runs")
    parser.add_argument("--minutes", type=float, default=np.inf, help="start no run after this")
    options = parser.parse_args()
    files = sorted((FOLDER / "networks").glob("*.bif.gz"))
    names = [f.name.removesuffix(".bif.gz") for f in files]
    networks, sizes = {name: len(opened(name).schema) for name in names}, SIZES
    if options.quick:
        networks, sizes = {k: n for k, n in networks.items() if n <= MANY}, SIZES[:1]
    wanted = cases(networks, sizes)
    lines = known_lines(without_ours=options.again)
    run_all(wanted, lines, options.minutes)
    table = list(summaries({case: lines[case] for case in wanted if case in lines}))
    publish("quality_quick" if options.quick else "quality", verdicts(table), table)


if __name__ == "__main__":
    main()
