"""What independence questions buy: precision and cost of GSMN, GSIMN and PFMN on known graphs.

Rows are drawn from Markov networks (`question_domains`); each learner's graph is compared with the
true one. Domains are cut into two halves by a seeded permutation: the settings of the learners come
from a recipe that was made on the first half, and the second one is reported by default. Each
domain and seed is one line of `results/questions.jsonl`, so that a run that was stopped goes on.

    python benchmarks/questions.py [--part small|large|networks|all] [--half second] [--limit N]
                                   [--seeds 3] [--jobs 1] [--rows 2000 10000] [--costs]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).parent / "papers"))

import networkx as nx
import numpy as np
from resumable import run_lines

import counterpane as cp
from harness import RESULTS, publish
from question_costs import by_database, false_dependence, nltcs_seconds
from question_domains import Domain, Edges, drawn, halves, ordered

REFERENCE = "GSMN, Bayesian test"
PAPER_COLUMNS = 20  # PFMN as published takes seconds up to here, with one seed, and minutes above
LEARNERS: dict[str, Callable[[int], Any]] = {
    REFERENCE: lambda seed: cp.GSMN("bayesian", table_cells=None),
    "GSMN": lambda seed: cp.GSMN(table_cells=None),
    "GSMN, tables of 64 cells": lambda seed: cp.GSMN(),
    "GSIMN, paper": lambda seed: cp.GSIMN("bayesian", variant="paper"),
    "GSIMN": lambda seed: cp.GSIMN(table_cells=None),
    "GSIMN, tables of 64 cells": lambda seed: cp.GSIMN(),
    "PFMN, paper": lambda seed: cp.ParticleFilterMN(random_state=seed),
    "PFMN": lambda seed: cp.PFMN(table_cells=None, random_state=seed),
    "PFMN, tables of 64 cells": lambda seed: cp.PFMN(random_state=seed),
    "PFMN, tables of 256 cells": lambda seed: cp.PFMN(table_cells=256, random_state=seed),
}
MEASURES = ("f1", "precision", "recall", "auc", "cost", "tests", "table_cost", "tables",
            "contradictions", "seconds")  # fmt: skip


def judged(edges: Edges, true: Edges, n: int, scores: np.ndarray | None = None) -> dict[str, float]:
    """Precision, recall, F1 and AUC of a graph, or of edge scores."""
    right = len(set(edges) & set(true))
    precision = right / len(edges) if edges else float(not true)
    recall = right / len(true) if true else 1.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    if scores is None:
        scores = np.zeros((n, n))
        scores[tuple(np.array(edges, dtype=int).reshape(-1, 2).T)] = 1.0
    pairs = np.triu_indices(n, 1)
    truth = np.zeros((n, n), dtype=bool)
    truth[tuple(np.array(true, dtype=int).reshape(-1, 2).T)] = True
    auc = area(scores[pairs], truth[pairs])
    return {"f1": f1, "precision": precision, "recall": recall, "auc": auc}


def area(scores: np.ndarray, truth: np.ndarray) -> float:
    """The chance that a true edge has a higher score than another pair, ties by half."""
    below = np.sort(scores[~truth])
    above = scores[truth]
    wins = np.searchsorted(below, above, "left") + np.searchsorted(below, above, "right")
    return float(wins.sum() / (2.0 * above.size * below.size)) if above.size and below.size else 0.5


def by_questions(learner: Any, table: Any, true: Edges) -> dict[str, Any]:
    """One learner of the family on one sample."""
    began = time.process_time()
    learner.set_params(potentials=False).fit(table)
    seconds = time.process_time() - began
    scores = getattr(learner, "edge_probabilities_", None)
    found = [ordered(a, b) for a, b in learner.undirected_.edges]
    return {
        **judged(found, true, table.n_columns, scores),
        "cost": learner.cost_,
        "tests": learner.n_tests_,
        "table_cost": learner.table_cost_,
        "tables": learner.n_tables_,
        "contradictions": learner.contradictions_,
        "seconds": seconds,
    }


def by_score(learner: Any, table: Any, true: Edges) -> dict[str, Any]:
    """A learner of Bayesian networks: its moral graph. Chow–Liu looks at each pair once."""
    began = time.process_time()
    learner.fit(table)
    seconds = time.process_time() - began
    names = list(table.schema.names)
    pairs = nx.moral_graph(nx.DiGraph(learner.graph_)).edges
    found = sorted(ordered(names.index(a), names.index(b)) for a, b in pairs)
    n = table.n_columns
    asked = (
        {"cost": n * (n - 1), "tests": n * (n - 1) // 2} if learner.__class__ is cp.ChowLiu else {}
    )
    return {**judged(found, true, n), **asked, "seconds": seconds}


def run(unit: tuple[Domain, int]) -> list[dict[str, Any]]:
    """The records of one domain and seed."""
    domain, seed = unit
    table, true = drawn(Domain(*domain), seed)
    facts = {**Domain(*domain)._asdict(), "seed": seed, "columns": table.n_columns}
    records = []
    for name, make in LEARNERS.items():
        if name == "PFMN, paper" and (table.n_columns > PAPER_COLUMNS or seed > 0):
            continue
        records.append({**facts, "learner": name, **by_questions(make(seed), table, true)})
    for name, learner in {
        "Chow–Liu": cp.ChowLiu(),
        "StructureSearch, moralized": cp.StructureSearch(),
    }.items():
        records.append({**facts, "learner": name, **by_score(learner, table, true)})
    everything = list(combinations(range(table.n_columns), 2))
    for name, edges in (("empty", []), ("complete", everything)):
        measures = judged(edges, true, table.n_columns)
        records.append({**facts, "learner": name, **measures, "cost": 0, "tests": 0})
    return records


def chosen(part: str, half: str, rows: list[int] | None, limit: int | None) -> list[Domain]:
    """The domains of a part of a half; with a limit, a seeded sample of them."""
    domains = halves()[half == "second"]
    kinds = {
        "small": lambda d: 0 < d.n <= 20,
        "large": lambda d: d.n > 20,
        "networks": lambda d: d.is_network,
        "all": lambda d: True,
    }
    wanted = [d for d in domains if kinds[part](d) and (rows is None or d.rows in rows)]
    if limit is not None and limit < len(wanted):
        some = np.random.default_rng(0).permutation(len(wanted))[:limit]
        wanted = [wanted[i] for i in sorted(some)]
    return wanted


def slow(domain: Domain) -> bool:
    """Whether a domain is run with one seed only: 50 columns and a third of all edges or more."""
    return domain.n == 50 and domain.family in ("r.3", "r.5")


def summary(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over domains, each of its mean over seeds, and comparisons with GSMN."""
    by_learner: dict[str, dict[tuple[Any, ...], dict[str, float]]] = {}
    for record in records:
        key = tuple(record[k] for k in Domain._fields)
        kept = by_learner.setdefault(record["learner"], {}).setdefault(key, {})
        for measure in MEASURES:
            if measure in record:
                kept.setdefault(measure, []).append(record[measure])  # type: ignore[arg-type, attr-defined]
    means = {
        name: {
            key: {m: float(np.mean(v)) for m, v in kept.items()} for key, kept in domains.items()
        }
        for name, domains in by_learner.items()
    }
    rows = []
    for name, domains in means.items():
        row: dict[str, Any] = {"learner": name, "domains": len(domains)}
        for measure in MEASURES:
            values = [kept[measure] for kept in domains.values() if measure in kept]
            if values:
                row[measure] = round(float(np.mean(values)), 4)
        for rival, label in ((REFERENCE, "Bayesian"), ("GSMN", "stratified")):
            row |= compared(domains, means[rival], label)
        rows.append(row)
    return rows


