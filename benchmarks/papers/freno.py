"""Freno, Trentin & Gori again: what comes next, by hybrid random fields and their rivals.

Tables 1 and 2 (references in CiteSeer and Cora: mean reciprocal ranks over five folds and several
seeds), Table 3 (films in MovieLens: degrees of agreement on the five official folds), and the
growth of learning times with the number of columns. Each fold is one line of
`results/freno.jsonl`, so that a run that was stopped goes on where it was.

    python benchmarks/papers/freno.py [--quick] [--parts citeseer cora movielens growth large]

The tables of the site are written to `docs/_figures/papers/freno.json`.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))

from freno_report import publish_report
from freno_tables import paper_tables
from resumable import finished, run_lines

import counterpane as cp
from counterpane.evaluate import degree_of_agreement, reciprocal_ranks
from counterpane.learners.ranking.blend import BlendedLinks
from harness import RESULTS, circumstances, publish_tables

PARTS = ("citeseer", "cora", "movielens", "growth", "large")
LARGE = 10_000  # columns, and rows, of the largest table
FOLDS = 5
SEEDS = 5
PRINTED_SIZES = (25, 35, 45, 55, 65, 75)
SIZES = (*PRINTED_SIZES, 150, 300, 600, 1200, 2500, 5000, 10_000, 20_000)
GROWTH_ROWS = 1000
TIMED_COLUMNS = 600  # up to which processor time is measured, less disturbed by neighbors
SLOW = {
    "BN": 600,
    "BN 1": 600,
    "MRF": 2500,
    "DN": 5000,
    "NB": 10_000,
}  # columns beyond which they are left out


class Task(NamedTuple):
    """One line of the results; `fold` is the number of columns where growth is measured."""

    part: str
    method: str
    fold: int
    seed: int = 0


def learner_of(method: str, names: Sequence[str], *, timed: bool = False) -> Any:
    """A ranker's learner as the paper sets it: in timing runs K2 has three parents, MRF k = 6.

    K2 follows the order of the columns: references by id. "BN 1" is the paper's Algorithm 1.
    """
    options: dict[str, Any] = {"n_jobs": 1}
    hybrid = cp.HybridRandomFieldLearner
    return {
        "HRF": lambda: hybrid(k=8, k_max=10, **options),
        "HRF auto": lambda: hybrid(k="auto", k_max="auto", **options),
        "HRF literal": lambda: hybrid(k=8, k_max=10, literal=True, **options),
        "blend": lambda: BlendedLinks(**options),
        "MRF": lambda: cp.PairwiseMarkovLearner(k=6 if timed else 3, **options),
        "DN": lambda: cp.DependencyNetworkLearner("tree", k=8, **options),
        "BN": lambda: cp.K2Search(
            "loglik", order=names, max_parents=3 if timed else 2, false_edges=None, **options
        ),
        "BN 1": lambda: cp.HillClimb("bic", **options),
        "IR": lambda: "item-rank",
        "NB": lambda: "naive-bayes",
    }[method]()


METHODS = ("HRF", "MRF", "DN", "BN", "NB")
ADDED = ("IR", "HRF auto", "blend")  # to Tables 1 and 2; IR is in the paper's Table 3


def links_folder() -> Path:
    return Path(os.environ["COUNTERPANE_DATA"]) / "links"


def references(name: str) -> tuple[Any, list[str]]:
    """(papers × cited papers) of those with at least three different references, items by id."""
    frame = pd.read_csv(links_folder() / f"{name}.csv.gz", dtype=str).drop_duplicates()
    counts = frame.groupby("citing").cited.nunique()
    frame = frame[frame.citing.isin(counts.index[counts >= 3])]
    numeric = frame.cited.str.isdigit().all()
    table, _ = cp.read_links(frame, user="citing", item="cited")
    names = table.schema.names
    order = sorted(range(len(names)), key=lambda j: int(names[j]) if numeric else names[j])
    return np.ascontiguousarray(table.codes[order].T), [names[j] for j in order]


def movies(fold: int) -> tuple[Any, Any]:
    """What each user rated in the training rows of a fold, and in its test rows."""
    frame = pd.read_csv(links_folder() / "movielens100k.csv.gz")
    parts = []
    for rows in (frame[frame.fold != fold], frame[frame.fold == fold]):
        flags = np.zeros((frame.user.max(), frame.item.max()), dtype=np.uint8)
        flags[rows.user - 1, rows.item - 1] = 1
        parts.append(flags)
    return parts[0], parts[1]


def fitted(method: str, links: Any, items: Any = None, **options: Any) -> tuple[Any, float]:
    """A ranker, and the processor seconds of its second fit; the first is of a small table."""
    names = cp.read_links(links, items=items).table.schema.names
    few = links[: min(40, len(links)), : min(60, links.shape[1])]
    small = None if items is None else items[:60]
    cp.LinkRanker(learner_of(method, names[:60], **options)).fit(few, items=small)
    ranker = cp.LinkRanker(learner_of(method, names, **options))
    began = time.process_time()
    ranker.fit(links, items=items)
    return ranker, time.process_time() - began


def by_references(task: Task) -> list[dict[str, Any]]:
    """One fold: a reference of each paper is taken away, and ranked given the others.

    Which one, the paper does not say. Only with the first by id does naive Bayes, which has
    nothing to tune, come to what is printed for both sets; so that is what is compared. A random
    one is beside it, as the mean over all references of a paper.
    """
    links, items = references(task.part)
    folds = np.random.default_rng(task.seed).permutation(len(links)) % FOLDS
    train, test = links[folds != task.fold], links[folds == task.fold]
    ranker, seconds = fitted(task.method, train, items)
    papers, wanted = np.nonzero(test)
    rows = test[papers]
    rows[np.arange(len(papers)), wanted] = 0
    scores = ranker.scores(rows)
    ranks = {
        ties: reciprocal_ranks(scores, wanted, rows, ties=ties) for ties in ("expected", "worst")
    }
    first = np.unique(papers, return_index=True)[1]
    each = np.bincount(papers, ranks["expected"]) / np.bincount(papers)
    return [
        {**task._asdict(), "n": links.shape[1], "m": len(links), "seconds": seconds,
         "mrr": ranks["expected"][first].mean(), "mrr_worst": ranks["worst"][first].mean(),
         "mrr_random": each.mean(), **size_of(ranker)}
    ]  # fmt: skip


def by_movies(task: Task) -> list[dict[str, Any]]:
    """One official fold."""
    train, test = movies(task.fold)
    ranker, seconds = fitted(task.method, train)
    found = degree_of_agreement(ranker.scores(train), train, test)
    return [
        {**task._asdict(), "n": train.shape[1], "m": len(train), "seconds": seconds,
         "macro": found.macro, "micro": found.micro, **size_of(ranker)}
    ]  # fmt: skip


def growing_table(n: int, rows: int = GROWTH_ROWS) -> Any:
    """Rows of n binary columns in which each depends on one or two earlier ones nearby."""
    rng = np.random.default_rng(n)
    table = np.empty((rows, n), dtype=np.uint8)
    table[:, 0] = rng.random(rows) < 0.5
    for j in range(1, n):
        parents = rng.integers(max(0, j - 10), j, 2)
        chance = np.where(table[:, parents[0]] == table[:, parents[1]], 0.75, 0.35)
        table[:, j] = rng.random(rows) < np.where(table[:, parents[0]] == 1, chance, 1 - chance)
    return table


def by_growth(task: Task) -> list[dict[str, Any]]:
    """Seconds by the number of columns; of small tables processor time, the least of five fits."""
    table = growing_table(task.fold)
    ranker, seconds = fitted(task.method, table, timed=True)
    record = {**task._asdict(), "n": task.fold, "m": GROWTH_ROWS, "seconds": seconds}
    if task.fold <= TIMED_COLUMNS:
        record["processor"] = min(_processor_seconds(ranker, table) for _ in range(5))
    before = 0.0
    for row in getattr(ranker.learner_, "trace_", ()):
        if "stage" in row:  # seconds are counted from the start
            key = f"seconds_{row['stage']}"
            record[key] = record.get(key, 0.0) + row["seconds"] - before
        before = row.get("seconds", before)
    return [record]


def _processor_seconds(ranker: Any, links: Any) -> float:
    """The processor time of another fit."""
    began = time.process_time()
    cp.LinkRanker(ranker.learner).fit(links)
    return time.process_time() - began


def by_size(task: Task) -> list[dict[str, Any]]:
    """Seconds and peak memory of a whole process on a large table, the making of it included."""
    began = time.process_time()
    learner = learner_of(task.method, ()).fit(
        cp.Table(cp.Schema.from_cards([2] * task.fold), growing_table(task.fold, task.fold).T)
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        {**task._asdict(), "n": task.fold, "m": task.fold, "megabytes": peak,
         "seconds": learner.trace_[-1]["seconds"], "processor": time.process_time() - began}
    ]  # fmt: skip


def size_of(ranker: Any) -> dict[str, float]:
    """How large the model is, and what `fit` chose."""
    learner = ranker.learner_
    sizes = {"passes": getattr(learner, "n_passes_", 0)}
    for name in ("n_features_", "k_", "k_max_", "weight_", "damping_"):
        if hasattr(learner, name):
            sizes[name.strip("_").removeprefix("n_")] = getattr(learner, name)
    return sizes


RUNS = {"citeseer": by_references, "cora": by_references, "movielens": by_movies,
        "growth": by_growth, "large": by_size}  # fmt: skip


def run(task: Task) -> list[dict[str, Any]]:
    """The records of one task."""
    return RUNS[task.part](task)


def tasks_of(
    quick: bool, parts: tuple[str, ...], seeds: int = SEEDS, largest: int = SIZES[-1]
) -> list[Task]:
    """All that is run, cheap things first."""
    if quick:
        found = [Task("citeseer", m, 0) for m in METHODS if m != "BN"]
        found += [Task("movielens", m, 1) for m in ("HRF", "NB")]
        found += [Task("growth", "HRF", n) for n in SIZES[:9]]
    else:
        found = [
            Task(part, method, fold, seed)
            for seed in range(seeds)
            for method in (*METHODS, *ADDED)
            for part in ("citeseer", "cora")
            for fold in range(FOLDS)
        ]
        found += [
            Task("movielens", m, fold)
            for m in ("HRF", "NB", "IR", "DN", "MRF")
            for fold in range(1, FOLDS + 1)
        ]
        found += [
            Task("growth", m, n)
            for n in SIZES
            for m in (*METHODS, "BN 1")
            if n <= min(largest, SLOW.get(m, SIZES[-1]))
        ]
        found.append(Task("large", "HRF", LARGE))
    return [task for task in found if task.part in parts]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one fold each, under two minutes")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--methods", nargs="+", help="these only; the tables are not written")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="of Tables 1 and 2")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="columns of the growth")
    parser.add_argument("--report", action="store_true", help="tables of what was run, no runs")
    options = parser.parse_args()
    name = f"freno{'_quick' * options.quick}"
    tasks = tasks_of(options.quick, tuple(options.parts), options.seeds, options.largest)
    if options.methods:
        tasks = [task for task in tasks if task.method in options.methods]
    if options.report:
        tasks = finished(tasks, RESULTS / f"{name}.jsonl")
    records = run_lines(tasks, run, RESULTS / f"{name}.jsonl", 1)
    if not options.methods:
        publish_report(name, records)
        where = circumstances(records)
        publish_tables("freno", "benchmarks/papers/freno.py", paper_tables(records), where)


if __name__ == "__main__":
    main()