def compared(
    domains: dict[tuple[Any, ...], dict[str, float]],
    rival: dict[tuple[Any, ...], dict[str, float]],
    label: str,
) -> dict[str, float]:
    """Cost ratios, and the share of domains where F1 is nearly that of a rival."""
    f1 = np.array([kept["f1"] - rival[key]["f1"] for key, kept in domains.items()])
    out = {
        f"F1 within .02 of GSMN {label}": round(float((f1 >= -0.02).mean()), 4),
        f"F1 within .03 of GSMN {label}": round(float((f1 >= -0.03).mean()), 4),
    }
    for measure in ("cost", "table_cost"):
        ratios = [
            kept[measure] / rival[key]["cost"] for key, kept in domains.items() if measure in kept
        ]
        if ratios:
            out[f"{measure} by GSMN {label}"] = round(float(np.mean(ratios)), 4)
            out[f"{measure} lower than GSMN {label}"] = round(float(np.mean(np.less(ratios, 1))), 4)
    return out


def figures(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was asked of the learners, as figures."""
    found = {row["learner"]: row for row in rows}
    against = "by GSMN Bayesian"
    asked: list[tuple[str, str, str, float | None, str]] = [
        ("GSMN", "f1", "≥", 0.91, "F1"),
        ("GSMN", "auc", "≥", 0.94, "AUC"),
        ("GSMN", f"cost {against}", "≤", 0.93, "cost of tests, GSMN with the Bayesian test = 1"),
        ("GSIMN", "f1", "≥", None, "F1"),
        ("GSIMN", "F1 within .03 of GSMN stratified", "≥", 0.95, "domains with F1 ≥ GSMN − .03"),
        ("GSIMN", "auc", "≥", 0.94, "AUC"),
        ("GSIMN", "cost lower than GSMN stratified", "≥", 1.0, "domains cheaper than GSMN"),
        ("GSIMN", f"cost {against}", "≤", 0.58, "cost of tests, GSMN with the Bayesian test = 1"),
        ("PFMN", "f1", "≥", 0.95, "F1"),
        ("PFMN", "F1 within .02 of GSMN stratified", "≥", 0.98, "domains with F1 ≥ GSMN − .02"),
        ("PFMN", "auc", "≥", 0.98, "AUC"),
        ("PFMN", f"cost {against}", "≤", 0.4, "cost of tests, GSMN with the Bayesian test = 1"),
        ("PFMN, tables of 64 cells", f"table_cost {against}", "≤", 0.15,
         "cost of tables, GSMN with the Bayesian test = 1"),
    ]  # fmt: skip
    return [
        {"what": f"{learner}: {what}", "value": found[learner][key], "unit": "", "sign": sign,
         "limit": limit}
        for learner, key, sign, limit, what in asked
    ]  # fmt: skip


def costs() -> list[dict[str, Any]]:
    """The level of the test, GSIMN's seconds, and statements sent to databases."""
    results = [{"what": "GSIMN on NLTCS, graph without potentials", "value": nltcs_seconds(),
                "unit": "CPU s", "limit": 0.1}]  # fmt: skip
    for rows in (500, 2000):
        for record in false_dependence(rows):
            limit = {"limit": 0.08} if record["test"].startswith("stratified") else {}
            given, name = record["given"], record["test"]
            what = f"false dependence given {given} columns, {rows} rows: {name}"
            results.append({"what": what, "value": record["share"], "unit": "", **limit})
    for record in by_database():
        for key in ("statements", "rows_scanned", "precision", "recall"):
            what = f"ALARM in {record['engine']}, {record['learner']}: {key.replace('_', ' ')}"
            results.append({"what": what, "value": record[key], "unit": ""})
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=("small", "large", "networks", "all"), default="all")
    parser.add_argument("--half", choices=("first", "second"), default="second")
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--limit", type=int, help="domains at most")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="domains at a time")
    parser.add_argument("--costs", action="store_true", help="also level, seconds and statements")
    parser.add_argument("--ready", action="store_true", help="only domains that were run already")
    parser.add_argument("--name", default="questions", help="of the files of results")
    options = parser.parse_args()
    domains = chosen(options.part, options.half, options.rows, options.limit)
    units = [(d, seed) for seed in range(options.seeds) for d in domains if not (seed and slow(d))]
    path = RESULTS / f"{options.name}.jsonl"
    if options.ready:
        done = {json.loads(line)[0] for line in path.read_text().splitlines()}
        units = [unit for unit in units if json.dumps(unit) in done]
    records = run_lines(units, run, path, options.jobs)
    rows = summary(records)
    facts = figures(rows) + (costs() if options.costs else [])
    publish(options.name, facts, rows, records)


if __name__ == "__main__":
    main()
